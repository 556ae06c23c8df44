#include "rubato/tools/commands.hpp"

namespace rubato::tools {

using AddCommand = void(CommandLine&);

// A new command is a file that defines its add_<name>, and one word in each of these two lists. The
// alternative, objects that register themselves before main, is silently dropped by the linker from
// a static library.
AddCommand add_run, add_runs, add_demo, add_compare, add_check, add_costs, add_reproduce,
    add_doctor, add_lab, add_launch, add_flow, add_guard, add_lab_rsh;

void add_commands(CommandLine& line) {
  for (AddCommand* add :
       {add_run, add_runs, add_demo, add_compare, add_check, add_costs, add_reproduce, add_doctor,
        add_lab, add_launch, add_flow, add_guard, add_lab_rsh})
    add(line);
}

}  // namespace rubato::tools

#include "rubato/tools/flow/go_on.hpp"

#include <fmt/format.h>

#include "rubato/base/shell.hpp"
#include "rubato/flow/journal/journal.hpp"

namespace rubato::tools {

std::string how_to_go_on(const std::string& journal, const std::string& command) {
  const std::uint64_t n = flow::Journal::n_tasks_in(journal);
  return fmt::format("{} {} ended well and {} written down in {}\ngo on with: {} {}\n", n,
                     n == 1 ? "task has" : "tasks have", n == 1 ? "is" : "are", journal, command,
                     shell_word(journal));
}

}  // namespace rubato::tools

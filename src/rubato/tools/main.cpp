// The program `rubato`.

#include <iostream>

#include "bench/bench_command.hpp"
#include "rubato/models/apps.hpp"
#include "rubato/tools/commands.hpp"

int main(int argc, char** argv) {
  rubato::tools::CommandLine line({.models = rubato::models::built_in_apps()});
  rubato::tools::add_commands(line);
  rubato::bench::add_bench(line);
  return line.run({argv + 1, argv + argc}, std::cout, std::cerr);
}

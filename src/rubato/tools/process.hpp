#pragma once
// Child processes of the command: finding, asking and starting programs.

#include <string>
#include <vector>

#include "rubato/base/time.hpp"

namespace rubato::tools {

// The path of an executable file: `name` itself if it has a slash, else the first of that name in
// PATH; "" if there is none.
[[nodiscard]] std::string find_program(const std::string& name);

// The path of this program.
[[nodiscard]] std::string own_path();

// What `words` print on standard output (at most 64 KiB), standard error discarded; "" if they
// cannot be run. Blocks until the program ends. REQUIRES: words is not empty.
[[nodiscard]] std::string output_of(const std::vector<std::string>& words);

// What came of a program.
struct Finished {
  int code = 0;     // exit_code_of()
  std::string out;  // what it printed on standard output, at most 64 MiB
};

// Runs `words` to their end, standard error being this process's own. The program gets SIGTERM if
// this process dies first. Blocks. Throws Error (failed) if no process can be made; a program that
// cannot be run has code 127. REQUIRES: words is not empty.
[[nodiscard]] Finished run_program(const std::vector<std::string>& words);

// Runs all of them, 32 at a time, without input and output, and kills those that have not ended after `most`.
// Their exit codes; -1 of one that could not be run or was killed for that. A signal that is blocked and
// would end this process ends them all. Blocks. REQUIRES: none of the words is empty.
[[nodiscard]] std::vector<int> codes_of(const std::vector<std::vector<std::string>>& calls,
                                        Nanos most);

// Replaces this process by `words`, looked up in PATH. Returns only if that fails, with errno set.
// REQUIRES: words is not empty.
void execute(const std::vector<std::string>& words) noexcept;

// The exit code that a shell would report for a wait status: 128 + the signal for a killed process.
[[nodiscard]] int exit_code_of(int wait_status) noexcept;

}  // namespace rubato::tools

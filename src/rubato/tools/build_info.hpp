#pragma once
// Which build this is: for --version, for the "commit" of benchmark lines, for bug reports. The
// values are written at each build (cmake/BuildInfo.cmake), so they never lag behind the sources.

#include <string>
#include <vector>

namespace rubato::tools {

// Version of the project, e.g. "0.1.0".
[[nodiscard]] const char* version() noexcept;

// Abbreviated commit of the sources, "-dirty" appended if they differ from it; "unknown" outside
// git.
[[nodiscard]] const char* commit() noexcept;

// Build type, e.g. "Release".
[[nodiscard]] const char* build_type() noexcept;

// With its version, e.g. "g++ 12.2.0".
[[nodiscard]] std::string compiler();

// The instruction sets that change floating-point code and that this build may use, e.g. "avx2".
[[nodiscard]] std::vector<std::string> instruction_sets();

// One line for people: version, commit, build type and compiler.
[[nodiscard]] std::string describe_build();
// The same for programs, and the instruction sets: an object of JSON in one line.
[[nodiscard]] std::string describe_build_as_json();

}  // namespace rubato::tools

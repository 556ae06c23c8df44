#pragma once
// Which build this is: for --version, for the "commit" of benchmark lines, for bug reports. The
// values are written at each build (cmake/BuildInfo.cmake), so they never lag behind the sources.

#include <string>

namespace rubato::tools {

// Version of the project, e.g. "0.1.0".
[[nodiscard]] const char* version() noexcept;

// Abbreviated commit of the sources, "-dirty" appended if they differ from it; "unknown" outside
// git.
[[nodiscard]] const char* commit() noexcept;

// Build type, e.g. "Release".
[[nodiscard]] const char* build_type() noexcept;

// One line for people: version, commit, build type and compiler.
[[nodiscard]] std::string describe_build();

}  // namespace rubato::tools

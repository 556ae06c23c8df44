#pragma once
// Files that `rubato flow` is given.

#include <string>

namespace rubato::tools {

// Throws Error.
[[nodiscard]] std::string text_of_file(const std::string& path);
// What is to be written at the end of a run can be written there; "" is nothing. Throws Error.
void check_place_of(const std::string& path);

}  // namespace rubato::tools

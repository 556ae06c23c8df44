#pragma once
// What people are told of a run of a script that was ended with all that it had under way.

#include <string>

namespace rubato::tools {

// "96 tasks have ended well and are written down in DIR", and on a line of its own `command DIR`.
// Reads the journal. Throws Error if it cannot be read.
[[nodiscard]] std::string how_to_go_on(const std::string& journal, const std::string& command);

}  // namespace rubato::tools

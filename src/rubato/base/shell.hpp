#pragma once
// Words for people to give to a shell.

#include <string>

namespace rubato {

// In quotes if it needs them: "a.txt", "'two words'".
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace rubato

#pragma once
// Which line of a user's program called into the library, found when something is wrong: from the
// stack and the debug information of the executable. Where calls take a SourcePlace, that is better.

#include <string>

namespace rubato {

// "file:line" of the innermost frame of the calling thread's stack, or of its task, that is not of
// rubato itself or of the standard library. Empty if there is none, or no debug information. Takes
// up to a second the first time.
[[nodiscard]] std::string user_caller();

}  // namespace rubato

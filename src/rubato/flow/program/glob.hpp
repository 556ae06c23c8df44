#pragma once
// Names of files by a pattern, sorted: the inputs of a script.
//
//   glob("data/*.csv")   glob("run-[0-9][0-9]/**/out.?")
//
//   *        any characters of a name, also none        ?    one character (UTF-8)
//   [a-f_]   one of these; [!..] or [^..] none of these; [[:digit:]] and the other classes of ASCII
//   **       as a whole part: any number of folders, also none; as the last part, all that is below
//   \x       x itself
//
// Names that begin with a dot are only found by a part that begins with one. ** does not follow
// links to folders, so it ends; the other parts do. A pattern that ends with / finds folders only.
// The order is that of the bytes, whatever the locale and the file system.

#include <string>
#include <vector>

namespace rubato::flow {

// The names that match, each once; relative to `folder` ("": where the node runs) if `pattern` is
// relative. None is no error. Throws Error with the column if the pattern is wrong, and with its
// name if a folder cannot be read: an answer with some of the names would look whole.
[[nodiscard]] std::vector<std::string> glob(const std::string& pattern,
                                            const std::string& folder = "");

// Whether one name, without slashes, matches one part of a pattern. Throws Error as glob().
[[nodiscard]] bool matches(const std::string& part, const std::string& name);

}  // namespace rubato::flow

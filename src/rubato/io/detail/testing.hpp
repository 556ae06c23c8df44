#pragma once
// Helpers of this layer's tests: a folder that goes away, whole files as strings, errors as text,
// and the mutations of the fuzz loops. Included by tests only.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include <stdlib.h>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"

namespace rubato::io::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rubato_io_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("cannot make " + name);
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  // Writes a file and returns its path.
  [[nodiscard]] std::string file(const std::string& name, const std::string& content) const {
    // Not truncated: file systems flush a file that replaces its content, and fuzz loops write
    // thousands.
    std::filesystem::remove(path_ / name);
    std::ofstream(path_ / name, std::ios::binary) << content;
    return *this / name;
  }
  [[nodiscard]] std::size_t n_files() const {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      n += entry.exists() ? 1 : 0;
    return n;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The message of the Error that `action` throws, or "" if it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// `text` with one to eight changes: bytes set, removed, doubled, swapped for `alphabet` letters,
// cut.
inline std::string mutated(std::string text, RandomStream& random, const std::string& alphabet) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t n = 1 + below(8); n > 0 && !text.empty(); --n) {
    const std::size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(random() & 255);
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(16)));
        break;
      case 3:
        text[at] = alphabet[below(alphabet.size())];
        break;
      case 4:
        text.insert(at, 1, alphabet[below(alphabet.size())]);
        break;
      default:
        if (below(4) == 0) text.resize(at);
        break;
    }
  }
  return text;
}

// Runs `parse(path)` on `n` mutations of `good` written to a file. It may return or throw Error;
// everything else (another exception, a crash, a sanitizer report) fails. Returns how many parsed.
template <class Parse>
std::size_t fuzz_file(const std::string& good, std::size_t n, const std::string& alphabet,
                      const Parse& parse) {
  const TempFolder folder;
  std::size_t n_parsed = 0;
  for (std::size_t seed = 0; seed < n; ++seed) {
    RandomStream random(seed, 0xF022);
    const std::string path = folder.file("input", mutated(good, random, alphabet));
    try {
      parse(path);
      ++n_parsed;
    } catch (const Error&) {  // as it should
    }
  }
  return n_parsed;
}

}  // namespace rubato::io::testing

#pragma once
// Helpers of this folder's tests: a folder that goes away, whole files as strings, what the process
// has open, short calls. Included by tests only.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <stdlib.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/program/program.hpp"

namespace rubato::flow::program_testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rubato_flow_XXXXXX").string();
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
  // Writes a file, with its folders, and returns its path.
  std::string file(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return *this / name;
  }
  // As file(), to be executed.
  std::string program(const std::string& name, const std::string& content) const {
    std::filesystem::permissions(file(name, content), std::filesystem::perms(0755));
    return *this / name;
  }
  // The names of all that is in it, sorted.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline void write_to(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The message of the Error that `action` throws, or "" if it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What programs write to standard error stays out of the tests' own.
inline LauncherOptions quiet() {
  LauncherOptions options;
  options.errors_passed_on = false;
  return options;
}

inline ProgramCall script(const std::string& text) {
  return {.words = {"sh", "-c", text}};
}

inline std::size_t n_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace rubato::flow::program_testing

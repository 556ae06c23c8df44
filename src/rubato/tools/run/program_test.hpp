#pragma once
// Calls the built program, for tests of commands.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "rubato/tools/process.hpp"

// The built program; the build says where it is.
#ifndef RUBATO_PROGRAM
#define RUBATO_PROGRAM "rubato"
#endif

namespace rubato::tools {

struct Answer {
  int code = -1;
  std::string out;
  std::string err;
};

// A folder of this process's own, which goes with it.
class ScratchFolder {
 public:
  ScratchFolder() { std::filesystem::create_directories(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "/rubato-" + std::to_string(getpid());
};

// A name in that folder.
inline std::string scratch(const std::string& name) {
  static const ScratchFolder folder;
  return folder.path() + "/" + name;
}

// `rubato` with `words`, to its end.
inline Answer call(const std::vector<std::string>& words) {
  const std::string err = scratch("err");
  std::vector<std::string> all{"sh", "-c", "exec \"$@\" 2>" + err, "sh", RUBATO_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  const Finished finished = run_program(all);
  std::ostringstream text;
  text << std::ifstream(err).rdbuf();
  std::remove(err.c_str());
  return {finished.code, finished.out, text.str()};
}

inline std::vector<std::string> with(std::vector<std::string> words,
                                     const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// What `rubato` with `words` and --json prints; an empty object if it fails, which is a failure of the
// test too.
inline nlohmann::json json_of(const std::vector<std::string>& words) {
  const Answer answer = call(with(words, {"--json"}));
  EXPECT_EQ(answer.code, 0) << answer.err;
  return answer.code == 0 ? nlohmann::json::parse(answer.out) : nlohmann::json::object();
}

inline std::vector<std::string> installed_mpis() {
  std::vector<std::string> names;
  for (const char* name : {"openmpi", "mpich"}) {
    if (!find_program(std::string("mpirun.") + name).empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace rubato::tools

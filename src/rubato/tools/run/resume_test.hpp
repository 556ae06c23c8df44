#pragma once
// For tests of runs that go on from checkpoints: the program, and a folder of theirs.

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {

namespace fs = std::filesystem;

class Resume : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // What a run's last line says, or everything if it has failed.
  static std::string checksum_of(const Answer& answer) {
    const std::size_t at = answer.out.rfind("checksum ");
    if (answer.code != 0 || at == std::string::npos) return answer.out + answer.err;
    return answer.out.substr(at);
  }
  static Answer run(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  static void expect_refused(const std::vector<std::string>& words, int code,
                             const std::string& said) {
    const Answer answer = run(words);
    EXPECT_EQ(answer.code, code) << answer.err;
    EXPECT_NE(answer.err.find(said), std::string::npos) << answer.err;
  }

  // The folder has checkpoints of ticks 10 and 20, nothing else, and the run goes on from it.
  void expect_whole_at_20(const std::vector<std::string>& words) const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      names.insert(fs::relative(entry.path(), folder_).string());
    EXPECT_EQ(names, (std::set<std::string>{"tick-00000010", "tick-00000010/part-00000",
                                            "tick-00000010/manifest", "tick-00000020",
                                            "tick-00000020/part-00000", "tick-00000020/manifest"}));
    EXPECT_EQ(checksum_of(run({words.front(), "--resume", folder_, "--ticks", "50"})),
              checksum_of(run(words, {"--ticks", "50"})));
  }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  const std::string folder_ = scratch("checkpoints");
};

}  // namespace rubato::tools

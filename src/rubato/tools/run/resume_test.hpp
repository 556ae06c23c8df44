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

  // The folder has checkpoints of ticks 10 and 20 of so many nodes, nothing else, and the run goes on from it.
  void expect_whole_at_20(const std::vector<std::string>& words, int n_nodes = 1) const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = fs::relative(entry.path(), folder_).string();
      // Without a manifest: another node may still have been at it when node 0 cleaned up.
      if (n_nodes == 1 || !name.starts_with("tick-00000030")) names.insert(name);
    }
    EXPECT_FALSE(fs::exists(folder_ + "/tick-00000030/manifest"));
    std::set<std::string> whole;
    for (const std::string tick : {"tick-00000010", "tick-00000020"}) {
      whole.insert({tick, tick + "/manifest"});
      for (int node = 0; node < n_nodes; ++node)
        whole.insert(tick + "/part-0000" + std::to_string(node));
    }
    EXPECT_EQ(names, whole);
    EXPECT_EQ(checksum_of(run({words.front(), "--resume", folder_, "--ticks", "50"})),
              checksum_of(run(words, {"--ticks", "50"})));
  }
  // `program`, of so many nodes, writes to a disk that takes two checkpoints and a half: a file system in
  // memory, of this run alone.
  void expect_whole_on_full_disk(const std::string& program, int n_nodes) const {
    const std::string disk = folder_ + "-disk";
    fs::create_directories(disk);
    const auto mounted = [&](const std::string& script) {
      return run_program({"unshare", "--mount", "--map-root-user", "sh", "-c",
                          "mount -t tmpfs -o size=3m none " + disk + " && " + script});
    };
    if (mounted("true").code != 0) {
      fs::remove_all(disk);
      GTEST_SKIP() << "this machine does not let unshare(1) mount a small disk";
    }
    const std::vector<std::string> words = {"heat", "--width", "400", "--height",
                                            "400",  "--edge",  "20"};  // 1.28 MB
    std::string script = program + " run";
    for (const std::string& word : words)
      script += " " + word;
    script += " --cores 1 --ticks 50 --checkpoint-every 10 --checkpoint " + disk + " 2>" + folder_ +
              "-said; code=$?; ";
    const Finished finished = mounted(script + "cp -r " + disk + " " + folder_ + " && exit $code");
    EXPECT_EQ(finished.code, 1);
    const std::string said = content(folder_ + "-said");
    const std::size_t at = said.find("writing " + disk + "/tick-00000030/part-0000");
    EXPECT_NE(at, std::string::npos) << said;
    EXPECT_NE(said.find(": No space left on device", at), std::string::npos) << said;
    expect_whole_at_20(words, n_nodes);
    fs::remove_all(disk);
    fs::remove(folder_ + "-said");
  }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  const std::string folder_ = scratch("checkpoints");
};

}  // namespace rubato::tools

// Which checkpoint of a folder is named where another one is damaged.

#include "rubato/tick/checkpoint/folder.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

namespace fs = std::filesystem;

// Checkpoints of ticks 4 and 8, without parts.
class CheckpointFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    for (const Tick tick : {4, 8}) {
      fs::create_directories(checkpoint_path(folder_, tick));
      Manifest manifest;
      manifest.tick = tick;
      manifest.model = "none";
      write_manifest(manifest_path(checkpoint_path(folder_, tick)), manifest);
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void replace(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static std::string said_of(const std::string& path) {
    try {
      return "nothing, tick " + std::to_string(read_checkpoint(path).tick);
    } catch (const Error& error) {
      return error.what();
    }
  }

  const std::string folder_ = ::testing::TempDir() + "/folder-" + std::to_string(::getpid());
  const std::string older_ = checkpoint_path(folder_, 4);
  const std::string newer_ = checkpoint_path(folder_, 8);
};

TEST_F(CheckpointFolder, a_damaged_manifest_names_the_one_before_it_as_a_part_does) {
  EXPECT_EQ(said_of(newer_), "nothing, tick 8");
  const std::string whole = content(manifest_path(newer_));
  std::string changed = whole;
  changed[40] = static_cast<char>(changed[40] ^ 1);
  const std::string advice = "; the one before it is whole: --resume " + older_;
  for (const std::string& damaged : {changed, whole.substr(0, 30), std::string("other")}) {
    replace(manifest_path(newer_), damaged);
    for (const std::string& path : {newer_, newer_ + "/"})
      EXPECT_TRUE(said_of(path).ends_with(advice)) << said_of(path);
    EXPECT_THROW((void)find_checkpoint(newer_), Error);
  }
  // The oldest has none before it, and one that is damaged itself is nothing to advise.
  replace(manifest_path(older_), changed);
  for (const std::string& path : {older_, newer_})
    EXPECT_EQ(said_of(path).find("--resume"), std::string::npos) << said_of(path);
}

}  // namespace
}  // namespace rubato::tick

// The manifest of a checkpoint as a file: what is read back, and what older versions of it lack.

#include "rubato/tick/checkpoint/manifest.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {
namespace {

// Each field has a value of its own.
Manifest sample() {
  Manifest manifest;
  manifest.tick = 20;
  manifest.ticks = 41;
  manifest.ends_at = 22;
  manifest.stop_interval = 3;
  manifest.stop_lag = 2;
  manifest.branch_tick = 10;
  manifest.run_id = 5;
  manifest.build = 6;
  manifest.instructions = 7;
  manifest.seed = 8;
  manifest.model = "heat";
  manifest.model_version = 9;
  manifest.program = "rubato 0.1.0 (abc)";
  manifest.job = "20261121-231459-0a1b2c";
  manifest.parameters = {{"edge", "30", 0}, {"walls", "house.png", 77}};
  manifest.parts = {{100, 2, 11}, {200, 3, 12}};
  manifest.settings = {{"policy", "asytick-plb"}, {"pieces", "64"}};
  return manifest;
}

class ManifestFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  [[nodiscard]] Manifest read_back(const Manifest& manifest) const {
    write_manifest(path_, manifest);
    return read_manifest(path_);
  }
  // "" if it is read.
  [[nodiscard]] std::string error_of(const Manifest& manifest) const {
    try {
      (void)read_back(manifest);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_input);
      return error.what();
    }
    return "";
  }

  const std::string path_ = ::testing::TempDir() + "/manifest-" + std::to_string(::getpid());
};

TEST_F(ManifestFile, what_is_written_is_read_back) {
  EXPECT_EQ(read_back(sample()), sample());
  EXPECT_EQ(read_back(Manifest{}), Manifest{});
}

TEST_F(ManifestFile, older_versions_have_no_branch_no_settings_and_no_job) {
  Manifest manifest = sample();
  write_manifest(path_, manifest);
  std::ostringstream text;
  text << std::ifstream(path_, std::ios::binary).rdbuf();
  std::string bytes = text.str();
  // docs/formats.md: the branch tick is the last field, settings and job the ones before, and the
  // version is the seed of the checksum.
  const auto cut_to = [&](std::uint32_t version, std::size_t n_less) {
    bytes.resize(bytes.size() - n_less);
    std::memcpy(bytes.data() + 8, &version, sizeof version);
    const std::uint64_t checksum = tuple_hash(version, std::as_bytes(std::span(bytes)).subspan(24));
    std::memcpy(bytes.data() + 16, &checksum, sizeof checksum);
    std::ofstream(path_, std::ios::binary) << bytes;
  };
  cut_to(3, sizeof(Tick));
  manifest.branch_tick = 0;
  EXPECT_EQ(read_manifest(path_), manifest);
  cut_to(2, 5 * sizeof(std::uint64_t) + std::string("policyasytick-plbpieces64").size());
  manifest.settings.clear();
  EXPECT_EQ(read_manifest(path_), manifest);
  cut_to(1, sizeof(std::uint64_t) + manifest.job.size());
  manifest.job = "";
  EXPECT_EQ(read_manifest(path_), manifest);
}

TEST_F(ManifestFile, a_branch_that_does_not_begin_before_the_checkpoint_is_refused) {
  Manifest manifest = sample();
  for (const Tick tick : {0, 1, 19}) {
    manifest.branch_tick = tick;
    EXPECT_EQ(error_of(manifest), "");
  }
  for (const Tick tick : {Tick{-1}, Tick{20}, Tick{21}, kNoTick}) {
    manifest.branch_tick = tick;
    EXPECT_EQ(error_of(manifest),
              path_ +
                  ": branch tick: expected 0, for none, or a tick before 20, that of the "
                  "checkpoint; found " +
                  std::to_string(tick));
  }
}

}  // namespace
}  // namespace rubato::tick

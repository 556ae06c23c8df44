#include "rubato/tools/launch/mpirun.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {
namespace {

class Hostfile : public ::testing::Test {
 protected:
  std::vector<Host> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_hostfile(path_);
  }
  std::string message_of(const std::string& text) {
    try {
      (void)read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  ~Hostfile() override { std::remove(path_.c_str()); }

  std::string path_ = ::testing::TempDir() + "/hostfile-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Hostfile, UnderstandsBothMpisForms) {
  const auto hosts = read("# machines\ncn-1 slots=2\n\ncn-2:3  # the big one\ncn-3\ncn-1\n");
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].name, "cn-1");
  EXPECT_EQ(hosts[0].n_slots, 3U);  // named twice
  EXPECT_EQ(hosts[1].n_slots, 3U);
  EXPECT_EQ(hosts[2].n_slots, 1U);
}

TEST_F(Hostfile, ErrorsNameFileAndLine) {
  EXPECT_EQ(message_of("a\nb slot=2\n"),
            path_ + ":2: expected slots=N behind the host, found \"slot=2\"");
  EXPECT_EQ(message_of("a slots=0\n"),
            path_ + ":1: expected a positive number of slots, found \"0\"");
  EXPECT_EQ(message_of("a:1x\n"), path_ + ":1: expected a positive number of slots, found \"1x\"");
  EXPECT_EQ(message_of("a slots=1 b\n"),
            path_ + ":1: expected HOST [slots=N], found \"a slots=1 b\"");
  EXPECT_EQ(message_of("# nobody\n"), path_ + ": expected a line HOST [slots=N], found none");
  EXPECT_THROW((void)read_hostfile("/nowhere/hosts"), Error);
}

TEST(ChooseMpi, NamesTheNearestForATypo) {
  JobPlan plan;
  try {
    choose_mpi("mpch", plan);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("did you mean \"mpich\"?"), std::string::npos);
  }
}

bool has_sequence(const std::vector<std::string>& words, const std::vector<std::string>& part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

TEST(MpirunWords, EndWithTheProgramAndNameTheHosts) {
  JobPlan plan = {.mpi = MpiKind::open_mpi,
                  .launcher = "/bin/mpirun",
                  .n_nodes = 3,
                  .hosts = {{"a", 2}, {"b", 1}},
                  .launcher_options = {"--map-by", "node"},
                  .program = {"prog", "-x"}};
  auto words = mpirun_words(plan);
  EXPECT_EQ(words.front(), "/bin/mpirun");
  EXPECT_TRUE(has_sequence(words, {"-np", "3"}));
  EXPECT_TRUE(has_sequence(words, {"--host", "a:2,b:1"}));
  EXPECT_TRUE(has_sequence(words, {"--map-by", "node", "prog", "-x"}));
  EXPECT_EQ(words.back(), "-x");
  plan.mpi = MpiKind::mpich;
  words = mpirun_words(plan);
  EXPECT_TRUE(has_sequence(words, {"-hosts", "a:2,b:1"}));
  EXPECT_FALSE(has_sequence(words, {"--oversubscribe"}));
}

}  // namespace
}  // namespace rubato::tools

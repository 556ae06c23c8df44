#include "rubato/tools/launch/mpirun.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {
namespace {

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

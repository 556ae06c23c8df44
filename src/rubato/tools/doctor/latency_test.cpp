// `rubato doctor --latency` as a job, and the profile that it leaves.

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

class Latency : public ::testing::TestWithParam<std::string> {
 protected:
  ~Latency() override { std::filesystem::remove(profile_); }

  [[nodiscard]] Answer measure(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"launch", "-n",           "3",      "--mpi",     GetParam(),
                                   "--",     RUBATO_PROGRAM, "doctor", "--latency", "--samples",
                                   "50",     "--output",     profile_};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  std::string profile_ = scratch("measured.profile");
};

TEST_P(Latency, the_profile_is_read_back_by_a_run) {
  const Answer answer = measure({});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("round trips of 16384 bytes"), std::string::npos) << answer.out;
  EXPECT_EQ(std::ranges::count(answer.out, '\n'), 5) << "a title, a head and two nodes";
  EXPECT_EQ(answer.out.find('\033'), std::string::npos) << "no color in a file";
  EXPECT_NE(answer.err.find("use it as --profile " + profile_), std::string::npos) << answer.err;
  const std::vector<std::string> run{"run",     "heat", "--width",    "40", "--height", "40",
                                     "--ticks", "20",   "--simulate", "4",  "--json"};
  const auto with_profile = [&](const std::string& profile) {
    std::vector<std::string> words = run;
    words.insert(words.end(), {"--profile", profile});
    const Answer ran = call(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  };
  const auto late = with_profile(profile_);
  const auto prompt = with_profile("none");
  EXPECT_EQ(late.at("checksum"), prompt.at("checksum"));
  EXPECT_LT(late.at("ticks_per_second"), prompt.at("ticks_per_second"));
}

TEST_P(Latency, json_has_the_quantiles_of_each_node) {
  const Answer answer = measure({"--json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("bytes"), 16384);
  ASSERT_EQ(json.at("round_trips_ms").size(), 2U);
  for (const auto& node : json.at("round_trips_ms")) {
    EXPECT_GT(node.at("min"), 0);
    EXPECT_LE(node.at("min"), node.at("p50"));
    EXPECT_LE(node.at("p50"), node.at("p90"));
    EXPECT_LE(node.at("p90"), node.at("max"));
    EXPECT_TRUE(node.at("p99").is_null()) << "50 round trips do not tell";
  }
}

TEST(LatencyAlone, one_node_is_told_how_to_be_two) {
  const Answer answer = call({"doctor", "--latency"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("rubato launch -n 2 -- rubato doctor --latency"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Mpi, Latency, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Latency);

}  // namespace
}  // namespace rubato::tools

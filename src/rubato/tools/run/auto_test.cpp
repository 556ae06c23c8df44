// `rubato run --policy auto`: in the simulator and as a job, with what it says.

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

const std::vector<std::string> kHeat{"run",      "heat", "--width", "90",
                                     "--height", "80",   "--ticks", "120"};

TEST(AutoPolicy, SaysWhatItChoseAndWhy) {
  const std::string checksum = json_of(kHeat).at("checksum");
  const auto late = with(kHeat, {"--simulate", "4", "--profile", "ec2-large", "--policy", "auto"});
  const Answer answer = call(late);
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.err.find("auto: from tick 50 on "), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("under local: a node's own work is "), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("% more, its pieces cost "), std::string::npos) << answer.err;
  EXPECT_NE(answer.out.find("heat auto ("), std::string::npos) << answer.out;
  const auto json = json_of(late);
  EXPECT_EQ(json.at("checksum"), checksum);
  const auto& first = json.at("auto").at(0);
  EXPECT_EQ(first.at("tick"), 50);
  EXPECT_NE(first.at("policy"), "local");
  EXPECT_LT(first.at("tick_s"), first.at("before_s"));
  EXPECT_GT(first.at("step_s"), 0);
  // Of the tiles of `local`: nobody has asked for pieces. The inner ones are larger than the borders.
  EXPECT_GT(first.at("piece_s"), 0);
  EXPECT_LT(first.at("piece_s"), first.at("step_s"));
  EXPECT_GT(first.at("piece_most_s"), first.at("piece_s"));
  EXPECT_GT(first.at("piece_deviation"), 0.1);
  EXPECT_GT(first.at("candidates").size(), 5U);
}

TEST(AutoPolicy, StaysWithLocalWhereThereIsNothingToChoose) {
  const Answer alone = call(with(kHeat, {"--policy", "auto"}));
  EXPECT_NE(alone.err.find("auto: local to the end; one node waits for nobody"), std::string::npos)
      << alone.err;
  const Answer brief =
      call({"run", "heat", "--ticks", "20", "--policy", "auto", "--simulate", "3"});
  EXPECT_NE(brief.err.find("auto: local to the end; the run ended before the first epoch"),
            std::string::npos)
      << brief.err;
}

TEST(AutoPolicy, WantsEpochs) {
  const Answer answer = call(with(kHeat, {"--policy", "auto", "--simulate", "3", "--epoch", "0"}));
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("expected epochs, at which it may change something"), std::string::npos)
      << answer.err;
}

// Of a graph whose ticks are much shorter than messages are late, each node steps far more than its own.
TEST(AutoPolicy, ReplicatesWhatIsSmallOfGraphsToo) {
  const std::vector<std::string> ranks{"run",     "pagerank", "--vertices",  "1000",
                                       "--ticks", "200",      "--tolerance", "0"};
  const auto late =
      json_of(with(ranks, {"--simulate", "5", "--policy", "auto", "--profile", "ec2-large"}));
  EXPECT_EQ(late.at("checksum"), json_of(ranks).at("checksum"));
  EXPECT_NE(late.at("auto").at(0).at("policy").get<std::string>().find("replicate"),
            std::string::npos);
  std::size_t n_told = 0;
  for (const auto& candidate : late.at("auto").at(0).at("candidates")) {
    if (candidate.at("pieces") != late.at("pieces")) continue;  // not all of these are looked at
    EXPECT_GT(candidate.at("tick_s"), 0) << candidate;
    ++n_told;
  }
  EXPECT_GE(n_told, 8U);
}

TEST(AutoPolicy, GraphsAndPointsEndWithTheSameBits) {
  const std::vector<std::string> fish{"run", "fish", "--fish", "600", "--ticks", "110"};
  const std::vector<std::string> ranks{"run", "pagerank", "--input",
                                       RUBATO_EXAMPLES "/data/pages.txt"};
  for (const auto* model : {&fish, &ranks}) {
    const auto tuned = json_of(with(*model, {"--simulate", "3", "--policy", "auto", "--pieces",
                                             "40", "--epoch", "10", "--profile", "ec2-large"}));
    EXPECT_EQ(tuned.at("checksum"), json_of(*model).at("checksum")) << model->at(1);
    EXPECT_FALSE(tuned.at("auto").empty()) << model->at(1);
  }
}

class AutoJob : public ::testing::TestWithParam<std::string> {};

TEST_P(AutoJob, HasTheBitsOfARunAlone) {
  const std::string checksum = json_of(kHeat).at("checksum");
  const auto job = json_of(with({"launch", "-n", "3", "--mpi", GetParam(), "--", RUBATO_PROGRAM},
                                with(kHeat, {"--policy", "auto", "--epoch", "20", "--cores", "1",
                                             "--profile", "median=1000"})));
  EXPECT_EQ(job.at("checksum"), checksum);
  ASSERT_FALSE(job.at("auto").empty());
  // It was told that messages are a millisecond late: a tick of 60 us is not worth one each.
  EXPECT_GT(job.at("auto").at(0).at("late_s"), 0.5e-3);
  EXPECT_NE(job.at("auto").at(0).at("policy"), "local");
}

INSTANTIATE_TEST_SUITE_P(Mpi, AutoJob, ::testing::ValuesIn(installed_mpis()),
                         [](const auto& mpi) { return mpi.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AutoJob);

}  // namespace
}  // namespace rubato::tools

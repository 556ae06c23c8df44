// Nodes that are slower than others: what --slowdown says, and what it does to a run.

#include "rubato/tools/run/slowdowns.hpp"

#include <filesystem>

#include "rubato/base/error.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

using Factors = std::vector<double>;

TEST(Slowdowns, are_of_all_nodes_of_one_or_of_both) {
  EXPECT_EQ(Slowdowns::parse("2").of_nodes(3), (Factors{2, 2, 2}));
  EXPECT_EQ(Slowdowns::parse("2@1").of_nodes(3), (Factors{1, 2, 1}));
  EXPECT_EQ(Slowdowns::parse("3@2,1.5,0.25@0").of_nodes(4), (Factors{0.25, 1.5, 3, 1.5}));
  EXPECT_EQ(Slowdowns::parse("3@2,1.5,0.25@0").nodes_text(), "0.25@0,3@2");
  EXPECT_TRUE(Slowdowns::parse("1").of_nodes(3).empty());
  EXPECT_FALSE(Slowdowns::parse("1").any());
  EXPECT_TRUE(Slowdowns::parse("1@0").any());
}

std::string refusal(const std::string& text) {
  try {
    (void)Slowdowns::parse(text).of_nodes(4);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "taken";
}

TEST(Slowdowns, are_refused_with_what_was_expected) {
  const std::string number = "--slowdown: expected a number from 1e-06 to 1e+06, found ";
  EXPECT_EQ(refusal("x"), number + "\"x\"");
  EXPECT_EQ(refusal(""), number + "\"\"");
  EXPECT_EQ(refusal("0@1"), number + "\"0\" in \"0@1\"");
  EXPECT_EQ(refusal("2,"), number + "\"\" in \"2,\"");
  EXPECT_EQ(refusal("@3"), number + "\"\" in \"@3\"");
  EXPECT_EQ(refusal("nan@1"), number + "\"nan\" in \"nan@1\"");
  const std::string node = "--slowdown: expected a node's number behind @, found ";
  EXPECT_EQ(refusal("2@"), node + "\"\" in \"2@\"");
  EXPECT_EQ(refusal("2@-1"), node + "\"-1\" in \"2@-1\"");
  EXPECT_EQ(refusal("2@1@3"), node + "\"1@3\" in \"2@1@3\"");
  EXPECT_EQ(refusal("2@3,4@3"),
            "--slowdown: expected each node once, found \"4@3\" in \"2@3,4@3\"");
  EXPECT_EQ(refusal("2,3"),
            "--slowdown: expected one number without @NODE, that of all nodes, found \"3\" in "
            "\"2,3\"");
  EXPECT_EQ(refusal("2@4"), "--slowdown: expected nodes from 0 to 3, found \"4\" in \"2@4\"");
  EXPECT_EQ(refusal("2@3"), "taken");
}

const std::vector<std::string> kHeat{"run",        "heat", "--width",       "200",
                                     "--height",   "200",  "--ticks",       "60",
                                     "--simulate", "4",    "--ns-per-cell", "100"};

TEST(SlowdownOption, ANodeThatIsSlowedAloneIsWhomTheOthersWaitFor) {
  const auto even = json_of(kHeat);
  const auto slow = json_of(with(kHeat, {"--slowdown", "3@2"}));
  EXPECT_EQ(slow.at("checksum"), even.at("checksum"));
  for (std::size_t node = 0; node < 4; ++node) {
    const double stepping = slow.at("nodes").at(node).at("stepping");
    if (node == 2) {
      EXPECT_GT(stepping, 0.9);
    } else {
      EXPECT_LT(stepping, 0.4) << node;
    }
  }
  // The run takes as long as if all were slowed.
  const double wall = slow.at("wall_s");
  EXPECT_GT(wall, 2.5 * even.at("wall_s").get<double>());
  EXPECT_NEAR(wall, json_of(with(kHeat, {"--slowdown", "3"})).at("wall_s").get<double>(),
              0.1 * wall);
  // Where the grid is cut again the slow node has less of it.
  const auto cut = json_of(with(kHeat, {"--slowdown", "3@2", "--epoch", "10"}));
  EXPECT_EQ(cut.at("checksum"), even.at("checksum"));
  EXPECT_LT(cut.at("wall_s").get<double>(), 0.8 * wall);
}

TEST(SlowdownOption, OfANodeThatIsNotThereIsOneMessageAndNoFile) {
  const std::string folder = scratch("nobody");
  for (const auto& [nodes, said] :
       {std::pair{std::vector<std::string>{"--simulate", "4"},
                  "rubato: --slowdown: expected nodes from 0 to 3, found \"4\" in \"2@4\"\n"},
        {{"--cores", "1"},
         "rubato: --sim-cores and --slowdown need --simulate N, the number of virtual nodes\n"}}) {
    const Answer answer =
        call(with({"run", "heat", "--slowdown", "2@4", "--record", folder}, nodes));
    EXPECT_EQ(answer.code, 2);
    EXPECT_EQ(answer.err, said);
    EXPECT_EQ(answer.out, "");
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

TEST(SlowdownOption, IsRecorded) {
  const std::string folder = scratch("slow");
  const Answer answer =
      call(with(kHeat, {"--slowdown", "2,4@0,1@3", "--record", folder, "--epoch", "0"}));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto run = json_of({"runs", "show", folder}).at("run");
  EXPECT_EQ(run.at("slowdown"), 2);
  EXPECT_EQ(run.at("slow_nodes"), "4@0,1@3");
  const Answer shown = call({"runs", "show", folder});
  EXPECT_NE(shown.out.find("4@0,1@3"), std::string::npos) << shown.out;
  std::filesystem::remove_all(folder);
}

TEST(SlowdownOption, IsThatOfACompareToo) {
  const std::vector<std::string> compare{"compare",  "heat",    "--width",    "60",      "--height",
                                         "60",       "--ticks", "20",         "--nodes", "4",
                                         "--rounds", "1",       "--policies", "local"};
  const auto rate = [&](const std::vector<std::string>& more) {
    return json_of(with(compare, more)).at("policies").at(0).at("ticks_per_second").get<double>();
  };
  EXPECT_LT(rate({"--slowdown", "1000@3"}), 0.1 * rate({}));
}

}  // namespace
}  // namespace rubato::tools

#include "rubato/tools/compare/comparison.hpp"

#include <nlohmann/json.hpp>

#include "rubato/base/error.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

Round round_with(double rate, std::uint64_t checksum) {
  Round round;
  round.ticks_per_second = rate;
  round.checksum = checksum;
  round.ticks = 10;
  return round;
}

TEST(Comparison, RunsRoundsInAFixedOrder) {
  std::vector<std::string> order;
  const auto comparison =
      compare(parse_policies("local, d3"), 2, [&](const ChosenSystem& policy, std::uint32_t round) {
        order.push_back(policy.label() + " " + std::to_string(round));
        return round_with(1, 1);
      });
  EXPECT_EQ(order,
            (std::vector<std::string>{"local 0", "schedule(3) 0", "local 1", "schedule(3) 1"}));
}

TEST(Comparison, TellsGainsOverLocalWhereverItStands) {
  Comparison comparison;
  comparison.policies = {{tick::Policy::parse("d1"), {round_with(6, 1), round_with(10, 1)}, ""},
                         {tick::Policy::parse("local"), {round_with(3, 1), round_with(5, 1)}}};
  EXPECT_DOUBLE_EQ(comparison.gain(comparison.policies[0]), 2);
  EXPECT_EQ(&comparison.fastest(), &comparison.policies[0]);
  EXPECT_DOUBLE_EQ(comparison.policies[0].ticks_per_second().deviation, std::sqrt(8.0));
}

// A tick of comtick takes 100 ms, of which its cores wait 40.
TEST(Comparison, WhatSystemsAbsorbIsOfWhatComtickWaitsFor) {
  const auto round = [](double rate, double waiting) {
    Round of = round_with(rate, 1);
    of.waiting_share = waiting;
    return of;
  };
  Comparison comparison;
  comparison.policies = {{tick::System::parse("comtick").policy, {round(10, 0.4)}, "comtick"},
                         {tick::System::parse("asytick").policy, {round(12.5, 0.2)}, "asytick"},
                         {tick::Policy{}, {round(8, 0.5)}}};
  EXPECT_NEAR(comparison.absorbed(comparison.policies[0]).value(), 0, 1e-9);
  EXPECT_NEAR(comparison.absorbed(comparison.policies[1]).value(), 0.5, 1e-9);
  EXPECT_NEAR(comparison.absorbed(comparison.policies[2]).value(), -0.625, 1e-9);
  EXPECT_EQ(absorbed_line(comparison),
            "skew absorbed, of what the cores of comtick wait for: asytick 50.0 %");
  comparison.policies[0].rounds[0].waiting_share = 0;
  EXPECT_FALSE(comparison.absorbed(comparison.policies[1]));
  comparison.policies.erase(comparison.policies.begin());
  EXPECT_FALSE(comparison.absorbed(comparison.policies[0]));
  EXPECT_EQ(absorbed_line(comparison), "");
}

TEST(Comparison, NamesTheRunWithOtherBits) {
  Comparison comparison;
  comparison.policies = {{tick::Policy::parse("local"), {round_with(3, 1), round_with(5, 1)}},
                         {tick::Policy::parse("d1"), {round_with(6, 1), round_with(10, 2)}}};
  EXPECT_FALSE(comparison.equal());
  EXPECT_NE(equality_line(comparison).find("schedule(1) in round 2"), std::string::npos);
  comparison.policies[1].rounds[1].checksum = 1;
  EXPECT_TRUE(comparison.equal());
  comparison.policies[1].rounds[1].ticks = 9;
  EXPECT_FALSE(comparison.equal());
}

TEST(Comparison, ReadsPoliciesWithCommasOfTheirOwn) {
  const auto policies = parse_policies("replicate(2,3)+schedule(4), local; k1m1");
  ASSERT_EQ(policies.size(), 3U);
  EXPECT_EQ(policies[0].policy, tick::Policy::parse("k2m3d4"));
  EXPECT_THROW((void)parse_policies("local, bulk, local"), Error);
  try {
    (void)parse_policies("local, glocal ");
    ADD_FAILURE() << "glocal is no policy";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"glocal\""), std::string::npos) << error.what();
  }
  EXPECT_THROW((void)parse_policies(" , "), Error);
}

TEST(CompareCommand, PrintsARowForEachPolicyAndEqualBits) {
  const Answer answer = call({"compare", "heat", "--width", "60", "--height", "60", "--ticks", "20",
                              "--nodes", "4", "--rounds", "2", "--policies", "bulk, local, k2m3"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  for (const char* text : {"policy", "bulk", "local", "replicate(2,3)", "over local"}) {
    EXPECT_NE(answer.out.find(text), std::string::npos) << answer.out;
  }
  EXPECT_NE(answer.err.find("all 6 runs ended with the same bits at tick 20"), std::string::npos)
      << answer.err;
}

TEST(Comparison, HasARowForEachRawRound) {
  Comparison comparison;
  comparison.policies = {{tick::Policy::parse("local"), {round_with(3, 1), round_with(5, 1)}},
                         {tick::Policy::parse("d1"), {round_with(6, 1), round_with(10.25, 1)}}};
  EXPECT_EQ(rounds_table(comparison).to_text(),
            "round  local  schedule(1)\n"
            "-----  -----  -----------\n"
            "    1    3.0          6.0\n"
            "    2    5.0         10.2\n");
}

TEST(CompareCommand, PrintsTheRawRoundsIfThereAreSeveral) {
  const std::vector<std::string> words{"compare",    "heat",      "--width", "60",      "--height",
                                       "60",         "--ticks",   "20",      "--nodes", "4",
                                       "--policies", "local, d2", "--rounds"};
  const auto text = [&](const char* rounds) {
    std::vector<std::string> all = words;
    all.emplace_back(rounds);
    return call(all).out;
  };
  const std::string three = text("3");
  EXPECT_NE(three.find("\nticks/s of each round\nround "), std::string::npos) << three;
  EXPECT_NE(three.find("\n    3 "), std::string::npos) << three;
  EXPECT_EQ(text("1").find("each round"), std::string::npos);
}

TEST(CompareCommand, JsonHasTheRawRounds) {
  const Answer answer =
      call({"compare", "heat", "--width", "60", "--height", "60", "--ticks", "20", "--nodes", "4",
            "--rounds", "3", "--policies", "local, d2", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("equal"), true);
  ASSERT_EQ(json.at("policies").size(), 2U);
  EXPECT_EQ(json.at("policies").at(1).at("policy"), "schedule(2)");
  EXPECT_EQ(json.at("policies").at(1).at("rounds").size(), 3U);
  EXPECT_TRUE(json.at("policies").at(1).at("absorbed").is_null());
}

TEST(CompareCommand, KnowsTheSystemsAndAutoAndHowTheyShareWork) {
  const Answer answer =
      call({"compare", "fish", "--fish", "600", "--ticks", "24", "--nodes", "3", "--rounds", "1",
            "--policies", "local, auto, oritick, comtick, asytick, asytick-plb, asytick-lend",
            "--pieces", "12", "--epoch", "5", "--balance", "persistence", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("equal"), true);
  const auto& policies = json.at("policies");
  ASSERT_EQ(policies.size(), 7U);
  EXPECT_EQ(policies.at(0).at("system"), "");
  EXPECT_EQ(policies.at(2).at("system"), "oritick, balance persistence");
  EXPECT_EQ(policies.at(3).at("system"), "comtick");
  EXPECT_EQ(policies.at(3).at("policy"), "bulk");
  EXPECT_EQ(policies.at(3).at("absorbed"), 0);
  EXPECT_TRUE(policies.at(5).at("absorbed").is_number());
  EXPECT_NE(
      answer.err.find(
          "skew absorbed, of what the cores of comtick wait for: asytick, balance persistence "),
      std::string::npos)
      << answer.err;
  EXPECT_EQ(policies.at(5).at("policy"), "pieces(8)");
  EXPECT_EQ(policies.at(6).at("system"), "asytick-lend");
  for (const auto& each : policies) {
    EXPECT_EQ(each.at("pieces"), 12) << each.at("system");
    EXPECT_EQ(each.at("pieces_at_end"), 12) << each.at("system");
  }
  const Answer table = call({"compare", "fish", "--fish", "600", "--ticks", "9", "--nodes", "3",
                             "--rounds", "1", "--policies", "auto, asytick"});
  for (const char* words : {"over auto", "\nasytick "})
    EXPECT_NE(table.out.find(words), std::string::npos) << words << " in " << table.out;
}

TEST(CompareCommand, NamesTheNearestOfAllPoliciesAsRunDoes) {
  for (const auto& words :
       {std::vector<std::string>{"compare", "fish", "--policies", "local, asytick-pbl"},
        std::vector<std::string>{"run", "fish", "--policy", "asytick-pbl"}}) {
    const Answer answer = call(words);
    EXPECT_EQ(answer.code, 2);
    for (const char* text :
         {"unknown term \"asytick-pbl\" (did you mean \"asytick-plb\"?)",
          "pieces(D), oritick, comtick, asytick, asytick-plb, asytick-lend, auto or short"})
      EXPECT_NE(answer.err.find(text), std::string::npos) << text << " in " << answer.err;
  }
  const Answer beside = call({"run", "fish", "--policy", "asytick+schedule(3)"});
  EXPECT_NE(beside.err.find("\"asytick\" stands alone"), std::string::npos) << beside.err;
}

TEST(CompareCommand, RefusesABadPolicy) {
  EXPECT_EQ(call({"compare", "heat", "--policies", "local, k4m2"}).code, 2);
  EXPECT_EQ(call({"compare", "heat", "--real", "--slowdown", "2"}).code, 2);
  const Answer answer = call({"compare", "heat", "--simulate", "16"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("unknown flag \"--simulate\", which is one of rubato run; see rubato "
                            "compare heat --help"),
            std::string::npos)
      << answer.err;
}

TEST(CompareCommand, RunsProcesses) {
  for (const auto& mpi : installed_mpis()) {
    const Answer answer = call({"compare", "heat", "--width", "60", "--height", "60", "--ticks",
                                "20", "--real", "--mpi", mpi, "--nodes", "2", "--rounds", "1",
                                "--policies", "local, k2m3", "--json"});
    ASSERT_EQ(answer.code, 0) << answer.err;
    const auto json = nlohmann::json::parse(answer.out);
    EXPECT_EQ(json.at("simulated"), false);
    EXPECT_EQ(json.at("equal"), true);
    EXPECT_GT(json.at("policies").at(1).at("ticks_per_second"), 0);
  }
}

}  // namespace
}  // namespace rubato::tools

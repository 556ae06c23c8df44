#include "rubato/tools/reproduce/turbine.hpp"

#include <fstream>
#include <functional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

// A machine that does what the paper asks for.
TurbineRuns good_runs() {
  TurbineRuns runs;
  runs.points = {{1, 900, 900, 20e3, 40, 30e3, 2e3, 1.5e3},
                 {256, 1e3, 200e3, 22e3, 10e3, 7e6, 400e3, 300e3}};
  runs.stages = {{"DSSAT", "runDSSAT", 12, 100, 1e6}};
  runs.applications = {{"DSSAT", 64, 0.9}};
  return runs;
}

TEST(ReproduceTurbine, FindsThePapersStatementsTrueOfWhatItAsksFor) {
  const auto statements = judge_turbine(good_runs(), {});
  ASSERT_EQ(statements.size(), 12U);
  for (const Statement& statement : statements) {
    EXPECT_TRUE(statement.holds) << statement.text << ": " << statement.here;
    EXPECT_NE(statement.wanted, "") << statement.text;
  }
  EXPECT_EQ(statements[0].here, "200.00x on 256 nodes");
  EXPECT_EQ(statements[1].wanted, "more than 2.11e+04/s");
}

// Each change breaks the statement of its place.
TEST(ReproduceTurbine, FindsThemFalseOfOthers) {
  using Change = std::function<void(TurbineRuns&)>;
  const std::vector<Change> changes{[](TurbineRuns& r) { r.points[1].by_one = 150e3; },
                                    [](TurbineRuns& r) { r.points[1].noop = 21e3; },
                                    [](TurbineRuns& r) { r.points[1].program = 23e3; },
                                    [](TurbineRuns& r) { r.points[0].data = 8e6; },
                                    [](TurbineRuns& r) { r.points[1].data = 4e6; },
                                    [](TurbineRuns& r) { r.points[1].data = 5e6; },
                                    [](TurbineRuns& r) { r.points[0].range = 500e3; },
                                    [](TurbineRuns& r) { r.points[1].range = 300e3; },
                                    [](TurbineRuns& r) { r.points[0].iterate = 300e3; },
                                    [](TurbineRuns& r) { r.points[1].iterate = 70e3; },
                                    [](TurbineRuns& r) { r.points[1].iterate = 250e3; },
                                    [](TurbineRuns& r) { r.applications[0].busy = 0.7; }};
  ASSERT_EQ(changes.size(), judge_turbine(good_runs(), {}).size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TurbineRuns runs = good_runs();
    changes[i](runs);
    const Statement statement = judge_turbine(runs, {})[i];
    EXPECT_FALSE(statement.holds) << i << ": " << statement.text << ": " << statement.here;
  }
}

TEST(ReproduceTurbine, SaysWhyDocksLeaveCoresIdle) {
  TurbineRuns runs = good_runs();
  runs.applications.push_back({"modftdock", 64, 0.66});
  EXPECT_NE(judge_turbine(runs, {}).back().why.find("40 molecules"), std::string::npos);
  // What was measured of the default run says nothing of others.
  EXPECT_EQ(judge_turbine(runs, {.n_stage_tasks = 320}).back().why, "");
  runs.applications.back().busy = 0.9;
  EXPECT_EQ(judge_turbine(runs, {}).back().why, "");
}

TEST(ReproduceTurbine, RunsEachFigureInTheSimulator) {
  std::ostringstream err;
  const TurbineOptions options = TurbineOptions::quick();
  const TurbineRuns runs = run_turbine(options, err);
  ASSERT_EQ(runs.points.size(), 2U);
  for (const TurbinePoint& point : runs.points) {
    for (const double rate : {point.by_one, point.by_all, point.noop, point.program, point.data,
                              point.range, point.iterate})
      EXPECT_GT(rate, 0) << point.n_nodes;
    EXPECT_GT(point.range, point.iterate);
    EXPECT_GT(point.noop, point.program);
  }
  ASSERT_EQ(runs.stages.size(), 5U);
  for (const TurbineApplication& application : runs.applications) {
    EXPECT_GT(application.busy, 0) << application.name;
    EXPECT_LE(application.busy, 1) << application.name;
  }
  const auto figures = turbine_figures(runs, options);
  ASSERT_EQ(figures.size(), 6U);
  EXPECT_EQ(figures[0].table.n_rows(), 2U);
  EXPECT_EQ(figures[5].table.n_rows(), 5U);
}

TEST(ReproduceTurbineCommand, QuicklyHasItsFiguresAndJudgesNothing) {
  const std::string report = scratch("turbine.html");
  const Answer answer = call({"reproduce", "turbine", "--quick", "--json", "--report", report});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("paper"), "turbine");
  ASSERT_EQ(json.at("figures").size(), 6U);
  EXPECT_EQ(json.at("figures").at(1).at("place"), "Figure 6");
  EXPECT_TRUE(json.at("statements").empty());
  EXPECT_NE(answer.err.find("judges nothing"), std::string::npos) << answer.err;
  EXPECT_TRUE(std::ifstream(report).good());
  std::remove(report.c_str());
}

TEST(ReproduceTurbineCommand, SimulatesTheSameFromEqualSeeds) {
  const auto run = [] {
    return json_of({"reproduce", "turbine", "--quick", "--profile", "ec2-large", "--seed", "7"})
        .at("figures");
  };
  EXPECT_EQ(run(), run());
}

TEST(ReproduceTurbineCommand, RunsAsManyTasksOfStagesAsAreAskedFor) {
  const auto run = json_of({"reproduce", "turbine", "--quick", "--stage-tasks", "75"});
  EXPECT_EQ(run.at("n_stage_tasks"), 75);
  const auto& stages = run.at("figures").at(5).at("points");
  EXPECT_EQ(stages.back().at("tasks"), 4 * 75);
}

TEST(ReproduceTurbineCommand, NamesAProfileThatIsNone) {
  const Answer answer = call({"reproduce", "turbine", "--quick", "--profile", "ec2-lage"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("did you mean \"ec2-large\"?"), std::string::npos) << answer.err;
}

}  // namespace
}  // namespace rubato::tools

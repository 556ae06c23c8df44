#include <nlohmann/json.hpp>

#include "rubato/tools/reproduce/figures.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

Figure figure(int number, std::initializer_list<std::pair<const char*, double>> gains) {
  Figure out{number, "", "", "", {}};
  double x = 0;
  for (const auto& [label, gain] : gains)
    out.points.push_back({label, x++, gain, 0, gain, 0});
  return out;
}

// Figures as the paper has them.
Reproduction as_printed() {
  Reproduction r;
  r.figures = {
      figure(6, {{"local", 1}, {"d=1", 1.3}, {"d=10", 1.35}}),
      figure(7, {{"local", 1}, {"d=1", 1.3}, {"d=10", 1.3}, {"k=1, m=1", 0.7}, {"k=2, m=2", 0.5}}),
      figure(8, {{"local", 1}, {"m=1", 1.3}, {"m=2", 1.5}, {"m=3", 1.2}}),
      figure(9, {{"local", 1}}),
      figure(10, {{"local", 1}, {"m=8", 1.7}, {"m=9", 1.8}}),
      figure(11, {{"local", 1}, {"scheduling", 1.4}, {"replication", 2.5}, {"both", 3.2}}),
      figure(12, {{"local", 1}, {"scheduling", 1.4}, {"replication", 2}, {"both", 2.5}}),
      figure(13, {{"4 local", 4}, {"4 best", 10}, {"100 local", 80}, {"100 best", 240}})};
  r.figures.back().points[0].x = r.figures.back().points[1].x = 4;
  r.figures.back().points[2].x = r.figures.back().points[3].x = 100;
  return r;
}

TEST(Reproduce, FindsThePapersStatementsTrueOfItsFigures) {
  const auto statements = judge(as_printed());
  ASSERT_EQ(statements.size(), 10U);
  for (const Statement& statement : statements) {
    EXPECT_TRUE(statement.holds) << statement.text << ": " << statement.here;
    EXPECT_NE(statement.wanted, "") << statement.text;
    EXPECT_EQ(statement.why, "") << statement.text;
  }
  EXPECT_EQ(statements[0].wanted, "between 1.105x and 1.495x");
  EXPECT_EQ(statements[0].here, "d=1 1.300x");
}

TEST(Reproduce, SaysWhyForWhatIsFalseWithTheDefaultSettings) {
  Reproduction r = as_printed();
  r.figures = {
      figure(6, {{"local", 1}, {"d=1", 1.3}, {"d=10", 1.35}}),
      figure(7,
             {{"local", 1}, {"d=1", 1.04}, {"d=10", 1.04}, {"k=1, m=1", 1.77}, {"k=2, m=2", 1.28}}),
      figure(8, {{"local", 1}, {"m=1", 1.6}, {"m=2", 2.2}, {"m=5", 3.2}}),
      r.figure(9),
      r.figure(10),
      figure(11, {{"local", 1}, {"scheduling", 1.5}, {"replication", 2.5}, {"both", 2.9}}),
      figure(12, {{"local", 1}, {"scheduling", 1.4}, {"replication", 2.6}, {"both", 3.4}}),
      r.figure(13)};
  std::size_t n_false = 0;
  for (const Statement& statement : judge(r)) {
    n_false += statement.holds ? 0 : 1;
    EXPECT_EQ(statement.why.empty(), statement.holds) << statement.text;
  }
  EXPECT_EQ(n_false, 5U);
}

// Each change breaks the statement of that index.
TEST(Reproduce, FindsThemFalseOfOthers) {
  struct Change {
    int number;
    const char* label;
    double gain;
    std::size_t breaks;
  };
  for (const Change& change : {Change{6, "d=1", 1.05, 0},
                               {6, "d=10", 1.6, 1},
                               {7, "d=1", 1.0, 2},
                               {7, "k=1, m=1", 1.2, 3},
                               {8, "m=3", 1.6, 4},
                               {10, "m=9", 1.6, 5},
                               {11, "both", 2.9, 6},
                               {12, "both", 3.0, 7},
                               {12, "replication", 1.2, 8},
                               {13, "100 best", 150, 9}}) {
    Reproduction r = as_printed();
    for (Figure& each : r.figures) {
      if (each.number != change.number) continue;
      for (FigurePoint& point : each.points) {
        if (point.label == change.label) point.throughput = point.gain = change.gain;
      }
    }
    EXPECT_FALSE(judge(r)[change.breaks].holds) << change.number << " " << change.label;
  }
}

TEST(Reproduce, HostsHaveTheSameWorkHoweverManyTheyAre) {
  const ReproduceOptions options;
  const auto value = [](const Workload& workload, std::uint32_t n, const std::string& name) {
    for (const auto& [key, text] : workload.settings(n)) {
      if (key == name) return std::stod(text);
    }
    return 0.0;
  };
  const Workload heat = jacobi_workload(options);
  EXPECT_EQ(value(heat, 50, "width") * value(heat, 50, "height"), 50 * heat.units_a_host);
  const Workload fish = fish_workload(options);
  EXPECT_EQ(value(fish, 100, "fish"), 100 * fish.units_a_host);
  EXPECT_NEAR(value(fish, 100, "width") * value(fish, 100, "height"),
              25 * value(fish, 4, "width") * value(fish, 4, "height"), 100);
}

TEST(ReproduceCommand, QuicklyHasAllFiguresAndJudgesNothing) {
  const std::string report = scratch("ticks.html");
  const Answer answer = call({"reproduce", "ticks", "--quick", "--json", "--report", report});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("equal"), true);
  ASSERT_EQ(json.at("figures").size(), 8U);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(json.at("figures").at(static_cast<std::size_t>(i)).at("number"), 6 + i);
    EXPECT_GE(json.at("figures").at(static_cast<std::size_t>(i)).at("points").size(), 4U);
  }
  EXPECT_TRUE(json.at("statements").empty());
  EXPECT_NE(answer.err.find("judges nothing"), std::string::npos) << answer.err;
  EXPECT_TRUE(std::ifstream(report).good());
  std::remove(report.c_str());
}

TEST(ReproduceCommand, NamesTheNearestPaper) {
  const Answer answer = call({"reproduce", "tikcs"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("unknown paper \"tikcs\" (did you mean \"ticks\"?)"), std::string::npos)
      << answer.err;
}

}  // namespace
}  // namespace rubato::tools

#include "rubato/tools/reproduce/asytick.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

SystemRun run_of(double seconds, double waiting = 0.04) {
  SystemRun run;
  run.seconds = seconds;
  run.cores_s = seconds;
  run.steps_s = (1 - waiting) * seconds;
  run.whole_steps_s = 10;
  run.whole_moves_s = 1;
  return run;
}

// Comtick takes 10 s of which 2 are work; `absorbed` of the other 8 is what asytick-plb does not
// take, and `scheduled` of that is the order's part.
BenchmarkRuns benchmark(const char* model, double absorbed, double scheduled, double share) {
  BenchmarkRuns out{model, share, {}};
  out.runs["oritick"] = run_of(14.5);
  out.runs["comtick"] = run_of(10, 0.8);
  out.runs["comtick"].skew.computation.by_tick.assign(64, 3.1);
  out.runs["comtick"].skew.computation.by_tick[51] = 3.3;
  out.runs["comtick"].skew.communication.by_tick.assign(64, 0.61);
  out.runs["asytick"] = out.runs["asytick-plb"] = run_of(10 - 8 * absorbed);
  out.runs["asytick-plb"].whole_steps_s = 10.5;
  out.runs["asytick-plb"].whole_moves_s = 6;
  out.runs["as they come"] = run_of(10 - 8 * absorbed * (1 - scheduled));
  return out;
}

// As the paper has it.
AsytickRuns as_printed() {
  AsytickRuns runs;
  runs.benchmarks = {benchmark("fish", 0.75, 0.234, 0.86), benchmark("pagerank", 1, 0.1, 0.9),
                     benchmark("nbody", 0.885, 0.2, 0.9), benchmark("jacobi", 1, 0.05, 0.964)};
  runs.completion = {0.802, 0.526, 0.284, 0.165, 0.043};
  runs.by_nodes = {{2, 8}, {4, 4}, {16, 1.1}};
  runs.by_size = {{1000, 1}, {2000, 2}, {4000, 4.1}};
  runs.by_pieces = {{64, 3}, {1024, 1}, {4096, 2}};
  return runs;
}

TEST(ReproduceAsytick, FindsThePapersStatementsTrueOfItsFigures) {
  const auto statements = judge_asytick(as_printed());
  ASSERT_EQ(statements.size(), 16U);
  for (const Statement& statement : statements) {
    EXPECT_TRUE(statement.holds) << statement.text << ": " << statement.here;
    EXPECT_NE(statement.wanted, "") << statement.text;
    EXPECT_EQ(statement.why, "") << statement.text;
  }
  EXPECT_EQ(statements[4].here, "4.0 %");
  EXPECT_EQ(statements[9].here, "fish 23.4 %, pagerank 10.0 %, nbody 20.0 %, jacobi 5.0 %");
  EXPECT_EQ(statements[10].here, "1.45x");
  EXPECT_EQ(statements[10].wanted, "between 1.232x and 1.667x");
}

// Each change breaks the statement of its place.
TEST(ReproduceAsytick, FindsThemFalseOfOthers) {
  using Change = std::function<void(AsytickRuns&)>;
  const std::vector<Change> changes{
      [](AsytickRuns& r) { r.benchmarks[2].runs["comtick"].skew.computation.by_tick[51] = 2; },
      [](AsytickRuns& r) { r.benchmarks[2].runs["comtick"].skew.communication.by_tick[51] = 0.2; },
      [](AsytickRuns& r) { r.benchmarks[3].asynchronous_share = 0.85; },
      [](AsytickRuns& r) { r.benchmarks[0].runs["asytick-plb"].steps_s *= 0.8; },
      [](AsytickRuns& r) { r.benchmarks[2].runs["asytick-plb"].steps_s *= 0.99; },
      [](AsytickRuns& r) { r.benchmarks[1].runs["asytick-plb"].whole_moves_s = 7; },
      [](AsytickRuns& r) { r.completion[4] = 0.1; },
      [](AsytickRuns& r) { r.benchmarks[0].runs["asytick-plb"].seconds = 4.5; },
      [](AsytickRuns& r) { r.benchmarks[0].runs["as they come"].seconds = 4; },
      [](AsytickRuns& r) { r.benchmarks[3].runs["as they come"].seconds = 6; },
      [](AsytickRuns& r) { r.benchmarks[2].runs["oritick"].seconds = 18; },
      [](AsytickRuns& r) { r.benchmarks[2].runs["asytick-plb"].seconds = 4; },
      [](AsytickRuns& r) { r.benchmarks[2].runs["oritick"].seconds = 10; },
      [](AsytickRuns& r) { r.by_nodes.back().seconds = 2; },
      [](AsytickRuns& r) { r.by_size.back().seconds = 6; },
      [](AsytickRuns& r) { r.by_pieces.back().seconds = 0.9; }};
  ASSERT_EQ(changes.size(), judge_asytick(as_printed()).size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    AsytickRuns runs = as_printed();
    changes[i](runs);
    const Statement statement = judge_asytick(runs)[i];
    EXPECT_FALSE(statement.holds) << i << ": " << statement.text << ": " << statement.here;
  }
}

// What is left out was about others, or about the series of nbody.
TEST(ReproduceAsytick, OfOneBenchmarkJudgesWhatIsSaidOfIt) {
  const auto judge = [](std::size_t i) {
    AsytickRuns runs;
    runs.completion = as_printed().completion;
    runs.benchmarks.push_back(as_printed().benchmarks[i]);
    return judge_asytick(runs);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string name = as_printed().benchmarks[i].model;
    const std::vector<Statement> statements = judge(i);
    EXPECT_EQ(statements.size(), name == "nbody" ? 10U : name == "fish" ? 6U : 4U) << name;
    for (const Statement& statement : statements) {
      EXPECT_TRUE(statement.holds) << name << ": " << statement.text << ": " << statement.here;
      for (const BenchmarkRuns& other : as_printed().benchmarks) {
        if (other.model != name) {
          EXPECT_EQ(statement.here.find(other.model), std::string::npos) << statement.here;
        }
      }
    }
  }
}

TEST(ReproduceAsytick, WhatIsAbsorbedIsHeldAgainstWorkSharedEvenly) {
  const BenchmarkRuns runs = benchmark("fish", 0.5, 0.25, 0.9);
  EXPECT_DOUBLE_EQ(runs.perfect_seconds(), 2);
  EXPECT_DOUBLE_EQ(runs.absorbed("asytick-plb"), 0.5);
  EXPECT_DOUBLE_EQ(runs.scheduled(), 0.25);
}

TEST(ReproduceAsytick, HasFourBenchmarksWhoseTickIsTheSameTime) {
  const AsytickOptions options;
  const auto benchmarks = asytick_benchmarks(options);
  ASSERT_EQ(benchmarks.size(), 4U);
  const auto value = [&](std::size_t i, const char* name) {
    for (const auto& [key, text] : benchmarks[i].settings) {
      if (key == name) return std::stod(text);
    }
    return 0.0;
  };
  const double all_cores_ns = options.tick_ms * 1e6 * options.n_workers();
  const double fish = value(0, "fish") *
                      (value(0, "ns-per-fish") + value(0, "neighbours") * value(0, "ns-per-pair"));
  const double pages = value(1, "vertices") *
                       (value(1, "ns-per-vertex") + value(1, "degree") * value(1, "ns-per-edge"));
  const double rows =
      value(3, "rows") * (value(3, "ns-per-row") + value(3, "degree") * value(3, "ns-per-entry"));
  EXPECT_NEAR(fish / all_cores_ns, 1, 1e-4);
  EXPECT_NEAR(pages / all_cores_ns, 1, 1e-4);
  EXPECT_NEAR(rows / all_cores_ns, 1, 1e-4);
}

// What the cost of the first setting that is named is of the second's.
double ratio(const AsytickBenchmark& benchmark, const std::string& of, const std::string& by) {
  std::map<std::string, std::string> settings(benchmark.settings.begin(), benchmark.settings.end());
  return std::stod(settings.at(of)) / std::stod(settings.at(by));
}

// The tick takes as long in all, but what of it is the asynchronous part is as it was recorded.
TEST(ReproduceAsytick, OtherCostsAreOtherBenchmarks) {
  AsytickOptions options;
  const auto shipped = asytick_benchmarks(options);
  std::vector<RecordedCost> costs = options.costs.costs();
  for (RecordedCost& cost : costs) {
    if (cost.parameter == "ns-per-pair" || cost.parameter == "ns-per-edge") cost.ns *= 3;
  }
  options.costs = CostTable(costs);
  const auto others = asytick_benchmarks(options);
  ASSERT_EQ(others.size(), 4U);
  const auto grows = [&](std::size_t i, const char* of, const char* by) {
    return ratio(others[i], of, by) / ratio(shipped[i], of, by);
  };
  EXPECT_NEAR(grows(0, "ns-per-pair", "ns-per-fish"), 3, 1e-3);
  EXPECT_NEAR(grows(1, "ns-per-edge", "ns-per-vertex"), 3, 1e-3);
  // Of nbody a pair of clumps costs as many as it has bodies, so many that its skew is the same.
  EXPECT_NEAR(grows(2, "ns-per-pair", "ns-per-body"), 1, 1e-3);
  EXPECT_NEAR(grows(3, "ns-per-entry", "ns-per-row"), 1, 1e-3);
  EXPECT_EQ(others[3].settings, shipped[3].settings);
}

TEST(ReproduceAsytick, ChangesAParameterOfOneBenchmark) {
  AsytickOptions options;
  options.changes = {AsytickChange::parse("fish.neighbours=90"),
                     AsytickChange::parse("jacobi.pieces=128")};
  const auto benchmarks = asytick_benchmarks(options);
  ASSERT_EQ(benchmarks.size(), 4U);
  const std::pair<std::string, std::string> wanted{"neighbours", "90"};
  EXPECT_EQ(std::ranges::count(benchmarks[0].settings, wanted), 1);
  EXPECT_EQ(std::ranges::count(benchmarks[0].settings, wanted.first,
                               &std::pair<std::string, std::string>::first),
            1);
  EXPECT_EQ(benchmarks[3].n_pieces, 128U);
  EXPECT_EQ(benchmarks[0].n_pieces, 64 * options.n_workers());
  for (const char* text : {"fish.neighbours", "neighbours=90", "fish=2.5", "", "school.far=0",
                           "fish.pieces=many", "fish.pieces=0"})
    EXPECT_THROW((void)AsytickChange::parse(text), Error) << text;
}

TEST(ReproduceAsytick, WorkersOfANodeShareWhatItSends) {
  AsytickOptions options;
  EXPECT_EQ(options.n_workers(), 256U);
  EXPECT_EQ(options.network(), "const, base=50, rate=125");
  options.n_cores = 4;
  EXPECT_EQ(options.network(), "const, base=50, rate=500");
  options.profile = "none";
  EXPECT_EQ(options.network(), "none");
}

TEST(ReproduceAsytickCommand, OfOneBenchmarkHasItsFiguresAlone) {
  const Answer answer = call(
      {"reproduce", "asytick", "--quick", "--json", "--only", "jacobi", "--set", "jacobi.far=0"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  ASSERT_EQ(json.at("figures").size(), 7U);
  for (const auto& figure : json.at("figures")) {
    for (const auto& point : figure.at("points"))
      EXPECT_EQ(point.at("benchmark"), "jacobi") << figure.at("number");
  }
  EXPECT_TRUE(json.at("statements").empty());
  const Answer wrong = call({"reproduce", "asytick", "--quick", "--set", "jacobi.far"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("expected MODEL.PARAMETER=VALUE"), std::string::npos) << wrong.err;
}

TEST(ReproduceAsytickCommand, FindsTheSameHoweverManyRunsAreUnderWay) {
  std::string alone;
  for (const char* jobs : {"1", "7"}) {
    const Answer answer =
        call({"reproduce", "asytick", "--quick", "--json", "--only", "fish", "--jobs", jobs});
    ASSERT_EQ(answer.code, 0) << answer.err;
    if (alone.empty()) alone = answer.out;
    EXPECT_EQ(answer.out, alone) << jobs;
  }
}

// One piece cannot lie on eight workers.
TEST(ReproduceAsytickCommand, ARunThatFailsEndsTheOthers) {
  for (const char* jobs : {"1", "3"}) {
    const Answer answer =
        call({"reproduce", "asytick", "--quick", "--jobs", jobs, "--set", "pagerank.pieces=1"});
    EXPECT_EQ(answer.code, 2) << answer.err;
    EXPECT_NE(answer.err.find("pieces: expected at least one a node, found 1 in all"),
              std::string::npos)
        << answer.err;
    EXPECT_EQ(answer.err.find("jacobi"), std::string::npos) << answer.err;
  }
}

TEST(ReproduceAsytickCommand, QuicklyHasAllFiguresAndJudgesNothing) {
  const std::string report = scratch("asytick.html");
  const Answer answer = call({"reproduce", "asytick", "--quick", "--json", "--report", report});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("paper"), "asytick");
  EXPECT_EQ(json.at("equal"), true);
  const auto& figures = json.at("figures");
  ASSERT_EQ(figures.size(), 11U);
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_EQ(figures.at(i).at("number"), 4 + i);
    EXPECT_GE(figures.at(i).at("points").size(), 2U) << i;
  }
  // Two successive ticks of each benchmark, one of them slow on one node at each.
  ASSERT_EQ(figures.at(0).at("points").size(), 8U);
  for (const auto& point : figures.at(0).at("points"))
    EXPECT_GT(point.at("lambda_L"), 0.5) << point;
  EXPECT_TRUE(json.at("statements").empty());
  EXPECT_NE(answer.err.find("judges nothing"), std::string::npos) << answer.err;
  EXPECT_TRUE(std::ifstream(report).good());
  std::remove(report.c_str());
}

// As people read it: a table under each heading, in their order.
TEST(ReproduceAsytickCommand, PrintsTheTablesOfFigures4To14) {
  const Answer answer = call({"reproduce", "asytick", "--quick", "--nodes", "2"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  std::size_t at = 0;
  for (int figure = 4; figure <= 14; ++figure) {
    const std::string heading = (figure == 4 ? "Figure " : "\n\nFigure ") + std::to_string(figure);
    const std::size_t found = answer.out.find(heading + "  ", at);
    ASSERT_NE(found, std::string::npos) << heading << " in " << answer.out;
    at = found + heading.size();
    std::istringstream lines(answer.out.substr(at));
    std::string title;
    std::string names;
    std::string rule;
    std::string row;
    std::getline(std::getline(std::getline(std::getline(lines, title), names), rule), row);
    EXPECT_GT(title.size(), 10U) << figure;
    EXPECT_EQ(rule.find_first_not_of("\u2500 "), std::string::npos) << figure << ": " << rule;
    EXPECT_NE(rule, "") << figure;
    EXPECT_NE(row.find_first_of("0123456789"), std::string::npos) << figure << ": " << row;
  }
}

TEST(ReproduceAsytickCommand, NamesAProfileThatIsNone) {
  const Answer answer = call({"reproduce", "asytick", "--quick", "--profile", "ec2-lage"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("--profile"), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("did you mean \"ec2-large\"?"), std::string::npos) << answer.err;
}

}  // namespace
}  // namespace rubato::tools

#include "rubato/tools/reproduce/grappa.hpp"

#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "rubato/tools/reproduce/statement_text.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

// As the paper has it, where it says so.
GrappaRuns as_printed() {
  GrappaRuns runs;
  runs.gups = {{1, 15e6, 0, 0}, {2, 30e6, 1e6, 90e6}, {64, 640e6, 25e6, 110e6}};
  runs.updates = {{31, 200e6, 200e6, 250e6}, {31, 830e6, 850e6, 5e9}};
  runs.over_time = {{1, 10, 100e6}, {2, 20, 190e6}, {3, 5, 60e6}};
  runs.watched_link_bytes_s = 250e6;
  runs.gups_mpi = {{"updates", 70, "by hand", 100, 0.7},
                   {"over-atomics", 70, "MPI_Fetch_and_op", 2, 35}};
  runs.message_size = {{"8-bytes", 100, "an MPI message each", 3, 33},
                       {"32-bytes", 30, "an MPI message each", 3, 10},
                       {"65536-bytes", 0.02, "an MPI message each", 0.03, 0.66}};
  runs.messages = {{"one-way", 56, "by hand", 70, 0.8}, {"both-ways", 90, "by hand", 110, 0.8}};
  runs.yield = {{"tasks-1k", 49, "Boost.Fiber", 150, 3},
                {"tasks-1k-prefetch", 49, "without prefetching", 120, 2.45},
                {"tasks-100k-prefetch", 60, "without prefetching", 150, 2.5},
                {"tasks-500k", 74, "Boost.Fiber", 220, 3},
                {"tasks-500k-prefetch", 74, "without prefetching", 160, 2.2}};
  return runs;
}

TEST(ReproduceGrappa, FindsThePapersStatementsTrueOfItsFigures) {
  const auto statements = judge_grappa(as_printed());
  ASSERT_EQ(statements.size(), 15U);
  for (const Statement& statement : statements) {
    EXPECT_TRUE(statement.holds) << statement.text << ": " << statement.here;
    EXPECT_NE(statement.wanted, "") << statement.text;
    EXPECT_EQ(statement.why, "") << statement.text;
  }
  EXPECT_EQ(statements[0].here, "35.0x of MPI_Fetch_and_op over two processes");
  EXPECT_EQ(statements[0].wanted, "more than 25x");
}

// Each change breaks the statement of its place.
TEST(ReproduceGrappa, FindsThemFalseOfOthers) {
  using Change = std::function<void(GrappaRuns&)>;
  const std::vector<Change> changes{
      [](GrappaRuns& r) { r.gups_mpi[1].ratio = 24; },
      [](GrappaRuns& r) { r.gups[2].single_rate = 30e6; },
      [](GrappaRuns& r) { r.gups[2].rate = 460e6, r.gups[2].single_rate = 1e6; },
      [](GrappaRuns& r) { r.gups[2].node_bytes_s = 90e6; },
      [](GrappaRuns& r) { r.message_size[0].baseline_value = 30; },
      [](GrappaRuns& r) { r.message_size[1].value = 20; },
      [](GrappaRuns& r) { r.messages[1].value = 50; },
      [](GrappaRuns& r) { r.updates[1].rate = 0.8e9; },
      [](GrappaRuns& r) { r.over_time[2].node_bytes_s = 200e6; },
      [](GrappaRuns& r) { r.watched_link_bytes_s = 500e6; },
      [](GrappaRuns& r) { r.yield[0].value = 51; },
      [](GrappaRuns& r) { r.yield[3].value = 76; },
      [](GrappaRuns& r) { r.yield[2].ratio = 1.4; },
      [](GrappaRuns& r) { r.yield[1].ratio = 1.9; },
      [](GrappaRuns& r) { r.yield[0].value = 7; }};
  ASSERT_EQ(changes.size(), judge_grappa(as_printed()).size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    GrappaRuns runs = as_printed();
    changes[i](runs);
    const Statement statement = judge_grappa(runs)[i];
    EXPECT_FALSE(statement.holds) << i << ": " << statement.text << ": " << statement.here;
  }
}

TEST(ReproduceGrappa, SaysWhatWasNotMeasured) {
  GrappaRuns runs = as_printed();
  runs.gups_mpi = runs.message_size = runs.messages = runs.yield = {};
  std::size_t n_judged = 0;
  for (const Statement& statement : judge_grappa(runs)) {
    n_judged += statement.is_judged ? 1 : 0;
    if (statement.is_judged) continue;
    EXPECT_EQ(statement.here.rfind("not judged: bench ", 0), 0U) << statement.here;
    EXPECT_FALSE(statement.holds);
    EXPECT_FALSE(statement.wanted.empty());
  }
  EXPECT_EQ(n_judged, 6U);
  EXPECT_NE(statements_text(judge_grappa(runs)).find("\n-      small messages one by one use"),
            std::string::npos);
  // One row that is missing is told, too.
  runs = as_printed();
  std::erase_if(runs.yield, [](const BenchRow& row) { return row.metric == "tasks-500k"; });
  const auto statements = judge_grappa(runs);
  EXPECT_EQ(statements.back().here, "not judged: bench yield has no row tasks-500k");
  EXPECT_EQ(statements.size(), 15U);
  runs.gups_mpi = runs.message_size = runs.messages = runs.yield = {};
  const auto figures = grappa_figures(runs, {});
  ASSERT_EQ(figures.size(), 7U);
  for (const std::size_t i : {1, 2, 4, 6}) {
    EXPECT_EQ(figures[i].table.n_rows(), 0U);
    EXPECT_NE(figures[i].note.find("not measured"), std::string::npos) << figures[i].note;
  }
}

TEST(ReproduceGrappa, ReadsTheRowsOfABenchmark) {
  const auto rows = bench_rows(
      R"({"bench":"yield","rows":[{"metric":"tasks-2","value":6.5,"unit":"ns a yield",)"
      R"("baseline":null,"baseline_value":null,"ratio":null,"spread":0},{"metric":"32-bytes",)"
      R"("value":8,"unit":"","baseline":"MPI","baseline_value":2,"ratio":4,"spread":0}]})");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].value, 6.5);
  EXPECT_EQ(rows[0].baseline, "");
  const BenchRow* row = find_row(rows, "32-bytes");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->baseline_value, 2);
  EXPECT_EQ(row->ratio, 4);
  EXPECT_EQ(message_bytes(*row), 32);
  EXPECT_EQ(find_row(rows, "tasks-3"), nullptr);
  for (const char* text : {"", "rubato: no such file", "[1]", "{}"})
    EXPECT_TRUE(bench_rows(text).empty()) << text;
}

TEST(ReproduceGrappa, CorrelatesTasksAndBandwidth) {
  EXPECT_NEAR(correlation({{1, 1, 2}, {2, 2, 4}, {3, 3, 6}}), 1, 1e-12);
  EXPECT_NEAR(correlation({{1, 1, 6}, {2, 2, 4}, {3, 3, 2}}), -1, 1e-12);
  EXPECT_EQ(correlation({{1, 1, 6}, {2, 1, 4}}), 0);
}

TEST(ReproduceGrappaCommand, QuicklyHasItsSimulatedFiguresAndJudgesNothing) {
  const std::string report = scratch("grappa.html");
  const Answer answer = call({"reproduce", "grappa", "--quick", "--json", "--report", report});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("paper"), "grappa");
  const auto& figures = json.at("figures");
  ASSERT_EQ(figures.size(), 7U);
  const auto& gups = figures.at(0).at("points");
  ASSERT_EQ(gups.size(), 3U);
  EXPECT_EQ(gups.at(2).at("nodes"), 4);
  EXPECT_TRUE(gups.at(0).at("one by one").is_null());
  for (std::size_t i = 1; i < 3; ++i)
    EXPECT_GT(gups.at(i).at("delegates"), gups.at(i).at("one by one"));
  ASSERT_EQ(figures.at(3).at("points").size(), 2U);
  const auto& over_time = figures.at(5).at("points");
  ASSERT_EQ(over_time.size(), 20U);
  double n_waiting = 0;
  for (const auto& moment : over_time)
    n_waiting = std::max(n_waiting, moment.at("waiting tasks").get<double>());
  EXPECT_GT(n_waiting, 10);
  EXPECT_TRUE(json.at("statements").empty());
  EXPECT_NE(answer.err.find("judges nothing"), std::string::npos) << answer.err;
  EXPECT_TRUE(std::ifstream(report).good());
  std::remove(report.c_str());
}

TEST(ReproduceGrappaCommand, SimulatesTheSameFromEqualSeeds) {
  const auto run = [](const char* seed) {
    return json_of({"reproduce", "grappa", "--quick", "--nodes", "3", "--profile",
                    "ec2-large, rate=1000", "--seed", seed})
        .at("figures");
  };
  const auto first = run("7");
  EXPECT_EQ(first.at(0).at("points").size(), 3U);  // of 1, 2 and 3 nodes
  EXPECT_EQ(first.at(3).at("points").at(0).at("nodes"), 3);
  EXPECT_EQ(first, run("7"));
  EXPECT_NE(first, run("8"));
}

TEST(ReproduceGrappaCommand, NamesAProfileThatIsNone) {
  const Answer answer = call({"reproduce", "grappa", "--quick", "--profile", "ec2-lage"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("did you mean \"ec2-large\"?"), std::string::npos) << answer.err;
}

}  // namespace
}  // namespace rubato::tools

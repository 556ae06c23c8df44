// Models as the command line sees them: parameters, and runs in the simulator whose
// checksums do not depend on the policy.

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "rubato/models/app_jacobi.hpp"
#include "rubato/models/app_nbody.hpp"
#include "rubato/models/app_pagerank.hpp"
#include "rubato/models/app_traffic.hpp"
#include "rubato/tick/check/checker.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::models {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<tick::Problem> build(tick::App& app, const Settings& settings) {
  tick::Parameters parameters;
  app.declare(parameters);
  for (const auto& [name, text] : settings)
    parameters.set(name, text);
  return app.build();
}

std::string refusal(std::unique_ptr<tick::App> app, const Settings& settings) {
  try {
    (void)build(*app, settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

void expect_equal_checksums(tick::App& app, const Settings& settings, Tick ticks) {
  const auto problem = build(app, settings);
  std::uint64_t checksum = 0;
  for (const std::uint32_t n_nodes : {1U, 3U, 4U}) {
    for (const char* policy : {"bulk", "local", "d2", "k2m2", "k1m1d1"}) {
      tick::SimulationOptions options;
      options.n_nodes = n_nodes;
      const auto result = tick::simulate(*problem, tick::Policy::parse(policy), ticks, options);
      if (checksum == 0) checksum = result.checksum;
      EXPECT_EQ(result.checksum, checksum) << policy << " on " << n_nodes;
      EXPECT_EQ(result.ticks, ticks);
    }
  }
  EXPECT_NE(checksum, 0U);
}

TEST(PageRankApp, runs_in_the_simulator_with_one_checksum_for_all_policies) {
  expect_equal_checksums(*make_pagerank_app(), {{"vertices", "600"}, {"degree", "3"}}, 12);
}

TEST(JacobiApp, runs_in_the_simulator_with_one_checksum_for_all_policies) {
  expect_equal_checksums(*make_jacobi_app(), {{"rows", "600"}, {"tolerance", "0"}}, 12);
}

TEST(NBodyApp, runs_in_the_simulator_with_one_checksum_for_all_policies) {
  expect_equal_checksums(*make_nbody_app(), {{"bodies", "600"}, {"clusters", "2"}}, 12);
}

TEST(TrafficApp, runs_in_the_simulator_with_one_checksum_for_all_policies) {
  expect_equal_checksums(*make_traffic_app(), {{"columns", "5"}, {"rows", "4"}}, 15);
}

TEST(PageRankApp, the_ranking_of_a_file_is_gathered_from_the_nodes) {
  const auto path = std::filesystem::temp_directory_path() / "rubato_app_test_edges.tsv";
  std::ofstream(path) << "a\tneeds\tz\nb\tneeds\tz\nc\tneeds\tz\nz\tneeds\ty\na\tlikes\tb\n";
  const auto app = make_pagerank_app();
  const auto problem = build(
      *app,
      {{"input", path.string()}, {"labels", "text"}, {"target-column", "3"}, {"only", "2=needs"}});
  std::filesystem::remove(path);
  Ranking ranking(2);
  tick::SimulationOptions options;
  options.n_nodes = 2;
  options.at_end = [&](tick::NodeId, tick::NodeRun& node) {
    EXPECT_TRUE(add_to_ranking(node, ranking));
  };
  (void)tick::simulate(*problem, tick::Policy::parse("local"), 60, options);
  const auto best = ranking.best();
  ASSERT_EQ(best.size(), 2U);
  // Of y, z and the three others, y is pointed at by all that z gathers.
  EXPECT_EQ(best[0].vertex, 3U);
  EXPECT_EQ(best[1].vertex, 4U);
  EXPECT_GT(best[0].rank, best[1].rank);
}

void expect_rules_kept(tick::App& app, const Settings& settings) {
  const auto problem = build(app, settings);
  const tick::CheckReport report = problem->check(tick::CheckOptions{});
  for (const tick::RuleResult& rule : report.rules) {
    EXPECT_FALSE(rule.failure.has_value()) << rule.name << ": " << rule.failure.value_or("");
  }
  EXPECT_GT(report.rules.size(), 10U);
}

TEST(PageRankApp, keeps_all_rules_of_a_model) {
  expect_rules_kept(*make_pagerank_app(),
                    {{"vertices", "200"}, {"degree", "3"}, {"tolerance", "1e-9"}});
}

TEST(JacobiApp, keeps_all_rules_of_a_model) {
  expect_rules_kept(*make_jacobi_app(), {{"rows", "200"}, {"tolerance", "1e-9"}});
}

TEST(NBodyApp, keeps_all_rules_of_a_model) {
  expect_rules_kept(*make_nbody_app(), {{"bodies", "150"}});
  expect_rules_kept(*make_nbody_app(),
                    {{"bodies", "150"}, {"dimensions", "3"}, {"reflecting", "true"}});
}

TEST(TrafficApp, keeps_all_rules_of_a_model) {
  expect_rules_kept(*make_traffic_app(),
                    {{"columns", "4"}, {"rows", "3"}, {"until-empty", "true"}});
}

// Hides what the model says of how its states are cut.
struct UncutTraffic : TrafficModel {
  using TrafficModel::TrafficModel;
  void filter() const = delete;
};

TEST(TrafficModel, a_check_notes_what_it_cannot_test_without_filter) {
  TrafficOptions options;
  options.columns = options.rows = 2;
  const auto report = tick::check_model(UncutTraffic(options), {.ticks = 2});
  EXPECT_EQ(report.find("one-by-one"), nullptr);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes.front().find("one-by-one is not tested"), std::string::npos);
}

// Pieces of which one has no signals, or joined ones that have none.
struct UnsignalledTraffic : TrafficModel {
  bool joins;
  UnsignalledTraffic(const TrafficOptions& options, bool joins_them)
      : TrafficModel(options), joins(joins_them) {}
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    auto pieces = TrafficModel::pieces(n);
    if (!joins && pieces.size() == 2) pieces.back().signals = {};
    return pieces;
  }
  [[nodiscard]] Query join(std::span<const Query> queries) const {
    Query all = TrafficModel::join(queries);
    if (joins && queries.size() > 1) all.signals = queries.front().signals;
    return all;
  }
};

TEST(TrafficModel, pieces_that_leave_out_a_table_are_found) {
  TrafficOptions options;
  options.columns = options.rows = 3;
  const auto failure = [&](bool joins, const char* name) {
    const auto report = tick::check_model(UnsignalledTraffic(options, joins), {.ticks = 2});
    const tick::RuleResult* rule = report.first_failure();
    EXPECT_NE(rule, nullptr);
    EXPECT_TRUE(rule == nullptr || rule->name == name) << describe(report);
    return rule == nullptr ? "" : *rule->failure;
  };
  const std::string left_out = failure(false, "pieces-cover");
  EXPECT_NE(left_out.find("at tick 0 is in none of pieces(2), which are 2"), std::string::npos)
      << left_out;
  const std::string not_joined = failure(true, "join");
  EXPECT_NE(not_joined.find("join(pieces(2)[0, 1]) at tick 0: tuple "), std::string::npos)
      << not_joined;
  EXPECT_NE(not_joined.find(" is missing, pieces(2)[1] selects it"), std::string::npos)
      << not_joined;
}

TEST(PageRankApp, bad_values_are_refused_by_name) {
  EXPECT_NE(refusal(make_pagerank_app(), {{"damping", "1.5"}}).find("damping"), std::string::npos);
  EXPECT_NE(refusal(make_pagerank_app(), {{"vertices", "0"}}).find("--vertices"),
            std::string::npos);
  EXPECT_NE(refusal(make_pagerank_app(), {{"input", "x"}, {"only", "Depends"}})
                .find("expected COLUMN=VALUE, such as 2=Depends, found \"Depends\""),
            std::string::npos);
  EXPECT_NE(refusal(make_pagerank_app(), {{"input", "x"}, {"source-column", "0"}})
                .find("columns count from 1, found 0"),
            std::string::npos);
}

TEST(TrafficApp, a_number_beyond_32_bits_is_refused_with_its_range) {
  EXPECT_NE(refusal(make_traffic_app(), {{"lanes", "4294967297"}}).find("lanes: expected 1 to 4"),
            std::string::npos);
}

}  // namespace
}  // namespace rubato::models

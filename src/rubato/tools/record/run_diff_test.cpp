#include "rubato/tools/record/run_diff.hpp"

#include <gtest/gtest.h>

#include "rubato/tools/record/machine.hpp"

namespace rubato::tools {
namespace {

RecordedRun run_of(const std::string& folder, const std::string& checksum) {
  RecordedRun run{folder, {}};
  run.file.model = "heat";
  run.file.parameters = {{"width", "60", true, 0}, {"walls", "house.png", true, 77}};
  run.file.policy = "local";
  run.file.ticks = 30;
  run.file.n_nodes = 1;
  run.file.start.status = RunStatus::done;
  RunFigures figures;
  figures.ticks = 30;
  figures.wall_s = 2;
  figures.ticks_per_second = 15;
  figures.waiting_share = 0.25;
  figures.checksum = checksum;
  run.figures = figures;
  return run;
}

std::string what_differs(const RunDiff& diff) {
  std::string all;
  for (const auto& each : diff.configuration)
    all += each.what + "=" + each.a + "|" + each.b + ";";
  return all;
}

TEST(RunDiff, runs_that_are_the_same_differ_in_nothing) {
  const RunDiff diff = diff_runs(run_of("a", "f0"), run_of("b", "f0"));
  EXPECT_EQ(what_differs(diff), "");
  EXPECT_TRUE(diff.must_agree);
  EXPECT_TRUE(diff.agree());
  EXPECT_FALSE(diff.is_broken());
}

TEST(RunDiff, policy_and_nodes_may_differ_but_not_the_checksum) {
  RecordedRun other = run_of("b", "f1");
  other.file.policy = "bulk";
  other.file.n_nodes = 4;
  other.file.is_simulated = true;
  const RunDiff diff = diff_runs(run_of("a", "f0"), other);
  EXPECT_EQ(what_differs(diff), "policy=local|bulk;nodes=1|4 virtual;");
  EXPECT_TRUE(diff.is_broken());
  EXPECT_NE(diff_page(run_of("a", "f0"), other, diff, {})
                .find("checksums: f0 and f1, expected the same: model, parameters"),
            std::string::npos);
}

TEST(RunDiff, how_the_work_is_shared_is_a_part_of_the_configuration) {
  RecordedRun other = run_of("b", "f0");
  other.file.policy = "auto";
  other.file.n_pieces = 64;
  other.file.balance = "persistence";
  EXPECT_EQ(what_differs(diff_runs(run_of("a", "f0"), other)),
            "policy=local|auto;pieces=|64;balance=|persistence;");
}

TEST(RunDiff, a_file_counts_by_its_content) {
  RecordedRun moved = run_of("b", "f1");
  moved.file.parameters[1].text = "old/house.png";
  EXPECT_TRUE(diff_runs(run_of("a", "f0"), moved).is_broken());
  RecordedRun changed = run_of("b", "f1");
  changed.file.parameters[1].file_hash = 78;
  const RunDiff diff = diff_runs(run_of("a", "f0"), changed);
  EXPECT_FALSE(diff.must_agree);
  EXPECT_EQ(what_differs(diff), "--walls, content=000000000000004d|000000000000004e;");
}

TEST(RunDiff, other_states_need_not_agree) {
  const RecordedRun a = run_of("a", "f0");
  const auto differs = [&](const auto& change) {
    RecordedRun b = run_of("b", "f1");
    change(b);
    return !diff_runs(a, b).must_agree && !diff_runs(b, a).must_agree;
  };
  EXPECT_TRUE(differs([](RecordedRun& b) { b.file.model = "fish"; }));
  EXPECT_TRUE(differs([](RecordedRun& b) { b.file.model_version = 2; }));
  EXPECT_TRUE(differs([](RecordedRun& b) { b.file.parameters[0].text = "61"; }));
  EXPECT_TRUE(differs([](RecordedRun& b) { b.file.parameters.pop_back(); }));
  EXPECT_TRUE(differs([](RecordedRun& b) { b.figures->ticks = 31; }));
  EXPECT_TRUE(differs([](RecordedRun& b) { b.file.start.branch_tick = 20; }));
  EXPECT_TRUE(differs([](RecordedRun& b) { b.file.earlier.emplace_back().branch_tick = 20; }));
  EXPECT_FALSE(differs([](RecordedRun& b) { b.file.start.begin = 20; }));
}

// What they had before may have differed.
TEST(RunDiff, branches_need_not_agree_and_their_ticks_are_shown) {
  RecordedRun a = run_of("a", "f0");
  RecordedRun b = run_of("b", "f1");
  a.file.start.begin = b.file.start.begin = 20;
  a.file.start.branch_tick = b.file.start.branch_tick = 10;
  EXPECT_FALSE(diff_runs(a, b).must_agree);
  b.file.start.branch_tick = 20;
  EXPECT_EQ(what_differs(diff_runs(a, b)), "branch=since tick 10|since tick 20;");
}

TEST(RunDiff, figures_change_by_a_share_and_shares_by_a_difference) {
  RecordedRun b = run_of("b", "f0");
  b.figures->wall_s = 3;
  b.figures->waiting_share = 0.5;
  b.figures->n_messages = 8;
  const RunDiff diff = diff_runs(run_of("a", "f0"), b);
  for (const auto& each : diff.figures) {
    if (each.figure == "wall_s") {
      EXPECT_EQ(each.change, 0.5);
    } else if (each.figure == "waiting_share") {
      EXPECT_EQ(each.change, 0.25);
    } else if (each.figure == "messages") {
      EXPECT_EQ(each.change, std::nullopt) << "from none to 8";
    }
  }
  EXPECT_EQ(diff.figures.size(), 8U);
}

TEST(RunDiff, a_run_without_figures_has_no_checksum_to_compare) {
  RecordedRun b = run_of("b", "");
  b.figures.reset();
  b.file.start.status = RunStatus::failed;
  const RunDiff diff = diff_runs(run_of("a", "f0"), b);
  EXPECT_FALSE(diff.is_broken());
  EXPECT_TRUE(diff.figures.empty());
  EXPECT_NE(diff_page(run_of("a", "f0"), b, diff, {}).find("checksums: none of b, it is failed"),
            std::string::npos);
}

TEST(Machine, hosts_have_their_nodes_in_order) {
  const RecordedHost one{"cn-1", "Linux", "EPYC", 4, 100};
  RecordedHost two = one;
  two.name = "cn-2";
  const std::vector<RecordedHost> hosts = hosts_of_nodes({one, one, two, one});
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].nodes, (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(hosts[1].name, "cn-2");
  EXPECT_EQ(hosts[1].nodes, std::vector<std::uint32_t>{2});
}

TEST(Machine, travels_as_bytes) {
  const RecordedHost here = this_machine();
  EXPECT_FALSE(here.name.empty());
  EXPECT_GE(here.n_processors, 1U);
  EXPECT_GT(here.memory_bytes, 1U << 20);
  Writer out;
  put(out, here);
  Reader in(out.view());
  EXPECT_EQ(get_host(in), here);
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace rubato::tools

#include "rubato/tick/balance/skew.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {
namespace {

struct Place {
  NodeId node = 0;
  std::uint32_t core = 0;
};

// `took` ns of work, which ends at `end`.
void work(SkewObserver& skew, Place at, WorkKind kind, Tick t, Nanos took, Nanos end = 1'000'000) {
  skew.on_work(at.node, at.core, {kind, 0, t, nullptr}, end - took, end);
}

// Two ticks of 4 nodes of 2 cores: tick 10 lies on one node by three times the mean, tick 11 evenly.
void work_of_a_skewed_tick(SkewObserver& skew) {
  work(skew, {0, 0}, step_own, 10, 300);
  work(skew, {0, 1}, step_own, 10, 300);
  for (NodeId node = 1; node < 3; ++node)
    work(skew, {node, 0}, step_own, 10, 100);
  for (NodeId node = 0; node < 4; ++node)
    work(skew, {node, 1}, step_own, 11, 50);
}

TEST(Skew, lambda_is_the_largest_over_the_mean_less_one_for_each_tick) {
  SkewObserver skew({4, 2, 10, false});
  work_of_a_skewed_tick(skew);
  const SkewFigures figures = skew.figures();
  EXPECT_EQ(figures.begin, 10);
  EXPECT_EQ(figures.n_ticks, 2U);
  // (600, 100, 100, 0): 600 / 200 - 1.
  EXPECT_EQ(figures.computation.by_tick, (std::vector<double>{2, 0}));
  EXPECT_EQ(figures.computation.worst, 10);
  EXPECT_EQ(figures.computation.at_worst, 2);
  // Weighted by the times of the ticks, 800 and 200.
  EXPECT_DOUBLE_EQ(figures.computation.mean, 1.6);
  EXPECT_EQ(skew.time(0, 10), 600);
  EXPECT_EQ(skew.time(3, 10), 0);
  EXPECT_EQ(skew.time(3, 11), 50);
  EXPECT_EQ(skew.time(0, 9), 0);
  EXPECT_EQ(skew.time(0, 500), 0);
}

TEST(Skew, messages_have_a_lambda_of_their_own) {
  SkewObserver skew({2, 1, 0, false});
  for (Tick t = 0; t < 3; ++t) {
    work(skew, {0, 0}, step_own, t, 10);
    work(skew, {1, 0}, step_own, t, 10);
  }
  work(skew, {0, 0}, pack_round, 1, 30);
  work(skew, {0, 0}, unpack_round, 1, 30);
  work(skew, {1, 0}, unpack_round, 1, 20);
  work(skew, {1, 0}, pack_round, 2, 20);
  // Of an end that came sooner than was thought: for no step.
  work(skew, {1, 0}, pack_round, 3, 500);
  const SkewFigures figures = skew.figures();
  EXPECT_EQ(figures.computation.by_tick, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(figures.communication.by_tick, (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(figures.communication.worst, 1);
  EXPECT_EQ(figures.communication.at_worst, 0.5);
  EXPECT_DOUBLE_EQ(figures.communication.mean, (0.5 * 80 + 1 * 20) / 100);
}

// What `core` of node `at` took of others for the steps from t, and how late that was.
void take(SkewObserver& skew, Place at, Tick t, Nanos took, Nanos late) {
  skew.on_work(at.node, at.core, {unpack_round, 0, t, nullptr, 0, late}, 1'000'000 - took,
               1'000'000);
}

TEST(Skew, the_latest_message_of_a_tick_is_of_its_communication) {
  SkewObserver first({.n_cores = 2});
  SkewObserver second({.first_node = 1});
  for (Tick t = 0; t < 2; ++t) {
    work(first, {0, 0}, step_own, t, 10);
    work(second, {1, 0}, step_own, t, 10);
  }
  // On both cores of a node, three messages: 10 + 20 + 30 and the latest, 440.
  take(first, {0, 0}, 0, 10, 7);
  take(first, {0, 1}, 0, 20, 440);
  take(first, {0, 0}, 0, 30, 300);
  take(second, {1, 0}, 0, 60, 40);
  // Of another tick none is late.
  take(first, {0, 0}, 1, 30, 0);
  take(second, {1, 0}, 1, 30, 0);
  SkewObserver all({.n_nodes = 2});
  all.add(first.pack());
  all.add(second.pack());
  EXPECT_EQ(all.figures().communication.by_tick, (std::vector<double>{500.0 / 300 - 1, 0}));
}

TEST(Skew, the_asynchronous_share_is_that_of_the_parts_that_ran_ahead) {
  SkewObserver skew({2, 1, 0, false});
  work(skew, {0, 0}, interact_own, 0, 30);
  work(skew, {0, 0}, step_own, 0, 50);
  work(skew, {1, 0}, step_own, 0, 20);
  work(skew, {1, 0}, step_replica, 0, 1000);  // nobody's own
  work(skew, {1, 0}, move_state, 0, 1000);
  const SkewFigures figures = skew.figures();
  EXPECT_DOUBLE_EQ(figures.asynchronous_share, 0.3);
  EXPECT_DOUBLE_EQ(figures.computation.at_worst, 80.0 / 50 - 1);
}

TEST(Skew, completion_is_what_is_done_of_later_ticks_when_the_last_step_of_the_worst_ends) {
  SkewObserver skew({2, 1, 0, true});
  work(skew, {0, 0}, step_own, 0, 1, 1);
  work(skew, {1, 0}, step_own, 0, 1, 1);
  // Tick 1 is done at 100.
  work(skew, {0, 0}, step_own, 1, 99, 100);
  work(skew, {1, 0}, step_own, 1, 1, 2);
  for (Tick t = 2; t < 7; ++t) {
    // Node 1 has done ticks 2, 3 and 4 by then, the last of them right then.
    work(skew, {1, 0}, step_own, t, 1, t == 4 ? 100 : 10 * t + (t > 4 ? 100 : 0));
    work(skew, {0, 0}, step_own, t, 1, 200 + t);
  }
  const SkewFigures figures = skew.figures();
  EXPECT_EQ(figures.computation.worst, 1);
  EXPECT_EQ(figures.completion, (std::vector<double>{0.5, 0.5, 0.5, 0, 0}));
}

TEST(Skew, completion_of_nodes_that_see_themselves_is_told_once_their_clocks_are_known) {
  // The run of the test above; the second clock is 1,000,000 ahead.
  constexpr Nanos kAhead = 1'000'000;
  SkewObserver first({.keeps_units = true});
  SkewObserver second({.keeps_units = true, .first_node = 1});
  work(first, {0, 0}, step_own, 0, 1, 1);
  work(second, {1, 0}, step_own, 0, 1, kAhead + 1);
  work(first, {0, 0}, step_own, 1, 99, 100);
  work(second, {1, 0}, step_own, 1, 1, kAhead + 2);
  for (Tick t = 2; t < 7; ++t) {
    work(second, {1, 0}, step_own, t, 1, kAhead + (t == 4 ? 100 : 10 * t + (t > 4 ? 100 : 0)));
    work(first, {0, 0}, step_own, t, 1, 200 + t);
  }
  SkewObserver all({.n_nodes = 2, .keeps_units = true});
  all.add(first.pack());
  all.add(second.pack());
  const SkewFigures before = all.figures();
  EXPECT_EQ(before.computation.worst, 1);
  EXPECT_TRUE(before.completion.empty());
  all.add_units(first.pack_units(1), 0);
  all.add_units(second.pack_units(1), kAhead);
  EXPECT_EQ(all.figures().completion, (std::vector<double>{0.5, 0.5, 0.5, 0, 0}));
}

TEST(Skew, completion_is_told_after_a_tick_of_which_all_nodes_have_kept_all) {
  SkewObserver first({.keeps_units = true});
  SkewObserver second({.keeps_units = true, .first_node = 1, .n_units_max = 9});
  SkewObserver none({.keeps_units = true, .first_node = 1, .n_units_max = 1});
  for (Tick t = 0; t < 20; ++t) {
    work(first, {0, 0}, step_own, t, t == 2 ? 20 : 10, 100 * t + 10);
    for (SkewObserver* node : {&second, &none})
      work(*node, {1, 0}, step_own, t, t == 12 ? 500 : 10, 100 * t + 10);
  }
  const auto told = [&](const SkewObserver& other) {
    SkewObserver all({.n_nodes = 2, .keeps_units = true});
    all.add(first.pack());
    all.add(other.pack());
    const SkewFigures before = all.figures();
    EXPECT_EQ(before.computation.worst, 12);
    all.add_units(first.pack_units(before.completion_tick), 0);
    all.add_units(other.pack_units(before.completion_tick), 0);
    return all.figures();
  };
  EXPECT_EQ(told(second).completion_tick, 2);
  EXPECT_EQ(told(second).completion, std::vector<double>(5, 0));
  EXPECT_TRUE(told(none).completion.empty());
}

TEST(Skew, clocks_tell_ticks_where_they_leave_a_tenth_of_one_in_doubt) {
  SkewFigures figures;
  figures.n_ticks = 100;
  figures.span_s = 1;  // ticks of 10 ms, in which clocks have gone apart by 20 us each
  EXPECT_TRUE(figures.tells_ticks(0));
  EXPECT_TRUE(figures.tells_ticks(480 * kMicrosecond));
  EXPECT_FALSE(figures.tells_ticks(481 * kMicrosecond));
  // A long run of the same ticks: what the clocks drift apart is more than a tenth of one.
  figures.n_ticks *= 100;
  figures.span_s *= 100;
  EXPECT_FALSE(figures.tells_ticks(1));
  EXPECT_TRUE(figures.tells_ticks(0));
  // Of a run that took no time.
  figures.span_s = 0;
  EXPECT_FALSE(figures.tells_ticks(1));
}

TEST(Skew, the_worst_tick_has_five_after_it_if_any_has) {
  SkewObserver skew({2, 1, 0, true});
  for (Tick t = 0; t < 7; ++t) {
    work(skew, {0, 0}, step_own, t, t == 1 ? 12 : 10, 20 * t + 20);
    work(skew, {1, 0}, step_own, t, t == 6 ? 1000 : 10, 20 * t + 20);
  }
  const SkewFigures figures = skew.figures();
  EXPECT_EQ(figures.computation.worst, 1);
  EXPECT_EQ(figures.completion, std::vector<double>(5, 0));

  SkewObserver brief({2, 1, 0, true});
  work(brief, {0, 0}, step_own, 0, 10, 10);
  work(brief, {0, 0}, step_own, 1, 5, 15);
  const SkewFigures two = brief.figures();
  EXPECT_EQ(two.computation.worst, 0);
  EXPECT_EQ(two.completion, std::vector<double>{0});
}

TEST(Skew, units_beyond_the_limit_make_no_completion_of_what_is_left) {
  // Room for 8 units a core: those of ticks 0 to 7.
  SkewObserver skew({.n_nodes = 2, .keeps_units = true, .n_units_max = 16});
  for (Tick t = 0; t < 20; ++t) {
    work(skew, {0, 0}, step_own, t, t == 2 ? 20 : 10, 100 * t + 10);
    work(skew, {1, 0}, step_own, t, t == 9 ? 500 : 10, 100 * t + 10);
  }
  const SkewFigures figures = skew.figures();
  EXPECT_EQ(figures.n_ticks, 20U);
  EXPECT_EQ(figures.computation.worst, 9);
  EXPECT_EQ(figures.completion_tick, 2);
  EXPECT_EQ(figures.completion, std::vector<double>(5, 0));
  SkewObserver none({.n_nodes = 2, .keeps_units = true, .n_units_max = 2});
  for (Tick t = 0; t < 4; ++t)
    work(none, {0, 0}, step_own, t, 10, 100 * t + 10);
  EXPECT_TRUE(none.figures().completion.empty());
}

// Tick 0 lies on node 0 and tick 1 on node 1, 300 ns to 100: 400 shared evenly, 600 with barriers. It
// begins at 1000 and ends at `end`.
void work_that_alternates(SkewObserver& skew, Nanos end) {
  work(skew, {0, 0}, step_own, 0, 300, 1300);
  work(skew, {0, 0}, step_own, 1, 100, 1400);
  work(skew, {1, 0}, step_own, 0, 100, 1100);
  work(skew, {1, 0}, step_own, 1, 300, end);
}

TEST(Skew, what_is_absorbed_is_held_against_barriers_and_an_even_share) {
  const auto figures_of = [](Nanos end) {
    SkewObserver skew({.n_nodes = 2});
    work_that_alternates(skew, end);
    work(skew, {0, 0}, pack_round, 0, 5000);  // no step
    return skew.figures();
  };
  const SkewFigures ahead = figures_of(1450);
  EXPECT_DOUBLE_EQ(ahead.even_s, 400e-9);
  EXPECT_DOUBLE_EQ(ahead.barriers_s, 600e-9);
  EXPECT_DOUBLE_EQ(ahead.span_s, 450e-9);
  ASSERT_TRUE(ahead.absorbed().has_value());
  EXPECT_NEAR(*ahead.absorbed(), 0.75, 1e-9);
  EXPECT_NEAR(figures_of(1600).absorbed().value(), 0, 1e-9);
  EXPECT_NEAR(figures_of(1700).absorbed().value(), -0.5, 1e-9);
}

TEST(Skew, where_all_nodes_have_alike_there_is_none_to_absorb) {
  SkewObserver skew({.n_nodes = 2});
  for (const NodeId node : {0U, 1U})
    work(skew, {node, 0}, step_own, 0, 10);
  EXPECT_FALSE(skew.figures().absorbed().has_value());
  EXPECT_FALSE(SkewObserver({}).figures().absorbed().has_value());
}

TEST(Skew, the_cores_of_a_node_share_its_steps_with_barriers_too) {
  SkewObserver skew({.n_nodes = 2, .n_cores = 2});
  work(skew, {0, 0}, step_own, 0, 300, 1300);
  work(skew, {0, 1}, step_own, 0, 100, 1100);
  work(skew, {1, 0}, step_own, 0, 200, 1200);
  work(skew, {1, 1}, interact_own, 0, 0, 1000);
  const SkewFigures figures = skew.figures();
  EXPECT_DOUBLE_EQ(figures.barriers_s, 200e-9);
  EXPECT_DOUBLE_EQ(figures.even_s, 150e-9);
}

TEST(Skew, what_is_absorbed_is_the_same_of_nodes_that_observe_themselves) {
  SkewObserver all({.n_nodes = 2});
  work_that_alternates(all, 1450);
  SkewObserver put_together({.n_nodes = 2});
  for (NodeId node = 0; node < 2; ++node) {
    SkewObserver one({.n_nodes = 1, .first_node = node});
    // Each by its own clock.
    const Nanos offset = 1'000'000 * (node + 1);
    work(one, {node, 0}, step_own, 0, node == 0 ? 300 : 100, offset + (node == 0 ? 300 : 100));
    work(one, {node, 0}, step_own, 1, node == 0 ? 100 : 300, offset + (node == 0 ? 400 : 450));
    put_together.add(one.pack());
  }
  const SkewFigures figures = put_together.figures();
  EXPECT_DOUBLE_EQ(figures.even_s, all.figures().even_s);
  EXPECT_DOUBLE_EQ(figures.barriers_s, all.figures().barriers_s);
  EXPECT_DOUBLE_EQ(figures.span_s, all.figures().span_s);
}

TEST(Skew, observations_of_nodes_together_are_those_of_one_that_sees_all) {
  SkewObserver all({4, 2, 10, false});
  work_of_a_skewed_tick(all);
  SkewObserver put_together({4, 1, 10});
  for (NodeId node = 0; node < 4; ++node) {
    SkewObserver one({.n_nodes = 1, .n_cores = 2, .begin = 10, .first_node = node});
    for (const std::uint32_t core : {0U, 1U}) {
      if (node == 0) work(one, {node, core}, step_own, 10, 300);
      if ((node == 1 || node == 2) && core == 0) work(one, {node, core}, step_own, 10, 100);
      if (core == 1) work(one, {node, core}, step_own, 11, 50);
    }
    put_together.add(one.pack());
  }
  EXPECT_EQ(put_together.figures().computation.by_tick, all.figures().computation.by_tick);
  EXPECT_EQ(put_together.figures().computation.mean, all.figures().computation.mean);
  EXPECT_EQ(put_together.time(0, 10), 600);
}

TEST(Skew, bytes_that_are_cut_or_name_another_node_are_refused) {
  SkewObserver third({.begin = 0, .first_node = 2});
  work(third, {2, 0}, step_own, 0, 5);
  SkewObserver two({.n_nodes = 2});
  try {
    two.add(third.pack());
    FAIL() << "node 2 of 2 was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("2 of them, found node 2"), std::string::npos)
        << error.what();
  }
  SkewObserver three({.n_nodes = 3});
  Bytes cut = third.pack();
  cut.pop_back();
  EXPECT_THROW(three.add(cut), Error);
}

TEST(Skew, a_run_that_never_ends_keeps_a_bounded_number_of_ticks) {
  EXPECT_EQ(SkewObserver::ticks_max(1), SkewObserver::kTicksMax);
  EXPECT_EQ(SkewObserver::ticks_max(1024), 4096);
  EXPECT_EQ(SkewObserver::ticks_max(UINT32_MAX), 1);
  SkewObserver skew({1024, 1, 7});
  work(skew, {5, 0}, step_own, 7 + 4095, 10);
  work(skew, {5, 0}, step_own, 7 + 4096, 1000);
  work(skew, {5, 0}, step_own, Tick{1} << 50, 1000);
  EXPECT_EQ(skew.figures().n_ticks, 4096U);
  EXPECT_EQ(skew.time(5, 7 + 4095), 10);
  EXPECT_EQ(skew.time(5, 7 + 4096), 0);
}

TEST(Skew, an_observer_behind_it_sees_what_it_does_not_take) {
  struct Seen final : core::Observer {
    void on_work(NodeId, std::uint32_t, const core::Work&, Nanos, Nanos) noexcept override {
      ++works;
    }
    void on_sent(NodeId, NodeId, std::size_t, Nanos) noexcept override { ++sent; }
    void on_taken(NodeId, NodeId, std::size_t, Nanos) noexcept override { ++taken; }
    int works = 0;
    int sent = 0;
    int taken = 0;
  } seen;
  SkewObserver skew({.begin = 5}, &seen);
  work(skew, {0, 0}, step_own, 5, 1);
  work(skew, {0, 0}, step_own, 4, 1);  // before the begin
  work(skew, {0, 0}, move_state, 5, 1);
  skew.on_sent(0, 0, 8, 0);
  skew.on_taken(0, 0, 8, 0);
  skew.on_taken(0, 0, 8, 0);
  EXPECT_EQ(seen.works, 3);
  EXPECT_EQ(seen.sent, 1);
  EXPECT_EQ(seen.taken, 2);
  EXPECT_EQ(skew.figures().n_ticks, 1U);
}

TEST(Skew, of_nothing_is_nothing) {
  const SkewFigures figures = SkewObserver({.n_nodes = 3, .keeps_units = true}).figures();
  EXPECT_EQ(figures.n_ticks, 0U);
  EXPECT_EQ(figures.computation.mean, 0);
  EXPECT_EQ(figures.asynchronous_share, 0);
  EXPECT_TRUE(figures.completion.empty());
}

}  // namespace
}  // namespace rubato::tick

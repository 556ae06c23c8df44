// Epochs in whole runs: in the simulator and on real threads, what they balance, what they cost and
// what they refuse. Random runs against the reference stand in the property tests of each kind.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/core/thread_fabric_test.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/hops.hpp"
#include "rubato/tick/graph/testing/mixing.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::Hops;

using testing::SwarmModel;
using SwarmProblem = ProblemOf<SwarmModel, FragmentStore<SwarmModel>>;
using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

constexpr const char* kPolicies[] = {"bulk", "local", "schedule(3)", "k3m2", "k2m3d4", "pieces(3)"};

SwarmModel::Options stopping_world() {
  SwarmModel::Options world;
  world.n_agents = 150;
  world.stop_interval = 4;
  world.stop_lag = 5;
  // Falls a while after the start, when most have died.
  world.death_in = 8;
  world.birth_in = 0;
  world.stop_below = 0xf0000000;
  return world;
}

SimulationOptions simulated(std::uint32_t n_nodes, Tick epoch) {
  SimulationOptions options;
  options.n_nodes = n_nodes;
  options.profile = net::parse_profile("ec2-large");
  options.sharing.epoch = epoch;
  return options;
}

TEST(Epochs, a_simulated_run_has_the_state_of_one_without_them_under_each_policy) {
  const SwarmProblem problem{SwarmModel(SwarmModel::Options{})};
  const RunResult whole = simulate(problem, Policy::parse("local"), 23, simulated(1, 0));
  EXPECT_EQ(whole.n_epochs(), 0);
  for (const char* policy : kPolicies) {
    for (const Tick epoch : {1, 5, 23, 100}) {
      SCOPED_TRACE(std::string(policy) + ", epoch " + std::to_string(epoch));
      const RunResult run = simulate(problem, Policy::parse(policy), 23, simulated(5, epoch));
      EXPECT_EQ(run.checksum, whole.checksum);
      EXPECT_EQ(run.ticks, 23);
      EXPECT_EQ(run.n_epochs(), 22 / epoch);
      EXPECT_EQ(run.bytes_moved() > 0, epoch < 23);
    }
  }
}

TEST(Epochs, a_stop_decision_ends_the_run_at_its_tick_in_whatever_segment_that_lies) {
  const SwarmProblem problem{SwarmModel(stopping_world())};
  const RunResult whole = simulate(problem, Policy::parse("local"), 200, simulated(1, 0));
  ASSERT_GT(whole.ticks, 6);
  ASSERT_LT(whole.ticks, 200) << "the model is meant to stop";
  for (const char* policy : kPolicies) {
    // Of the test and its effect 5 ticks later, the epoch lies before, at, between and behind.
    for (Tick epoch = 1; epoch <= whole.ticks + 1; ++epoch) {
      SCOPED_TRACE(std::string(policy) + ", epoch " + std::to_string(epoch));
      const RunResult run = simulate(problem, Policy::parse(policy), 200, simulated(4, epoch));
      EXPECT_EQ(run.ticks, whole.ticks);
      EXPECT_EQ(run.checksum, whole.checksum);
      EXPECT_EQ(run.n_epochs(), (whole.ticks - 1) / epoch);
    }
  }
}

// Without a lag the decision about an epoch's tick may come when the next segment is there already,
// in which other nodes are neighbours; where edges go one way, they are told how far a node is.
TEST(Epochs, a_run_may_end_at_the_tick_of_an_epoch_that_is_under_way) {
  using testing::Mixing;
  std::int64_t n_ended = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ProblemOf<GraphModel<Mixing>, GraphStore<Mixing>, GraphStoreOptions> problem{
        GraphModel<Mixing>(testing::random_graph(seed), Mixing(seed, 2, 0), GraphModelOptions{})};
    const RunResult whole = simulate(problem, Policy::parse("local"), 60, simulated(1, 0));
    SimulationOptions options = simulated(7, whole.ticks);
    options.sharing.n_pieces = 40;
    options.sharing.balance = Balance::persistence;
    options.slowdowns = {1, 3, 1, 2, 1, 1.5, 1};
    for (const char* policy : kPolicies) {
      SCOPED_TRACE(policy);
      const RunResult run = simulate(problem, Policy::parse(policy), 60, options);
      EXPECT_EQ(run.ticks, whole.ticks);
      EXPECT_EQ(run.checksum, whole.checksum);
      n_ended += whole.stopped ? 1 : 0;
    }
  }
  EXPECT_GT(n_ended, 60);
}

TEST(Epochs, figures_of_a_run_are_those_of_all_its_segments) {
  const SwarmProblem problem{SwarmModel(SwarmModel::Options{})};
  const RunResult whole = simulate(problem, Policy::parse("local"), 20, simulated(3, 0));
  const RunResult run = simulate(problem, Policy::parse("local"), 20, simulated(3, 4));
  for (NodeId node = 0; node < 3; ++node) {
    const NodeResult& mine = run.nodes[node];
    EXPECT_EQ(mine.work.own_units, whole.nodes[node].work.own_units);
    EXPECT_EQ(mine.moved.n_epochs, 4);
    EXPECT_GT(mine.moved.time, 0);
    // The moves are charged: work of their kind, messages, and time in which nothing is stepped.
    ASSERT_GT(mine.time.total().busy.size(), std::size_t{move_state});
    EXPECT_GT(mine.time.total().busy[move_state], 0);
    EXPECT_GT(static_cast<std::int64_t>(mine.time.n_sent), mine.work.messages_sent);
    EXPECT_GE(mine.work.finished_at, mine.moved.time);
    EXPECT_LE(mine.work.finished_at, run.wall);
    EXPECT_LE(run.wall, mine.time.wall);
  }
}

TEST(Epochs, a_model_without_samples_runs_in_one_segment) {
  std::vector<VertexId> from(40);
  std::vector<VertexId> to(40);
  for (VertexId v = 0; v < 40; ++v) {
    from[v] = v;
    to[v] = (v + 1) % 40;
  }
  const auto graph = std::make_shared<const Digraph>(40, from, to, std::vector<double>{});
  const ProblemOf<GraphModel<Hops>, GraphStore<Hops>> problem{GraphModel<Hops>(graph, Hops{})};
  EXPECT_FALSE(problem.repartitions());
  const RunResult whole = simulate(problem, Policy::parse("k2m1"), 15, simulated(4, 0));
  const RunResult run = simulate(problem, Policy::parse("k2m1"), 15, simulated(4, 3));
  EXPECT_EQ(run.checksum, whole.checksum);
  EXPECT_EQ(run.wall, whole.wall);
  EXPECT_EQ(run.n_epochs(), 0);
}

using Cells = testing::MixingGrid<2, 1, 1>;
using CellProblem = ProblemOf<GridModel<Cells>, GridStore<Cells>, GridStoreOptions>;

CellProblem cells_that_take(double ns) {
  Cells user;
  user.grid.extent = {160, 120};
  GridStoreOptions options;
  options.ns_per_cell = ns;
  return CellProblem(GridModel<Cells>(user), options);
}

RunResult run_cells(const CellProblem& problem, const char* policy, Tick epoch,
                    std::vector<double> slowdowns) {
  SimulationOptions options = simulated(8, epoch);
  options.profile = net::parse_profile("const,base=20");
  options.slowdowns = std::move(slowdowns);
  return simulate(problem, Policy::parse(policy), 60, options);
}

TEST(Epochs, a_slow_node_gives_cells_to_the_others) {
  const CellProblem problem = cells_that_take(250);
  const std::vector<double> slowdowns{1, 1, 2, 1, 1, 1, 1, 1};
  // Seven and a half nodes' speed, at best 8 / 7.5 of the time of eight equal ones: 1.87 times.
  for (const char* policy : {"bulk", "local", "k2m2d3"}) {
    SCOPED_TRACE(policy);
    const RunResult whole = run_cells(problem, policy, 0, slowdowns);
    const RunResult run = run_cells(problem, policy, 6, slowdowns);
    EXPECT_EQ(run.checksum, whole.checksum);
    EXPECT_GT(run.ticks_per_second(), 1.5 * whole.ticks_per_second());
    EXPECT_GT(run.bytes_moved(), 0);
    // Once, or once more where borders cost something; then nothing is left to gain.
    EXPECT_GE(run.n_epochs(), 1);
    EXPECT_LE(run.n_epochs(), 3);
  }
}

TEST(Epochs, cells_of_equal_nodes_stay_where_they_are) {
  const CellProblem problem = cells_that_take(50);
  for (const char* policy : {"local", "k2m2d3"}) {
    const RunResult whole = run_cells(problem, policy, 0, {});
    const RunResult run = run_cells(problem, policy, 10, {});
    EXPECT_EQ(run.checksum, whole.checksum);
    EXPECT_EQ(run.n_epochs(), 0);
    EXPECT_GT(run.ticks_per_second(), 0.98 * whole.ticks_per_second());
  }
}

points::testing::SwarmOptions skewed_world(std::uint32_t n_bugs) {
  points::testing::SwarmOptions world;
  world.high = {40, 40, 0};
  world.n_bugs = n_bugs;
  world.crowd = true;  // three of four start in the lowest 9 % of the world
  return world;
}

double largest_share(const Problem& problem, Tick epoch) {
  std::vector<double> n_tuples;
  SimulationOptions options = simulated(4, epoch);
  options.at_end = [&](NodeId, NodeRun& node) {
    n_tuples.push_back(static_cast<double>(node.own_tuples().ids.size()));
  };
  (void)simulate(problem, Policy::parse("local"), 7, options);
  double sum = 0;
  for (const double n : n_tuples)
    sum += n;
  return std::ranges::max(n_tuples) / sum;
}

TEST(Epochs, a_school_in_a_corner_is_shared_evenly_after_one) {
  const BugProblem problem{PointsModel(Bugs(skewed_world(2000)))};
  EXPECT_GT(largest_share(problem, 0), 0.7);
  EXPECT_LT(largest_share(problem, 4), 0.3);
}

// What the steps of ticks from `from` on take, by node.
class StepShares final : public core::Observer {
 public:
  StepShares(std::uint32_t n_nodes, Tick from) : times_(n_nodes), from_(from) {}

  void on_work(NodeId node, std::uint32_t /*core*/, const core::Work& work, Nanos begin,
               Nanos end) noexcept override {
    if (work.kind == step_own && work.tick >= from_)
      times_[node] += static_cast<double>(end - begin);
  }
  void on_sent(NodeId, NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(NodeId, NodeId, std::size_t, Nanos) noexcept override {}

  [[nodiscard]] double all() const { return std::accumulate(times_.begin(), times_.end(), 0.0); }
  [[nodiscard]] double largest() const { return std::ranges::max(times_) / all(); }

 private:
  std::vector<double> times_;
  Tick from_;
};

// In a crowd each has more to look at: a quarter of all bugs takes more than a quarter of the time there.
TEST(Epochs, a_school_is_shared_by_what_its_steps_take_and_not_by_heads) {
  const PointsCosts costs{.tuple = 100, .pair = 1000};
  const BugProblem problem{PointsModel(Bugs(skewed_world(2000))), costs};
  const auto largest = [&](Tick epoch) {
    StepShares shares(4, 12);
    SimulationOptions options = simulated(4, epoch);
    options.observer = &shares;
    (void)simulate(problem, Policy::parse("local"), 20, options);
    return shares.largest();
  };
  EXPECT_GT(largest(0), 0.7);
  EXPECT_LT(largest(4), 0.32);
}

// Keeps what it is told to spread.
class SpreadBugs : public PointsModel<Bugs> {
 public:
  SpreadBugs(const Bugs& bugs, std::vector<double>& spread)
      : PointsModel<Bugs>(bugs), spread_(&spread) {}
  void spread(Samples& into, double cost) const {
    spread_->push_back(cost);
    PointsModel<Bugs>::spread(into, cost);
  }

 private:
  std::vector<double>* spread_;
};

// Bugs meet now here, now there: what a step costs above what it mostly does is not of its place.
TEST(Epochs, what_comes_with_single_ticks_is_spread_where_points_are_cut_again) {
  std::vector<double> spread;
  const PointsCosts costs{.tuple = 100, .pair = 1000};
  const ProblemOf<SpreadBugs, PointsStore<Bugs>, PointsCosts> problem{
      SpreadBugs(Bugs(skewed_world(600)), spread), costs};
  StepShares steps(4, 0);
  SimulationOptions options = simulated(4, 20);  // reports of ten ticks and more
  options.observer = &steps;
  (void)simulate(problem, Policy::parse("local"), 80, options);
  ASSERT_EQ(spread.size(), 3U * 4U) << "each epoch on each node";
  for (std::size_t i = 0; i < spread.size(); ++i) {
    EXPECT_GT(spread[i], 0);
    EXPECT_LT(spread[i], steps.all() / 80 / 4) << "of a tick";
    EXPECT_EQ(spread[i], spread[i / 4 * 4]) << "all nodes are told the same";
  }
}

// When the steps of each tick began and ended, on any node.
class StepTimes final : public core::Observer {
 public:
  explicit StepTimes(Tick ticks)
      : begin_(static_cast<std::size_t>(ticks), INT64_MAX),
        end_(static_cast<std::size_t>(ticks), 0) {}

  void on_work(NodeId /*node*/, std::uint32_t /*core*/, const core::Work& work, Nanos begin,
               Nanos end) noexcept override {
    if (work.kind != step_own) return;
    const auto t = static_cast<std::size_t>(work.tick);
    begin_[t] = std::min(begin_[t], begin);
    end_[t] = std::max(end_[t], end);
  }
  void on_sent(NodeId, NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(NodeId, NodeId, std::size_t, Nanos) noexcept override {}

  // For how long steps of tick t and later ones had run when the last one before t ended; negative if
  // all waited for it.
  [[nodiscard]] Nanos overlap(Tick t) const {
    const auto at = begin_.begin() + t;
    return *std::ranges::max_element(end_.begin(), end_.begin() + t) -
           *std::ranges::min_element(at, begin_.end());
  }

 private:
  std::vector<Nanos> begin_;  // [ticks]
  std::vector<Nanos> end_;
};

// How long rounds and fragments were on their way.
class Lateness final : public core::ChainedObserver {
 public:
  Lateness() : ChainedObserver(nullptr) {}
  void on_work(NodeId, std::uint32_t, const core::Work& work, Nanos, Nanos) noexcept override {
    if (work.kind != unpack_round) return;
    ++n;
    least = std::min(least, work.late);
    most = std::max(most, work.late);
  }
  std::int64_t n = 0;
  Nanos least = INT64_MAX;
  Nanos most = 0;
};

// What waits here for the segment that it is of has been under way no longer for that.
TEST(Epochs, messages_are_late_by_their_way_alone) {
  const SwarmProblem problem{SwarmModel(SwarmModel::Options{})};
  for (const char* policy : {"local", "k2m3d4", "pieces(3)"}) {
    for (const bool jitters : {false, true}) {
      Lateness late;
      SimulationOptions options = simulated(4, 3);
      options.slowdowns = {3, 1, 1, 1};
      options.profile = net::parse_profile(jitters ? "ec2-large" : "const, base=100");
      options.observer = &late;
      const RunResult result = simulate(problem, Policy::parse(policy), 30, options);
      EXPECT_EQ(result.n_epochs(), 9);
      EXPECT_GT(late.n, 30) << policy;
      EXPECT_EQ(late.most > kMillisecond, jitters) << policy;
      EXPECT_GE(late.least, jitters ? 0 : 100 * kMicrosecond) << policy;
      // What is sent before it takes its core some microseconds.
      EXPECT_EQ(late.most < 110 * kMicrosecond, !jitters) << policy << late.most;
    }
  }
}

// [AsyTick 5.2]: who is done with the ticks before an epoch goes on, while others are not.
TEST(Epochs, nobody_stops_for_pieces_that_move) {
  constexpr Tick kTicks = 40;
  constexpr Tick kEpoch = 5;
  PointsCosts costs;
  costs.tuple = 20'000;  // a tick takes some ms: what moves is a small part of it
  const BugProblem problem{PointsModel(Bugs(skewed_world(600))), costs};
  for (const char* policy : {"schedule(3)", "k2m2d3", "pieces(6)"}) {
    SCOPED_TRACE(policy);
    StepTimes times(kTicks);
    SimulationOptions options = simulated(4, kEpoch);
    options.sharing.n_pieces = 64;
    options.sharing.balance = Balance::persistence;
    options.slowdowns = {1, 2, 1, 1};
    options.observer = &times;
    const RunResult run = simulate(problem, Policy::parse(policy), kTicks, options);
    EXPECT_GT(run.pieces_moved(), 10);
    for (Tick t = kEpoch; t < kTicks; t += kEpoch)
      EXPECT_GT(times.overlap(t), 0) << "epoch at tick " << t;
  }
}

// The most tuples that a state had which went through a function of the model.
class WatchedSwarm : public SwarmModel {
 public:
  WatchedSwarm(const Options& options, std::atomic<std::size_t>& most)
      : SwarmModel(options), most_(&most) {}

  [[nodiscard]] State init(const Query& q) const { return seen(SwarmModel::init(q)); }
  [[nodiscard]] State select(const State& s, const Query& q) const {
    return seen(SwarmModel::select(seen(s), q));
  }
  [[nodiscard]] State read(Reader& reader) const { return seen(SwarmModel::read(reader)); }
  void merge(State& into, const State& from) const {
    SwarmModel::merge(into, from);
    (void)seen(into);
  }

 private:
  template <class S>
  S&& seen(S&& state) const {
    std::size_t most = most_->load();
    while (most < state.size() && !most_->compare_exchange_weak(most, state.size())) {
    }
    return std::forward<S>(state);
  }
  std::atomic<std::size_t>* most_;
};

TEST(Epochs, no_node_ever_holds_the_global_state) {
  SwarmModel::Options world;
  world.width = world.height = 600;
  world.n_agents = 3000;
  world.death_in = world.birth_in = 0;
  std::atomic<std::size_t> most = 0;
  const ProblemOf<WatchedSwarm, FragmentStore<WatchedSwarm>> problem{WatchedSwarm(world, most)};
  const RunResult run = simulate(problem, Policy::parse("local"), 9, simulated(12, 2));
  EXPECT_EQ(run.n_epochs(), 4);
  // Cuts at random places give one of twelve nodes up to a third now and then, and it has a halo.
  EXPECT_GT(most.load(), 3000U / 12);
  EXPECT_LT(most.load(), 3000U / 2);
}

RunResult run_on_threads(const Problem& problem, const char* policy, Tick ticks,
                         const SharingOptions& sharing, std::uint32_t n_nodes) {
  core::testing::ThreadHub hub(n_nodes);
  std::vector<RunResult> results(n_nodes);
  std::vector<std::int64_t> n_arrivals(n_nodes);
  hub.run([&](NodeId node) {
    core::NodeHostOptions host_options;
    host_options.n_cores = 2;
    host_options.owns_process = false;
    core::NodeHost host(hub.fabric(node), host_options);
    ExecutionOptions options;
    options.sharing = sharing;
    options.at_epoch = [&](NodeRun&) { ++n_arrivals[node]; };
    results[node] = execute(problem, Policy::parse(policy), ticks, host, options);
  });
  for (NodeId node = 0; node < n_nodes; ++node) {
    EXPECT_EQ(results[node].checksum, results[0].checksum);
    EXPECT_EQ(results[node].ticks, results[0].ticks);
    EXPECT_EQ(results[node].n_epochs(), results[0].n_epochs());
    EXPECT_EQ(n_arrivals[node], results[0].n_epochs());
  }
  return results[0];
}

TEST(Epochs, a_job_of_threads_has_the_state_of_a_simulated_run) {
  const SwarmProblem swarm{SwarmModel(stopping_world())};
  const BugProblem bugs{PointsModel(Bugs(skewed_world(400)))};
  for (const Problem* problem :
       {static_cast<const Problem*>(&swarm), static_cast<const Problem*>(&bugs)}) {
    const RunResult whole = simulate(*problem, Policy::parse("local"), 14, simulated(1, 0));
    SharingOptions sharing;
    sharing.epoch = 4;
    for (const std::uint32_t n_nodes : {1U, 2U, 3U}) {
      for (const char* policy : {"bulk", "k2m3d4"}) {
        SCOPED_TRACE(std::string(policy) + ", nodes " + std::to_string(n_nodes));
        const RunResult run = run_on_threads(*problem, policy, 14, sharing, n_nodes);
        EXPECT_EQ(run.checksum, whole.checksum);
        EXPECT_EQ(run.ticks, whole.ticks);
        EXPECT_EQ(run.n_epochs(), (whole.ticks - 1) / 4);
        EXPECT_EQ(run.bytes_moved() > 0, n_nodes > 1);
      }
    }
  }
}

// By what pieces have cost on the clock: who gets what differs from run to run, and no bit does.
TEST(Epochs, pieces_that_move_between_threads_leave_the_state_as_it_is) {
  const BugProblem bugs{PointsModel(Bugs(skewed_world(400)))};
  const RunResult whole = simulate(bugs, Policy::parse("local"), 24, simulated(1, 0));
  for (const char* policy : {"bulk", "local", "pieces(3)", "k2m1d2"}) {
    SCOPED_TRACE(policy);
    SharingOptions sharing;
    sharing.n_pieces = 36;
    sharing.epoch = 5;
    sharing.balance = Balance::persistence;
    const RunResult run = run_on_threads(bugs, policy, 24, sharing, 3);
    EXPECT_EQ(run.checksum, whole.checksum);
    EXPECT_GT(run.pieces_moved(), 0);
  }
}

// A grid whose cells in one corner take a thousand times as long as the others.
struct DearCorner : Cells {
  void step(const GridSpan<DearCorner>& in, double* const* out, Index<2> at, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const bool dear = at[0] + i < 10 && at[1] < 10;
      double sum = in.fixed[0][i] + static_cast<double>(t % 3);
      for (int again = 0; again < (dear ? 10000 : 5); ++again)
        sum = 0.5 * sum + in.field[0][i - 1] + in.field[0][i + in.row];
      out[0][i] = sum - std::floor(sum);
    }
  }
  void measure(double& /*most*/, const GridSpan<DearCorner>& /*in*/, const double* const* /*after*/,
               std::int64_t /*n*/) const {}
};

TEST(Epochs, cells_that_move_between_threads_leave_the_state_as_it_is) {
  DearCorner user;
  user.grid = {{40, 30}, {true, false}};
  const ProblemOf<GridModel<DearCorner>, GridStore<DearCorner>> problem{
      GridModel<DearCorner>(user)};
  const RunResult whole = simulate(problem, Policy::parse("local"), 24, simulated(1, 0));
  std::int64_t n_bytes = 0;
  // Not each time: on a machine that has much else to do a node waits most of the time.
  for (int turn = 0; turn < 20 && n_bytes == 0; ++turn) {
    for (const char* policy : {"bulk", "local", "pieces(3)", "k2m1d2"}) {
      SCOPED_TRACE(policy);
      SharingOptions sharing;
      sharing.epoch = 5;
      const RunResult run = run_on_threads(problem, policy, 24, sharing, 3);
      EXPECT_EQ(run.checksum, whole.checksum);
      n_bytes += run.bytes_moved();
    }
  }
  EXPECT_GT(n_bytes, 0);
}

// Cores free versions that others have read, without a lock.
TEST(Epochs, graphs_and_general_models_of_pieces_have_their_state_on_threads_too) {
  using testing::Mixing;
  const ProblemOf<testing::PieceSwarm, FragmentStore<testing::PieceSwarm>> swarm{
      testing::PieceSwarm(SwarmModel::Options{})};
  const ProblemOf<GraphModel<Mixing>, GraphStore<Mixing>, GraphStoreOptions> graph{
      GraphModel<Mixing>(testing::random_graph(3), Mixing(3), GraphModelOptions{})};
  for (const Problem* problem :
       {static_cast<const Problem*>(&swarm), static_cast<const Problem*>(&graph)}) {
    const RunResult whole = simulate(*problem, Policy::parse("local"), 24, simulated(1, 0));
    for (const char* policy : {"bulk", "local", "pieces(3)", "k2m1d2"}) {
      SCOPED_TRACE(policy);
      SharingOptions sharing;
      sharing.n_pieces = 24;
      sharing.epoch = 5;
      sharing.balance = Balance::persistence;
      EXPECT_EQ(run_on_threads(*problem, policy, 24, sharing, 3).checksum, whole.checksum);
    }
  }
}

// Policy auto, as it chooses and at random.
TEST(Epochs, policies_that_change_on_threads_leave_the_state_as_it_is) {
  const ProblemOf<testing::PieceSwarm, FragmentStore<testing::PieceSwarm>> problem{
      testing::PieceSwarm(SwarmModel::Options{})};
  const RunResult whole = simulate(problem, Policy::parse("local"), 40, simulated(1, 0));
  for (const bool random : {false, true}) {
    SharingOptions sharing;
    sharing.tune = true;
    sharing.n_pieces = 24;
    sharing.epoch = 5;
    sharing.balance = Balance::persistence;
    if (random) {
      sharing.chooses = [](Tick epoch) { return hash_words(5, static_cast<std::uint64_t>(epoch)); };
    }
    const RunResult run = run_on_threads(problem, "local", 40, sharing, 3);
    EXPECT_EQ(run.checksum, whole.checksum);
    EXPECT_TRUE(!random || run.n_epochs() > 1);
    EXPECT_TRUE(random || !run.choices.empty());
  }
}

struct SwarmOfOnePart : SwarmModel {
  using SwarmModel::part;
  using SwarmModel::SwarmModel;
  [[nodiscard]] std::vector<Query> part(std::uint32_t /*n*/, const Samples& /*samples*/) const {
    return {everything()};
  }
};

TEST(Epochs, a_part_of_another_number_of_queries_is_an_error_with_both_numbers) {
  const ProblemOf<SwarmOfOnePart, FragmentStore<SwarmOfOnePart>> problem{
      SwarmOfOnePart(SwarmModel::Options{})};
  try {
    (void)simulate(problem, Policy::parse("local"), 9, simulated(3, 2));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("gave 1 queries, expected 3"), std::string::npos)
        << error.what();
  }
}

TEST(Epochs, a_negative_epoch_is_a_usage_error) {
  const SwarmProblem problem{SwarmModel(SwarmModel::Options{})};
  try {
    (void)simulate(problem, Policy::parse("local"), 9, simulated(3, -2));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("0 or more, found -2"), std::string::npos);
  }
}

}  // namespace
}  // namespace rubato::tick

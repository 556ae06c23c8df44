// The order in which policy pieces steps what is ready, and what a run is without it.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/graph/testing/mixing.hpp"
#include "rubato/tick/grid/grid_model.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/grid_cases.hpp"
#include "rubato/tick/testing/order_watch.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"

namespace rubato::tick {
namespace {

using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

// How often a step is of an earlier tick than the one before it on its node.
class Returns final : public core::Observer {
 public:
  explicit Returns(std::uint32_t n_nodes) : last_(n_nodes, 0) {}

  void on_work(NodeId node, std::uint32_t /*core*/, const core::Work& work, Nanos /*begin*/,
               Nanos /*end*/) noexcept override {
    if (work.kind != step_own) return;
    n_ += work.tick < last_[node] ? 1 : 0;
    last_[node] = work.tick;
  }
  void on_sent(NodeId, NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(NodeId, NodeId, std::size_t, Nanos) noexcept override {}

  [[nodiscard]] int n() const { return n_; }

 private:
  std::vector<Tick> last_;
  int n_ = 0;
};

struct Outcome {
  int n_returns = 0;
  std::uint64_t checksum = 0;
};

Outcome run_bugs(bool as_they_come, Tick epoch) {
  points::testing::SwarmOptions bugs;
  bugs.high = {20, 20, 0};
  bugs.n_bugs = 600;
  bugs.crowd = true;
  const BugProblem problem{PointsModel(Bugs(bugs))};
  Returns returns(4);
  SimulationOptions simulation;
  simulation.n_nodes = 4;
  simulation.profile = net::parse_profile("ec2-large");
  simulation.observer = &returns;
  simulation.sharing = System::parse("asytick-plb").sharing;
  simulation.sharing.n_pieces = 64;
  simulation.sharing.epoch = epoch;
  simulation.as_they_come = as_they_come;
  const RunResult result = simulate(problem, Policy::parse("pieces(6)"), 20, simulation);
  return {returns.n(), result.checksum};
}

// Five pieces in a row, the last of which is at the border. Nothing comes.
Plan row_of_five(const Policy& policy) {
  return testing::plan_beside_one(policy, {{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}},
                                  {4});
}

class NoPort final : public core::Port {
 public:
  void send(core::NodeId, Bytes) override {}
  void wake_at(Nanos) override {}
  [[nodiscard]] Nanos now() const noexcept override { return 0; }
};

// "REGION@TICK" of each step, in their order.
std::string steps_of(Dataflow& flow) {
  NoPort port;
  flow.start(port);
  std::string steps;
  core::Work work;
  while (flow.next_work(0, work)) {
    if (work.kind == step_own) {
      steps +=
          (steps.empty() ? "" : " ") + std::to_string(work.index) + "@" + std::to_string(work.tick);
    }
    flow.run(work, 0);
    flow.on_finished(port, work);
  }
  return steps;
}

TEST(PiecesOrder, a_tick_is_stepped_from_the_border_inwards_before_the_next_one) {
  const Plan plan = row_of_five(Policy::parse("pieces(6)"));
  testing::BookStore store(plan);
  Dataflow flow(plan, store, {.ticks = 20});
  EXPECT_EQ(steps_of(flow), "4@0 3@0 2@0 1@0 0@0 3@1 2@1 1@1 0@1 2@2 1@2 0@2 1@3 0@3 0@4");
}

// Any plan, with messages that come as late as they like: runs it to its end.
template <class M>
void watch_order(const M& model, const Cut<typename M::Query>& cut, RandomStream& random,
                 testing::OrderCounts& counts) {
  const Policy policy = testing::random_pieces(random);
  const auto n_cores = static_cast<std::uint32_t>(random.between(1, 3));
  SCOPED_TRACE(policy.to_string() + ", " + std::to_string(cut.n_nodes()) + " nodes x " +
               std::to_string(n_cores) + " cores");
  std::vector<std::unique_ptr<TypedPlan<typename M::Query>>> plans;
  std::vector<std::unique_ptr<testing::BookStore>> stores;
  std::vector<std::unique_ptr<Dataflow>> flows;
  std::vector<std::unique_ptr<testing::OrderWatch>> watches;
  std::vector<core::Engine*> engines;
  for (NodeId node = 0; node < cut.n_nodes(); ++node) {
    plans.push_back(
        std::make_unique<TypedPlan<typename M::Query>>(build_plan(model, cut, node, policy)));
    const Plan& plan = plans.back()->plan;
    // Nobody waits for a node alone: its order is that of its caches.
    if (plan.neighbours.empty()) return;
    stores.push_back(std::make_unique<testing::BookStore>(plan));
    flows.push_back(std::make_unique<Dataflow>(plan, *stores.back(),
                                               Dataflow::Options{.ticks = 15, .n_cores = n_cores}));
    watches.push_back(std::make_unique<testing::OrderWatch>(*flows.back(), plan, *stores.back(),
                                                            n_cores, counts));
    engines.push_back(watches.back().get());
  }
  testing::ShuffleDriver(engines, n_cores, random()).run();
}

// f(seed, random, counts), and that there was something to choose from.
template <class F>
void for_all_seeds(F&& f) {
  testing::OrderCounts counts;
  for (std::uint64_t seed = 0; seed < n_seeds() && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed, 61);
    f(seed, random, counts);
  }
  if (::testing::Test::HasFailure()) return;
  EXPECT_GT(counts.parts, static_cast<std::int64_t>(10 * n_seeds()));
  EXPECT_GT(1000 * counts.over_nearer, counts.units);
  EXPECT_GT(20 * counts.over_farther, counts.units);
}

TEST(PiecesOrder, the_earlier_tick_is_taken_first_and_then_what_is_nearer_to_the_border) {
  for_all_seeds([](std::uint64_t seed, RandomStream& random, testing::OrderCounts& counts) {
    testing::SwarmModel::Options world = testing::random_world(seed, random);
    world.width = static_cast<std::int32_t>(random.between(100, 200));
    world.visibility = static_cast<std::int32_t>(random.between(1, 2));
    world.reachability = 1;
    const testing::PieceSwarm model(world);
    const auto n_nodes = static_cast<std::uint32_t>(random.between(2, 3));
    const auto n_pieces = n_nodes * static_cast<std::uint32_t>(random.between(10, 20));
    watch_order(model, cut_into_pieces(model, n_pieces, n_nodes), random, counts);
  });
}

TEST(PiecesOrder, of_graphs_it_is_the_same) {
  for_all_seeds([](std::uint64_t seed, RandomStream& random, testing::OrderCounts& counts) {
    const auto model = testing::random_model(seed);
    const auto n_nodes = static_cast<std::uint32_t>(random.between(2, 3));
    watch_order(model, cut_into_pieces(model, 40, n_nodes), random, counts);
  });
}

// Whose tiles would go down a wavefront in one go under other policies.
TEST(PiecesOrder, of_the_tiles_of_grids_it_is_the_same) {
  for_all_seeds([](std::uint64_t /*seed*/, RandomStream& random, testing::OrderCounts& counts) {
    using User = testing::MixingGrid<2, 1, 1, false>;
    User user;
    user.grid = {{random.between(8, 20), random.between(40, 120)}, {false, false}};
    const GridModel<User> model(user, random.between(20, 100), random.between(1, 5));
    const auto n_nodes = static_cast<std::uint32_t>(random.between(2, 3));
    watch_order(model, Cut<GridModel<User>::Query>{model.part(n_nodes), {}, {}}, random, counts);
  });
}

TEST(PiecesOrder, without_it_steps_come_in_another_order_and_the_state_is_the_same) {
  for (const Tick epoch : {Tick{0}, Tick{6}}) {
    SCOPED_TRACE(epoch);
    const Outcome ordered = run_bugs(false, epoch);
    const Outcome as_they_come = run_bugs(true, epoch);
    EXPECT_EQ(as_they_come.checksum, ordered.checksum);
    EXPECT_NE(as_they_come.n_returns, ordered.n_returns);
  }
}

}  // namespace
}  // namespace rubato::tick

// The rule of steps that go ahead of their inputs, on each kind of store, and a wrong model of it.

#include "rubato/tick/check/ahead_rule.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/hops.hpp"
#include "rubato/tick/graph/testing/mixing.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"

namespace rubato::tick {
namespace {

using testing::Hops;

using testing::Agent;
using testing::SwarmModel;

CheckReport report_of(const Problem& problem) {
  CheckReport report;
  report.ticks = 6;
  detail::check_ahead(problem, {}, report);
  return report;
}

void expect_kept(const Problem& problem) {
  const CheckReport report = report_of(problem);
  EXPECT_TRUE(report.ok()) << describe(report);
  const RuleResult* rule = report.find("ahead-of-inputs");
  ASSERT_NE(rule, nullptr);
  EXPECT_GT(rule->n_cases, 10U);
}

SwarmModel::Options agents() {
  SwarmModel::Options world;
  world.width = world.height = 80;
  world.n_agents = 300;
  world.visibility = 3;
  world.reachability = 0;  // else a region waits for most of its inputs before it does anything
  return world;
}

TEST(AheadRule, is_kept_by_general_models_in_two_parts) {
  using Parts = testing::PieceSwarmInParts;
  expect_kept(ProblemOf<Parts, FragmentStore<Parts>>{Parts(agents())});
}

TEST(AheadRule, is_kept_by_points) {
  using Bugs = points::testing::Swarm<double, 2>;
  points::testing::SwarmOptions world;
  world.high = {40, 40, 0};
  world.n_bugs = 500;
  expect_kept(
      ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>{PointsModel(Bugs(world))});
}

TEST(AheadRule, is_kept_by_grids) {
  using Cells = testing::MixingGrid<2, 1, 1>;
  Cells user;
  user.grid.extent = {160, 120};
  expect_kept(
      ProblemOf<GridModel<Cells>, GridStore<Cells>, GridStoreOptions>{GridModel<Cells>(user, 500)});
}

// Their cells wait with part of their stencils; the bits tell of each cell and its place.
TEST(AheadRule, is_kept_by_grids_that_are_stepped_cell_by_cell) {
  using Cells = testing::MixingGridInParts<2, 1, 1, testing::Stencil::cube>;
  Cells user;
  user.grid.extent = {160, 120};
  expect_kept(
      ProblemOf<GridModel<Cells>, GridStore<Cells>, GridStoreOptions>{GridModel<Cells>(user, 500)});
}

TEST(AheadRule, is_kept_by_graphs) {
  const auto graph = testing::ring(400, {1, 7});
  expect_kept(ProblemOf<GraphModel<Hops>, GraphStore<Hops>>{GraphModel<Hops>(graph, Hops{})});
}

// Their vertices wait with part of their edges; the bits tell of each edge and its place.
TEST(AheadRule, is_kept_by_graphs_that_are_stepped_edge_by_edge) {
  using User = testing::MixingInParts;
  const GraphModel<User> model(testing::ring(400, {1, 3, 7, 50}), User(5));
  expect_kept(ProblemOf<GraphModel<User>, GraphStore<User>>{model});
}

// Takes those whom an agent sees in the order in which they came.
class ByArrival : public testing::PieceSwarmInParts {
 public:
  using PieceSwarmInParts::PieceSwarmInParts;
  [[nodiscard]] State finish(const State& to_step, const Contributions& in, Tick t) const {
    State result = PieceSwarmInParts::finish(to_step, in, t);
    if (in.empty() || in[0].empty() || result.empty()) return result;
    result[0].value = hash_words(result[0].value, in[0][0].id);
    return result;
  }
};

TEST(AheadRule, is_broken_by_a_model_that_depends_on_the_order_in_which_inputs_come) {
  const CheckReport report =
      report_of(ProblemOf<ByArrival, FragmentStore<ByArrival>>{ByArrival(agents())});
  const RuleResult* rule = report.find("ahead-of-inputs");
  ASSERT_NE(rule, nullptr);
  ASSERT_TRUE(rule->failure.has_value());
  EXPECT_NE(rule->failure->find("inputs: the step has other bits"), std::string::npos)
      << *rule->failure;
}

}  // namespace
}  // namespace rubato::tick

// The inputs of regions, which a plan looks up by place, are those that DISJOINT gives when every
// pair is asked; and few pairs are asked.

#include "rubato/tick/plan_builder.hpp"

#include <gtest/gtest.h>

#include "rubato/tick/geometry/box_tree.hpp"
#include "rubato/tick/grid/grid_model.hpp"
#include "rubato/tick/points/points_model.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::tick {
namespace {

// plan.inputs as plan.hpp defines them, each region against each.
template <class M>
std::vector<std::vector<RegionId>> exhaustive_inputs(const M& model,
                                                     const TypedPlan<typename M::Query>& typed) {
  const auto& regions = typed.plan.regions;
  std::vector<std::vector<RegionId>> inputs(regions.size());
  for (RegionId a = 0; a < regions.size(); ++a) {
    if (regions[a].layer > typed.plan.policy.replica_layers) continue;
    const auto& query = typed.regions[a].includes.front();
    const auto reach = model.write_dependencies(model.read_dependencies(query));
    for (RegionId b = 0; b < regions.size(); ++b) {
      const bool meet = regions[b].layer <= regions[a].layer + 1 &&
                        !model.disjoint(typed.regions[b].includes.front(), reach);
      if (a == b || meet) inputs[a].push_back(b);
    }
  }
  return inputs;
}

template <class M>
void expect_exhaustive_inputs(const M& model, const testing::RunCase& c) {
  using Query = typename M::Query;
  const std::vector<Query> parts = model.part(c.n_nodes);
  for (NodeId self = 0; self < c.n_nodes; ++self) {
    const auto typed = build_plan(model, std::span<const Query>(parts), self, c.policy);
    for (const auto& region : typed.regions)
      ASSERT_EQ(region.includes.size(), 1U);
    const auto expected = exhaustive_inputs(model, typed);
    for (RegionId region = 0; region < expected.size(); ++region) {
      const auto found = typed.plan.inputs[region];
      ASSERT_EQ(std::vector<RegionId>(found.begin(), found.end()), expected[region])
          << "node " << self << ", region " << region << " of " << expected.size();
    }
  }
}

template <int D, bool Star>
void expect_exhaustive_inputs_of_a_grid(std::uint64_t seed) {
  RandomStream random(seed, 12);
  testing::MixingGrid<D, 1, 1, Star> user;
  for (std::size_t d = 0; d < D; ++d) {
    user.grid.extent[d] = random.between(8, D == 2 ? 60 : 20);
    user.grid.periodic[d] = random.between(0, 1) != 0;
  }
  const GridModel model(user, random.between(1, 200));
  const testing::RunCase c = testing::random_run(random);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + testing::describe(c));
  expect_exhaustive_inputs(model, c);
}

template <class T, int D>
void expect_exhaustive_inputs_of_points(std::uint64_t seed) {
  RandomStream random(seed, 13);
  points::testing::SwarmOptions world;
  world.seed = seed;
  for (std::size_t d = 0; d < D; ++d) {
    world.high[d] = world.low[d] + 4.0 + (D == 2 ? 40.0 : 15.0) * random.unit();
    world.periodic[d] = random.between(0, 1) != 0;
  }
  world.visibility = 0.3 + random.unit();
  world.reachability = 1.2 * random.unit();
  world.crowd = random.between(0, 1) != 0;
  PointsOptions options;
  options.partition = seed % 2 == 0 ? PointsPartition::quadtree : PointsPartition::grid;
  options.tile_tuples = static_cast<std::uint64_t>(random.between(1, 30));
  const PointsModel model(points::testing::Swarm<T, D>(world), options);
  const testing::RunCase c = testing::random_run(random);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + testing::describe(c));
  expect_exhaustive_inputs(model, c);
}

TEST(PlanBuilder, inputs_of_grids_are_those_that_asking_every_pair_finds) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    expect_exhaustive_inputs_of_a_grid<2, false>(seed);
    expect_exhaustive_inputs_of_a_grid<2, true>(seed);
    if (seed % 4 == 0) expect_exhaustive_inputs_of_a_grid<3, true>(seed);
  }
}

TEST(PlanBuilder, inputs_of_points_are_those_that_asking_every_pair_finds) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    expect_exhaustive_inputs_of_points<float, 2>(seed);
    if (seed % 4 == 0) expect_exhaustive_inputs_of_points<double, 3>(seed);
  }
}

// Counts the questions that a plan asks.
template <class Base>
struct Counting : Base {
  using Base::Base;
  mutable std::size_t n_asked = 0;
  [[nodiscard]] bool disjoint(const typename Base::Query& a, const typename Base::Query& b) const {
    ++n_asked;
    return Base::disjoint(a, b);
  }
};

TEST(PlanBuilder, a_region_is_not_asked_against_every_other) {
  using Grid = testing::MixingGrid<2, 1, 1>;
  Grid user;
  user.grid.extent = {100, 2000};
  const Counting<GridModel<Grid>> model(user, 100);  // rows
  const auto parts = model.part(1);
  const auto typed = build_plan(model, std::span(parts), 0, Policy::parse("local"));
  EXPECT_EQ(typed.plan.regions.size(), 2000U);
  EXPECT_LE(model.n_asked, 3U * 2000U);
}

using Tree = BoxTree<std::int64_t, 2>;

std::vector<std::uint32_t> sorted_finds(const Tree& tree, const Box<std::int64_t, 2>& box) {
  std::vector<std::uint32_t> ids;
  tree.find(box, ids);
  std::ranges::sort(ids);
  return ids;
}

// Some are empty, many are equal.
Box<std::int64_t, 2> random_box(RandomStream& random) {
  Box<std::int64_t, 2> box;
  for (std::size_t d = 0; d < 2; ++d) {
    box.low[d] = random.between(-10, 10);
    box.high[d] = box.low[d] + random.between(0, random.between(1, 20));
  }
  return box;
}

TEST(BoxTree, finds_the_boxes_that_meet_and_no_others) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 14);
    std::vector<Tree::Item> items(static_cast<std::size_t>(random.between(0, 100)));
    for (std::uint32_t i = 0; i < items.size(); ++i)
      items[i] = {random_box(random), i};
    const Tree tree(items);
    const Box<std::int64_t, 2> wanted = random_box(random);
    std::vector<std::uint32_t> expected;
    for (const Tree::Item& item : items) {
      if (item.box.meets(wanted)) expected.push_back(item.id);
    }
    EXPECT_EQ(sorted_finds(tree, wanted), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::tick

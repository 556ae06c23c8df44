// Which pieces can be ahead of late messages, of however many grains they are.

#include "rubato/tick/tune/own_grains.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"

namespace rubato::tick {
namespace {

// A chain: each grain reads itself and those beside it; at both ends lie those of other nodes.
OwnGrains chain(std::uint32_t n, std::uint32_t first = 0) {
  OwnGrains own;
  for (std::uint32_t i = 0; i < n; ++i) {
    own.numbers.push_back(first + i);
    own.sizes.push_back(1);
    own.reads_others.push_back(i == 0 || i + 1 == n);
    std::vector<RegionId> inputs{i};
    if (i > 0) inputs.push_back(i - 1);
    if (i + 1 < n) inputs.push_back(i + 1);
    own.inputs.append(inputs);
  }
  return own;
}

TEST(OwnGrains, are_ahead_by_as_many_ticks_as_they_are_away_from_others) {
  EXPECT_EQ(chain(8).inside(1, 10), (std::vector<double>{6, 4, 2, 0}));
  EXPECT_EQ(chain(8).inside(1, 2), (std::vector<double>{6, 4}));
  // A piece waits as a whole.
  EXPECT_EQ(chain(8).inside(2, 10), (std::vector<double>{4, 0}));
  EXPECT_EQ(chain(8).inside(4, 10), (std::vector<double>{0}));
  // Pieces begin where their numbers say: one, four, three.
  EXPECT_EQ(chain(8, 3).inside(4, 10), (std::vector<double>{4, 0}));
}

TEST(OwnGrains, that_read_nothing_of_others_are_never_kept_waiting) {
  OwnGrains own = chain(4);
  own.reads_others.assign(4, false);
  EXPECT_EQ(own.inside(1, 3), (std::vector<double>{4, 4, 4}));
}

using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

// What a shape says of a cut in pieces of some grains is what that cut has when it is made.
TEST(OwnGrains, of_a_model_give_the_shape_of_the_cut_that_is_made_of_them) {
  points::testing::SwarmOptions world;
  world.high = {160, 160, 0};
  const BugProblem problem{PointsModel(Bugs(world))};
  const auto partition = problem.partition(4, 256);
  ASSERT_EQ(partition->n_grains(), 256U);
  const NodeShape shape =
      partition->shape(1, {.layers = 1, .depth = 9, .grains_of_piece = {1, 4, 16}});
  ASSERT_EQ(shape.inside_of.size(), 3U);
  EXPECT_EQ(shape.inside, shape.inside_of[0]);
  EXPECT_GT(shape.inside_of[0].front(), shape.inside_of[1].front());
  EXPECT_GT(shape.inside_of[1].front(), shape.inside_of[2].front());
  for (const std::uint32_t n : {4U, 16U}) {
    ASSERT_TRUE(partition->can_join(n));
    std::vector<NodeId> owners(256 / n);
    for (std::size_t i = 0; i < owners.size(); ++i)
      owners[i] = static_cast<NodeId>(i * 4 / owners.size());
    const auto joined = partition->with_owners(owners, n);
    EXPECT_EQ(joined->grains_of_piece(), n);
    EXPECT_EQ(joined->n_grains(), 256U);
    const NodeShape other = joined->shape(1, {.layers = 1, .depth = 9, .grains_of_piece = {1}});
    EXPECT_EQ(other.inside, shape.inside_of[n == 4 ? 1 : 2]);
    EXPECT_EQ(other.inside_of.front(), shape.inside);
    EXPECT_EQ(other.size, shape.size);
  }
  // Three boxes in a row of a curve are no box, which is what points are stepped in.
  EXPECT_FALSE(partition->can_join(3));
  EXPECT_FALSE(partition->can_join(128));  // two pieces for four nodes
}

}  // namespace
}  // namespace rubato::tick

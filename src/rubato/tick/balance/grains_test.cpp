#include "rubato/tick/balance/grains.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::tick {
namespace {

TEST(Grains, share_what_their_piece_has_cost) {
  // Of seven grains three pieces: the last one has one.
  const std::vector<double> costs{6, 3, 5};
  const std::vector<double> grains = costs_of_grains(costs, 7, 3);
  EXPECT_EQ(grains, (std::vector<double>{2, 2, 2, 1, 1, 1, 5}));
  EXPECT_EQ(costs_of_pieces(grains, 3), costs);
  EXPECT_EQ(costs_of_pieces(grains, 2), (std::vector<double>{4, 3, 2, 5}));
  EXPECT_EQ(costs_of_pieces(grains, 7), (std::vector<double>{14}));
  EXPECT_EQ(n_pieces_of(7, 2), 4U);
  EXPECT_EQ(n_pieces_of(0, 1), 0U);
}

TEST(Grains, stay_where_they_are_in_smaller_pieces) {
  const std::vector<double> grains(8, 1.0);
  const std::vector<NodeId> owners{1, 0};
  EXPECT_EQ(owners_of_pieces(grains, owners, 4, 1, 2),
            (std::vector<NodeId>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(owners_of_pieces(grains, owners, 4, 2, 2), (std::vector<NodeId>{1, 1, 0, 0}));
}

TEST(Grains, go_to_who_has_most_of_a_larger_piece) {
  const std::vector<NodeId> owners{0, 1, 1, 0, 2, 2};
  const std::vector<double> grains{5, 1, 1, 1, 1, 1};
  // Both have as much of the second pair: it goes to node 1, which would have none.
  EXPECT_EQ(owners_of_pieces(grains, owners, 1, 2, 3), (std::vector<NodeId>{0, 1, 2}));
  const std::vector<double> even(6, 1.0);
  const std::vector<NodeId> two{0, 1, 1, 0, 0, 1};
  EXPECT_EQ(owners_of_pieces(even, two, 1, 3, 2), (std::vector<NodeId>{1, 0}));
}

// Whoever the pieces belong to and whatever they cost: each node has one afterwards, nothing moves that
// need not, and costs are what they were.
TEST(Grains, leave_no_node_without_a_piece) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, 7);
    const auto n_nodes = static_cast<std::uint32_t>(random.between(1, 6));
    const auto before = static_cast<std::uint32_t>(random.between(1, 5));
    const auto after = static_cast<std::uint32_t>(random.between(1, 5));
    const auto n_grains = static_cast<std::uint32_t>(
        std::max(before, after) * (n_nodes + static_cast<std::uint32_t>(random.between(0, 9))));
    std::vector<NodeId> owners(n_pieces_of(n_grains, before));
    for (std::size_t i = 0; i < owners.size(); ++i)
      owners[i] = i < n_nodes ? static_cast<NodeId>(i)
                              : static_cast<NodeId>(random.between(0, n_nodes - 1));
    std::vector<double> costs(owners.size());
    for (double& cost : costs)
      cost = static_cast<double>(random.between(0, 5));
    const std::vector<double> grains = costs_of_grains(costs, n_grains, before);
    const std::vector<NodeId> now = owners_of_pieces(grains, owners, before, after, n_nodes);
    ASSERT_EQ(now.size(), n_pieces_of(n_grains, after)) << seed;
    std::vector<int> n_of(n_nodes);
    for (const NodeId owner : now)
      ++n_of.at(owner);
    EXPECT_EQ(std::ranges::count(n_of, 0), 0) << seed;
    if (after == before) {
      EXPECT_EQ(now, owners) << seed;
    }
    const std::vector<double> pieces = costs_of_pieces(grains, after);
    EXPECT_NEAR(std::accumulate(pieces.begin(), pieces.end(), 0.0),
                std::accumulate(costs.begin(), costs.end(), 0.0), 1e-9);
  }
}

}  // namespace
}  // namespace rubato::tick

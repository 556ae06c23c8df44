#include "rubato/tick/balance/piece_size.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/balance/grains.hpp"

namespace rubato::tick {
namespace {

constexpr std::uint32_t kNodes = 4;
constexpr std::uint32_t kGrains = 64;

// 64 grains of 4 nodes, in pieces of 8 at first, of which the balancer has moved none.
class Pieces {
 public:
  explicit Pieces(std::uint32_t n_cores = 1)
      : size_({.choices = {8, 1, 4, 2, 16}, .n_nodes = kNodes, .n_cores = n_cores}) {}

  // At an epoch, by what each grain truly costs; returns how many a piece has then.
  std::uint32_t choose(const std::vector<double>& grains) {
    const std::vector<double> costs = costs_of_pieces(grains, now_);
    std::vector<NodeId> owners(costs.size());
    for (std::size_t i = 0; i < owners.size(); ++i)
      owners[i] = static_cast<NodeId>(i * kNodes / owners.size());
    return now_ = size_.choose(costs, owners, kGrains, now_);
  }

 private:
  PieceSize size_;
  std::uint32_t now_ = 8;
};

// Where nothing else costs anything.
std::vector<double> crowd(std::size_t first, std::size_t n, double each, double others = 1) {
  std::vector<double> grains(kGrains, others);
  for (std::size_t i = first; i < first + n; ++i)
    grains[i] = each;
  return grains;
}

TEST(PieceSize, stays_while_nodes_can_have_alike) {
  Pieces pieces;
  for (int epoch = 0; epoch < 20; ++epoch)
    EXPECT_EQ(pieces.choose(crowd(0, 0, 0)), 8U);
  // Each node has a piece that costs as much as what others have.
  EXPECT_EQ(pieces.choose(std::vector<double>(kGrains, 3.0)), 8U);
}

// Of a model all of whose tuples have died, say; and where pieces are single grains.
TEST(PieceSize, stays_where_nothing_costs_anything_or_none_is_smaller) {
  Pieces pieces;
  for (int epoch = 0; epoch < 4; ++epoch)
    EXPECT_EQ(pieces.choose(std::vector<double>(kGrains, 0.0)), 8U);
  PieceSize single({.choices = {1, 2, 4}, .n_nodes = 2});
  EXPECT_EQ(single.choose(std::vector<double>{0, 0, 0}, std::vector<NodeId>{0, 1, 1}, 3, 1), 1U);
  EXPECT_EQ(single.choose(std::vector<double>{9, 1, 0}, std::vector<NodeId>{0, 1, 1}, 3, 1), 1U);
}

TEST(PieceSize, becomes_as_small_as_it_takes_where_one_is_more_than_a_share) {
  // 8 grains of 4 and 56 of 1: 88 in all, 22 a node, and a piece of 32. With pieces of 16 a node has 32 still, the
  // one that gets the second one; with pieces of 8 nobody has more than 24.
  Pieces pieces;
  for (int epoch = 0; epoch < 20; ++epoch)
    EXPECT_EQ(pieces.choose(crowd(8, 8, 4)), 2U);
}

TEST(PieceSize, becomes_larger_again_when_that_loses_nothing_and_never_than_at_first) {
  Pieces pieces;
  ASSERT_EQ(pieces.choose(crowd(8, 8, 25)), 1U);
  EXPECT_EQ(pieces.choose(crowd(0, 0, 0)), 8U);
  for (int epoch = 0; epoch < 20; ++epoch)
    EXPECT_EQ(pieces.choose(crowd(0, 0, 0)), 8U);
}

TEST(PieceSize, of_several_cores_is_held_up_by_a_piece_that_one_of_them_has_to_step) {
  // A node has a fourth of all, 32, and each of its cores 8: a piece of 16 keeps one of them twice as long.
  const std::vector<double> grains(kGrains, 2.0);
  EXPECT_EQ(Pieces(1).choose(grains), 8U);
  EXPECT_EQ(Pieces(4).choose(grains), 4U);
}

// All that a piece costs may lie in one of its grains: pieces of it cost as much, however small they are.
TEST(PieceSize, is_not_tried_again_and_again_where_a_crowd_lies_in_one_grain) {
  Pieces pieces;
  const std::vector<double> grains = crowd(11, 1, 200, 0.5);
  std::uint32_t before = 8;
  int n_tries = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    const std::uint32_t now = pieces.choose(grains);
    n_tries += now < before ? 1 : 0;
    before = now;
  }
  EXPECT_GE(n_tries, 1);
  EXPECT_LE(n_tries, 4) << "once in ten epochs, for a crowd moves on";
}

}  // namespace
}  // namespace rubato::tick

#include "rubato/tick/geometry/curve.hpp"

#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

namespace rubato::tick {
namespace {

// Walks along the curve: all points of the cube, each once, and each step to a neighbour.
template <std::size_t D>
void expect_curve(unsigned bits) {
  const std::int64_t side = std::int64_t{1} << bits;
  std::int64_t n = 1;
  for (std::size_t d = 0; d < D; ++d)
    n *= side;
  std::map<std::uint64_t, std::array<std::int64_t, D>> points;
  for (std::int64_t i = 0; i < n; ++i) {
    std::array<std::int64_t, D> at{};
    std::int64_t rest = i;
    for (std::int64_t& x : at) {
      x = rest % side;
      rest /= side;
    }
    points[hilbert_place(at, bits)] = at;
  }
  ASSERT_EQ(points.size(), static_cast<std::size_t>(n));
  EXPECT_EQ(points.rbegin()->first, static_cast<std::uint64_t>(n - 1));
  const std::array<std::int64_t, D>* before = nullptr;
  for (const auto& [place, at] : points) {
    std::int64_t distance = 0;
    for (std::size_t d = 0; before != nullptr && d < D; ++d)
      distance += std::abs(at[d] - (*before)[d]);
    ASSERT_EQ(distance, before == nullptr ? 0 : 1) << D << "D, " << bits << " bits, " << place;
    before = &at;
  }
}

TEST(Curve, each_point_of_a_cube_is_beside_the_next_one) {
  for (unsigned bits = 0; bits <= 5; ++bits) {
    expect_curve<1>(bits);
    expect_curve<2>(bits);
    expect_curve<3>(bits);
  }
}

TEST(Curve, pieces_are_as_many_as_wanted_or_a_few_more_and_nearly_cubes) {
  using Three = std::array<std::int64_t, 3>;
  using Two = std::array<std::int64_t, 2>;
  EXPECT_EQ(piece_counts(Two{4096, 4096}, 1024), (Two{32, 32}));
  EXPECT_EQ(piece_counts(Two{1000, 250}, 64), (Two{16, 4}));
  EXPECT_EQ(piece_counts(Three{100, 100, 1}, 4), (Three{2, 2, 1}));
  EXPECT_EQ(piece_counts(Three{2, 1, 2}, 100), (Three{2, 1, 2}));
}

TEST(Curve, pieces_of_a_lattice_have_places_of_their_own) {
  for (const std::array<std::int64_t, 3>& counts :
       {std::array<std::int64_t, 3>{1, 1, 1}, {19, 14, 1}, {3, 5, 7}, {1, 1, 300}, {2, 31, 2}}) {
    std::map<std::uint64_t, int> places;
    for (std::int64_t x = 0; x < counts[0]; ++x) {
      for (std::int64_t y = 0; y < counts[1]; ++y) {
        for (std::int64_t z = 0; z < counts[2]; ++z)
          ++places[place_of_piece<3>({x, y, z}, counts)];
      }
    }
    EXPECT_EQ(places.size(), static_cast<std::size_t>(counts[0] * counts[1] * counts[2]));
  }
}

TEST(Curve, a_row_of_pieces_is_in_its_order) {
  std::uint64_t before = 0;
  for (std::int64_t y = 1; y < 1000; ++y) {
    const std::uint64_t place = place_of_piece<3>({0, y, 0}, {1, 1000, 1});
    EXPECT_GT(place, before) << y;
    before = place;
  }
}

using Lattice = std::array<std::int64_t, 2>;

TEST(GoodPieceCount, is_as_many_as_wanted_but_none_thin) {
  // 28 x 28 cells: 16 pieces are 7 wide, 64 would be 3.5.
  EXPECT_EQ(good_piece_count(Lattice{28, 28}, 6, 32, 8), 16U);
  EXPECT_EQ(good_piece_count(Lattice{28, 28}, 3, 32, 8), 64U);
  EXPECT_EQ(good_piece_count(Lattice{1000, 1000}, 6, 32, 8), 64U);
  EXPECT_EQ(good_piece_count(Lattice{1000, 10}, 6, 32, 8), 64U);
  EXPECT_EQ(good_piece_count(std::array<std::int64_t, 3>{100, 100, 100}, 6, 32, 8), 64U);
}

TEST(GoodPieceCount, is_enough_for_all_nodes_however_thin) {
  EXPECT_EQ(good_piece_count(Lattice{28, 28}, 6, 128, 32), 64U);
  EXPECT_EQ(good_piece_count(Lattice{2, 2}, 6, 128, 32), 32U);  // as many as there can be then
  EXPECT_EQ(good_piece_count(Lattice{1, 1}, 6, 0, 0), 1U);
}

}  // namespace
}  // namespace rubato::tick

#pragma once
// Cutting a box of cells into n boxes, with short borders: the grid form of PART; evenly, or by
// what each of n nodes can do; and into pieces, which no node needs to have a part in.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "rubato/tick/geometry/box.hpp"

namespace rubato::tick {

// How many parts along each dimension, their product being n, so that the borders between parts are
// shortest; parts are never thinner than one cell. Where `wanted` is not 0, exactly that many.
// Throws Error (usage), with the nearest number that goes, if no such factors exist.
[[nodiscard]] std::vector<std::int64_t> grid_factors(std::int64_t n,
                                                     const std::vector<std::int64_t>& extent,
                                                     const std::vector<std::int64_t>& wanted);

// n boxes that are disjoint and cover `world`, in row-major order (x fastest); widths differ by at
// most one cell along each dimension. `wanted`: as above.
template <int D>
[[nodiscard]] std::vector<Box<std::int64_t, D>> cut_evenly(
    const Box<std::int64_t, D>& world, std::int64_t n,
    const std::type_identity_t<std::array<std::int64_t, D>>& wanted = {}) {
  std::vector<std::int64_t> extent;
  for (std::size_t d = 0; d < D; ++d)
    extent.push_back(world.width(d));
  const std::vector<std::int64_t> factors = grid_factors(n, extent, {wanted.begin(), wanted.end()});
  std::vector<Box<std::int64_t, D>> boxes;
  for (std::int64_t i = 0; i < n; ++i) {
    Box<std::int64_t, D> box;
    std::int64_t rest = i;
    for (std::size_t d = 0; d < D; ++d) {
      const std::int64_t at = rest % factors[d];
      rest /= factors[d];
      box.low[d] = world.low[d] + extent[d] * at / factors[d];
      box.high[d] = world.low[d] + extent[d] * (at + 1) / factors[d];
    }
    boxes.push_back(box);
  }
  return boxes;
}

// n boxes or a few more that are disjoint and cover `world`, nearly cubes; fewer only where there are
// fewer cells. Along Hilbert's curve: a stretch of them is compact.
template <int D>
[[nodiscard]] std::vector<Box<std::int64_t, D>> cut_along_curve(const Box<std::int64_t, D>& world,
                                                                std::uint32_t n);

extern template std::vector<Box<std::int64_t, 1>> cut_along_curve<1>(const Box<std::int64_t, 1>&,
                                                                     std::uint32_t);
extern template std::vector<Box<std::int64_t, 2>> cut_along_curve<2>(const Box<std::int64_t, 2>&,
                                                                     std::uint32_t);
extern template std::vector<Box<std::int64_t, 3>> cut_along_curve<3>(const Box<std::int64_t, 3>&,
                                                                     std::uint32_t);

// The order and the factors of cut_evenly(), but the i-th box has a part of the work in `world` that is
// in proportion to weights[i], as far as whole cells go: slabs along the last dimension, each of
// them cut by itself along the one before, and so on. So each node keeps its place when weights
// change, and most of its cells and neighbours. No box is thinner than a cell.
// `work` is of the cells of a box, in any unit: that of a box and of one beside it add up.
// REQUIRES: the factors' product is the number of weights, none is beyond the extent; weights > 0.
template <int D>
[[nodiscard]] std::vector<Box<std::int64_t, D>> cut_by_weights(
    const Box<std::int64_t, D>& world, std::span<const std::int64_t> factors,
    std::span<const double> weights,
    const std::function<double(const Box<std::int64_t, D>&)>& work);

extern template std::vector<Box<std::int64_t, 1>> cut_by_weights<1>(
    const Box<std::int64_t, 1>&, std::span<const std::int64_t>, std::span<const double>,
    const std::function<double(const Box<std::int64_t, 1>&)>&);
extern template std::vector<Box<std::int64_t, 2>> cut_by_weights<2>(
    const Box<std::int64_t, 2>&, std::span<const std::int64_t>, std::span<const double>,
    const std::function<double(const Box<std::int64_t, 2>&)>&);
extern template std::vector<Box<std::int64_t, 3>> cut_by_weights<3>(
    const Box<std::int64_t, 3>&, std::span<const std::int64_t>, std::span<const double>,
    const std::function<double(const Box<std::int64_t, 3>&)>&);

}  // namespace rubato::tick

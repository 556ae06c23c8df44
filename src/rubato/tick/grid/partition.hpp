#pragma once
// Cutting a box of cells evenly into n boxes, with short borders: the grid form of PART.

#include <array>
#include <cstdint>
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

}  // namespace rubato::tick

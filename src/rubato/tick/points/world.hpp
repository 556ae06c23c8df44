#pragma once
// World: the space that points live in, how far they see and how far they move in a tick.

#include <array>
#include <cmath>
#include <cstddef>

#include "rubato/tick/geometry/box.hpp"

namespace rubato::tick::points {

template <class T, int D>
struct World {
  Box<T, D> box;
  std::array<bool, D> periodic{};
  T visibility = 0;    // V: a tuple sees those at an Euclidean distance of at most V
  T reachability = 0;  // R: no coordinate changes by more than R in a tick, births included
  T cell_size = 0;     // edge of the cells that order contributions; 0: the smallest, about V

  // `x` moved into [low, high) of dimension d, which it left by less than its width.
  [[nodiscard]] T wrapped(T x, std::size_t d) const noexcept {
    const T low = box.low[d];
    const T high = box.high[d];
    if (x < low) x += high - low;
    if (x >= high) x -= high - low;
    // Rounding may have put it on the upper edge, which is the lower one.
    return x < low || x >= high ? low : x;
  }
  // `x` mirrored at the edge that it has crossed; `velocity` turns round with it.
  [[nodiscard]] T reflected(T x, T& velocity, std::size_t d) const noexcept {
    const T low = box.low[d];
    const T high = box.high[d];
    if (x < low) {
      x = low + (low - x);
      velocity = std::abs(velocity);
    } else if (x > high) {
      x = high - (x - high);
      velocity = -std::abs(velocity);
    }
    return x < low ? low : x > high ? high : x;
  }
};

}  // namespace rubato::tick::points

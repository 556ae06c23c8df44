#pragma once
// Lattices of pieces: how many there are along each dimension of a box, and in which order, so that a
// stretch of them is compact.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rubato::tick {

// How many pieces along each dimension, so that there are n or a few more in all and each is as
// nearly a cube as can be; none is thinner than one of the box's `extent`, so there may be fewer.
template <std::size_t D>
[[nodiscard]] std::array<std::int64_t, D> piece_counts(const std::array<std::int64_t, D>& extent,
                                                       std::uint32_t n) {
  std::array<std::int64_t, D> counts;
  counts.fill(1);
  const auto length = [&](std::size_t d) {
    return counts[d] < extent[d] ? static_cast<double>(extent[d]) / static_cast<double>(counts[d])
                                 : 0;
  };
  const auto product = [&] {
    std::int64_t all = 1;
    for (const std::int64_t count : counts)
      all *= count;
    return all;
  };
  // The number grows where pieces are longest.
  while (product() < n) {
    std::size_t longest = 0;
    for (std::size_t d = 1; d < D; ++d)
      longest = length(d) > length(longest) ? d : longest;
    if (length(longest) == 0) break;
    ++counts[longest];
  }
  return counts;
}

// How many pieces of a box are good: up to twice `wanted`, a power of two along each dimension, since
// halves and quarters of the list are compact then, and none thinner than `width` of the box's
// `extent`. If there would be fewer than `least`, the fewest that are not, however thin.
template <std::size_t D>
[[nodiscard]] std::uint32_t good_piece_count(const std::array<std::int64_t, D>& extent,
                                             std::int64_t width, std::uint32_t wanted,
                                             std::uint32_t least) {
  constexpr std::uint32_t kMost = std::uint32_t{1} << 24;
  const auto is_good = [&](std::uint32_t n, std::int64_t thinnest) {
    std::uint64_t product = 1;
    const auto counts = piece_counts(extent, n);
    for (std::size_t d = 0; d < D; ++d) {
      const auto count = static_cast<std::uint64_t>(counts[d]);
      const bool is_thin = count > 1 && extent[d] / counts[d] < thinnest;
      if (is_thin || !std::has_single_bit(count)) return false;
      product *= count;
    }
    return product == n;
  };
  wanted = std::clamp(wanted, std::uint32_t{1}, kMost);
  least = std::clamp(least, std::uint32_t{1}, kMost);
  for (std::uint32_t n = std::bit_floor(2 * wanted); n >= least; n /= 2) {
    if (is_good(n, width)) return n;
  }
  for (std::uint32_t n = std::bit_ceil(least); n <= 8 * least; n *= 2) {
    if (is_good(n, 1)) return n;
  }
  return least;
}

// The place of a point on Hilbert's curve through the cube of 2^bits points to a side, in the first
// `n_dims` dimensions; the next one is beside it, always. It ends where it has gone along the first
// dimension alone. Found as [Skilling] has it: Gray's code of the bits of all coordinates, taken
// together level by level, after each level's cube was turned into the one that the curve begins with.
// REQUIRES: 0 <= at[d] < 2^bits, n_dims * bits < 64.
template <std::size_t D>
[[nodiscard]] std::uint64_t hilbert_place(std::array<std::int64_t, D> at, unsigned bits,
                                          std::size_t n_dims = D) {
  const std::int64_t half = std::int64_t{1} << bits >> 1;
  for (std::int64_t side = half; side > 1; side >>= 1) {
    const std::int64_t below = side - 1;
    for (std::size_t d = 0; d < n_dims; ++d) {
      if ((at[d] & side) != 0) {
        at[0] ^= below;  // that half is walked through the other way
      } else {
        const std::int64_t swapped = (at[0] ^ at[d]) & below;
        at[0] ^= swapped;
        at[d] ^= swapped;
      }
    }
  }
  for (std::size_t d = 1; d < n_dims; ++d)
    at[d] ^= at[d - 1];
  std::int64_t flips = 0;
  for (std::int64_t side = half; side > 1; side >>= 1) {
    if ((at[n_dims - 1] & side) != 0) flips ^= side - 1;
  }
  std::uint64_t place = 0;
  for (unsigned bit = bits; bit-- > 0;) {
    for (std::size_t d = 0; d < n_dims; ++d)
      place = place << 1 | static_cast<std::uint64_t>((at[d] ^ flips) >> bit & 1);
  }
  return place;
}

// The place of a piece in the order of all, `counts` of them along each dimension. The lattice is
// stretched a little, so that powers of two fill it: then halves and quarters of the list are halves and
// quarters of the world, however many pieces a side has; without that, two nodes' borders are up to
// three times as long. A long world is a row of cubes, a flat one a curve of them, each with a curve of
// its own. No two pieces have one place. REQUIRES: the counts' product is at most 2^32.
template <std::size_t D>
[[nodiscard]] std::uint64_t place_of_piece(const std::array<std::int64_t, D>& at,
                                           const std::array<std::int64_t, D>& counts) {
  constexpr unsigned kFiner = 2;       // bits, so that pieces of a stretched lattice stay apart
  std::array<std::size_t, D> order{};  // dimensions, the longest first
  std::array<unsigned, D> bits{};
  for (std::size_t d = 0; d < D; ++d) {
    order[d] = d;
    if (counts[d] == 1) continue;
    const auto count = static_cast<std::uint64_t>(counts[d]);
    std::uint64_t power = 1;
    bits[d] = kFiner;
    for (; 2 * power <= count; power *= 2)
      ++bits[d];
    if (count * count >= 2 * power * power) ++bits[d];  // the next power is nearer
  }
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t d) { return bits[d]; });
  std::uint64_t place = 0;
  for (std::size_t n_dims = 1; n_dims <= D; ++n_dims) {
    // Levels at which so many dimensions are longer than one cube.
    const unsigned low = n_dims < D ? bits[order[n_dims]] : 0;
    const unsigned n_levels = bits[order[n_dims - 1]] - low;
    std::array<std::int64_t, D> point{};
    for (std::size_t i = 0; i < n_dims; ++i) {
      const std::size_t d = order[i];
      const std::int64_t stretched = (at[d] << bits[d]) / counts[d];
      point[i] = stretched >> low & ((std::int64_t{1} << n_levels) - 1);
    }
    place = place << n_dims * n_levels | hilbert_place(point, n_levels, n_dims);
  }
  return place;
}

}  // namespace rubato::tick

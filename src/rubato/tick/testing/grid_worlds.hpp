#pragma once
// Small grid users for tests: every cell mixes all that it reads into bits that show any mistake.

#include <algorithm>
#include <array>
#include <cstdint>

#include "rubato/base/random.hpp"
#include "rubato/tick/grid/grid_user.hpp"

namespace rubato::tick::testing {

// The world, its start and its stop condition: D dimensions, radius R, F fields and one fixed one.
template <int D, int R, int F>
struct GridWorld {
  using Value = double;
  static constexpr int kDimensions = D;
  static constexpr int kRadius = R;
  static constexpr int kFields = F;
  static constexpr int kFixed = 1;

  GridShape<D> grid;
  std::uint64_t seed = 1;
  Tick interval = 0;
  Tick lag = 0;
  double stop_below = 0;

  [[nodiscard]] GridShape<D> shape() const { return grid; }
  [[nodiscard]] double outside(int field) const { return 0.25 + field; }

  void init(Index<D> at, std::int64_t n, double* const* fields, double* const* fixed) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
      std::uint64_t id = 0;
      for (const std::int64_t a : at)
        id = id * 1009 + static_cast<std::uint64_t>(a);
      for (int f = 0; f < F; ++f) {
        fields[f][i] = unit_double(static_cast<std::uint32_t>(hash_words(seed, id, f)), 0);
      }
      fixed[0][i] = unit_double(static_cast<std::uint32_t>(hash_words(seed, id, 99)), 0);
    }
  }

  using Measure = double;
  template <class Span>
  void measure(double& most, const Span& /*in*/, const double* const* after, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i)
      most = after[0][i] > most ? after[0][i] : most;
  }
  void combine(double& into, const double& from) const { into = from > into ? from : into; }
  [[nodiscard]] bool stop(const double& most, Tick) const { return most < stop_below; }
  [[nodiscard]] Tick stop_interval() const { return interval; }
  [[nodiscard]] Tick stop_lag() const { return lag; }
};

// Folds into [0, 1), which keeps the low bits alive.
[[nodiscard]] inline double folded(double sum) {
  return sum - static_cast<double>(static_cast<std::int64_t>(sum));
}

// Each field reads all fields over the whole cube of the stencil, with weights that differ by place.
template <int D, int R, int F, bool Star = false>
struct MixingGrid : GridWorld<D, R, F> {
  static constexpr bool kStar = Star;

  void step(const GridSpan<MixingGrid>& in, double* const* out, Index<D> /*at*/, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      for (int f = 0; f < F; ++f) {
        out[f][i] = folded(mixed(in, i, f, t));
      }
    }
  }
  [[nodiscard]] static double mixed(const GridSpan<MixingGrid>& in, std::int64_t i, int f, Tick t) {
    double sum = in.fixed[0][i] * 0.125 + static_cast<double>(t) * 1e-3;
    double weight = 0.1 + 0.01 * f;
    constexpr std::int64_t kRy = D > 1 ? R : 0;
    constexpr std::int64_t kRz = D > 2 ? R : 0;
    for (std::int64_t z = -kRz; z <= kRz; ++z)
      for (std::int64_t y = -kRy; y <= kRy; ++y)
        for (std::int64_t x = -R; x <= R; ++x) {
          if (Star && (x != 0) + (y != 0) + (z != 0) > 1) continue;
          for (const double* field : in.field) {
            sum += weight * field[i + x + y * in.row + z * in.plane];
            weight = weight < 1 ? weight * 1.1 : weight * 0.13;
          }
        }
    return sum;
  }
};

enum class Stencil : std::uint8_t { star, cube, behind };

// The cells of a stencil: along the axes, all within the radius, or those of the cube that come before
// the cell, which sees nobody that sees it.
template <int D, int R, Stencil S>
consteval auto stencil_cells() {
  constexpr std::int64_t kWidth = 2 * R + 1;
  constexpr std::int64_t kCube = kWidth * (D > 1 ? kWidth : 1) * (D > 2 ? kWidth : 1);
  constexpr std::int64_t kN = S == Stencil::cube   ? kCube - 1
                              : S == Stencil::star ? 2 * R * D
                                                   : kCube / 2;
  std::array<Index<D>, static_cast<std::size_t>(kN)> cells{};
  std::size_t n = 0;
  for (std::int64_t i = 0; i < kCube; ++i) {
    Index<D> by{};
    std::int64_t rest = i;
    int n_axes = 0;
    for (std::int64_t& along : by) {
      along = rest % kWidth - R;
      rest /= kWidth;
      n_axes += along != 0 ? 1 : 0;
    }
    if (n_axes == 0 || (S == Stencil::star && n_axes > 1)) continue;
    if (S == Stencil::behind && i > kCube / 2) continue;
    cells[n++] = by;
  }
  // The first come last, so that order is not that of memory.
  std::ranges::reverse(cells.begin(), cells.begin() + kN / 2);
  return cells;
}

// The same step by cells of the stencil: sums depend on the order in which those are taken up, on where
// the cell is, on the fixed values of both and on the tick.
template <int D, int R, int F, Stencil S>
struct MixingGridInParts : GridWorld<D, R, F> {
  using Cell = GridCell<MixingGridInParts>;
  using Sum = std::array<double, F>;
  static constexpr auto kStencil = stencil_cells<D, R, S>();

  [[nodiscard]] Sum begin(const Cell& own) const {
    Sum sum{};
    for (std::size_t f = 0; f < F; ++f)
      sum[f] = own[f] + 1e-3 * static_cast<double>(own.tick() + own.at()[0]);
    return sum;
  }
  void interact(Sum& sum, const Cell& own, std::size_t k, const Cell& other) const {
    for (std::size_t f = 0; f < F; ++f) {
      sum[f] = sum[f] * 0.7 + (0.3 + 0.01 * static_cast<double>(k)) * other[(f + k) % F];
      sum[f] +=
          0.01 * own.fixed(0) * other.fixed(0) + 1e-4 * static_cast<double>(other.at()[D - 1]);
    }
  }
  [[nodiscard]] GridValues<MixingGridInParts> finish(const Cell& own, const Sum& sum) const {
    std::array<double, F> values{};
    for (std::size_t f = 0; f < F; ++f)
      values[f] = folded(sum[f] * (1 + own.fixed(0)));
    if constexpr (F == 1) {
      return values[0];
    } else {
      return values;
    }
  }
};

}  // namespace rubato::tick::testing

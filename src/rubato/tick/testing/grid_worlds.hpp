#pragma once
// Small grid users for tests: every cell mixes all that it reads into bits that show any mistake.

#include <array>
#include <cstdint>

#include "rubato/base/random.hpp"
#include "rubato/tick/grid/grid_model.hpp"

namespace rubato::tick::testing {

// D dimensions, radius R, F fields and one fixed one. Each field reads all fields over the whole
// cube of the stencil, with weights that differ by place.
template <int D, int R, int F, bool Star = false>
struct MixingGrid {
  using Value = double;
  static constexpr int kDimensions = D;
  static constexpr int kRadius = R;
  static constexpr int kFields = F;
  static constexpr int kFixed = 1;
  static constexpr bool kStar = Star;

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

  void step(const GridSpan<MixingGrid>& in, double* const* out, Index<D> /*at*/, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      for (int f = 0; f < F; ++f) {
        const double sum = mixed(in, i, f, t);
        // Folds into [0, 1), which keeps the low bits alive.
        out[f][i] = sum - static_cast<double>(static_cast<std::int64_t>(sum));
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

  using Measure = double;
  void measure(double& most, const GridSpan<MixingGrid>& /*in*/, const double* const* after,
               std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i)
      most = after[0][i] > most ? after[0][i] : most;
  }
  void combine(double& into, const double& from) const { into = from > into ? from : into; }
  [[nodiscard]] bool stop(const double& most, Tick) const { return most < stop_below; }
  [[nodiscard]] Tick stop_interval() const { return interval; }
  [[nodiscard]] Tick stop_lag() const { return lag; }
};

}  // namespace rubato::tick::testing

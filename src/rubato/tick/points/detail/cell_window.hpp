#pragma once
// CellWindow: a box of cells, row by row, which may go round the edge of a periodic world; and
// Patch: what two windows have in common.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "rubato/tick/points/lattice.hpp"

namespace rubato::tick::points::detail {

template <int D>
struct CellWindow {
  Index<D> low{};   // cells; unwrapped, or in the world
  Index<D> size{};  // cells

  [[nodiscard]] std::int64_t n_cells() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t s : size)
      n *= s;
    return n;
  }
  // The number of the cell at `at`, counted from the window's corner.
  [[nodiscard]] std::int64_t number(const Index<D>& at) const noexcept {
    std::int64_t n = 0;
    for (std::size_t d = D; d-- > 0;)
      n = n * size[d] + at[d];
    return n;
  }
};

// Calls f(at) for the first cell of each row of a box of `size` cells.
template <int D, class F>
void for_each_row(const Index<D>& size, F&& f) {
  for (const std::int64_t s : size) {
    if (s <= 0) return;
  }
  Index<D> at{};
  for (bool more = true; more;) {
    f(at);
    more = false;
    for (std::size_t d = 1; d < D && !more; ++d) {
      more = ++at[d] < size[d];
      if (!more) at[d] = 0;
    }
  }
}

// The cells that units of `box` grown by `by` lie in: as far as they reach (an edge that is crossed
// is followed by the cells of the other side), clipped where the world ends.
template <class T, int D>
[[nodiscard]] CellWindow<D> unwrapped_window(const Lattice<T, D>& lattice, const UnitBox<D>& box,
                                             std::int64_t by) {
  CellWindow<D> window;
  for (std::size_t d = 0; d < D; ++d) {
    std::int64_t low = cell_of_unit(box.low[d] - by);
    std::int64_t high = cell_of_unit(box.high[d] - 1 + by) + 1;
    if (!lattice.periodic(d)) {
      low = std::max<std::int64_t>(low, 0);
      high = std::min(high, lattice.n_cells()[d]);
    }
    window.low[d] = low;
    window.size[d] = high - low;
  }
  return window;
}

// The same, each cell of the world once: the corner lies in the world, and a window that would
// meet itself is as wide as the world.
template <class T, int D>
[[nodiscard]] CellWindow<D> wrapped_window(const Lattice<T, D>& lattice, const UnitBox<D>& box,
                                           std::int64_t by) {
  CellWindow<D> window = unwrapped_window(lattice, box, by);
  for (std::size_t d = 0; d < D; ++d) {
    const std::int64_t n = lattice.n_cells()[d];
    if (window.size[d] >= n) {
      window.low[d] = 0;
      window.size[d] = n;
    } else if (lattice.periodic(d)) {
      window.low[d] = (window.low[d] % n + n) % n;
    }
  }
  return window;
}

// A box of cells that both have: an unwrapped window reads it from a wrapped one.
template <int D>
struct Patch {
  std::uint32_t source = 0;
  Index<D> to{};    // its corner in the unwrapped window
  Index<D> from{};  // its corner in the wrapped one
  Index<D> size{};
};

template <class T, int D>
void add_patches(const Lattice<T, D>& lattice, const CellWindow<D>& to, const CellWindow<D>& from,
                 std::uint32_t source, std::vector<Patch<D>>& patches) {
  std::vector<Patch<D>> done{Patch<D>{source, {}, {}, {}}};
  for (std::size_t d = 0; d < D; ++d) {
    std::vector<Patch<D>> next;
    for (int image = -1; image <= 1; ++image) {
      if (image != 0 && !lattice.periodic(d)) continue;
      const std::int64_t start = from.low[d] + image * lattice.n_cells()[d];
      const std::int64_t low = std::max(to.low[d], start);
      const std::int64_t high = std::min(to.low[d] + to.size[d], start + from.size[d]);
      if (low >= high) continue;
      for (Patch<D> patch : done) {
        patch.to[d] = low - to.low[d];
        patch.from[d] = low - start;
        patch.size[d] = high - low;
        next.push_back(patch);
      }
    }
    done = std::move(next);
  }
  patches.insert(patches.end(), done.begin(), done.end());
}

}  // namespace rubato::tick::points::detail

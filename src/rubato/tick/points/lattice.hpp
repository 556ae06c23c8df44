#pragma once
// Lattice: the world cut into whole numbers, so that queries are exact.
//
// The world is a fixed grid of cells, each at least as wide as the visibility, cut from the world
// alone: what a tuple sees lies in the 3 x 3 (x 3) block around its cell, and cells order the
// contributions. Each cell is 16 units wide along each dimension. Queries are unions of boxes of
// units; visibility and reachability are rounded up to units, with room for the rounding errors of
// coordinates. So layers are about V + R wide, and neither slivers between boxes nor tuples that
// fall through a rounding gap exist (docs/decisions/0009-points-on-a-lattice.md).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "rubato/base/error.hpp"
#include "rubato/tick/geometry/box.hpp"
#include "rubato/tick/points/world.hpp"

namespace rubato::tick::points {

inline constexpr std::int64_t kUnitsPerCell = 16;

// Units or cells, by dimension.
template <int D>
using Index = std::array<std::int64_t, D>;
template <int D>
using UnitBox = Box<std::int64_t, D>;
template <int D>
using UnitSet = BoxSet<std::int64_t, D>;

// The cell of a unit; units left of the world have negative ones.
[[nodiscard]] constexpr std::int64_t cell_of_unit(std::int64_t unit) noexcept {
  return unit >> 4;
}
static_assert(kUnitsPerCell == 1 << 4);

template <class T, int D>
class Lattice {
 public:
  // Throws Error if the world is empty or not finite, V or R is negative or not finite, the cells
  // are smaller than V or too many, or a periodic dimension is less than 3 cells wide (then a tuple
  // could see another one twice).
  explicit Lattice(const World<T, D>& world) : world_(world) {
    double most = 0;
    for (std::size_t d = 0; d < D; ++d) {
      check_extent(d);
      most = std::max({most, std::abs(double{world.box.low[d]}),
                       std::abs(double{world.box.high[d]}), double{world.box.width(d)}});
    }
    check_distance("visibility", world.visibility);
    check_distance("reachability", world.reachability);
    check_distance("cell size", world.cell_size);
    const double seen = with_room(world.visibility, most);
    const double moved = with_room(world.reachability, most);
    double cell = std::max(seen, double{world.cell_size});
    if (world.visibility == 0 && world.cell_size == 0) cell = std::max(most / 32, seen);
    const double unit = cell / kUnitsPerCell;
    for (std::size_t d = 0; d < D; ++d)
      cut(d, cell);
    visibility_ = static_cast<std::int64_t>(std::ceil(seen / unit));
    reachability_ = static_cast<std::int64_t>(std::ceil(moved / unit));
  }

  [[nodiscard]] const World<T, D>& world() const noexcept { return world_; }
  // The units, wrapped and clipped as the world is.
  [[nodiscard]] const Space<std::int64_t, D>& space() const noexcept { return space_; }
  [[nodiscard]] const Index<D>& n_cells() const noexcept { return n_cells_; }
  [[nodiscard]] std::int64_t n_units(std::size_t d) const noexcept { return space_.world.high[d]; }
  [[nodiscard]] std::int64_t visibility() const noexcept { return visibility_; }      // units
  [[nodiscard]] std::int64_t reachability() const noexcept { return reachability_; }  // units
  [[nodiscard]] bool periodic(std::size_t d) const noexcept { return world_.periodic[d]; }
  // What a neighbour's coordinate changes by when it is seen across the edge, to -1 or +1.
  [[nodiscard]] T image_shift(std::size_t d, int side) const noexcept {
    return side == 0 ? T{0} : side < 0 ? -world_.box.width(d) : world_.box.width(d);
  }

  [[nodiscard]] bool contains(const std::array<T, D>& position) const noexcept {
    for (std::size_t d = 0; d < D; ++d) {
      if (!(position[d] >= world_.box.low[d] && position[d] <= world_.box.high[d])) return false;
    }
    return true;
  }
  // REQUIRES: contains(position). Monotone in each coordinate.
  [[nodiscard]] std::int64_t unit(const std::array<T, D>& position, std::size_t d) const noexcept {
    const double scaled = (double{position[d]} - double{world_.box.low[d]}) * per_unit_[d];
    return std::min(static_cast<std::int64_t>(scaled), space_.world.high[d] - 1);
  }
  [[nodiscard]] Index<D> unit(const std::array<T, D>& position) const noexcept {
    Index<D> units;
    for (std::size_t d = 0; d < D; ++d)
      units[d] = unit(position, d);
    return units;
  }
  // The number of a tuple's cell, row by row, the first dimension fastest. REQUIRES: contains().
  [[nodiscard]] std::int64_t cell_number(const std::array<T, D>& position) const noexcept {
    std::int64_t number = 0;
    for (std::size_t d = D; d-- > 0;) {
      number = number * n_cells_[d] + cell_of_unit(unit(position, d));
    }
    return number;
  }
  // A box of units in coordinates, for people and for readers of files.
  [[nodiscard]] Box<T, D> real(const UnitBox<D>& box) const noexcept {
    Box<T, D> result;
    for (std::size_t d = 0; d < D; ++d) {
      const double low = double{world_.box.low[d]};
      result.low[d] = static_cast<T>(low + static_cast<double>(box.low[d]) / per_unit_[d]);
      result.high[d] = static_cast<T>(low + static_cast<double>(box.high[d]) / per_unit_[d]);
    }
    return result;
  }

  // How wide a periodic dimension has to be at least, in a world whose coordinates and widths are at
  // most `most`, if its cells are as wide as the visibility: for models that check that first, to
  // name what people have set.
  [[nodiscard]] static double periodic_least(T visibility, double most) noexcept {
    return kPeriodicCells * with_room(visibility, most);
  }

  // "the world [0, 10) x [0, 5)", for errors.
  [[nodiscard]] std::string describe() const {
    std::string text = "the world ";
    for (std::size_t d = 0; d < D; ++d) {
      text += (d == 0 ? "[" : " x [") + std::to_string(world_.box.low[d]) + ", " +
              std::to_string(world_.box.high[d]) + ")";
    }
    return text;
  }

 private:
  static constexpr std::int64_t kCellsMost = std::int64_t{1} << 24;  // along one dimension
  static constexpr std::int64_t kPeriodicCells = 3;                  // at least

  // A distance, and what adding, wrapping and squaring coordinates up to `most` may round off.
  static double with_room(T distance, double most) noexcept {
    return double{distance} * (1 + 0x1p-20) + 8 * double{std::numeric_limits<T>::epsilon()} * most;
  }

  void check_extent(std::size_t d) const {
    const T low = world_.box.low[d];
    const T high = world_.box.high[d];
    if (std::isfinite(low) && std::isfinite(high) && low < high) return;
    throw Error("world: dimension " + std::to_string(d) + " reaches from " + std::to_string(low) +
                " to " + std::to_string(high) + ", expected finite numbers in ascending order");
  }
  static void check_distance(const char* name, T value) {
    if (std::isfinite(value) && value >= 0) return;
    throw Error(std::string("world: ") + name + " is " + std::to_string(value) +
                ", expected a finite number >= 0");
  }
  void cut(std::size_t d, double cell) {
    const double extent = double{world_.box.width(d)};
    const double exact = extent / cell;
    if (exact > static_cast<double>(kCellsMost)) {
      throw Error("world: dimension " + std::to_string(d) + " is " + std::to_string(exact) +
                  " cells wide, expected at most " + std::to_string(kCellsMost) +
                  "; give a larger cell_size");
    }
    // Periodic: whole cells, wider than asked for if need be. Else the last one reaches outside.
    n_cells_[d] = static_cast<std::int64_t>(periodic(d) ? std::floor(exact) : std::ceil(exact));
    if (periodic(d) && n_cells_[d] < kPeriodicCells) {
      throw Error("world: the periodic dimension " + std::to_string(d) + " is " +
                  std::to_string(extent) + " wide, expected at least 3 cells of " +
                  std::to_string(cell) + ", so that nobody is seen from two sides");
    }
    const std::int64_t units = n_cells_[d] * kUnitsPerCell;
    per_unit_[d] = periodic(d) ? static_cast<double>(units) / extent : kUnitsPerCell / cell;
    space_.world.low[d] = 0;
    space_.world.high[d] = units;
    space_.periodic[d] = periodic(d);
  }

  World<T, D> world_;
  Space<std::int64_t, D> space_;
  Index<D> n_cells_{};
  std::array<double, D> per_unit_{};
  std::int64_t visibility_ = 0;
  std::int64_t reachability_ = 0;
};

}  // namespace rubato::tick::points

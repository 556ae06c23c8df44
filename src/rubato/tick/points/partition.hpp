#pragma once
// PART for points: the lattice cut into n boxes, evenly or by weights of sampled tuples, and a
// node's box cut into tiles.
//
// The paper's quadtree [Ticks 4.1] splits a square into four at its middle and cannot have any
// number of leaves. Differs from the paper: a split is two cuts (three in 3D), each of them at the
// cell border where the weights of its sides come nearest to the numbers of leaves there; so n may
// be any number and the leaves hold about the same number of tuples.

#include <array>
#include <cstdint>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/points/lattice.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick::points {

// What lies in each cell: sampled tuples, each with a weight. Large worlds are counted in blocks of
// cells, so that it never has more than 2^20 numbers.
template <int D>
class CellWeights {
 public:
  explicit CellWeights(const Index<D>& n_cells);

  void add(const Index<D>& cell) noexcept {
    std::int64_t number = 0;
    for (std::size_t d = D; d-- > 0;)
      number = number * n_[d] + cell[d] / block_[d];
    ++weights_[static_cast<std::size_t>(number)];
  }

  // Adds `total` to all blocks together, to each the same.
  void add_evenly(double total);
  // Adds the weights of other tuples. REQUIRES: of the same world.
  void add(const CellWeights& other);
  // Stretches of numbers that are not 0 only: a node's own tuples are in few of the cells.
  void write(Writer& writer) const;
  // Adds what write() has written, scaled so that it is `total` in all; 0: as it is. Throws Error if the
  // bytes are no weights of such a world.
  void add(Reader& reader, double total);

  bool operator==(const CellWeights&) const = default;

  // [width of the box] the weights by unit along dimension `axis`, blocks that the box meets in part
  // counted in proportion.
  [[nodiscard]] std::vector<double> profile(const UnitBox<D>& box, std::size_t axis) const;

 private:
  Index<D> block_{};  // cells a block
  Index<D> n_{};      // blocks
  std::vector<double> weights_;
};

// n boxes that are disjoint and cover `units`, of nearly the same size, with short borders; cut at
// cell borders if there are enough cells. Throws Error if n has a factor that does not fit.
template <int D>
[[nodiscard]] std::vector<UnitBox<D>> part_by_grid(const UnitBox<D>& units, std::uint32_t n);

// n boxes that are disjoint and cover `units`, of about the same weight; cut at cell borders
// where a box still has some. Throws Error if there are fewer units than n.
template <int D>
[[nodiscard]] std::vector<UnitBox<D>> part_by_weights(const UnitBox<D>& units,
                                                      const CellWeights<D>& weights,
                                                      std::uint32_t n);

// Appends the parts of `box`, about `edge` units wide each, cut at cell borders where possible.
template <int D>
void cut_tiles(const UnitBox<D>& box, const Index<D>& edge, std::vector<UnitBox<D>>& tiles);

// About n boxes that are disjoint and cover `units`, nearly cubes, cut at cell borders: no more than
// there are cells. Along a Morton curve, so that a stretch of them is compact.
template <int D>
[[nodiscard]] std::vector<UnitBox<D>> pieces_of(const UnitBox<D>& units, std::uint32_t n);

struct TileOptions {
  std::int64_t edge = 256;       // of an inner tile, in units
  std::int64_t ring = 0;         // V + R in units
  std::int64_t tiles_least = 1;  // inner tiles are cut smaller until there are so many
};

// The tiles of a node's own boxes, the border first: rings of V + R up to policy.depth, so that
// work on the inside waits for late messages as late as possible; below them a frame as deep as
// what rounds are packed from; then inner tiles. The world's own edge is no border.
template <int D>
[[nodiscard]] std::vector<UnitBox<D>> own_tiles(const Space<std::int64_t, D>& space,
                                                const UnitSet<D>& own, const Policy& policy,
                                                const TileOptions& options);

}  // namespace rubato::tick::points

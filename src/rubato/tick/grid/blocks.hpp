#pragma once
// Blocks: where the cells of one node lie. What the node holds, its own cells and what it knows of
// others', is cut into blocks, boxes of cells which keep some versions each.
//
// Two versions are enough where cells are stepped tick by tick: a unit overwrites the last version
// but one, whose readers are its own inputs (stencils are symmetric) and have their next version by
// then. Cells of others are no different, as long as none are stepped here: who sends the version
// after next has got what their readers here made of the last one. So without replicas all blocks
// keep two: one, or what the pieces of a node fill together, and thin ones beside them.
//
// With replicas a message puts cells k ticks ahead, while those of the round before are still to be
// stepped. So own cells that replicas read, within one radius of the border, and the replicas lie in
// strips of their own, which keep those of all rounds of the dataflow's window. Each round of a
// strip has versions of its own: that of the message, and two to step on from it, in memory that
// stays in the cache.
//
// A block has a margin of one radius around it, so that a kernel finds all neighbours of a cell at
// fixed distances. Cells that lie in the margin of another block (or of the same one, around a
// periodic world) are copied there whenever they get a new version: an Export. A margin's old
// version is not needed any more by then: whoever reads it is an input of the unit that made the
// new one.

#include <array>
#include <cstdint>
#include <vector>

#include "rubato/tick/geometry/box.hpp"
#include "rubato/tick/geometry/box_tree.hpp"

namespace rubato::tick {

template <int D>
struct BlockShape {
  using CellBox = Box<std::int64_t, D>;
  CellBox box;           // the cells that it holds, unwrapped around the own box
  CellBox grown;         // with its margin
  std::int64_t row = 0;  // cells between neighbours in y, and in z
  std::int64_t plane = 0;
  std::int64_t n_cells = 0;     // of one field of one version, margin and padding included
  std::int64_t period = 1;      // ticks from round to round
  std::int64_t per_round = 1;   // versions of a round
  std::int64_t n_versions = 2;  // a multiple of per_round
  std::int64_t lead = 0;        // cells in front, so that rows of `box` start on a cache line

  // Cells of a box end to end, without margin and padding.
  [[nodiscard]] static BlockShape dense(const CellBox& box) noexcept {
    BlockShape shape;
    shape.box = shape.grown = box;
    shape.row = box.width(0);
    shape.plane = shape.row * (D > 1 ? box.width(D > 1 ? 1 : 0) : 1);
    shape.n_cells = box.volume();
    return shape;
  }

  // Where the cells of tick t are, in [0, n_versions).
  [[nodiscard]] std::int64_t version(std::int64_t t) const noexcept {
    if (per_round == 1) return t % n_versions;
    const std::int64_t in_round = t % period;
    const std::int64_t first = t / period % (n_versions / per_round) * per_round;
    return in_round == 0 ? first : first + 1 + (in_round - 1) % (per_round - 1);
  }
  [[nodiscard]] std::int64_t offset(const std::array<std::int64_t, D>& at) const noexcept {
    std::int64_t result = lead + at[0] - grown.low[0];
    if constexpr (D > 1) result += (at[1] - grown.low[1]) * row;
    if constexpr (D > 2) result += (at[2] - grown.low[2]) * plane;
    return result;
  }
};

// Cells of one block: `box` there; subtracting `shift` gives the world's indices.
template <int D>
struct Piece {
  std::uint32_t block = 0;
  Box<std::int64_t, D> box;
  std::array<std::int64_t, D> shift{};

  [[nodiscard]] Box<std::int64_t, D> in_world() const noexcept {
    std::array<std::int64_t, D> back{};
    for (std::size_t d = 0; d < D; ++d)
      back[d] = -shift[d];
    return box.moved(back);
  }
};

template <int D>
struct Export {
  std::uint32_t from_block = 0;
  std::uint32_t to_block = 0;
  Box<std::int64_t, D> from;
  std::array<std::int64_t, D> to_low{};
};

// All ways to move a box once around the periodic dimensions, not moving it among them.
template <int D>
[[nodiscard]] std::vector<std::array<std::int64_t, D>> periodic_shifts(
    const Space<std::int64_t, D>& space) {
  std::vector<std::array<std::int64_t, D>> result{{}};
  for (std::size_t d = 0; d < D; ++d) {
    if (!space.periodic[d]) continue;
    const std::size_t n = result.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int64_t by : {-space.world.width(d), space.world.width(d)}) {
        result.push_back(result[i]);
        result.back()[d] = by;
      }
    }
  }
  return result;
}

template <int D>
class BlockLayout {
 public:
  using CellBox = Box<std::int64_t, D>;

  using Cells = BoxSet<std::int64_t, D>;

  // What a node holds; all of it lies in the space's world.
  struct Held {
    const Cells& own;
    const Cells& inner;  // what of `own` no replica reads: all of it if there are none
    const Cells& all;    // `own` among them
    std::int64_t reach;  // how far from `own` the others are
  };
  // Rounds every `period` ticks; no cell is read any more `window` ticks later.
  struct Time {
    std::int64_t period = 1;
    std::int64_t window = 2;
  };

  BlockLayout(const Space<std::int64_t, D>& space, const Held& held, std::int64_t radius,
              Time time);

  [[nodiscard]] const std::vector<BlockShape<D>>& blocks() const noexcept { return blocks_; }
  // Where the cells of a set lie; each cell once. Cells that the node does not hold are left out.
  [[nodiscard]] std::vector<Piece<D>> locate(const BoxSet<std::int64_t, D>& set) const;
  // Margins that show the piece's cells.
  [[nodiscard]] std::vector<Export<D>> exports(const Piece<D>& piece) const;

 private:
  using Tree = BoxTree<std::int64_t, D>;
  using Items = std::vector<typename Tree::Item>;

  void add_block(const CellBox& box);
  void add_strip(const CellBox& box, Time time);
  [[nodiscard]] Tree tree_of(CellBox BlockShape<D>::*box) const;
  // Ascending.
  [[nodiscard]] static std::vector<std::uint32_t> found(const Tree& tree, const CellBox& box);

  std::int64_t radius_;
  std::vector<std::array<std::int64_t, D>> shifts_;
  std::vector<BlockShape<D>> blocks_;
  Tree boxes_;  // of the blocks, and with their margins
  Tree grown_;
};

// Calls f(low, n) for each row of the box: `low` its first cell, n its cells along x.
template <int D, class F>
void for_each_row(const Box<std::int64_t, D>& box, F&& f) {
  if (box.empty()) return;
  std::array<std::int64_t, D> at = box.low;
  const std::int64_t n = box.width(0);
  if constexpr (D == 1) {
    f(at, n);
  } else if constexpr (D == 2) {
    for (at[1] = box.low[1]; at[1] < box.high[1]; ++at[1])
      f(at, n);
  } else {
    for (at[2] = box.low[2]; at[2] < box.high[2]; ++at[2]) {
      for (at[1] = box.low[1]; at[1] < box.high[1]; ++at[1])
        f(at, n);
    }
  }
}

extern template class BlockLayout<1>;
extern template class BlockLayout<2>;
extern template class BlockLayout<3>;

}  // namespace rubato::tick

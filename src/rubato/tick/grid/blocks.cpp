#include "rubato/tick/grid/blocks.hpp"

#include <algorithm>
#include <utility>

namespace rubato::tick {

namespace {

// The box that a node with one box of its own holds, which may lie beyond the edge of a periodic
// world, so that its strips are few and long.
template <int D>
Box<std::int64_t, D> window_around(const Space<std::int64_t, D>& space,
                                   const Box<std::int64_t, D>& own, std::int64_t reach) {
  Box<std::int64_t, D> window = own;
  for (std::size_t d = 0; d < D; ++d) {
    const std::int64_t extent = space.world.width(d);
    if (own.width(d) == extent) continue;
    if (!space.periodic[d]) {
      window.low[d] = std::max(own.low[d] - reach, space.world.low[d]);
      window.high[d] = std::min(own.high[d] + reach, space.world.high[d]);
    } else if (own.width(d) + 2 * reach < extent) {
      window.low[d] -= reach;
      window.high[d] += reach;
    } else {
      // The replicas of both sides meet: the whole circumference, each cell once.
      window.low[d] -= (extent - own.width(d)) / 2;
      window.high[d] = window.low[d] + extent;
    }
  }
  return window;
}

}  // namespace

template <int D>
BlockLayout<D>::BlockLayout(const Space<std::int64_t, D>& space, const Held& held,
                            std::int64_t radius, Time time)
    : radius_(radius), shifts_(periodic_shifts(space)), boxes_(Items()), grown_(Items()) {
  const bool has_replicas = !(held.inner == held.own);
  for (const CellBox& box : held.inner.boxes())
    add_block(box);
  Cells outer = held.all;
  if (held.own.boxes().size() == 1)
    outer = Cells(window_around(space, held.own.boxes().front(), held.reach));
  outer = Cells::of_disjoint(outer.minus(held.inner).boxes());
  for (const CellBox& box : outer.boxes()) {
    if (has_replicas) {
      add_strip(box, time);
    } else {
      add_block(box);
    }
  }
  boxes_ = tree_of(&BlockShape<D>::box);
  grown_ = tree_of(&BlockShape<D>::grown);
}

template <int D>
auto BlockLayout<D>::tree_of(CellBox BlockShape<D>::*box) const -> Tree {
  Items items;
  for (std::uint32_t i = 0; i < blocks_.size(); ++i)
    items.push_back({blocks_[i].*box, i});
  return Tree(std::move(items));
}

template <int D>
std::vector<std::uint32_t> BlockLayout<D>::found(const Tree& tree, const CellBox& box) {
  std::vector<std::uint32_t> ids;
  if (!box.empty()) tree.find(box, ids);
  std::ranges::sort(ids);
  return ids;
}

template <int D>
void BlockLayout<D>::add_strip(const CellBox& box, Time time) {
  constexpr std::int64_t kPerRound = 3;
  add_block(box);
  BlockShape<D>& strip = blocks_.back();
  if (time.period <= kPerRound) {
    strip.n_versions = time.window;
    return;
  }
  strip.period = time.period;
  strip.per_round = kPerRound;
  // As many as begin in a window, and the one that was under way.
  strip.n_versions = kPerRound * ((time.window + time.period - 1) / time.period + 1);
}

template <int D>
void BlockLayout<D>::add_block(const CellBox& box) {
  BlockShape<D> block;
  block.box = box;
  block.grown = box.grown(radius_);
  // Rows of cells start on a cache line, for values of 4 bytes and more, where they are long; and
  // not a multiple of 512 cells apart, where they would share sets of the first-level cache.
  constexpr std::int64_t kLine = 16;
  constexpr std::int64_t kLongRow = 64;
  const std::int64_t width = block.grown.width(0);
  if (width >= kLongRow) block.lead = (kLine - radius_ % kLine) % kLine;
  const std::int64_t unit = width >= kLongRow ? kLine : 8;
  block.row = (width + unit - 1) / unit * unit;
  if (block.row % 512 == 0) block.row += unit;
  block.plane = block.row * (D > 1 ? block.grown.width(D > 1 ? 1 : 0) : 1);
  block.n_cells = block.plane * (D > 2 ? block.grown.width(D > 2 ? 2 : 0) : 1);
  if (block.lead > 0) block.n_cells += kLine;
  blocks_.push_back(block);
}

template <int D>
std::vector<Piece<D>> BlockLayout<D>::locate(const BoxSet<std::int64_t, D>& set) const {
  std::vector<Piece<D>> pieces;
  for (const CellBox& box : set.boxes()) {
    for (const auto& shift : shifts_) {
      const CellBox image = box.moved(shift);
      for (const std::uint32_t i : found(boxes_, image))
        pieces.push_back({i, image.intersect(blocks_[i].box), shift});
    }
  }
  return pieces;
}

template <int D>
std::vector<Export<D>> BlockLayout<D>::exports(const Piece<D>& piece) const {
  std::vector<Export<D>> result;
  const CellBox world = piece.in_world();
  for (const auto& shift : shifts_) {
    for (const std::uint32_t i : found(grown_, world.moved(shift))) {
      const CellBox shown = world.moved(shift).intersect(blocks_[i].grown);
      std::vector<CellBox> margins;
      subtract(shown, blocks_[i].box, margins);
      for (const CellBox& margin : margins) {
        std::array<std::int64_t, D> back{};
        for (std::size_t d = 0; d < D; ++d)
          back[d] = piece.shift[d] - shift[d];
        result.push_back({piece.block, i, margin.moved(back), margin.low});
      }
    }
  }
  return result;
}

template class BlockLayout<1>;
template class BlockLayout<2>;
template class BlockLayout<3>;

}  // namespace rubato::tick

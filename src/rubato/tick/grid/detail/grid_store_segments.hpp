#pragma once
// The members of GridStore (grid/grid_store.hpp) that hand a state over from one segment of a run
// to the next.

#include <cstring>
#include <span>
#include <vector>

#include "rubato/tick/grid/grid_store.hpp"

namespace rubato::tick {

// The number of boxes, then each with its cells, field by field, the fixed ones last.
template <GridUser U>
void GridStore<U>::save(RegionId region, Tick t, const Query& query, Writer& out) const {
  std::vector<Piece<kD>> parts;
  std::size_t n_bytes = sizeof(std::uint32_t);
  for (const Piece<kD>& piece : regions_[region].pieces) {
    for (const CellBox& box : query.boxes()) {
      const CellBox part = box.moved(piece.shift).intersect(piece.box);
      if (part.empty()) continue;
      parts.push_back({piece.block, part, piece.shift});
      n_bytes += sizeof(CellBox) + static_cast<std::size_t>(part.volume() * Model::kCellBytes);
    }
  }
  out.reserve(out.size() + n_bytes);
  out.put(static_cast<std::uint32_t>(parts.size()));
  for (const Piece<kD>& part : parts) {
    const Block& block = blocks_[part.block];
    out.put(part.in_world());
    for (std::size_t f = 0; f < Model::kValues; ++f) {
      const Value* from = f < U::kFields ? values(block, t, f) : fixed(block, f - U::kFields);
      tick::for_each_row(part.box, [&](const Index<kD>& at, std::int64_t n) {
        out.append(from + block.shape.offset(at), static_cast<std::size_t>(n) * sizeof(Value));
      });
    }
  }
}

// Of replicas the fixed fields are there already, and may be read right now.
template <GridUser U>
void GridStore<U>::begin(RegionId region, std::span<const ByteView> fragments) {
  const Region& all = regions_[region];
  const bool is_own = typed_.plan.regions[region].own();
  std::int64_t missing = 0;
  for (const Piece<kD>& piece : all.pieces)
    missing += piece.box.volume();
  for (const ByteView fragment : fragments) {
    Reader reader(fragment);
    const auto n_boxes = reader.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < n_boxes; ++i) {
      const auto box = reader.get<CellBox>();
      const ByteView data =
          reader.get_view(static_cast<std::size_t>(box.volume() * Model::kCellBytes));
      for (const Piece<kD>& piece : all.pieces)
        missing -= begin_piece(piece, {BlockShape<kD>::dense(box), data.data(), 0, begin_}, is_own);
    }
    RUBATO_ASSERT(reader.at_end(), region, begin_, reader.left());
  }
  RUBATO_ASSERT(missing == 0, region, begin_, missing);
  publish(all, begin_, Slice());
  if (is_own) publish_fixed(all);
}

// Puts the cells of the fragment that lie in the piece where they belong; returns how many.
template <GridUser U>
std::int64_t GridStore<U>::begin_piece(const Piece<kD>& piece, const Sent& fragment,
                                       bool has_fixed) {
  const Block& block = blocks_[piece.block];
  const CellBox part = fragment.shape.box.moved(piece.shift).intersect(piece.box);
  const BlockShape<kD> shape = block.shape;
  for (std::size_t f = 0; f < (has_fixed ? Model::kValues : U::kFields); ++f) {
    Value* to = f < U::kFields ? values(block, begin_, f) : fixed(block, f - U::kFields);
    tick::for_each_row(part, [&](const Index<kD>& at, std::int64_t n) {
      Index<kD> in_world = at;
      for (std::size_t d = 0; d < kD; ++d)
        in_world[d] -= piece.shift[d];
      std::memcpy(to + shape.offset(at), fragment.row(in_world, f),
                  static_cast<std::size_t>(n) * sizeof(Value));
    });
  }
  return part.volume();
}

}  // namespace rubato::tick

#pragma once
// The members of GridStore (grid/grid_store.hpp) that pack rounds and pieces, and take those that
// came.

#include <cstring>
#include <string>
#include <vector>

#include "rubato/tick/grid/grid_store.hpp"

namespace rubato::tick {

// Lays out the payloads for a neighbour.
template <GridUser U>
void GridStore<U>::add_packings(const BlockLayout<kD>& layout, std::uint32_t neighbour) {
  const Neighbour& to = typed_.plan.neighbours[neighbour];
  std::vector<Piece<kD>> pieces;
  if (to.receives) pieces = layout.locate(typed_.own.intersect(typed_.targets[neighbour]));
  first_channel_.push_back(static_cast<std::uint32_t>(empty_rounds_.size()));
  if (!typed_.plan.policy.pieces) {
    add_channel(pieces, 0, typed_.plan.n_own);
    return;
  }
  for (const RegionId source : to.sources) {
    std::vector<Piece<kD>> of_source;
    for (const auto& own : regions_[source].pieces) {
      for (Piece<kD> piece : pieces) {
        piece.box = piece.box.intersect(own.box);
        if (piece.block == own.block && !piece.box.empty()) of_source.push_back(piece);
      }
    }
    add_channel(of_source, source, source + 1);
  }
}

// One payload: the number of boxes, then each with its cells, field by field, made by the regions
// from first up to last.
template <GridUser U>
void GridStore<U>::add_channel(const std::vector<Piece<kD>>& pieces, RegionId first,
                               RegionId last) {
  const auto channel = static_cast<std::uint32_t>(empty_rounds_.size());
  Writer round;
  round.put(static_cast<std::uint32_t>(pieces.size()));
  for (const auto& piece : pieces) {
    round.put(piece.in_world());
    const Packing packing{
        channel,      piece.block,
        piece.box,    BlockShape<kD>::dense(piece.box),
        round.size(), static_cast<std::size_t>(piece.box.volume()) * sizeof(Value)};
    for (RegionId region = first; region < last; ++region)
      add_packing(regions_[region], packing);
    round.append_zeros(packing.field_bytes * U::kFields);
  }
  empty_rounds_.push_back(round.take());
}

// What of the cells of `packing` lies in the region.
template <GridUser U>
void GridStore<U>::add_packing(Region& region, Packing packing) {
  const CellBox all = packing.box;
  for (const auto& piece : region.pieces) {
    packing.box = piece.box.intersect(all);
    if (piece.block == packing.block && !packing.box.empty()) region.packings.push_back(packing);
  }
}

// The payload of round t, which the steps of several regions fill at once, each its own cells.
template <GridUser U>
std::byte* GridStore<U>::round_of(std::uint32_t channel, Tick t) {
  const std::lock_guard lock(rounds_mutex_);
  const auto [at, is_new] = rounds_.try_emplace({channel, t});
  if (is_new) {
    auto& used = used_rounds_[channel];
    if (used.empty()) {
      at->second = empty_rounds_[channel];
    } else {
      at->second = std::move(used.back());
      used.pop_back();
    }
  }
  return at->second.data();
}

template <GridUser U>
void GridStore<U>::pack_region(const Region& region, Tick t, const Slice& slice) {
  for (const Packing& packing : region.packings) {
    const CellBox box = slice.of(packing.box);
    if (box.empty()) continue;
    std::byte* const to = round_of(packing.channel, t) + packing.to_byte;
    const Block& block = blocks_[packing.block];
    for (std::size_t f = 0; f < U::kFields; ++f) {
      const Value* from = values(block, t, f);
      tick::for_each_row(box, [&](const Index<kD>& at, std::int64_t n) {
        const auto cell = static_cast<std::size_t>(packing.shape.offset(at));
        std::memcpy(to + f * packing.field_bytes + cell * sizeof(Value),
                    from + block.shape.offset(at), static_cast<std::size_t>(n) * sizeof(Value));
      });
    }
  }
}

template <GridUser U>
void GridStore<U>::pack(std::uint32_t neighbour, Tick t, Writer& out) {
  put_round(first_channel_[neighbour], t, out);
}

template <GridUser U>
void GridStore<U>::put_round(std::uint32_t channel, Tick t, Writer& out) {
  Bytes payload;
  {
    const std::lock_guard lock(rounds_mutex_);
    const auto at = rounds_.find({channel, t});
    if (at != rounds_.end()) payload = std::move(at->second);
    rounds_.erase({channel, t});
  }
  // A round may carry no cell at all.
  const Bytes& whole = payload.empty() ? empty_rounds_[channel] : payload;
  out.append(whole.data(), whole.size());
  if (payload.empty()) return;
  const std::lock_guard lock(rounds_mutex_);
  used_rounds_[channel].push_back(std::move(payload));
}

template <GridUser U>
void GridStore<U>::unpack(std::uint32_t neighbour, Tick t, ByteView payload,
                          std::span<const std::uint8_t> fresh) {
  take_round(neighbour, t, payload, typed_.plan.neighbours[neighbour].regions, fresh);
}

template <GridUser U>
void GridStore<U>::unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t,
                                ByteView payload) {
  const auto regions = typed_.plan.neighbours[neighbour].pieces[i];
  take_round(neighbour, t, payload, regions, std::vector<std::uint8_t>(regions.size(), 1));
}

template <GridUser U>
void GridStore<U>::take_round(std::uint32_t neighbour, Tick t, ByteView payload,
                              std::span<const RegionId> regions,
                              std::span<const std::uint8_t> fresh) {
  Reader reader(payload);
  const auto n_boxes = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < n_boxes; ++i) {
    const auto box = reader.get<CellBox>();
    const auto n_values = static_cast<std::size_t>(box.volume()) * U::kFields;
    const ByteView data = reader.get_view(n_values * sizeof(Value));
    take_box({BlockShape<kD>::dense(box), data.data(), neighbour, t}, regions, fresh);
  }
  RUBATO_ASSERT(reader.at_end(), neighbour, t, reader.left());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (fresh[i] != 0) publish(regions_[regions[i]], t, Slice());
  }
}

// Puts the cells where they belong, or compares them with what was computed here.
template <GridUser U>
void GridStore<U>::take_box(const Sent& sent, std::span<const RegionId> regions,
                            std::span<const std::uint8_t> fresh) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    for (const auto& piece : regions_[regions[i]].pieces) {
      take_piece(piece, sent, fresh[i] != 0);
    }
  }
}

template <GridUser U>
void GridStore<U>::take_piece(const Piece<kD>& piece, const Sent& sent, bool is_fresh) {
  const Block& block = blocks_[piece.block];
  tick::for_each_row(sent.shape.box.intersect(piece.in_world()),
                     [&](const Index<kD>& at, std::int64_t n) {
                       Index<kD> here = at;
                       for (std::size_t d = 0; d < kD; ++d)
                         here[d] += piece.shift[d];
                       const auto n_bytes = static_cast<std::size_t>(n) * sizeof(Value);
                       for (std::size_t f = 0; f < U::kFields; ++f) {
                         Value* to = values(block, sent.t, f) + block.shape.offset(here);
                         if (is_fresh) {
                           std::memcpy(to, sent.row(at, f), n_bytes);
                           // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are
                           // compared
                         } else if (std::memcmp(to, sent.row(at, f), n_bytes) != 0) {
                           refuse(sent, at, f, to);
                         }
                       }
                     });
}

// The row of cells from `at` on is `here`, and another one was sent.
template <GridUser U>
void GridStore<U>::refuse(const Sent& sent, Index<kD> at, std::size_t field,
                          const Value* here) const {
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  while (std::memcmp(here, sent.row(at, field), sizeof(Value)) == 0) {
    ++here;
    ++at[0];
  }
  Value there{};
  std::memcpy(&there, sent.row(at, field), sizeof there);
  std::string where;
  for (const std::int64_t i : at)
    where += (where.empty() ? "" : ", ") + std::to_string(i);
  throw Error("cell (" + where + "), field " + std::to_string(field) + ", tick " +
                  std::to_string(sent.t) + ": recomputed here as " + std::to_string(*here) +
                  ", node " + std::to_string(typed_.plan.neighbours[sent.neighbour].node) +
                  " has " + std::to_string(there) +
                  ": the step is not deterministic or depends on how rows are cut",
              ExitCode::failed);
}

}  // namespace rubato::tick

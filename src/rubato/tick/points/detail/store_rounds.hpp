#pragma once
// The members of PointsStore (points/points_store.hpp) that pack rounds, and take those that came.

#include <algorithm>
#include <cstring>

#include "rubato/tick/points/points_store.hpp"

namespace rubato::tick {

template <points::PointsUser U>
void PointsStore<U>::pack(std::uint32_t neighbour, Tick t, Writer& out) {
  pack_cells(packing_[neighbour], typed_.targets[neighbour], t, out);
  for (const RegionId source : typed_.plan.neighbours[neighbour].sources)
    read_once(source, t);
}

template <points::PointsUser U>
void PointsStore<U>::pack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, Writer& out) {
  pack_cells(piece_packing_[neighbour][i], typed_.targets[neighbour], t, out);
  read_once(typed_.plan.neighbours[neighbour].sources[i], t);
}

template <points::PointsUser U>
void PointsStore<U>::pack_cells(const std::vector<PackCell>& entries, const Query& target, Tick t,
                                Writer& out) const {
  const auto& lattice = model_.lattice();
  std::vector<const Tuple*> round;
  for (std::size_t i = 0; i < entries.size();) {
    const std::size_t begin = round.size();
    const std::int64_t cell = entries[i].cell;
    int n_sources = 0;
    for (; i < entries.size() && entries[i].cell == cell; ++i) {
      const auto tuples = at(entries[i].source, t).cell(entries[i].local);
      n_sources += tuples.empty() ? 0 : 1;
      for (const Tuple& tuple : tuples) {
        if (entries[i].whole || target.contains(lattice.unit(tuple.position)))
          round.push_back(&tuple);
      }
    }
    if (n_sources > 1) {
      std::sort(round.begin() + static_cast<std::ptrdiff_t>(begin), round.end(),
                [](const Tuple* a, const Tuple* b) { return a->id < b->id; });
    }
  }
  out.reserve(out.size() + sizeof(std::uint64_t) + round.size() * sizeof(Tuple));
  out.put(static_cast<std::uint64_t>(round.size()));
  for (const Tuple* tuple : round)
    out.put(*tuple);
}

template <points::PointsUser U>
void PointsStore<U>::read_round(ByteView payload, Sorted& round) const {
  Reader reader(payload);
  const auto n = reader.get<std::uint64_t>();
  if (n != reader.left() / sizeof(Tuple) || reader.left() % sizeof(Tuple) != 0) {
    throw Error("a round of " + std::to_string(reader.left()) + " bytes says that it has " +
                    std::to_string(n) + " tuples of " + std::to_string(sizeof(Tuple)) + " bytes",
                ExitCode::failed);
  }
  round.tuples.resize(static_cast<std::size_t>(n));
  reader.get_span(std::span<Tuple>(round.tuples));
  round.cells.resize(round.tuples.size());
  for (std::size_t i = 0; i < round.tuples.size(); ++i) {
    const Tuple& tuple = round.tuples[i];
    if (!model_.lattice().contains(tuple.position)) throw model_.outside(tuple, "round");
    round.cells[i] = model_.lattice().cell_number(tuple.position);
    const bool ascends = i == 0 || std::pair(round.cells[i - 1], round.tuples[i - 1].id) <
                                       std::pair(round.cells[i], tuple.id);
    if (!ascends) {
      throw Error("a round is not in the order of cells and ids at tuple " +
                      std::to_string(tuple.id) + ": the nodes differ in model or configuration",
                  ExitCode::failed);
    }
  }
}

template <points::PointsUser U>
void PointsStore<U>::unpack(std::uint32_t neighbour, Tick t, ByteView payload,
                            std::span<const std::uint8_t> fresh) {
  std::unique_ptr<Sorted> round = take_spare_round();
  read_round(payload, *round);
  const auto& regions = typed_.plan.neighbours[neighbour].regions;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    // A region gets all that it may have produced; the borders of reaches overlap, and who reads
    // two of them counts equal ids once.
    const Place& place = places_[regions[i]];
    if (fresh[i] != 0) {
      cut_out(*round, place, place.reach, make(regions[i], t));
    } else {
      compare(regions[i], t, neighbour, *round);
    }
  }
  const std::lock_guard lock(mutex_);
  spare_rounds_.push_back(std::move(round));
}

template <points::PointsUser U>
void PointsStore<U>::unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t,
                                  ByteView payload) {
  std::unique_ptr<Sorted> round = take_spare_round();
  read_round(payload, *round);
  for (const RegionId region : typed_.plan.neighbours[neighbour].pieces[i]) {
    const Place& place = places_[region];
    cut_out(*round, place, place.reach, make(region, t));
  }
  const std::lock_guard lock(mutex_);
  spare_rounds_.push_back(std::move(round));
}

template <points::PointsUser U>
std::unique_ptr<typename PointsStore<U>::Sorted> PointsStore<U>::take_spare_round() {
  const std::lock_guard lock(mutex_);
  if (spare_rounds_.empty()) return std::make_unique<Sorted>();
  std::unique_ptr<Sorted> round = std::move(spare_rounds_.back());
  spare_rounds_.pop_back();
  return round;
}

// Whether a box that may reach over the world's edge contains a unit of the world.
template <points::PointsUser U>
bool PointsStore<U>::within(const Box& box, const points::Index<kD>& unit,
                            const points::Lattice<typename U::Scalar, kD>& lattice) {
  for (std::size_t d = 0; d < kD; ++d) {
    std::int64_t way = unit[d] - box.low[d];
    if (lattice.periodic(d)) {
      const std::int64_t n = lattice.n_units(d);
      way += way < 0 ? n : way >= n ? -n : 0;
    }
    if (way < 0 || way >= box.width(d)) return false;
  }
  return true;
}

// Makes a version of a place from those of the tuples that lie in `box`.
template <points::PointsUser U>
void PointsStore<U>::cut_out(const Sorted& from, const Place& place, const Box& box,
                             Table& to) const {
  const auto& lattice = model_.lattice();
  const auto& window = place.window;
  to.clear();
  points::detail::for_each_row<kD>(window.size, [&](const points::Index<kD>& at) {
    std::int64_t row = 0;
    for (std::size_t d = kD; d-- > 1;)
      row = row * lattice.n_cells()[d] + (window.low[d] + at[d]) % lattice.n_cells()[d];
    row *= lattice.n_cells()[0];
    std::size_t i = from.first(row + window.low[0]);
    for (std::int64_t x = 0; x < window.size[0]; ++x) {
      const std::int64_t wrapped = (window.low[0] + x) % lattice.n_cells()[0];
      if (x != 0 && wrapped == 0) i = from.first(row);
      for (; i < from.tuples.size() && from.cells[i] == row + wrapped; ++i) {
        if (within(box, lattice.unit(from.tuples[i].position), lattice)) to.add(from.tuples[i]);
      }
      to.end_cell();
    }
  });
}

// What was computed here must be in the round, bit for bit.
template <points::PointsUser U>
void PointsStore<U>::compare(RegionId region, Tick t, std::uint32_t neighbour,
                             const Sorted& round) const {
  const Table& table = at(region, t);
  const auto& lattice = model_.lattice();
  for (std::size_t c = 0; c + 1 < table.n_starts(); ++c) {
    const auto here = table.cell(c);
    if (here.empty()) continue;
    compare_cell(here, round.first(lattice.cell_number(here.front().position)), round, t,
                 neighbour);
  }
}

template <points::PointsUser U>
void PointsStore<U>::compare_cell(std::span<const Tuple> here, std::size_t at, const Sorted& round,
                                  Tick t, std::uint32_t neighbour) const {
  const auto& lattice = model_.lattice();
  const std::int64_t cell = lattice.cell_number(here.front().position);
  for (const Tuple& tuple : here) {
    while (at < round.tuples.size() && round.cells[at] == cell && round.tuples[at].id < tuple.id)
      ++at;
    const bool found = at < round.tuples.size() && round.cells[at] == cell &&
                       // Bits are compared: NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
                       std::memcmp(&round.tuples[at], &tuple, sizeof tuple) == 0;
    // What lies beyond that which is held here was not sent.
    if (found || !typed_.held.contains(lattice.unit(tuple.position))) continue;
    throw Error("round " + std::to_string(t) + " from node " +
                    std::to_string(typed_.plan.neighbours[neighbour].node) + " differs at tuple " +
                    std::to_string(tuple.id) +
                    " from what was recomputed here: step is not deterministic",
                ExitCode::failed);
  }
}

}  // namespace rubato::tick

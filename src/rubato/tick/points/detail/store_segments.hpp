#pragma once
// The members of PointsStore (points/points_store.hpp) that hand a state over from one segment of a
// run to the next.

#include <algorithm>

#include "rubato/tick/points/points_store.hpp"

namespace rubato::tick {

template <points::PointsUser U>
void PointsStore<U>::save(RegionId region, Tick t, const Query& query, Writer& out) const {
  const auto& lattice = model_.lattice();
  // Few of the query's boxes are near.
  const Query reach = lattice.space().inside(places_[region].reach);
  const Query near = query.intersect(reach);
  const bool whole = reach.minus(near).empty();
  State state;
  for (const Tuple& tuple : at(region, t).all()) {
    if (whole || near.contains(lattice.unit(tuple.position))) state.push_back(tuple);
  }
  std::ranges::sort(state, {}, &Tuple::id);
  model_.write(out, state);
}

template <points::PointsUser U>
void PointsStore<U>::begin(RegionId region, std::span<const ByteView> fragments) {
  const auto& lattice = model_.lattice();
  const Place& place = places_[region];
  struct Placed {
    std::int64_t cell;
    Tuple tuple;
  };
  std::vector<Placed> placed;
  for (const ByteView fragment : fragments) {
    Reader reader(fragment);
    for (const Tuple& tuple : model_.read(reader)) {
      if (!lattice.contains(tuple.position)) throw model_.outside(tuple, "a moved piece");
      if (within(place.around.box, lattice.unit(tuple.position), lattice))
        placed.push_back({lattice.cell_number(tuple.position), tuple});
    }
  }
  std::ranges::sort(placed, {},
                    [](const Placed& each) { return std::pair(each.cell, each.tuple.id); });
  Sorted sorted;
  for (const Placed& each : placed) {
    sorted.cells.push_back(each.cell);
    sorted.tuples.push_back(each.tuple);
  }
  cut_out(sorted, place, place.around.box, make(region, begin_));
}

}  // namespace rubato::tick

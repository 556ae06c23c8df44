#pragma once
// The members of PointsStore (points/points_store.hpp) by which another node steps a region: what a
// step reads, cell by cell, and what came of it.

#include <vector>

#include "rubato/tick/points/points_store.hpp"

namespace rubato::tick {

template <points::PointsUser U>
bool PointsStore<U>::step_or_lend(RegionId region, Tick t, std::uint32_t core, Nanos least,
                                  Writer& out) {
  Scratch& work = scratch(core);
  collect(work, region, t);
  const auto cost = static_cast<Nanos>(costs_.pair * work.gather.n_pairs());
  const bool begun = !ahead_.empty() && ahead_[region].tick == t;
  if (cost < least || begun) {
    step_collected(work, region, t);
    return false;
  }
  const auto& around = places_[region].around;
  out.put(t);
  out.put(around.box);
  out.put(around.window.low);
  out.put(around.window.size);
  std::vector<std::uint32_t> starts{0};
  State tuples;
  work.gather.for_each_cell([&](std::span<const Tuple* const> cell) {
    for (const Tuple* tuple : cell) {
      if (tuple != nullptr) tuples.push_back(*tuple);
    }
    starts.push_back(static_cast<std::uint32_t>(tuples.size()));
  });
  out.put_vector(starts);
  out.put_vector(tuples);
  return true;
}

template <points::PointsUser U>
Nanos PointsStore<U>::step_lent(ByteView lent, std::uint32_t core, Writer& out) {
  Reader in(lent);
  const auto t = in.get<Tick>();
  points::detail::Surroundings<kD> around;
  around.box = in.get<Box>();
  around.window.low = in.get<points::Index<kD>>();
  around.window.size = in.get<points::Index<kD>>();
  const auto starts = in.get_vector<std::uint32_t>();
  const auto tuples = in.get_vector<Tuple>();
  around.patches.push_back({0, {}, {}, around.window.size});
  Table table;
  table.clear();
  for (std::size_t c = 0; c + 1 < starts.size(); ++c) {
    for (std::size_t i = starts[c]; i < starts[c + 1]; ++i)
      table.add(tuples[i]);
    table.end_cell();
  }
  Scratch& work = scratch(core);
  work.gather.collect(around, [&](RegionId) {
    return std::pair<const Table*, const points::detail::CellWindow<kD>*>(&table, &around.window);
  });
  const Nanos cost = look_and_step(work, t, [](std::size_t) { return true; });
  out.put_vector(work.stepper.results());
  return cost;
}

template <points::PointsUser U>
void PointsStore<U>::drop_versions() {
  const std::lock_guard lock(mutex_);
  for (auto& version : versions_)
    version = nullptr;
  for (auto& table : spare_)
    table = nullptr;
  ahead_.clear();
  spare_rounds_.clear();
}

template <points::PointsUser U>
void PointsStore<U>::take_back(RegionId region, Tick t, ByteView result, std::uint32_t core) {
  Scratch& work = scratch(core);
  Reader in(result);
  work.stepper.results() = in.get_vector<Tuple>();
  place_results(work, region, t);
}

}  // namespace rubato::tick

#pragma once
// The asynchronous part of PointsStore (points/points_store.hpp): tuples that see all that they
// will ever see of a tick, though other tuples of their region do not yet.

#include <algorithm>
#include <vector>

#include "rubato/tick/points/points_store.hpp"

namespace rubato::tick {

// Of the cells of a region's surroundings, 1 for those into which an input that is not present may
// have brought a tuple.
template <points::PointsUser U>
std::vector<std::uint8_t> PointsStore<U>::hidden_cells(RegionId region,
                                                       std::span<const RegionId> present) const {
  const auto& around = places_[region].around;
  std::vector<std::uint8_t> hidden(static_cast<std::size_t>(around.window.n_cells()), 0);
  for (const auto& patch : around.patches) {
    if (std::ranges::find(present, patch.source) != present.end()) continue;
    points::detail::for_each_row<kD>(patch.size, [&](points::Index<kD> at) {
      for (std::size_t d = 0; d < kD; ++d)
        at[d] += patch.to[d];
      const auto first = hidden.begin() + around.window.number(at);
      std::fill(first, first + patch.size[0], std::uint8_t{1});
    });
  }
  return hidden;
}

// Small pieces may see all of their neighbours from each of their cells.
template <points::PointsUser U>
void PointsStore<U>::find_open_regions() {
  ahead_.resize(places_.size());
  Scratch& work = scratch(0);
  for (RegionId region = 0; region < typed_.plan.n_own; ++region) {
    const auto inputs = typed_.plan.inputs[region];
    const Place& place = places_[region];
    const std::vector<std::uint8_t> none(static_cast<std::size_t>(place.around.window.n_cells()),
                                         0);
    // What is open with more of them missing is so with one.
    ahead_[region].may = std::ranges::any_of(inputs, [&](RegionId missing) {
      std::vector<RegionId> present;
      std::ranges::copy_if(inputs, std::back_inserter(present),
                           [&](RegionId input) { return input != missing; });
      std::vector<std::uint8_t> now = none;
      return missing != region &&
             work.gather.mark_open(place.around, hidden_cells(region, present), none, now) > 0;
    });
  }
}

template <points::PointsUser U>
bool PointsStore<U>::interact(RegionId region, Tick t, std::span<const RegionId> present,
                              std::uint32_t core) {
  Ahead& ahead = ahead_[region];
  const Place& place = places_[region];
  const auto& window = place.around.window;
  if (ahead.tick != t) {
    ahead.tick = t;
    ahead.done.assign(static_cast<std::size_t>(window.n_cells()), 0);
    ahead.results.clear();
  }
  const std::vector<std::uint8_t> hidden = hidden_cells(region, present);
  Scratch& work = scratch(core);
  // Cells that can be taken now: none of their block is hidden.
  std::vector<std::uint8_t> now(hidden.size(), 0);
  const std::size_t n_now = work.gather.mark_open(place.around, hidden, ahead.done, now);
  ahead.cost = static_cast<Nanos>(costs_.unit);
  if (n_now == 0) return false;
  work.gather.collect(place.around, [&](RegionId source) {
    const bool here = std::ranges::find(present, source) != present.end();
    return std::pair<const Table*, const points::detail::CellWindow<kD>*>(
        here ? &at(source, t) : nullptr, &places_[source].window);
  });
  ahead.cost = look_and_step(work, t, [&](std::size_t cell) { return now[cell] != 0; });
  const std::vector<Tuple>& results = work.stepper.results();
  ahead.results.insert(ahead.results.end(), results.begin(), results.end());
  for (std::size_t cell = 0; cell < now.size(); ++cell)
    ahead.done[cell] |= now[cell];
  return true;
}

}  // namespace rubato::tick

#pragma once
// The asynchronous part of GraphStore (graph/graph_store.hpp): edges in their order, up to the first
// whose source has not come. Whole vertices, and of a step in parts (GraphHasInteract) those that some
// edges are missing of, too: their sums wait in `ahead_`, and what came before its turn in its version.

#include <span>
#include <vector>

#include "rubato/tick/graph/graph_store.hpp"

namespace rubato::tick {

template <GraphUser U>
bool GraphStore<U>::interact(RegionId region, Tick t, std::span<const RegionId> present,
                             std::uint32_t /*core*/) {
  Ahead& ahead = ahead_[region];
  const std::size_t begin = begins_[region];
  const std::size_t n = begins_[region + std::size_t{1}] - begin;
  if (ahead.tick != t) start_ahead(region, t);
  std::vector<std::uint8_t> is_here(typed_.regions.size(), 0);
  for (const RegionId input : present)
    is_here[input] = 1;
  const std::size_t n_before = ahead.n_vertices;
  const std::size_t n_edges = ahead.n_edges;
  for (std::size_t i = 0; i < n; ++i) {
    if (ahead.taken[i] == kAll) continue;
    const std::uint32_t n_here = edges_here(begin + i, ahead.taken[i], is_here);
    if (n_here < in_begins_[begin + i + 1] - in_begins_[begin + i]) {
      take_part(region, t, i, n_here);
      continue;
    }
    if (ahead.n_vertices == 0) make(region, t + 1);
    ++ahead.n_vertices;
    ahead.n_edges += n_here - ahead.taken[i];
    step_from(places_of_step(region, t), region, i, t);
    ahead.taken[i] = kAll;
  }
  ahead.cost = cost_of(ahead.n_vertices - n_before, ahead.n_edges - n_edges);
  return ahead.n_vertices > n_before || ahead.n_edges > n_edges;
}

template <GraphUser U>
void GraphStore<U>::start_ahead(RegionId region, Tick t) {
  const std::size_t n = begins_[region + std::size_t{1}] - begins_[region];
  Ahead& ahead = ahead_[region];
  RUBATO_ASSERT(ahead.taken.empty(), region, ahead.tick, t);
  ahead = {t, std::vector<std::uint32_t>(n, 0), {}, 0, 0, 0};
  if constexpr (GraphHasInteract<U>) ahead.sums.resize(n);
  bytes_ahead_ += bytes_of(ahead);
}

template <GraphUser U>
std::uint32_t GraphStore<U>::edges_here(std::size_t slot, std::uint32_t n,
                                        const std::vector<std::uint8_t>& is_here) const {
  std::size_t e = in_begins_[slot] + n;
  while (e < in_begins_[slot + 1] && is_here[region_of_[in_slots_[e]]] != 0)
    ++e;
  return static_cast<std::uint32_t>(e - in_begins_[slot]);
}

template <GraphUser U>
void GraphStore<U>::take_part(RegionId region, Tick t, std::size_t i, std::uint32_t n_here) {
  if constexpr (GraphHasInteract<U>) {
    Ahead& ahead = ahead_[region];
    if (n_here == ahead.taken[i]) return;
    const std::size_t slot = begins_[region] + i;
    const StepPlaces at = places_of_step(region, t);
    if (ahead.taken[i] == 0) ahead.sums[i] = model_.user().begin(vertices_[slot], at.before[i], t);
    detail::take_edges(model_.user(), ahead.sums[i], in_edges(at, slot), ahead.taken[i], n_here, t);
    ahead.n_edges += n_here - ahead.taken[i];
    ahead.taken[i] = n_here;
  }
}

template <GraphUser U>
void GraphStore<U>::step_from(const StepPlaces& at, RegionId region, std::size_t i, Tick t) {
  const std::size_t slot = begins_[region] + i;
  if constexpr (GraphHasInteract<U>) {
    Ahead& ahead = ahead_[region];
    if (ahead.taken[i] > 0) {
      const InEdges<Value> in = in_edges(at, slot);
      detail::take_edges(model_.user(), ahead.sums[i], in, ahead.taken[i], in.size(), t);
      at.after[i] = model_.user().finish(vertices_[slot], at.before[i], ahead.sums[i], t);
      return;
    }
  }
  step_whole(at, region, slot, t);
}

template <GraphUser U>
void GraphStore<U>::step_rest(const StepPlaces& at, RegionId region, Tick t) {
  Ahead& ahead = ahead_[region];
  for (std::size_t i = 0; i < ahead.taken.size(); ++i) {
    if (ahead.taken[i] != kAll) step_from(at, region, i, t);
  }
  bytes_ahead_ -= bytes_of(ahead);
  std::vector<std::uint32_t>().swap(ahead.taken);
  std::vector<Sum>().swap(ahead.sums);
}

}  // namespace rubato::tick

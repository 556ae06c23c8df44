#pragma once
// The generated functions of GridModel (grid/grid_model.hpp).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "rubato/base/memory.hpp"
#include "rubato/tick/grid/grid_model.hpp"

namespace rubato::tick {

template <GridUser U>
auto GridModel<U>::init(const Query& q) const -> State {
  State state;
  std::vector<std::pair<std::int64_t, std::array<Value, kValues>>> cells;
  for (const CellBox& box : q.boxes()) {
    for (std::int64_t i = 0; i < box.volume(); ++i) {
      Index<kD> at{};
      std::int64_t rest = i;
      for (std::size_t d = 0; d < kD; ++d) {
        at[d] = box.low[d] + rest % box.width(d);
        rest /= box.width(d);
      }
      std::array<Value, kValues> values{};
      std::array<Value*, kValues + 1> out{};
      for (std::size_t f = 0; f < kValues; ++f)
        out[f] = &values[f];
      user_.init(at, 1, out.data(), out.data() + U::kFields);
      cells.emplace_back(id_of(at), values);
    }
  }
  std::ranges::sort(cells, {}, &std::pair<std::int64_t, std::array<Value, kValues>>::first);
  for (const auto& [id, values] : cells) {
    state.ids.push_back(id);
    state.values.insert(state.values.end(), values.begin(), values.end());
  }
  return state;
}

template <GridUser U>
void GridModel<U>::merge_samples(Samples& into, const Samples& from) const {
  into.insert(into.end(), from.begin(), from.end());
  std::ranges::sort(into, {}, &Load::node);
}

template <GridUser U>
auto GridModel<U>::part(std::uint32_t n, const Samples& loads) const -> std::vector<Query> {
  if (loads.size() != n) {
    throw Error("part(n, samples): expected the loads of " + std::to_string(n) + " nodes, found " +
                    std::to_string(loads.size()),
                ExitCode::failed);
  }
  std::vector<double> speeds;
  for (const Load& load : loads) {
    speeds.push_back(load.work / load.busy);
    if (!(speeds.back() > 0) || !std::isfinite(speeds.back())) return {};  // nothing was measured
  }
  const Load& slowest = *std::ranges::max_element(loads, {}, &Load::busy);
  if (slowest.busy < (1 - kWaiting) * slowest.passed) return {};
  const std::vector<std::int64_t> extent(space_.world.high.begin(), space_.world.high.end());
  const Index<kD> parts = wanted_parts(n);
  const std::vector<std::int64_t> factors = grid_factors(n, extent, {parts.begin(), parts.end()});
  const auto boxes = cut_by_weights<kD>(space_.world, factors, speeds,
                                        [this](const CellBox& box) { return work_of(box); });
  double then_slowest = 0;
  for (std::size_t i = 0; i < n; ++i)
    then_slowest = std::max(then_slowest, work_of(boxes[i]) / speeds[i]);
  if (slowest.busy < kWorthwhile * then_slowest) return {};
  return {boxes.begin(), boxes.end()};
}

template <GridUser U>
bool GridModel<U>::wrap(Index<kD>& at) const {
  for (std::size_t d = 0; d < kD; ++d) {
    const std::int64_t extent = space_.world.high[d];
    if (at[d] >= 0 && at[d] < extent) continue;
    if (!space_.periodic[d]) return false;
    at[d] = (at[d] % extent + extent) % extent;
  }
  return true;
}

template <GridUser U>
GridSpan<U> GridModel<U>::Surroundings::span() const {
  GridSpan<U> span;
  constexpr std::int64_t kR = U::kRadius;
  const std::int64_t centre = kR + (kD > 1 ? kR * kWidth : 0) + (kD > 2 ? kR * kWidth * kWidth : 0);
  for (std::size_t f = 0; f < kValues; ++f) {
    const Value* at = value[f].data() + centre;
    if (f < U::kFields) {
      span.field[f] = at;
    } else {
      span.fixed[f - U::kFields] = at;
    }
  }
  span.row = kWidth;
  span.plane = kWidth * kWidth;
  return span;
}

template <GridUser U>
auto GridModel<U>::around(const State& context, const Index<kD>& at) const -> Surroundings {
  Surroundings result;
  for (std::size_t i = 0; i < Surroundings::kCells; ++i) {
    Index<kD> where = at;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = 0; d < kD; ++d) {
      where[d] += rest % Surroundings::kWidth - U::kRadius;
      rest /= Surroundings::kWidth;
    }
    const bool inside = wrap(where);
    const auto found =
        inside ? std::ranges::lower_bound(context.ids, id_of(where)) : context.ids.end();
    const bool known = found != context.ids.end() && *found == id_of(where);
    for (std::size_t f = 0; f < kValues; ++f) {
      if (!inside) {
        result.value[f][i] = outside(static_cast<int>(f));
      } else if (known) {
        const auto index = static_cast<std::size_t>(found - context.ids.begin());
        result.value[f][i] = context.values[index * kValues + f];
      } else {
        // Beyond what the stencil may read from here; a kernel that reads it shows.
        result.value[f][i] = std::numeric_limits<Value>::has_quiet_NaN
                                 ? std::numeric_limits<Value>::quiet_NaN()
                                 : std::numeric_limits<Value>::max();
      }
    }
  }
  return result;
}

template <GridUser U>
auto GridModel<U>::step(const State& to_step, const State& context, Tick t) const -> State {
  State result;
  for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
    append(result, to_step, i);
    Value* values = result.values.data() + i * kValues;
    std::array<Value*, U::kFields> out{};
    for (std::size_t f = 0; f < U::kFields; ++f)
      out[f] = values + f;
    const Index<kD> at = index_of(to_step.ids[i]);
    const Surroundings surroundings = around(context, at);
    step_row(user_, surroundings.span(), out.data(), at, 1, t);
  }
  return result;
}

template <GridUser U>
GridSpan<U> GridModel<U>::span_of(const Value* values) {
  GridSpan<U> span;
  for (std::size_t f = 0; f < U::kFields; ++f)
    span.field[f] = values + f;
  for (std::size_t f = 0; f < U::kFixed; ++f)
    span.fixed[f] = values + U::kFields + f;
  return span;
}

template <GridUser U>
auto GridModel<U>::begun(const State& to_step, Tick t) const -> detail::GridContributions<U>
requires GridHasInteract<U> {
  detail::GridContributions<U> in;
  for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
    const GridSpan<U> own = span_of(&to_step.values[i * kValues]);
    in.sums.push_back(user_.begin({own, 0, index_of(to_step.ids[i]), t}));
  }
  in.n_taken.assign(to_step.ids.size(), 0);
  return in;
}

template <GridUser U>
void GridModel<U>::take_in_order(detail::GridContributions<U>& in, const State& to_step,
                                 std::size_t i, Tick t) const requires GridHasInteract<U> {
  const GridSpan<U> own_span = span_of(&to_step.values[i * kValues]);
  const GridCell<U> own(own_span, 0, index_of(to_step.ids[i]), t);
  for (;;) {
    const std::size_t k = in.n_taken[i];
    const auto turn = in.kept.find({i, k});
    if (turn == in.kept.end()) return;
    Index<kD> at = own.at();
    for (std::size_t d = 0; d < kD; ++d)
      at[d] += U::kStencil[k][d];
    const GridSpan<U> span = span_of(turn->second.data());
    user_.interact(in.sums[i], own, k, {span, 0, at, t});
    in.kept.erase(turn);
    ++in.n_taken[i];
  }
}

template <GridUser U>
void GridModel<U>::interact(detail::GridContributions<U>& in, const State& to_step,
                            const State& other, Tick t) const requires GridHasInteract<U> {
  if (in.sums.size() != to_step.ids.size()) in = begun(to_step, t);
  for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
    for (std::size_t k = in.n_taken[i]; k < U::kStencil.size(); ++k) {
      Index<kD> at = index_of(to_step.ids[i]);
      for (std::size_t d = 0; d < kD; ++d)
        at[d] += U::kStencil[k][d];
      typename detail::GridContributions<U>::Cell cell{};
      if (!wrap(at)) {
        for (std::size_t f = 0; f < kValues; ++f)
          cell[f] = outside(static_cast<int>(f));
      } else {
        const auto found = std::ranges::lower_bound(other.ids, id_of(at));
        if (found == other.ids.end() || *found != id_of(at)) continue;
        std::copy_n(&other.values[static_cast<std::size_t>(found - other.ids.begin()) * kValues],
                    kValues, cell.begin());
      }
      in.kept.emplace(std::pair(i, k), cell);
    }
    take_in_order(in, to_step, i, t);
  }
}

template <GridUser U>
auto GridModel<U>::finish(const State& to_step, const detail::GridContributions<U>& in,
                          Tick t) const -> State requires GridHasInteract<U> {
  const auto none = in.sums.empty() ? begun(to_step, t) : detail::GridContributions<U>{};
  const auto& came = in.sums.empty() ? none : in;
  State result;
  for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
    append(result, to_step, i);
    RUBATO_ASSERT(came.n_taken[i] == U::kStencil.size(), to_step.ids[i], came.n_taken[i], t);
    const GridSpan<U> own = span_of(&to_step.values[i * kValues]);
    std::array<Value*, U::kFields> out{};
    for (std::size_t f = 0; f < U::kFields; ++f)
      out[f] = &result.values[i * kValues + f];
    detail::put_values<U>(user_.finish({own, 0, index_of(to_step.ids[i]), t}, came.sums[i]),
                          out.data(), 0);
  }
  return result;
}

template <GridUser U>
auto GridModel<U>::measure(const State& before, const State& after) const
    -> Measure requires GridHasStop<U> {
  Measure sum{};
  for (std::size_t i = 0; i < before.ids.size(); ++i) {
    const Surroundings surroundings = around(before, index_of(before.ids[i]));
    std::array<const Value*, U::kFields> next{};
    for (std::size_t f = 0; f < U::kFields; ++f)
      next[f] = &after.values[i * kValues + f];
    Measure one{};
    user_.measure(one, surroundings.span(), next.data(), 1);
    user_.combine(sum, one);
  }
  return sum;
}

template <GridUser U>
auto GridModel<U>::select(const State& state, const Query& q) const -> State {
  State result;
  for (std::size_t i = 0; i < state.ids.size(); ++i) {
    if (q.contains(index_of(state.ids[i]))) append(result, state, i);
  }
  return result;
}

template <GridUser U>
auto GridModel<U>::difference(const State& a, const State& b) const -> State {
  State result;
  for (std::size_t i = 0; i < a.ids.size(); ++i) {
    if (!std::ranges::binary_search(b.ids, a.ids[i])) append(result, a, i);
  }
  return result;
}

template <GridUser U>
void GridModel<U>::merge(State& into, const State& from) const {
  State result;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < into.ids.size() || j < from.ids.size()) {
    const bool take_into =
        j == from.ids.size() || (i < into.ids.size() && into.ids[i] <= from.ids[j]);
    if (take_into) {
      if (j < from.ids.size() && from.ids[j] == into.ids[i]) ++j;
      append(result, into, i++);
    } else {
      append(result, from, j++);
    }
  }
  into = std::move(result);
}

template <GridUser U>
auto GridModel<U>::shrunk_where_neighbours(const CellBox& own, std::int64_t by) const -> CellBox {
  CellBox inner = own;
  for (std::size_t d = 0; d < kD; ++d) {
    const std::int64_t extent = space_.world.high[d];
    const bool whole = own.width(d) == extent;
    if (!whole && (space_.periodic[d] || own.low[d] > 0)) inner.low[d] += by;
    if (!whole && (space_.periodic[d] || own.high[d] < extent)) inner.high[d] -= by;
  }
  return inner;
}

template <GridUser U>
auto GridModel<U>::without_border(const Query& own) const -> Query {
  if (own.boxes().size() == 1)
    return Query(shrunk_where_neighbours(own.boxes().front(), U::kRadius));
  return Query::of_disjoint(space_.shrunk(own, U::kRadius).boxes());
}

template <GridUser U>
auto GridModel<U>::join(std::span<const Query> queries) const -> Query {
  std::vector<CellBox> boxes;
  for (const Query& query : queries)
    boxes.insert(boxes.end(), query.boxes().begin(), query.boxes().end());
  return Query::of_disjoint(std::move(boxes));
}

template <GridUser U>
Tick GridModel<U>::skew(const Query& own, const Policy& policy) const {
  if (own.volume() == space_.world.volume()) return wavefront().n_ticks;
  constexpr std::int64_t kCellsInCache = (1 << 20) / (2 * kCellBytes);
  if (tile_cells_ > 0) return skew_;
  if (own.volume() < kCellsInCache) return 1;
  return std::min<Tick>(policy.depth + 1, kSkew);
}

// A node alone, whose plan no other has to know, goes by its own processor (as does the virtual time of
// one node). The tiles of a wavefront, as many as it has ticks, should fit into the caches: a large
// second-level cache has both versions of all tiles in half of it, which is about twice as fast as what
// follows; else they have some rows each, so that a row is read again soon from a small one. Rows too
// long for that are cut into slices, of which a quarter of that cache, or of a mebibyte, has both
// versions; and where a world without edges cannot be, such a large cache has whole rows of fewer ticks.
template <GridUser U>
auto GridModel<U>::wavefront() const -> Wavefront {
  if (alone_.tile_cells > 0) return alone_;
  constexpr std::int64_t kLarge = 1 << 21;
  const auto second_level = static_cast<std::int64_t>(second_level_cache());
  const std::int64_t cache_bytes = second_level >= kLarge ? second_level / 4 : 3 << 19;
  Wavefront result;
  result.tile_cells = cache_bytes / (kSkew * kCellBytes);
  const CellBox& world = space_.world;
  const std::int64_t slab = world.volume() / world.width(kD - 1);
  if (slab <= result.tile_cells) return result;
  if (space_.periodic[kAcross]) {
    constexpr Tick kFewest = 4;
    const Tick n_ticks = cache_bytes / (slab * kCellBytes);
    if (second_level >= kLarge && n_ticks >= kFewest) result.n_ticks = std::min(n_ticks, kSkew);
    return result;
  }
  result.slices = slices_of(space_.world, result.n_ticks);
  // What lies between the slices of the first and the last tick has to stay there as well.
  constexpr std::int64_t kSlicesMost = 3;
  while (result.slices.size > 0 && result.n_ticks > 3 &&
         result.n_ticks * kSliceShift > kSlicesMost * result.slices.size) {
    result.n_ticks /= 2;
    result.slices = slices_of(space_.world, result.n_ticks);
  }
  return result;
}

// None where there are too few rows, or planes, for some jobs of such a block.
template <GridUser U>
auto GridModel<U>::slices_of(const CellBox& box, Tick n_ticks) const -> Slices {
  constexpr std::int64_t kAbreastMost = 16;
  constexpr std::int64_t kJobs = 16;  // of a block, at least
  const std::int64_t n_abreast = std::min(box.width(kD - 1) / kJobs, kAbreastMost);
  if (n_abreast < 2 || space_.periodic[kAcross]) return {};
  constexpr std::int64_t kLeast = 1
                                  << 20;  // of a second-level cache, if nobody says how large it is
  const auto second_level = static_cast<std::int64_t>(second_level_cache());
  const std::int64_t row_bytes = box.volume() / box.width(kD - 1) / box.width(kAcross) * kCellBytes;
  const std::int64_t n = std::max(second_level, kLeast) / 8 / ((n_ticks + n_abreast) * row_bytes);
  constexpr std::int64_t kUnit = kAcross == 0 ? 64 : 1;
  return {static_cast<std::uint32_t>(n_abreast),
          std::max((n + kUnit - 1) / kUnit, std::int64_t{1}) * kUnit};
}

template <GridUser U>
auto GridModel<U>::slices(const Query& own, const Policy& policy) const -> Slices {
  if (tile_cells_ > 0 || alone_.tile_cells > 0) return alone_.slices;
  const Tick n_ticks = skew(own, policy);
  const CellBox& box = own.boxes().front();
  if (n_ticks == 1 || box.volume() / box.width(kD - 1) <= tile_cells_of(own, policy)) return {};
  return slices_of(box, n_ticks);
}

template <GridUser U>
auto GridModel<U>::wanted_parts(std::uint32_t n) const -> Index<kD> {
  Index<kD> parts = user_.shape().parts;
  if (n > 0 && parts == Index<kD>{} && space_.world.width(kD - 1) / n >= kSlab) {
    parts.fill(1);
    parts[kD - 1] = n;
  }
  return parts;
}

// Where a message may have to wait for the tiles of a wavefront, they take half a megabyte. Without one
// a unit should take some ten microseconds.
template <GridUser U>
std::int64_t GridModel<U>::tile_cells_of(const Query& own, const Policy& policy) const {
  if (own.volume() == space_.world.volume()) return wavefront().tile_cells;
  if (tile_cells_ > 0) return tile_cells_;
  const Tick n_ticks = skew(own, policy);
  if (n_ticks == 1) return 32768;
  return (1 << 19) / (n_ticks * kCellBytes);
}

template <GridUser U>
auto GridModel<U>::own_tiles(const Query& own, const Policy& policy) const -> std::vector<Query> {
  RUBATO_REQUIRE(own.boxes().size() == 1, own.boxes().size());
  std::vector<CellBox> boxes;
  CellBox left = own.boxes().front();
  const std::int64_t frame = (policy.replica_layers + 1) * U::kRadius;
  const auto cut_to = [&](std::int64_t depth) {
    const CellBox inner = shrunk_where_neighbours(own.boxes().front(), depth);
    subtract(left, inner, boxes);
    left = left.intersect(inner);
  };
  for (int ring = 1; ring <= policy.depth && !left.empty(); ++ring)
    cut_to(ring * U::kRadius);
  if (policy.depth * U::kRadius < frame && !left.empty()) cut_to(frame);
  std::vector<Query> tiles(boxes.begin(), boxes.end());
  if (left.empty()) return tiles;
  // Bands along the last dimension: whole rows stay contiguous.
  constexpr std::size_t kLast = kD - 1;
  const std::int64_t slab = left.volume() / left.width(kLast);
  const std::int64_t height = std::max<std::int64_t>(1, tile_cells_of(own, policy) / slab);
  const std::int64_t n_bands = std::max<std::int64_t>(1, (left.width(kLast) + height / 2) / height);
  for (std::int64_t i = 0; i < n_bands; ++i) {
    CellBox band = left;
    band.low[kLast] = left.low[kLast] + left.width(kLast) * i / n_bands;
    band.high[kLast] = left.low[kLast] + left.width(kLast) * (i + 1) / n_bands;
    tiles.emplace_back(band);
  }
  return tiles;
}

template <GridUser U>
auto GridModel<U>::replica_tiles(const RegionQuery<Query>& region) const -> std::vector<Query> {
  Query rest = region.includes.front();
  for (std::size_t i = 1; i < region.includes.size(); ++i)
    rest = rest.intersect(region.includes[i]);
  for (const Query& exclude : region.excludes)
    rest = rest.minus(exclude);
  if (rest.empty()) return {};
  return {rest};
}

}  // namespace rubato::tick

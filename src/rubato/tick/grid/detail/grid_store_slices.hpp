#pragma once
// GridStore: the steps of a wavefront slice by slice (step_all() in grid_store.hpp).
//
// Of rows, or planes, that are too long, what one diagonal of a wavefront has read and written is no
// longer in the cache when the next one comes to it. So several of them run in one go, and of all their
// steps first those of the cells of one slice, then those of the next. A slice is so many rows of all
// planes, or cells of all rows; its steps of each tick lie a little further down than those of the tick
// before, so that they find all that they read, and nobody has still to read what they overwrite.

namespace rubato::tick {

template <GridUser U>
struct GridStore<U>::Slice {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  // What of a box lies in it.
  [[nodiscard]] CellBox of(CellBox box) const noexcept {
    constexpr std::size_t kAcross = Model::kAcross;
    box.low[kAcross] = std::max(box.low[kAcross], low);
    box.high[kAcross] = std::min(box.high[kAcross], high);
    return box;
  }
};

// Whole rows, or planes, where the plan runs one diagonal at a time, steps may be done in part, or cells
// are copied along the dimension that is cut.
template <GridUser U>
std::int64_t GridStore<U>::chosen_slice() const {
  if (kD < 2 || typed_.plan.n_abreast == 1 || !ahead_.empty()) return 0;
  if (model_.space().periodic[Model::kAcross]) return 0;
  if (typed_.plan.neighbours.empty()) return model_.wavefront().slices.size;
  return model_.slices(typed_.own, typed_.plan.policy).size;
}

template <GridUser U>
void GridStore<U>::step_all(std::span<const RegionId> regions, std::span<const Tick> ticks,
                            std::uint32_t core) {
  if (slice_ == 0) {
    Store::step_all(regions, ticks, core);
    return;
  }
  Slice all{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const RegionId region : regions) {
    for (const Piece<kD>& piece : regions_[region].pieces) {
      all.low = std::min(all.low, piece.box.low[Model::kAcross]);
      all.high = std::max(all.high, piece.box.high[Model::kAcross]);
    }
  }
  std::vector<Measure> measured(GridHasStop<U> ? regions.size() : 1);
  for (std::int64_t low = all.low; low < all.high; low += slice_) {
    // The last one has what is left; a slice and a half is no worse than two.
    const bool is_last = low + slice_ + slice_ / 2 >= all.high;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const std::int64_t shift = (ticks[i] - ticks.front()) * Model::kSliceShift;
      Slice slice;
      if (low > all.low) slice.low = low - shift;
      if (!is_last) slice.high = low + slice_ - shift;
      step_slice(regions[i], ticks[i], slice, measured[GridHasStop<U> ? i : 0]);
    }
    if (is_last) break;
  }
  if constexpr (GridHasStop<U>) {
    const std::lock_guard lock(measures_mutex_);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (measures(regions[i], ticks[i])) measures_[{regions[i], ticks[i] + 1}] = measured[i];
    }
  }
}

// What step() does, of a slice.
template <GridUser U>
void GridStore<U>::step_slice(RegionId region, Tick t, const Slice& slice, Measure& measured) {
  const bool wanted = measures(region, t);
  for (const Piece<kD>& piece : regions_[region].pieces) {
    const CellBox box = slice.of(piece.box);
    if (!box.empty()) step_box(piece, box, t, wanted ? &measured : nullptr);
  }
  publish(regions_[region], t + 1, slice);
  if ((t + 1) % typed_.plan.policy.period == 0) pack_region(regions_[region], t + 1, slice);
  if (wanted || (t + 1) % kNumbersInterval == 0) check_numbers(region, t + 1, slice);
}

}  // namespace rubato::tick

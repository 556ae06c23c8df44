#pragma once
// The asynchronous part of GridStore (grid/grid_store.hpp): cells of a region whose stencils lie in
// regions that are there already.

#include <algorithm>
#include <vector>

#include "rubato/tick/grid/grid_store.hpp"

namespace rubato::tick {
namespace detail {

// What of `box` none of `covers` covers.
template <int D>
[[nodiscard]] std::vector<Box<std::int64_t, D>> minus(
    const Box<std::int64_t, D>& box, const std::vector<Box<std::int64_t, D>>& covers) {
  std::vector<Box<std::int64_t, D>> open{box};
  for (const auto& cover : covers) {
    std::vector<Box<std::int64_t, D>> rest;
    for (const auto& part : open)
      subtract(part, cover, rest);
    open = std::move(rest);
  }
  return open;
}

}  // namespace detail

// The cells of the piece whose stencils reach into regions that are missing.
template <GridUser U>
std::vector<typename GridStore<U>::CellBox> GridStore<U>::hidden_from(
    const Piece<kD>& piece, std::span<const RegionId> missing) const {
  std::vector<CellBox> hidden;
  for (const RegionId region : missing) {
    for (const CellBox& box : typed_.regions[region].includes.front().boxes()) {
      for (const auto& image : periodic_shifts(model_.space())) {
        const CellBox reach = box.moved(image).moved(piece.shift).grown(U::kRadius);
        const CellBox there = reach.intersect(piece.box);
        if (!there.empty()) hidden.push_back(there);
      }
    }
  }
  return hidden;
}

// Writes cells of t + 1 over those of the version before last, which stencils read that reach here
// from regions that are not at t yet; but just these cells are left for step().
template <GridUser U>
bool GridStore<U>::interact(RegionId region, Tick t, std::span<const RegionId> present,
                            std::uint32_t /*core*/) {
  Ahead& ahead = ahead_[region];
  const auto& pieces = regions_[region].pieces;
  if (ahead.tick != t) {
    ahead = {t, {}, {}, 0, 0};
    for (const auto& piece : pieces)
      ahead.left.push_back({piece.box});
  }
  std::vector<RegionId> missing;
  std::ranges::copy_if(typed_.plan.inputs[region], std::back_inserter(missing),
                       [&](RegionId b) { return std::ranges::find(present, b) == present.end(); });
  Measure* const measured = measures(region, t) ? &ahead.measured : nullptr;
  double n_cells = 0;
  double n_rows = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<CellBox> hidden = hidden_from(pieces[i], missing);
    std::vector<CellBox> left;
    for (const CellBox& box : ahead.left[i]) {
      const std::vector<CellBox> open = detail::minus<kD>(box, hidden);
      for (const CellBox& part : open) {
        step_box(pieces[i], part, t, measured);
        n_cells += nominal_cells(part, true);
        const std::int64_t rows = part.volume() / part.width(0);
        n_rows += static_cast<double>(rows);
      }
      std::ranges::copy(detail::minus<kD>(box, open), std::back_inserter(left));
    }
    ahead.left[i] = std::move(left);
  }
  ahead.n_cells += n_cells;
  ahead.cost = static_cast<Nanos>(options_.ns_per_cell * n_cells + options_.ns_per_row * n_rows);
  return n_cells > 0;
}

}  // namespace rubato::tick

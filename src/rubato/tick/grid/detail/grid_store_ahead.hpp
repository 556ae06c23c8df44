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

// The cells of regions that are missing, where the piece has them beside it; those of all images.
template <GridUser U>
std::vector<typename GridStore<U>::CellBox> GridStore<U>::moved_images(
    const Piece<kD>& piece, std::span<const RegionId> missing) const {
  std::vector<CellBox> images;
  for (const RegionId region : missing) {
    for (const CellBox& box : typed_.regions[region].includes.front().boxes()) {
      for (const auto& image : periodic_shifts(model_.space())) {
        const CellBox there = box.moved(image).moved(piece.shift);
        if (!there.grown(U::kRadius).intersect(piece.box).empty()) images.push_back(there);
      }
    }
  }
  return images;
}

template <GridUser U>
std::size_t GridStore<U>::place_in(const CellBox& box, const Index<kD>& at) noexcept {
  std::int64_t place = 0;
  for (std::size_t d = kD; d-- > 0;)
    place = place * box.width(d) + (at[d] - box.low[d]);
  return static_cast<std::size_t>(place);
}

template <GridUser U>
auto GridStore<U>::part_of(const Begun& begun, const CellBox& box) -> Begun {
  Begun part{box, begun.n_taken, {}};
  if (begun.sums.empty()) return part;
  part.sums.reserve(static_cast<std::size_t>(box.volume()));
  tick::for_each_row(box, [&](const Index<kD>& at, std::int64_t n) {
    const auto first = begun.sums.begin() + static_cast<std::ptrdiff_t>(place_in(begun.box, at));
    part.sums.insert(part.sums.end(), first, first + n);
  });
  return part;
}

template <GridUser U>
void GridStore<U>::leave(Ahead& ahead, std::vector<std::vector<Begun>> left) {
  std::size_t n = 0;
  for (const auto& of_piece : left) {
    for (const Begun& begun : of_piece)
      n += sizeof begun + begun.sums.size() * sizeof(typename detail::GridSum<U>::type);
  }
  bytes_ahead_ += n;
  bytes_ahead_ -= std::exchange(ahead.n_bytes, n);
  ahead.left = std::move(left);
}

// Each cell takes up the next one of its stencil.
template <GridUser U>
void GridStore<U>::take_cells(const Piece<kD>& piece, Begun& begun, Tick t) {
  const U& user = model_.user();
  const bool begins = begun.sums.empty();
  begun.sums.resize(static_cast<std::size_t>(begun.box.volume()));
  const std::size_t k = begun.n_taken++;
  for_each_row_to_step(
      piece, begun.box, t,
      [&](const GridSpan<U>& span, Value* const*, const Index<kD>& at, std::int64_t n) {
        auto* sums = &begun.sums[place_in(begun.box, at)];
        for (std::int64_t i = 0; i < n; ++i) {
          const GridCell<U> own = detail::cell_of_row(span, i, in_world(piece, at), t);
          if (begins) sums[i] = user.begin(own);
          user.interact(sums[i], own, k, own.moved(U::kStencil[k]));
        }
      });
}

// As far as their stencils go without a cell that is missing.
template <GridUser U>
void GridStore<U>::take_in_order(const Piece<kD>& piece, Begun begun,
                                 std::span<const CellBox> missing, Tick t, Ahead& ahead,
                                 std::vector<Begun>& left) {
  std::vector<Begun> open;
  open.push_back(std::move(begun));
  while (!open.empty()) {
    Begun now = std::move(open.back());
    open.pop_back();
    if (now.n_taken == detail::kStencilCells<U>) {
      left.push_back(std::move(now));
      continue;
    }
    Index<kD> back = U::kStencil[now.n_taken];
    for (std::int64_t& along : back)
      along = -along;
    std::vector<CellBox> waits;
    for (const CellBox& box : missing)
      waits.push_back(box.moved(back));
    const std::vector<CellBox> free = detail::minus<kD>(now.box, waits);
    for (const CellBox& box : detail::minus<kD>(now.box, free))
      left.push_back(part_of(now, box));
    for (const CellBox& box : free) {
      Begun part = part_of(now, box);
      take_cells(piece, part, t);
      ahead.add(box, nominal_cells(box, true) * kShare);
      open.push_back(std::move(part));
    }
  }
}

// The rest of the step of `box`, which lies in what has been begun.
template <GridUser U>
void GridStore<U>::finish_box(const Piece<kD>& piece, const Begun& begun, const CellBox& box,
                              Tick t, Measure* measured) {
  if constexpr (GridHasInteract<U>) {
    if (!begun.sums.empty()) {
      finish_sums(piece, begun, box, t, measured);
      return;
    }
  }
  step_box(piece, box, t, measured);
}

template <GridUser U>
void GridStore<U>::finish_sums(const Piece<kD>& piece, const Begun& begun, const CellBox& box,
                               Tick t, Measure* measured) {
  const U& user = model_.user();
  const auto finish_row = [&](const GridSpan<U>& span, Value* const* out, const Index<kD>& at,
                              std::int64_t n) {
    const auto* sums = &begun.sums[place_in(begun.box, at)];
    for (std::int64_t i = 0; i < n; ++i) {
      const GridCell<U> own = detail::cell_of_row(span, i, in_world(piece, at), t);
      typename U::Sum sum = sums[i];
      for (std::size_t k = begun.n_taken; k < U::kStencil.size(); ++k)
        user.interact(sum, own, k, own.moved(U::kStencil[k]));
      detail::put_values<U>(user.finish(own, sum), out, i);
    }
    if constexpr (GridHasStop<U>) {
      if (measured != nullptr) user.measure(*measured, span, out, n);
    }
  };
  for_each_row_to_step(piece, box, t, finish_row);
}

// Steps what nothing is missing for, takes up what has come of the rest, and returns it.
template <GridUser U>
auto GridStore<U>::go_ahead(const Piece<kD>& piece, std::span<const Begun> all,
                            std::span<const RegionId> missing, Tick t, Ahead& ahead,
                            Measure* measured) -> std::vector<Begun> {
  const std::vector<CellBox> images = moved_images(piece, missing);
  std::vector<CellBox> hidden;
  hidden.reserve(images.size());
  for (const CellBox& box : images)
    hidden.push_back(box.grown(U::kRadius));
  std::vector<Begun> left;
  for (const Begun& begun : all) {
    const std::vector<CellBox> open = detail::minus<kD>(begun.box, hidden);
    const double untaken = 1 - kShare * static_cast<double>(begun.n_taken);
    for (const CellBox& part : open) {
      finish_box(piece, begun, part, t, measured);
      ahead.add(part, nominal_cells(part, true) * untaken);
    }
    for (const CellBox& rest : detail::minus<kD>(begun.box, open)) {
      if constexpr (GridHasInteract<U>) {
        take_in_order(piece, part_of(begun, rest), images, t, ahead, left);
      } else {
        left.push_back({rest, 0, {}});
      }
    }
  }
  return left;
}

// Writes cells of t + 1 over those of the version before last, which stencils read that reach here
// from regions that are not at t yet. So cells that any of them may see are left for step(), even where
// they themselves see none of them; but sums of theirs are taken.
template <GridUser U>
bool GridStore<U>::interact(RegionId region, Tick t, std::span<const RegionId> present,
                            std::uint32_t /*core*/) {
  Ahead& ahead = ahead_[region];
  const auto& pieces = regions_[region].pieces;
  std::vector<std::vector<Begun>> left;
  left.reserve(pieces.size());
  if (ahead.tick != t) {
    ahead.tick = t;
    ahead.measured = {};
    ahead.n_cells = 0;
    for (const auto& piece : pieces)
      left.push_back({Begun{piece.box, 0, {}}});
    leave(ahead, std::exchange(left, {}));
  }
  std::vector<RegionId> missing;
  std::ranges::copy_if(typed_.plan.inputs[region], std::back_inserter(missing),
                       [&](RegionId b) { return std::ranges::find(present, b) == present.end(); });
  if (std::ranges::find(missing, region) != missing.end()) return false;
  Measure* const measured = measures(region, t) ? &ahead.measured : nullptr;
  ahead.cells_of_call = ahead.rows_of_call = 0;
  left.reserve(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    left.push_back(go_ahead(pieces[i], ahead.left[i], missing, t, ahead, measured));
  leave(ahead, std::move(left));
  ahead.n_cells += ahead.cells_of_call;
  ahead.cost = static_cast<Nanos>(options_.ns_per_cell * ahead.cells_of_call +
                                  options_.ns_per_row * ahead.rows_of_call);
  return ahead.cells_of_call > 0;
}

}  // namespace rubato::tick

#pragma once
// Gather: the surroundings of a region as arrays, cell by cell and by id within a cell, collected
// from the versions of several regions; and the walk over them that shows each tuple its
// neighbours.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rubato/tick/points/detail/cell_table.hpp"
#include "rubato/tick/points/detail/cell_window.hpp"
#include "rubato/tick/points/points_user.hpp"

namespace rubato::tick::points::detail {

// What a region reads, fixed for a whole run.
template <int D>
struct Surroundings {
  UnitBox<D> box;        // the region
  CellWindow<D> window;  // unwrapped: of the region grown by the visibility
  std::vector<Patch<D>> patches;
};

template <PointsUser U>
class Gather {
 public:
  static constexpr int kD = U::kDimensions;
  static constexpr std::size_t kStreams = static_cast<std::size_t>(kD) + U::kSeen;
  using Scalar = typename U::Scalar;
  using Tuple = typename U::Tuple;

  Gather(const U& user, const Lattice<Scalar, kD>& lattice) : user_(user), lattice_(lattice) {}

  // Collects the window; version(source) is the CellTable of a patch's source, or null where it is
  // not there yet. Where the versions
  // of several regions have tuples for one cell, they are merged by id; equal ids (a replica and
  // the message that confirms it) count once.
  template <class F>
  void collect(const Surroundings<kD>& around, const F& version) {
    around_ = &around;
    count(version);
    point(version);
    merge_crowded();
    spread();
  }

  // About how many pairs of tuples of the region's cells will see each other: of what was collected.
  [[nodiscard]] double n_pairs() const {
    const Index<kD> first = target_low();
    Index<kD> size = target_high();
    for (std::size_t d = 0; d < kD; ++d)
      size[d] -= first[d];
    double n = 0;
    for_each_row<kD>(size, [&](Index<kD> at) {
      for (std::size_t d = 0; d < kD; ++d)
        at[d] += first[d];
      const auto c = static_cast<std::size_t>(around_->window.number(at));
      for (std::size_t i = c; i < c + static_cast<std::size_t>(size[0]); ++i) {
        const auto here = static_cast<double>(starts_[i + 1] - starts_[i]);
        n += here * here;
      }
    });
    // Of those around a tuple, in as many times a cell's room as what it sees has.
    double room = kD == 2 ? 3.14 : 4.19;
    for (std::size_t d = 0; d < kD; ++d)
      room *= static_cast<double>(lattice_.visibility()) / static_cast<double>(kUnitsPerCell);
    return n * room;
  }
  // Calls f(tuples) for each cell of the window, in order: pointers, the last of which may be null.
  template <class F>
  void for_each_cell(const F& f) const {
    for (std::size_t c = 0; c + 1 < starts_.size(); ++c)
      f(std::span(tuples_).subspan(starts_[c], starts_[c + 1] - starts_[c]));
  }

  // Marks in `open` the cells with tuples of the region (indexes into the window) that are not done
  // and in whose blocks no cell is hidden; returns how many.
  std::size_t mark_open(const Surroundings<kD>& around, const std::vector<std::uint8_t>& hidden,
                        const std::vector<std::uint8_t>& done, std::vector<std::uint8_t>& open) {
    around_ = &around;
    const Index<kD> first = target_low();
    Index<kD> size = target_high();
    for (std::size_t d = 0; d < kD; ++d)
      size[d] -= first[d];
    std::size_t n = 0;
    for_each_row<kD>(size, [&](Index<kD> at) {
      for (std::size_t d = 0; d < kD; ++d)
        at[d] += first[d];
      for (std::int64_t i = 0; i < size[0]; ++i, ++at[0]) {
        const auto c = static_cast<std::size_t>(around.window.number(at));
        if (done[c] != 0 || any_in_block(at, hidden)) continue;
        open[c] = 1;
        ++n;
      }
    });
    return n;
  }

  // Shows each tuple of the region its neighbours: f(tuple, neighbours); of the cells (indexes into
  // the window) for which wanted(cell) is true.
  template <class Wanted, class F>
  void walk(const Wanted& wanted, const F& f) {
    const Index<kD> first = target_low();
    Index<kD> size = target_high();
    for (std::size_t d = 0; d < kD; ++d)
      size[d] -= first[d];
    for_each_row<kD>(size, [&](Index<kD> at) {
      for (std::size_t d = 0; d < kD; ++d)
        at[d] += first[d];
      walk_row(at, size[0], wanted, f);
    });
  }

 private:
  // Whether one of the cells around the one at `at` that lie in the window has a mark.
  [[nodiscard]] bool any_in_block(const Index<kD>& at,
                                  const std::vector<std::uint8_t>& marks) const {
    const CellWindow<kD>& window = around_->window;
    const int n_block = kD == 2 ? 9 : 27;
    for (int i = 0; i < n_block; ++i) {
      Index<kD> beside = at;
      bool inside = true;
      for (std::size_t d = 0; d < kD; ++d) {
        beside[d] += (d == 0 ? i : d == 1 ? i / 3 : i / 9) % 3 - 1;
        inside = inside && beside[d] >= 0 && beside[d] < window.size[d];
      }
      if (inside && marks[static_cast<std::size_t>(window.number(beside))] != 0) return true;
    }
    return false;
  }

  // A block of cells is 3 (9 in 3D) runs of cells that follow each other in a row.
  static constexpr std::size_t kRows = kD == 2 ? 3 : 9;
  // So many tuples look around before the first of them is shown what it sees: a list that has just
  // been written in pieces cannot be read in whole vectors until it has reached the cache.
  static constexpr std::size_t kGroup = 8;
  struct Run {
    std::size_t begin;
    std::size_t end;
  };

  template <class F>
  void count(const F& version) {
    const CellWindow<kD>& window = around_->window;
    starts_.assign(static_cast<std::size_t>(window.n_cells()) + 1, 0);
    for (const Patch<kD>& patch : around_->patches) {
      // Not in one: clang takes no part of a structured binding into a lambda.
      const auto& read = version(patch.source);
      const auto* table = read.first;
      const auto* table_window = read.second;
      if (table == nullptr) continue;
      const std::uint32_t* from = table->starts();
      for_each_row<kD>(patch.size, [&](const Index<kD>& at) {
        const std::size_t c = cell(window, patch.to, at);
        const std::size_t b = cell(*table_window, patch.from, at);
        for (std::size_t i = 0; i < static_cast<std::size_t>(patch.size[0]); ++i)
          starts_[c + i + 1] += from[b + i + 1] - from[b + i];
      });
    }
    for (std::size_t c = 1; c < starts_.size(); ++c)
      starts_[c] += starts_[c - 1];
  }

  template <class F>
  void point(const F& version) {
    tuples_.resize(std::max(tuples_.size(), std::size_t{starts_.back()}));
    next_.assign(starts_.begin(), starts_.end() - 1);
    crowded_.clear();
    for (const Patch<kD>& patch : around_->patches) {
      const auto& read = version(patch.source);
      const auto* table = read.first;
      const auto* table_window = read.second;
      if (table == nullptr) continue;
      const std::uint32_t* from = table->starts();
      const Tuple* all = table->all().data();
      for_each_row<kD>(patch.size, [&](const Index<kD>& at) {
        const std::size_t c = cell(around_->window, patch.to, at);
        const std::size_t b = cell(*table_window, patch.from, at);
        point_row(c, from + b, static_cast<std::size_t>(patch.size[0]), all);
      });
    }
  }

  // Tuples of `n` cells from c on, of one source whose cells start at from[0], from[1] ..
  void point_row(std::size_t c, const std::uint32_t* from, std::size_t n, const Tuple* all) {
    for (std::size_t i = 0; i < n;) {
      // Cells that nobody else has tuples for are one run, there as here.
      std::size_t end = i;
      while (end < n && starts_[c + end + 1] - starts_[c + end] == from[end + 1] - from[end])
        ++end;
      point_run(starts_[c + i], all + from[i], from[end] - from[i]);
      i = end;
      if (i == n) return;
      const std::uint32_t n_here = from[i + 1] - from[i];
      std::uint32_t& to = next_[c + i];
      if (n_here != 0 && to != starts_[c + i])
        crowded_.push_back(static_cast<std::uint32_t>(c + i));
      point_run(to, all + from[i], n_here);
      to += n_here;
      ++i;
    }
  }
  void point_run(std::size_t to, const Tuple* from, std::size_t n) {
    const Tuple** out = tuples_.data() + to;
    for (std::size_t k = 0; k < n; ++k)
      out[k] = from + k;
  }

  void merge_crowded() {
    for (const std::uint32_t c : crowded_) {
      const auto begin = tuples_.begin() + starts_[c];
      const auto end = tuples_.begin() + starts_[c + 1];
      // A cell that three regions have tuples for is here twice; the second time nothing is left.
      const auto present = std::find(begin, end, nullptr);
      std::sort(begin, present, [](const Tuple* a, const Tuple* b) { return a->id < b->id; });
      const auto last = std::unique(begin, present,
                                    [](const Tuple* a, const Tuple* b) { return a->id == b->id; });
      std::fill(last, end, nullptr);
    }
  }

  // From tuples to arrays, neighbours across the world's edge moved to where they are seen.
  void spread() {
    const std::size_t n = starts_.back();
    for (auto& stream : streams_) {
      if (stream.size() < n + kLanes) stream.resize(n + n / 8 + kLanes);
    }
    const CellWindow<kD>& window = around_->window;
    for_each_row<kD>(window.size, [&](const Index<kD>& at) {
      std::array<Scalar, kD> shift{};
      for (std::size_t d = 1; d < kD; ++d)
        shift[d] = lattice_.image_shift(d, side(d, window.low[d] + at[d]));
      const auto c = static_cast<std::size_t>(window.number(at));
      // The row's cells left of the world, in it and right of it.
      const std::int64_t n_row = window.size[0];
      const std::int64_t left = std::clamp<std::int64_t>(-window.low[0], 0, n_row);
      const std::int64_t right =
          std::clamp<std::int64_t>(lattice_.n_cells()[0] - window.low[0], left, n_row);
      const std::array<std::int64_t, 4> ends = {0, left, right, n_row};
      for (std::size_t part = 0; part < 3; ++part) {
        shift[0] = lattice_.image_shift(0, static_cast<int>(part) - 1);
        spread_run({starts_[c + static_cast<std::size_t>(ends[part])],
                    starts_[c + static_cast<std::size_t>(ends[part + 1])]},
                   shift);
      }
    });
  }

  void spread_run(const Run& run, const std::array<Scalar, kD>& shift) {
    std::array<Scalar*, kStreams> to;
    for (std::size_t i = 0; i < kStreams; ++i)
      to[i] = streams_[i].data();
    for (std::size_t j = run.begin; j < run.end; ++j) {
      const Tuple* tuple = tuples_[j];
      if (tuple == nullptr) {
        // Nobody sees what is nowhere.
        to[0][j] = std::numeric_limits<Scalar>::quiet_NaN();
        continue;
      }
      for (std::size_t d = 0; d < kD; ++d)
        to[d][j] = tuple->position[d] + shift[d];
      const std::array<Scalar, U::kSeen> seen = user_.seen(*tuple);
      for (std::size_t i = 0; i < U::kSeen; ++i)
        to[static_cast<std::size_t>(kD) + i][j] = seen[i];
    }
  }

  // One row of n target cells from `at`, an index into the window.
  template <class Wanted, class F>
  void walk_row(Index<kD> at, std::int64_t n, const Wanted& wanted, const F& f) {
    const CellWindow<kD>& window = around_->window;
    std::array<std::size_t, kRows> rows;
    std::size_t n_rows = 0;
    for (int i = 0; i < static_cast<int>(kRows); ++i) {
      Index<kD> row = at;
      row[0] = 0;
      bool inside = true;
      for (std::size_t d = 1; d < kD; ++d) {
        row[d] += (d == 1 ? i % 3 : i / 3) - 1;
        inside = inside && row[d] >= 0 && row[d] < window.size[d];
      }
      if (inside) rows[n_rows++] = static_cast<std::size_t>(window.number(row));
    }
    const auto first = static_cast<std::size_t>(window.number(at));
    for (std::int64_t k = 0; k < n; ++k, ++at[0]) {
      const auto c = first + static_cast<std::size_t>(k);
      if (starts_[c] == starts_[c + 1] || !wanted(c)) continue;
      const auto left = static_cast<std::size_t>(std::max<std::int64_t>(at[0] - 1, 0));
      const auto right = static_cast<std::size_t>(std::min(at[0] + 2, window.size[0]));
      std::array<Run, kRows> runs;
      std::size_t n_block = 0;
      for (std::size_t r = 0; r < n_rows; ++r) {
        runs[r] = {starts_[rows[r] + left], starts_[rows[r] + right]};
        n_block += runs[r].end - runs[r].begin;
      }
      const std::size_t shift = copy_block(std::span(runs.data(), n_rows), n_block, starts_[c]);
      walk_cell(c, is_whole(at), n_block, shift, f);
    }
  }

  // Copies the runs of a block behind each other, so that all but the last 16 candidates fill a
  // vector; returns by how much the index of the tuples of the cell at `center` grows by that.
  std::size_t copy_block(std::span<const Run> runs, std::size_t n_block, std::size_t center) {
    if (block_stride_ < n_block + 2 * kLanes) {
      block_stride_ = (n_block + n_block / 4 + 4 * kLanes) / kLanes * kLanes;
      block_.resize(block_stride_ * kStreams);
      block_tuples_.resize(block_stride_);
    }
    std::size_t to = 0;
    std::size_t shift = 0;
    for (const Run& run : runs) {
      if (run.begin <= center && center < run.end) shift = to - run.begin;
      for (std::size_t i = 0; i < kStreams; ++i) {
        // Whole vectors: what is copied too much lies behind the end, or is overwritten.
        const Scalar* from = streams_[i].data();
        Scalar* block = block_.data() + i * block_stride_ + to;
        for (std::size_t j = run.begin; j < run.end; j += kLanes, block += kLanes)
          store(block, load(from + j));
      }
      if constexpr (kSeesTuples<U>) {
        std::copy(tuples_.data() + run.begin, tuples_.data() + run.end, block_tuples_.data() + to);
      }
      to += run.end - run.begin;
    }
    return shift;
  }

  template <class F>
  void walk_cell(std::size_t c, bool whole, std::size_t n_block, std::size_t shift, const F& f) {
    Candidates<Scalar, kD, U::kSeen, Tuple> candidates;
    for (std::size_t i = 0; i < kStreams; ++i)
      candidates.stream[i] = block_.data() + i * block_stride_;
    candidates.tuples = block_tuples_.data();
    Viewer<Scalar, kD> viewer;
    viewer.visibility2 = lattice_.world().visibility * lattice_.world().visibility;
    std::array<const Tuple*, kGroup> group;
    std::size_t n_group = 0;
    for (std::size_t j = starts_[c]; j < starts_[c + 1]; ++j) {
      const Tuple* tuple = tuples_[j];
      if (tuple == nullptr) break;
      if (!whole && !around_->box.contains(lattice_.unit(tuple->position))) continue;
      viewer.position = tuple->position;
      viewer.self = j + shift;
      auto& near = near_[n_group];
      near.reserve(n_block);
      near.finish(look<kSeesTuples<U>, Scalar, kD, U::kSeen, Tuple>(candidates, 0, n_block, viewer,
                                                                    near, 0));
      group[n_group++] = tuple;
      if (n_group == kGroup) show(group, n_group, f);
    }
    show(group, n_group, f);
  }
  template <class F>
  void show(const std::array<const Tuple*, kGroup>& group, std::size_t& n_group, const F& f) {
    for (std::size_t i = 0; i < n_group; ++i)
      f(*group[i], near_[i]);
    n_group = 0;
  }

  [[nodiscard]] static std::size_t cell(const CellWindow<kD>& window, Index<kD> corner,
                                        const Index<kD>& at) noexcept {
    for (std::size_t d = 0; d < kD; ++d)
      corner[d] += at[d];
    return static_cast<std::size_t>(window.number(corner));
  }
  [[nodiscard]] int side(std::size_t d, std::int64_t at) const noexcept {
    return at < 0 ? -1 : at >= lattice_.n_cells()[d] ? 1 : 0;
  }
  // Target cells, as indexes into the window.
  [[nodiscard]] Index<kD> target_low() const noexcept {
    Index<kD> low;
    for (std::size_t d = 0; d < kD; ++d)
      low[d] = cell_of_unit(around_->box.low[d]) - around_->window.low[d];
    return low;
  }
  [[nodiscard]] Index<kD> target_high() const noexcept {
    Index<kD> high;
    for (std::size_t d = 0; d < kD; ++d)
      high[d] = cell_of_unit(around_->box.high[d] - 1) + 1 - around_->window.low[d];
    return high;
  }
  // Whether all units of the cell belong to the region.
  [[nodiscard]] bool is_whole(const Index<kD>& at) const noexcept {
    for (std::size_t d = 0; d < kD; ++d) {
      const std::int64_t low = (around_->window.low[d] + at[d]) * kUnitsPerCell;
      if (low < around_->box.low[d] || low + kUnitsPerCell > around_->box.high[d]) return false;
    }
    return true;
  }

  const U& user_;
  const Lattice<Scalar, kD>& lattice_;
  const Surroundings<kD>* around_ = nullptr;
  std::vector<std::uint32_t> starts_;  // [window cells + 1]
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> crowded_;  // cells with tuples from several regions
  std::vector<const Tuple*> tuples_;    // [starts_.back()]; null: was there twice
  std::array<std::vector<Scalar>, kStreams> streams_;
  std::size_t block_stride_ = 0;
  std::vector<Scalar> block_;  // [kStreams][block_stride_] the candidates of one cell's tuples
  std::vector<const Tuple*> block_tuples_;
  std::array<Neighbours<Scalar, kD, U::kSeen, Tuple>, kGroup> near_;
};

}  // namespace rubato::tick::points::detail

#pragma once
// Points as one would write them by hand for one thread: arrays sorted by cell each tick, the 3 x 3
// block of a cell copied into one run, cell after cell, tuple after tuple. The formulas of one
// tuple are those of its model, with the same order of summation and the same bits.
//
// What `tick-fish` and `tick-nbody` compare the engine with: whatever the engine adds to this loop
// (regions, versions, tiles, checks) is what it costs.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/points/points_store.hpp"

namespace rubato::bench {

// Kind says how a tuple lies in the arrays:
//   using Model = ..;                       a PointsUser of two dimensions and floats
//   static constexpr std::size_t kArrays    numbers of a tuple; the first of them are its
//                                           position, then what its neighbours see
//   static std::array<float, kArrays> numbers(const Tuple&)
//   static Tuple tuple(std::uint64_t id, const std::array<float, kArrays>&)
//                                           all that a step needs to know of it
// REQUIRES: a periodic world.
template <class Kind>
class CellListBaseline {
 public:
  using Model = typename Kind::Model;
  using Tuple = typename Model::Tuple;

  // `model` must outlive it.
  explicit CellListBaseline(const Model& model) : model_(model), lattice_(model.world()) {
    const tick::points::UnitSet<2> all(lattice_.space().world);
    model_.start(tick::points::Wanted<float, 2>(lattice_, all), tuples_);
    columns_ = static_cast<std::size_t>(lattice_.n_cells()[0]);
    rows_ = static_cast<std::size_t>(lattice_.n_cells()[1]);
    starts_.resize(columns_ * rows_ + 1);
    cells_.resize(tuples_.size());
    ids_.resize(tuples_.size());
    for (auto& stream : streams_)
      stream.resize(tuples_.size() + kLanes);
  }

  void run(tick::Tick ticks) {
    for (const tick::Tick end = t_ + ticks; t_ < end; ++t_) {
      sort();
      auto& results = next_.results();
      results.clear();
      for (std::size_t y = 0; y < rows_; ++y)
        step_row(y);
      tuples_.swap(results);
    }
  }

  [[nodiscard]] std::span<const Tuple> tuples() const noexcept { return tuples_; }

 private:
  static constexpr std::size_t kLanes = tick::points::kLanes;
  static constexpr std::size_t kGroup = 8;
  static constexpr std::size_t kArrays = Kind::kArrays;
  static constexpr std::size_t kVisible = 2 + Model::kSeen;
  using Near = tick::points::NeighboursOf<Model>;

  // Into arrays, by cell and by id within a cell.
  void sort() {
    std::ranges::fill(starts_, 0);
    for (std::size_t i = 0; i < tuples_.size(); ++i) {
      cells_[i] = static_cast<std::uint32_t>(lattice_.cell_number(tuples_[i].position));
      ++starts_[cells_[i] + 1];
    }
    for (std::size_t c = 1; c < starts_.size(); ++c)
      starts_[c] += starts_[c - 1];
    next_start_.assign(starts_.begin(), starts_.end() - 1);
    unsorted_.clear();
    for (std::size_t i = 0; i < tuples_.size(); ++i) {
      const Tuple& tuple = tuples_[i];
      const std::uint32_t at = next_start_[cells_[i]]++;
      ids_[at] = tuple.id;
      const std::array<float, kArrays> numbers = Kind::numbers(tuple);
      for (std::size_t k = 0; k < kArrays; ++k)
        streams_[k][at] = numbers[k];
      if (at != starts_[cells_[i]] && tuple.id < ids_[at - 1]) unsorted_.push_back(cells_[i]);
    }
    for (const std::uint32_t c : unsorted_)
      sort_cell(starts_[c], starts_[c + 1]);
  }
  void sort_cell(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin + 1; i < end; ++i) {
      for (std::size_t j = i; j > begin && ids_[j] < ids_[j - 1]; --j) {
        std::swap(ids_[j], ids_[j - 1]);
        for (auto& stream : streams_)
          std::swap(stream[j], stream[j - 1]);
      }
    }
  }

  void step_row(std::size_t y) {
    const std::size_t begin = starts_[y * columns_];
    const std::size_t end = starts_[(y + 1) * columns_];
    row_.resize(end - begin);
    row_pointers_.resize(end - begin);
    row_influences_.resize(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      std::array<float, kArrays> numbers;
      for (std::size_t k = 0; k < kArrays; ++k)
        numbers[k] = streams_[k][i];
      row_[i - begin] = Kind::tuple(ids_[i], numbers);
      row_pointers_[i - begin] = &row_[i - begin];
    }
    for (std::size_t x = 0; x < columns_; ++x) {
      const std::size_t c = y * columns_ + x;
      if (starts_[c] != starts_[c + 1]) look_around(x, y, begin);
    }
    model_.finish({row_pointers_, row_influences_}, t_, next_);
  }

  // Appends a run of tuples to the block.
  void copy_run(std::size_t begin, std::size_t end) {
    const std::size_t n = end - begin;
    if (block_stride_ < n_block_ + n + 2 * kLanes) grow_block(n_block_ + n);
    for (std::size_t i = 0; i < kVisible; ++i) {
      const float* from = streams_[i].data() + begin;
      float* to = block_.data() + i * block_stride_ + n_block_;
      for (std::size_t j = 0; j < n; j += kLanes)
        tick::points::store(to + j, tick::points::load(from + j));
    }
    n_block_ += n;
  }
  void grow_block(std::size_t n) {
    const std::size_t stride = 2 * n + 4 * kLanes;
    std::vector<float> larger(kVisible * stride);
    for (std::size_t i = 0; i < kVisible; ++i)
      std::copy_n(block_.data() + i * block_stride_, n_block_, larger.data() + i * stride);
    block_ = std::move(larger);
    block_stride_ = stride;
  }

  // Copies the block around a cell; returns the place of the cell's own tuples in it.
  std::size_t copy_block(std::size_t x, std::size_t y) {
    n_block_ = 0;
    if (x == 0 || y == 0 || x + 1 == columns_ || y + 1 == rows_) return copy_edge_block(x, y);
    // Three cells in a row are one run.
    const std::size_t c = y * columns_ + x;
    copy_run(starts_[c - columns_ - 1], starts_[c - columns_ + 2]);
    const std::size_t own = n_block_ + starts_[c] - starts_[c - 1];
    copy_run(starts_[c - 1], starts_[c + 2]);
    copy_run(starts_[c + columns_ - 1], starts_[c + columns_ + 2]);
    return own;
  }
  // The same where cells of the other side of the world are moved to where they are seen.
  std::size_t copy_edge_block(std::size_t x, std::size_t y) {
    std::size_t own = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        std::array<float, 2> shift{};
        const std::size_t row = neighbour(y, dy, rows_, 1, shift[1]);
        const std::size_t c = row * columns_ + neighbour(x, dx, columns_, 0, shift[0]);
        const std::size_t first = n_block_;
        if (dy == 0 && dx == 0) own = first;
        copy_run(starts_[c], starts_[c + 1]);
        for (std::size_t d = 0; d < 2; ++d) {
          for (std::size_t j = first; j < n_block_; ++j)
            block_[d * block_stride_ + j] += shift[d];
        }
      }
    }
    return own;
  }
  [[nodiscard]] std::size_t neighbour(std::size_t at, int step, std::size_t n, std::size_t d,
                                      float& shift) const noexcept {
    const int side = at == 0 && step < 0 ? -1 : at + 1 == n && step > 0 ? 1 : 0;
    shift = lattice_.image_shift(d, side);
    return side < 0 ? n - 1 : side > 0 ? 0 : at + static_cast<std::size_t>(step);
  }

  void look_around(std::size_t x, std::size_t y, std::size_t row_begin) {
    const std::size_t begin = starts_[y * columns_ + x];
    const std::size_t end = starts_[y * columns_ + x + 1];
    const std::size_t own = copy_block(x, y);
    tick::points::Candidates<float, 2, Model::kSeen, Tuple> candidates;
    for (std::size_t i = 0; i < kVisible; ++i)
      candidates.stream[i] = block_.data() + i * block_stride_;
    const float visibility = lattice_.world().visibility;
    // In groups: vectors that have just been written in pieces cannot be read at once.
    for (std::size_t first = begin; first < end; first += kGroup) {
      const std::size_t n = std::min(kGroup, end - first);
      for (std::size_t i = 0; i < n; ++i) {
        const tick::points::Viewer<float, 2> viewer{
            row_[first + i - row_begin].position, visibility * visibility, own + first - begin + i};
        near_[i].reserve(n_block_);
        near_[i].finish(tick::points::look<false, float, 2, Model::kSeen, Tuple>(
            candidates, 0, n_block_, viewer, near_[i], 0));
      }
      for (std::size_t i = first - row_begin; i < first - row_begin + n; ++i)
        row_influences_[i] = model_.interact(row_[i], near_[i + row_begin - first], t_);
    }
  }

  const Model& model_;
  tick::points::Lattice<float, 2> lattice_;
  std::size_t columns_ = 0;
  std::size_t rows_ = 0;
  tick::Tick t_ = 0;
  std::vector<Tuple> tuples_;       // as they were finished
  std::vector<std::uint64_t> ids_;  // by cell and id
  std::array<std::vector<float>, kArrays> streams_;
  std::vector<std::uint32_t> cells_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> next_start_;
  std::vector<std::uint32_t> unsorted_;  // cells
  std::vector<Tuple> row_;               // the tuples of one row of cells
  std::vector<const Tuple*> row_pointers_;
  std::vector<typename Model::Influence> row_influences_;
  std::size_t n_block_ = 0;
  std::size_t block_stride_ = 0;
  std::vector<float> block_;  // [kVisible][block_stride_]
  std::array<Near, kGroup> near_;
  tick::points::Offspring<Tuple> next_;
};

}  // namespace rubato::bench

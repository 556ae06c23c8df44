#pragma once
// CellTable: tuples in the order of cells, by id within a cell: how a version of a region lies.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace rubato::tick::points::detail {

template <class Tuple>
class CellTable {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return starts_.empty() ? 0 : starts_.back(); }
  [[nodiscard]] std::span<const Tuple> all() const noexcept { return {tuples_.data(), size()}; }
  [[nodiscard]] std::span<const Tuple> cell(std::size_t c) const noexcept {
    return {tuples_.data() + starts_[c], starts_[c + 1] - starts_[c]};
  }
  // [n_cells + 1] where each cell starts in all().
  [[nodiscard]] const std::uint32_t* starts() const noexcept { return starts_.data(); }
  [[nodiscard]] std::size_t n_starts() const noexcept { return starts_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return tuples_.capacity() * sizeof(Tuple) +
           (starts_.capacity() + unsorted_.capacity()) * sizeof(std::uint32_t);
  }

  // Sorts tuples into n_cells cells: cells[i] is that of tuples[i]. `next` is scratch. Memory that
  // is there is used again.
  void fill(std::span<const Tuple> tuples, std::span<const std::uint32_t> cells,
            std::size_t n_cells, std::vector<std::uint32_t>& next) {
    starts_.assign(n_cells + 1, 0);
    for (const std::uint32_t c : cells)
      ++starts_[c + 1];
    for (std::size_t c = 0; c < n_cells; ++c)
      starts_[c + 1] += starts_[c];
    // Never smaller: shrinking and growing again would write each tuple once more.
    if (tuples_.size() < tuples.size()) tuples_.resize(tuples.size() + tuples.size() / 8);
    next.assign(starts_.begin(), starts_.end() - 1);
    // Most tuples come in the order of ids, since they stayed in their cell; the few cells where
    // one does not are sorted after all.
    Tuple* const to = tuples_.data();
    unsorted_.clear();
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const std::uint32_t c = cells[i];
      const std::uint32_t at = next[c]++;
      to[at] = tuples[i];
      if (at != starts_[c] && to[at].id < to[at - 1].id) unsorted_.push_back(c);
    }
    for (const std::uint32_t c : unsorted_)
      sort_by_id(to + starts_[c], to + starts_[c + 1]);
  }

  // The same, cell by cell: clear, then for each cell its tuples by ascending ids and end_cell.
  void clear() {
    starts_.assign(1, 0);
    n_added_ = 0;
  }
  void add(const Tuple& tuple) {
    if (n_added_ == tuples_.size()) tuples_.resize(n_added_ + n_added_ / 2 + 16);
    tuples_[n_added_++] = tuple;
  }
  void end_cell() { starts_.push_back(static_cast<std::uint32_t>(n_added_)); }

 private:
  static void sort_by_id(Tuple* begin, Tuple* end) noexcept {
    for (Tuple* at = begin + 1; at < end; ++at) {
      if (at[-1].id < at->id) continue;
      const Tuple tuple = *at;
      Tuple* to = at;
      for (; to != begin && tuple.id < to[-1].id; --to)
        *to = to[-1];
      *to = tuple;
    }
  }

  std::vector<Tuple> tuples_;  // size() of them count
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> unsorted_;  // cells, while filling
  std::size_t n_added_ = 0;
};

// Tuples by (cell of the world, id), with the numbers of their cells: what a round message or an
// initial state is cut from.
template <class Tuple>
struct SortedTuples {
  std::vector<Tuple> tuples;
  std::vector<std::int64_t> cells;

  // Where the tuples of the first cell at or after `cell` start.
  [[nodiscard]] std::size_t first(std::int64_t cell) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(cells, cell) - cells.begin());
  }
};

}  // namespace rubato::tick::points::detail

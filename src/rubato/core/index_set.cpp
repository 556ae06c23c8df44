#include "rubato/core/index_set.hpp"

#include <algorithm>

#include "rubato/base/error.hpp"

namespace rubato::core {

IndexSet IndexSet::range(std::uint64_t count) {
  IndexSet set;
  set.append_run(0, count, 1);
  return set;
}

void IndexSet::append(std::uint64_t value) {
  if (!runs_.empty()) {
    Run& run = runs_.back();
    RUBATO_REQUIRE(value > run.last(), value, run.last());
    const std::uint64_t gap = value - run.last();
    if (run.count == 1 || gap == run.stride) {
      run.stride = gap;
      ++run.count;
      return;
    }
  }
  runs_.push_back({value, 1, 1, size()});
}

void IndexSet::append_run(std::uint64_t first, std::uint64_t count, std::uint64_t stride) {
  RUBATO_REQUIRE(stride > 0, stride);
  if (count == 0) return;
  // Two members through append() find out whether the last run goes on; the rest is added at once.
  append(first);
  if (count == 1) return;
  append(first + stride);
  Run& run = runs_.back();
  // Alone if the first one ended a run of another stride.
  if (run.count == 1) run.stride = stride;
  run.count += count - 2;
}

std::uint64_t IndexSet::size() const noexcept {
  return runs_.empty() ? 0 : runs_.back().before + runs_.back().count;
}

std::uint64_t IndexSet::at(std::uint64_t rank) const {
  RUBATO_REQUIRE(rank < size(), rank, size());
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), rank,
                       [](std::uint64_t value, const Run& run) { return value < run.before; });
  const Run& run = *std::prev(after);
  return run.first + (rank - run.before) * run.stride;
}

std::uint64_t IndexSet::n_below(std::uint64_t value) const noexcept {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), value,
                       [](std::uint64_t v, const Run& run) { return v <= run.first; });
  if (after == runs_.begin()) return 0;
  const Run& run = *std::prev(after);
  return run.before + std::min(run.count, (value - run.first + run.stride - 1) / run.stride);
}

std::optional<std::uint64_t> IndexSet::rank_of(std::uint64_t value) const noexcept {
  const std::uint64_t rank = n_below(value);
  if (rank == size() || at(rank) != value) return std::nullopt;
  return rank;
}

IndexSet IndexSet::divided_by(std::uint64_t divisor) const {
  RUBATO_REQUIRE(divisor > 0, divisor);
  IndexSet quotients;
  // A quotient that the run before has given already is left out.
  const auto add = [&](std::uint64_t value) {
    if (quotients.empty() || quotients.runs_.back().last() < value) quotients.append(value);
  };
  for (const Run& run : runs_) {
    add(run.first / divisor);
    if (run.count == 1) continue;
    if (run.stride % divisor == 0) {
      quotients.append_run((run.first + run.stride) / divisor, run.count - 1, run.stride / divisor);
    } else if (run.stride <= divisor) {
      const std::uint64_t low = run.first / divisor + 1;
      const std::uint64_t high = run.last() / divisor;
      if (low <= high) quotients.append_run(low, high - low + 1, 1);
    } else {
      for (std::uint64_t i = 1; i < run.count; ++i)
        add((run.first + i * run.stride) / divisor);
    }
  }
  return quotients;
}

}  // namespace rubato::core

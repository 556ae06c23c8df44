#pragma once
// GlobalCounter and GlobalHistogram: counts to which everybody adds without a message, or, of many
// bins, with few.
//
//   const auto n_edges = GlobalCounter::make();
//   const auto degrees = GlobalHistogram::make(1'000);
//   forall(vertices, [=](Vertex& v) { n_edges.add(v.degree); degrees.add(v.degree); });
//   n_edges.value();   degrees.counts();

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "rubato/global/add.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/bulk.hpp"
#include "rubato/global/per_core.hpp"

namespace rubato::global {

// A number a core, in its memory. A handle: copied and sent as it is.
class GlobalCounter {
 public:
  GlobalCounter() = default;

  // At 0. Called by a task; waits.
  [[nodiscard]] static GlobalCounter make() {
    GlobalCounter counter;
    counter.counts_ = PerCore<std::uint64_t>::make();
    return counter;
  }
  // Called by a task when nobody uses it any more; waits.
  void free() const { counts_.free(); }

  // Modulo 2^64, so that a count may go down as well. Sends nothing.
  void add(std::uint64_t n = 1) const { counts_.here() += n; }
  // Of all cores. Called by a task; waits. Exact where nobody adds meanwhile.
  [[nodiscard]] std::uint64_t value() const {
    return counts_.reduce([](std::uint64_t n) { return n; }, std::plus<>{});
  }
  // Called by a task while nobody adds; waits.
  void reset() const {
    on_all_cores([counts = counts_] { counts.here() = 0; });
  }

 private:
  PerCore<std::uint64_t> counts_;
};

// Counts by bin. Each core counts for itself where it can hold all bins; of more bins it combines
// what it sends to their owners. A handle: copied and sent as it is.
class GlobalHistogram {
 public:
  static constexpr std::uint64_t kOwnBinsMost = std::uint64_t{1} << 17;  // 1 MiB a core

  GlobalHistogram() = default;

  // Of `n_bins` bins, at 0. Called by a task; waits. Throws Error if there is no room.
  [[nodiscard]] static GlobalHistogram make(std::uint64_t n_bins) {
    GlobalHistogram histogram;
    histogram.bins_ = GlobalArray<std::uint64_t>::make(n_bins, 0);
    if (n_bins <= kOwnBinsMost) {
      histogram.own_ =
          allocate_symmetric(std::max<std::uint64_t>(n_bins, 1) * sizeof(std::uint64_t));
    }
    return histogram;
  }
  // Called by a task when nobody uses it any more; waits.
  void free() const {
    if (own_ != 0) deallocate_symmetric(own_);
    bins_.free();
  }

  [[nodiscard]] std::uint64_t n_bins() const noexcept { return bins_.size(); }
  // It is counted at the end of the surrounding finish(). REQUIRES: bin < n_bins().
  void add(std::uint64_t bin, std::uint64_t n = 1) const {
    RUBATO_DASSERT(bin < n_bins(), bin, n_bins());
    if (own_ != 0) {
      own()[bin] += n;
    } else {
      async_add(bins_[bin], n);
    }
  }
  // The bins as an array over all cores, in which each has a contiguous part. Called by a task
  // while nobody adds; waits.
  [[nodiscard]] const GlobalArray<std::uint64_t>& array() const {
    if (own_ != 0) merge();
    return bins_;
  }
  // All of them to 0. Called by a task while nobody adds; waits.
  void reset() const {
    on_all_cores([histogram = *this] {
      if (histogram.own_ != 0) std::fill_n(histogram.own(), histogram.n_bins(), 0);
      std::fill_n(histogram.bins_.local(), histogram.bins_.n_of(CoreContext::here().core()), 0);
    });
  }
  // All of them here. Called by a task while nobody adds; waits.
  [[nodiscard]] std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> all(n_bins());
    get(array(), 0, std::span(all));
    return all;
  }

 private:
  struct AddRange {
    std::uint64_t offset;
    void apply(CoreContext& here, ByteView counts) const {
      auto* const bins = reinterpret_cast<std::uint64_t*>(here.memory() + offset);
      const auto* const more = reinterpret_cast<const std::uint64_t*>(counts.data());
      for (std::size_t i = 0; i < counts.size() / sizeof(std::uint64_t); ++i)
        bins[i] += more[i];
    }
  };

  [[nodiscard]] std::uint64_t* own() const {
    return reinterpret_cast<std::uint64_t*>(CoreContext::here().memory() + own_);
  }
  void merge() const {
    on_all_cores([histogram = *this] { histogram.send_own(); });
  }
  // What this core has counted, to the owners of the bins.
  void send_own() const {
    CoreContext& here = CoreContext::here();
    std::uint64_t* const mine = own();
    for (std::uint64_t first = 0; first < n_bins(); first += bins_.block()) {
      const std::uint64_t n = std::min(bins_.block(), n_bins() - first);
      std::uint64_t* const part = mine + first;
      if (std::ranges::all_of(std::span(part, n), [](std::uint64_t count) { return count == 0; }))
        continue;
      const GlobalPtr<std::uint64_t> to = bins_[first];
      std::vector<std::uint64_t> counts(part, part + n);
      std::fill_n(part, n, 0);
      here.post(to.core(), AddRange{to.place().offset()},
                std::as_bytes(std::span(std::as_const(counts))));
    }
  }

  GlobalArray<std::uint64_t> bins_;
  std::uint64_t own_ = 0;  // offset of a core's own counts; 0: it has none
};

}  // namespace rubato::global

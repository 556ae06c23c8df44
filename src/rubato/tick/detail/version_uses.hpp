#pragma once
// VersionUses: how often each version of a region has yet to be read, for stores that free a version
// when its last reader is done instead of when all regions of the node are past its tick.
//
// That can be told where nothing is stepped but own regions: then each unit that reads a region does
// so once for each tick, and each neighbour is sent each version once. Replicas may be stepped or not,
// so with them no version is ever counted, and only the floor frees it.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "rubato/tick/plan.hpp"

namespace rubato::tick::detail {

class VersionUses {
 public:
  // Of a store whose first versions are of tick `begin`.
  VersionUses(const Plan& plan, Tick begin)
      : window_(static_cast<std::size_t>(plan.window())),
        begin_(begin),
        released_(begin),
        n_readers_(plan.regions.size()) {
    n_packs_.resize(plan.regions.size());
    left_ = std::make_unique<std::atomic<std::uint32_t>[]>(plan.regions.size() * window_);
    if (!counts(plan)) return;
    for (RegionId region = 0; region < plan.n_own; ++region) {
      for (const RegionId input : plan.inputs[region])
        ++n_readers_[input];
    }
    // The last version of a run stays, since its region, which reads it, takes no further step.
    for (RegionId region = 0; region < plan.n_own; ++region) {
      if (std::ranges::find(plan.inputs[region], region) == plan.inputs[region].end())
        n_readers_[region] = 0;
    }
    for (const Neighbour& neighbour : plan.neighbours) {
      for (const RegionId source : neighbour.sources)
        ++n_packs_[source];
    }
  }

  // Whether versions of such a plan are counted at all.
  [[nodiscard]] static bool counts(const Plan& plan) noexcept {
    return plan.policy.replica_layers == 0;
  }

  // The version is there now, and may be read. The first of a run is not sent to neighbours.
  void made(RegionId region, Tick t) noexcept {
    const std::uint32_t n = n_readers_[region] + (t == begin_ ? 0 : n_packs_[region]);
    at(region, t).store(n_readers_[region] == 0 ? kNotCounted : n, std::memory_order_relaxed);
  }
  // One of them has read it. True for the last, after which nobody looks at the version: what others
  // have read, they have read before.
  [[nodiscard]] bool used(RegionId region, Tick t) noexcept {
    return n_readers_[region] != 0 && at(region, t).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  // No version before `floor` is read any more: calls free(region, t) for those that are there yet.
  template <class F>
  void release(Tick floor, F&& free) {
    for (; released_ < floor; ++released_) {
      for (RegionId region = 0; region < n_readers_.size(); ++region) {
        if (at(region, released_).exchange(0, std::memory_order_relaxed) != 0)
          free(region, released_);
      }
    }
  }

 private:
  static constexpr std::uint32_t kNotCounted = UINT32_MAX;

  [[nodiscard]] std::atomic<std::uint32_t>& at(RegionId region, Tick t) noexcept {
    return left_[region * window_ + static_cast<std::size_t>(t) % window_];
  }

  const std::size_t window_;
  const Tick begin_;
  Tick released_;
  std::vector<std::uint32_t> n_readers_;  // [regions] own units; 0: not counted
  std::vector<std::uint32_t> n_packs_;    // [regions] neighbours that it is sent to
  // [regions][window] who is still to read it; 0: it is not there, or freed.
  std::unique_ptr<std::atomic<std::uint32_t>[]> left_;
};

}  // namespace rubato::tick::detail

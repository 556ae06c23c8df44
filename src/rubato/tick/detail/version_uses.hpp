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
  explicit VersionUses(const Plan& plan)
      : window_(static_cast<std::size_t>(plan.window())), n_readers_(plan.regions.size()) {
    n_packs_.resize(plan.regions.size());
    left_ = std::make_unique<std::atomic<std::uint32_t>[]>(plan.regions.size() * window_);
    if (plan.policy.replica_layers > 0) return;
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

  // The version is there now, and may be read. The first of a run is not sent to neighbours.
  void made(RegionId region, Tick t, bool is_first) noexcept {
    const std::uint32_t n = n_readers_[region] + (is_first ? 0 : n_packs_[region]);
    at(region, t).store(n_readers_[region] == 0 ? 0 : n, std::memory_order_relaxed);
  }
  // One of them has read it. True for the last, after which nobody looks at the version: what others
  // have read, they have read before.
  [[nodiscard]] bool used(RegionId region, Tick t) noexcept {
    return n_readers_[region] != 0 && at(region, t).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 private:
  [[nodiscard]] std::atomic<std::uint32_t>& at(RegionId region, Tick t) noexcept {
    return left_[region * window_ + static_cast<std::size_t>(t) % window_];
  }

  const std::size_t window_;
  std::vector<std::uint32_t> n_readers_;                // [regions] own units; 0: not counted
  std::vector<std::uint32_t> n_packs_;                  // [regions] neighbours that it is sent to
  std::unique_ptr<std::atomic<std::uint32_t>[]> left_;  // [regions][window]
};

}  // namespace rubato::tick::detail

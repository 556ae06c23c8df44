#pragma once
// RunnerLevels: which pooled tasks may begin on a core, by how deep their scopes are.
//
// A pooled task that waits keeps its runner, which is a stack; so there is a bound on those that
// wait. If it were one for all, the outer iterations of nested loops would take every runner, and
// the inner ones, for which they wait, could not begin: each level has runners of its own.
// While a level is full, no task of it or of a level above it begins. Those of the deepest level
// that anything runs or waits at have nothing to wait for below, so they end, and all others after
// them. Stacks are bounded as well: three quarters of what is left of them is for a level, the rest
// for the levels below.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rubato/core/message/block.hpp"

namespace rubato::core::detail {

class RunnerLevels {
 public:
  // What a runner in a task takes. Of tasks that somebody sent here there are as many as there are
  // stacks: they may wait for each other.
  struct Slot {
    std::uint32_t level = 0;
    bool is_sent = false;
    bool operator==(const Slot&) const = default;
  };

  // At most `n_most` tasks of a level, but for sent ones.
  explicit RunnerLevels(std::size_t n_most) noexcept : n_most_(n_most) {}
  // And of all together as many as the core has stacks.
  void set_stacks(std::size_t n_stacks) noexcept {
    n_stacks_ = n_stacks;
    update();
  }

  [[nodiscard]] bool has_room(Slot slot) const noexcept {
    return slot.level >= (slot.is_sent ? least_sent_ : least_);
  }
  // Tasks of this level and deeper ones may begin; all do where nothing is full.
  [[nodiscard]] std::uint32_t least() const noexcept { return least_; }
  // Runners in a task.
  [[nodiscard]] std::size_t n() const noexcept { return n_; }

  void enter(Slot slot) {
    if (slot.level >= n_of_level_.size()) n_of_level_.resize(slot.level + 1);
    ++n_;
    n_of_level_[slot.level] += slot.is_sent ? 0 : 1;
    if (n_of_level_[slot.level] >= n_most_ || n_ >= n_until_full_) [[unlikely]]
      update();
  }
  void leave(Slot slot) noexcept {
    --n_;
    n_of_level_[slot.level] -= slot.is_sent ? 0 : 1;
    if (least_ > 0) [[unlikely]]
      update();
  }

 private:
  void update() noexcept {
    auto level = static_cast<std::uint32_t>(n_of_level_.size());
    while (level > 0 && (n_of_level_[level - 1] < n_most_ || level > kScopeLevels))
      --level;
    least_sent_ = 0;
    while (least_sent_ < kLevels && n_ >= most_until(least_sent_))
      ++least_sent_;
    least_ = std::max(level, least_sent_);
    n_until_full_ = least_sent_ < kLevels ? most_until(least_sent_) : SIZE_MAX;
  }
  // Tasks of this level and those above it, if there are no others.
  [[nodiscard]] std::size_t most_until(std::uint32_t level) const noexcept {
    const std::uint32_t shift = 2 * (level + 1);
    return n_stacks_ - (shift < 8 * sizeof n_stacks_ ? n_stacks_ >> shift : 0);
  }

  static constexpr std::uint32_t kLevels = 32;  // with stacks of their own

  std::size_t n_most_;
  std::size_t n_stacks_ = SIZE_MAX;
  std::size_t n_ = 0;
  std::vector<std::size_t> n_of_level_;
  std::uint32_t least_ = 0;
  std::uint32_t least_sent_ = 0;
  std::size_t n_until_full_ = SIZE_MAX;
};

}  // namespace rubato::core::detail

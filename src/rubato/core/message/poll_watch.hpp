#pragma once
// PollWatch: whether all that the tasks of a core do for long is to yield, or to sleep and look again. They
// may well wait for something that never comes, which no count of what waits finds, or compute so; people
// are told, and nothing ends.

#include <atomic>
#include <cstdint>
#include <string>

#include "rubato/base/time.hpp"

namespace rubato::core::detail {

class PollWatch {
 public:
  // By the core, after a slice: all that it has done since the start but to yield and to sleep, and the
  // turns of its tasks.
  void note(std::uint64_t n_done, std::uint64_t n_turns, Nanos now) noexcept {
    if (n_done != n_done_) {
      n_done_ = n_done;
      since_.store(kNever, std::memory_order_relaxed);
    } else if (n_turns != n_turns_) {
      latest_.store(now, std::memory_order_relaxed);
      if (since_.load(std::memory_order_relaxed) == kNever)
        since_.store(now, std::memory_order_relaxed);
    }
    n_turns_ = n_turns;
  }
  // By any thread, and nobody else meanwhile: since when; kNever if it has done something else, or nothing
  // at all since `begun_by`, or did not poll for eight times as long as that is ago: computing tasks may yield
  // for a while, and others wait for nodes that are busy.
  [[nodiscard]] Nanos since(Nanos begun_by) const noexcept {
    constexpr Nanos kPatience = 8;
    const Nanos since = since_.load(std::memory_order_relaxed);
    const Nanos latest = latest_.load(std::memory_order_relaxed);
    const bool is_long = latest > begun_by && latest - since >= kPatience * (latest - begun_by);
    return since != kNever && is_long ? since : kNever;
  }
  // A task of those that poll since then: `name()` is who runs just now, "" between two. Null: ask again
  // at the next look, but not for ever.
  template <class F>
  [[nodiscard]] const std::string* task_since(Nanos since, const F& name) {
    constexpr int kLooksMost = 16;
    if (named_since_ != since) {
      named_since_ = since;
      name_.clear();
      n_looks_ = 0;
    }
    if (name_.empty() && n_looks_ < kLooksMost) {
      name_ = name();
      ++n_looks_;
      if (name_.empty() && n_looks_ < kLooksMost) return nullptr;
    }
    return &name_;
  }

 private:
  std::uint64_t n_done_ = 0;
  std::uint64_t n_turns_ = 0;
  std::atomic<Nanos> since_{kNever};
  std::atomic<Nanos> latest_{0};
  std::string name_;
  Nanos named_since_ = 0;
  int n_looks_ = 0;
};

}  // namespace rubato::core::detail

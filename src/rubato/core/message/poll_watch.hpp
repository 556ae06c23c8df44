#pragma once
// PollWatch: whether all that the tasks of a core do for long is to yield, or to sleep and look again. They
// may well wait for something that never comes, which no count of what waits finds, or compute so; people
// are told, and nothing ends.

#include <atomic>
#include <cstdint>

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
  // By any thread: since when; kNever if it has done something else since `begun_by`, or nothing at all.
  [[nodiscard]] Nanos since(Nanos begun_by) const noexcept {
    const Nanos since = since_.load(std::memory_order_relaxed);
    return since <= begun_by && latest_.load(std::memory_order_relaxed) > begun_by ? since : kNever;
  }

 private:
  std::uint64_t n_done_ = 0;
  std::uint64_t n_turns_ = 0;
  std::atomic<Nanos> since_{kNever};
  std::atomic<Nanos> latest_{0};
};

}  // namespace rubato::core::detail

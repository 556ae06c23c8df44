#pragma once
// Sleeper: where idle threads nap until there is something to do, or a time is over.
//
//   const auto seen = sleeper.seen();   // before looking for work
//   if (!found_work()) sleeper.nap(seen, 50 * kMicrosecond);
// Whoever makes work calls wake_*() after it; a thread that looked too early does not nap then.

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rubato/base/time.hpp"

namespace rubato::core::detail {

class Sleeper {
 public:
  [[nodiscard]] std::uint32_t seen() const noexcept { return version_.load(); }
  [[nodiscard]] bool anyone() const noexcept { return n_napping_.load() > 0; }

  // Naps for `time` at most, and not at all if a wake came after seen().
  void nap(std::uint32_t seen, Nanos time) noexcept {
    if (time <= 0) return;
    timespec t{};
    t.tv_sec = time / kSecond;
    t.tv_nsec = time % kSecond;
    n_napping_.fetch_add(1);
    // Partner of the increment in wake(): sequentially consistent both, so that either the waker
    // sees this napper or the kernel sees the new version.
    syscall(SYS_futex, &version_, FUTEX_WAIT_PRIVATE, seen, &t, nullptr, 0);
    n_napping_.fetch_sub(1);
  }
  // A system call only if somebody naps.
  void wake_one() noexcept { wake(1); }
  void wake_all() noexcept { wake(INT_MAX); }

 private:
  void wake(int n) noexcept {
    version_.fetch_add(1);
    if (anyone()) syscall(SYS_futex, &version_, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> version_{0};
  std::atomic<std::uint32_t> n_napping_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
};

}  // namespace rubato::core::detail

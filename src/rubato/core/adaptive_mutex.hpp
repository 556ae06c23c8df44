#pragma once
// AdaptiveMutex: a mutex that spins for some 30 us before it sleeps. Whoever holds what the cores of a
// node share leaves it sooner than that, and the way through the kernel and back takes tens of
// them on a virtual machine.

#include <mutex>

namespace rubato::core {

class AdaptiveMutex {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names of the standard's Lockable
  void lock() {
    int n_pauses = 1;
    for (int spent = 0; spent < kPausesMax; spent += n_pauses) {
      if (mutex_.try_lock()) return;
      n_pauses = n_pauses < 8 ? 2 * n_pauses : n_pauses;
      for (int i = 0; i < n_pauses; ++i)
        pause();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }
  // NOLINTEND

 private:
  static constexpr int kPausesMax = 1024;  // 15 to 45 us

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::mutex mutex_;
};

}  // namespace rubato::core

#include "bench/core_to_core.hpp"

#include <atomic>
#include <thread>

#include "rubato/base/time.hpp"
#include "rubato/core/placement.hpp"

namespace rubato::bench {
namespace {

constexpr Nanos kTime = 10 * kMillisecond;

struct alignas(128) Line {
  std::atomic<std::int64_t> value{0};
};

// Spins in user space; gives the processor away now and then, should both share one.
void await(const Line& line, std::int64_t value) {
  for (int i = 1; line.value.load(std::memory_order_acquire) != value; ++i) {
    if (i % 4096 == 0) std::this_thread::yield();
  }
}

}  // namespace

double core_to_core_ns(std::uint32_t n_cores) {
  if (n_cores < 2) return 0;
  const auto processors = core::place_cores(core::allowed_processors(), {}, n_cores);
  const auto pin = [&](std::size_t core) {
    if (!processors.empty()) core::pin_thread(processors[core]);
  };
  Line question;
  Line answer;
  constexpr std::int64_t kEnd = -1;
  std::thread other([&] {
    pin(1);
    for (std::int64_t round = 1;; ++round) {
      std::int64_t asked = 0;
      for (int i = 1; (asked = question.value.load(std::memory_order_acquire)) < round; ++i) {
        if (asked == kEnd) return;
        if (i % 4096 == 0) std::this_thread::yield();
      }
      answer.value.store(round, std::memory_order_release);
    }
  });
  std::int64_t n_rounds = 0;
  Nanos spent = 0;
  std::thread one([&] {
    pin(0);
    const Nanos begin = steady_now();
    while (spent < kTime) {
      for (int i = 0; i < 100; ++i) {
        question.value.store(++n_rounds, std::memory_order_release);
        await(answer, n_rounds);
      }
      spent = steady_now() - begin;
    }
    question.value.store(kEnd, std::memory_order_release);
  });
  one.join();
  other.join();
  return static_cast<double>(spent) / static_cast<double>(n_rounds);
}

}  // namespace rubato::bench

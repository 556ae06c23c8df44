#pragma once
// What each task of the benchmark `yield` does, whoever runs it: writes three lines of its stack
// between any two yields.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"

namespace rubato::bench {

// 0 to n - 1 in random order.
[[nodiscard]] inline std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(seed, n);
  for (std::size_t i = n; i > 1; --i) {
    const auto other = random.between(0, static_cast<std::int64_t>(i) - 1);
    std::swap(order[i - 1], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

// When the tasks of a run began to yield and ended.
class YieldClock {
 public:
  explicit YieldClock(std::size_t n_tasks) : n_tasks_(n_tasks) {}
  void task_begins() {
    if (n_begun_++ == 0) begin_ = steady_now();
  }
  void task_ends() {
    if (++n_ended_ == n_tasks_) end_ = steady_now();
  }
  [[nodiscard]] bool have_all_ended() const { return n_ended_ == n_tasks_; }
  [[nodiscard]] double ns_a_yield(std::uint64_t n_yields) const {
    return static_cast<double>(end_ - begin_) /
           (static_cast<double>(n_yields) * static_cast<double>(n_tasks_));
  }

 private:
  std::size_t n_tasks_;
  std::size_t n_begun_ = 0;
  std::size_t n_ended_ = 0;
  Nanos begin_ = 0;
  Nanos end_ = 0;
};

template <class Yield>
void yield_work(YieldClock& clock, std::uint64_t n_yields, Yield yield) {
  constexpr int kWarmUp = 3;
  // Not aligned to a line: GCC then addresses the frame by rbp, as those of few tasks are, which after a switch
  // is known only when the stack has come, and 100,000 tasks take 13 to 27 ns by the way it does so.
  volatile std::uint64_t kept[24] = {};
  const auto touch = [&] {
    for (int line = 0; line < 3; ++line)
      kept[8 * line] = kept[8 * line] + 1;
  };
  for (int i = 0; i < kWarmUp; ++i) {
    touch();
    yield();
  }
  clock.task_begins();
  for (std::uint64_t i = 0; i < n_yields; ++i) {
    touch();
    yield();
  }
  clock.task_ends();
  // The end of a task is no yield: nobody ends before all have yielded.
  while (!clock.have_all_ended())
    yield();
}

}  // namespace rubato::bench

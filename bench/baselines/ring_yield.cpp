#include "bench/baselines/ring_yield.hpp"

#include <algorithm>
#include <vector>

#include "bench/yield_work.hpp"
#include "rubato/base/prefetch.hpp"
#include "rubato/core/task/context.hpp"
#include "rubato/core/task/stack_pool.hpp"

namespace rubato::bench {
namespace {

using core::detail::new_context;
using core::detail::Stack;
using core::detail::StackClass;
using core::detail::StackPool;
using core::detail::switch_stacks;

constexpr std::ptrdiff_t kLine = 64;

// As far as the scheduler looks, and no further than the ring goes.
constexpr std::size_t kFew = 2048;
constexpr std::size_t kDistanceOfMany = 32;
constexpr std::size_t kDistanceOfFew = 12;
constexpr std::ptrdiff_t kLinesAskedFor = 5;

// What a switch needs is nowhere on the stacks: which of them is next is known before any of them has come.
class Ring {
 public:
  // One at a time in the process.
  Ring(std::size_t n, std::uint64_t n_yields, std::uint64_t seed)
      : pool_({}), n_yields_(n_yields), clock_(n), left_at_(n) {
    are_many_ = n >= kFew;
    distance_ = std::min(are_many_ ? kDistanceOfMany : kDistanceOfFew, n - 1);
    std::vector<Stack> stacks;
    stacks.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
      stacks.push_back(pool_.make(StackClass::small));
    const std::vector<std::size_t> order = shuffled(n, seed);
    for (std::size_t i = 0; i < n; ++i) {
      const Stack& stack = stacks[order[i]];
      left_at_[i] = new_context<enter>(stack.top(), stack.n_bytes);
    }
    current_ = this;
    ring_ = left_at_.data();
    n_ = n;
    at_ = 0;
  }
  double run() {
    switch_stacks(&outside_, left_at_[0]);
    return clock_.ns_a_yield(n_yields_);
  }

 private:
  static void enter() {
    yield_work(current_->clock_, current_->n_yields_, [] { yield(); });
    void* unused = nullptr;
    switch_stacks(&unused, current_->outside_);
  }
  [[gnu::always_inline]] static void yield() noexcept {
    void** const mine = ring_ + at_;
    at_ = after(at_, 1);
    const auto* ahead = static_cast<const char*>(ring_[after(at_, distance_)]);
    if (are_many_) {
      for (std::ptrdiff_t line = 0; line < kLinesAskedFor; ++line)
        prefetch_from_memory(ahead + line * kLine);
    } else {
      for (std::ptrdiff_t line = 0; line < kLinesAskedFor; ++line)
        prefetch_for_write(ahead + line * kLine);
    }
    switch_stacks(mine, ring_[at_]);
  }
  [[nodiscard]] static std::size_t after(std::size_t i, std::size_t n) noexcept {
    const std::size_t to = i + n;
    return to < n_ ? to : to - n_;
  }

  // NOLINTBEGIN(readability-identifier-naming): private
  inline static Ring* current_ = nullptr;
  inline static void** ring_ = nullptr;
  inline static std::size_t n_ = 0;
  inline static std::size_t at_ = 0;
  inline static std::size_t distance_ = 0;
  inline static bool are_many_ = false;
  // NOLINTEND(readability-identifier-naming)

  StackPool pool_;
  std::uint64_t n_yields_;
  YieldClock clock_;
  std::vector<void*> left_at_;
  void* outside_ = nullptr;
};

}  // namespace

double ring_yield_ns(std::size_t n, std::uint64_t n_yields, std::uint64_t seed) {
  return Ring(n, n_yields, seed).run();
}

}  // namespace rubato::bench

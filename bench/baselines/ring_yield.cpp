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

class Ring {
 public:
  Ring(std::size_t n, std::uint64_t n_yields, std::uint64_t seed)
      : pool_({}), n_yields_(n_yields), clock_(n), left_at_(n) {
    // As far as the scheduler looks, and no further than the ring goes.
    constexpr std::size_t kFew = 2048;
    are_many_ = n >= kFew;
    distance_ = std::min<std::size_t>(are_many_ ? 32 : 12, n - 1);
    std::vector<Stack> stacks;
    stacks.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
      stacks.push_back(pool_.make(StackClass::small));
    const std::vector<std::size_t> order = shuffled(n, seed);
    for (std::size_t i = 0; i < n; ++i) {
      const Stack& stack = stacks[order[i]];
      left_at_[i] = new_context<enter>(stack.top(), stack.n_bytes);
    }
  }
  double run() {
    current_ = this;
    switch_stacks(&outside_, left_at_[0]);
    return clock_.ns_a_yield(n_yields_);
  }

 private:
  static void enter() {
    Ring& ring = *current_;
    yield_work(ring.clock_, ring.n_yields_, [&ring] { ring.yield(); });
    void* unused = nullptr;
    switch_stacks(&unused, ring.outside_);
  }
  [[gnu::always_inline]] void yield() noexcept {
    void** const mine = &left_at_[at_];
    at_ = after(at_, 1);
    const auto* ahead = static_cast<const char*>(left_at_[after(at_, distance_)]);
    if (are_many_) {
      for (std::ptrdiff_t line = -1; line < 4; ++line)
        prefetch_from_memory(ahead + line * kLine);
    } else {
      for (std::ptrdiff_t line = -1; line < 4; ++line)
        prefetch_for_write(ahead + line * kLine);
    }
    switch_stacks(mine, left_at_[at_]);
  }
  [[nodiscard]] std::size_t after(std::size_t i, std::size_t n) const noexcept {
    const std::size_t to = i + n;
    return to < left_at_.size() ? to : to - left_at_.size();
  }

  // NOLINTNEXTLINE(readability-identifier-naming): private
  inline static Ring* current_ = nullptr;

  StackPool pool_;
  std::uint64_t n_yields_;
  YieldClock clock_;
  bool are_many_ = false;
  std::size_t distance_ = 0;
  std::vector<void*> left_at_;
  std::size_t at_ = 0;
  void* outside_ = nullptr;
};

}  // namespace

double ring_yield_ns(std::size_t n, std::uint64_t n_yields, std::uint64_t seed) {
  return Ring(n, n_yields, seed).run();
}

}  // namespace rubato::bench

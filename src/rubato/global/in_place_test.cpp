#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/simulate_test.hpp"

// Delegates that a task runs in place, on its own core.

namespace rubato::global {
namespace {

constexpr std::uint64_t kCalls = 20'000;

// Of the delegates that were posted in place and have not been applied, the most at a time.
struct Open {
  std::uint64_t n = 0;
  std::uint64_t n_most = 0;
};
Open open;

// A task that never waits by itself, and posts within delegates alone, which must not wait.
template <class Call>
void post_in_place(const Call& call_in_place) {
  open = {};
  simulate_seed(
      2, 2, 1,
      [&] {
        const auto words = GlobalArray<std::uint64_t>::make(4, 1);
        finish([&] {
          for (std::uint64_t i = 0; i < kCalls; ++i) {
            open.n_most = std::max(open.n_most, ++open.n);
            call_in_place(words[this_core()], words[i % 4]);
          }
        });
      },
      tiny_windows());
  EXPECT_EQ(open.n, 0U);
}

TEST(InPlace, WhatDelegatesOfALoopPostIsBounded) {
  post_in_place([](GlobalPtr<std::uint64_t> mine, GlobalPtr<std::uint64_t> other) {
    call(mine, [other](std::uint64_t& /*x*/) {
      async_call(other, [](std::uint64_t& /*x*/) { --open.n; });
    });
  });
  EXPECT_LT(open.n_most, 1'000U);
}

TEST(InPlace, WhatFuturesOfALoopPostIsBounded) {
  post_in_place([](GlobalPtr<std::uint64_t> mine, GlobalPtr<std::uint64_t> other) {
    const auto future = future_call(mine, [other](std::uint64_t& x) {
      async_call(other, [](std::uint64_t& /*x*/) { --open.n; });
      return x;
    });
  });
  EXPECT_LT(open.n_most, 1'000U);
}

// A pool has no bound, but others see what is in it.
TEST(InPlace, WhatDelegatesOfALoopSpawnIsRunMeanwhile) {
  post_in_place([](GlobalPtr<std::uint64_t> mine, GlobalPtr<std::uint64_t> /*other*/) {
    call(mine, [](std::uint64_t& /*x*/) { spawn_anywhere([] { --open.n; }); });
  });
  EXPECT_LT(open.n_most, kCalls);
}

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
TEST(InPlaceDeathTest, ADelegateThatWaitsIsToldByItsOwnName) {
  EXPECT_DEATH(simulate_seed(1, 2, 1,
                             [] {
                               const auto words = GlobalArray<std::uint64_t>::make(2);
                               // What was applied last is something else.
                               on_all_cores([words] {
                                 finish([words] { async_write(words[this_core()], 1); });
                               });
                               call(words[0], [words](std::uint64_t& x) { x = read(words[1]); });
                             }),
               "must not wait.*ADelegateThatWaitsIsToldByItsOwnName");
}

TEST(InPlaceDeathTest, ADelegateThatTouchesTheMemoryOfAnotherCoreIsToldByItsName) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto words = GlobalArray<std::uint64_t>::make(2);
                               finish([words] {
                                 async_call(words[1],
                                            [words](std::uint64_t& x) { x = words[0].local(); });
                               });
                             }),
               "of another core.*AsyncRecord.*ADelegateThatTouchesTheMemoryOfAnotherCore.* at "
               ".*in_place_test.cpp:[0-9]+, 0, 1");
}

TEST(InPlaceDeathTest, ADelegateInPlaceThatTouchesTheMemoryOfAnotherCoreIsToldByItsName) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto words = GlobalArray<std::uint64_t>::make(2);
                               call(words[0], [words](std::uint64_t& x) { x = words[1].local(); });
                             }),
               "of another core.*ADelegateInPlaceThatTouchesTheMemoryOfAnotherCore.* at "
               ".*in_place_test.cpp:[0-9]+, 1, 0");
}
#endif

}  // namespace
}  // namespace rubato::global

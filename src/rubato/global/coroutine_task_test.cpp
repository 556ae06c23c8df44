// Coroutines with results, and what coroutines and tasks have of each other.

#include "rubato/global/coroutine_task.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/global/add.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/team.hpp"

namespace rubato::global {
namespace {

// A heap over all cores: the sum of what lies below one, and how deep that goes.
struct Found {
  std::uint64_t sum;
  int depth;
};
CoroutineOf<Found> look_below(GlobalArray<std::uint64_t> heap, std::uint64_t i) {
  if (i >= heap.size()) co_return Found{0, 0};
  const std::uint64_t mine = co_await awaited_read(heap[i]);
  const Found left = co_await look_below(heap, 2 * i + 1);
  const Found right = co_await look_below(heap, 2 * i + 2);
  co_return Found{mine + left.sum + right.sum, 1 + std::max(left.depth, right.depth)};
}
CoroutineOf<std::string> name_of(GlobalPtr<std::uint64_t> p) {
  const std::uint64_t value = co_await awaited_read(p);
  if (value > 30) throw std::runtime_error("too large: " + std::to_string(value));
  co_return "no. " + std::to_string(value);
}
CoroutineOf<std::unique_ptr<std::string>> own_name_of(GlobalPtr<std::uint64_t> p) {
  co_return std::make_unique<std::string>(co_await name_of(p));
}

std::uint64_t n_wrong_results(std::uint64_t /*seed*/) {
  std::uint64_t n_wrong = 0;
  const auto heap = GlobalArray<std::uint64_t>::make(50);
  forall(heap, [](std::uint64_t i, std::uint64_t& x) { x = i; });
  const Found all = wait_for(look_below(heap, 0));
  n_wrong += all.sum != 49 * 25 ? 1 : 0;
  n_wrong += all.depth != 6 ? 1 : 0;
  for (std::uint64_t i = 0; i < heap.size(); ++i) {
    std::string text;
    try {
      const std::unique_ptr<std::string> name = wait_for(own_name_of(heap[i]));
      text = *name;
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    const std::string expected = (i > 30 ? "too large: " : "no. ") + std::to_string(i);
    n_wrong += text != expected ? 1 : 0;
  }
  heap.free();
  return n_wrong;
}
TEST(CoroutineOf, HasAResultOrAnErrorForWhoWaits) {
  expect_right(n_wrong_results);
}

// Each of very many asks another one, and adds what it says.
CoroutineOf<std::uint64_t> twice(GlobalPtr<std::uint64_t> p) {
  co_return 2 * co_await awaited_read(p);
}
TEST(CoroutineOf, IsAskedByAllOfAWideLoopAtOnce) {
  constexpr std::uint64_t kMany = 20'000;
  std::uint64_t sum = 0;
  simulate_seed(3, 2, 1, [&] {
    const auto to = make_global(sum);
    const auto words = GlobalArray<std::uint64_t>::make(100);
    forall(words, [](std::uint64_t i, std::uint64_t& x) { x = i; });
    forall(0, kMany, [=](std::uint64_t i) -> Coroutine {
      const std::uint64_t value = co_await twice(words[i % 100]);
      async_add(to, value);
    });
    words.free();
  });
  EXPECT_EQ(sum, kMany / 100 * 99 * 100);
}

// Neither who waits for very many, one after the other, nor the last of very many that wait for each other
// takes more of the stack, whatever is optimized.
CoroutineOf<std::uint64_t> same(std::uint64_t x) {
  co_return x;
}
CoroutineOf<std::uint64_t> add_up(std::uint64_t n) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < n; ++i)
    sum += co_await same(i);
  co_return sum;
}
CoroutineOf<std::uint64_t> count_down(std::uint64_t n, bool waits) {
  if (n == 0) co_return 0;
  if (waits) co_await awaited_sleep_for(1);
  co_return 1 + co_await count_down(n - 1, waits);
}
TEST(CoroutineOf, TakesNoStackHoweverManyGoOnAfterEachOther) {
  constexpr std::uint64_t kMany = 300'000;
  constexpr std::uint64_t kDeep = 50'000;
  simulate_seed(1, 1, 1, [=] {
    EXPECT_EQ(wait_for(add_up(kMany)), kMany * (kMany - 1) / 2);
    EXPECT_EQ(wait_for(count_down(kDeep, false)), kDeep);
    EXPECT_EQ(wait_for(count_down(kDeep, true)), kDeep);
  });
}

// What a lambda has captured is kept for its coroutine.
std::uint64_t n_wrong_lambdas(std::uint64_t seed) {
  const auto words = GlobalArray<std::uint64_t>::make(20);
  finish([&] {
    for (std::uint64_t i = 0; i < words.size(); ++i) {
      start([words, i, seed, text = std::string(100, 'x')]() -> Coroutine {
        co_await awaited_write(words[i], seed);
        co_await awaited_fetch_add(words[i], text.size() + i);
      });
    }
  });
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < words.size(); ++i)
    n_wrong += read(words[i]) != seed + 100 + i ? 1 : 0;
  words.free();
  return n_wrong;
}
TEST(CoroutineOf, AStartedLambdaKeepsWhatItHasCaptured) {
  expect_right(n_wrong_lambdas);
}

Coroutine fill(GlobalArray<std::uint64_t> words, std::uint64_t value) {
  for (std::uint64_t i = 0; i < words.size(); ++i)
    co_await awaited_write(words[i], value);
  if (value == 13) throw std::runtime_error("thirteen");
}
std::uint64_t n_wrong_waits(std::uint64_t seed) {
  std::uint64_t n_wrong = 0;
  const auto words = GlobalArray<std::uint64_t>::make(20);
  for (const std::uint64_t value : {seed + 100, std::uint64_t{13}}) {
    bool failed = false;
    try {
      wait_for(fill(words, value));
    } catch (const std::runtime_error&) {
      failed = true;
    }
    n_wrong += failed != (value == 13) ? 1 : 0;
    for (std::uint64_t i = 0; i < words.size(); ++i)
      n_wrong += read(words[i]) != value ? 1 : 0;
  }
  words.free();
  return n_wrong;
}
TEST(CoroutineTask, ATaskWaitsForTheEndOfACoroutine) {
  expect_right(n_wrong_waits);
}

// A coroutine on each core has its collectives, its loops and its scopes by tasks.
Coroutine sum_of_all(GlobalPtr<std::uint64_t> to, std::uint64_t seed) {
  const std::uint64_t mine = this_core() + seed;
  const std::uint64_t all =
      co_await awaited_task([mine] { return Team::job().allreduce(mine, std::plus<>{}); });
  std::uint64_t n_looped = 0;
  co_await awaited_task([&n_looped] {
    std::uint64_t found = 0;
    forall(0, 30, [at = make_global(found)](std::uint64_t) { async_add(at, 1); });
    n_looped = found;
  });
  std::string failure;
  try {
    co_await awaited_task([] {
      yield();
      throw std::runtime_error("of a task");
    });
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  const std::uint64_t n = n_cores();
  const bool is_right =
      all == n * seed + n * (n - 1) / 2 && n_looped == 30 && failure == "of a task";
  if (is_right) async_add(to, 1);
}
std::uint64_t n_wrong_tasks(std::uint64_t seed) {
  std::uint64_t n_right = 0;
  on_all_cores([seed, to = make_global(n_right)]() -> Coroutine { return sum_of_all(to, seed); });
  return n_right == n_cores() ? 0 : 1;
}
TEST(CoroutineTask, ACoroutineWaitsForATask) {
  expect_right(n_wrong_tasks);
}

TEST(CoroutineTask, WhatItsTaskStartsBelongsToTheScopeOfTheCoroutine) {
  std::uint64_t n_done = 0;
  std::uint64_t n_seen = 0;
  simulate_seed(2, 1, 1, [&] {
    finish([to = make_global(n_done)] {
      spawn_on(1, [to]() -> Coroutine {
        co_await awaited_task([to] { spawn_after(kMillisecond, [to] { async_add(to, 1); }); });
      });
    });
    n_seen = n_done;
  });
  EXPECT_EQ(n_seen, 1U);
}

// In virtual time it is exact.
Coroutine sleep_and_tell(Nanos for_ns, std::vector<Nanos>& woken) {
  co_await awaited_sleep_for(for_ns);
  woken.push_back(CoreContext::here().clock());
  co_await awaited_sleep_for(for_ns);
  woken.push_back(CoreContext::here().clock());
}
TEST(CoroutineTime, IsWaitedForAndOthersGoOnMeanwhile) {
  std::vector<Nanos> woken;
  Nanos begin = 0;
  simulate([&] {
    begin = CoreContext::here().clock();
    finish([&] {
      start(sleep_and_tell(50 * kMillisecond, woken));
      start(sleep_and_tell(20 * kMillisecond, woken));
    });
  });
  ASSERT_EQ(woken.size(), 4U);
  const std::vector<Nanos> expected{20, 40, 50, 100};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(woken[i], begin + expected[i] * kMillisecond);
    EXPECT_LT(woken[i], begin + expected[i] * kMillisecond + kMillisecond);
  }
}
TEST(CoroutineTime, IsWaitedForByVeryManyOnRealCores) {
  std::uint64_t n_done = 0;
  run_here(2, [&] {
    const auto to = make_global(n_done);
    forall(0, 20'000, [to](std::uint64_t i) -> Coroutine {
      co_await awaited_sleep_for(static_cast<Nanos>(i % 7) * kMillisecond);
      async_add(to, 1);
    });
  });
  EXPECT_EQ(n_done, 20'000U);
}

std::string failure_of(const std::function<void()>& main) {
  try {
    simulate_seed(2, 1, 1, main);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
TEST(CoroutineTask, ThatDoesNotEndIsADeadlockThatSaysWhatIsWaitedFor) {
  const std::string text = failure_of([] {
    static CoroutineEvent never;
    start([]() -> Coroutine {
      co_await awaited_task([] { wait_for([]() -> Coroutine { co_await never; }()); });
    }());
  });
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("1 for a task of its own"), std::string::npos) << text;
  EXPECT_NE(text.find("the end of a coroutine"), std::string::npos) << text;
}
// As of any coroutine that nobody waits for.
TEST(CoroutineTask, WhatItThrowsAfterATimeEndsTheRun) {
  const std::string text = failure_of([] {
    forall(0, 3, [](std::uint64_t i) -> Coroutine {
      co_await awaited_sleep_for(kMillisecond);
      co_await awaited_task([] { yield(); });
      if (i == 1) throw std::runtime_error("late");
    });
  });
  EXPECT_NE(text.find("a coroutine that was started at"), std::string::npos) << text;
  EXPECT_NE(text.find("coroutine_task_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find(": late"), std::string::npos) << text;
}

#if !defined(__SANITIZE_THREAD__)
using CoroutineTaskDeathTest = testing::Test;  // NOLINT(readability-identifier-naming)
TEST(CoroutineTaskDeathTest, OnASmallStackIsRefused) {
  const auto ask = [] {
    wait_for([]() -> Coroutine {
      co_await awaited_task([] {}, {"small", core::StackClass::small});
    }());
  };
  EXPECT_DEATH(simulate_seed(1, 1, 1, ask), "a small one is too small");
}
TEST(CoroutineTaskDeathTest, ACoroutineIsStartedOnce) {
  const auto ask = [] {
    Coroutine coroutine = []() -> Coroutine { co_return; }();
    start(std::move(coroutine));
    start(std::move(coroutine));  // NOLINT(bugprone-use-after-move): told
  };
  EXPECT_DEATH(simulate_seed(1, 1, 1, ask), "started or awaited twice");
}
#endif

}  // namespace
}  // namespace rubato::global

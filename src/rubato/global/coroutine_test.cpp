#include "rubato/global/coroutine.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/global/add.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/hash_set.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

Coroutine wait_for(CoroutineEvent& event, std::uint64_t& n_done) {
  co_await event;
  ++n_done;
}

template <class F>
std::string failure_of(F main) {
  try {
    simulate_seed(2, 1, 1, main);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Nobody else waits: without the count of those that have not ended the run would end well.
TEST(Coroutine, OneThatNobodyWakesIsADeadlockWithThePlaceWhereItWasStarted) {
  static CoroutineEvent never;
  std::uint64_t n_done = 0;
  const std::string text = failure_of([&] {
    for (int i = 0; i < 3; ++i)
      start(wait_for(never, n_done));
  });
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("3 coroutines of core 0, started at"), std::string::npos) << text;
  EXPECT_NE(text.find("wait (3 for events)"), std::string::npos) << text;
  EXPECT_NE(text.find("coroutine_test.cpp:"), std::string::npos) << text;
  EXPECT_EQ(n_done, 0U);
}

TEST(Coroutine, OneThatAScopeWaitsForIsToldBesideItsTask) {
  static CoroutineEvent never;
  std::uint64_t n_done = 0;
  const std::string text = failure_of([&] {
    finish([&] {
      spawn_on(1, [] {
        static std::uint64_t n_done_there = 0;
        static CoroutineEvent there;
        start(wait_for(there, n_done_there));
      });
      start(wait_for(never, n_done));
    });
  });
  EXPECT_NE(text.find("the end of a finish scope"), std::string::npos) << text;
  EXPECT_NE(text.find("1 coroutine of core 0, started at"), std::string::npos) << text;
  EXPECT_NE(text.find("1 coroutine of core 1, started at"), std::string::npos) << text;
}

TEST(Coroutine, OneOfNoScopeEndsBeforeTheRunDoes) {
  static std::uint64_t n_done = 0;
  n_done = 0;
  simulate_seed(2, 1, 1, [] {
    static CoroutineEvent event;
    for (int i = 0; i < 100; ++i)
      start(wait_for(event, n_done));
    CoreContext::here().spawn_after(kSecond, [] { event.set(); });
  });
  EXPECT_EQ(n_done, 100U);
}

// Each waits for its event and sets the next one.
Coroutine pass_on(std::deque<CoroutineEvent>& events, std::size_t i, std::size_t& n_done) {
  co_await events[i];
  ++n_done;
  events[i + 1].set();
}
TEST(CoroutineEvent, OfAChainTakesNoStack) {
  constexpr std::size_t kLong = 100'000;
  std::deque<CoroutineEvent> events(kLong + 1);
  std::size_t n_done = 0;
  simulate_seed(1, 1, 1, [&] {
    finish([&] {
      for (std::size_t i = 0; i < kLong; ++i)
        start(pass_on(events, i, n_done));
      events[0].set();
    });
  });
  EXPECT_EQ(n_done, kLong);
}

Coroutine note_turn(CoroutineEvent& event, int number, std::vector<int>& order) {
  co_await event;
  order.push_back(number);
}
TEST(CoroutineEvent, LetsWhoCameFirstGoOnFirstWhenTheCallerWaits) {
  std::vector<int> order;
  simulate_seed(1, 1, 1, [&] {
    CoroutineEvent event;
    finish([&] {
      for (int i = 0; i < 50; ++i)
        start(note_turn(event, i, order));
      event.set();
      EXPECT_TRUE(order.empty());
    });
  });
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

Coroutine throw_after(CoroutineEvent& event) {
  co_await event;
  throw std::runtime_error("thrown behind an event");
}
TEST(CoroutineEvent, WhatThrowsBehindItEndsTheRunAndNotWhoHasSetIt) {
  static CoroutineEvent event;
  bool is_told = false;
  const std::string text = failure_of([&] {
    start(throw_after(event));
    try {
      event.set();
      yield();
    } catch (const std::exception&) {
      is_told = true;
    }
  });
  EXPECT_FALSE(is_told);
  EXPECT_NE(text.find("thrown behind an event"), std::string::npos) << text;
  EXPECT_NE(text.find("coroutine_test.cpp:"), std::string::npos) << text;
}

// Walks that wait for all others: so many do at once. Both nodes are in this process.
constexpr std::uint64_t kWalks = 200'000;
struct Walks {
  std::uint64_t n_at_gate = 0;
  std::uint64_t n_ended = 0;
  CoroutineEvent gate_of[2];  // by core
};
std::optional<Walks>& walks_of_run() {
  static std::optional<Walks> only;
  return only;
}
Walks& walks() {
  return *walks_of_run();
}

Coroutine walk(GlobalPtr<std::uint64_t> p) {
  co_await awaited_fetch_add(p, 1);
  if (++walks().n_at_gate == kWalks) {
    for (CoreId core = 0; core < 2; ++core)
      spawn_on(core, [] { walks().gate_of[this_core()].set(); });
  }
  co_await walks().gate_of[this_core()];
  co_await awaited_fetch_add(p, 1);
  ++walks().n_ended;
}

// Of iterations with stacks some thousand of a core may wait, and would keep the others out.
TEST(Coroutine, AllOfAVeryWideLoopMayWaitAtOnce) {
  ASSERT_GT(kWalks / 2, core::detail::StackPoolOptions{}.n_guarded_max);
  ASSERT_GT(kWalks / 2, core::MessageOptions{}.n_waiting_most);
  walks_of_run().emplace();
  std::uint64_t sum = 0;
  const auto run = simulate_seed(2, 1, 1, [&] {
    const auto words = GlobalArray<std::uint64_t>::make(1'000);
    forall(0, kWalks, [=](std::uint64_t i) { start(walk(words[i % 1'000])); });
    forall(words, [to = make_global(sum)](std::uint64_t& x) { async_add(to, x); });
    words.free();
  });
  EXPECT_EQ(walks().n_ended, kWalks);
  EXPECT_EQ(sum, 2 * kWalks);
  EXPECT_LT(run.counters.n_tasks, 1'000U);
}

// Bodies that are coroutines, of all that runs bodies: each waits until all of them do, and then reads what
// its lambda has captured, whose task has ended long ago.
struct Gate {
  std::uint64_t n = 0;
  std::uint64_t n_in = 0;
  CoroutineEvent of_core[2];
};
std::optional<Gate>& gate_of_run() {
  static std::optional<Gate> only;
  return only;
}
Gate& gate() {
  return *gate_of_run();
}
// NOLINTNEXTLINE(readability-function-size): a lambda that is a coroutine
Coroutine pass_and_add(GlobalPtr<std::uint64_t> to, std::uint64_t x) {
  if (++gate().n_in == gate().n) {
    for (CoreId core = 0; core < 2; ++core)
      spawn_on(core, [] { gate().of_core[this_core()].set(); });
  }
  co_await gate().of_core[this_core()];
  co_await awaited_fetch_add(to, x);
}
// As main of two nodes; `run` starts n bodies with what adds up to `sum` in all.
template <class Run>
void expect_all_wait_at_once(std::uint64_t n, std::uint64_t sum, Run run) {
  gate_of_run().emplace();
  gate().n = n;
  std::uint64_t found = 0;
  simulate_seed(2, 1, 1, [&] { run(make_global(found)); });
  EXPECT_EQ(gate().n_in, n);
  EXPECT_EQ(found, sum);
}

TEST(CoroutineBodies, OfALoopOverARange) {
  expect_all_wait_at_once(50'000, std::uint64_t{50'000} * 49'999 / 2 * 3, [](auto to) {
    const std::uint64_t factor = 3;
    forall(0, 50'000, [to, factor](std::uint64_t i) -> Coroutine {
      co_await pass_and_add(to, i);
      co_await awaited_fetch_add(to, i * (factor - 1));
    });
  });
}
TEST(CoroutineBodies, OfALoopOverAnArray) {
  expect_all_wait_at_once(1'000, 1'000 * 7 + 499'500, [](auto to) {
    const auto array = GlobalArray<std::uint64_t>::make(1'000, 10);
    forall(array, [to](std::uint64_t i, std::uint64_t& x) -> Coroutine {
      x = 7 + i;
      co_await pass_and_add(to, 0);
      co_await awaited_fetch_add(to, x);
    });
    array.free();
  });
}
TEST(CoroutineBodies, OfLoopsOverContainers) {
  expect_all_wait_at_once(400, 100 * (1 + 2 + 3 + 4), [](auto to) {
    const auto map = GlobalHashMap<std::uint64_t, std::uint64_t>::make();
    const auto set = GlobalHashSet<std::uint64_t>::make();
    const auto bag = GlobalBag<std::uint64_t>::make();
    const auto vector = GlobalVector<std::uint64_t>::make();
    for (std::uint64_t i = 0; i < 100; ++i) {
      map.insert(i, 1);
      set.insert(i);
      bag.put(3);
      vector.push(4);
    }
    finish([&] {
      async_forall(map, [to](std::uint64_t, std::uint64_t& x) { return pass_and_add(to, x); });
      async_forall(set, [to](std::uint64_t) { return pass_and_add(to, 2); });
      async_forall(bag, [to](std::uint64_t x) { return pass_and_add(to, x); });
      async_forall(vector, [to](std::uint64_t, std::uint64_t& x) { return pass_and_add(to, x); });
    });
  });
}
TEST(CoroutineBodies, OfTasks) {
  expect_all_wait_at_once(6, 1 + 2 + 3 + 4 + 5 + 5, [](auto to) {
    finish([to] {
      // One that cannot be copied, and one too large for the pool.
      spawn([to, one = std::make_unique<std::uint64_t>(1)]() -> Coroutine {
        co_await pass_and_add(to, 0);
        co_await awaited_fetch_add(to, *one);
      });
      spawn_on(1, [to]() -> Coroutine { co_await pass_and_add(to, 2); });
      spawn_on(1, [to, many = std::array<std::uint64_t, 100>{3}]() -> Coroutine {
        co_await pass_and_add(to, 0);
        co_await awaited_fetch_add(to, many[0]);
      });
      spawn_anywhere([to]() -> Coroutine { co_await pass_and_add(to, 4); });
      async_on_all_cores([to]() -> Coroutine { co_await pass_and_add(to, 5); });
    });
  });
}
TEST(CoroutineBodies, ThatThrowAtOnceEndTheRunWithThePlaceOfTheirTask) {
  const std::string text = failure_of([] {
    forall(0, 3, [](std::uint64_t i) -> Coroutine {
      if (i == 1) throw std::runtime_error("of a body");
      co_return;
    });
  });
  EXPECT_NE(text.find("of a body"), std::string::npos) << text;
  EXPECT_NE(text.find("'forall' spawned at"), std::string::npos) << text;
}
TEST(CoroutineBodies, ThatThrowWithAFutureUnderWayEndTheRunWithTheirError) {
  const std::string text = failure_of([] {
    const auto array = GlobalArray<std::uint64_t>::make(2);
    forall(0, 3, [array](std::uint64_t i) -> Coroutine {
      const Future<std::uint64_t> under_way = future_read(array[1]);
      co_await awaited_read(array[0]);
      if (i == 1) throw std::runtime_error("of a body");
    });
  });
  EXPECT_NE(text.find("of a body"), std::string::npos) << text;
}
TEST(CoroutineBodies, ThatNobodyWakesAreToldWithThePlaceOfTheLoopAndWhatTheyWaitFor) {
  static CoroutineEvent never;
  const auto body = [](std::uint64_t) -> Coroutine { co_await never; };
  const int line = __LINE__ + 1;
  const std::string text = failure_of([=] { forall(0, 3, body); });
  EXPECT_NE(text.find("coroutine_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_NE(text.find(" for events)"), std::string::npos) << text;
}

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
TEST(CoroutineDeathTest, WhatItCallsMustNotWaitBeforeItsFirstWaitEither) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               finish([&] {
                                 start([](auto p) -> Coroutine {
                                   static_cast<void>(read(p));
                                   co_return;
                                 }(array[1]));
                               });
                             }),
               "and a coroutine but at co_await.*must not wait.*a coroutine.*coroutine_test.cpp");
}
TEST(CoroutineDeathTest, WhatItCallsMustNotWaitAfterAnEvent) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               CoroutineEvent event;
                               finish([&] {
                                 start([](auto p, CoroutineEvent& of) -> Coroutine {
                                   co_await of;
                                   static_cast<void>(read(p));
                                 }(array[1], event));
                                 event.set();
                               });
                             }),
               "and a coroutine but at co_await.*must not wait.*a coroutine.*coroutine_test.cpp");
}
TEST(CoroutineDeathTest, AFutureThatItHasNotAwaitedMustNotBeGotEither) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               finish([&] {
                                 start([](auto p) -> Coroutine {
                                   Future<std::uint64_t> not_awaited = future_read(p);
                                   static_cast<void>(not_awaited.get());
                                   co_return;
                                 }(array[1]));
                               });
                             }),
               "and a coroutine but at co_await.*must not wait.*a coroutine.*coroutine_test.cpp");
}

Coroutine write_to(GlobalPtr<std::uint64_t> p, std::uint64_t* to) {
  co_await awaited_call(p, [to](std::uint64_t& x) { *to = x; });
}

TEST(CoroutineDeathTest, ADelegateOfACoroutineThatCapturesAnAddressIsToldWithItsPlace) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               std::uint64_t local = 0;
                               finish([&] { start(write_to(array[1], &local)); });
                             }),
               "captures an address.*write_to");
}
#endif

}  // namespace
}  // namespace rubato::global

#include "rubato/global/coroutine.hpp"

#include <string>

#include <gtest/gtest.h>

#include "rubato/global/add.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/simulate_test.hpp"

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

// Walks that wait for all others: so many do at once. Both nodes are in this process.
constexpr std::uint64_t kWalks = 200'000;
struct Walks {
  std::uint64_t n_at_gate = 0;
  std::uint64_t n_ended = 0;
  CoroutineEvent gate_of[2];  // by core
};
Walks& walks() {
  static Walks all;
  return all;
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

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
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

// Native work that has to end within a time: on real threads, and in virtual time.

#include "rubato/core/message/native_call.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/global/delegate.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

using core::CoreContext;
using core::native_time_is_up;
using core::NativeCall;

void until_told() {
  while (!native_time_is_up())
    std::this_thread::yield();
}

void hold(Nanos time) {
  std::promise<void> never;
  never.get_future().wait_for(std::chrono::nanoseconds(time));
}

TEST(NativeCall, EndsInTimeOrTellsItsTaskAndItself) {
  run_here(1, [] {
    int n = 0;
    NativeCall quick([&] { n = 7; }, kSecond * 60);
    EXPECT_TRUE(quick.wait_in_time());
    quick.wait();
    quick.rethrow();
    EXPECT_EQ(n, 7);
    std::atomic<bool> may_end = false;
    NativeCall slow(
        [&] {
          until_told();
          while (!may_end)
            std::this_thread::yield();
          throw Error("too late", ExitCode::failed);
        },
        10 * kMillisecond);
    EXPECT_FALSE(slow.wait_in_time());
    EXPECT_FALSE(slow.wait_for(5 * kMillisecond));
    // The core goes on, with what the task waits for as well.
    int m = 0;
    finish([&] { spawn([&] { m = 1; }); });
    EXPECT_EQ(m, 1);
    may_end = true;
    EXPECT_TRUE(slow.wait_for(60 * kSecond));
    EXPECT_THROW(slow.rethrow(), Error);
  });
  EXPECT_FALSE(native_time_is_up());
}

// Those that wait for a thread have not begun.
TEST(NativeCall, HasItsTimeFromItsBegin) {
  bool is_in_time = false;
  run_here(
      1,
      [&] {
        NativeCall first([] { hold(600 * kMillisecond); }, kNever);
        NativeCall second([] {}, 400 * kMillisecond);
        is_in_time = second.wait_in_time();
      },
      1);
  EXPECT_TRUE(is_in_time);
}

// However long the turn has taken in which the core saw that it has begun.
TEST(NativeCall, HasAllOfItsTime) {
  for (int i = 0; i < 20; ++i) {
    run_here(1, [&] {
      hold(30 * kMillisecond);
      NativeCall call([] { hold(10 * kMillisecond); }, 25 * kMillisecond);
      const Nanos begin = CoreContext::here().clock();
      const bool is_in_time = call.wait_in_time();
      EXPECT_TRUE(is_in_time || CoreContext::here().clock() - begin >= 25 * kMillisecond);
    });
  }
}

// That its time was up while the task waited for something else is no end of a patience that begins
// later.
TEST(NativeCall, HasAllOfAPatienceThatBeginsWhenItIsLate) {
  run_here(1, [] {
    NativeCall call([] { hold(300 * kMillisecond); }, 10 * kMillisecond);
    CoreContext::here().run_native([] { hold(60 * kMillisecond); });
    EXPECT_FALSE(call.wait_in_time());
    EXPECT_TRUE(call.wait_for(100 * kSecond));
  });
}

TEST(NativeCall, IsToldToEndWhenTheRunFails) {
  const auto fail = [] {
    std::atomic<int> n_begun = 0;
    const auto work = [&] {
      ++n_begun;
      until_told();
    };
    spawn([&] { CoreContext::here().run_native(work); });
    spawn([&] { NativeCall(work, 1000 * kSecond).wait(); });
    while (n_begun < 2)
      CoreContext::here().yield();
    throw Error("the main task", ExitCode::failed);
  };
  EXPECT_THROW(run_here(1, fail), Error);
}

TEST(NativeCall, TakesInVirtualTimeWhatItsCoreIsChargedWith) {
  simulate([] {
    std::string seen;
    const auto charge = [&](Nanos time) {
      return [&seen, time] {
        seen += native_time_is_up() ? "late " : "begun ";
        CoreContext::here().charge(time);
        seen += native_time_is_up() ? "late " : "in time ";
      };
    };
    NativeCall slow(charge(3 * kSecond), 2 * kSecond);
    EXPECT_FALSE(slow.wait_in_time());
    EXPECT_TRUE(slow.wait_for(1));
    NativeCall quick(charge(2 * kSecond), 2 * kSecond);
    EXPECT_TRUE(quick.wait_in_time());
    EXPECT_EQ(seen, "begun late begun in time ");
  });
}

// One thread, which waits for both: what is brief does not wait for it, nor do those that are allowed
// beside it.
TEST(NativeWork, brief_and_allowed_ones_go_on_beside_a_long_one) {
  std::promise<int> brief;
  std::promise<int> other;
  int sum = 0;
  const auto main = [&] {
    CoreContext& here = CoreContext::here();
    here.allow_native(1);
    here.finish([&] {
      spawn([&] {
        sum = CoreContext::here().run_native(
            [&] { return brief.get_future().get() + other.get_future().get(); });
      });
      spawn([&] {
        CoreContext::here().run_native([&] { other.set_value(30); });
        CoreContext::here().allow_native(0);
        CoreContext::here().run_native([&] { brief.set_value(12); }, {core::NativeTime::brief});
      });
    });
  };
  run_here(1, main, 1);
  EXPECT_EQ(sum, 42);
}

// One thread, which waits for both others, of which one waits for the other; these wait for a thread.
TEST(NativeWork, those_that_wait_begin_when_more_are_allowed) {
  std::promise<int> second;
  std::promise<int> third;
  int sum = 0;
  const auto main = [&] {
    CoreContext::here().finish([&] {
      std::shared_future<int> of_third = third.get_future().share();
      spawn([&, of_third] {
        sum = CoreContext::here().run_native(
            [&] { return second.get_future().get() + of_third.get(); });
      });
      spawn([&, of_third] {
        CoreContext::here().run_native([&] { second.set_value(2 * of_third.get()); });
      });
      spawn([&] { CoreContext::here().run_native([&] { third.set_value(14); }); });
      spawn([] { CoreContext::here().allow_native(2); });
    });
  };
  run_here(1, main, 1);
  EXPECT_EQ(sum, 42);
}

// One thread, which is busy until all others wait for it.
TEST(NativeWork, begins_by_priority_and_then_by_age) {
  const std::vector<std::int32_t> priorities{0, 2, -1, 2, 0, 5, 0};
  std::vector<std::size_t> came;
  std::vector<std::size_t> begun;
  std::atomic<bool> is_busy{false};
  std::promise<void> all_wait;
  const auto main = [&] {
    CoreContext::here().finish([&] {
      spawn([&] {
        CoreContext::here().run_native([&] {
          is_busy = true;
          all_wait.get_future().wait();
        });
      });
      while (!is_busy)
        CoreContext::here().tasks().yield();
      for (std::size_t i = 0; i < priorities.size(); ++i) {
        spawn([&, i] {
          came.push_back(i);
          CoreContext::here().run_native([&] { begun.push_back(i); },
                                         {core::NativeTime::any, priorities[i]});
        });
      }
      while (came.size() < priorities.size())
        CoreContext::here().tasks().yield();
      all_wait.set_value();
    });
  };
  run_here(1, main, 1);
  std::ranges::stable_sort(came, std::greater(), [&](std::size_t i) { return priorities[i]; });
  EXPECT_EQ(begun, came);
}

}  // namespace
}  // namespace rubato::global

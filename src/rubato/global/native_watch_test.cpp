// What the watchdog says of native work that runs for long: on real threads.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>

#include <gtest/gtest.h>

#include "rubato/core/message/beside.hpp"
#include "rubato/core/message/native_call.hpp"
#include "rubato/core/task/sync.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/watched_run_test.hpp"

namespace rubato::global {
namespace {

using core::Beside;
using core::CoreContext;
using core::NativeCall;

constexpr const char* kIdle = " s while all cores of the node are idle";
constexpr Nanos kPatience = 6 * kSecond;  // then a test fails, and does not hang
constexpr const char* kBusy = " s beside cores that work";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void hold(Nanos time) {
  std::promise<void> never;
  never.get_future().wait_for(std::chrono::nanoseconds(time));
}

std::string line_of_here(int line) {
  return "native_watch_test.cpp:" + std::to_string(line);
}

TEST(NativeWatch, work_that_stays_in_a_read_is_told_with_its_place_and_its_task) {
  EmptyPipe pipe;
  int asked = 0;
  int spawned = 0;
  const auto read = [&] {
    asked = __LINE__ + 1;
    CoreContext::here().run_native([&] { pipe.read(); });
  };
  const auto main = [&] {
    finish([&] {
      spawned = __LINE__ + 1;
      spawn(read, {"a reader"});
    });
  };
  const auto lines =
      watched_run(50 * kMillisecond, main, [&](const std::string&) { pipe.let_go(); });
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines[0].starts_with("native work asked for at ")) << lines[0];
  EXPECT_TRUE(contains(lines[0], line_of_here(asked) + " by task 'a reader' spawned at "))
      << lines[0];
  EXPECT_TRUE(contains(lines[0], line_of_here(spawned) + " has run for 0.")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(kIdle)) << lines[0];
}

// For longer than it takes to suspect a deadlock, and to say the same again.
TEST(NativeWatch, tasks_that_wait_for_work_that_does_not_end_are_no_deadlock) {
  EmptyPipe pipe;
  core::FullEmpty<int> is_read;
  const auto main = [&] {
    finish([&] {
      spawn([&] { EXPECT_EQ(is_read.read_ff(), 1); });
      spawn([&] {
        CoreContext::here().run_native([&] { pipe.read(); });
        is_read.write_ef(1);
      });
    });
  };
  int n_lines = 0;
  const auto lines = watched_run(60 * kMillisecond, main, [&](const std::string&) {
    if (++n_lines == 3) pipe.let_go();
  });
  EXPECT_GE(lines.size(), 3U);
  for (const std::string& line : lines) {
    EXPECT_TRUE(contains(line, "native work")) << line;
    EXPECT_FALSE(contains(line, "deadlock")) << line;
  }
}

TEST(NativeWatch, works_that_end_are_not_told) {
  const auto main = [] {
    const Nanos begin = CoreContext::here().clock();
    while (CoreContext::here().clock() - begin < 1'500 * kMillisecond)
      CoreContext::here().run_native([] { hold(5 * kMillisecond); });
  };
  EXPECT_EQ(watched_run(500 * kMillisecond, main), std::vector<std::string>());
}

// Somebody will be told, who knows what to do.
TEST(NativeWatch, a_call_is_not_told_before_its_time_is_up_and_nobody_looks_again) {
  EmptyPipe pipe;
  std::atomic<int> n_lines = 0;
  int n_in_time = -1;
  int n_in_patience = -1;
  const auto main = [&] {
    NativeCall call([&] { pipe.read(); }, 300 * kMillisecond);
    EXPECT_FALSE(call.wait_in_time());
    n_in_time = n_lines;
    EXPECT_FALSE(call.wait_for(300 * kMillisecond));
    n_in_patience = n_lines;
    call.wait();
  };
  const auto lines = watched_run(200 * kMillisecond, main, [&](const std::string&) {
    ++n_lines;
    pipe.let_go();
  });
  EXPECT_EQ(n_in_time, 0);
  EXPECT_EQ(n_in_patience, 0);
  EXPECT_FALSE(lines.empty());
}

// One that asks again and again has work all the time: that nothing comes of it nobody knows.
TEST(NativeWatch, work_that_a_task_waits_for_by_asking_is_told_later) {
  EmptyPipe pipe;
  const auto main = [&] {
    std::atomic<bool> is_read = false;
    finish([&] {
      spawn([&] {
        CoreContext::here().run_native([&] { pipe.read(); });
        is_read = true;
      });
      while (!is_read)
        CoreContext::here().yield();
    });
  };
  const auto lines =
      watched_run(50 * kMillisecond, main, [&](const std::string&) { pipe.let_go(); });
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(contains(lines[0], " has run for ")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(kBusy)) << lines[0];
}

// Nothing that is counted waits, so that no deadlock is found: people are told.
TEST(NativeWatch, a_task_that_yields_for_something_that_never_comes_is_told) {
  std::atomic<bool> is_told = false;
  int spawned = 0;
  const auto main = [&] {
    finish([&] {
      spawned = __LINE__ + 1;
      spawn(
          [&] {
            const Nanos begin = CoreContext::here().clock();
            while (!is_told && CoreContext::here().clock() - begin < kPatience)
              yield();
          },
          {"a poll"});
    });
  };
  const auto lines =
      watched_run(20 * kMillisecond, main, [&](const std::string&) { is_told = true; });
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(contains(lines[0], ", whose tasks yield or sleep and do nothing else")) << lines[0];
  EXPECT_TRUE(contains(lines[0], "(task 'a poll' spawned at ")) << lines[0];
  EXPECT_TRUE(contains(lines[0], line_of_here(spawned) + "), has run for 0.")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(kBusy)) << lines[0];
}

TEST(NativeWatch, a_task_that_sleeps_and_looks_again_is_told) {
  std::atomic<bool> is_told = false;
  const auto main = [&] {
    const Nanos begin = CoreContext::here().clock();
    while (!is_told && CoreContext::here().clock() - begin < kPatience)
      sleep_for(kMillisecond);
  };
  const auto lines =
      watched_run(20 * kMillisecond, main, [&](const std::string&) { is_told = true; });
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(contains(lines[0], ", whose tasks yield or sleep and do nothing else")) << lines[0];
}

TEST(NativeWatch, tasks_that_do_something_now_and_then_are_not_told) {
  const auto main = [] {
    core::FullEmpty<int> ball;
    const Nanos begin = CoreContext::here().clock();
    while (CoreContext::here().clock() - begin < 400 * kMillisecond) {
      for (int i = 0; i < 1000; ++i)
        yield();
      finish([&] { spawn([&] { ball.write_ef(1); }); });
      EXPECT_EQ(ball.read_fe(), 1);
    }
  };
  EXPECT_EQ(watched_run(20 * kMillisecond, main), std::vector<std::string>());
}

// What no task runs is told by the name of the delegate, or the place of the coroutine.
std::string lines_of(const std::function<void()>& main) {
  std::string all;
  for (const std::string& line : watched_run(50 * kMillisecond, main, [](const std::string&) {}))
    all += line + "\n";
  return all;
}
void compute_for_long(GlobalPtr<std::uint64_t> p) {
  async_call(p, [](std::uint64_t& x) {
    hold(300 * kMillisecond);
    ++x;
  });
}
TEST(NativeWatch, a_delegate_that_computes_for_long_is_told_by_its_name) {
  const std::string text = lines_of([] {
    std::uint64_t x = 0;
    finish([p = make_global(x)] { compute_for_long(p); });
  });
  EXPECT_TRUE(contains(text, "is busy with messages of core 0 (")) << text;
  EXPECT_TRUE(contains(text, "compute_for_long")) << text;
}
TEST(NativeWatch, a_coroutine_that_computes_for_long_is_told_by_its_place) {
  int line = 0;
  const std::string text = lines_of([&] {
    std::uint64_t x = 0;
    finish([&, p = make_global(x)] {
      line = __LINE__ + 1;
      start([p]() -> Coroutine {
        co_await awaited_fetch_add(p, 1);
        hold(300 * kMillisecond);
      });
    });
  });
  EXPECT_TRUE(contains(text, "is busy with messages of core 0 (a coroutine that was started at "))
      << text;
  EXPECT_TRUE(contains(text, line_of_here(line) + ")")) << text;
}

TEST(NativeWatch, a_task_that_stays_beside_its_core_is_told) {
  EmptyPipe pipe;
  int asked = 0;
  const auto main = [&] {
    asked = __LINE__ + 1;
    Beside beside;
    beside.run([&] { pipe.read(); });
  };
  const auto lines =
      watched_run(50 * kMillisecond, main, [&](const std::string&) { pipe.let_go(); });
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines[0].starts_with("work beside its core asked for at ")) << lines[0];
  EXPECT_TRUE(contains(lines[0], line_of_here(asked) + " by task ")) << lines[0];
}

}  // namespace
}  // namespace rubato::global

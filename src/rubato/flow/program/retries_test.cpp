#include "rubato/flow/program/retries.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::quiet;
using program_testing::TempFolder;

ProgramEnd failed(const std::string& problem) {
  ProgramEnd end;
  end.code = 1;
  end.started = true;
  end.problem = problem;
  return end;
}

RetryPolicy tries(std::uint32_t n_tries) {
  RetryPolicy policy;
  policy.n_tries = n_tries;
  policy.pause = kMillisecond;
  return policy;
}

TEST(Retries, run_once_by_default) {
  Launcher launcher(quiet());
  const ProgramEnd end = with_retries(launcher, {}, [](std::uint32_t) { return failed("why"); });
  EXPECT_EQ(end.n_tries, 1U);
  EXPECT_EQ(end.problem, "why");
}

TEST(Retries, end_with_the_first_try_that_ends_well) {
  const TempFolder folder;
  Launcher launcher(quiet());
  // Works at the third time.
  ProgramCall call{.words = {"sh", "-c", "echo >> log; test $(wc -l < log) -eq 3"}};
  call.folder = folder.path();
  const ProgramEnd end =
      with_retries(launcher, tries(5), [&](std::uint32_t) { return launcher.run(call); });
  EXPECT_TRUE(end.well());
  EXPECT_EQ(end.n_tries, 3U);
  EXPECT_EQ(end.problem, "");
}

TEST(Retries, say_the_reason_of_each_try) {
  Launcher launcher(quiet());
  const ProgramEnd end = with_retries(launcher, tries(4), [](std::uint32_t n_failed) {
    return failed(n_failed == 0 ? "no licence;\nasked twice" : "no memory");
  });
  EXPECT_EQ(end.code, 1);
  EXPECT_EQ(end.problem,
            "failed 4 times:\n  try 1: no licence;\n    asked twice\n  try 2 to 4: no memory");
}

TEST(Retries, say_no_more_than_a_reader_reads) {
  Launcher launcher(quiet());
  RetryPolicy policy = tries(100);
  policy.pause = 0;
  const ProgramEnd end = with_retries(launcher, policy, [](std::uint32_t n_failed) {
    return failed("reason " + std::to_string(n_failed + 1));
  });
  EXPECT_TRUE(contains(end.problem, "try 8: reason 8\n  ...\n  try 93: reason 93\n"))
      << end.problem;
  EXPECT_TRUE(end.problem.ends_with("try 100: reason 100"));
}

TEST(Retries, do_not_repeat_what_cannot_become_better) {
  Launcher launcher(quiet());
  const ProgramEnd missing = with_retries(launcher, tries(5), [&](std::uint32_t) {
    return launcher.run({.words = {"no-such-program-here"}});
  });
  EXPECT_EQ(missing.n_tries, 1U);
  RetryPolicy policy = tries(5);
  policy.after_timeout = false;
  const ProgramEnd late = with_retries(launcher, policy, [&](std::uint32_t) {
    ProgramCall call{.words = {"sleep", "100"}};
    call.timeout = 10 * kMillisecond;
    return launcher.run(call);
  });
  EXPECT_EQ(late.n_tries, 1U);
  EXPECT_TRUE(late.timed_out);
}

TEST(Retries, pause_longer_each_time_up_to_a_bound) {
  RetryPolicy policy;
  policy.pause = 10;
  policy.growth = 3;
  policy.pause_max = 200;
  EXPECT_EQ(pause_after(policy, 1), 10);
  EXPECT_EQ(pause_after(policy, 2), 30);
  EXPECT_EQ(pause_after(policy, 3), 90);
  EXPECT_EQ(pause_after(policy, 4), 200);
  EXPECT_EQ(pause_after(policy, 4'000'000'000U), 200);
}

TEST(Retries, stop_within_a_pause_when_the_run_ends) {
  Launcher launcher(quiet());
  RetryPolicy policy = tries(5);
  policy.pause = policy.pause_max = 1000 * kSecond;
  std::atomic<bool> tried = false;
  ProgramEnd end;
  std::thread runner([&] {
    end = with_retries(launcher, policy, [&](std::uint32_t) {
      tried = true;
      return failed("why");
    });
  });
  while (!tried)
    std::this_thread::yield();
  launcher.kill_all();
  runner.join();
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(end.problem, "why (no more tries: stopped)");
}

}  // namespace
}  // namespace rubato::flow

// What a whole program takes and says: tasks of its loops, memory of its heaps, its deadlocks.

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

std::uint64_t n_tasks_of_loop(std::uint64_t n_iterations, LoopOptions loop) {
  SimulateOptions options;
  options.n_nodes = 1;
  std::uint64_t n_run = 0;
  const auto run = simulate(
      [&] {
        forall(
            0, n_iterations, [&](std::uint64_t) { ++n_run; }, loop);
      },
      options);
  EXPECT_EQ(n_run, n_iterations);
  return run.counters.n_pooled;
}

// Sixty-four tasks or more where there are that many iterations, so that others can help; none larger
// than a task of 1,024, so that the last one does not keep all waiting.
TEST(Program, ALoopIsCutIntoEnoughTasksIfNobodySaysHowLargeTheyAre) {
  EXPECT_LE(n_tasks_of_loop(20, {}), 2 * 20U);
  const std::uint64_t few = n_tasks_of_loop(6'400, {});
  EXPECT_GE(few, 63U);
  EXPECT_LE(few, 2 * 64U);
  const std::uint64_t many = n_tasks_of_loop(1'000'000, {});
  EXPECT_GE(many, 1'000'000U / 1'024);
  EXPECT_LE(many, 4 * 1'000'000U / 1'024);
  EXPECT_GE(n_tasks_of_loop(6'400, {10}), 639U);
  EXPECT_LE(n_tasks_of_loop(6'400, {6'400}), 2U);
}

// Which their scope waits for; with a task of the core that goes on meanwhile.
TEST(Program, TasksOfATimeAndThoseThatSleepBelongToTheirScope) {
  std::vector<std::string> order;
  std::vector<Nanos> when;
  simulate_seed(1, 1, 1, [&] {
    const auto note = [&](const char* what) {
      order.emplace_back(what);
      when.push_back(CoreContext::here().clock());
    };
    const Nanos begin = CoreContext::here().clock();
    finish([&] {
      spawn_after(30 * kMillisecond, [&] { note("late"); });
      spawn_after(10 * kMillisecond, [&] { spawn([&] { note("early"); }); });
      spawn([&] {
        sleep_for(20 * kMillisecond);
        note("slept");
      });
      spawn([&] { note("now"); });
    });
    note("end");
    for (Nanos& time : when)
      time = (time - begin) / kMillisecond;
  });
  EXPECT_EQ(order, (std::vector<std::string>{"now", "early", "slept", "late", "end"}));
  EXPECT_EQ(when, (std::vector<Nanos>{0, 10, 20, 30, 30}));
}

Nanos time_of_fork_and_join(std::uint64_t n_tasks, Nanos of_each, Nanos beside) {
  Nanos took = 0;
  SimulateOptions options;
  options.n_nodes = 1;
  options.n_cores = 2;
  simulate(
      [&] {
        sleep_for(kMillisecond);  // the other core has nothing to do by then
        // Not for the first time: many short ones, a few, and one.
        for (const std::uint64_t n : {std::uint64_t{3000}, std::uint64_t{5}, n_tasks}) {
          const Nanos begin = CoreContext::here().clock();
          finish([&] {
            for (std::uint64_t i = 0; i < n; ++i)
              spawn_anywhere([n, n_tasks, of_each] {
                CoreContext::here().charge(n == n_tasks ? of_each : kMicrosecond);
              });
            CoreContext::here().charge(beside);
          });
          took = CoreContext::here().clock() - begin;
          sleep_for(kMillisecond);
        }
      },
      options);
  return took;
}

TEST(Program, WhatATaskMakesIsRunByAnotherCoreWhileItComputesForLong) {
  constexpr Nanos kLong = 10 * kMillisecond;
  EXPECT_LT(time_of_fork_and_join(1, kLong, kLong), 11 * kMillisecond);
  EXPECT_LT(time_of_fork_and_join(2, kLong, 2 * kLong), 31 * kMillisecond);
  EXPECT_LT(time_of_fork_and_join(20, kMillisecond, kLong), 17 * kMillisecond);
}

TEST(Program, WhoYieldsUntilSomethingHasComeSeesItCome) {
  for (const std::uint64_t n_who_yield : {1U, 2U, 5U}) {
    simulate_seed(1, 2, 1, [n_who_yield] {
      static bool has_come;
      static std::uint64_t n_seen;
      has_come = false;
      n_seen = 0;
      finish([&] {
        for (std::uint64_t i = 0; i < n_who_yield; ++i) {
          spawn([] {
            while (!has_come)
              yield();
            ++n_seen;
          });
        }
        spawn_on(1, [] {
          sleep_for(kMillisecond);
          spawn_on(0, [] { has_come = true; });
        });
      });
      EXPECT_EQ(n_seen, n_who_yield);
    });
  }
}

TEST(Program, ADeadlockOfTasksOnRealCoresIsToldByTheirNames) {
  core::FullEmpty<int> never;
  std::string text = "no deadlock";
  try {
    run_here(2, [&] {
      finish([&] {
        CoreContext::here().spawn([&] { static_cast<void>(never.read_ff()); }, {"reader"});
      });
    });
  } catch (const Error& error) {
    text = error.what();
  }
  for (const char* const part :
       {"deadlock", "'reader'", "program_test.cpp:", "for a cell to be full"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

// Of many tasks that wait some are named; of the others the number is told.
TEST(Program, ADeadlockOfManyTasksNamesEightOfANodeAndSaysHowManyMoreThereAre) {
  static core::FullEmpty<int> never;
  std::string text = "no deadlock";
  try {
    simulate_seed(2, 1, 1, [] {
      finish([] {
        for (int i = 0; i < 19; ++i)
          CoreContext::here().spawn([] { static_cast<void>(never.read_ff()); }, {"reader"});
      });
    });
  } catch (const Error& error) {
    text = error.what();
  }
  std::size_t n_named = 0;
  for (std::size_t at = text.find("spawned at"); at != std::string::npos;
       at = text.find("spawned at", at + 1))
    ++n_named;
  EXPECT_EQ(n_named, 8U) << text;
  // The main task waits as well.
  EXPECT_NE(text.find("and 12 more tasks"), std::string::npos) << text;
}

// All of the time is in the first part of the range, which is of one core at first. How long that
// takes, over an even share of it.
double unevenness(std::uint32_t n_nodes, std::uint64_t n_iterations, LoopOptions loop) {
  static std::uint64_t n_long;
  SimulateOptions options;
  options.n_nodes = n_nodes;
  options.n_cores = 2;
  options.program.bytes_a_core = kTestBytesACore;
  n_long = n_iterations / (2 * n_nodes);
  const auto run = simulate(
      [&] {
        const auto body = [](std::uint64_t i) {
          if (i < n_long) CoreContext::here().charge(kMillisecond);
        };
        forall(0, n_iterations, body, loop);
      },
      options);
  return static_cast<double>(run.wall) / static_cast<double>(n_long / (2 * n_nodes) * kMillisecond);
}

TEST(Program, IterationsThatTakeLongAreCutFinerThanOthers) {
  for (const std::uint32_t n_nodes : {2U, 4U, 8U}) {
    for (const std::uint64_t n_iterations : {4'096U, 16'384U}) {
      SCOPED_TRACE(std::to_string(n_nodes) + " nodes, " + std::to_string(n_iterations));
      const double cut = unevenness(n_nodes, n_iterations, {});
      EXPECT_LT(cut, 1.1 * unevenness(n_nodes, n_iterations, {1}));
      EXPECT_LT(cut, n_iterations / n_nodes >= 2'048 ? 1.2 : 1.75);
    }
    EXPECT_LT(unevenness(n_nodes, 131'072, {}), 1.1) << n_nodes << " nodes";
  }
  // Who says how large they are has them so.
  EXPECT_GT(unevenness(8, 16'384, {16}), 2);
}

TEST(Program, IterationsOfARangeGoToWhoeverHasNothingLeft) {
  constexpr std::uint64_t kIterations = 4'096;
  constexpr std::uint64_t kCores = 8;
  constexpr std::uint64_t kLong = kIterations / kCores;
  static std::vector<std::uint64_t> n_long_of;
  n_long_of.assign(kCores, 0);
  SimulateOptions options;
  options.n_nodes = 4;
  options.n_cores = 2;
  options.program.bytes_a_core = kTestBytesACore;
  const auto run = simulate(
      [] {
        const auto body = [](std::uint64_t i) {
          if (i >= kLong) return;
          CoreContext::here().charge(kMillisecond);
          ++n_long_of[this_core()];
        };
        forall(0, kIterations, body, {1});
      },
      options);
  const Nanos even = kLong / kCores * kMillisecond;
  EXPECT_LT(run.wall, even * 5 / 4);  // of its first core alone: eight times as long
  EXPECT_GT(run.counters.n_given, 0U);
  EXPECT_GT(run.counters.n_stolen, 0U);
  for (const std::uint64_t n_long : n_long_of) {
    EXPECT_GT(n_long, kLong / kCores / 2);
    EXPECT_LT(n_long, kLong / kCores * 2);
  }
}

// Resident memory of this process, in bytes.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t n_pages = 0;
  statm >> n_pages >> n_pages;
  return n_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Program, MemoryOfTheHeapsIsTakenAsItIsUsed) {
  constexpr std::uint64_t kWords = std::uint64_t{1} << 27;  // 1 GiB
  constexpr std::uint64_t kUsed = std::uint64_t{1} << 22;   // 32 MiB
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = 1;
  options.owns_process = false;
  core::NodeHost host(fabric, options);
  run(host, {}, [] {
    const std::uint64_t before = resident_bytes();
    const auto table = GlobalArray<std::uint64_t>::make(kWords);
    EXPECT_LT(resident_bytes(), before + kUsed * 4);
    forall(0, kUsed, [=](std::uint64_t i) { write(table[i], i); });
    const std::uint64_t used = resident_bytes() - before;
    EXPECT_GE(used, kUsed * 8);
    EXPECT_LT(used, kUsed * 8 + (64U << 20));
    table.free();
  });
}

}  // namespace
}  // namespace rubato::global

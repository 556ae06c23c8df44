#include "rubato/core/task/scheduler.hpp"

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/core/task/deep_test.hpp"

namespace rubato::core {
namespace {

constexpr TaskOptions kSmall{"small", StackClass::small};

// Frames under the sanitizers are larger than 4 KiB.
Scheduler::Options options() {
  Scheduler::Options of;
  of.stacks.small_bytes = std::size_t{32} << 10;
  return of;
}

// Runs all that is ready, in turns of `budget`.
void run(Scheduler& tasks, std::uint64_t budget = 1000) {
  while (tasks.run_some(budget).more) {
  }
}

void yield() {
  Scheduler::current().yield();
}

TEST(Scheduler, tasks_begin_in_the_order_of_their_spawns) {
  Scheduler tasks(options());
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i)
    tasks.spawn([&order, i] { order.push_back(i); });
  run(tasks);
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(tasks.figures().n_ended, 1000U);
  EXPECT_EQ(tasks.figures().n_workers, 1U);
}

TEST(Scheduler, who_yields_comes_after_all_that_were_ready) {
  Scheduler tasks(options());
  std::string order;
  for (const char name : {'a', 'b'}) {
    tasks.spawn([&order, name] {
      for (int i = 0; i < 3; ++i) {
        order += name;
        yield();
      }
    });
  }
  run(tasks);
  EXPECT_EQ(order, "ababab");
}

// Each of many tasks says when it had its turns; some end before others, so that many become few.
std::vector<std::uint32_t> turns_of_many(std::uint32_t prefetch_distance) {
  constexpr std::uint32_t kTasks = 3'000;
  Scheduler::Options of = options();
  of.prefetch_distance = prefetch_distance;
  Scheduler tasks(of);
  std::vector<std::uint32_t> turns;
  for (std::uint32_t i = 0; i < kTasks; ++i) {
    tasks.spawn(
        [&turns, i] {
          for (std::uint32_t turn = 0; turn <= i % 7; ++turn) {
            turns.push_back(i);
            yield();
          }
        },
        kSmall);
  }
  run(tasks);
  return turns;
}

TEST(Scheduler, what_is_asked_for_ahead_changes_no_order) {
  const std::vector<std::uint32_t> turns = turns_of_many(0);
  ASSERT_EQ(turns.size(), 3'000U / 7 * 28 + 1 + 2 + 3 + 4);
  for (const std::uint32_t distance : {1U, 8U, 32U, 5'000U})
    EXPECT_EQ(turns_of_many(distance), turns) << distance;
}

TEST(Scheduler, a_task_that_yields_for_ever_keeps_no_new_task_out) {
  Scheduler tasks(options());
  bool done = false;
  tasks.spawn([&] {
    tasks.spawn([&] { done = true; });
    while (!done)
      yield();
  });
  run(tasks);
  EXPECT_TRUE(done);
}

TEST(Scheduler, run_some_comes_back_from_tasks_that_never_end) {
  Scheduler tasks(options());
  bool stop = false;
  std::uint64_t n = 0;
  for (int i = 0; i < 3; ++i) {
    tasks.spawn([&] {
      while (!stop) {
        ++n;
        yield();
      }
    });
  }
  EXPECT_TRUE(tasks.run_some(1000).more);
  EXPECT_GE(n, 900U);
  EXPECT_LE(n, 1000U + 64 + 3);
  stop = true;
  run(tasks);
  EXPECT_EQ(tasks.figures().n_ended, 3U);
}

TEST(Scheduler, run_some_comes_back_from_tasks_that_only_wake_each_other) {
  Scheduler tasks(options());
  Worker* waits = nullptr;
  bool stop = false;
  for (int i = 0; i < 2; ++i) {
    tasks.spawn([&] {
      while (!stop) {
        if (waits != nullptr) tasks.wake(*std::exchange(waits, nullptr));
        waits = &tasks.running();
        tasks.suspend("the other");
      }
      if (waits != nullptr) tasks.wake(*std::exchange(waits, nullptr));
    });
  }
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(tasks.run_some(1000).more);
  stop = true;
  run(tasks);
  EXPECT_EQ(tasks.figures().n_ended, 2U);
}

// Two tasks of each kind that `kinds` has a bit of, and whether a new one has run beside them after
// some thousand turns.
bool runs_a_new_task_beside(unsigned kinds, std::uint64_t budget) {
  Scheduler tasks(options());
  Worker* waits = nullptr;
  bool done = false;
  bool stop = false;
  const auto be_busy = [&](unsigned kind) {
    while (!stop) {
      if (kind == 0) yield();
      if (kind == 1) tasks.yield_to_driver();
      if (kind != 2) continue;
      if (waits != nullptr) tasks.wake(*std::exchange(waits, nullptr));
      waits = &tasks.running();
      tasks.suspend("the other");
    }
    if (kind == 2 && waits != nullptr) tasks.wake(*std::exchange(waits, nullptr));
  };
  for (unsigned kind = 0; kind < 3; ++kind) {
    for (int i = 0; i < 2 && (kinds >> kind & 1U) != 0; ++i)
      tasks.spawn([&be_busy, kind] { be_busy(kind); });
  }
  for (int i = 0; i < 100; ++i)
    static_cast<void>(tasks.run_some(budget));
  tasks.spawn([&done] { done = true; });
  for (int i = 0; i < 5'000 && !done; ++i)
    static_cast<void>(tasks.run_some(budget));
  const bool has_run = done;
  stop = true;
  run(tasks);
  return has_run;
}

TEST(Scheduler, tasks_that_are_always_ready_keep_no_new_one_out) {
  for (unsigned kinds = 1; kinds < 8; ++kinds) {
    for (const std::uint64_t budget : {1, 3, 63, 64, 65, 1000})
      EXPECT_TRUE(runs_a_new_task_beside(kinds, budget)) << kinds << ", " << budget;
  }
}

// A turn ends with a yield, to another task or to nobody, and with the end of a task.
TEST(Scheduler, turns_are_counted_one_by_one) {
  for (const std::uint64_t n_yields : {10U, 31U, 32U, 64U, 100U}) {
    for (const std::uint64_t budget : {1U, 1000U}) {
      Scheduler tasks(options());
      for (std::uint64_t n_tasks = 1; n_tasks <= 2; ++n_tasks) {
        for (std::uint64_t i = 0; i < n_tasks; ++i) {
          tasks.spawn([n_yields] {
            for (std::uint64_t k = 0; k < n_yields; ++k)
              yield();
          });
        }
        run(tasks, budget);
        // Of one task, and of two.
        const std::uint64_t n_all = n_tasks * (n_tasks + 1) / 2;
        EXPECT_EQ(tasks.figures().n_turns, n_all * (n_yields + 1)) << n_yields << ", " << budget;
        EXPECT_EQ(tasks.figures().n_ended, n_all);
      }
    }
  }
}

TEST(Scheduler, a_suspension_and_a_turn_for_the_driver_count_as_turns) {
  Scheduler tasks(options());
  Worker* sleeper = nullptr;
  tasks.spawn([&] {
    sleeper = &tasks.running();
    for (int i = 0; i < 3; ++i)
      tasks.suspend("a test");
  });
  tasks.spawn([&] { tasks.yield_to_driver(); });
  run(tasks);
  EXPECT_EQ(tasks.figures().n_turns, 3U);  // suspended, for the driver, ended
  for (int i = 0; i < 3; ++i) {
    tasks.wake(*sleeper);
    run(tasks);
  }
  EXPECT_EQ(tasks.figures().n_turns, 6U);
}

TEST(Scheduler, a_suspended_task_sleeps_until_it_is_woken) {
  Scheduler tasks(options());
  Worker* sleeper = nullptr;
  int step = 0;
  tasks.spawn(
      [&] {
        sleeper = &tasks.running();
        step = 1;
        tasks.suspend("a test");
        step = 2;
      },
      "sleeper");
  EXPECT_FALSE(tasks.run_some(1000).more);
  EXPECT_EQ(step, 1);
  const auto waiting = tasks.waiting(10);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].name, "sleeper");
  EXPECT_EQ(waiting[0].waits_for, "a test");
  EXPECT_NE(waiting[0].spawned.find("scheduler_test.cpp:"), std::string::npos);
  tasks.wake(*sleeper);
  run(tasks);
  EXPECT_EQ(step, 2);
  EXPECT_TRUE(tasks.waiting(10).empty());
}

TEST(Scheduler, timed_tasks_run_in_the_order_of_their_times) {
  Scheduler tasks(options());
  std::string order;
  tasks.spawn_at(300, [&] { order += 'c'; });
  tasks.spawn_at(100, [&] { order += 'a'; });
  tasks.spawn([&] {
    tasks.wait_until(200);
    order += 'b';
  });
  EXPECT_EQ(tasks.run_some(1000, 0).wake, 100);
  EXPECT_EQ(order, "");
  EXPECT_EQ(tasks.run_some(1000, 150).wake, 200);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(tasks.run_some(1000, 1000).wake, kNever);
  EXPECT_EQ(order, "abc");
}

TEST(Scheduler, a_task_that_throws_is_named_and_the_others_run_on) {
  Scheduler tasks(options());
  bool ran = false;
  tasks.spawn([] { throw Error("no such file"); }, "reader");
  tasks.spawn([&] { ran = true; });
  try {
    run(tasks);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("task 'reader' spawned at "), std::string::npos) << text;
    EXPECT_NE(text.find(": no such file"), std::string::npos) << text;
  }
  run(tasks);
  EXPECT_TRUE(ran);
}

// Yields while it handles `i`, and while it handles another exception within; 2 if both are its
// own.
int handle_while_others_run(int i) {
  int n_right = 0;
  try {
    throw i;
  } catch (int found) {
    yield();
    try {
      throw found + 1000;
    } catch (int inner) {
      yield();
      n_right += inner == i + 1000 ? 1 : 0;
    }
    try {
      yield();
      throw;
    } catch (int again) {
      n_right += again == i ? 1 : 0;
    }
  }
  return n_right;
}

TEST(Scheduler, each_task_handles_its_own_exceptions_though_it_yields_meanwhile) {
  Scheduler tasks(options());
  int n_right = 0;
  for (int i = 0; i < 20; ++i) {
    tasks.spawn([&n_right, i] {
      for (int round = 0; round < 5; ++round)
        n_right += handle_while_others_run(i);
    });
  }
  run(tasks);
  EXPECT_EQ(n_right, 200);
}

TEST(Scheduler, closures_are_destroyed_once_whether_they_ran_or_not) {
  const auto counted = std::make_shared<int>(0);
  {
    Scheduler tasks(options());
    for (int i = 0; i < 10; ++i)
      tasks.spawn([counted] { ++*counted; });
    run(tasks);
    EXPECT_EQ(*counted, 10);
    EXPECT_EQ(counted.use_count(), 1);
    for (int i = 0; i < 5000; ++i)
      tasks.spawn([counted] { ++*counted; });
  }
  EXPECT_EQ(*counted, 10);
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(Scheduler, two_thousand_blocked_tasks_keep_what_is_on_their_stacks) {
  Scheduler tasks(options());
  constexpr int kTasks = 2'000;  // TSan knows 8,128 stacks at most
  std::vector<Worker*> workers;
  std::uint64_t sum = 0;
  for (int i = 0; i < kTasks; ++i) {
    tasks.spawn(
        [&, i] {
          volatile int kept[8] = {i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7};
          const double half = i / 2.0;
          workers.push_back(&tasks.running());
          tasks.suspend("all");
          for (int k = 0; k < 8; ++k)
            sum += kept[k] == i + k && half * 2 == i ? 1U : 0U;
        },
        kSmall);
  }
  run(tasks);
  ASSERT_EQ(workers.size(), static_cast<std::size_t>(kTasks));
  EXPECT_EQ(tasks.figures().n_waiting, static_cast<std::uint64_t>(kTasks));
  RandomStream random(1, 2);
  for (std::size_t i = workers.size(); i > 1; --i)
    std::swap(
        workers[i - 1],
        workers[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
  for (Worker* worker : workers)
    tasks.wake(*worker);
  run(tasks);
  EXPECT_EQ(sum, std::uint64_t{8} * kTasks);
}

// Ten tasks of that class, where there are three stacks of it.
void expect_tasks_wait_for_stacks(StackClass of_class) {
  Scheduler::Options few = options();
  few.stacks.n_guarded_max = few.stacks.n_small_max = 3;
  Scheduler tasks(few);
  std::vector<Worker*> waiting;
  int n_ended = 0;
  for (int i = 0; i < 10; ++i) {
    tasks.spawn(
        [&] {
          waiting.push_back(&tasks.running());
          tasks.suspend("a stack test");
          ++n_ended;
        },
        {"waits", of_class});
  }
  for (int round = 0; round < 4; ++round) {
    static_cast<void>(tasks.run_some(10'000));
    EXPECT_LE(waiting.size(), 3U);
    EXPECT_EQ(tasks.figures().n_workers, 3U);
    EXPECT_FALSE(round < 3 && waiting.size() == 3 && tasks.is_ready());
    for (Worker* worker : std::exchange(waiting, {}))
      tasks.wake(*worker);
  }
  static_cast<void>(tasks.run_some(10'000));
  EXPECT_EQ(n_ended, 10);
  EXPECT_FALSE(tasks.is_ready());
}

TEST(Scheduler, at_the_bound_of_guarded_stacks_tasks_wait_for_one) {
  expect_tasks_wait_for_stacks(StackClass::guarded);
}

TEST(Scheduler, at_the_bound_of_small_stacks_tasks_wait_for_one) {
  expect_tasks_wait_for_stacks(StackClass::small);
}

TEST(Scheduler, one_task_can_drive_another_scheduler) {
  Scheduler outer(options());
  Scheduler inner(options());
  std::string order;
  outer.spawn([&] {
    inner.spawn([&] {
      order += 'i';
      EXPECT_EQ(&Scheduler::current(), &inner);
      yield();
      order += 'i';
    });
    run(inner);
    EXPECT_EQ(&Scheduler::current(), &outer);
    yield();
    order += 'o';
  });
  run(outer);
  EXPECT_EQ(order, "iio");
}

TEST(Scheduler, sizes_of_stacks_are_checked) {
  Scheduler::Options bad;
  bad.stacks.small_bytes = 100;
  try {
    Scheduler tasks(bad);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "stacks of tasks: expected small stacks of 2048 to 1073741824 bytes, found 100");
  }
}

#if !defined(__SANITIZE_THREAD__)  // it has areas of its own for each of ours
detail::StackPoolOptions of_one_page() {
  detail::StackPoolOptions options;
  options.guarded_bytes = std::size_t{4} << 10;
  options.n_guarded_max = 1'000'000;
  return options;
}
void take_all(detail::StackPool& pool) {
  while (pool.has_guarded())
    static_cast<void>(pool.make(detail::StackClass::guarded));
}

// More than the kernel lets a process have: what is left waits, and each core has some of its own.
TEST(StackPool, cores_of_a_process_share_what_guarded_stacks_the_kernel_has) {
  detail::StackPool first(of_one_page());
  detail::StackPool second(of_one_page());
  take_all(first);
  EXPECT_GT(first.n_guarded(), 1000U);
  take_all(second);
  EXPECT_EQ(second.n_guarded(), detail::StackPool::kOwnMost);
  EXPECT_LE(first.n_guarded() + second.n_guarded(), detail::StackPool::guarded_of_process_most());
}

TEST(StackPool, thousands_of_cores_stay_within_what_the_kernel_has) {
  std::vector<std::unique_ptr<detail::StackPool>> pools;
  for (int i = 0; i < 2048; ++i)
    pools.push_back(std::make_unique<detail::StackPool>(of_one_page()));
  std::size_t n = 0;
  for (const auto& pool : pools) {
    take_all(*pool);
    n += pool->n_guarded();
    EXPECT_GE(pool->n_guarded(), 1U);
  }
  EXPECT_LE(n, detail::StackPool::guarded_of_process_most());
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(SchedulerDeathTest, a_small_stack_that_overflows_is_told_with_the_name_of_its_task) {
  EXPECT_DEATH(
      {
        Scheduler::Options tiny;
        tiny.stacks.small_bytes = 8192;
        Scheduler tasks(tiny);
        tasks.spawn([] {}, TaskOptions{"first", StackClass::small});
        for (int i = 0; i < 3; ++i) {
          tasks.spawn(
              [&] {
                Scheduler::current().yield();
                static_cast<void>(deep(17));
                tasks.suspend("nothing");
              },
              TaskOptions{"deep", StackClass::small});
        }
        run(tasks);
      },
      "overflowed.*task 'deep' spawned at");
}

TEST(SchedulerDeathTest, a_guarded_stack_that_overflows_is_told_with_the_name_of_its_task) {
  EXPECT_DEATH(
      {
        Scheduler tasks({});
        tasks.spawn([] { static_cast<void>(deep(1'000)); }, "bottomless");
        run(tasks);
      },
      "overflowed.*task 'bottomless' spawned at .*scheduler_test.cpp");
}

// Where the allocator has its locks.
[[gnu::noinline]] void* deep_in_malloc(int n) {
  void* volatile mine = std::malloc(2'000 + static_cast<std::size_t>(n % 7) * 16);  // NOLINT
  if (n == 1'000'000) return mine;
  void* volatile next = deep_in_malloc(n + 1);
  return next == mine ? nullptr : mine;
}

TEST(SchedulerDeathTest, a_stack_that_overflows_within_malloc_is_told_too) {
  EXPECT_DEATH(
      {
        Scheduler tasks({});
        tasks.spawn([] { static_cast<void>(deep_in_malloc(0)); }, "allocates");
        run(tasks);
      },
      "overflowed.*task 'allocates' spawned at .*scheduler_test.cpp:[0-9]+, [0-9]+ bytes");
}

// As a library does that was not built to touch each page of its frames.
TEST(SchedulerDeathTest, an_overflow_that_leaves_pages_out_is_told) {
  EXPECT_DEATH(
      {
        Scheduler tasks({});
        tasks.spawn(
            [&tasks] {
              constexpr std::ptrdiff_t kLeftOut = 40'000;
              const auto n_stack =
                  static_cast<std::ptrdiff_t>(detail::StackPoolOptions{}.guarded_bytes);
              auto* const here = static_cast<volatile char*>(__builtin_frame_address(0));
              here[-n_stack - kLeftOut] = 1;
              tasks.yield();
            },
            "leaves pages out");
        run(tasks);
      },
      "overflowed.*task 'leaves pages out' spawned at .*scheduler_test.cpp");
}

// A frame that is larger than what is guarded below the stack, and what lies below that.
[[gnu::noinline]] int wide(int n) {
  volatile char frame[200'000];
  frame[0] = static_cast<char>(n);
  return frame[0];
}

TEST(SchedulerDeathTest, a_frame_larger_than_its_stack_is_told_and_reaches_no_other) {
  EXPECT_DEATH(
      {
        Scheduler tasks({});
        for (int i = 0; i < 8; ++i) {
          tasks.spawn([&tasks] {
            volatile char mine[30'000] = {};
            tasks.suspend("nothing");
            static_cast<void>(mine[0]);
          });
        }
        tasks.spawn([] { static_cast<void>(wide(1)); }, "wide");
        run(tasks);
      },
      "overflowed.*task 'wide' spawned at .*scheduler_test.cpp");
}

TEST(SchedulerDeathTest, a_fault_elsewhere_stays_what_it_is) {
  EXPECT_EXIT(
      {
        Scheduler tasks({});
        tasks.spawn([] {
          const volatile int* nowhere = nullptr;
          static_cast<void>(*nowhere);  // NOLINT(clang-analyzer-core.NullDereference)
        });
        run(tasks);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}
#endif

TEST(Scheduler, ten_million_tasks_wait_in_a_queue_and_all_run) {
  Scheduler tasks({});
  std::uint64_t sum = 0;
  constexpr std::uint64_t kTasks = 10'000'000;
  for (std::uint64_t i = 0; i < kTasks; ++i)
    tasks.spawn([&sum, i] { sum += i; });
  EXPECT_EQ(tasks.figures().n_queued, kTasks);
  run(tasks);
  EXPECT_EQ(sum, kTasks * (kTasks - 1) / 2);
  EXPECT_EQ(tasks.figures().n_workers, 1U);
}

}  // namespace
}  // namespace rubato::core

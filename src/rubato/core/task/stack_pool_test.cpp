// Stacks are as large as was asked for, and as many; and a small one that was overflowed is noticed
// while its task only yields.

#include "rubato/core/task/stack_pool.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/core/task/deep_test.hpp"
#include "rubato/core/task/scheduler.hpp"

namespace rubato::core {
namespace {

constexpr std::size_t kKibi = 1024;
constexpr TaskOptions kSmall{"small", StackClass::small};

void run(Scheduler& tasks) {
  while (tasks.run_some(1000).more) {
  }
}

// Writes `value` into a frame of so many bytes, lets others run, and says whether it is still there.
template <std::size_t kBytes>
[[gnu::noinline]] bool keeps_a_frame(int value) {
  volatile char frame[kBytes];
  constexpr std::size_t kStep = 1024;
  for (std::size_t at = 0; at < kBytes; at += kStep)
    frame[at] = static_cast<char>(value);
  frame[kBytes - 1] = static_cast<char>(value);
  Scheduler::current().yield();
  bool is_kept = frame[kBytes - 1] == static_cast<char>(value);
  for (std::size_t at = 0; at < kBytes; at += kStep)
    is_kept = is_kept && frame[at] == static_cast<char>(value);
  return is_kept;
}

// Of four tasks, each with such a frame at the same time.
template <std::size_t kBytes>
int n_frames_kept(const detail::StackPoolOptions& stacks, const TaskOptions& task) {
  Scheduler::Options options;
  options.stacks = stacks;
  Scheduler tasks(options);
  int n_kept = 0;
  for (int i = 0; i < 4; ++i)
    tasks.spawn([&n_kept, i] { n_kept += keeps_a_frame<kBytes>(i + 1) ? 1 : 0; }, task);
  run(tasks);
  return n_kept;
}

// Eight times what a guarded stack has otherwise.
TEST(StackPool, a_guarded_stack_of_a_mebibyte_holds_a_frame_of_half_a_one) {
  detail::StackPoolOptions stacks;
  stacks.guarded_bytes = kKibi * kKibi;
  EXPECT_EQ(n_frames_kept<512 * kKibi>(stacks, {"wide"}), 4);
}

TEST(StackPool, a_small_stack_of_256_kibibytes_holds_a_frame_of_200) {
  detail::StackPoolOptions stacks;
  stacks.small_bytes = 256 * kKibi;
  EXPECT_EQ(n_frames_kept<200 * kKibi>(stacks, kSmall), 4);
}

// "" if a pool is made.
std::string refusal(std::size_t guarded_bytes, std::size_t small_bytes) {
  detail::StackPoolOptions options;
  options.guarded_bytes = guarded_bytes;
  options.small_bytes = small_bytes;
  try {
    const detail::StackPool pool(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(StackPool, sizes_are_refused_just_beyond_their_bounds) {
  constexpr std::size_t kLeast = detail::StackPool::kLeast;
  constexpr std::size_t kMost = detail::StackPool::kMost;
  EXPECT_EQ(refusal(kLeast, kLeast), "");
  EXPECT_EQ(refusal(kMost, kMost), "");
  EXPECT_EQ(refusal(kLeast - 1, kLeast),
            "stacks of tasks: expected guarded stacks of 2048 to 1073741824 bytes, found 2047");
  EXPECT_EQ(refusal(kMost + 1, kLeast),
            "stacks of tasks: expected guarded stacks of 2048 to 1073741824 bytes, found "
            "1073741825");
  EXPECT_EQ(refusal(kLeast, kLeast - 1),
            "stacks of tasks: expected small stacks of 2048 to 1073741824 bytes, found 2047");
  EXPECT_EQ(refusal(kLeast, kMost + 1),
            "stacks of tasks: expected small stacks of 2048 to 1073741824 bytes, found 1073741825");
}

// The upper ends as well: all of it can be written.
TEST(StackPool, sizes_are_rounded_up_to_pages_and_lines) {
  detail::StackPoolOptions options;
  options.guarded_bytes = 100'001;
  options.small_bytes = 5'001;
  detail::StackPool pool(options);
  const detail::Stack guarded = pool.make(StackClass::guarded);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(guarded.n_bytes % page, 0U);
  EXPECT_GE(guarded.n_bytes, 100'001U);
  EXPECT_LT(guarded.n_bytes, 100'001U + page);
  std::memset(guarded.low, 1, guarded.n_bytes);
  const detail::Stack first = pool.make(StackClass::small);
  const detail::Stack second = pool.make(StackClass::small);
  EXPECT_EQ(first.n_bytes, 5'056U);
  std::memset(first.low + sizeof(std::uint64_t), 1, first.n_bytes - sizeof(std::uint64_t));
  EXPECT_TRUE(detail::StackPool::is_whole(first));
  EXPECT_TRUE(detail::StackPool::is_whole(second));
  EXPECT_GE(second.low, first.top());
}

// Of three guarded stacks or two small ones.
void expect_no_more_than(StackClass of_class, int n_most) {
  detail::StackPoolOptions options;
  options.n_guarded_max = 3;
  options.n_small_max = 2;
  detail::StackPool pool(options);
  const auto has_one = [&] {
    return of_class == StackClass::small ? pool.has_small() : pool.has_guarded();
  };
  for (int i = 0; i < n_most; ++i) {
    EXPECT_TRUE(has_one());
    EXPECT_NE(pool.make(of_class).low, nullptr);
  }
  EXPECT_FALSE(has_one());
  EXPECT_EQ(pool.make(of_class).low, nullptr);
  const std::size_t n_made = of_class == StackClass::small ? pool.n_small() : pool.n_guarded();
  EXPECT_EQ(n_made, static_cast<std::size_t>(n_most));
}

TEST(StackPoolDeathTest, a_closure_too_large_for_a_small_stack_is_told) {
  const std::array<char, 3'000> much{};
  Scheduler tasks({});
  tasks.spawn([much] { EXPECT_EQ(much[0], 0); }, "guarded");
  while (tasks.run_some(1'000).more) {
  }
  EXPECT_DEATH(
      tasks.spawn([much] { EXPECT_EQ(much[0], 0); }, TaskOptions{"much", StackClass::small}),
      "larger than a quarter of its small stack.*much.*stack_pool_test.cpp");
}

#if !defined(__SANITIZE_THREAD__)  // it has areas of its own for each of ours
// All that the process may have, by two threads at once: each is refused none but the last.
TEST(StackPool, the_last_guarded_stacks_are_given_to_one_of_several_cores_each) {
  constexpr int kThreads = 2;
  detail::StackPoolOptions options;
  options.guarded_bytes = detail::StackPool::kLeast;
  options.n_guarded_max = SIZE_MAX;
  std::vector<std::unique_ptr<detail::StackPool>> pools;
  for (int i = 0; i < kThreads; ++i)
    pools.push_back(std::make_unique<detail::StackPool>(options));
  std::atomic<int> n_errors{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        while (pools[i]->make(StackClass::guarded).low != nullptr) {
        }
      } catch (const Error&) {
        ++n_errors;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(n_errors, 0);
  const std::size_t n_all = pools[0]->n_guarded() + pools[1]->n_guarded();
  EXPECT_EQ(n_all, detail::StackPool::guarded_of_process_most());
}
#endif

TEST(StackPool, no_more_stacks_of_a_class_are_made_than_were_allowed) {
  expect_no_more_than(StackClass::guarded, 3);
  expect_no_more_than(StackClass::small, 2);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// So many tasks that yield for ever, the first of which has overflowed its stack of 8 KiB; below
// that there is nobody's.
void overflow_and_yield(int n_tasks) {
  Scheduler::Options options;
  options.stacks.small_bytes = 8 * kKibi;
  Scheduler tasks(options);
  for (int i = 0; i < n_tasks; ++i) {
    tasks.spawn(
        [i] {
          Scheduler::current().yield();
          if (i == 0) static_cast<void>(deep(17));
          for (;;)
            Scheduler::current().yield();
        },
        TaskOptions{i == 0 ? "deep" : "flat", StackClass::small});
  }
  for (int turn = 0; turn < 10; ++turn)
    static_cast<void>(tasks.run_some(1000));
}

// Nobody else is ready, so its stack is not left: it is looked at at the end of each slice of turns.
TEST(StackPoolDeathTest, a_task_alone_that_overflows_and_only_yields_is_told_within_a_slice) {
  EXPECT_DEATH(overflow_and_yield(1), "overflowed.*task 'deep' spawned at .*stack_pool_test.cpp");
}

// Slices end with each of them now and then, though 64 is a multiple of their number.
TEST(StackPoolDeathTest, one_of_several_that_overflows_and_only_yields_is_told) {
#ifdef NDEBUG
  const std::string told = "overflowed.*";
#else
  const std::string told = "is_whole.*";  // checked builds look at each switch
#endif
  for (const int n_tasks : {2, 3, 64})
    EXPECT_DEATH(overflow_and_yield(n_tasks),
                 told + "task 'deep' spawned at .*stack_pool_test.cpp");
}
#endif

}  // namespace
}  // namespace rubato::core

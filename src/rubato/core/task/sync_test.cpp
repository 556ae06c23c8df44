#include "rubato/core/task/sync.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"

namespace rubato::core {
namespace {

void run_all(Scheduler& tasks) {
  while (tasks.run_some(1000).more) {
  }
}
void yield() {
  Scheduler::current().yield();
}

TEST(Sync, readers_of_a_cell_wait_until_it_is_full) {
  Scheduler tasks({});
  FullEmpty<std::string> cell;
  std::vector<std::string> read;
  for (int i = 0; i < 3; ++i)
    tasks.spawn([&] { read.push_back(cell.read_ff()); });
  run_all(tasks);
  EXPECT_TRUE(read.empty());
  EXPECT_EQ(tasks.waiting(10).size(), 3U);
  EXPECT_EQ(tasks.waiting(10)[0].waits_for, "a cell to be full");
  cell.write_xf("value");
  run_all(tasks);
  EXPECT_EQ(read, std::vector<std::string>(3, "value"));
  EXPECT_FALSE(cell.try_write("another"));
}

TEST(Sync, a_cell_hands_each_value_to_one_taker_in_order) {
  Scheduler tasks({});
  FullEmpty<std::unique_ptr<int>> cell;
  std::vector<int> taken;
  for (int i = 0; i < 4; ++i)
    tasks.spawn([&] {
      for (int k = 0; k < 25; ++k) {
        taken.push_back(*cell.read_fe());
        if (k % 3 == 0) yield();
      }
    });
  tasks.spawn([&] {
    for (int k = 0; k < 100; ++k)
      cell.write_ef(std::make_unique<int>(k));
  });
  run_all(tasks);
  ASSERT_EQ(taken.size(), 100U);
  for (int k = 0; k < 100; ++k)
    EXPECT_EQ(taken[static_cast<std::size_t>(k)], k);
  EXPECT_FALSE(cell.is_full());
}

TEST(Sync, whoever_comes_later_takes_no_value_from_one_who_was_woken) {
  Scheduler tasks({});
  FullEmpty<int> cell;
  std::string order;
  tasks.spawn([&] {
    static_cast<void>(cell.read_fe());
    order += 'a';
  });
  tasks.spawn([&] {
    cell.write_xf(1);
    // The first task was woken and has not run.
    tasks.spawn([&] { cell.write_ef(2); });
    static_cast<void>(cell.read_fe());
    order += 'b';
  });
  run_all(tasks);
  EXPECT_EQ(order, "ab");
}

TEST(Sync, a_writer_who_finds_the_cell_full_again_leaves_the_value_to_whom_it_is_kept_for) {
  Scheduler tasks({});
  FullEmpty<int> cell(1);
  std::vector<int> taken_by_late;
  int taken = 0;
  std::vector<Worker*> workers;
  const auto wait_for_start = [&] {
    workers.push_back(&tasks.running());
    tasks.suspend("the start");
  };
  tasks.spawn([&] { cell.write_ef(2); });
  tasks.spawn([&] {
    wait_for_start();
    taken_by_late.push_back(
        cell.read_fe());  // wakes the writer, who comes after the next two tasks
    yield();
    taken_by_late.push_back(cell.read_fe());
  });
  tasks.spawn([&] {
    wait_for_start();
    taken = cell.read_fe();
  });
  tasks.spawn([&] {
    wait_for_start();
    cell.write_xf(3);  // waits for nobody; wakes the one who takes
  });
  run_all(tasks);
  ASSERT_EQ(workers.size(), 3U);
  for (Worker* worker : workers)
    tasks.wake(*worker);
  run_all(tasks);
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(taken_by_late, (std::vector<int>{1, 2}));
  EXPECT_FALSE(cell.is_full());
}

TEST(Sync, a_completion_waits_for_all_that_was_announced_and_can_be_used_again) {
  Scheduler tasks({});
  Completion all;
  int n_done = 0;
  std::vector<int> seen;
  const auto do_one = [&] {
    yield();
    ++n_done;
    all.done();
  };
  tasks.spawn([&] {
    all.wait();
    for (int round = 1; round <= 3; ++round) {
      all.announce(10);
      for (int i = 0; i < 10; ++i)
        tasks.spawn(do_one);
      all.wait();
      seen.push_back(n_done);
    }
  });
  run_all(tasks);
  EXPECT_EQ(seen, (std::vector<int>{10, 20, 30}));
}

TEST(Sync, a_mutex_lets_one_in_and_the_others_in_the_order_of_arrival) {
  Scheduler tasks({});
  Mutex mutex;
  std::vector<int> order;
  int n_inside = 0;
  for (int i = 0; i < 10; ++i)
    tasks.spawn([&, i] {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(++n_inside, 1);
      yield();
      yield();
      order.push_back(i);
      --n_inside;
    });
  run_all(tasks);
  ASSERT_EQ(order.size(), 10U);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(mutex.try_lock());
}

TEST(Sync, a_condition_wakes_those_whom_it_is_told_to_wake) {
  Scheduler tasks({});
  Mutex mutex;
  Condition filled;
  std::vector<int> queue;
  int sum = 0;
  for (int i = 0; i < 3; ++i)
    tasks.spawn([&] {
      for (int k = 0; k < 10; ++k) {
        std::unique_lock lock(mutex);
        filled.wait(mutex, [&] { return !queue.empty(); });
        sum += queue.back();
        queue.pop_back();
      }
    });
  tasks.spawn([&] {
    for (int k = 1; k <= 30; ++k) {
      const std::lock_guard lock(mutex);
      queue.push_back(k);
      filled.notify_one();
      if (k % 4 == 0) yield();
    }
  });
  run_all(tasks);
  EXPECT_EQ(sum, 465);
  EXPECT_TRUE(tasks.waiting(10).empty());
}

TEST(Sync, a_semaphore_bounds_how_many_are_in) {
  Scheduler tasks({});
  Semaphore room(3);
  int n_inside = 0;
  int most = 0;
  for (int i = 0; i < 20; ++i)
    tasks.spawn([&] {
      room.acquire();
      most = std::max(most, ++n_inside);
      for (int k = 0; k < 100; ++k)  // long enough for others to begin
        yield();
      --n_inside;
      room.release();
    });
  run_all(tasks);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(n_inside, 0);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(room.try_acquire());
  EXPECT_FALSE(room.try_acquire());
}

TEST(Sync, a_barrier_lets_nobody_on_before_all_have_come) {
  constexpr int kTasks = 7;
  Scheduler tasks({});
  Barrier barrier(kTasks);
  int n_arrived = 0;
  int n_last = 0;
  for (int i = 0; i < kTasks; ++i)
    tasks.spawn([&, i] {
      for (int round = 1; round <= 5; ++round) {
        for (int k = 0; k < i; ++k)
          yield();
        ++n_arrived;
        n_last += barrier.arrive_and_wait() ? 1 : 0;
        EXPECT_GE(n_arrived, kTasks * round);
      }
    });
  run_all(tasks);
  EXPECT_EQ(n_arrived, 5 * kTasks);
  EXPECT_EQ(n_last, 5);
}

TEST(Sync, once_is_called_again_only_if_it_threw) {
  Scheduler tasks({});
  Once once;
  int n_calls = 0;
  int n_failed = 0;
  int n_saw_it_done = 0;
  for (int i = 0; i < 5; ++i)
    tasks.spawn([&] {
      try {
        once.call([&] {
          ++n_calls;
          yield();
          if (n_calls == 1) throw Error("the first time");
        });
        n_saw_it_done += once.is_done() ? 1 : 0;
      } catch (const Error&) {
        ++n_failed;
      }
    });
  run_all(tasks);
  EXPECT_EQ(n_calls, 2);
  EXPECT_EQ(n_failed, 1);
  EXPECT_EQ(n_saw_it_done, 4);
}

// Who has no task stands in the same line.
TEST(Sync, once_is_up_to_the_next_in_line_task_or_not_while_it_fails) {
  Scheduler tasks({});
  Once once;
  std::string text;
  const auto stand = [&](const char* who) {
    once.async_begin([&text, who](bool is_mine) { text += is_mine ? who : "-"; });
  };
  stand("a");
  stand("b");
  tasks.spawn([&] { once.call([&] { text += "c"; }); });
  tasks.spawn([&] { once.call([&] { text += "d"; }); });
  run_all(tasks);
  stand("e");
  once.end(false);  // a's
  EXPECT_EQ(text, "ab");
  once.end(false);
  run_all(tasks);
  EXPECT_EQ(text, "abc-");
  EXPECT_TRUE(once.is_done());
  stand("f");
  EXPECT_EQ(text, "abc--");
  EXPECT_TRUE(tasks.waiting(10).empty());
}

TEST(Sync, a_condition_notifies_who_has_no_task_in_its_turn) {
  Scheduler tasks({});
  Mutex mutex;
  Condition changed;
  std::string text;
  changed.async_wait([&] { text += "a"; });
  tasks.spawn([&] {
    const std::lock_guard lock(mutex);
    changed.wait(mutex);
    text += "b";
  });
  run_all(tasks);
  changed.async_wait([&] { text += "c"; });
  for (const char* const so_far : {"a", "ab", "abc", "abc"}) {
    changed.notify_one();
    run_all(tasks);
    EXPECT_EQ(text, so_far);
  }
}

// Several writers and readers of some cells, who yield at random.
class Traffic {
 public:
  explicit Traffic(std::uint64_t seed)
      : random_(seed, 77),
        cells_(static_cast<std::size_t>(random_.between(1, 4))),
        n_tasks_(static_cast<int>(random_.between(1, 6))),
        n_read_(static_cast<std::size_t>(n_tasks_ * kEach)) {}

  void run() {
    for (int task = 0; task < n_tasks_; ++task) {
      tasks_.spawn([this, task] { write(task); });
      tasks_.spawn([this] { read(); });
    }
    run_all(tasks_);
  }
  // How often each value was read.
  [[nodiscard]] const std::vector<int>& n_read() const { return n_read_; }
  [[nodiscard]] bool somebody_waits() const { return !tasks_.waiting(1).empty(); }

 private:
  static constexpr int kEach = 24;

  FullEmpty<int>& cell(int k) { return cells_[static_cast<std::size_t>(k) % cells_.size()]; }
  void rest() {
    if (random_.between(0, 2) == 0) yield();
  }
  void write(int task) {
    for (int k = 0; k < kEach; ++k) {
      rest();
      cell(k).write_ef(task * kEach + k);
    }
  }
  void read() {
    for (int k = 0; k < kEach; ++k) {
      rest();
      ++n_read_[static_cast<std::size_t>(cell(k).read_fe())];
    }
  }

  RandomStream random_;
  std::vector<FullEmpty<int>> cells_;
  int n_tasks_;
  std::vector<int> n_read_;
  Scheduler tasks_{Scheduler::Options{}};
};

TEST(Sync, values_that_go_through_cells_arrive_once_whatever_the_order_of_tasks) {
  for (std::uint64_t seed = 0; seed < n_seeds(200); ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    traffic.run();
    EXPECT_EQ(traffic.n_read(), std::vector<int>(traffic.n_read().size(), 1));
    EXPECT_FALSE(traffic.somebody_waits());
  }
}

TEST(Sync, whoever_has_no_task_stands_in_the_line_of_those_who_have) {
  Scheduler tasks({});
  FullEmpty<int> cell;
  std::vector<std::pair<int, int>> taken;  // by whom, and what
  const auto take = [&](int who) {
    if (who % 2 == 1)
      return cell.async_read_fe([&, who](int value) { taken.emplace_back(who, value); });
    tasks.spawn([&, who] {
      const int value = cell.read_fe();
      taken.emplace_back(who, value);
    });
    run_all(tasks);
  };
  for (int who = 0; who < 6; ++who)
    take(who);
  EXPECT_TRUE(taken.empty());
  tasks.spawn([&] {
    for (int value = 10; value < 13; ++value)
      cell.write_ef(value);
  });
  run_all(tasks);
  std::string written;
  for (int value = 13; value < 16; ++value)
    cell.async_write_ef(value, [&] { written += 'w'; });
  run_all(tasks);
  EXPECT_EQ(written, "www");
  std::vector<std::pair<int, int>> expected;
  for (int who = 0; who < 6; ++who)
    expected.emplace_back(who, 10 + who);
  // A task notes what it has taken after it was let on, and the next one may have been called before.
  std::ranges::sort(taken);
  EXPECT_EQ(taken, expected);
  EXPECT_FALSE(cell.is_full());
}

// Values are lost or come twice in no order of tasks and of those without one; all go on at the end.
TEST(Sync, a_cell_hands_on_each_value_once_whoever_waits) {
  for (std::uint64_t seed = 0; seed < n_seeds(200); ++seed) {
    Scheduler tasks({});
    FullEmpty<int> cell;
    constexpr int kValues = 40;
    std::vector<int> n_taken(kValues, 0);
    int n_written = 0;
    const auto taken = [&](int value) { ++n_taken[static_cast<std::size_t>(value)]; };
    const auto written = [&] { ++n_written; };
    int n_takers = 0;
    int n_writers = 0;
    while (n_takers < kValues || n_writers < kValues) {
      const std::uint64_t choice = hash_words(seed, static_cast<std::uint64_t>(n_takers),
                                              static_cast<std::uint64_t>(n_writers));
      const bool takes = n_writers == kValues || (n_takers < kValues && choice % 2 == 0);
      const bool has_task = choice / 2 % 2 == 0;
      if (takes) {
        ++n_takers;
        if (has_task) {
          tasks.spawn([&] { taken(cell.read_fe()); });
        } else {
          cell.async_read_fe(taken);
        }
      } else {
        const int value = n_writers++;
        if (has_task) {
          tasks.spawn([&, value] {
            cell.write_ef(value);
            written();
          });
        } else {
          cell.async_write_ef(value, written);
        }
      }
      if (choice / 4 % 3 == 0) static_cast<void>(tasks.run_some(1 + choice / 12 % 4));
    }
    run_all(tasks);
    ASSERT_EQ(n_taken, std::vector<int>(kValues, 1)) << "seed " << seed;
    ASSERT_EQ(n_written, kValues) << "seed " << seed;
    ASSERT_FALSE(cell.is_full());
  }
}

TEST(Sync, locks_and_events_let_those_go_on_who_have_no_task) {
  Scheduler tasks({});
  std::string order;
  const auto note = [&](char who) { return [&order, who] { order += who; }; };
  Mutex mutex;
  mutex.async_lock(note('a'));
  mutex.async_lock(note('b'));
  tasks.spawn([&] {
    const std::lock_guard lock(mutex);
    order += 'c';
  });
  run_all(tasks);
  mutex.async_lock(note('d'));
  EXPECT_EQ(order, "a");
  mutex.unlock();
  EXPECT_EQ(order, "ab");
  mutex.unlock();
  run_all(tasks);
  EXPECT_EQ(order, "abcd");
  order.clear();

  Semaphore semaphore(1);
  semaphore.async_acquire(note('a'));
  semaphore.async_acquire(note('b'));
  EXPECT_EQ(order, "a");
  semaphore.release(2);
  EXPECT_EQ(order, "ab");
  EXPECT_TRUE(semaphore.try_acquire());
  order.clear();

  Completion completion;
  completion.async_wait(note('a'));
  completion.announce();
  completion.async_wait(note('b'));
  EXPECT_EQ(order, "a");
  completion.done();
  EXPECT_EQ(order, "ab");
  order.clear();

  Barrier barrier(2);
  barrier.async_arrive([&](bool is_last) { order += is_last ? 'l' : 'f'; });
  tasks.spawn([&] { order += barrier.arrive_and_wait() ? 'L' : 'F'; });
  run_all(tasks);
  EXPECT_EQ(order, "fL");
}

}  // namespace
}  // namespace rubato::core

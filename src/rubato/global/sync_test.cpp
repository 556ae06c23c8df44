// Tasks of all cores at cells, locks and events of one.

#include "rubato/global/sync.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/loop.hpp"
#include "rubato/global/object.hpp"
#include "rubato/global/per_core.hpp"
#include "rubato/global/program.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

// Many write, many take, at cells of all cores: each value is taken once.
std::uint64_t n_wrong_taken(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 200;
  const auto cells = PerCore<core::FullEmpty<std::uint64_t>>::make();
  const auto taken = GlobalArray<std::uint64_t>::make(kValues);
  const auto cell_of = [=](std::uint64_t i) {
    return cells.on(static_cast<CoreId>(hash_words(seed, i) % n_cores()));
  };
  finish([&] {
    async_forall(0, kValues, [=](std::uint64_t i) { async_add(taken[read_fe(cell_of(i))], 1); },
                 {1});
    async_forall(0, kValues, [=](std::uint64_t i) { write_ef(cell_of(i), i); }, {1});
  });
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < kValues; ++i)
    n_wrong += read(taken[i]) == 1 ? 0 : 1;
  for (CoreId core = 0; core < n_cores(); ++core)
    n_wrong += call(cells.on(core), [](auto& cell) { return cell.is_full(); }) ? 1 : 0;
  taken.free();
  cells.free();
  return n_wrong;
}

TEST(RemoteCell, HandsEachValueToOneTaker) {
  expect_right(n_wrong_taken);
}

// One producer and one consumer, on different cores: the values come in order.
std::uint64_t n_wrong_in_order(std::uint64_t /*seed*/) {
  const auto cells = PerCore<core::FullEmpty<std::string>>::make();
  const auto cell = cells.on(n_cores() / 2);
  std::uint64_t n_wrong = 0;
  finish([&] {
    spawn_on(n_cores() - 1, [=] {
      for (int i = 0; i < 40; ++i)
        write_ef(cell, std::string(static_cast<std::size_t>(i * 7), 'x'));
    });
    for (int i = 0; i < 40; ++i)
      n_wrong += read_fe(cell) == std::string(static_cast<std::size_t>(i * 7), 'x') ? 0 : 1;
  });
  cells.free();
  return n_wrong;
}

TEST(RemoteCell, CarriesStringsInOrder) {
  expect_right(n_wrong_in_order);
}

// All wait for one value; whoever waits at the owner needs no stack there.
std::uint64_t n_wrong_readers(std::uint64_t seed) {
  constexpr std::uint64_t kReaders = 300;
  const auto cells = PerCore<core::FullEmpty<std::uint64_t>>::make();
  const auto cell = cells.on(n_cores() - 1);
  std::uint64_t sum = 0;
  finish([&] {
    async_forall(0, kReaders,
                 [=, to = make_global(sum)](std::uint64_t) { async_add(to, read_ff(cell)); }, {1});
    for (std::uint64_t i = 0; i < seed % 5; ++i)
      CoreContext::here().yield();
    write_xf(cell, 7);
  });
  std::uint64_t n_wrong = sum == 7 * kReaders ? 0 : 1;
  write_xf(cell, 8);
  n_wrong += read_fe(cell) == 8 ? 0 : 1;
  cells.free();
  return n_wrong;
}

TEST(RemoteCell, IsReadByAllWhoWaitForIt) {
  expect_right(n_wrong_readers);
}

// Those who hold the lock read, wait, and write what they have read and one more.
std::uint64_t n_wrong_locked(std::uint64_t seed) {
  constexpr std::uint64_t kSteps = 120;
  const auto locks = PerCore<core::Mutex>::make();
  const auto words = GlobalArray<std::uint64_t>::make(n_cores() * 2);
  const auto mutex = locks.on(static_cast<CoreId>(seed % n_cores()));
  const auto word = words[seed % words.size()];
  forall(0, kSteps,
         [=](std::uint64_t) {
           const GlobalLock lock(mutex);
           write(word, read(word) + 1);
         },
         {1});
  const std::uint64_t n_wrong = read(word) == kSteps ? 0 : 1;
  words.free();
  locks.free();
  return n_wrong;
}

TEST(RemoteMutex, LetsOneInWhateverCoreItIsOf) {
  expect_right(n_wrong_locked);
}

// At most `kRoom` at a time, counted at the semaphore.
std::uint64_t n_wrong_in_room(std::uint64_t /*seed*/) {
  constexpr std::uint64_t kRoom = 3;
  const auto semaphore = create<core::Semaphore>(n_cores() - 1, kRoom);
  std::uint64_t n_inside = 0;
  std::uint64_t n_most = 0;
  forall(0, 80,
         [=, inside = make_global(n_inside), most = make_global(n_most)](std::uint64_t) {
           acquire(semaphore);
           const std::uint64_t n = fetch_add(inside, 1) + 1;
           call(most, [n](std::uint64_t& m) { m = std::max(m, n); });
           fetch_add(inside, std::uint64_t{0} - 1);
           release(semaphore);
         },
         {1});
  destroy(semaphore);
  return n_inside + (n_most >= 1 && n_most <= kRoom ? 0 : 1);
}

TEST(RemoteSemaphore, LetsAsManyInAsItHas) {
  expect_right(n_wrong_in_room);
}

// A task of each core: all arrive before any goes on; then each waits for the work of all.
std::uint64_t n_wrong_rounds(std::uint64_t /*seed*/) {
  const auto barrier = create<core::Barrier>(n_cores() / 2, std::uint64_t{n_cores()});
  const auto work = create<core::Completion>(0);
  const auto counts = PerCore<std::uint64_t>::make();
  std::uint64_t n_wrong = 0;
  std::uint64_t n_last = 0;
  call(work, [n = n_cores()](core::Completion& c) { c.announce(n); });
  on_all_cores([=, wrong = make_global(n_wrong), last = make_global(n_last)] {
    for (std::uint64_t round = 1; round <= 5; ++round) {
      ++counts.here();
      if (arrive_and_wait(barrier)) async_add(last, 1);
      const CoreId next = (this_core() + 1) % n_cores();
      if (read(counts.on(next)) < round) async_add(wrong, 1);
    }
    call(work, [](core::Completion& c) { c.done(); });
    wait(work);
    if (call(work, [](core::Completion& c) { return c.n_open(); }) != 0) async_add(wrong, 1);
  });
  counts.free();
  destroy(work);
  destroy(barrier);
  return n_wrong + (n_last == 5 ? 0 : 1);
}

TEST(RemoteBarrier, IsPassedWhenAllHaveArrived) {
  expect_right(n_wrong_rounds);
}

// A queue with room for two: producers and consumers of all cores, on conditions of two cores and a
// mutex of a third.
std::uint64_t n_wrong_queued(std::uint64_t seed) {
  constexpr std::uint64_t kRoom = 2;
  constexpr std::uint64_t kValues = 60;
  const auto mutex = create<core::Mutex>(static_cast<CoreId>(seed % n_cores()));
  const auto filled = create<core::Condition>(static_cast<CoreId>((seed + 1) % n_cores()));
  const auto emptied = create<core::Condition>(static_cast<CoreId>((seed / 2) % n_cores()));
  std::uint64_t n_in = 0;
  std::uint64_t n_out = 0;
  std::uint64_t n_most = 0;
  finish([&] {
    const auto in = make_global(n_in);
    const auto out = make_global(n_out);
    async_forall(0, kValues,
                 [=](std::uint64_t) {
                   const GlobalLock lock(mutex);
                   wait(filled, mutex, [=] { return read(in) > read(out); });
                   write(out, read(out) + 1);
                   notify_one(emptied);
                 },
                 {1});
    async_forall(0, kValues,
                 [=, most = make_global(n_most)](std::uint64_t) {
                   const GlobalLock lock(mutex);
                   wait(emptied, mutex, [=] { return read(in) - read(out) < kRoom; });
                   write(in, read(in) + 1);
                   write(most, std::max(read(most), read(in) - read(out)));
                   notify_one(filled);
                 },
                 {1});
  });
  destroy(emptied);
  destroy(filled);
  destroy(mutex);
  return (n_in == kValues && n_out == kValues ? 0 : 1) + (n_most >= 1 && n_most <= kRoom ? 0 : 1);
}

TEST(RemoteCondition, WakesThoseWhoWaitForARoomAndAValue) {
  expect_right(n_wrong_queued);
}

// All wait for one change, of which one tells all.
std::uint64_t n_wrong_notified(std::uint64_t seed) {
  constexpr std::uint64_t kWaiters = 100;
  const auto locks = PerCore<core::Mutex>::make();
  const auto conditions = PerCore<core::Condition>::make();
  const auto mutex = locks.on(static_cast<CoreId>(seed % n_cores()));
  const auto changed = conditions.on(n_cores() - 1);
  std::uint64_t value = 0;
  std::uint64_t sum = 0;
  finish([&] {
    async_forall(0, kWaiters,
                 [=, v = make_global(value), to = make_global(sum)](std::uint64_t) {
                   const GlobalLock lock(mutex);
                   wait(changed, mutex, [=] { return read(v) != 0; });
                   async_add(to, read(v));
                 },
                 {1});
    for (std::uint64_t i = 0; i < seed % 5; ++i)
      CoreContext::here().yield();
    const GlobalLock lock(mutex);
    value = 7;
    notify_all(changed);
  });
  conditions.free();
  locks.free();
  return sum == 7 * kWaiters ? 0 : 1;
}

TEST(RemoteCondition, TellsAllOfAChange) {
  expect_right(n_wrong_notified);
}

// It fails twice; then it is done, before anybody goes on.
std::uint64_t n_wrong_once(std::uint64_t seed) {
  constexpr std::uint64_t kCallers = 60;
  const auto once = create<core::Once>(static_cast<CoreId>(seed % n_cores()));
  std::uint64_t n_calls = 0;
  std::uint64_t n_failed = 0;
  std::uint64_t n_saw_it_done = 0;
  forall(0, kCallers,
         [=, calls = make_global(n_calls), failed = make_global(n_failed),
          saw = make_global(n_saw_it_done)](std::uint64_t) {
           try {
             call_once(once, [=] {
               if (fetch_add(calls, 1) < 2) throw Error("not yet");
               CoreContext::here().yield();
             });
             if (call(once, [](core::Once& o) { return o.is_done(); })) async_add(saw, 1);
           } catch (const Error&) {
             async_add(failed, 1);
           }
         },
         {1});
  destroy(once);
  return (n_calls == 3 ? 0 : 1) + (n_failed == 2 ? 0 : 1) + (n_saw_it_done == kCallers - 2 ? 0 : 1);
}

TEST(RemoteOnce, IsDoneByOneOfAllAndAgainIfItThrew) {
  expect_right(n_wrong_once);
}

// Of one core tasks wait for a cell, beside messages from others: in the order of arrival.
TEST(RemoteCell, ServesTasksOfItsCoreAndOthersInOneLine) {
  std::vector<std::uint64_t> order;
  simulate_seed(2, 1, 1, [&] {
    const auto cells = PerCore<core::FullEmpty<int>>::make();
    const auto cell = cells.on(0);
    const auto note = make_global(order);
    const auto take = [cell, note](std::uint64_t who) {
      static_cast<void>(read_fe(cell));
      async_call(note, [who](std::vector<std::uint64_t>& all) { all.push_back(who); });
    };
    finish([&] {
      for (std::uint64_t who = 0; who < 6; ++who) {
        spawn_on(who % 2 == 0 ? 0 : 1, [=] { take(who); });
        // It stands in the line before the next one comes.
        for (int i = 0; i < 5; ++i)
          static_cast<void>(call(cells.on(1), [](auto& other) { return other.is_full(); }));
      }
      for (int i = 0; i < 6; ++i)
        write_ef(cell, i);
    });
  });
  ASSERT_EQ(order.size(), 6U);
  // Each note goes its own way to the list: those of one core are in order.
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t k = i + 1; k < order.size(); ++k)
      EXPECT_TRUE(order[i] % 2 != order[k] % 2 || order[i] < order[k]);
  }
}

TEST(RemoteCell, ThatNobodyFillsIsADeadlockThatIsTold) {
  std::string text = "no error";
  try {
    simulate_seed(2, 1, 1, [] {
      const auto cells = PerCore<core::FullEmpty<int>>::make();
      static_cast<void>(read_fe(cells.on(1)));
    });
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("a cell of another core to be full"), std::string::npos) << text;
}

}  // namespace
}  // namespace rubato::global

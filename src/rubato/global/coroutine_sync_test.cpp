// Coroutines, beside tasks, at cells, locks and events of all cores.

#include "rubato/global/coroutine_sync.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/object.hpp"
#include "rubato/global/per_core.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

CoreId core_of(std::uint64_t seed, std::uint64_t i = 0) {
  return static_cast<CoreId>(hash_words(seed, i) % n_cores());
}

// Tasks and coroutines write and take, at cells of all cores: each value is taken once.
std::uint64_t n_wrong_taken(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 200;
  const auto cells = PerCore<core::FullEmpty<std::uint64_t>>::make();
  const auto taken = GlobalArray<std::uint64_t>::make(kValues);
  const auto cell_of = [=](std::uint64_t i) { return cells.on(core_of(seed, i)); };
  finish([&] {
    async_forall(0, kValues / 2, [=](std::uint64_t i) { async_add(taken[read_fe(cell_of(i))], 1); },
                 {1});
    async_forall(kValues / 2, kValues,
                 [=](std::uint64_t i) -> Coroutine {
                   const std::uint64_t value = co_await awaited_read_fe(cell_of(i));
                   async_add(taken[value], 1);
                 },
                 {1});
    async_forall(0, kValues,
                 [=](std::uint64_t i) -> Coroutine {
                   if (i % 3 == 0) {
                     spawn([=] { write_ef(cell_of(i), i); });
                   } else {
                     co_await awaited_write_ef(cell_of(i), i);
                   }
                 },
                 {1});
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

TEST(CoroutineCell, HandsEachValueToOneTaker) {
  expect_right(n_wrong_taken);
}

Coroutine write_strings(GlobalPtr<core::FullEmpty<std::string>> cell, int n) {
  for (int i = 0; i < n; ++i)
    co_await awaited_write_ef(cell, std::string(static_cast<std::size_t>(i * 7), 'x'));
}
Coroutine check_strings(GlobalPtr<core::FullEmpty<std::string>> cell, int n,
                        GlobalPtr<std::uint64_t> n_right) {
  for (int i = 0; i < n; ++i) {
    const std::string text = co_await awaited_read_fe(cell);
    if (text == std::string(static_cast<std::size_t>(i * 7), 'x')) async_add(n_right, 1);
  }
}
std::uint64_t n_wrong_in_order(std::uint64_t seed) {
  const auto cell = create<core::FullEmpty<std::string>>(core_of(seed));
  std::uint64_t n_right = 0;
  finish([&, to = make_global(n_right)] {
    spawn_on(n_cores() - 1, [=] { start(write_strings(cell, 40)); });
    start(check_strings(cell, 40, to));
  });
  destroy(cell);
  return 40 - n_right;
}

TEST(CoroutineCell, CarriesStringsInOrder) {
  expect_right(n_wrong_in_order);
}

std::uint64_t n_wrong_readers(std::uint64_t seed) {
  constexpr std::uint64_t kReaders = 300;
  const auto cell = create<core::FullEmpty<std::uint64_t>>(core_of(seed));
  std::uint64_t sum = 0;
  finish([&, to = make_global(sum)] {
    async_forall(0, kReaders,
                 [=](std::uint64_t) -> Coroutine {
                   const std::uint64_t value = co_await awaited_read_ff(cell);
                   async_add(to, value);
                 },
                 {1});
    for (std::uint64_t i = 0; i < seed % 5; ++i)
      CoreContext::here().yield();
    start([](auto c) -> Coroutine { co_await awaited_write_xf(c, 7); }(cell));
  });
  destroy(cell);
  return sum == 7 * kReaders ? 0 : 1;
}

TEST(CoroutineCell, IsReadByAllWhoWaitForIt) {
  expect_right(n_wrong_readers);
}

// Those who hold the lock read, wait, and write what they have read and one more.
Coroutine add_locked(GlobalPtr<core::Mutex> mutex, GlobalPtr<std::uint64_t> word, bool by_guard) {
  if (by_guard) {
    const AsyncUnlock held = co_await awaited_lock_guard(mutex);
    const std::uint64_t before = co_await awaited_read(word);
    co_await awaited_write(word, before + 1);
    co_return;
  }
  co_await awaited_lock(mutex);
  const std::uint64_t before = co_await awaited_read(word);
  co_await awaited_write(word, before + 1);
  co_await awaited_unlock(mutex);
}
std::uint64_t n_wrong_locked(std::uint64_t seed) {
  constexpr std::uint64_t kSteps = 120;
  const auto mutex = create<core::Mutex>(core_of(seed, 0));
  const auto word = create<std::uint64_t>(core_of(seed, 1), std::uint64_t{0});
  finish([&] {
    async_forall(0, kSteps, [=](std::uint64_t i) { start(add_locked(mutex, word, i % 2 == 0)); },
                 {1});
    async_forall(0, kSteps,
                 [=](std::uint64_t) {
                   const GlobalLock lock(mutex);
                   write(word, read(word) + 1);
                 },
                 {1});
  });
  const std::uint64_t n_wrong = read(word) == 2 * kSteps ? 0 : 1;
  destroy(word);
  destroy(mutex);
  return n_wrong;
}

TEST(CoroutineMutex, LetsOneInTaskOrCoroutine) {
  expect_right(n_wrong_locked);
}

struct Inside {
  std::uint64_t n = 0;
  std::uint64_t n_most = 0;
};
std::uint64_t n_wrong_in_room(std::uint64_t seed) {
  constexpr std::uint64_t kRoom = 3;
  const auto semaphore = create<core::Semaphore>(core_of(seed), kRoom);
  Inside inside;
  forall(0, 120,
         [=, to = make_global(inside)](std::uint64_t) -> Coroutine {
           co_await awaited_acquire(semaphore);
           co_await awaited_call(to, [](Inside& i) { i.n_most = std::max(i.n_most, ++i.n); });
           co_await awaited_call(to, [](Inside& i) { --i.n; });
           co_await awaited_release(semaphore);
         },
         {1});
  destroy(semaphore);
  return inside.n + (inside.n_most >= 1 && inside.n_most <= kRoom ? 0 : 1);
}

TEST(CoroutineSemaphore, LetsAsManyInAsItHas) {
  expect_right(n_wrong_in_room);
}

// More than could wait with stacks, by one barrier, and then for the work of all.
struct Rounds {
  GlobalPtr<core::Barrier> barrier;
  GlobalPtr<core::Completion> work;
  GlobalPtr<std::uint64_t> n_arrived;
  GlobalPtr<std::uint64_t> n_last;
  GlobalPtr<std::uint64_t> n_wrong;
  std::uint64_t n = 0;
};
Coroutine pass_rounds(Rounds all) {
  for (std::uint64_t round = 1; round <= 3; ++round) {
    co_await awaited_fetch_add(all.n_arrived, 1);
    const bool is_last = co_await awaited_arrive_and_wait(all.barrier);
    if (is_last) async_add(all.n_last, 1);
    const std::uint64_t n_arrived = co_await awaited_read(all.n_arrived);
    if (n_arrived < round * all.n) async_add(all.n_wrong, 1);
  }
  co_await awaited_call(all.work, [](core::Completion& c) { c.done(); });
  co_await awaited_wait(all.work);
  const std::uint64_t n_open =
      co_await awaited_call(all.work, [](core::Completion& c) { return c.n_open(); });
  if (n_open != 0) async_add(all.n_wrong, 1);
}
std::uint64_t n_wrong_rounds(std::uint64_t seed) {
  std::uint64_t n_arrived = 0;
  std::uint64_t n_last = 0;
  std::uint64_t n_wrong = 0;
  Rounds all{.barrier = create<core::Barrier>(core_of(seed, 0), std::uint64_t{100}),
             .work = create<core::Completion>(core_of(seed, 1)),
             .n_arrived = make_global(n_arrived),
             .n_last = make_global(n_last),
             .n_wrong = make_global(n_wrong),
             .n = 100};
  call(all.work, [](core::Completion& c) { c.announce(100); });
  forall(0, all.n, [all](std::uint64_t) { start(pass_rounds(all)); }, {1});
  destroy(all.work);
  destroy(all.barrier);
  return n_wrong + (n_last == 3 ? 0 : 1);
}

TEST(CoroutineBarrier, IsPassedWhenAllHaveArrived) {
  expect_right(n_wrong_rounds);
}

// A queue with room for two: producers and consumers of all cores, on conditions of two cores and a
// mutex of a third.
struct Room {
  GlobalPtr<core::Mutex> mutex;
  GlobalPtr<core::Condition> filled;
  GlobalPtr<core::Condition> emptied;
  GlobalPtr<std::uint64_t> n_in;
  GlobalPtr<std::uint64_t> n_out;
  GlobalPtr<std::uint64_t> n_most;
};
Coroutine take_out(Room room) {
  const AsyncUnlock held = co_await awaited_lock_guard(room.mutex);
  for (;;) {
    const std::uint64_t n_in = co_await awaited_read(room.n_in);
    const std::uint64_t n_out = co_await awaited_read(room.n_out);
    if (n_in > n_out) break;
    co_await awaited_wait(room.filled, room.mutex);
  }
  co_await awaited_fetch_add(room.n_out, 1);
  co_await awaited_notify_one(room.emptied);
}
Coroutine put_in(Room room) {
  const AsyncUnlock held = co_await awaited_lock_guard(room.mutex);
  std::uint64_t n_inside = 2;
  while (n_inside == 2) {
    const std::uint64_t n_in = co_await awaited_read(room.n_in);
    const std::uint64_t n_out = co_await awaited_read(room.n_out);
    n_inside = n_in - n_out;
    if (n_inside == 2) co_await awaited_wait(room.emptied, room.mutex);
  }
  co_await awaited_fetch_add(room.n_in, 1);
  co_await awaited_call(room.n_most, [n = n_inside + 1](std::uint64_t& m) { m = std::max(m, n); });
  co_await awaited_notify_one(room.filled);
}
std::uint64_t n_wrong_queued(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 60;
  std::uint64_t n_in = 0;
  std::uint64_t n_out = 0;
  std::uint64_t n_most = 0;
  const Room room{.mutex = create<core::Mutex>(core_of(seed, 0)),
                  .filled = create<core::Condition>(core_of(seed, 1)),
                  .emptied = create<core::Condition>(core_of(seed, 2)),
                  .n_in = make_global(n_in),
                  .n_out = make_global(n_out),
                  .n_most = make_global(n_most)};
  finish([&] {
    async_forall(0, kValues, [room](std::uint64_t) { start(take_out(room)); }, {1});
    async_forall(0, kValues, [room](std::uint64_t) { start(put_in(room)); }, {1});
  });
  destroy(room.emptied);
  destroy(room.filled);
  destroy(room.mutex);
  return (n_in == kValues && n_out == kValues ? 0 : 1) + (n_most >= 1 && n_most <= 2 ? 0 : 1);
}

TEST(CoroutineCondition, WakesThoseWhoWaitForARoomAndAValue) {
  expect_right(n_wrong_queued);
}

std::uint64_t n_wrong_notified(std::uint64_t seed) {
  constexpr std::uint64_t kWaiters = 100;
  const auto mutex = create<core::Mutex>(core_of(seed, 0));
  const auto changed = create<core::Condition>(core_of(seed, 1));
  std::uint64_t value = 0;
  std::uint64_t sum = 0;
  finish([&, v = make_global(value), to = make_global(sum)] {
    async_forall(0, kWaiters,
                 [=](std::uint64_t) -> Coroutine {
                   const AsyncUnlock held = co_await awaited_lock_guard(mutex);
                   std::uint64_t seen = co_await awaited_read(v);
                   while (seen == 0) {
                     co_await awaited_wait(changed, mutex);
                     seen = co_await awaited_read(v);
                   }
                   async_add(to, seen);
                 },
                 {1});
    for (std::uint64_t i = 0; i < seed % 5; ++i)
      CoreContext::here().yield();
    start([](auto m, auto c, auto p) -> Coroutine {
      const AsyncUnlock held = co_await awaited_lock_guard(m);
      co_await awaited_write(p, 7);
      co_await awaited_notify_all(c);
    }(mutex, changed, v));
  });
  destroy(changed);
  destroy(mutex);
  return sum == 7 * kWaiters ? 0 : 1;
}

TEST(CoroutineCondition, TellsAllOfAChange) {
  expect_right(n_wrong_notified);
}

// It fails twice, once as a function and once as a coroutine; then it is done, before anybody goes on.
struct Calls {
  GlobalPtr<core::Once> once;
  GlobalPtr<std::uint64_t> n_calls;
  GlobalPtr<std::uint64_t> n_failed;
  GlobalPtr<std::uint64_t> n_saw_it_done;
};
Coroutine do_it(Calls all) {
  const std::uint64_t before = co_await awaited_fetch_add(all.n_calls, 1);
  if (before < 2) throw std::runtime_error("not yet");
}
Coroutine call_it(Calls all) {
  bool failed = false;
  try {
    co_await awaited_call_once(all.once, [all] { return do_it(all); });
  } catch (const std::runtime_error&) {
    failed = true;
  }
  const bool is_done = co_await awaited_call(all.once, [](core::Once& o) { return o.is_done(); });
  if (failed) {
    async_add(all.n_failed, 1);
  } else if (is_done) {
    async_add(all.n_saw_it_done, 1);
  }
}
std::uint64_t n_wrong_once(std::uint64_t seed) {
  std::uint64_t n_calls = 0;
  std::uint64_t n_failed = 0;
  std::uint64_t n_saw_it_done = 0;
  std::uint64_t n_called = 0;
  const Calls all{.once = create<core::Once>(core_of(seed, 0)),
                  .n_calls = make_global(n_calls),
                  .n_failed = make_global(n_failed),
                  .n_saw_it_done = make_global(n_saw_it_done)};
  const auto simple = create<core::Once>(core_of(seed, 1));
  forall(0, 60,
         [=, called = make_global(n_called)](std::uint64_t) -> Coroutine {
           co_await call_it(all);
           co_await awaited_call_once(simple, [called] { async_add(called, 1); });
         },
         {1});
  destroy(simple);
  destroy(all.once);
  return (n_calls == 3 ? 0 : 1) + (n_failed == 2 ? 0 : 1) + (n_saw_it_done == 58 ? 0 : 1) +
         (n_called == 1 ? 0 : 1);
}

TEST(CoroutineOnce, IsDoneByOneOfAllAndAgainIfItThrew) {
  expect_right(n_wrong_once);
}

// Futures of all cores are under way at once, in the frame; nothing comes of those whose result is void.
Coroutine add_futures(GlobalArray<std::uint64_t> words, GlobalPtr<std::uint64_t> sum) {
  std::deque<Future<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < words.size(); ++i)
    all.emplace_back(words[i], detail::Read<std::uint64_t>{});
  Future<void> written = future_write(words[0], 100);
  co_await written;
  std::uint64_t found = 0;
  for (Future<std::uint64_t>& one : all) {
    const std::uint64_t value = co_await one;
    found += value + one.get();
  }
  async_add(sum, found);
}
std::uint64_t n_wrong_futures(std::uint64_t /*seed*/) {
  const auto words = GlobalArray<std::uint64_t>::make(50);
  for (std::uint64_t i = 0; i < words.size(); ++i)
    write(words[i], i);
  std::uint64_t sum = 0;
  finish([&, to = make_global(sum)] { start(add_futures(words, to)); });
  const std::uint64_t last = read(words[0]);
  words.free();
  return (sum == 49 * 50 ? 0 : 1) + (last == 100 ? 0 : 1);
}

TEST(CoroutineFuture, ManyAreUnderWayAtOnce) {
  expect_right(n_wrong_futures);
}

// What a coroutine has asked for and not waited for is done when its scope ends, and what it throws comes
// to who waits for it.
Coroutine leave_futures(GlobalArray<std::uint64_t> words, bool throws) {
  std::deque<Future<std::uint64_t>> all;
  for (std::uint64_t i = 0; i < words.size(); ++i)
    all.emplace_back(words[i], detail::FetchAdd<std::uint64_t>{1});
  co_await all[words.size() / 2];  // others have come by then, or have not
  if (throws) throw std::runtime_error("with futures under way");
}
Coroutine catch_what_leaves_futures(GlobalArray<std::uint64_t> words,
                                    GlobalPtr<std::uint64_t> n_caught) {
  bool caught = false;
  try {
    co_await leave_futures(words, true);
  } catch (const std::runtime_error&) {
    caught = true;
  }
  co_await leave_futures(words, false);
  if (caught) async_add(n_caught, 1);
}
std::uint64_t n_wrong_left_futures(std::uint64_t /*seed*/) {
  const auto words = GlobalArray<std::uint64_t>::make(50);
  std::uint64_t n_caught = 0;
  finish([&, to = make_global(n_caught)] { start(catch_what_leaves_futures(words, to)); });
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < words.size(); ++i)
    sum += read(words[i]);
  words.free();
  return (sum == 2 * 50 ? 0 : 1) + (n_caught == 1 ? 0 : 1);
}

TEST(CoroutineFuture, ThatIsLeftUnderWayIsDoneAndHidesNoError) {
  expect_right(n_wrong_left_futures);
}

// Of values that are aligned for more than frames are, the results lie on the heap.
struct alignas(64) Wide {
  std::uint64_t value;
};
Coroutine leave_wide_futures(GlobalArray<Wide> words, GlobalPtr<std::uint64_t> sum) {
  std::deque<Future<Wide>> all;
  for (std::uint64_t i = 0; i < words.size(); ++i)
    all.emplace_back(words[i], detail::Read<Wide>{});
  const std::uint64_t one = co_await awaited_call(words[0], [](const Wide& x) { return x.value; });
  async_add(sum, one);
}
std::uint64_t n_wrong_wide_futures(std::uint64_t /*seed*/) {
  const auto words = GlobalArray<Wide>::make(50);
  forall(words, [](Wide& word) { word.value = 7; });
  std::uint64_t sum = 0;
  finish([&, to = make_global(sum)] { start(leave_wide_futures(words, to)); });
  words.free();
  return sum == 7 ? 0 : 1;
}
TEST(CoroutineFuture, MayBeOfValuesThatAreAlignedForMoreThanFramesAre) {
  expect_right(n_wrong_wide_futures);
}

// More wait at one cell than there are stacks of a core.
TEST(CoroutineCell, MayBeWaitedForByVeryMany) {
  constexpr std::uint64_t kMany = 100'000;
  ASSERT_GT(kMany / 2, core::detail::StackPoolOptions{}.n_guarded_max);
  std::uint64_t n_done = 0;
  simulate_seed(2, 1, 1, [&] {
    const auto cell = create<core::FullEmpty<int>>(1);
    const auto semaphore = create<core::Semaphore>(0, std::uint64_t{1});
    finish([&, to = make_global(n_done)] {
      async_forall(0, kMany, [=](std::uint64_t) -> Coroutine {
        static_cast<void>(co_await awaited_read_ff(cell));
        co_await awaited_acquire(semaphore);
        async_add(to, 1);
        co_await awaited_release(semaphore);
      });
      write_xf(cell, 1);
    });
    destroy(semaphore);
    destroy(cell);
  });
  EXPECT_EQ(n_done, kMany);
}

TEST(CoroutineCell, ThatNobodyFillsIsADeadlockThatSaysWhatIsWaitedFor) {
  std::string text = "no error";
  try {
    simulate_seed(2, 1, 1, [] {
      const auto cells = PerCore<core::FullEmpty<int>>::make();
      const auto locks = PerCore<core::Mutex>::make();
      lock(locks.on(1));
      for (int i = 0; i < 5; ++i) {
        start([](auto cell, auto mutex, bool locks_it) -> Coroutine {
          if (locks_it) co_await awaited_lock(mutex);
          static_cast<void>(co_await awaited_read_fe(cell));
        }(cells.on(0), locks.on(1), i < 2));
      }
    });
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("5 coroutines of core 0"), std::string::npos) << text;
  EXPECT_NE(text.find("3 for a cell to be full"), std::string::npos) << text;
  EXPECT_NE(text.find("2 for a mutex of another core"), std::string::npos) << text;
  EXPECT_EQ(text.find("for delegates"), std::string::npos) << text;
}

}  // namespace
}  // namespace rubato::global

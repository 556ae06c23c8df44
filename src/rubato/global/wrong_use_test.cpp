// What checked builds refuse, with the place; and values of all kinds that go through.

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/caller.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/bulk.hpp"
#include "rubato/global/cache.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/sync.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

struct alignas(32) Wide {
  std::uint64_t words[4];
  bool operator==(const Wide&) const = default;
};

TEST(Delegates, ValuesOfAnyAlignmentTravel) {
  simulate_seed(2, 1, 1, [] {
    const auto wide = GlobalArray<Wide>::make(2);
    const Wide value{{1, 2, 3, 4}};
    write(wide[1], value);
    ASSERT_EQ(read(wide[1]), value);
    ASSERT_TRUE(compare_exchange(wide[1], value, Wide{{5, 6, 7, 8}}));
    ASSERT_EQ(future_read(wide[1]).get(), (Wide{{5, 6, 7, 8}}));
    finish([&] { async_write(wide[1], value); });
    Wide seen{};
    finish([&] { fetch(wide[1], [to = &seen](const Wide& w) { *to = w; }); });
    ASSERT_EQ(seen, value);
    const auto longs = GlobalArray<long double>::make(2);
    ASSERT_EQ(fetch_add(longs[1], 0.5L), 0.0L);
    ASSERT_EQ(fetch_add(longs[1], 0.25L), 0.5L);
    ASSERT_EQ(read(longs[1]), 0.75L);
    longs.free();
    wide.free();
  });
}

Coroutine below(GlobalPtr<std::uint64_t> p, std::uint64_t depth, std::uint64_t& sum) {
  sum += co_await awaited_fetch_add(p, 1);
  if (depth == 0) co_return;
  co_await below(p, depth - 1, sum);
  const bool is_so = co_await awaited_compare_exchange(p, depth, 100);
  if (!is_so) throw Error("not so", ExitCode::failed);
  co_await awaited_write(p, depth + 1);
}

Coroutine around(GlobalPtr<std::uint64_t> p, std::uint64_t* sum, std::string* failure) {
  co_await below(p, 0, *sum);
  co_await awaited_write(p, 0);
  try {
    co_await below(p, 2, *sum);
  } catch (const Error& error) {
    *failure = error.what();
  }
}

TEST(Coroutine, OneWaitsForAnotherAndCatchesWhatItThrows) {
  simulate_seed(2, 1, 1, [] {
    const auto word = GlobalArray<std::uint64_t>::make(2);
    std::uint64_t sum = 0;
    std::string failure;
    finish([&] { start(around(word[1], &sum, &failure)); });
    // 0; then 0, 1, 2, after which the word is 3, and not 1.
    ASSERT_EQ(sum, 3U);
    ASSERT_EQ(failure, "not so");
    ASSERT_EQ(read(word[1]), 3U);
    word.free();
  });
}

void be_busy_until(const bool& is_over) {
  while (!is_over) {
    CoreContext::here().charge(10 * kMicrosecond);
    CoreContext::here().yield();
  }
}

// A task that is busy on the core does not keep it waiting until what is held back is old.
TEST(Vector, APushThatWaitsLeavesWithTheSlice) {
  const SimulatedRun run = simulate_seed(1, 1, 1, [] {
    const auto vector = GlobalVector<int>::make();
    bool is_over = false;
    CoreContext::here().spawn([&] { be_busy_until(is_over); });
    for (int i = 0; i < 10; ++i)
      vector.push(i);
    is_over = true;
    ASSERT_EQ(vector.size(), 10U);
    vector.free();
  });
  EXPECT_LT(run.wall, 5 * kMillisecond);
}

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
// With the line of the test that waits, where there is what can tell it.
std::string refused(const char* who) {
  const char* const place = user_caller().empty() ? "" : " at .*wrong_use_test.cpp:[0-9]+, ";
  return std::string("must not wait.*") + who + ".*" + place;
}

template <class F>
void run_with_words(F use) {
  simulate_seed(2, 1, 1, [use] { use(GlobalArray<std::uint64_t>::make(2)); });
}
using Words = GlobalArray<std::uint64_t>;

// Whatever it waits with, in place and on another core.
template <class F>
// NOLINTNEXTLINE(readability-function-size): within EXPECT_DEATH
void expect_refused(F wait) {
  const auto delegate = [wait](std::uint64_t&) { wait(); };
  const auto there = [=](Words words) { finish([=] { async_call(words[1], delegate); }); };
  EXPECT_DEATH(run_with_words(there), refused("expect_refused"));
  EXPECT_DEATH(run_with_words([=](Words words) { call(words[0], delegate); }),
               refused("expect_refused"));
}

TEST(WrongUseDeathTest, ADelegateThatWaitsForACellIsTold) {
  static core::FullEmpty<int> cell;
  expect_refused([] { static_cast<void>(cell.read_ff()); });
}
TEST(WrongUseDeathTest, ADelegateThatWaitsForAMutexIsTold) {
  static core::Mutex mutex;
  expect_refused([] {
    mutex.lock();
    mutex.lock();
  });
}
// Also where what it asks for lies on its own core, so that it would not wait today.
TEST(WrongUseDeathTest, ADelegateThatAsksForWhatItsOwnCoreHasIsTold) {
  const auto ask = [](auto f) {
    return [f](Words words) {
      const auto map = GlobalHashMap<int, int>::make();
      const auto bag = GlobalBag<int>::make();
      bag.put(1);
      int key = 0;
      for (; map.local().size() == 0; ++key)
        map.insert(key, 0);
      call(words[0], [=](std::uint64_t&) { f(map, bag, key - 1); });
    };
  };
  const auto expect_told = [&](auto f) {
    EXPECT_DEATH(run_with_words(ask(f)), refused("ADelegateThatAsksForWhatItsOwnCoreHas"));
  };
  using Map = GlobalHashMap<int, int>;
  using Bag = GlobalBag<int>;
  expect_told([](Map map, Bag, int key) { static_cast<void>(map.find(key)); });
  expect_told([](Map map, Bag, int key) { map.insert(key, 2); });
  expect_told([](Map map, Bag, int key) { map.visit(key, [](int& x) { ++x; }); });
  expect_told([](Map, Bag bag, int) { static_cast<void>(bag.take()); });
  expect_told([](Map, Bag, int) {
    int into = 0;
    get(make_global(into), std::span(&into, 1));
  });
}
TEST(WrongUseDeathTest, ADelegateThatYieldsIsTold) {
  expect_refused([] { CoreContext::here().yield(); });
  expect_refused([] { CoreContext::here().tasks().yield(); });
}

TEST(WrongUseDeathTest, ADelegateThatOpensAScopeIsTold) {
  expect_refused([] { finish([] {}); });
}
TEST(WrongUseDeathTest, ADelegateThatHasNativeWorkIsTold) {
  expect_refused([] { CoreContext::here().run_native([] {}); });
}
TEST(WrongUseDeathTest, ADelegateThatWaitsOnASmallStackIsTold) {
  const auto use = [](Words words) {
    finish([=] {
      spawn([=] { call(words[0], [](std::uint64_t&) { CoreContext::here().yield(); }); },
            {"tiny", core::StackClass::small});
    });
  };
  EXPECT_DEATH(run_with_words(use), refused("ADelegateThatWaitsOnASmallStack"));
}
// Of a word of another core than that which the delegate runs on.
TEST(WrongUseDeathTest, ADelegateThatWaitsForAFutureIsTold) {
  const auto wait_for = [](Words words) {
    return [words](std::uint64_t& x) { x = future_read(words[1 - this_core()]).get(); };
  };
  const auto there = [=](Words words) { finish([=] { async_call(words[1], wait_for(words)); }); };
  const std::string text = refused("ADelegateThatWaitsForAFuture");
  EXPECT_DEATH(run_with_words(there), text);
  EXPECT_DEATH(run_with_words([=](Words words) { call(words[0], wait_for(words)); }), text);
}

template <class F>
// NOLINTNEXTLINE(readability-function-size): within EXPECT_DEATH
void expect_nothing_told(F use) {
  EXPECT_DEATH(simulate_seed(2, 1, 1, use), "points to nothing");
}
Coroutine read_nothing() {
  static_cast<void>(co_await awaited_read(GlobalPtr<int>{}));
}
TEST(WrongUseDeathTest, APointerToNothingIsToldWhoeverUsesIt) {
  expect_nothing_told([] { static_cast<void>(future_read(GlobalPtr<int>{}).get()); });
  expect_nothing_told([] {
    int into[2]{};
    get(GlobalPtr<int>{}, std::span<int>(into));
  });
  expect_nothing_told([] { start(read_nothing()); });
}

// Whoever copies ranges, and the place of the call.
template <class F>
// NOLINTNEXTLINE(readability-function-size): within EXPECT_DEATH
void expect_out_of_bounds(F use, const char* text) {
  EXPECT_DEATH(simulate_seed(2, 1, 1, use), text);
}
TEST(WrongUseDeathTest, ARangeBeyondWhatIsAllocatedIsToldWithItsPlaceAndTheBounds) {
  expect_out_of_bounds(
      [] {
        const auto array = GlobalArray<int>::make(20);  // 10 of each core
        std::vector<int> into(7);
        get(array[5], std::span(into));
        into.resize(9);
        get(array[5], std::span(into));  // from its third one on
      },
      "not within what was allocated.*wrong_use_test.cpp:.*8.*36.*40");
  expect_out_of_bounds(
      [] {
        const auto array = GlobalArray<int>::make(20);
        const std::vector<int> from(3, 1);
        finish([&] { async_put(from, array, 18); });
      },
      "that the array does not have.*wrong_use_test.cpp:.*18.*3.*20");
  expect_out_of_bounds(
      [] {
        const auto array = GlobalArray<int>::make(20);
        const ReadOnlyCache<int> cache(array[19], 4);
      },
      "not within what was allocated.*wrong_use_test.cpp:");
}
TEST(WrongUseDeathTest, ARangeOfAnArrayThatWasFreedIsTold) {
  expect_out_of_bounds(
      [] {
        const auto array = GlobalArray<int>::make(20);
        const auto p = array[4];
        array.free();
        std::vector<int> into(1);
        get(p, std::span(into));
      },
      "not within what was allocated.*wrong_use_test.cpp:");
}

struct Named {
  const char* name;
};
Named here{"here"};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

TEST(WrongUseDeathTest, AnAddressWithinAResultIsTold) {
  const auto ask = [](Words words) {
    static_cast<void>(call(words[1], [](std::uint64_t&) { return here; }));
  };
  EXPECT_DEATH(run_with_words(ask), "captures an address.*Named");
}
TEST(WrongUseDeathTest, AnAddressWithinAValueOfAContainerIsTold) {
  const auto insert = [](Words) {
    const auto map = GlobalHashMap<int, Named>::make();
    finish([&] { map.async_insert(1, here); });
  };
  EXPECT_DEATH(run_with_words(insert), "captures an address.*Named");
  const auto push = [](Words) { GlobalVector<Named>::make().push(here); };
  EXPECT_DEATH(run_with_words(push), "captures an address.*Named");
  const auto take = [](Words) {
    const auto bag = GlobalBag<Named>::make();
    bag.put(here);
    finish([&] { spawn_on(1, [=] { static_cast<void>(bag.take()); }); });
  };
  EXPECT_DEATH(run_with_words(take), "captures an address.*Named");
  const auto fill = [](Words) { write_ef(PerCore<core::FullEmpty<Named>>::make().on(1), here); };
  EXPECT_DEATH(run_with_words(fill), "captures an address.*Named");
}
TEST(WrongUseDeathTest, AnAddressWithinWhatACollectiveOrACopySendsIsTold) {
  const auto give_all = [](Words) {
    on_all_cores([] { static_cast<void>(Team::job().broadcast(here)); });
  };
  EXPECT_DEATH(run_with_words(give_all), "captures an address.*Named");
  const auto gather = [](Words) {
    on_all_cores([] { static_cast<void>(Team::job().gather(here)); });
  };
  EXPECT_DEATH(run_with_words(gather), "captures an address.*Named");
  const auto copy = [](Words) {
    const std::vector<Named> two(2, here);
    put(two, GlobalArray<Named>::make(2), 0);
  };
  EXPECT_DEATH(run_with_words(copy), "captures an address.*Named");
}
#endif

}  // namespace
}  // namespace rubato::global

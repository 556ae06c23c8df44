// Coroutines and what lies elsewhere: ranges of memory, and containers, beside what the standard library
// makes of the same.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/coroutine_bulk.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/hash_set.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

// Copies parts of an array to others of another one, in random pieces that do not overlap there.
Coroutine copy_ranges(GlobalArray<std::uint32_t> from, GlobalArray<std::uint32_t> to,
                      std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges,
                      GlobalPtr<std::uint64_t> n_wrong) {
  for (const auto& [first, n] : ranges) {
    std::vector<std::uint32_t> part(n, 7);
    co_await awaited_get(from, first, part);
    std::uint64_t n_bad = 0;
    for (std::uint64_t i = 0; i < n; ++i)
      n_bad += part[i] != static_cast<std::uint32_t>(3 * (first + i)) ? 1 : 0;
    if (n_bad != 0) async_add(n_wrong, n_bad);
    co_await awaited_put(part, to, first);
    part.assign(n, 0);
    co_await awaited_get(to.begin() + static_cast<std::int64_t>(first), part);
    for (std::uint64_t i = 0; i < n; ++i)
      n_bad += part[i] != static_cast<std::uint32_t>(3 * (first + i)) ? 1 : 0;
    if (n_bad != 0) async_add(n_wrong, n_bad);
  }
}
std::uint64_t n_wrong_copies(std::uint64_t seed) {
  RandomStream random(seed, 5);
  constexpr std::uint64_t kSize = 30'000;
  const auto block = static_cast<std::uint64_t>(random.between(1, 700));
  const auto from = GlobalArray<std::uint32_t>::make(kSize, block);
  const auto to = GlobalArray<std::uint32_t>::make(kSize, block);
  forall(from, [](std::uint64_t i, std::uint32_t& x) { x = static_cast<std::uint32_t>(3 * i); });
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> of(4);
  for (std::uint64_t first = 0; first < kSize;) {
    const auto n = std::min<std::uint64_t>(
        static_cast<std::uint64_t>(random.between(0, random.between(0, 9) == 0 ? 9'000 : 40)),
        kSize - first);
    of[static_cast<std::size_t>(random.between(0, 3))].emplace_back(first, n);
    first += std::max<std::uint64_t>(n, 1);
    if (n == 0) write(to[first - 1], static_cast<std::uint32_t>(3 * (first - 1)));
  }
  std::uint64_t n_wrong = 0;
  finish([&, wrong = make_global(n_wrong)] {
    for (auto& ranges : of)
      start(copy_ranges(from, to, std::move(ranges), wrong));
  });
  for (std::uint64_t i = 0; i < kSize; i += 1'000) {
    std::vector<std::uint32_t> part(1'000);
    get(to, i, std::span(part));
    for (std::uint64_t j = 0; j < 1'000; ++j)
      n_wrong += part[j] != static_cast<std::uint32_t>(3 * (i + j)) ? 1 : 0;
  }
  from.free();
  to.free();
  return n_wrong;
}
TEST(CoroutineBulk, CopiesRangesAsALoopDoes) {
  expect_right(n_wrong_copies);
}

TEST(CoroutineBulk, CopiesWhatOneCoreHas) {
  std::vector<int> found(1'000);
  simulate_seed(2, 1, 1, [&] {
    const auto words = GlobalArray<int>::make(2'000, 1'000);
    start([](GlobalPtr<int> theirs, std::vector<int>& into) -> Coroutine {
      std::vector<int> numbers(1'000);
      std::iota(numbers.begin(), numbers.end(), 5);
      co_await awaited_put(numbers, theirs);
      numbers.assign(1'000, 0);
      co_await awaited_get(theirs, std::span(into));
    }(words[1'000], found));
  });
  EXPECT_EQ(found.front(), 5);
  EXPECT_EQ(found.back(), 1'004);
}

// Each coroutine has keys of its own, so that what it sees is what a map of its own would say.
Coroutine use_map(GlobalHashMap<std::string, std::string> map, GlobalHashSet<std::uint64_t> set,
                  std::uint64_t me, GlobalPtr<std::uint64_t> n_wrong) {
  RandomStream random(me, 8);
  std::map<std::string, std::string> mine;
  std::set<std::uint64_t> my_set;
  std::uint64_t n_bad = 0;
  for (int step = 0; step < 60; ++step) {
    const auto number = static_cast<std::uint64_t>(random.between(0, 9));
    const std::string key = std::to_string(me) + std::string(number * 5, '.') + "key";
    const std::uint64_t in_set = me * 10 + number;
    switch (random.between(0, 2)) {
      case 0: {
        const std::string value = "value " + std::to_string(step);
        const bool is_new = co_await map.awaited_insert(key, value);
        n_bad += is_new != mine.try_emplace(key, value).second ? 1 : 0;
        const bool is_first = co_await set.awaited_insert(in_set);
        n_bad += is_first != my_set.insert(in_set).second ? 1 : 0;
        break;
      }
      case 1: {
        const bool was_there = co_await map.awaited_erase(key);
        n_bad += was_there != (mine.erase(key) == 1) ? 1 : 0;
        const bool was_in = co_await set.awaited_erase(in_set);
        n_bad += was_in != (my_set.erase(in_set) == 1) ? 1 : 0;
        break;
      }
      default: {
        const std::optional<std::string> found = co_await map.awaited_find(key);
        const auto expected = mine.find(key);
        n_bad += found.has_value() != (expected != mine.end()) ? 1 : 0;
        if (found && expected != mine.end()) n_bad += *found != expected->second ? 1 : 0;
        const bool is_there = co_await map.awaited_contains(key);
        n_bad += is_there != found.has_value() ? 1 : 0;
        const bool is_in = co_await set.awaited_contains(in_set);
        n_bad += is_in != my_set.contains(in_set) ? 1 : 0;
      }
    }
  }
  if (n_bad != 0) async_add(n_wrong, n_bad);
}
std::uint64_t n_wrong_in_maps(std::uint64_t /*seed*/) {
  const auto map = GlobalHashMap<std::string, std::string>::make();
  const auto set = GlobalHashSet<std::uint64_t>::make();
  std::uint64_t n_wrong = 0;
  forall(0, 20, [=, to = make_global(n_wrong)](std::uint64_t i) -> Coroutine {
    return use_map(map, set, i, to);
  });
  map.free();
  set.free();
  return n_wrong;
}
TEST(CoroutineContainers, MapsAndSetsAreThoseOfTheStandardLibrary) {
  expect_right(n_wrong_in_maps);
}

// Each value comes out once, whoever takes it: coroutines and tasks from both ends.
std::uint64_t n_wrong_taken(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 300;
  const auto vector = GlobalVector<std::string>::make();
  const auto bag = GlobalBag<std::uint64_t>::make();
  std::uint64_t n_of_vector = 0;
  std::uint64_t sum_of_vector = 0;
  std::uint64_t n_of_bag = 0;
  std::uint64_t sum_of_bag = 0;
  std::uint64_t n_bad = 0;
  finish([=, bad = make_global(n_bad), n_vector = make_global(n_of_vector),
          sum_vector = make_global(sum_of_vector), n_bag = make_global(n_of_bag),
          sum_bag = make_global(sum_of_bag)] {
    // Pushed while others pop.
    async_forall(0, kValues, [=](std::uint64_t i) {
      vector.async_push(std::to_string(i));
      bag.put(i);
    });
    async_forall(0, kValues, [=](std::uint64_t i) -> Coroutine {
      // Of those that are pushed, and may be on their way and be popped meanwhile.
      const std::optional<std::string> seen = co_await vector.awaited_get(i % 9);
      if (seen && std::stoull(*seen) >= kValues) async_add(bad, 1);
      std::optional<std::string> text;
      if ((i + seed) % 2 == 0) {
        text = co_await vector.awaited_pop();
      } else {
        text = co_await vector.awaited_pop_front();
      }
      if (text) {
        async_add(n_vector, 1);
        async_add(sum_vector, std::stoull(*text));
      }
      const std::optional<std::uint64_t> number = co_await bag.awaited_take();
      if (number) {
        async_add(n_bag, 1);
        async_add(sum_bag, *number);
      }
    });
  });
  while (const std::optional<std::string> text = vector.pop()) {
    ++n_of_vector;
    sum_of_vector += std::stoull(*text);
  }
  while (const std::optional<std::uint64_t> number = bag.take()) {
    ++n_of_bag;
    sum_of_bag += *number;
  }
  vector.free();
  bag.free();
  constexpr std::uint64_t kSum = kValues * (kValues - 1) / 2;
  return n_bad + (n_of_vector == kValues ? 0 : 1) + (sum_of_vector == kSum ? 0 : 1) +
         (n_of_bag == kValues ? 0 : 1) + (sum_of_bag == kSum ? 0 : 1);
}
// A worklist that never ends, on one core: the other one gets some all the same.
void work_until_some_are_taken(bool is_coroutine) {
  std::uint64_t n_steps = 0;
  std::uint64_t n_taken = 0;
  run_here(2, [&] {
    constexpr std::uint64_t kStepsMost = 50'000'000;
    const auto bag = GlobalBag<std::uint64_t>::make();
    for (std::uint64_t i = 0; i < 100; ++i)
      bag.put(i);
    const auto flags = PerCore<bool>::make();
    finish([&, taken = make_global(n_taken), done = flags.on(0), own = make_global(n_steps)] {
      spawn_on(1, [=] {
        while (!bag.take())
          yield();
        async_call(taken, [](std::uint64_t& n) { ++n; });
        async_write(done, true);
      });
      if (is_coroutine) {
        start([=]() -> Coroutine {
          for (std::uint64_t i = 0; i < kStepsMost && !done.local(); ++i) {
            const std::optional<std::uint64_t> value = co_await bag.awaited_take();
            if (value) bag.put(*value);
            own.local() = i;
          }
        });
      } else {
        for (std::uint64_t i = 0; i < kStepsMost && !done.local(); ++i) {
          const std::optional<std::uint64_t> value = bag.take();
          if (value) bag.put(*value);
          own.local() = i;
        }
      }
    });
    EXPECT_LT(n_steps, kStepsMost - 1);
  });
  EXPECT_EQ(n_taken, 1U);
}
TEST(CoroutineContainers, AWorklistOfACoroutineKeepsNobodyOut) {
  work_until_some_are_taken(true);
}
TEST(GlobalBag, AWorklistOfATaskKeepsNobodyOut) {
  work_until_some_are_taken(false);
}

TEST(CoroutineContainers, EachValueOfAVectorAndOfABagIsTakenOnce) {
  expect_right(n_wrong_taken);
}

}  // namespace
}  // namespace rubato::global

#include "rubato/global/cache.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

using Words = GlobalArray<std::uint64_t>;

constexpr std::uint64_t kBlocks[] = {0, 1, 3, 8};

// Elements of ranges that begin and end anywhere, through caches on all cores.
std::uint64_t n_wrong_elements(std::uint64_t n, std::uint64_t block, std::uint64_t seed) {
  const auto array = Words::make(n, block);
  const auto wrong = Words::make(1);
  forall(array, [seed](std::uint64_t i, std::uint64_t& x) { x = hash_words(seed, i); });
  on_all_cores([=] {
    std::uint64_t n_wrong = 0;
    for (std::uint64_t round = 0; round < 10; ++round) {
      const std::uint64_t first = hash_words(seed, round, this_core()) % (n + 1);
      const std::uint64_t n_cached = hash_words(seed, round, first) % (n - first + 1);
      const ReadOnlyCache cache(array, first, n_cached);
      if (round % 2 == 0) cache.acquire();
      std::uint64_t i = first;
      for (const std::uint64_t x : cache)
        n_wrong += x == hash_words(seed, i++) ? 0 : 1;
      n_wrong += i == first + n_cached ? 0 : 1;
      if (n_cached > 0) n_wrong += cache[n_cached - 1] == hash_words(seed, i - 1) ? 0 : 1;
    }
    if (n_wrong != 0) fetch_add(wrong[0], n_wrong);
  });
  return read(wrong[0]);
}

TEST(Cache, HoldsTheElementsOfAnyRange) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 4), 1 + static_cast<std::uint32_t>(seed % 3), seed,
        [&] { n_wrong = n_wrong_elements(hash_words(seed) % 400, kBlocks[seed % 4], seed); },
        seed % 2 == 0 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
  }
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    std::uint64_t n_wrong = 1;
    run_here(n_cores, [&] { n_wrong = n_wrong_elements(100'000, kBlocks[n_cores], n_cores); });
    EXPECT_EQ(n_wrong, 0U) << n_cores << " cores";
  }
}

// Tasks of all cores change ranges that overlap, each under a lock: x * 3 + 1 or x * 3. In which
// order they came cannot be told; that none was lost is in the digits to the base 3.
std::uint64_t n_wrong_after_locked_changes(std::uint64_t n, std::uint64_t block,
                                           std::uint64_t seed) {
  constexpr std::uint64_t kTasks = 12;
  const auto array = Words::make(n, block);
  const auto lock = Words::make(1);
  forall(0, kTasks, [=](std::uint64_t task) {
    const std::uint64_t first = hash_words(seed, task) % n;
    WriteBackCache<std::uint64_t> cache(array, first, n - first);
    while (!compare_exchange(lock[0], std::uint64_t{0}, std::uint64_t{1}))
      CoreContext::here().yield();
    cache.acquire();
    for (std::uint64_t& x : cache)
      x = x * 3 + task % 2;
    cache.release();
    write(lock[0], std::uint64_t{0});
  });
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t n_odd = 0;
    for (std::uint64_t task = 1; task < kTasks; task += 2)
      n_odd += hash_words(seed, task) % n <= i ? 1 : 0;
    std::uint64_t n_found = 0;
    for (std::uint64_t digits = read(array[i]); digits > 0; digits /= 3)
      n_found += digits % 3;
    n_wrong += n_found == n_odd ? 0 : 1;
  }
  return n_wrong;
}

TEST(Cache, ChangesUnderALockAreAllThere) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 4), 1 + static_cast<std::uint32_t>(seed % 2), seed,
        [&] { n_wrong = n_wrong_after_locked_changes(20 + 9 * seed, kBlocks[seed % 4], seed); },
        seed % 2 == 0 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
  }
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    std::uint64_t n_wrong = 1;
    run_here(n_cores,
             [&] { n_wrong = n_wrong_after_locked_changes(100, kBlocks[n_cores], n_cores); });
    EXPECT_EQ(n_wrong, 0U) << n_cores << " cores";
  }
}

// Each core writes its share of the elements without reading it; the destructor writes back.
TEST(Cache, WriteOnlyFetchesNothing) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const std::uint64_t n = 100 + seed * 50;
    std::uint64_t n_right = 0;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 3), 2, seed,
        [&] {
          const auto array = Words::make(n, kBlocks[seed % 4]);
          on_all_cores([=] {
            const std::uint64_t first = n * this_core() / n_cores();
            const std::uint64_t end = n * (this_core() + 1) / n_cores();
            WriteBackCache cache(array, first, end - first, CacheMode::write_only);
            for (std::uint64_t i = first; i < end; ++i)
              cache[i - first] = hash_words(seed, i);
          });
          for (std::uint64_t i = 0; i < n; ++i)
            n_right += read(array[i]) == hash_words(seed, i) ? 1 : 0;
        },
        tiny_windows());
    EXPECT_EQ(n_right, n) << "seed " << seed;
  }
}

std::uint64_t n_messages_of_a_cache(bool is_used, CacheMode mode, bool is_changed) {
  return simulate_seed(2, 1, 1,
                       [=] {
                         const auto array = Words::make(100);
                         if (!is_used) return;
                         WriteBackCache cache(array, 3, 50, mode);
                         cache.acquire();
                         if (is_changed) cache[0] = 1;
                         cache.release();
                       })
      .counters.n_posted;
}

TEST(Cache, SendsWhatItsModeNeedsAndWritesBackWhatWasChanged) {
  const std::uint64_t n_without = n_messages_of_a_cache(false, CacheMode::read_write, false);
  EXPECT_EQ(n_messages_of_a_cache(true, CacheMode::read_write, true) - n_without, 4U);
  EXPECT_EQ(n_messages_of_a_cache(true, CacheMode::read_write, false) - n_without, 2U);
  EXPECT_EQ(n_messages_of_a_cache(true, CacheMode::write_only, true) - n_without, 2U);
  EXPECT_EQ(n_messages_of_a_cache(true, CacheMode::write_only, false) - n_without, 0U);
}

TEST(Cache, IsIncoherentBetweenAcquireAndRelease) {
  std::vector<std::uint64_t> seen;
  simulate_seed(2, 1, 1, [&] {
    const auto array = Words::make(8);
    const GlobalPtr<std::uint64_t> there = array[1];  // and array[3], ..
    ReadOnlyCache read_only(there, 2);
    WriteBackCache write_back(there, 2);
    read_only.acquire();
    write_back[1] = 5;
    write(array[1], std::uint64_t{7});
    seen = {read_only[0], write_back.view()[0], read(array[3])};
    read_only.release();
    seen.push_back(read_only[0]);  // fetched again
    write_back.release();          // all of the range, the old element too
    seen.push_back(read(array[1]));
    seen.push_back(read(array[3]));
  });
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 0, 0, 7, 0, 5}));
}

TEST(Cache, ARangeOfTheCallingCoreIsUsedInPlace) {
  std::uint64_t n_wrong = 0;
  simulate_seed(2, 1, 1, [&] {
    const auto array = Words::make(2'000, 0);
    forall(array, [](std::uint64_t i, std::uint64_t& x) { x = i; });
    const ReadOnlyCache mine(array, 10, 900);
    WriteBackCache also_mine(array[20], 50);
    n_wrong += mine.is_in_place() && mine.begin() == array.local() + 10 ? 0 : 1;
    also_mine[1] = 1'000;
    n_wrong += also_mine.is_in_place() && mine[11] == 1'000 ? 0 : 1;
    // Partly here is not here.
    const ReadOnlyCache both(array, 1'000, 100);
    n_wrong += !both.is_in_place() && both[0] == 1'000 && both[99] == 1'099 ? 0 : 1;
    const ReadOnlyCache<std::uint64_t> none(array, 2'000, 0);
    n_wrong += none.begin() == none.end() ? 0 : 1;
    const ReadOnlyCache constant(GlobalPtr<const std::uint64_t>(0, array[5].place()), 1);
    n_wrong += constant[0] == 5 ? 0 : 1;
  });
  EXPECT_EQ(n_wrong, 0U);
}

TEST(Cache, CachesAreFetchedSideBySide) {
  Nanos walls[2];
  for (std::uint32_t more = 0; more < 2; ++more) {
    walls[more] = simulate(
                      [=] {
                        const auto array = Words::make(2'000, 0);
                        std::vector<std::unique_ptr<ReadOnlyCache<std::uint64_t>>> rows;
                        for (std::uint32_t row = 0; row < (more == 0 ? 1 : 20); ++row) {
                          rows.push_back(std::make_unique<ReadOnlyCache<std::uint64_t>>(
                              array, 1'500 + row * 10, 10));
                        }
                        for (const auto& row : rows)
                          row->acquire();
                      },
                      {.n_nodes = 2, .program = {{}, kTestBytesACore}})
                      .wall;
  }
  EXPECT_LT(walls[1], 2 * walls[0]);
}

}  // namespace
}  // namespace rubato::global

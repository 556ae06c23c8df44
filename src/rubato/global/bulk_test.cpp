#include "rubato/global/bulk.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

constexpr std::uint64_t kBlocks[] = {0, 1, 3, 8};

// Of a size that is no power of two.
struct Triple {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  bool operator==(const Triple&) const = default;
};

// The `i`-th value of a seed.
template <class T>
T value_of(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t word = hash_words(seed, i);
  if constexpr (std::is_same_v<T, Triple>) {
    const auto low = static_cast<std::uint32_t>(word);
    return {low, static_cast<std::uint32_t>(word >> 32), low * 3 + 1};
  } else {
    return static_cast<T>(word);
  }
}
template <class T>
std::vector<T> values_of(std::uint64_t seed, std::uint64_t first, std::uint64_t n) {
  std::vector<T> values(n);
  for (std::uint64_t i = 0; i < n; ++i)
    values[i] = value_of<T>(seed, first + i);
  return values;
}

// Puts and gets of ranges that begin and end anywhere, next to the same on a plain vector.
template <class T>
std::uint64_t n_wrong_copies(std::uint64_t n, std::uint64_t block, std::uint64_t seed) {
  const auto array = GlobalArray<T>::make(n, block);
  std::vector<T> expected(n);
  std::uint64_t n_wrong = 0;
  for (std::uint64_t round = 0; round < 8; ++round) {
    const std::uint64_t first = hash_words(seed, round, 1) % (n + 1);
    const std::vector<T> values =
        values_of<T>(hash_words(seed, round), 0, hash_words(seed, round, 2) % (n - first + 1));
    if (round % 2 == 0) {
      put(values, array, first);
    } else {
      finish([&] { async_put(std::vector(values), array, first); });
    }
    std::ranges::copy(values, expected.begin() + static_cast<std::ptrdiff_t>(first));
    const std::uint64_t from = hash_words(seed, round, 3) % (n + 1);
    std::vector<T> found(hash_words(seed, round, 4) % (n - from + 1));
    if (round % 3 == 0) {
      finish([&] { async_get(array, from, found); });
    } else {
      get(array, from, found);
    }
    n_wrong += std::ranges::equal(found, std::span(expected).subspan(from, found.size())) ? 0 : 1;
  }
  for (std::uint64_t i = 0; i < n; ++i)
    n_wrong += read(array[i]) == expected[i] ? 0 : 1;
  array.free();
  return n_wrong;
}

TEST(Bulk, RangesOfAnArrayAreCopiedAsByALoop) {
  for (std::uint64_t seed = 0; seed < n_seeds(24); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint64_t block = kBlocks[seed % 4];
    const std::uint64_t n = hash_words(seed) % 300;
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 5), 1 + static_cast<std::uint32_t>(seed % 3), seed,
        [&] {
          n_wrong = n_wrong_copies<std::uint64_t>(n, block, seed) +
                    n_wrong_copies<std::uint8_t>(n, block, seed) +
                    n_wrong_copies<std::uint32_t>(n, block, seed) +
                    n_wrong_copies<Triple>(n, block, seed);
        },
        seed % 2 == 0 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U);
  }
}

TEST(Bulk, RangesOfAnArrayAreCopiedAsByALoopOnRealCores) {
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    for (const std::uint64_t block : kBlocks) {
      std::uint64_t n_wrong = 1;
      run_here(n_cores, [&] {
        n_wrong = n_wrong_copies<std::uint64_t>(500, block, n_cores) +
                  n_wrong_copies<Triple>(500, block, n_cores);
      });
      EXPECT_EQ(n_wrong, 0U) << n_cores << " cores, blocks of " << block;
    }
  }
}

// Each core puts a share of the elements, which begins anywhere, then gets all of them.
std::uint64_t n_wrong_at_once(std::uint64_t n, std::uint64_t block) {
  const auto array = GlobalArray<std::uint64_t>::make(n, block);
  const auto wrong = GlobalArray<std::uint64_t>::make(1);
  on_all_cores([=] {
    const std::uint64_t first = n * this_core() / n_cores();
    const std::uint64_t end = n * (this_core() + 1) / n_cores();
    put(values_of<std::uint64_t>(5, first, end - first), array, first);
  });
  on_all_cores([=] {
    std::vector<std::uint64_t> found(n);
    get(array, 0, found);
    if (found != values_of<std::uint64_t>(5, 0, n)) fetch_add(wrong[0], std::uint64_t{1});
  });
  return read(wrong[0]);
}

TEST(Bulk, AllCoresCopyAtOnce) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 3), 2, seed,
        [&] { n_wrong = n_wrong_at_once(5'000 + seed, kBlocks[seed % 4]); }, tiny_windows());
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
  }
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    std::uint64_t n_wrong = 1;
    run_here(n_cores, [&] { n_wrong = n_wrong_at_once(300'000, kBlocks[n_cores]); });
    EXPECT_EQ(n_wrong, 0U) << n_cores << " cores";
  }
}

// All to the memory of one core, in 40 pieces.
std::uint64_t n_wrong_of_ten_megabytes(CoreId owner) {
  constexpr std::uint64_t kWords = 10'000'000 / sizeof(std::uint64_t);
  const auto array = GlobalArray<std::uint64_t>::make(n_cores() * (kWords + 3), 0);
  const GlobalPtr<std::uint64_t> at = array[owner * array.block()] + 3;
  const auto values = values_of<std::uint64_t>(1, 0, kWords);
  const std::vector<std::uint64_t> others(values.rbegin(), values.rend());
  std::vector<std::uint64_t> found(kWords);
  put(values, at);
  get(at, found);
  std::uint64_t n_wrong = found == values ? 0 : 1;
  finish([&] { async_put(others, at); });
  finish([&] { async_get(GlobalPtr<const std::uint64_t>(at.core(), at.place()), found); });
  n_wrong += found == others ? 0 : 1;
  n_wrong += read(at) == others.front() && read(at + (kWords - 1)) == others.back() ? 0 : 1;
  array.free();
  return n_wrong;
}

TEST(Bulk, TenMegabytesGoToOneCoreAndBack) {
  // To the core itself, to another one of its node, and to one of another node.
  for (CoreId owner = 0; owner < 3; ++owner) {
    std::uint64_t n_wrong = 1;
    simulate_seed(
        2, 2, 1, [&] { n_wrong = n_wrong_of_ten_megabytes(owner); },
        owner == 2 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U) << "owner " << owner;
  }
  std::uint64_t n_wrong = 1;
  run_here(2, [&] { n_wrong = n_wrong_of_ten_megabytes(1); });
  EXPECT_EQ(n_wrong, 0U);
}

TEST(Bulk, TenMegabytesOverAllCoresGoBlockByBlock) {
  constexpr std::uint64_t kWords = 10'000'000 / sizeof(std::uint64_t);
  for (const std::uint64_t block : {0ULL, 1ULL, 100'000ULL}) {
    std::uint64_t n_wrong = 1;
    simulate_seed(3, 1, block, [&] {
      const auto array = GlobalArray<std::uint64_t>::make(kWords + 10, block);
      const auto values = values_of<std::uint64_t>(block, 0, kWords);
      std::vector<std::uint64_t> found(kWords);
      put(values, array, 7);
      get(array, 7, found);
      n_wrong = found == values && read(array[6]) == 0 && read(array[kWords + 7]) == 0 ? 0 : 1;
    });
    EXPECT_EQ(n_wrong, 0U) << "blocks of " << block;
  }
}

std::uint64_t n_messages_of_a_get(std::uint64_t n, std::uint64_t block) {
  return simulate_seed(2, 2, 1,
                       [=] {
                         const auto array = GlobalArray<std::uint64_t>::make(400, block);
                         std::vector<std::uint64_t> found(n);
                         get(array, 1, found);
                       })
      .counters.n_posted;
}

TEST(Bulk, ARangeTakesTwoMessagesAnOwnerWhateverTheBlocks) {
  const std::uint64_t n_without = n_messages_of_a_get(0, 1);
  for (const std::uint64_t block : kBlocks)
    EXPECT_EQ(n_messages_of_a_get(390, block) - n_without, 2U * 3) << block;
}

TEST(Bulk, OwnersAreAskedSideBySide) {
  // One after the other, 16 owners would take 16 ways there and back.
  Nanos walls[2];
  for (std::uint32_t more = 0; more < 2; ++more) {
    walls[more] = simulate(
                      [=] {
                        const auto array = GlobalArray<std::uint64_t>::make(1'600);
                        std::vector<std::uint64_t> found(more == 0 ? 2 : 1'600);
                        get(array, 0, found);
                        put(found, array, 0);
                      },
                      {.n_nodes = 16, .program = {{}, kTestBytesACore}})
                      .wall;
  }
  EXPECT_LT(walls[1], 2 * walls[0]);
}

// A delegate, which must not wait, puts values over all cores.
std::uint64_t n_right_of_a_delegate(std::uint64_t n) {
  const auto array = GlobalArray<std::uint64_t>::make(n + 20, 4);
  finish([&] {
    async_call(array[4], [array, n](std::uint64_t&) {
      async_put(values_of<std::uint64_t>(3, 0, n), array, 11);
    });
  });
  std::uint64_t n_right = 0;
  for (std::uint64_t i = 0; i < n; ++i)
    n_right += read(array[i + 11]) == value_of<std::uint64_t>(3, i) ? 1 : 0;
  return n_right;
}

TEST(Bulk, ADelegateStartsCopiesThatItsScopeWaitsFor) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    std::uint64_t n_right = 0;
    simulate_seed(
        3, 1, seed, [&] { n_right = n_right_of_a_delegate(280); }, tiny_windows());
    EXPECT_EQ(n_right, 280U) << "seed " << seed;
  }
}

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
TEST(BulkDeathTest, ARangeBeyondTheEndOfAnArrayIsTold) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(10);
                               std::vector<std::uint64_t> found(5);
                               get(array, 6, found);
                             }),
               "precondition");
}
#endif

// Each core asks for many words at once while all others do: sums of what was before.
std::uint64_t n_wrong_futures(std::uint64_t n_words, std::uint64_t n_futures) {
  const auto words = GlobalArray<std::uint64_t>::make(n_words);
  const auto wrong = GlobalArray<std::uint64_t>::make(1);
  forall(words, [](std::uint64_t i, std::uint64_t& x) { x = 3 * i; });
  on_all_cores([=] {
    std::uint64_t n_wrong = 0;
    std::deque<Future<std::uint64_t>> asked;
    for (std::uint64_t i = 0; i < n_futures; ++i)
      asked.emplace_back(words[hash_words(this_core(), i) % n_words],
                         detail::Read<std::uint64_t>{});
    // The last first: what was asked before it is under way.
    for (std::uint64_t i = n_futures; i-- > 0;)
      n_wrong += asked[i].get() == 3 * (hash_words(this_core(), i) % n_words) ? 0 : 1;
    if (n_wrong != 0) fetch_add(wrong[0], n_wrong);
  });
  return read(wrong[0]);
}

TEST(Future, ManyAreUnderWayAtOnceOnAllCores) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 4), 1 + static_cast<std::uint32_t>(seed % 3), seed,
        [&] { n_wrong = n_wrong_futures(50, 300); }, tiny_windows());
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
  }
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    std::uint64_t n_wrong = 1;
    run_here(n_cores, [&] { n_wrong = n_wrong_futures(1'000, 20'000); });
    EXPECT_EQ(n_wrong, 0U) << n_cores << " cores";
  }
}

std::atomic<std::uint64_t> n_run{0};  // of all nodes, which are in this process

std::uint64_t n_run_late(std::uint64_t n) {
  const auto words = GlobalArray<std::uint64_t>::make(3);
  std::uint64_t n_late = 0;
  n_run = 0;
  for (std::uint64_t i = 1; i <= n; ++i) {
    {
      const Future<void> one = future_call(words[i % 3], [](std::uint64_t&) { ++n_run; });
    }
    n_late += n_run == i ? 0 : 1;
  }
  return n_late;
}

TEST(Future, IsWaitedForAtItsEndIfNobodyDid) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    std::uint64_t n_late = 1;
    simulate_seed(3, 1, seed, [&] { n_late = n_run_late(30); });
    EXPECT_EQ(n_late, 0U) << "seed " << seed;
  }
}

// Before and after their results have come, of the own core and of another one.
TEST(Future, MayBeMovedWhileItsResultIsOnItsWay) {
  simulate_seed(2, 1, 1, [] {
    const auto words = GlobalArray<std::uint64_t>::make(40);
    forall(words, [](std::uint64_t i, std::uint64_t& x) { x = i; });
    std::vector<Future<std::uint64_t>> all;
    for (std::uint64_t i = 0; i < 40; ++i)
      all.push_back(future_read(words[i]));  // which moves those that are there
    all.front().wait();
    all[3] = std::move(all[5]);  // waits for what it was of
    std::ranges::reverse(all);
    all.erase(all.begin() + 34);  // the one that has none now
    std::uint64_t sum = 0;
    for (Future<std::uint64_t>& one : all)
      sum += one.get();
    EXPECT_EQ(sum, 40U * 39 / 2 - 3);
    words.free();
  });
}

TEST(Future, SaysWhetherItsResultIsThere) {
  std::vector<bool> seen;
  std::vector<std::uint64_t> results;
  simulate_seed(2, 1, 1, [&] {
    const auto words = GlobalArray<std::uint64_t>::make(2);
    const auto count = [](std::uint64_t& x) { return ++x; };
    Future<std::uint64_t> here = future_call(words[0], count);
    Future<std::uint64_t> first = future_call(words[1], count);
    Future<std::uint64_t> second = future_call(words[1], count);
    seen = {here.is_ready(), first.is_ready()};
    results = {here.get(), second.get(), first.get(), first.get(), future_read(words[1]).get()};
    seen.push_back(first.is_ready());
  });
  EXPECT_EQ(seen, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(results, (std::vector<std::uint64_t>{1, 2, 1, 1, 2}));
}

// On each core a task that asks its two neighbours at once, while they ask theirs.
std::uint64_t n_counted_in_a_ring(std::uint64_t n_rounds) {
  const auto words = GlobalArray<std::uint64_t>::make(n_cores());
  on_all_cores([=] {
    const auto count = [](std::uint64_t& x) { return x++; };
    for (std::uint64_t round = 0; round < n_rounds; ++round) {
      Future<std::uint64_t> next = future_call(words[(this_core() + 1) % n_cores()], count);
      Future<std::uint64_t> after = future_call(words[(this_core() + 2) % n_cores()], count);
      static_cast<void>(after.get() + next.get());
    }
  });
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < n_cores(); ++i)
    total += read(words[i]);
  return total;
}

TEST(Future, TasksOfARingOfCoresWaitForEachOther) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    std::uint64_t total = 0;
    simulate_seed(
        4, 2, seed, [&] { total = n_counted_in_a_ring(30); }, tiny_windows());
    EXPECT_EQ(total, 2U * 30 * 8) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::global

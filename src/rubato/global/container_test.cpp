// Sets, bags, counters, histograms, vectors, and what is combined before it is sent.

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/counter.hpp"
#include "rubato/global/hash_set.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

// A few words often, many seldom.
std::uint64_t skewed(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t h = hash_words(seed, i);
  return h % 4 != 0 ? h / 4 % 5 : h / 4 % 3'000;
}

std::uint64_t n_wrong_combined_counts(std::uint64_t seed) {
  constexpr std::uint64_t kUpserts = 4'000;
  const auto counts = GlobalHashMap<std::string, std::uint64_t>::make();
  const auto others = GlobalHashMap<std::string, std::uint64_t>::make();
  const auto add = [](std::uint64_t& n, const std::uint64_t& more) { n += more; };
  std::uint64_t n_wrong = 0;
  // One scope within another, of which each finds its own counts at its end, and two maps by turns.
  finish([&] {
    async_forall(0, kUpserts, [=](std::uint64_t i) {
      const auto& map = i % 64 < 32 ? counts : others;
      map.async_combine(std::to_string(skewed(seed, i)), std::uint64_t{1}, add);
    });
    finish([&] {
      for (int i = 0; i < 100; ++i)
        counts.async_combine("inner", std::uint64_t{2}, add);
    });
    n_wrong += counts.find("inner") == 200 ? 0 : 1;
  });
  std::map<std::string, std::uint64_t> expected{{"inner", 200}};
  std::map<std::string, std::uint64_t> expected_others;
  for (std::uint64_t i = 0; i < kUpserts; ++i)
    ++(i % 64 < 32 ? expected : expected_others)[std::to_string(skewed(seed, i))];
  for (const auto& [key, n] : expected)
    n_wrong += counts.find(key) == n ? 0 : 1;
  for (const auto& [key, n] : expected_others)
    n_wrong += others.find(key) == n ? 0 : 1;
  n_wrong += counts.size() == expected.size() && others.size() == expected_others.size() ? 0 : 1;
  counts.free();
  others.free();
  return n_wrong;
}

TEST(Combining, UpsertsAreAllThereAtTheEndOfTheirScope) {
  expect_right(n_wrong_combined_counts);
}

TEST(Combining, SendsFewerUpsertsThanThereAre) {
  const auto run = simulate([] {
    const auto counts = GlobalHashMap<std::uint64_t, std::uint64_t>::make();
    forall(0, 10'000, [=](std::uint64_t i) {
      counts.async_combine(i % 10, std::uint64_t{1},
                           [](std::uint64_t& n, const std::uint64_t& more) { n += more; });
    });
    EXPECT_EQ(counts.find(3), 1'000U);
  });
  EXPECT_GT(run.counters.n_combined, 9'000U);
}

std::uint64_t n_wrong_increments(std::uint64_t seed) {
  constexpr std::uint64_t kWords = 3'000;
  constexpr std::uint64_t kIncrements = 6'000;
  const auto words = GlobalArray<std::uint64_t>::make(kWords, 1 + seed % 3);
  const auto small = GlobalArray<std::uint8_t>::make(1);
  finish([&] {
    async_forall(0, kIncrements, [=](std::uint64_t i) {
      async_add(words[skewed(seed, i)], i);
      async_add(small[0], 3);
    });
  });
  std::vector<std::uint64_t> expected(kWords, 0);
  for (std::uint64_t i = 0; i < kIncrements; ++i)
    expected[skewed(seed, i)] += i;
  std::uint64_t n_wrong = read(small[0]) == static_cast<std::uint8_t>(3 * kIncrements) ? 0 : 1;
  for (std::uint64_t i = 0; i < kWords; ++i)
    n_wrong += read(words[i]) == expected[i] ? 0 : 1;
  words.free();
  small.free();
  return n_wrong;
}

TEST(Combining, IncrementsAreAllThereAtTheEndOfTheirScope) {
  expect_right(n_wrong_increments);
}

// What a core adds to few words leaves once for each of them when it has nothing else to do.
TEST(Combining, SendsFewerIncrementsThanThereAre) {
  const auto run = simulate([] {
    const auto words = GlobalArray<std::uint64_t>::make(10);
    forall(0, 10'000, [=](std::uint64_t i) { async_add(words[i % 10], 1); });
    EXPECT_EQ(read(words[3]), 1'000U);
  });
  EXPECT_GT(run.counters.n_combined, 9'000U);
  EXPECT_LT(run.counters.n_posted, 1'000U);
}

std::uint64_t n_wrong_in_set(std::uint64_t seed) {
  constexpr std::uint64_t kInsertions = 1'500;
  const auto set = GlobalHashSet<std::uint64_t>::make();
  const auto n_new = GlobalCounter::make();
  forall(0, kInsertions, [=](std::uint64_t i) {
    if (set.insert(skewed(seed, i))) n_new.add();
  });
  std::set<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < kInsertions; ++i)
    expected.insert(skewed(seed, i));
  std::uint64_t n_wrong = n_new.value() == expected.size() ? 0 : 1;
  forall(0, kInsertions, [=](std::uint64_t i) {
    if (i % 2 == 0) {
      set.async_insert(skewed(seed + 1, i));
    } else {
      set.async_insert_combining(skewed(seed + 1, i));
    }
  });
  for (std::uint64_t i = 0; i < kInsertions; ++i)
    expected.insert(skewed(seed + 1, i));
  n_wrong += set.size() == expected.size() ? 0 : 1;
  std::uint64_t sum = 0;
  forall(set, [to = make_global(sum)](const std::uint64_t& key) { async_add(to, key); });
  for (const std::uint64_t key : expected)
    sum -= key;
  n_wrong += sum == 0 ? 0 : 1;
  n_wrong += set.contains(*expected.begin()) && set.erase(*expected.begin()) &&
                     !set.contains(*expected.begin()) && !set.contains(std::uint64_t{1'000'000})
                 ? 0
                 : 1;
  n_new.reset();
  n_wrong += n_new.value() == 0 ? 0 : 1;
  n_new.free();
  set.free();
  return n_wrong;
}

TEST(GlobalHashSet, EachKeyIsNewOnce) {
  expect_right(n_wrong_in_set);
}

std::uint64_t n_wrong_in_histogram(std::uint64_t seed, std::uint64_t n_bins) {
  constexpr std::uint64_t kValues = 4'000;
  const auto histogram = GlobalHistogram::make(n_bins);
  const auto bin_of = [=](std::uint64_t i) { return skewed(seed, i) * (n_bins / 3'000); };
  std::vector<std::uint64_t> expected(n_bins, 0);
  std::uint64_t n_wrong = 0;
  for (int round = 0; round < 2; ++round) {
    forall(0, kValues, [=](std::uint64_t i) { histogram.add(bin_of(i), 1 + i % 2); });
    for (std::uint64_t i = 0; i < kValues; ++i)
      expected[bin_of(i)] += 1 + i % 2;
    n_wrong += histogram.counts() == expected ? 0 : 1;
  }
  n_wrong += read(histogram.array()[bin_of(0)]) == expected[bin_of(0)] ? 0 : 1;
  finish([&] { histogram.add(0); });
  histogram.reset();
  n_wrong += histogram.counts() == std::vector<std::uint64_t>(n_bins, 0) ? 0 : 1;
  histogram.free();
  return n_wrong;
}

// From each core what it has, keys of others among it.
TEST(Ranges, OfContainersAreInsertedAsTheirValuesAre) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    simulate_seed(3, 2, seed, [seed] {
      const auto words = GlobalHashMap<std::string, std::uint64_t>::make();
      const auto last = GlobalHashMap<std::string, std::uint64_t>::make();
      const auto set = GlobalHashSet<std::uint64_t>::make();
      const auto bag = GlobalBag<std::string>::make();
      finish([=] {
        on_all_cores([=] {
          std::map<std::string, std::uint64_t> mine;
          for (std::uint64_t i = 0; i < 50; ++i)
            mine["word " + std::to_string((seed + this_core() * 7 + i) % 60)] = i + 1;
          std::vector<std::uint64_t> numbers;
          for (const auto& [word, n] : mine)
            numbers.push_back(n);
          words.async_combine_range(mine, [](std::uint64_t& a, std::uint64_t b) { a += b; });
          last.async_insert_range(mine);
          set.async_insert_range(numbers);
          bag.put_range(std::vector<std::string>{"one", "two"});
        });
      });
      std::uint64_t sum = 0;
      forall(words,
             [to = make_global(sum)](const std::string&, std::uint64_t& n) { async_add(to, n); });
      EXPECT_EQ(sum, 6 * 50U * 51 / 2);
      EXPECT_EQ(last.size(), words.size());
      EXPECT_EQ(set.size(), 50U);
      EXPECT_EQ(bag.size(), 12U);
    });
  }
}

TEST(Ranges, AreCombinedWhereTheyComeFrom) {
  const auto run = simulate([] {
    const auto counts = GlobalHashMap<std::string, std::uint64_t>::make();
    const auto set = GlobalHashSet<std::uint64_t>::make();
    std::vector<std::pair<std::string, std::uint64_t>> pairs;
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      pairs.emplace_back("word " + std::to_string(i % 8), i);
      numbers.push_back(i % 8);
    }
    finish([&] {
      counts.async_combine_range(pairs, [](std::uint64_t& a, std::uint64_t b) { a += b; });
      set.async_insert_range(numbers);
    });
    EXPECT_EQ(counts.find("word 1"), 125U * (1 + 993) / 2);
    EXPECT_EQ(set.size(), 8U);
  });
  EXPECT_EQ(run.counters.n_combined, 2 * (1'000U - 8));
}

// One core that meets so many keys: whether any upsert found one of its key held back.
std::uint64_t n_combined_of_keys(std::uint64_t n_keys) {
  const auto run = simulate([=] {
    const auto counts = GlobalHashMap<std::uint64_t, std::uint64_t>::make();
    finish([&] {
      for (std::uint64_t i = 0; i < 2 * n_keys; ++i) {
        counts.async_combine(i % n_keys, std::uint64_t{1},
                             [](std::uint64_t& n, const std::uint64_t& more) { n += more; });
      }
    });
    EXPECT_EQ(counts.size(), n_keys);
    EXPECT_EQ(counts.find(n_keys - 1), 2U);
  });
  return run.counters.n_combined;
}

TEST(Combining, HoldsBackABoundedNumberOfKeys) {
  constexpr std::uint64_t kKeysMost = 4'096;
  EXPECT_EQ(n_combined_of_keys(kKeysMost - 1), kKeysMost - 1);
  EXPECT_EQ(n_combined_of_keys(kKeysMost), 0U);  // all left before any came again
}

TEST(GlobalHistogram, CountsFewAndManyBins) {
  expect_right([](std::uint64_t seed) { return n_wrong_in_histogram(seed, 3'000); });
  run_here(2, [] { EXPECT_EQ(n_wrong_in_histogram(1, GlobalHistogram::kOwnBinsMost * 2), 0U); });
}

TEST(GlobalHistogram, CombinesWhatItAddsToManyBins) {
  const auto run = simulate([] {
    const auto histogram = GlobalHistogram::make(GlobalHistogram::kOwnBinsMost + 1);
    forall(0, 10'000, [=](std::uint64_t i) { histogram.add(i % 10 * 13'107); });
    EXPECT_EQ(read(histogram.array()[3 * 13'107]), 1'000U);
  });
  EXPECT_GT(run.counters.n_combined, 9'000U);
  EXPECT_LT(run.counters.n_posted, 1'000U);
}

std::uint64_t n_wrong_in_bag(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 700;
  const auto bag = GlobalBag<std::uint64_t>::make();
  // All on one core, or anywhere.
  if (seed % 2 == 0) {
    for (std::uint64_t i = 0; i < kValues; ++i)
      bag.put(i);
  } else {
    forall(0, kValues, [=](std::uint64_t i) { bag.put(i); });
  }
  std::uint64_t n_wrong = bag.size() == kValues ? 0 : 1;
  forall(bag, [](std::uint64_t& value) { value *= 3; });
  const auto taken = GlobalArray<std::uint64_t>::make(kValues);
  on_all_cores([=] {
    while (const auto value = bag.take())
      async_add(taken[*value / 3], 1);
  });
  // Nobody waits for those who put; here, nobody does.
  n_wrong += bag.size();
  for (std::uint64_t i = 0; i < kValues; ++i)
    n_wrong += read(taken[i]) == 1 ? 0 : 1;
  bag.put(1);
  bag.clear();
  n_wrong += bag.size() + (bag.take() ? 1 : 0);
  bag.free();
  return n_wrong;
}

TEST(GlobalBag, EachValueIsTakenOnce) {
  expect_right(n_wrong_in_bag);
}

// Values that a list of them holds as bits, if nobody takes care.
std::uint64_t n_wrong_in_bag_of_bools(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 700;
  const auto bag = GlobalBag<bool>::make();
  bag.put(true);
  forall(0, kValues, [=](std::uint64_t i) {
    if (seed % 2 == 0 || this_core() == 0) bag.put(i % 3 == 0);
  });
  const std::uint64_t n = bag.size();
  std::uint64_t n_true = 0;
  forall(bag, [count = make_global(n_true)](bool& value) {
    if (value) async_add(count, 1);
    value = !value;
  });
  std::uint64_t n_false = 0;
  std::uint64_t n_taken = 0;
  on_all_cores([bag, no = make_global(n_false), all = make_global(n_taken)] {
    while (const auto value = bag.take()) {
      async_add(all, 1);
      if (!*value) async_add(no, 1);
    }
  });
  bag.free();
  return (n_taken == n && n_true > 0 ? 0 : 1) + (n_false == n_true ? 0 : 1);
}

TEST(GlobalBag, HasBoolsAsAllOtherValues) {
  expect_right(n_wrong_in_bag_of_bools);
}

// Each core pushes numbers of its own, in one task; all are there, in the order of each.
std::uint64_t n_wrong_in_pushes(std::uint64_t seed) {
  const std::uint64_t n_each = 200 + seed * 50;
  const auto vector = GlobalVector<std::uint64_t>::make();
  on_all_cores([=] {
    for (std::uint64_t i = 0; i < n_each; ++i)
      vector.async_push(std::uint64_t{this_core()} * 100'000 + i);
  });
  std::uint64_t n_wrong = vector.size() == n_each * n_cores() ? 0 : 1;
  const std::vector<std::uint64_t> values = vector.values();
  std::vector<std::uint64_t> next(n_cores(), 0);
  for (const std::uint64_t value : values)
    n_wrong += value % 100'000 == next[value / 100'000]++ ? 0 : 1;
  for (const std::uint64_t i : {std::uint64_t{0}, n_each / 2, n_each * n_cores() - 1})
    n_wrong += vector.get(i) == values[i] ? 0 : 1;
  n_wrong += vector.get(n_each * n_cores()) ? 1 : 0;
  std::uint64_t sum = 0;
  forall(vector, [to = make_global(sum)](std::uint64_t& value) { async_add(to, value); });
  for (const std::uint64_t value : values)
    sum -= value;
  n_wrong += sum == 0 ? 0 : 1;
  vector.free();
  return n_wrong;
}

TEST(GlobalVector, HoldsWhatAllCoresPushInTheOrderOfEach) {
  expect_right(n_wrong_in_pushes);
}

// More at once than may wait for their tickets: the task that pushes waits.
TEST(GlobalVector, TakesMoreThanMayWaitForTickets) {
  constexpr std::uint64_t kEach = 200'000;
  std::uint64_t total = 0;
  run_here(2, [&] {
    const auto vector = GlobalVector<std::uint32_t>::make();
    on_all_cores([=] {
      for (std::uint32_t i = 0; i < kEach; ++i)
        vector.async_push(i);
    });
    forall(vector, [to = make_global(total)](std::uint32_t& value) { async_add(to, value); });
    total += vector.size() == 2 * kEach ? 0 : 1;
    vector.free();
  });
  EXPECT_EQ(total, kEach * (kEach - 1));
}

// One task: what std::deque does.
std::uint64_t n_wrong_in_sequence(std::uint64_t seed) {
  const auto vector = GlobalVector<std::uint64_t>::make();
  std::deque<std::uint64_t> expected;
  std::uint64_t n_wrong = 0;
  for (std::uint64_t step = 0; step < 400; ++step) {
    const std::uint64_t choice = hash_words(seed, step) % 8;
    if (choice < 3) {
      vector.push(step);
      expected.push_back(step);
    } else if (choice == 3) {
      finish([&] {
        for (std::uint64_t i = 0; i < 20; ++i)
          vector.async_push(step * 100 + i);
      });
      for (std::uint64_t i = 0; i < 20; ++i)
        expected.push_back(step * 100 + i);
    } else if (!expected.empty()) {
      const bool at_end = choice < 6;
      const std::uint64_t value = at_end ? expected.back() : expected.front();
      n_wrong += (at_end ? vector.pop() : vector.pop_front()) == value ? 0 : 1;
      at_end ? expected.pop_back() : expected.pop_front();
    }
    const std::uint64_t i = hash_words(seed, ~step) % (expected.size() + 2);
    n_wrong +=
        vector.get(i) == (i < expected.size() ? std::optional(expected[i]) : std::nullopt) ? 0 : 1;
  }
  n_wrong +=
      vector.values() == std::vector<std::uint64_t>(expected.begin(), expected.end()) ? 0 : 1;
  while (vector.pop()) {
  }
  n_wrong += vector.size() + (vector.pop_front() ? 1 : 0);
  finish([&] {
    for (std::uint64_t i = 0; i < 100; ++i)
      vector.async_push(i);
  });
  vector.clear();
  n_wrong += vector.size() + (vector.get(0) || vector.pop() ? 1 : 0);
  vector.push(7);
  n_wrong += vector.values() == std::vector<std::uint64_t>{7} ? 0 : 1;
  vector.free();
  return n_wrong;
}

TEST(GlobalVector, HasNoValuesWhereNothingIs) {
  simulate_seed(2, 1, 1, [] {
    const auto vector = GlobalVector<int>::make();
    EXPECT_TRUE(vector.values().empty());
    vector.free();
  });
}

TEST(GlobalVector, IsAStackAndAQueue) {
  expect_right(n_wrong_in_sequence);
}

// Some push while others pop: nothing is lost, nothing comes twice.
std::uint64_t n_wrong_in_turmoil(std::uint64_t seed) {
  constexpr std::uint64_t kValues = 600;
  const auto vector = GlobalVector<std::uint64_t>::make();
  const auto seen = GlobalArray<std::uint64_t>::make(kValues);
  const auto n_popped = GlobalCounter::make();
  const auto n_bad = GlobalCounter::make();
  forall(0, 2 * kValues, [=](std::uint64_t i) {
    if (i % 2 == 0) return vector.async_push(i / 2);
    // May be pushed and not be there yet, and be popped meanwhile.
    if (i % 16 == 1) {
      if (const auto value = vector.get(i % 5); value && *value >= kValues) n_bad.add();
    }
    const auto value = hash_words(seed, i) % 2 == 0 ? vector.pop() : vector.pop_front();
    if (!value) return;
    n_popped.add();
    async_add(seen[*value], 1);
  });
  std::uint64_t n_wrong = n_bad.value() + (n_popped.value() + vector.size() == kValues ? 0 : 1);
  finish([&] {
    while (const auto value = vector.pop())
      async_add(seen[*value], 1);
  });
  for (std::uint64_t i = 0; i < kValues; ++i)
    n_wrong += read(seen[i]) == 1 ? 0 : 1;
  vector.free();
  seen.free();
  n_popped.free();
  n_bad.free();
  return n_wrong;
}

TEST(GlobalVector, NothingIsLostOrComesTwiceWhileSomePushAndOthersPop) {
  expect_right(n_wrong_in_turmoil);
}

// Tasks that wait have all stacks, others none, and what they wait for is held back to be combined.
TEST(GlobalVector, GoesOnWhereTasksWaitForStacks) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    SimulateOptions options;
    options.n_nodes = static_cast<std::uint32_t>(1 + seed % 3);
    options.n_cores = static_cast<std::uint32_t>(1 + seed / 3 % 3);
    options.seed = seed;
    options.shuffle = seed % 2 == 1;
    options.program.messages.tasks.stacks.n_guarded_max = 8 + seed % 40;
    options.program.bytes_a_core = kTestBytesACore;
    std::uint64_t n_left = 0;
    std::uint64_t n_popped = 0;
    constexpr std::uint64_t kValues = 600;
    simulate(
        [&] {
          const auto vector = GlobalVector<std::uint64_t>::make();
          const auto popped = GlobalCounter::make();
          const auto body = [=](std::uint64_t i) {
            vector.async_push(i);
            if (i % 2 == 1 ? vector.pop() : vector.pop_front()) popped.add();
          };
          forall(0, kValues, body, {1});
          n_left = vector.size();
          n_popped = popped.value();
        },
        options);
    ASSERT_EQ(n_left + n_popped, kValues) << "seed " << seed;
  }
}

// Ranges of all cores at once: each stays together, whatever its size.
std::uint64_t n_wrong_ranges(std::uint64_t seed) {
  const auto vector = GlobalVector<std::uint64_t>::make();
  forall(0, 40, [=](std::uint64_t i) {
    const std::uint64_t n = i == 3 ? 6'000 : hash_words(seed, i) % 60;
    std::vector<std::uint64_t> range(n);
    for (std::uint64_t k = 0; k < n; ++k)
      range[k] = i << 32 | k;
    vector.async_push(std::span<const std::uint64_t>(range));
  });
  std::uint64_t n_expected = 0;
  for (std::uint64_t i = 0; i < 40; ++i)
    n_expected += i == 3 ? 6'000 : hash_words(seed, i) % 60;
  const std::vector<std::uint64_t> values = vector.values();
  std::uint64_t n_wrong = values.size() == n_expected ? 0 : 1;
  for (std::size_t at = 1; at < values.size(); ++at)
    n_wrong += (values[at] & 0xffff'ffff) == 0 || values[at] == values[at - 1] + 1 ? 0 : 1;
  vector.free();
  return n_wrong;
}

TEST(GlobalVector, KeepsRangesThatArePushedTogether) {
  expect_right(n_wrong_ranges);
}

std::uint64_t n_wrong_bools(std::uint64_t seed) {
  const auto vector = GlobalVector<bool>::make();
  std::vector<bool> expected;
  for (std::uint64_t i = 0; i < 200; ++i)
    expected.push_back(hash_words(seed, i) % 2 == 0);
  finish([&] {
    for (const bool is_even : expected)
      vector.async_push(is_even);
  });
  std::uint64_t n_wrong = vector.values() == expected ? 0 : 1;
  n_wrong += vector.get(7) == expected[7] && vector.pop() == expected.back() ? 0 : 1;
  vector.free();
  return n_wrong;
}

TEST(GlobalVector, HasTruthValues) {
  expect_right(n_wrong_bools);
}

// Iterations that wait for each other: each is a task of its own.
TEST(GlobalVector, HasLoopsOfTasksAsSmallAsSaid) {
  std::uint64_t n_met = 0;
  simulate_seed(1, 1, 3, [&] {
    const auto vector = GlobalVector<int>::make();
    vector.push(std::vector<int>(10, 1));
    core::Barrier all(10);
    forall(vector,
           [to = make_global(n_met), barrier = make_global(all)](int& /*value*/) {
             barrier.local().arrive_and_wait();
             async_add(to, 1);
           },
           {1});
    vector.free();
  });
  EXPECT_EQ(n_met, 10U);
}

// One question, and a message for each owner, whatever the size.
TEST(GlobalVector, TakesARangeWithFewMessages) {
  const SimulatedRun run = simulate_seed(3, 1, 1, [] {
    const auto vector = GlobalVector<std::uint64_t>::make();
    const std::vector<std::uint64_t> range(5'000, 7);
    vector.push(range);
    EXPECT_EQ(vector.size(), 5'000U);
    vector.free();
  });
  EXPECT_LT(run.counters.n_posted, 100U);
}

}  // namespace
}  // namespace rubato::global

// Members of containers: many contiguous keys, holes, any order, all kinds of values beside each
// other.

#include "rubato/flow/store/container.hpp"

#include <algorithm>
#include <numeric>

#include <malloc.h>

#include "rubato/base/random.hpp"
#include "rubato/flow/flow_test.hpp"

namespace rubato::flow {
namespace {

using Key64 = std::int64_t;
using core::CoreContext;

// Whose first kMixed draws are words of one kind, the rest of any.
Value draw_value(RandomStream& random, bool is_mixed) {
  const Key64 n = random.between(-1'000'000, 1'000'000);
  switch (is_mixed ? random.between(0, 4) : 0) {
    case 1:
      return Value::floating(static_cast<double>(n) / 8);
    case 2:
      return Value::boolean(n % 2 == 0);
    case 3:
      return Value::text(Kind::string, std::to_string(n));
    case 4:
      return Value::text(Kind::blob, std::string(static_cast<std::size_t>(n & 31), 'b'));
    default:
      return Value::integer(n);
  }
}

// Ranges of keys, most of them dense, in any order: across the ends of parts, below zero, and at the
// ends of all integers; some come twice, and some are names.
std::vector<Value> draw_keys(RandomStream& random) {
  std::vector<Value> keys;
  const Key64 n_ranges = random.between(1, 4);
  for (Key64 range = 0; range < n_ranges; ++range) {
    constexpr std::array<Key64, 5> kBegins{0, -2 * kMembersAPart, INT64_MIN, INT64_MAX - 1500,
                                           3000};
    const Key64 begin = kBegins.at(static_cast<std::size_t>(random.between(0, 4)));
    const Key64 n = random.between(0, 1500);
    const Key64 holes = random.between(2, 40);
    const bool is_dense = random.between(0, 2) > 0;
    // Some are far apart: most parts have few members then.
    const Key64 stride = random.between(0, 2) > 0 ? 1 : random.between(2, 400);
    for (Key64 i = 0; i < n && begin <= INT64_MAX - i * stride; ++i) {
      if (is_dense || random.between(0, holes) > 0)
        keys.push_back(Value::integer(begin + i * stride));
    }
  }
  for (Key64 i = random.between(0, 30); i > 0; --i)
    keys.push_back(Value::text(Kind::string, "name " + std::to_string(random.between(0, 50))));
  switch (random.between(0, 2)) {
    case 0:
      std::ranges::reverse(keys);
      break;
    case 1:
      for (std::size_t i = keys.size(); i > 1; --i)
        std::swap(keys[i - 1],
                  keys[static_cast<std::size_t>(random.between(0, static_cast<Key64>(i) - 1))]);
      break;
    default:
      break;
  }
  return keys;
}

struct ComesBefore {
  bool operator()(const Value& a, const Value& b) const { return comes_before(a, b); }
};

TEST(Shard, keeps_what_a_map_keeps) {
  for (std::uint64_t seed = 0; seed < n_seeds(200); ++seed) {
    RandomStream random(seed);
    Shard shard({});
    std::map<Value, std::pair<Value, int>, ComesBefore> expected;
    // From one line, from several, and words of one kind until something else comes.
    const int n_lines = static_cast<int>(random.between(1, 3));
    const bool is_mixed = seed % 2 == 1;
    int n_inserted = 0;
    for (const Value& key : draw_keys(random)) {
      const Value value = draw_value(random, is_mixed && n_inserted > 100);
      const int line = 1 + n_inserted++ % n_lines;
      const PortablePlace at(SourcePlace{"here.cpp", line});
      const auto before = shard.insert(key, value, at);
      const auto [entry, is_new] = expected.try_emplace(key, value, line);
      ASSERT_EQ(before.has_value(), !is_new) << "seed " << seed << ", key " << key_text(key);
      if (before) {
        ASSERT_EQ(before->place().line, entry->second.second) << "seed " << seed;
      }
    }
    ASSERT_EQ(shard.n_members(), expected.size()) << "seed " << seed;
    auto next = expected.begin();
    shard.for_each([&](const Value& key, const Value& value) {
      ASSERT_NE(next, expected.end()) << "seed " << seed;
      ASSERT_EQ(key_text(key), key_text(next->first)) << "seed " << seed;
      ASSERT_TRUE(value == next->second.first) << "seed " << seed << ", key " << key_text(key);
      ++next;
    });
    ASSERT_TRUE(next == expected.end()) << "seed " << seed;
    for (Key64 key = -2 * kMembersAPart - 2; key < 3 * kMembersAPart; ++key) {
      const auto found = expected.find(Value::integer(key));
      const std::optional<Value> value = shard.find(Value::integer(key));
      ASSERT_EQ(value.has_value(), found != expected.end()) << "seed " << seed << ", key " << key;
      if (value) {
        ASSERT_TRUE(*value == found->second.first) << "seed " << seed << ", key " << key;
      }
    }
  }
}

// Each was an array as far as its place in the part, of 4 KB or 20 KB in the mean.
TEST(Shard, keeps_members_that_are_far_apart_by_themselves) {
  constexpr Key64 kMembers = 4000;
  for (const bool as_words : {true, false}) {
    Shard shard({});
    const std::size_t before = ::mallinfo2().uordblks;
    for (Key64 i = 0; i < kMembers; ++i) {
      const Value value = as_words ? Value::integer(i) : Value::reference({{1}, 1});
      static_cast<void>(shard.insert(Value::integer(i * 1'000'003), value, {}));
    }
    const std::size_t bytes = ::mallinfo2().uordblks - before;
    EXPECT_LT(bytes / kMembers, 500U);
    EXPECT_EQ(shard.n_members(), kMembers);
  }
}

// Keys [kFirst, kLast) but for the holes: some parts, below zero and above.
constexpr Key64 kFirst = -kMembersAPart - 77;
constexpr Key64 kLast = kMembersAPart + 77;
constexpr bool is_hole(Key64 key) {
  return key % 13 == 5 || (key > 100 && key < 140);
}
constexpr Key64 value_of(Key64 key) {
  return key * key + 3 * key;
}
struct Sums {
  Key64 n = 0;
  Key64 of_values = 0;
};
Sums expected_sums() {
  Sums sums;
  for (Key64 key = kFirst; key < kLast; ++key) {
    if (is_hole(key)) continue;
    ++sums.n;
    sums.of_values += value_of(key);
  }
  return sums;
}

// One of `n` writers: every n-th key, forwards, backwards, or by steps that jump over parts.
void write_keys(Key64 writer, Key64 n, const Inserter<Key64>& out) {
  std::vector<Key64> keys;
  for (Key64 key = kFirst + writer; key < kLast; key += n) {
    if (!is_hole(key)) keys.push_back(key);
  }
  if (writer % 3 == 1) std::ranges::reverse(keys);
  if (writer % 3 == 2)
    std::ranges::stable_sort(keys, {}, [](Key64 key) { return (key * 37 % 64 + 64) % 64; });
  for (const Key64 key : keys) {
    out.insert(key, value_of(key));
    if (key % 50 == 0) CoreContext::here().charge(kMicrosecond);
  }
}

// What a loop has met.
struct Met {
  std::vector<Key64> times = std::vector<Key64>(static_cast<std::size_t>(kLast - kFirst));
  Key64 sum = 0;
};
// Of the test that runs; virtual nodes are one process and one thread.
std::array<Met, 3> met;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

Future<void> meet(const Container<Key64>& all, std::size_t loop) {
  return async_each(all, [loop](Key64 key, Key64 value) {
    ++met.at(loop).times.at(static_cast<std::size_t>(key - kFirst));
    met.at(loop).sum += value;
  })();
}

// From all cores at the same time; a loop begins before them, one while they write, and one after.
TEST(DenseContainers, have_each_member_once_whoever_writes_and_in_whatever_order) {
  const Sums expected = expected_sums();
  for (std::uint64_t seed = 0; seed < n_seeds(15); ++seed) {
    for (const Spread spread : {Spread::all_cores, Spread::here}) {
      met = {};
      const FlowResult result = simulate_flow(seed, [&] {
        auto [all, out] = make_container<Key64>(spread);
        const auto early = meet(all, 0);
        // Readers of members that are not there yet.
        const auto member = async([](Key64 a, Key64 b) { return a - b; })(all[kLast - 2], all[-1]);
        const auto n = static_cast<Key64>(global::n_cores());
        for (Key64 writer = 0; writer < n; ++writer) {
          async([](Key64 first, Key64 step,
                   const Inserter<Key64>& to) { write_keys(first, step, to); },
                {.core = static_cast<CoreId>(writer)})(writer, n, out);
        }
        { const auto dropped = std::move(out); }
        EXPECT_EQ(all.get(kFirst), value_of(kFirst));
        const auto beside = meet(all, 1);
        EXPECT_EQ(all.size().get(), expected.n);
        meet(all, 2).get();
        early.get();
        beside.get();
        EXPECT_EQ(member.get(), value_of(kLast - 2) - value_of(-1));
      });
      ASSERT_EQ(result.text(), "") << "seed " << seed;
      ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
      for (std::size_t loop = 0; loop < 3; ++loop) {
        ASSERT_EQ(met.at(loop).sum, expected.of_values) << "seed " << seed << ", loop " << loop;
        for (Key64 key = kFirst; key < kLast; ++key)
          ASSERT_EQ(met.at(loop).times[static_cast<std::size_t>(key - kFirst)],
                    is_hole(key) ? 0 : 1)
              << "seed " << seed << ", loop " << loop << ", key " << key;
      }
    }
  }
}

// Words and texts in one part, as scripts have them that hold futures, containers and numbers.
TEST(DenseContainers, hold_texts_and_futures_by_contiguous_keys) {
  constexpr Key64 kTexts = kMembersAPart + 40;
  expect_good(
      [] {
        auto [texts, text_out] = make_container<std::string>();
        auto [futures, future_out] = make_container<Future<Key64>>();
        async_for(
            -40, kTexts,
            [](Key64 i, const Inserter<std::string>& words, const Inserter<Future<Key64>>& to) {
              words.insert(i, std::string(static_cast<std::size_t>((i + 40) % 90), 'x'));
              if (i % 9 == 0) to.insert(i, async([](Key64 x) { return 2 * x; })(i));
            })(std::move(text_out), std::move(future_out));
        const auto summed = async_each(futures, [](Key64 key, const Future<Key64>& value) {
          EXPECT_EQ(value.get(), 2 * key);
        })();
        EXPECT_EQ(texts.size().get(), kTexts + 40);
        EXPECT_EQ(futures.size().get(), 4 + (kTexts + 8) / 9);
        EXPECT_EQ(texts.get(-40), "");
        EXPECT_EQ(texts.get(1023).size(), static_cast<std::size_t>((1023 + 40) % 90));
        EXPECT_EQ(futures.get(-36).get(), -72);
        summed.get();
      },
      20);
}

// By string keys beside the writers of others.
TEST(DenseContainers, have_each_name_once) {
  expect_good(
      [] {
        auto [all, out] = make_container<Key64, std::string>();
        const auto n = static_cast<Key64>(global::n_cores());
        for (Key64 writer = 0; writer < n; ++writer) {
          async(
              [](Key64 first, Key64 step, const Inserter<Key64, std::string>& to) {
                for (Key64 i = 300 - first; i >= 0; i -= step)
                  to.insert(std::to_string(i), i);
              },
              {.core = static_cast<CoreId>(writer)})(writer, n, out);
        }
        { const auto dropped = std::move(out); }
        Key64 sum = 0;
        auto [numbers, to] = make_container<Key64>(Spread::here);
        async_each(all, [](const std::string& name, Key64 value, const Inserter<Key64>& into) {
          EXPECT_EQ(name, std::to_string(value));
          into.insert(value, value);
        })(std::move(to));
        EXPECT_EQ(numbers.size().get(), 301);
        for (Key64 i = 0; i <= 300; ++i)
          sum += numbers.get(i);
        EXPECT_EQ(sum, 300 * 301 / 2);
        EXPECT_EQ(all.get("177"), 177);
      },
      20);
}

// A key that two writers set is one failure, wherever its members lie, and the first value stays.
TEST(DenseContainers, refuse_each_key_that_comes_twice) {
  for (std::uint64_t seed = 0; seed < n_seeds(15); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto [all, out] = make_container<Key64>();
      async_for(-1100, 1100, [](Key64 i, const Inserter<Key64>& to) { to.insert(i, i); })(out);
      async_for(-1, 2, [](Key64 i, const Inserter<Key64>& to) { to.insert(1024 * i, 1024 * i); })(
          std::move(out));
      EXPECT_EQ(all.get(-1024), -1024);
      EXPECT_EQ(all.get(1024), 1024);
    });
    ASSERT_EQ(result.n_failures, 3U) << "seed " << seed << "\n" << result.text();
    for (const std::string& failure : result.failures)
      EXPECT_NE(failure.find("of a container was set at "), std::string::npos) << failure;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

// Batches of numbers, of numbers that are no integers, and of texts; some begin and end within parts.
TEST(DenseContainers, take_batches) {
  expect_good(
      [] {
        auto [numbers, number_out] = make_container<Key64>();
        auto [halves, half_out] = make_container<double>(Spread::here);
        auto [texts, text_out] = make_container<std::string>();
        const auto summed =
            async_each(numbers, [](Key64 key, Key64 value) { EXPECT_EQ(value, value_of(key)); })();
        const auto member = async([](Key64 a, double b) { return a + static_cast<Key64>(b); })(
            numbers[1023], halves[-3]);
        async_for(-4, 4,
                  [](Key64 part, const Inserter<Key64>& to, const Inserter<double>& to_halves,
                     const Inserter<std::string>& words) {
                    std::vector<Key64> all;
                    std::vector<double> half;
                    for (Key64 key = 700 * part; key < 700 * (part + 1); ++key) {
                      all.push_back(value_of(key));
                      half.push_back(static_cast<double>(key) / 2);
                    }
                    to.insert_all(700 * part, all);
                    to_halves.insert_all(700 * part, half);
                    words.insert_all(2 * part, std::vector<std::string>{"a", std::string(70, 'b')});
                    to.insert_all(0, {});
                  },
                  {.grain = 1})(std::move(number_out), std::move(half_out), std::move(text_out));
        EXPECT_EQ(numbers.size().get(), 5600);
        EXPECT_EQ(halves.size().get(), 5600);
        EXPECT_EQ(texts.size().get(), 16);
        EXPECT_EQ(numbers.get(-2800), value_of(-2800));
        EXPECT_EQ(halves.get(2799), 1399.5);
        EXPECT_EQ(texts.get(-7), std::string(70, 'b'));
        EXPECT_EQ(member.get(), value_of(1023) - 1);
        summed.get();
      },
      20);
}

// Of a batch, too, each key that is there already is a failure, and the others are there.
TEST(DenseContainers, refuse_the_keys_of_batches_that_come_twice) {
  for (std::uint64_t seed = 0; seed < n_seeds(15); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto [all, out] = make_container<Key64>();
      const std::vector<Key64> values(2000, 7);
      out.insert(-5, 3);
      out.insert_all(-1000, values);
      out.insert_all(998, {values.begin(), 3});
      { const auto dropped = std::move(out); }
      EXPECT_EQ(all.size().get(), 2001);
    });
    ASSERT_EQ(result.n_failures, 3U) << "seed " << seed << "\n" << result.text();
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::flow

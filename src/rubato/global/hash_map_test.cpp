#include "rubato/global/hash_map.hpp"

#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

// Some are longer than what a std::string holds in place.
std::string key_of(std::uint64_t i) {
  return "key " + std::to_string(i) + std::string(i % 5 * 8, 'x');
}

TEST(HashShard, DoesWhatAMapDoesInAnyOrderOfInsertionsAndErasures) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    detail::HashShard<std::string, std::uint64_t> shard;
    std::map<std::string, std::uint64_t> expected;
    for (std::uint64_t step = 0; step < 5'000; ++step) {
      const std::string key = key_of(hash_words(seed, step) % 300);
      const ByteView bytes = Codec<std::string>::bytes(key);
      // Few different hashes, so that slots are shared.
      const std::uint64_t hash = detail::hash_of_key(bytes) & 0xff'0000'0000'003f;
      if (hash_words(seed, step, 1) % 3 == 0) {
        EXPECT_EQ(shard.erase(hash, bytes), expected.erase(key) == 1);
      } else {
        const auto [value, was_there] = shard.insert(hash, bytes, step);
        EXPECT_EQ(was_there, !expected.try_emplace(key, step).second);
        EXPECT_EQ(*value, expected.at(key));
      }
      ASSERT_EQ(shard.size(), expected.size()) << "seed " << seed << " step " << step;
    }
    for (const auto& [key, value] : expected) {
      const ByteView bytes = Codec<std::string>::bytes(key);
      const auto* found = shard.find(detail::hash_of_key(bytes) & 0xff'0000'0000'003f, bytes);
      ASSERT_NE(found, nullptr) << key;
      EXPECT_EQ(*found, value);
    }
  }
}

// What cannot be made of its bytes is not there afterwards.
struct Even {
  std::uint64_t value = 0;
};

}  // namespace

template <>
struct Codec<Even> {
  static ByteView bytes(const Even& key) noexcept { return std::as_bytes(std::span(&key, 1)); }
  static Even make(ByteView bytes) {
    Even key;
    std::memcpy(&key, bytes.data(), sizeof key);
    if (key.value % 2 != 0) throw Error("an odd key");
    return key;
  }
};

namespace {

TEST(HashShard, HasNothingOfAKeyWhoseCodecThrows) {
  detail::HashShard<Even, int> shard;
  const Even odd{3};
  const Even even{4};
  const ByteView bytes = Codec<Even>::bytes(odd);
  EXPECT_THROW(shard.insert(7, bytes, 1), Error);
  EXPECT_EQ(shard.size(), 0U);
  EXPECT_EQ(shard.find(7, bytes), nullptr);
  EXPECT_FALSE(shard.insert(7, Codec<Even>::bytes(even), 2).second);
  EXPECT_EQ(shard.find(7, bytes), nullptr);
  EXPECT_EQ(*shard.find(7, Codec<Even>::bytes(even)), 2);
}

// The main task: counts of keys, compared with a map filled in one loop.
std::uint64_t n_wrong_counts(std::uint64_t n_keys, std::uint64_t n_upserts) {
  const auto map = GlobalHashMap<std::string, std::uint64_t>::make();
  forall(0, n_upserts, [=](std::uint64_t i) {
    map.async_upsert(key_of(hash_words(i) % n_keys), std::uint64_t{1},
                     [](std::uint64_t& n, const std::uint64_t& more) { n += more; });
  });
  std::map<std::string, std::uint64_t> expected;
  for (std::uint64_t i = 0; i < n_upserts; ++i)
    ++expected[key_of(hash_words(i) % n_keys)];
  std::uint64_t n_wrong = map.size() == expected.size() ? 0 : 1;
  for (const auto& [key, n] : expected) {
    if (map.find(key) != n) ++n_wrong;
  }
  if (map.find("no such key")) ++n_wrong;
  // Each key once, at its owner.
  std::uint64_t sum = 0;
  forall(map, [total = make_global(sum)](const std::string& key, std::uint64_t& n) {
    async_call(total, [more = n + key.size()](std::uint64_t& s) { s += more; });
  });
  for (const auto& [key, n] : expected)
    sum -= n + key.size();
  if (sum != 0) ++n_wrong;
  if (!map.erase(key_of(0)) || map.erase(key_of(0)) || map.find(key_of(0))) ++n_wrong;
  map.free();
  return n_wrong;
}

TEST(GlobalHashMap, CountsWhatALoopCounts) {
  for (std::uint64_t seed = 0; seed < n_seeds(10); ++seed) {
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 3), 2, seed,
        [&] { n_wrong = n_wrong_counts(200, 2'000); },
        seed % 2 == 1 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
  }
}

// One task: what a std::map does.
std::uint64_t n_wrong_visits(std::uint64_t seed) {
  const auto map = GlobalHashMap<std::string, std::string>::make();
  std::map<std::string, std::string> expected;
  std::uint64_t n_wrong = 0;
  for (std::uint64_t step = 0; step < 300; ++step) {
    const std::string key = key_of(hash_words(seed, step, 1) % 20);
    const auto found = expected.find(key);
    switch (hash_words(seed, step) % 6) {
      case 0:
        map.insert(key, "a");
        expected.insert({key, "a"});
        break;
      case 1:
        finish([&] { map.async_erase(key); });
        expected.erase(key);
        break;
      case 2: {
        const auto n = map.visit(key, [](std::string& value) { return (value += "b").size(); });
        if (found != expected.end()) found->second += "b";
        n_wrong +=
            n == (found == expected.end() ? std::nullopt : std::optional(found->second.size())) ? 0
                                                                                                : 1;
        break;
      }
      case 3: {
        const bool was_there = map.visit(key, [](std::string& value) { value += "c"; });
        if (found != expected.end()) found->second += "c";
        n_wrong += was_there == (found != expected.end()) ? 0 : 1;
        break;
      }
      case 4:
        finish([&] {
          map.async_visit(key, [step](std::string& value) { value += char('d' + step % 9); });
        });
        if (found != expected.end()) found->second += char('d' + step % 9);
        break;
      default:
        n_wrong +=
            map.find(key) == (found == expected.end() ? std::nullopt : std::optional(found->second))
                ? 0
                : 1;
    }
  }
  n_wrong += map.size() == expected.size() ? 0 : 1;
  map.clear();
  n_wrong += map.size() + (map.contains(key_of(1)) ? 1 : 0);
  map.insert(key_of(1), "again");
  n_wrong += map.size() == 1 && map.find(key_of(1)) == "again" ? 0 : 1;
  map.free();
  return n_wrong;
}
TEST(GlobalHashMap, VisitsErasesAndClearsAsAMapDoes) {
  for (std::uint64_t seed = 0; seed < n_seeds(10); ++seed) {
    std::uint64_t n_wrong = 1;
    simulate_seed(1 + static_cast<std::uint32_t>(seed % 3), 2, seed,
                  [&] { n_wrong = n_wrong_visits(seed); });
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
  }
}

TEST(GlobalHashMap, CountsOnRealCoresAsWell) {
  std::uint64_t n_wrong = 1;
  run_here(3, [&] { n_wrong = n_wrong_counts(3'000, 100'000); });
  EXPECT_EQ(n_wrong, 0U);
}

TEST(GlobalHashMap, TakesPlainKeys) {
  std::uint64_t n_right = 0;
  run_here(2, [&] {
    const auto map = GlobalHashMap<std::uint64_t, double>::make();
    forall(0, 1'000, [=](std::uint64_t i) { map.async_insert(i, static_cast<double>(i) / 2); });
    for (std::uint64_t i = 0; i < 1'000; ++i)
      n_right += map.find(i) == static_cast<double>(i) / 2 ? 1 : 0;
    // Numbers of another type, and text that is no std::string.
    n_right += map.find(7) == 3.5 ? 1 : 0;
    const auto words = GlobalHashMap<std::string, int>::make();
    finish([&] { words.async_insert("seven", 7); });
    n_right += words.find(std::string_view("seven")) == 7 ? 1 : 0;
    words.free();
    map.free();
  });
  EXPECT_EQ(n_right, 1'002U);
}

}  // namespace
}  // namespace rubato::global

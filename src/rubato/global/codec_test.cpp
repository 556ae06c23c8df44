// Values and keys of any size, in containers and as results of delegates.

#include "rubato/global/codec.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/hash_set.hpp"
#include "rubato/global/page_test.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

// Some are longer than a block of messages, one is empty.
std::string text_of(std::uint64_t i) {
  if (i == 0) return "";
  return std::to_string(i) + std::string(i % 50 == 7 ? 2'000 : i % 5 * 8, 'x');
}

Page page_of(std::uint64_t i) {
  return {text_of(i), std::vector<std::uint32_t>(i % 7, static_cast<std::uint32_t>(i))};
}

struct alignas(32) Wide {
  std::uint64_t words[4];
  bool operator==(const Wide&) const = default;
};
Wide wide_of(std::uint64_t i) {
  return {{i, i + 1, i + 2, i + 3}};
}

// Functions that travel, as their addresses do not.
constexpr auto kText = [](std::uint64_t i) { return text_of(i); };
constexpr auto kPage = [](std::uint64_t i) { return page_of(i); };
constexpr auto kWide = [](std::uint64_t i) { return wide_of(i); };

static_assert(MapKey<std::string> && MapKey<std::uint64_t> && MapKey<Page> && Encoded<Wide>);
static_assert(!Encoded<int*> && !Encoded<std::string_view> && !Encoded<std::vector<bool>>);
struct Padded {
  char a;
  int b;
};
static_assert(Encoded<Padded> && !MapKey<Padded>);

// Inserted, replaced, combined and erased, compared with a std::map.
template <class V, class MakeValue>
std::uint64_t n_wrong_in_map(std::uint64_t seed, const MakeValue& value_of) {
  constexpr std::uint64_t kKeys = 150;
  const auto map = GlobalHashMap<Page, V>::make();
  std::map<Page, V> expected;
  std::uint64_t n_wrong = 0;
  forall(0, kKeys, [=](std::uint64_t i) { map.async_insert(page_of(i), value_of(seed + i)); });
  for (std::uint64_t i = 0; i < kKeys; ++i)
    expected[page_of(i)] = value_of(seed + i);
  for (std::uint64_t i = 0; i < 2 * kKeys; i += 7) {
    const bool is_new = expected.emplace(page_of(i), value_of(i)).second;
    n_wrong += map.insert(page_of(i), value_of(i)) == is_new ? 0 : 1;
    if (i % 2 == 0) continue;
    expected.erase(page_of(i));
    n_wrong += map.erase(page_of(i)) && !map.erase(page_of(i)) ? 0 : 1;
  }
  for (std::uint64_t i = 0; i < 2 * kKeys; ++i) {
    const auto found = expected.find(page_of(i));
    n_wrong += map.find(page_of(i)) ==
                       (found == expected.end() ? std::nullopt : std::optional<V>(found->second))
                   ? 0
                   : 1;
  }
  n_wrong += map.size() == expected.size() ? 0 : 1;
  map.free();
  return n_wrong;
}

TEST(ValuesOfAnySize, AreInMapsAsInAStdMap) {
  expect_right([](std::uint64_t seed) { return n_wrong_in_map<std::string>(seed, kText); });
  expect_right([](std::uint64_t seed) { return n_wrong_in_map<Page>(seed, kPage); });
  expect_right([](std::uint64_t seed) { return n_wrong_in_map<Wide>(seed, kWide); });
}

// The longest text of each key, whatever the order, sent one by one and combined.
std::uint64_t n_wrong_longest(std::uint64_t seed) {
  constexpr std::uint64_t kUpserts = 1'500;
  const auto longest = GlobalHashMap<std::string, std::string>::make();
  const auto keep_longest = [](std::string& text, const std::string& more) {
    if (std::pair(more.size(), more) > std::pair(text.size(), text)) text = more;
  };
  const auto key_at = [=](std::uint64_t i) { return std::to_string(hash_words(seed, i) % 40); };
  forall(0, kUpserts, [=](std::uint64_t i) {
    if (i % 2 == 0) {
      longest.async_upsert(key_at(i), text_of(i), keep_longest);
    } else {
      longest.async_combine(key_at(i), text_of(i), keep_longest);
    }
  });
  std::map<std::string, std::string> expected;
  for (std::uint64_t i = 0; i < kUpserts; ++i)
    keep_longest(expected[key_at(i)], text_of(i));
  std::uint64_t n_wrong = longest.size() == expected.size() ? 0 : 1;
  for (const auto& [key, text] : expected)
    n_wrong += longest.find(key) == text ? 0 : 1;
  // In place, at the owners.
  forall(longest, [](const std::string& key, std::string& text) { text += key; });
  for (const auto& [key, text] : expected)
    n_wrong += longest.find(key) == text + key ? 0 : 1;
  longest.free();
  return n_wrong;
}

TEST(ValuesOfAnySize, AreCombinedWhereTheyLieAndBeforeTheyAreSent) {
  expect_right(n_wrong_longest);
}

std::uint64_t n_wrong_in_page_set(std::uint64_t seed) {
  const auto set = GlobalHashSet<Page>::make();
  const auto page_at = [=](std::uint64_t i) { return page_of(hash_words(seed, i) % 100); };
  forall(0, 300, [=](std::uint64_t i) { set.async_insert(page_at(i)); });
  std::set<Page> expected;
  for (std::uint64_t i = 0; i < 300; ++i)
    expected.insert(page_at(i));
  std::uint64_t n_wrong = set.size() == expected.size() ? 0 : 1;
  for (std::uint64_t i = 0; i < 120; ++i)
    n_wrong += set.contains(page_of(i)) == expected.contains(page_of(i)) ? 0 : 1;
  set.free();
  return n_wrong;
}

TEST(ValuesOfAnySize, AreKeysOfASet) {
  expect_right(n_wrong_in_page_set);
}

// One task: what std::deque does, with ranges among what is pushed.
template <class T, class MakeValue>
std::uint64_t n_wrong_in_sequence(std::uint64_t seed, const MakeValue& value_of) {
  const auto vector = GlobalVector<T>::make();
  std::deque<T> expected;
  std::uint64_t n_wrong = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const std::uint64_t choice = hash_words(seed, step) % 8;
    if (choice < 3) {
      vector.push(value_of(step));
      expected.push_back(value_of(step));
    } else if (choice == 3) {
      std::vector<T> range;
      for (std::uint64_t i = 0; i < step % 30; ++i)
        range.push_back(value_of(step + i));
      vector.push(range);
      expected.insert(expected.end(), range.begin(), range.end());
    } else if (!expected.empty()) {
      const bool at_end = choice < 6;
      const T value = at_end ? expected.back() : expected.front();
      n_wrong += (at_end ? vector.pop() : vector.pop_front()) == value ? 0 : 1;
      at_end ? expected.pop_back() : expected.pop_front();
    }
    if (step % 20 == 0 && !expected.empty()) {
      const std::uint64_t i = step % expected.size();
      n_wrong += vector.get(i) == expected[i] ? 0 : 1;
    }
  }
  n_wrong += vector.values() == std::vector<T>(expected.begin(), expected.end()) ? 0 : 1;
  vector.free();  // with what is in it
  return n_wrong;
}

TEST(ValuesOfAnySize, AreInVectorsAsInADeque) {
  expect_right([](std::uint64_t seed) { return n_wrong_in_sequence<std::string>(seed, kText); });
  expect_right([](std::uint64_t seed) { return n_wrong_in_sequence<Page>(seed, kPage); });
  expect_right([](std::uint64_t seed) { return n_wrong_in_sequence<Wide>(seed, kWide); });
}

std::uint64_t n_wrong_in_text_bag(std::uint64_t /*seed*/) {
  constexpr std::uint64_t kValues = 300;
  const auto bag = GlobalBag<std::string>::make();
  const auto taken = GlobalArray<std::uint64_t>::make(kValues);
  for (std::uint64_t i = 0; i < kValues; ++i)
    bag.put(text_of(i));
  forall(bag, [](std::string& text) { text.insert(0, "1"); });
  on_all_cores([=] {
    while (const auto text = bag.take())
      async_add(taken[text->size() == 1 ? 0 : std::stoull(text->substr(1))], 1);
  });
  std::uint64_t n_wrong = bag.size();
  for (std::uint64_t i = 0; i < kValues; ++i)
    n_wrong += read(taken[i]) == 1 ? 0 : 1;
  taken.free();
  bag.free();
  return n_wrong;
}

TEST(ValuesOfAnySize, AreTakenOnceFromABag) {
  expect_right(n_wrong_in_text_bag);
}

Coroutine ask_there(GlobalPtr<Page> p, std::string* title) {
  *title = co_await awaited_call(p, [](Page& page) { return page.title; });
}

// Of every kind of delegate, here and on another core.
std::uint64_t n_wrong_results(std::uint64_t /*seed*/) {
  const auto pages = PerCore<Page>::make();
  on_all_cores([=] { pages.here() = page_of(this_core() + 57); });
  const auto title = [](Page& page) { return page.title; };
  std::uint64_t n_wrong = 0;
  for (CoreId core = 0; core < n_cores(); ++core) {
    const Page page = page_of(core + 57);
    const auto p = pages.on(core);
    n_wrong += call(p, title) == page.title ? 0 : 1;
    n_wrong += read(p) == page ? 0 : 1;
    auto later = future_call(p, title);
    n_wrong += later.get() == page.title ? 0 : 1;
    std::string fetched;
    std::string asked;
    finish([&] {
      fetch_call(p, title, [to = &fetched](const std::string& text) { *to = text; });
      start(ask_there(p, &asked));
    });
    n_wrong += fetched == page.title ? 0 : 1;
    n_wrong += asked == page.title ? 0 : 1;
  }
  const std::string all =
      pages.reduce([](Page& page) { return page.title; },
                   [](const std::string& a, const std::string& b) { return a + b; });
  std::string expected;
  for (CoreId core = 0; core < n_cores(); ++core)
    expected += page_of(core + 57).title;
  n_wrong += all == expected ? 0 : 1;
  pages.free();
  return n_wrong;
}

TEST(ValuesOfAnySize, AreResultsOfDelegatesAndReductions) {
  expect_right(n_wrong_results);
}

template <class T>
void expect_kept(const T& value) {
  const auto& whole = Codec<T>::bytes(value);
  EXPECT_EQ(Codec<T>::make(ByteView(whole)), value);
}
TEST(Codec, HasPairsTuplesOptionalsAndVectorsOfWhatHasOne) {
  using Text = std::string;
  expect_kept(std::pair<Text, int>("a", 1));
  expect_kept(std::pair<int, std::uint8_t>(3, std::uint8_t{4}));
  expect_kept(std::tuple<Text, double, Text>("", 2.5, "c"));
  expect_kept(std::optional<Text>());
  expect_kept(std::optional<Text>(""));
  expect_kept(std::optional<Text>("x"));
  expect_kept(std::vector<Text>());
  expect_kept(std::vector<Text>{"", "a", "bc"});
  expect_kept(std::vector<std::pair<Text, std::vector<Text>>>{{"a", {"b", ""}}, {"", {}}});
  EXPECT_THROW((Codec<std::pair<int, Text>>::make(ByteView())), Error);
  const Bytes one_more(13);
  EXPECT_THROW((Codec<std::pair<int, std::uint64_t>>::make(one_more)), Error);
}
static_assert(
    MapKey<std::tuple<std::string, std::vector<std::string>, std::optional<std::string>>>);
static_assert(
    !MapKey<std::pair<std::string, std::optional<int>>>);  // whose bytes are not all its own
static_assert(!MapKey<std::vector<std::optional<int>>>);
// As keys they are equal if their parts are, though pairs of plain values may have padding.
TEST(Codec, HasPairsThatAreKeys) {
  simulate_seed(2, 2, 1, [] {
    using Key = std::pair<std::uint8_t, std::uint64_t>;
    const auto map = GlobalHashMap<Key, std::vector<std::string>>::make();
    for (std::uint64_t i = 0; i < 200; ++i)
      map.insert(Key(i, i / 2), {std::to_string(i), ""});
    EXPECT_EQ(map.size(), 200U);
    for (std::uint64_t i = 0; i < 200; ++i) {
      EXPECT_EQ(map.find(Key(i, i / 2)), (std::vector<std::string>{std::to_string(i), ""}));
    }
    map.free();
  });
}

TEST(Codec, SaysWhatIsBehindAValueThatPutsItself) {
  Writer out;
  page_of(3).put(out);
  out.put(std::uint8_t{1});
  try {
    static_cast<void>(Codec<Page>::make(out.view()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("found 1 bytes behind"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace rubato::global

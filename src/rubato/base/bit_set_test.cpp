#include "rubato/base/bit_set.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato {
namespace {

std::vector<std::uint32_t> members(const BitSet& set) {
  std::vector<std::uint32_t> all;
  set.any_of([&](std::uint32_t i) {
    all.push_back(i);
    return false;
  });
  return all;
}

TEST(BitSet, walks_in_ascending_order_over_what_is_in_it) {
  RandomStream random(1);
  constexpr std::uint32_t kEnd = 200;
  BitSet set(kEnd);
  std::set<std::uint32_t> expected;
  for (int step = 0; step < 2000; ++step) {
    const auto i = static_cast<std::uint32_t>(random.between(0, kEnd - 1));
    if (random.between(0, 2) == 0) {
      set.insert(i);
      expected.insert(i);
    } else {
      set.erase(i);
      expected.erase(i);
    }
    ASSERT_EQ(members(set), std::vector<std::uint32_t>(expected.begin(), expected.end()));
  }
}

TEST(BitSet, a_walk_ends_where_it_is_told_to) {
  BitSet set(130);
  for (const std::uint32_t i : {3U, 64U, 129U})
    set.insert(i);
  std::uint32_t last = 0;
  EXPECT_TRUE(set.any_of([&](std::uint32_t i) {
    last = i;
    return i >= 64;
  }));
  EXPECT_EQ(last, 64U);
  EXPECT_FALSE(BitSet(0).any_of([](std::uint32_t) { return true; }));
}

}  // namespace
}  // namespace rubato

#include "rubato/base/random.hpp"

#include <set>

#include <gtest/gtest.h>

namespace rubato {
namespace {

// The counter and key are all zero: the first known-answer vector of Philox4x32-10 in the paper's
// own library. Every stored state and checkpoint depends on these bits.
TEST(Random, GivesThePublishedBits) {
  const auto words = random_words(0, 0, 0);
  EXPECT_EQ(words[0], 0x6627e8d5U);
  EXPECT_EQ(words[1], 0xe169c58dU);
  EXPECT_EQ(words[2], 0xbc57ac4cU);
  EXPECT_EQ(words[3], 0x9b00dbd8U);
}

TEST(Random, DependsOnEveryBitOfSeedIdAndTick) {
  std::set<std::uint32_t> firsts = {random_words(0, 0, 0)[0]};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    firsts.insert(random_words(one, 0, 0)[0]);
    firsts.insert(random_words(0, one, 0)[0]);
    firsts.insert(random_words(0, 0, one)[0]);
  }
  EXPECT_EQ(firsts.size(), 1U + 3 * 64);
}

TEST(Random, UnitNumbersAreBelowOne) {
  EXPECT_EQ(unit_double(0, 0), 0.0);
  EXPECT_LT(unit_double(~0U, ~0U), 1.0);
  EXPECT_EQ(unit_double(~0U, ~0U), 1.0 - 0x1.0p-53);
  EXPECT_EQ(unit_float(0), 0.0F);
  EXPECT_EQ(unit_float(~0U), 1.0F - 0x1.0p-24F);
}

TEST(RandomStream, RepeatsFromItsSeedAndDiffersBetweenStreams) {
  RandomStream a(7);
  RandomStream b(7);
  RandomStream other(7, 1);
  int n_equal = 0;
  for (int i = 0; i < 100; ++i) {
    const auto value = a();
    EXPECT_EQ(value, b());
    n_equal += value == other() ? 1 : 0;
  }
  EXPECT_EQ(n_equal, 0);
}

TEST(RandomStream, BetweenReachesBothEndsAndNoFurther) {
  RandomStream random(3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i)
    seen.insert(random.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(random.between(5, 5), 5);
  (void)random.between(INT64_MIN, INT64_MAX);  // the width overflows to 0
}

TEST(RandomStream, MeanOfUnitIsOneHalf) {
  RandomStream random(11);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i)
    sum += random.unit();
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);  // 5 standard errors
}

}  // namespace
}  // namespace rubato

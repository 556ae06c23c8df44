#include "rubato/observe/use_over_time.hpp"

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::observe {
namespace {

TEST(UseOverTime, KeepsAllTimeWhenBinsBecomeWider) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed);
    UseOverTime use;
    std::vector<std::pair<Nanos, Nanos>> spans;
    Nanos total = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto begin = random.between(0, kSecond << (i % 8));
      const auto end = begin + random.between(0, kSecond);
      use.add(begin, end);
      spans.emplace_back(begin, end);
      total += end - begin;
    }
    ASSERT_EQ(use.total(), total) << "seed " << seed;
    for (std::size_t bin = 0; bin < UseOverTime::kBins; ++bin) {
      const Nanos left = static_cast<Nanos>(bin) * use.width();
      Nanos expected = 0;
      for (const auto& [begin, end] : spans)
        expected += std::max<Nanos>(std::min(end, left + use.width()) - std::max(begin, left), 0);
      ASSERT_EQ(use.in_bin(bin), expected) << "seed " << seed << ", bin " << bin;
    }
  }
}

TEST(UseOverTime, AddsOthersOfAnotherWidth) {
  UseOverTime narrow;
  narrow.add(100, 1'000);
  UseOverTime wide;
  wide.add(3 * kSecond, 5 * kSecond);
  UseOverTime sum = narrow;
  sum.add(wide);
  EXPECT_EQ(sum.total(), 900 + 2 * kSecond);
  EXPECT_EQ(sum.in_bin(0), 900);
  wide.add(narrow);
  for (std::size_t bin = 0; bin < UseOverTime::kBins; ++bin)
    ASSERT_EQ(sum.in_bin(bin), wide.in_bin(bin));
  Writer out;
  sum.put(out);
  const Bytes bytes = out.take();
  Reader in(bytes);
  EXPECT_EQ(UseOverTime::get(in).total(), sum.total());
}

TEST(UseOverTime, CutsOffWhatWasBeforeTheStart) {
  UseOverTime use;
  use.add(-50, 20);
  use.add(-50, -20);
  EXPECT_EQ(use.total(), 20);
}

}  // namespace
}  // namespace rubato::observe

#include "rubato/core/index_set.hpp"

#include <set>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::core {
namespace {

std::vector<std::uint64_t> members(const IndexSet& set) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < set.size(); ++i)
    out.push_back(set.at(i));
  return out;
}

TEST(IndexSet, WholeJobTakesOneRun) {
  const IndexSet set = IndexSet::range(640'000);
  EXPECT_EQ(set.runs().size(), 1U);
  EXPECT_EQ(set.size(), 640'000U);
  EXPECT_EQ(set.at(639'999), 639'999U);
  const IndexSet nodes = set.divided_by(64);
  EXPECT_EQ(nodes.runs().size(), 1U);
  EXPECT_EQ(nodes.size(), 10'000U);
}

TEST(IndexSet, OneCoreOfEachNodeTakesOneRun) {
  IndexSet set;
  set.append_run(3, 10'000, 64);
  EXPECT_EQ(set.runs().size(), 1U);
  EXPECT_EQ(set.divided_by(64).runs().size(), 1U);
  EXPECT_EQ(set.rank_of(3 + 64 * 77), 77U);
  EXPECT_EQ(set.rank_of(4), std::nullopt);
}

TEST(IndexSet, AgreesWithAnOrdinarySetOnRandomInput) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed);
    std::set<std::uint64_t> expected;
    IndexSet set;
    std::uint64_t next = 0;
    for (int piece = 0; piece < 6; ++piece) {
      const auto first = next + static_cast<std::uint64_t>(random.between(0, 5));
      const auto count = static_cast<std::uint64_t>(random.between(0, 6));
      const auto stride = static_cast<std::uint64_t>(random.between(1, 9));
      set.append_run(first, count, stride);
      for (std::uint64_t i = 0; i < count; ++i)
        expected.insert(first + i * stride);
      if (count > 0) next = first + (count - 1) * stride + 1;
    }
    EXPECT_EQ(members(set), std::vector<std::uint64_t>(expected.begin(), expected.end()));
    for (std::uint64_t v = 0; v < next + 3; ++v) {
      const auto at = expected.lower_bound(v);
      const auto below = static_cast<std::uint64_t>(std::distance(expected.begin(), at));
      EXPECT_EQ(set.n_below(v), below);
      EXPECT_EQ(set.rank_of(v).has_value(), expected.contains(v));
    }
    const auto divisor = static_cast<std::uint64_t>(random.between(1, 12));
    std::set<std::uint64_t> quotients;
    for (const auto v : expected)
      quotients.insert(v / divisor);
    EXPECT_EQ(members(set.divided_by(divisor)),
              std::vector<std::uint64_t>(quotients.begin(), quotients.end()));
  }
}

}  // namespace
}  // namespace rubato::core

// What a row misses of what it is to reach.

#include "bench/harness.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace rubato::bench {
namespace {

using Texts = std::vector<std::string>;

Row row(double value, double ratio, const std::string& must) {
  return {"tasks-2", value, "ns", "another", 1, ratio, 0, must};
}

TEST(Misses, nothing_where_all_that_is_asked_for_is_reached) {
  EXPECT_EQ(misses(row(6, 3, "value <= 6, ratio >= 3")), Texts());
  EXPECT_EQ(misses(row(70, 0, "")), Texts());
  EXPECT_EQ(misses(row(70, 0, "reported")), Texts());
  EXPECT_EQ(misses(row(70, 4.6, "ratio >= 4.5 (k8m23d10)")), Texts());
  EXPECT_EQ(misses(row(70, 1.1, "0.85 <= ratio <= 1.15")), Texts());
}

TEST(Misses, each_condition_that_is_not_met) {
  EXPECT_EQ(misses(row(6.01, 2.5, "value <= 6, ratio >= 3")),
            (Texts{"tasks-2: value is 6.01, and must be <= 6",
                   "tasks-2: ratio is 2.5, and must be >= 3"}));
  EXPECT_EQ(misses(row(29, 4.4, "value >= 30, ratio >= 4.5 (k8m23d10)")),
            (Texts{"tasks-2: value is 29, and must be >= 30",
                   "tasks-2: ratio is 4.4, and must be >= 4.5"}));
  EXPECT_EQ(misses(row(3.6, 1, "3.0 <= value <= 3.5")),
            (Texts{"tasks-2: value is 3.6, and must be <= 3.5"}));
  EXPECT_EQ(misses(row(2.9, 1, "3.0 <= value <= 3.5")),
            (Texts{"tasks-2: value is 2.9, and must be >= 3"}));
}

TEST(Misses, all_where_nothing_was_measured) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(misses(row(none, 3, "value <= 6, ratio >= 3")).size(), 1U);
  EXPECT_EQ(misses(row(1, none, "value <= 6, ratio >= 3")).size(), 1U);
  Row alone = row(1, 1, "ratio >= 0.5");
  alone.baseline = "";
  EXPECT_EQ(misses(alone).size(), 1U);
}

TEST(MissesDeathTest, what_cannot_be_read_is_no_condition) {
  EXPECT_DEATH(static_cast<void>(misses(row(1, 1, "value < 6"))), "broken precondition");
  EXPECT_DEATH(static_cast<void>(misses(row(1, 1, "speed >= 6"))), "broken precondition");
}

}  // namespace
}  // namespace rubato::bench

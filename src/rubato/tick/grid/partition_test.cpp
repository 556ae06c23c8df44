#include "rubato/tick/grid/partition.hpp"

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(GridPartition, borders_are_short_where_nothing_is_said) {
  EXPECT_EQ(grid_factors(4, {800, 800}, {0, 0}), (Numbers{2, 2}));
  EXPECT_EQ(grid_factors(4, {100, 10000}, {0, 0}), (Numbers{1, 4}));
  EXPECT_EQ(grid_factors(7, {50, 50, 50}, {0, 0, 0}).size(), 3U);
}

TEST(GridPartition, what_is_wanted_is_kept_and_the_rest_chosen) {
  EXPECT_EQ(grid_factors(4, {800, 800}, {1, 0}), (Numbers{1, 4}));
  EXPECT_EQ(grid_factors(4, {800, 800}, {0, 1}), (Numbers{4, 1}));
  EXPECT_EQ(grid_factors(12, {60, 60, 60}, {3, 0, 2}), (Numbers{3, 2, 2}));
  const Box<std::int64_t, 2> world{{0, 0}, {10, 8}};
  const auto strips = cut_evenly(world, 4, {1, 0});
  ASSERT_EQ(strips.size(), 4U);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(strips[static_cast<std::size_t>(i)],
              (Box<std::int64_t, 2>{{0, 2 * i}, {10, 2 * i + 2}}));
  }
}

TEST(GridPartition, parts_that_do_not_go_into_the_nodes_are_refused) {
  try {
    (void)grid_factors(4, {800, 600}, {3, 0});
    FAIL() << "3 boxes along x for 4 nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_STREQ(error.what(),
                 "a grid of 800 x 600 cells cannot be cut into 4 boxes of whole cells, 3 x 0 of "
                 "them (0: any number); the product has to be 4, the number of nodes; the nearest "
                 "number that goes is 3");
  }
  EXPECT_THROW((void)grid_factors(11, {2, 3}, {0, 0}), Error);
}

TEST(GridPartition, the_nearest_number_of_boxes_that_goes_is_named) {
  const auto refusal = [](std::int64_t n, const Numbers& extent, const Numbers& wanted) {
    try {
      (void)grid_factors(n, extent, wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  const auto ends = [](const std::string& text, const std::string& end) {
    EXPECT_TRUE(text.ends_with(end)) << text;
  };
  ends(refusal(11, {2, 3}, {0, 0}), "; the nearest number that goes is 6");
  ends(refusal(11, {10, 10}, {0, 0}), "; the nearest number that goes is 10");
  ends(refusal(13, {7, 2}, {7, 0}), "; the nearest number that goes is 14");
  ends(refusal(4, {3, 3}, {5, 0}), ", the number of nodes");
}

}  // namespace
}  // namespace rubato::tick

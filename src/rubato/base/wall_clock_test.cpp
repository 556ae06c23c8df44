#include "rubato/base/wall_clock.hpp"

#include <cstdio>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(WallClock, is_a_date_of_this_century_in_utc) {
  const std::string now = utc_now();
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  char zone = 0;
  ASSERT_EQ(std::sscanf(now.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%c", &year, &month, &day, &hour,
                        &minute, &second, &zone),
            7)
      << now;
  EXPECT_GE(year, 2026);
  EXPECT_LE(month, 12);
  EXPECT_LE(day, 31);
  EXPECT_LE(hour, 23);
  EXPECT_EQ(zone, 'Z');
  EXPECT_EQ(now.size(), 20U);
  EXPECT_GE(utc_now(), now) << "texts of dates have the order of the dates";
}

}  // namespace
}  // namespace rubato

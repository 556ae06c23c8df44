#include "rubato/base/caller.hpp"

#include <string>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Caller, is_the_line_of_the_program_that_calls) {
  const int line = __LINE__ + 1;
  const std::string place = user_caller();
#ifdef RUBATO_HAS_BACKTRACE
  EXPECT_TRUE(place.ends_with("caller_test.cpp:" + std::to_string(line))) << place;
#else
  EXPECT_EQ(place, "") << line;
#endif
}

}  // namespace
}  // namespace rubato

#include "rubato/base/caller.hpp"

#include <string>

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Caller, is_the_line_of_the_program_that_calls) {
  const int line = __LINE__ + 1;
  const std::string place = user_caller();
  if (place.empty()) GTEST_SKIP() << "no debug information, or no libbacktrace";
  EXPECT_TRUE(place.ends_with("caller_test.cpp:" + std::to_string(line))) << place;
}

}  // namespace
}  // namespace rubato

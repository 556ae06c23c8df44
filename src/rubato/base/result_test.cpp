#include "rubato/base/result.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace rubato {
namespace {

Result<std::unique_ptr<int>, std::string> half(int x) {
  if (x % 2 != 0) return Unexpected{std::to_string(x) + " is odd"};
  return std::make_unique<int>(x / 2);
}

TEST(Result, HoldsAValue) {
  auto result = half(8);
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 4);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 4);
}

TEST(Result, HoldsAFailure) {
  const auto result = half(7);
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), "7 is odd");
}

TEST(Result, TellsValueFromErrorOfTheSameType) {
  const Result<int, int> value = 1;
  const Result<int, int> failure = Unexpected{1};
  EXPECT_TRUE(value.has_value());
  EXPECT_FALSE(failure.has_value());
}

}  // namespace
}  // namespace rubato

#include "rubato/base/error.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Error, ContextStandsInFrontAndTheCodeStays) {
  const Error inner("expected a number, found \"x\"", ExitCode::usage);
  const Error outer = inner.in("line 7").in("start.csv");
  EXPECT_STREQ(outer.what(), "start.csv: line 7: expected a number, found \"x\"");
  EXPECT_EQ(outer.code(), ExitCode::usage);
}

TEST(Error, HasAllOfATextWithZeroBytes) {
  const std::string text("a\0b\0", 4);
  EXPECT_STREQ(Error(text).what(), "a\\x00b\\x00");
  EXPECT_STREQ(Error("c").in(text).what(), "a\\x00b\\x00: c");
}

TEST(Nearest, FindsAWordWithATypo) {
  const std::vector<std::string> words = {"launch", "lab", "doctor"};
  EXPECT_EQ(nearest("doctr", words), "doctor");
  EXPECT_EQ(nearest("luanch", words), "launch");
  EXPECT_EQ(did_you_mean("lanch", words), " (did you mean \"launch\"?)");
}

TEST(Nearest, CountsSwappedNeighboursOnce) {
  EXPECT_EQ(nearest("rnu", {"lab", "run"}), "run");
  EXPECT_EQ(nearest("abdc", {"abxx", "abcd"}), "abcd");
  EXPECT_EQ(nearest("ca", {"abc"}), "");
}

TEST(Nearest, SaysNothingIfNoWordIsNear) {
  EXPECT_EQ(nearest("benchmark", {"lab", "run"}), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(Nearest, TakesTheFirstOfEquallyNearWords) {
  EXPECT_EQ(nearest("cat", {"bat", "car"}), "bat");
}

using RequireDeathTest = ::testing::Test;

TEST(RequireDeathTest, PrintsConditionValuesAndPlace) {
  const int k = 5;
  const int m = 2;
  set_fatal_place("node 2 core 1");
  EXPECT_DEATH(
      RUBATO_REQUIRE(k <= m + 1, k, m),
      "broken precondition: k <= m \\+ 1 \\[5, 2\\] at .*error_test.cpp:[0-9]+, node 2 core 1");
  set_fatal_place(nullptr);
}

TEST(RequireDeathTest, CallsTheHookOnceWithTheMessage) {
  EXPECT_DEATH(
      {
        set_fatal_hook([](const std::string& message) {
          std::fprintf(stderr, "hook saw <%s>\n", message.c_str());
          RUBATO_ASSERT(false);  // a hook that fails itself must not come back here
        });
        RUBATO_ASSERT(1 + 1 == 3);
      },
      "hook saw <broken invariant: 1 \\+ 1 == 3");
}

TEST(Require, EvaluatesItsConditionOnce) {
  int n_calls = 0;
  RUBATO_REQUIRE(++n_calls > 0);
  EXPECT_EQ(n_calls, 1);
}

}  // namespace
}  // namespace rubato

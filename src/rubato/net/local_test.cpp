#include "rubato/net/local.hpp"

#include <gtest/gtest.h>

namespace rubato::net {
namespace {

TEST(LocalFabric, RefusesAboveItsBoundAndTakesAgainAfterAPoll) {
  LocalFabric fabric(1000);
  Bytes large(5000);
  EXPECT_TRUE(fabric.try_send(0, large)) << "one message always passes";
  EXPECT_TRUE(large.empty());
  Bytes small(1);
  EXPECT_FALSE(fabric.try_send(0, small));
  EXPECT_EQ(small.size(), 1U);
  Arrival arrival;
  ASSERT_TRUE(fabric.poll(arrival));
  EXPECT_EQ(arrival.bytes.size(), 5000U);
  EXPECT_TRUE(fabric.try_send(0, small));
}

TEST(LocalFabric, EmptyMessagesAreBoundedToo) {
  LocalFabric fabric(1000);
  int n_taken = 0;
  for (Bytes empty; n_taken < 5000 && fabric.try_send(0, empty);)
    ++n_taken;
  EXPECT_LE(n_taken, 16);
  EXPECT_GE(n_taken, 15);
}

TEST(LocalFabric, NamesItsHost) {
  EXPECT_FALSE(LocalFabric().host(0).empty());
}

using LocalFabricDeathTest = ::testing::Test;
TEST(LocalFabricDeathTest, AbortEndsTheProcessWithItsCode) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(LocalFabric().abort(5, "lost"), ::testing::ExitedWithCode(5), "rubato: lost");
}

}  // namespace
}  // namespace rubato::net

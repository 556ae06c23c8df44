#include "rubato/base/time.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

TEST(Time, DoesNotGoBack) {
  Nanos last = steady_now();
  for (int i = 0; i < 1000; ++i) {
    const Nanos now = steady_now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Time, ANapIsNotShorterThanAsked) {
  const Nanos begin = steady_now();
  nap(2 * kMillisecond);
  EXPECT_GE(steady_now() - begin, 2 * kMillisecond);
}

}  // namespace
}  // namespace rubato

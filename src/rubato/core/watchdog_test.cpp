#include "rubato/core/watchdog.hpp"

#include <gtest/gtest.h>

#include "rubato/core/toy_engines_test.hpp"

namespace rubato::core {
namespace {

TEST(Watchdog, LongWorkIsReportedAsBusyAtDoublingAges) {
  const testing::RingEngine engine(0, 1, 1);
  Watchdog watchdog(2, 10 * kSecond);
  const Work work{3, 7, 12};
  std::vector<int> reported;
  for (int second = 0; second < 100; ++second) {
    const std::string line = watchdog.look(1, kSecond, work, second * kSecond, engine);
    if (line.empty()) continue;
    reported.push_back(second);
    EXPECT_NE(line.find("core 1 is busy with work of kind 3, index 7, tick 12 for"),
              std::string::npos)
        << line;
  }
  EXPECT_EQ(reported, (std::vector<int>{11, 21, 41, 81}));
}

TEST(Watchdog, EachPieceOfWorkHasItsOwnAge) {
  const testing::RingEngine engine(0, 1, 1);
  Watchdog watchdog(1, 10 * kSecond);
  for (int second = 0; second < 100; ++second) {
    const Nanos since = (second / 9) * 9 * kSecond;
    EXPECT_EQ(watchdog.look(0, since, {}, second * kSecond, engine), "");
  }
  EXPECT_EQ(watchdog.look(0, kNever, {}, 1'000 * kSecond, engine), "");
}

}  // namespace
}  // namespace rubato::core

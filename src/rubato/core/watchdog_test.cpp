#include "rubato/core/watchdog.hpp"

#include <gtest/gtest.h>

#include "rubato/core/engine_group.hpp"
#include "rubato/core/toy_engines_test.hpp"
#include "rubato/core/wrapped_engine.hpp"

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

// Another engine, and threads beside its cores.
class WithThreads final : public WrappedEngine {
 public:
  WithThreads(Engine& engine, std::vector<WorkBeside> all)
      : WrappedEngine(engine), all_(std::move(all)) {}
  [[nodiscard]] std::vector<WorkBeside> work_beside(Nanos begun_by) const override {
    std::vector<WorkBeside> old;
    for (const WorkBeside& work : all_) {
      if (work.since <= begun_by) old.push_back(work);
    }
    return old;
  }

 private:
  std::vector<WorkBeside> all_;
};

// What is said of `all` in so many seconds, each line behind the second in which it is said.
std::vector<std::string> told_of(const std::vector<WorkBeside>& all, bool cores_work, int seconds) {
  testing::RingEngine ring(0, 1, 1);
  const WithThreads engine(ring, all);
  Watchdog watchdog(1, 10 * kSecond);
  std::vector<std::string> told;
  for (int second = 0; second < seconds; ++second) {
    for (const std::string& line : watchdog.look_beside(second * kSecond, cores_work, engine))
      told.push_back(std::to_string(second) + ": " + line);
  }
  return told;
}

TEST(Watchdog, LongWorkBesideTheCoresIsReportedAtDoublingAges) {
  EXPECT_EQ(told_of({{"a read", kSecond}}, false, 100),
            (std::vector<std::string>{
                "11: a read has run for 10.0 s while all cores of the node are idle",
                "21: a read has run for 20.0 s while all cores of the node are idle",
                "41: a read has run for 40.0 s while all cores of the node are idle",
                "81: a read has run for 80.0 s while all cores of the node are idle"}));
}

TEST(Watchdog, WorkBesideCoresThatWorkIsReportedLater) {
  EXPECT_EQ(told_of({{"a read", kSecond}}, true, 200),
            (std::vector<std::string>{"81: a read has run for 80.0 s beside cores that work"}));
}

TEST(Watchdog, WorksOfOneKindAreReportedTogetherAndKindsApart) {
  EXPECT_EQ(
      told_of({{"a read", 3 * kSecond}, {"a program", 0}, {"a read", 0}, {"a read", 60 * kSecond}},
              false, 20),
      (std::vector<std::string>{
          "10: a program has run for 10.0 s while all cores of the node are idle",
          "10: a read has run for 10.0 s while all cores of the node are idle"}));
  EXPECT_EQ(told_of({{"a read", 3 * kSecond}, {"a read", 2 * kSecond}, {"a read", 0}}, true, 100),
            (std::vector<std::string>{
                "80: a read has run for 80.0 s, the oldest of 3, beside cores that work"}));
}

// Thousands of programs may take an hour each.
TEST(Watchdog, AKindThatWasReportedIsReportedAgainAtTwiceThatAge) {
  testing::RingEngine ring(0, 1, 1);
  Watchdog watchdog(1, 10 * kSecond);
  std::vector<int> reported;
  for (int second = 0; second < 1'000; ++second) {
    // One that ends after 30 s, then the next; from 900 s on, one that does not end.
    const int begin = second < 900 ? second / 30 * 30 : 900;
    const WithThreads engine(ring, {{"a program", begin * kSecond}});
    if (!watchdog.look_beside(second * kSecond, false, engine).empty()) reported.push_back(second);
  }
  EXPECT_EQ(reported, (std::vector<int>{10, 20, 940, 980}));
}

TEST(Watchdog, KindsBeyondAFewHundredAreKnownByOneAge) {
  testing::RingEngine ring(0, 1, 1);
  Watchdog watchdog(1, 10 * kSecond);
  std::size_t n_told = 0;
  for (int i = 0; i < 1'000; ++i) {
    const WithThreads engine(ring, {{"read " + std::to_string(i), 0}});
    n_told += watchdog.look_beside(10 * kSecond, false, engine).size();
  }
  EXPECT_EQ(n_told, 257U);
}

TEST(Watchdog, HearsOfWorkBesideTheCoresFromEnginesInEngines) {
  testing::RingEngine first(0, 1, 1);
  testing::RingEngine second(0, 1, 1);
  WithThreads reads(first, {{"a read", 0}});
  WithThreads writes(second, {{"a write", 0}});
  EngineGroup group({&reads, &writes});
  const WrappedEngine wrapped(group);
  Watchdog watchdog(1, 10 * kSecond);
  EXPECT_EQ(watchdog.look_beside(10 * kSecond, false, wrapped).size(), 2U);
  EXPECT_EQ(watchdog.look_beside(9 * kSecond, false, wrapped).size(), 0U);
}

}  // namespace
}  // namespace rubato::core

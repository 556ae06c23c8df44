#include "rubato/tools/progress.hpp"

#include <atomic>
#include <sstream>

#include <gtest/gtest.h>

namespace rubato::tools {
namespace {

TEST(Progress, SaysNothingInTheFirstTwoSeconds) {
  std::ostringstream err;
  {
    Progress progress(err, true, "fish", 0);
    progress.update(2 * kSecond - 1, 0.5, "");
  }
  EXPECT_EQ(err.str(), "");
}

TEST(Progress, RefreshesOneLineOfATerminalAndClearsIt) {
  std::ostringstream err;
  {
    Progress progress(err, true, "fish", 0);
    progress.update(4 * kSecond, 0.25, "100 ticks/s");
    progress.update(4 * kSecond + kMillisecond, 0.26, "");  // too soon for another
  }
  EXPECT_EQ(err.str(), "\r\033[Kfish: 25 %, 100 ticks/s, 12 s left\r\033[K");
}

TEST(Progress, WritesAPlainLineEveryTenSecondsElsewhere) {
  std::ostringstream err;
  {
    Progress progress(err, false, "fish", 0);
    for (int s = 0; s <= 25; ++s)
      progress.update(s * kSecond, s / 50.0, "");
  }
  EXPECT_EQ(err.str(), "rubato: fish: 20 %, 40 s left\nrubato: fish: 40 %, 30 s left\n");
}

TEST(Progress, WritesAsOftenAsItIsAskedTo) {
  for (const bool is_terminal : {true, false}) {
    std::ostringstream err;
    Progress progress(err, is_terminal, "fish", 0, kSecond / 2);
    for (int i = 0; i <= 10; ++i)
      progress.update(i * kSecond / 10, Progress::kUnknown, std::to_string(i));
    EXPECT_EQ(err.str(), is_terminal
                             ? "\r\033[Kfish: 1 s so far, 5\r\033[Kfish: 1 s so far, 10"
                             : "rubato: fish: 1 s so far, 5\nrubato: fish: 1 s so far, 10\n");
    err.str("");
  }
}

TEST(Progress, MakesWayForWhatOthersWrite) {
  for (const bool is_terminal : {true, false}) {
    std::ostringstream err;
    Progress progress(err, is_terminal, "fish", 0);
    const auto write = [&](const char* text) {
      progress.clear();
      err << text << '\n';
      progress.draw();
    };
    write("before");
    progress.update(12 * kSecond, 0.5, "");
    write("one");
    write("two");
    EXPECT_EQ(err.str(), is_terminal ? "before\n\r\033[Kfish: 50 %, 12 s left\r\033[Kone\n"
                                       "\r\033[Kfish: 50 %, 12 s left\r\033[Ktwo\n"
                                       "\r\033[Kfish: 50 %, 12 s left"
                                     : "before\nrubato: fish: 50 %, 12 s left\none\ntwo\n");
    err.str("");
  }
}

TEST(Progress, TellsHowLongItHasTakenIfNobodyKnowsThePart) {
  std::ostringstream err;
  Progress progress(err, false, "bench", 0);
  progress.update(12 * kSecond, Progress::kUnknown, "reading");
  EXPECT_EQ(err.str(), "rubato: bench: 12 s so far, reading\n");
}

// Counts the lines that are flushed into it.
struct Lines : std::stringbuf {
  std::atomic<int> n = 0;
  int sync() override {
    ++n;
    return 0;
  }
};

TEST(ProgressClock, ShowsWhatIsUnderWay) {
  std::ostringstream err;
  {
    ProgressClock clock(err, false, "compare", steady_now() - 12 * kSecond);
    clock.at(0.75, "round 2 of 2");
  }
  EXPECT_EQ(err.str(), "rubato: compare: 75 %, round 2 of 2, 4 s left\n");
}

TEST(ProgressClock, RefreshesTheLineWhileTheWorkBlocks) {
  Lines lines;
  std::ostream err(&lines);
  {
    ProgressClock clock(err, true, "compare", steady_now() - 4 * kSecond);
    clock.at(0.5, "");
    while (lines.n < 3)
      nap(10 * kMillisecond);
  }
  EXPECT_TRUE(lines.str().starts_with("\r\033[Kcompare: 50 %, 4 s left\r\033[Kcompare: 50 %"))
      << lines.str();
  EXPECT_TRUE(lines.str().ends_with("left\r\033[K")) << lines.str();
}

TEST(Progress, DescribesSpansAsPeopleDo) {
  EXPECT_EQ(describe_span(-kSecond), "0 s");
  EXPECT_EQ(describe_span(59 * kSecond), "59 s");
  EXPECT_EQ(describe_span(200 * kSecond), "3 min 20 s");
  EXPECT_EQ(describe_span(7500 * kSecond), "2 h 5 min");
}

TEST(Progress, TakesATimeLeftThatSomebodyKnowsBetter) {
  std::ostringstream err;
  Progress progress(err, true, "flow", 0);
  progress.update(3 * kSecond, 0.5, "8 running", 70 * kSecond);
  EXPECT_EQ(err.str(), "\r\033[Kflow: 50 %, 8 running, 1 min 10 s left");
}

}  // namespace
}  // namespace rubato::tools

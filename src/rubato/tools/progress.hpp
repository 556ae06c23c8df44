#pragma once
// Progress of long work, for people: nothing in the first 2 s, then one line that is refreshed on a
// terminal, or a plain line every 10 s where there is none (a log file).

#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "rubato/base/time.hpp"

namespace rubato::tools {

class Progress {
 public:
  // A part that nobody knows: the line tells how long it has taken so far.
  static constexpr double kUnknown = -1;
  // A time left that follows from the part and the time so far.
  static constexpr Nanos kByPart = -1;
  // As often as is usual; less in the first 2 s.
  static constexpr Nanos kUsual = 0;

  // Writes to `err`, which must outlive this. `begin` is when the work began; the first line comes
  // `every` later.
  Progress(std::ostream& err, bool is_terminal, std::string title, Nanos begin,
           Nanos every = kUsual);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Clears the line of a terminal.
  ~Progress();

  // `part` of the work is done, in [0, 1] or kUnknown; `note` is shown behind it, e.g. "1200
  // ticks/s, waiting 12 %". Costs next to nothing if it is not yet time for a line: call it as
  // often as you like.
  void update(Nanos now, double part, std::string_view note, Nanos left = kByPart);

  // Around what somebody else writes to the same terminal, which ends with a newline: the line is
  // cleared, so that it does not stand before it, and drawn again behind it.
  void clear();
  void draw();

 private:
  std::ostream& err_;
  bool is_terminal_;
  std::string title_;
  Nanos begin_;
  Nanos every_;
  Nanos next_;        // no line before
  std::string line_;  // that stands there; "" before the first
};

// Progress of work that blocks, such as another program: a thread of its own looks at the clock.
class ProgressClock {
 public:
  // As Progress. Nobody else writes to `err` while this lives.
  ProgressClock(std::ostream& err, bool is_terminal, std::string title, Nanos begin = steady_now());
  ProgressClock(const ProgressClock&) = delete;
  ProgressClock& operator=(const ProgressClock&) = delete;
  // Joins the thread and clears the line of a terminal.
  ~ProgressClock();

  // What is under way from now on, and how much is done. Any thread.
  void at(double part, std::string note);

 private:
  void watch();

  std::mutex mutex_;  // of all below
  Progress progress_;
  double part_ = Progress::kUnknown;
  std::string note_;
  bool ended_ = false;
  std::condition_variable end_;
  std::thread thread_;  // the last: it uses all the others
};

// A span of time in the unit that a person would choose: "4 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string describe_span(Nanos span);

}  // namespace rubato::tools

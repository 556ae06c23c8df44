#pragma once
// Pace: how many tasks are begun in a time, less those that come meanwhile, by what the last turns of who
// runs them were like; and how often it had nothing to do for a while.

#include <cstdint>

#include "rubato/base/time.hpp"

namespace rubato::core {

class Pace {
 public:
  // Behind so many tasks that have begun, and so many that have come.
  void begin_turn(Nanos now, std::uint64_t n_begun, std::uint64_t n_came) noexcept {
    if (!goes_on_ && !waits_for_room_ && now - ended_ >= kIdle) ++n_idle_;
    if (goes_on_) {
      time_ += static_cast<double>(now - since_);
      n_begun_ += static_cast<double>(n_begun - n_begun_before_);
      n_came_ += static_cast<double>(n_came - n_came_before_);
      if (time_ >= kMost) {
        time_ /= 2;
        n_begun_ /= 2;
        n_came_ /= 2;
      }
    }
    since_ = now;
    n_begun_before_ = n_begun;
    n_came_before_ = n_came;
    goes_on_ = false;
  }
  // The turn ends with work left, so that the next one follows at once.
  void note_work_left() noexcept { goes_on_ = true; }
  // Behind each turn.
  void note_end(Nanos now, bool waits_for_room) noexcept {
    ended_ = now;
    waits_for_room_ = waits_for_room;
  }
  // Spells without work, but those in which more would only have waited for room to send.
  [[nodiscard]] std::uint64_t n_idle() const noexcept { return n_idle_; }
  // In that time; of tasks that take longer it is one. 0 if as many come, or if too little is known.
  [[nodiscard]] std::uint64_t n_in(Nanos time) const noexcept {
    if (time_ < kLeast || n_begun_ < kFewest || n_begun_ <= n_came_ || time <= 0) return 0;
    const double n_more = (n_begun_ - n_came_) * static_cast<double>(time) / time_;
    const bool are_long = n_begun_ * static_cast<double>(time) < time_;
    if (n_more < 1 && are_long && 2 * n_came_ <= n_begun_) return 1;
    return static_cast<std::uint64_t>(n_more);
  }

 private:
  // Of the last turns: what makes tasks takes no time, and a few such turns say nothing.
  static constexpr double kLeast = 1 * kMillisecond;
  static constexpr double kMost = 8 * kMillisecond;
  static constexpr double kFewest = 1.0 / 64;  // one that was begun long ago
  static constexpr Nanos kIdle =
      5 * kMicrosecond;  // shorter: cores of a node that answer each other

  double time_ = 0;
  double n_begun_ = 0;
  double n_came_ = 0;
  Nanos since_ = 0;
  std::uint64_t n_begun_before_ = 0;
  std::uint64_t n_came_before_ = 0;
  bool goes_on_ = false;
  Nanos ended_ = 0;
  bool waits_for_room_ = false;
  std::uint64_t n_idle_ = 0;
};

}  // namespace rubato::core

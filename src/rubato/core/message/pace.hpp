#pragma once
// Pace: how many tasks are begun in a time, less those that come meanwhile, by what the last turns of who
// runs them were like.

#include <cstdint>

#include "rubato/base/time.hpp"

namespace rubato::core {

class Pace {
 public:
  // Behind so many tasks that have begun, and so many that have come.
  void begin_turn(Nanos now, std::uint64_t n_begun, std::uint64_t n_came) noexcept {
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

  double time_ = 0;
  double n_begun_ = 0;
  double n_came_ = 0;
  Nanos since_ = 0;
  std::uint64_t n_begun_before_ = 0;
  std::uint64_t n_came_before_ = 0;
  bool goes_on_ = false;
};

}  // namespace rubato::core

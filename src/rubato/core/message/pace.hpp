#pragma once
// Pace: how many pooled tasks a core runs in a time, less those that messages bring meanwhile, by what
// its last turns were like.

#include <cstdint>

#include "rubato/base/time.hpp"

namespace rubato::core::detail {

class Pace {
 public:
  // Behind so many tasks that it has run and no message has brought.
  void begin_turn(Nanos now, std::int64_t n_run) noexcept {
    if (goes_on_) {
      time_ += now - begun_;
      n_ += n_run - n_run_;
      if (time_ >= kMost) {
        time_ /= 2;
        n_ /= 2;
      }
    }
    begun_ = now;
    n_run_ = n_run;
    goes_on_ = false;
  }
  // The turn ends with work left, so that the next one follows at once.
  void note_work_left() noexcept { goes_on_ = true; }
  // In that time; 0 if one takes longer, if messages bring as many, or if too little is known.
  [[nodiscard]] std::uint64_t n_in(Nanos time) const noexcept {
    return time_ < kLeast || n_ <= 0 ? 0 : static_cast<std::uint64_t>(n_ * time / time_);
  }

 private:
  // Of the last turns: what makes tasks takes no time, and a few such turns say nothing.
  static constexpr Nanos kLeast = kMillisecond;
  static constexpr Nanos kMost = 8 * kMillisecond;

  Nanos time_ = 0;
  std::int64_t n_ = 0;  // tasks
  Nanos begun_ = 0;
  std::int64_t n_run_ = 0;
  bool goes_on_ = false;
};

}  // namespace rubato::core::detail

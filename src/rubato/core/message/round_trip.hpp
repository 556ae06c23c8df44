#pragma once
// RoundTrip: how long it takes until another core has heard a question and its answer is here.

#include <algorithm>

#include "rubato/base/time.hpp"

namespace rubato::core {

class RoundTrip {
 public:
  // There and back, without the time for which the other one held the question. Both are told from the
  // beginning of a turn, so that the difference may be below 0. Averaged as that of TCP [RFC 6298].
  void note(Nanos time) noexcept {
    time = std::max<Nanos>(time, 1);
    time_ = time_ == 0 ? time : time_ + (time - time_) / 8;
  }
  // 0 if nothing is known.
  [[nodiscard]] Nanos time() const noexcept { return time_; }

 private:
  Nanos time_ = 0;
};

}  // namespace rubato::core

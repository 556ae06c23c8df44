#pragma once
// Watchdog: what a host on real cores tells people while a run seems to stand still.
//
// Work that runs for long is busy, not stuck, and is reported as that: its name and age, at
// doubling ages, so that a night's run fills no screen. A deadlock is no matter of time; it is
// found by counting (termination.hpp), and the run ends with who waits for what.
//
// The class is told the time, so that tests need none; the host's service thread calls it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::core {

class Watchdog {
 public:
  // The first report of work that is `busy_after` old, the next when it is twice as old, and so on.
  Watchdog(std::uint32_t n_cores, Nanos busy_after) : cores_(n_cores), busy_after_(busy_after) {}

  // The core runs `work` since `since`, or nothing (kNever). Returns a line to report, or "".
  [[nodiscard]] std::string look(std::uint32_t core, Nanos since, const Work& work, Nanos now,
                                 const Engine& engine);

 private:
  struct Core {
    Nanos since = kNever;
    Nanos next_age = 0;
  };
  std::vector<Core> cores_;
  Nanos busy_after_;
};

}  // namespace rubato::core

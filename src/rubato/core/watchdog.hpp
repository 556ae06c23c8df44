#pragma once
// Watchdog: what a host on real cores tells people while a run seems to stand still.
//
// Work that runs for long is busy, not stuck, and is reported as that: its name and age, at
// doubling ages, so that a night's run fills no screen. A deadlock is no matter of time; it is
// found by counting (termination.hpp), and the run ends with who waits for what.
//
// Work beside the cores is told in the same way, by kinds, which are names: a thread that stays in a
// read for good holds up a run like a core that is busy. But it may well be meant to take hours, as a
// program of a flow is, and thousands of its kind may follow it. So a kind that was told is told
// again when one of it has twice that age, whichever it is; and where cores have work, later.
//
// The class is told the time, so that tests need none; the host's service thread calls it.

#include <cstdint>
#include <functional>
#include <map>
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
  // The same of what runs beside the cores, of which some have work or none has; a line of each kind
  // at most. Beside cores that work, the ages are 8 times as high.
  [[nodiscard]] std::vector<std::string> look_beside(Nanos now, bool cores_work,
                                                     const Engine& engine);

 private:
  struct Core {
    Nanos since = kNever;
    Nanos next_age = 0;
  };

  [[nodiscard]] Nanos& next_age_of(const std::string& kind);

  std::vector<Core> cores_;
  std::map<std::string, Nanos> next_ages_;  // by kinds; those beyond a few hundred share one, ""
  Nanos busy_after_;
};

}  // namespace rubato::core

#pragma once
// Programs that fail now and then are tried again; in the end each try's reason is said.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/flow/program/program.hpp"

namespace rubato::flow {

struct RetryPolicy {
  std::uint32_t n_tries = 1;         // in all; 0 is 1
  Nanos pause = 100 * kMillisecond;  // after the first failure
  double growth = 2.0;               // of the pause, from each failure to the next
  Nanos pause_max = 60 * kSecond;    // where it stops growing
  bool after_timeout = true;         // false: a program whose time was over has had its chance
  // Each try on the next node, if there are others and no option of the task says where it is to run.
  bool elsewhere = false;
};

// How long to wait after `n_failed` failures. REQUIRES: n_failed > 0, growth >= 1, pause >= 0.
[[nodiscard]] Nanos pause_after(const RetryPolicy& policy, std::uint32_t n_failed);

// False for what cannot become better: a program that was not even started (what passes by itself the
// launcher has tried already), one that was stopped by kill_all(), one of which there was enough, and
// one that had its chance.
[[nodiscard]] bool may_be_tried_again(const ProgramEnd& end, const RetryPolicy& policy);
// The same of another node, which may have what this one could not start the program with.
[[nodiscard]] bool may_be_tried_elsewhere(const ProgramEnd& end, const RetryPolicy& policy);
// Why all tries failed: equal reasons in a row are said once, and at most sixteen. REQUIRES: one at
// least.
[[nodiscard]] std::string text_of_tries(const std::vector<std::string>& problems);

// One try; it is told how many failed before it.
using Try = std::function<ProgramEnd(std::uint32_t n_failed)>;

// Calls `once` until it ends well or the policy gives up, with pauses on the launcher. Returns the last
// end; n_tries and `problem`, as text_of_tries() has it, are of all tries. What tries elsewhere calls
// it for each of them.
[[nodiscard]] ProgramEnd with_retries(Launcher& launcher, const RetryPolicy& policy,
                                      const Try& once);

}  // namespace rubato::flow

#pragma once
// Policy: who may run ahead and what is sent, the three techniques of [Ticks 5] and their
// combination.
//
//   text                        meaning                                              source
//   bulk                        a global barrier each tick (the baseline to beat)    [Ticks 1]
//   local                       wait for the neighbours only                         Algorithm 1
//   schedule(d)                 run up to d ticks ahead where inputs are local       Algorithm 2
//   replicate(k,m)              m layers of neighbours are recomputed here, with a   Algorithm 3
//                               message round every k ticks
//   replicate(k,m)+schedule(d)  both                                                 [Ticks 6.3]
//   pieces(d)                   schedule(d) where each region is a piece of its own: it sends
//                               when it is done, its readers take what they can of a step before
//                               all pieces that it needs are there                   [AsyTick 3, 4]
// Every policy gives the same bits; they differ in time only.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::tick {

using Tick = std::int64_t;
inline constexpr Tick kNoTick = INT64_MAX;  // later than all ticks

struct Policy {
  int period = 1;          // k: ticks between two message rounds
  int replica_layers = 0;  // m: layers of (W_D o R_D) kept and stepped beyond the own query
  int depth = 0;           // d: how many ticks the inside may run ahead of late messages
  bool barrier = false;    // bulk
  bool pieces = false;

  // The text form above, or the short one, e.g. "k3m5d10". Throws Error (usage) naming what is
  // wrong. `names`: words beside these that the caller takes, for what the Error says.
  [[nodiscard]] static Policy parse(std::string_view text,
                                    const std::vector<std::string>& names = {});

  // Throws Error (usage) unless 1 <= k <= m + 1, 0 <= m, 0 <= d, a barrier goes with k=1, m=d=0, and
  // pieces with k=1, m=0, d >= 1.
  void validate() const;

  // The longest text form; parse(to_string()) is the same policy.
  [[nodiscard]] std::string to_string() const;

  bool operator==(const Policy&) const = default;
};

}  // namespace rubato::tick

#pragma once
// Whether nodes of policy pieces let their neighbours run steps for them (dataflow_lending.cpp).

#include <map>
#include <optional>

#include "rubato/base/time.hpp"
#include "rubato/net/fabric.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

inline constexpr Nanos kLendingTakes = kMillisecond;

struct LendingOptions {
  bool on = false;
  // What lending takes besides the step itself: only longer steps are lent, by nodes that have several
  // times as much to do. None: as it is measured, beginning with kLendingTakes.
  std::optional<Nanos> takes{};
};

namespace detail {

// What a node has learnt about lending in all segments of its run.
struct LendingFigures {
  Nanos takes = kLendingTakes;             // besides the step, about
  Nanos unit_time = 0;                     // of own steps, about
  double scale = 0;                        // of a step's time here over its virtual time, about
  Tick long_at = 0;                        // own tick at the last step that was worth lending
  std::map<net::NodeId, Tick> quiet_till;  // neighbours that are not asked before that own tick
};

}  // namespace detail
}  // namespace rubato::tick

#pragma once
// The clocks of a job's nodes, brought together: steady_now() counts from another moment on each machine.

#include <string>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/node_host.hpp"

namespace rubato::core {

// How far a node's steady_now() is ahead of that of node 0, give or take `error`.
struct ClockOffset {
  Nanos ahead = 0;
  Nanos error = 0;
};

// Collective, blocking, between runs. [nodes] at node 0, nothing elsewhere. Processes of one machine have
// one clock; else by the quickest of some round trips, of which `error` is half: it is that of the slowest
// node, since node 0 waits for all. `mine` names this node's clock; "" is like no other's.
[[nodiscard]] std::vector<ClockOffset> measure_clocks(NodeHost& host,
                                                      const std::string& mine = clock_name());

namespace detail {

// What one round trip shows of a node's clock: it took the message of node 0, sent at `sent`, at `taken`
// of its own clock and answered at `answered`; node 0 had that at `back`.
struct RoundTrip {
  Nanos sent = 0;
  Nanos taken = 0;
  Nanos answered = 0;
  Nanos back = 0;
};
[[nodiscard]] ClockOffset clock_offset(const std::vector<RoundTrip>& trips);

}  // namespace detail
}  // namespace rubato::core

#pragma once
// Meter: what a node measures of itself while it runs, for forecasts (tune/forecast.hpp): how long
// its own work takes in a tick, what messages take of its cores, and how late they come.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "rubato/core/engine.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/tune/delays.hpp"
#include "rubato/tick/tune/forecast.hpp"

namespace rubato::tick {

// What a node tells of the ticks since its last report, of one segment.
struct NodeReport {
  NodeId node = 0;
  TickCosts load;
  double tick_time = 0;                           // ns from one tick to the next
  Tick ticks = 0;                                 // that this was measured in
  std::vector<std::pair<NodeId, Delays>> delays;  // of the links that come here
  NodeShape shape;

  void put(Writer& out) const;
  [[nodiscard]] static NodeReport get(Reader& in);
};

// All calls come under the host's lock.
class Meter {
 public:
  Meter(NodeId self, std::uint32_t n_cores) : self_(self), n_cores_(n_cores) {}

  // From here on of this segment alone, which lives until the next one is told of.
  void follow(const Dataflow& flow, std::uint32_t n_own, Nanos now);
  // Work of the segment that is followed.
  void count(const core::Work& work);
  // What a message costs a core: an empty one, and more for what is in it.
  struct MessageCost {
    Nanos empty = 0;
    Nanos content = 0;
  };
  // One that came, `delay` after it was sent by the clocks of both.
  void count_message(NodeId from, Nanos delay, MessageCost cost);
  void count_sent(MessageCost cost);
  // Nothing counts before the next own tick: what this node is late by is not what it measures.
  void pause();
  // After each event: the clock starts with an own tick, of a segment and after a pause.
  void look(Nanos now);

  // Ends a stretch, and begins the next one. `pieces`: what those of the node have cost in it.
  [[nodiscard]] NodeReport report(Nanos now, const PieceSpread& pieces);

 private:
  void begin(Tick tick, Nanos now);

  const NodeId self_;
  const std::uint32_t n_cores_;
  const Dataflow* flow_ = nullptr;
  std::uint32_t n_own_ = 1;
  Tick begin_tick_ = 0;
  Nanos begin_time_ = 0;
  bool begun_ = false;
  std::int64_t begin_units_ = 0;
  Nanos own_ = 0;
  Nanos replicas_ = 0;
  Nanos messages_ = 0;  // as if they were empty
  Nanos packing_ = 0;   // and what is in them
  std::map<NodeId, DelayLog> delays_;
  TickCosts load_;  // as it was told last
};

}  // namespace rubato::tick

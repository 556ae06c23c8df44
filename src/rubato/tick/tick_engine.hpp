#pragma once
// TickEngine: the engine of one node of a run, whatever it is made of: one Dataflow, or a chain of
// them that are cut differently (tick/epoch/). What goes around a run, such as checkpoints, knows
// it so. All calls but watched_tick() come under the host's lock.

#include "rubato/base/time.hpp"
#include "rubato/core/engine.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

class TickEngine : public core::Engine {
 public:
  // The tick that all own regions have reached, and one that none of them is beyond.
  [[nodiscard]] virtual Tick own_tick() const = 0;
  [[nodiscard]] virtual Tick reach() const = 0;
  // The first of these for a thread that looks on while the engine runs, for progress lines.
  [[nodiscard]] virtual Tick watched_tick() const = 0;
  // The tick that the run began with, and where it ends; the latter is the same on all nodes once
  // they have finished.
  [[nodiscard]] virtual Tick run_begin() const = 0;
  [[nodiscard]] virtual Tick run_end() const = 0;
  // Whether this node knows what the stop tests up to tick t have decided; node 0 is the first.
  [[nodiscard]] virtual bool has_decided(Tick t) const = 0;
  // The host's time at start().
  [[nodiscard]] virtual Nanos started() const = 0;
  // Of tuples that are held now, replicas included; costs a look at each version.
  [[nodiscard]] virtual std::size_t state_bytes() const = 0;
  // Own regions are not stepped beyond tick t, until this is called again; kNoTick ends it.
  // REQUIRES: t >= reach().
  virtual void hold(Tick t) = 0;
};

}  // namespace rubato::tick

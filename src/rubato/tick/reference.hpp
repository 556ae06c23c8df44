#pragma once
// The serial reference: GSTEP applied to the whole state, tick by tick [Ticks 4.1]. What every
// policy, node count and fabric must equal, bit for bit.

#include <utility>

#include "rubato/tick/model.hpp"

namespace rubato::tick {

template <class State>
struct ReferenceRun {
  State state;
  Tick ticks = 0;  // where the run ended: `ticks`, or earlier by the stop condition
};

// `everything` selects all tuples. REQUIRES: ticks >= 0.
template <Model M>
[[nodiscard]] ReferenceRun<typename M::State> run_reference(const M& model,
                                                            const typename M::Query& everything,
                                                            Tick ticks) {
  ReferenceRun<typename M::State> run{model.init(everything), 0};
  Tick end = ticks;
  while (run.ticks < end) {
    typename M::State next = stepped(model, run.state, run.state, run.ticks);
    ++run.ticks;
    if constexpr (HasStopCondition<M>) {
      const Tick interval = model.stop_interval();
      const Tick lag = model.stop_lag();
      if (interval > 0 && run.ticks % interval == 0 && run.ticks + lag < end &&
          model.stop(model.measure(run.state, next), run.ticks)) {
        end = run.ticks + lag;
      }
    }
    run.state = std::move(next);
  }
  return run;
}

}  // namespace rubato::tick

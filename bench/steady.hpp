#pragma once
// The rate of a simulated run in its steady state: without the ticks of its start.

#include <algorithm>
#include <vector>

#include "rubato/core/observer.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {

// When the last own step of the ticks before `from` has ended, in virtual time.
class SteadyClock final : public core::Observer {
 public:
  explicit SteadyClock(tick::Tick from) : from_(from) {}
  void on_work(core::NodeId /*node*/, std::uint32_t /*core*/, const core::Work& work,
               Nanos /*begin*/, Nanos end) noexcept override {
    if (work.kind == tick::step_own && work.tick < from_) begun_ = std::max(begun_, end);
  }
  void on_sent(core::NodeId, core::NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(core::NodeId, core::NodeId, std::size_t, Nanos) noexcept override {}

  [[nodiscard]] Nanos begun() const noexcept { return begun_; }

 private:
  tick::Tick from_;
  Nanos begun_ = 0;
};

struct SteadyRun {
  double rate = 0;  // ticks/s from tick `from` on
  tick::RunResult result;
};

[[nodiscard]] inline SteadyRun run_steady(const tick::Problem& problem, const tick::System& system,
                                          tick::Tick ticks, tick::Tick from,
                                          tick::SimulationOptions simulation) {
  SteadyClock clock(from);
  simulation.sharing = system.sharing;
  simulation.observer = &clock;
  SteadyRun run;
  run.result = tick::simulate(problem, system.policy, ticks, simulation);
  run.rate = static_cast<double>(ticks - from) * 1e9 /
             static_cast<double>(run.result.wall - clock.begun());
  return run;
}

}  // namespace rubato::bench

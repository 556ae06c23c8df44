#pragma once
// PacedEngine: another engine whose work takes, on real cores, at least the time that it costs in
// virtual time: what remains is slept. So a few processors stand for the cores of many slower or
// larger nodes, over a real network, and a simulation can be held against a run.

#include <algorithm>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/wrapped_engine.hpp"

namespace rubato::core {

class PacedEngine final : public WrappedEngine {
 public:
  PacedEngine(Engine& engine, std::uint32_t n_cores) : WrappedEngine(engine), cores_(n_cores) {}

  void run(const Work& work, std::uint32_t core) override {
    const Nanos begin = steady_now();
    WrappedEngine::run(work, core);
    Nanos& owed = cores_[core].owed;
    owed += cost(work) - (steady_now() - begin);
    if (owed < kNapLeast) return;
    const Nanos asleep = steady_now();
    nap(owed);
    // A nap that took too long is made good by the next work, but for a little.
    owed = std::max(owed - (steady_now() - asleep), -kNapLeast);
  }

 private:
  static constexpr Nanos kNapLeast = 100 * kMicrosecond;
  struct alignas(64) Core {
    Nanos owed = 0;  // time that its work has cost and not taken
  };

  std::vector<Core> cores_;
};

}  // namespace rubato::core

#pragma once
// MortalEngine: around the engine of a virtual node, so that a simulated run is killed at a virtual
// moment: all nodes at once, or one of them, which is silent from then on while the others go on
// until they are told.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "rubato/core/wrapped_engine.hpp"
#include "rubato/tick/epoch/epoch_engine.hpp"

namespace rubato::tick::testing {

// When a run is killed: so long after some node has all of tick `after`, or, once it has that, when
// tuples are on their way between two of its segments; but not later than after tick `at_latest`.
struct Death {
  Tick after = kNoTick;  // kNoTick: never
  Tick at_latest = 0;    // at most `after`: it waits for no move
  Nanos delay = 0;
  bool all = true;    // or else `node` alone
  NodeId node = 0;    // who dies
  Nanos noticed = 0;  // so long after it the others are told
};

// What becomes of a run; its engines share it.
struct Fate {
  Death death;
  std::vector<const TickEngine*> engines;  // [nodes]
  Nanos dies_at = kNever;
  bool dead = false;
  bool was_moving = false;  // at the death, on some node

  [[nodiscard]] static bool is_moving(const TickEngine& engine) {
    const auto* chain = dynamic_cast<const EpochEngine*>(&engine);
    return chain != nullptr && chain->is_moving();
  }
};

class MortalEngine final : public core::WrappedEngine {
 public:
  // `run` is what `inner` is around, or the same; `fate` outlives it.
  MortalEngine(NodeId self, TickEngine& run, std::unique_ptr<core::Engine> inner, Fate& fate)
      : WrappedEngine(inner ? *inner : static_cast<core::Engine&>(run)),
        inner_(std::move(inner)),
        self_(self),
        run_(run),
        fate_(fate) {
    fate_.engines.push_back(&run);
  }

  void start(core::Port& port) override {
    WrappedEngine::start(port);
    look(port);
  }
  void on_message(core::Port& port, NodeId from, Bytes bytes) override {
    if (is_dead()) return;
    WrappedEngine::on_message(port, from, std::move(bytes));
    look(port);
  }
  void on_finished(core::Port& port, const core::Work& work) override {
    if (is_dead()) return;
    WrappedEngine::on_finished(port, work);
    look(port);
  }
  // Inner engines set no timers in virtual time.
  void on_time(core::Port& port) override {
    if (!fate_.dead) {
      fate_.dead = true;
      fate_.was_moving = std::ranges::any_of(
          fate_.engines, [](const TickEngine* engine) { return Fate::is_moving(*engine); });
      if (!fate_.death.all && fate_.death.noticed > 0) {
        port.wake_at(port.now() + fate_.death.noticed);
        return;
      }
    }
    throw Error("killed", ExitCode::node_lost);
  }
  [[nodiscard]] bool next_work(std::uint32_t core, core::Work& work) override {
    return !is_dead() && WrappedEngine::next_work(core, work);
  }
  [[nodiscard]] bool finished() const override { return !is_dead() && WrappedEngine::finished(); }

 private:
  [[nodiscard]] bool is_dead() const {
    return fate_.dead && (fate_.death.all || fate_.death.node == self_);
  }
  // After each event: whether the last hour has begun.
  void look(core::Port& port) {
    const Death& death = fate_.death;
    if (fate_.dies_at != kNever || death.after == kNoTick || run_.own_tick() < death.after) return;
    if (run_.own_tick() < death.at_latest && !Fate::is_moving(run_)) return;
    fate_.dies_at = port.now() + death.delay;
    port.wake_at(fate_.dies_at);
  }

  const std::unique_ptr<core::Engine> inner_;
  const NodeId self_;
  TickEngine& run_;
  Fate& fate_;
};

}  // namespace rubato::tick::testing

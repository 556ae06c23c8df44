#pragma once
// PacedEngine: another engine whose work takes, on real cores, at least the time that it costs in
// virtual time: what remains is slept. So a few processors stand for the cores of many slower or
// larger nodes, over a real network, and a simulation can be held against a run.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::core {

class PacedEngine final : public Engine {
 public:
  // `engine` must outlive this; it is driven through this alone.
  PacedEngine(Engine& engine, std::uint32_t n_cores) : engine_(engine), cores_(n_cores) {}

  void start(Port& port) override { engine_.start(port); }
  void on_message(Port& port, NodeId from, Bytes bytes) override {
    engine_.on_message(port, from, std::move(bytes));
  }
  void on_finished(Port& port, const Work& work) override { engine_.on_finished(port, work); }
  void on_time(Port& port) override { engine_.on_time(port); }
  [[nodiscard]] bool next_work(std::uint32_t core, Work& work) override {
    return engine_.next_work(core, work);
  }
  [[nodiscard]] bool more_work() const override { return engine_.more_work(); }
  void run(const Work& work, std::uint32_t core) override {
    const Nanos begin = steady_now();
    engine_.run(work, core);
    Nanos& owed = cores_[core].owed;
    owed += engine_.cost(work) - (steady_now() - begin);
    if (owed < kNapLeast) return;
    const Nanos asleep = steady_now();
    nap(owed);
    // A nap that took too long is made good by the next work, but for a little.
    owed = std::max(owed - (steady_now() - asleep), -kNapLeast);
  }
  [[nodiscard]] Nanos cost(const Work& work) const override { return engine_.cost(work); }
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override {
    return engine_.message_cost(n_bytes);
  }
  [[nodiscard]] bool finished() const override { return engine_.finished(); }
  [[nodiscard]] std::string waiting_for() const override { return engine_.waiting_for(); }
  [[nodiscard]] std::string work_name(const Work& work) const override {
    return engine_.work_name(work);
  }
  void on_failed(const Error& error) override { engine_.on_failed(error); }

 private:
  static constexpr Nanos kNapLeast = 100 * kMicrosecond;
  struct alignas(64) Core {
    Nanos owed = 0;  // time that its work has cost and not taken
  };

  Engine& engine_;
  std::vector<Core> cores_;
};

}  // namespace rubato::core

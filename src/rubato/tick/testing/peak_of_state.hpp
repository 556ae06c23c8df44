#pragma once
// PeakOfState: the most bytes of tuples that one virtual node holds at once in a simulated run, with
// epochs of all of its segments together.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "rubato/core/observer.hpp"
#include "rubato/core/wrapped_engine.hpp"
#include "rubato/tick/tick_engine.hpp"

namespace rubato::tick::testing {

// Looks at the state of a node after every so many pieces of work.
class PeakOfState final : public core::Observer {
 public:
  explicit PeakOfState(std::uint64_t each) : each_(each) {}

  // To be driven in place of the node's engine. Nodes come in their order.
  [[nodiscard]] std::unique_ptr<core::Engine> follow(TickEngine& engine) {
    engines_.push_back(&engine);
    return std::make_unique<core::WrappedEngine>(engine);
  }
  void on_work(core::NodeId node, std::uint32_t /*core*/, const core::Work& /*work*/,
               Nanos /*begin*/, Nanos /*end*/) noexcept override {
    if (++n_works_ % each_ != 0) return;
    most_ = std::max(most_, static_cast<double>(engines_[node]->state_bytes()));
  }
  void on_sent(core::NodeId, core::NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(core::NodeId, core::NodeId, std::size_t, Nanos) noexcept override {}

  [[nodiscard]] double most() const noexcept { return most_; }

 private:
  const std::uint64_t each_;
  std::vector<const TickEngine*> engines_;  // [nodes]
  std::uint64_t n_works_ = 0;
  double most_ = 0;
};

}  // namespace rubato::tick::testing

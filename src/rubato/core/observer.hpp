#pragma once
// Observer: sees what a host does, for traces. Hosts run without one unless it is asked for.
//
// On real cores the calls come from all cores at once: each core has its own place to write to.
// Times are those of the host's clock (virtual in the simulator).

#include "rubato/core/engine.hpp"

namespace rubato::core {

class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  // `work` ran on `core` of `node`.
  virtual void on_work(NodeId node, std::uint32_t core, const Work& work, Nanos begin,
                       Nanos end) noexcept = 0;
  // The engine of `node` sent, or took, a message of `n_bytes` to or from `peer`.
  virtual void on_sent(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept = 0;
  virtual void on_taken(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept = 0;
};

// An observer that shows all that it sees to another one, so that a host has as many as it needs.
// One that looks at something itself overrides that, and calls this too.
class ChainedObserver : public Observer {
 public:
  // `next` may be null, and outlives this.
  explicit ChainedObserver(Observer* next) noexcept : next_(next) {}

  void on_work(NodeId node, std::uint32_t core, const Work& work, Nanos begin,
               Nanos end) noexcept override {
    if (next_ != nullptr) next_->on_work(node, core, work, begin, end);
  }
  void on_sent(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept override {
    if (next_ != nullptr) next_->on_sent(node, peer, n_bytes, when);
  }
  void on_taken(NodeId node, NodeId peer, std::size_t n_bytes, Nanos when) noexcept override {
    if (next_ != nullptr) next_->on_taken(node, peer, n_bytes, when);
  }

 private:
  Observer* next_;
};

}  // namespace rubato::core

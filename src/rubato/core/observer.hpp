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

}  // namespace rubato::core

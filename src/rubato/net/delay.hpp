#pragma once
// DelayFabric: any fabric, wearing a latency profile in real time, to see a program under jitter
// without a cloud. What comes back from the inner fabric is held until its time; the delay is drawn
// at the receiver, by the sampler of the link, from the moment of arrival (clocks of nodes are not
// comparable). The egress rate is kept at the sender: a message enters the inner fabric when it has
// crossed the emulated wire. The inner fabric's own latency comes on top.
// Every node of the job must wear the same profile and seed.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "rubato/net/fabric.hpp"
#include "rubato/net/latency.hpp"

namespace rubato::net {

struct DelayOptions {
  Profile profile;
  std::uint64_t seed = 1;
  // Bytes that wait for the wire, above which try_send refuses, and bytes that are held, above
  // which the inner fabric is no longer polled; one message always passes.
  std::size_t bytes_max = std::size_t{256} << 20;
  std::function<Nanos()> clock = steady_now;  // monotonic; another one is for tests
};

class DelayFabric final : public Fabric {
 public:
  DelayFabric(std::unique_ptr<Fabric> inner, DelayOptions options);
  // Blocks until what was sent has crossed the wire; then ends the inner fabric.
  ~DelayFabric() override;

  [[nodiscard]] NodeId node() const noexcept override { return inner_->node(); }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return inner_->n_nodes(); }
  [[nodiscard]] bool try_send(NodeId to, Bytes& bytes) noexcept override;
  [[nodiscard]] bool poll(Arrival& arrival) noexcept override;
  [[nodiscard]] bool drained() const noexcept override;
  [[nodiscard]] std::string host(NodeId node) const override { return inner_->host(node); }
  [[noreturn]] void abort(int code, const std::string& message) noexcept override;

 private:
  struct Outgoing {
    NodeId to;
    Nanos when;  // it has crossed the wire
    Bytes bytes;
  };
  struct Held {
    Nanos when;
    std::uint64_t sequence;  // keeps the order of equal times
    Arrival arrival;
    // The heap keeps the greatest on top; we want the earliest.
    bool operator<(const Held& o) const noexcept {
      return when != o.when ? when > o.when : sequence > o.sequence;
    }
  };

  [[nodiscard]] Nanos now() const { return options_.clock() - start_; }
  [[nodiscard]] LinkSampler& link_from(NodeId from);
  void pump_out(Nanos t) noexcept;
  void pump_in() noexcept;

  std::unique_ptr<Fabric> inner_;
  DelayOptions options_;
  Profile no_delay_;  // of this node to itself
  Nanos start_;
  Egress egress_;
  std::deque<Outgoing> outgoing_;
  std::size_t n_outgoing_bytes_ = 0;
  std::unordered_map<NodeId, LinkSampler> links_;
  std::vector<Held> held_;  // a heap, the earliest on top
  std::size_t n_held_bytes_ = 0;
  std::uint64_t n_arrived_ = 0;
};

}  // namespace rubato::net

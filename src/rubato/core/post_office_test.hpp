#pragma once
// For tests: N nodes in one thread whose messages arrive in order for each pair and otherwise in
// any order that a seed draws. No time, no work: what state machines over messages need, and
// nothing else.

#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::core::testing {

class PostOffice {
 public:
  using Receiver = std::function<void(Port&, NodeId from, Bytes bytes)>;

  PostOffice(std::uint32_t n_nodes, std::uint64_t seed) : random_(seed) {
    for (NodeId node = 0; node < n_nodes; ++node)
      ports_.emplace_back(*this, node);
    receivers_.resize(n_nodes);
  }

  [[nodiscard]] Port& port(NodeId node) { return ports_[node]; }
  void receive(NodeId node, Receiver receiver) { receivers_[node] = std::move(receiver); }

  // Delivers one message, or returns false if there is none.
  bool deliver_one() {
    if (queues_.empty()) return false;
    auto queue = queues_.begin();
    std::advance(queue, random_.between(0, static_cast<std::int64_t>(queues_.size()) - 1));
    const auto [from, to] = queue->first;
    Bytes bytes = std::move(queue->second.front());
    queue->second.pop_front();
    if (queue->second.empty()) queues_.erase(queue);
    receivers_[to](ports_[to], from, std::move(bytes));
    return true;
  }
  void deliver_all() {
    while (deliver_one()) {
    }
  }
  [[nodiscard]] std::uint64_t n_sent() const { return n_sent_; }

 private:
  class NodePort final : public Port {
   public:
    NodePort(PostOffice& office, NodeId node) : office_(office), node_(node) {}
    void send(NodeId to, Bytes bytes) override {
      ++office_.n_sent_;
      office_.queues_[{node_, to}].push_back(std::move(bytes));
    }
    void wake_at(Nanos /*when*/) override {}
    [[nodiscard]] Nanos now() const noexcept override { return 0; }

   private:
    PostOffice& office_;
    NodeId node_;
  };

  RandomStream random_;
  std::deque<NodePort> ports_;
  std::vector<Receiver> receivers_;
  std::map<std::pair<NodeId, NodeId>, std::deque<Bytes>> queues_;
  std::uint64_t n_sent_ = 0;
};

}  // namespace rubato::core::testing

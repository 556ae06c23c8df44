#pragma once
// For tests: a job of several nodes in one process, each host in a thread of its own. Queues
// between them hold a bounded number of messages, so that try_send() does refuse.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "rubato/net/fabric.hpp"

namespace rubato::core::testing {

class ThreadHub {
 public:
  explicit ThreadHub(std::uint32_t n_nodes, std::size_t messages_max = 64)
      : messages_max_(messages_max), inboxes_(n_nodes) {
    for (net::NodeId node = 0; node < n_nodes; ++node) {
      fabrics_.push_back(std::make_unique<NodeFabric>(*this, node));
    }
  }
  [[nodiscard]] net::Fabric& fabric(net::NodeId node) { return *fabrics_[node]; }
  // The node gets nothing from `from` before it has looked that often.
  void hold_back(net::NodeId from, net::NodeId node, int n_looks) {
    const std::lock_guard lock(inboxes_[node].mutex);
    inboxes_[node].held_from = from;
    inboxes_[node].n_looks_held = n_looks;
  }
  // Calls f(node) on a thread for each node, and waits for all of them.
  template <class F>
  void run(F f) {
    std::vector<std::thread> threads;
    for (net::NodeId node = 0; node < fabrics_.size(); ++node)
      threads.emplace_back(f, node);
    for (auto& thread : threads)
      thread.join();
  }

 private:
  struct Inbox {
    std::mutex mutex;
    std::deque<net::Arrival> arrivals;
    std::vector<std::size_t> n_from;
    net::NodeId held_from = 0;
    int n_looks_held = 0;
  };
  class NodeFabric final : public net::Fabric {
   public:
    NodeFabric(ThreadHub& hub, net::NodeId node) : hub_(hub), node_(node) {
      hub.inboxes_[node].n_from.resize(hub.inboxes_.size());
    }
    [[nodiscard]] net::NodeId node() const noexcept override { return node_; }
    [[nodiscard]] std::uint32_t n_nodes() const noexcept override {
      return static_cast<std::uint32_t>(hub_.inboxes_.size());
    }
    [[nodiscard]] bool try_send(net::NodeId to, Bytes& bytes) noexcept override {
      Inbox& inbox = hub_.inboxes_[to];
      const std::lock_guard lock(inbox.mutex);
      if (inbox.n_from[node_] >= hub_.messages_max_) return false;
      ++inbox.n_from[node_];
      inbox.arrivals.push_back({node_, std::move(bytes)});
      return true;
    }
    [[nodiscard]] bool poll(net::Arrival& arrival) noexcept override {
      Inbox& inbox = hub_.inboxes_[node_];
      const std::lock_guard lock(inbox.mutex);
      const bool holds = inbox.n_looks_held > 0;
      if (holds) --inbox.n_looks_held;
      const auto next =
          std::find_if(inbox.arrivals.begin(), inbox.arrivals.end(),
                       [&](const auto& a) { return !holds || a.from != inbox.held_from; });
      if (next == inbox.arrivals.end()) return false;
      arrival = std::move(*next);
      inbox.arrivals.erase(next);
      --inbox.n_from[arrival.from];
      return true;
    }
    [[nodiscard]] bool drained() const noexcept override { return true; }
    [[nodiscard]] std::string host(net::NodeId node) const override {
      return "thread-" + std::to_string(node);
    }
    [[noreturn]] void abort(int code, const std::string& message) noexcept override {
      std::fprintf(stderr, "node %u aborts with %d: %s\n", node_, code, message.c_str());
      std::_Exit(code);
    }

   private:
    ThreadHub& hub_;
    net::NodeId node_;
  };

  std::size_t messages_max_;
  std::vector<Inbox> inboxes_;
  std::vector<std::unique_ptr<NodeFabric>> fabrics_;
};

}  // namespace rubato::core::testing

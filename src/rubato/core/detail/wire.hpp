#pragma once
// Wire: a node's way to its fabric, shared by its cores, its service thread and several channels.
//
// Two locks, taken in this order: the wire's own (one thread at a time calls the fabric, and hands
// over what came in that order), then the node's (under which messages are posted and received).
// post() never touches the fabric, so no event waits for it.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "rubato/core/adaptive_mutex.hpp"
#include "rubato/net/fabric.hpp"

namespace rubato::core::detail {

class Wire {
 public:
  // Called without the node's lock, in the order of arrival, by one thread at a time.
  using Deliver = std::function<void(net::Arrival arrival)>;

  // All outlive the wire.
  Wire(net::Fabric& fabric, AdaptiveMutex& node_mutex, Deliver deliver)
      : fabric_(fabric), node_mutex_(node_mutex), deliver_(std::move(deliver)) {}

  // Under the node's lock. What is posted leaves with the next pump().
  void post(net::NodeId to, Bytes bytes) {
    outbox_.emplace_back(to, std::move(bytes));
    posted_.store(true);
  }
  // True if pump() would find something posted.
  [[nodiscard]] bool posted() const noexcept { return posted_.load(); }

  // Without the node's lock: sends what was posted, and delivers what came (kBatch messages at
  // most) if `receive`. Returns how many were delivered. Leaves at once if another thread is at it,
  // which then sends this thread's messages too.
  std::uint32_t pump(bool receive);

  // When somebody last looked for messages.
  [[nodiscard]] Nanos last_poll() const noexcept { return last_poll_.load(); }
  // When somebody last looked and found none left: what is delivered now came later.
  [[nodiscard]] Nanos last_empty() const noexcept {
    return last_empty_.load(std::memory_order_relaxed);
  }
  // True if everything posted has left this node's memory; for a thread that is alone.
  [[nodiscard]] bool drained();

 private:
  static constexpr std::uint32_t kBatch = 64;

  void send_posted();
  std::uint32_t deliver_batch();

  net::Fabric& fabric_;
  AdaptiveMutex& node_mutex_;
  Deliver deliver_;
  std::vector<std::pair<net::NodeId, Bytes>> outbox_;  // under the node's lock
  std::atomic<bool> posted_{false};                    // read after each piece of work

  // What an idle core writes all the time lies on lines of its own.
  alignas(64) std::atomic<Nanos> last_poll_{0};
  std::atomic<Nanos> last_empty_{0};
  std::mutex fabric_mutex_;
  std::vector<std::pair<net::NodeId, Bytes>> taken_;  // under fabric_mutex_, as the following
  std::map<net::NodeId, std::deque<Bytes>> refused_;  // in order, for each node that is full
};

}  // namespace rubato::core::detail

#pragma once
// SimNetwork: N virtual nodes in one thread under a virtual clock, exactly repeatable from a seed.
//
// One queue of events, ordered by (time, tie, sequence), drives everything: arrivals of messages,
// and callbacks that others schedule (core's simulated host runs its virtual cores on it). Nothing
// here reads a real clock. A message costs its delay by the profile's LinkSampler, after it has
// crossed the egress wire of its host, which all links of the host share. Every node is a host of
// its own. Links are created when first used: memory grows with the links in use, never with nodes
// squared.
//
// Not thread-safe; everything may be called from within callbacks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/net/fabric.hpp"
#include "rubato/net/latency.hpp"

namespace rubato::net {

struct SimOptions {
  std::uint32_t n_nodes = 1;
  Profile profile;  // its rate is the egress rate of each node
  std::uint64_t seed = 1;
  // Bytes on their way from one node to another (sent and not yet polled) above which try_send
  // refuses; one message passes whatever its size.
  std::size_t pair_bytes_max = std::size_t{64} << 20;
  // Events of one instant run in an order drawn from the seed instead of that of their scheduling,
  // for property tests. Messages of a pair stay in order.
  bool shuffle_ties = false;
};

struct SimCounts {
  std::uint64_t n_messages = 0;   // accepted by try_send, those to itself included
  std::uint64_t n_bytes = 0;      // of these
  std::uint64_t n_delivered = 0;  // put into the receiver's inbox
  std::uint64_t n_lost = 0;       // to or from a killed node
  std::uint64_t n_refused = 0;    // calls of try_send that returned false
};

class SimNetwork {
 public:
  using Callback = std::function<void()>;

  explicit SimNetwork(SimOptions options);
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;
  ~SimNetwork();

  [[nodiscard]] std::uint32_t n_nodes() const noexcept;
  [[nodiscard]] const SimOptions& options() const noexcept { return options_; }
  [[nodiscard]] Nanos now() const noexcept { return now_; }

  // The fabric of a virtual node; lives as long as this. Its abort() ends the process.
  [[nodiscard]] Fabric& fabric(NodeId node);

  // Runs `callback` at `when`. Callbacks of one instant run in the order of their scheduling,
  // unless ties are shuffled. REQUIRES: when >= now().
  void at(Nanos when, Callback callback);

  // Runs the next event and moves the clock to it; false if there is none.
  bool step();

  // Runs all events up to and including `until`, then sets the clock there (unless it is kNever);
  // returns how many ran.
  std::uint64_t run(Nanos until = kNever);

  // When the next event is due; kNever if there is none.
  [[nodiscard]] Nanos next_event() const noexcept;

  // Called at each instant at which `node` has a new message to poll, or has room again on a link
  // that refused. Replaces the former listener; not called for a killed node.
  void on_change(NodeId node, Callback listener);

  // From `when` on, `node` is dead: its messages vanish, those already on the wire included, and so
  // do those to it (senders are not told). Its listener is called no more; other callbacks are
  // their owner's business. REQUIRES: when >= now().
  void kill(NodeId node, Nanos when);
  [[nodiscard]] bool alive(NodeId node) const;

  // How much slower than nominal `node` computes (1 by default); for the host that charges work.
  void set_slowdown(NodeId node, double factor);
  [[nodiscard]] double slowdown(NodeId node) const;

  [[nodiscard]] SimCounts counts(NodeId node) const;  // of what this node sent
  [[nodiscard]] SimCounts counts() const;             // of all nodes
  [[nodiscard]] std::size_t n_links() const noexcept { return links_.size(); }

 private:
  class Node;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Link {
    Link(const Profile& profile, std::uint64_t seed, NodeId from, NodeId to)
        : sampler(profile, seed, from, to) {}
    LinkSampler sampler;
    std::size_t n_bytes = 0;  // on their way
    Nanos last = -1;          // arrival of the last message
    bool refused = false;     // the sender waits for room
  };
  // A message on its way or in an inbox; slots are recycled and chained into inboxes.
  struct Message {
    NodeId from = 0;
    NodeId to = 0;
    Link* link = nullptr;
    std::uint32_t next = kNone;
    Bytes bytes;
    Nanos came = 0;
  };
  struct Event {
    Nanos when;
    std::uint64_t tie;
    std::uint64_t sequence;
    std::uint32_t slot;
    bool is_message;
    // The heap keeps the greatest on top; we want the earliest.
    bool operator<(const Event& o) const noexcept {
      if (when != o.when) return when > o.when;
      if (tie != o.tie) return tie > o.tie;
      return sequence > o.sequence;
    }
  };

  [[nodiscard]] Node& node(NodeId id) const;
  void push(Nanos when, std::uint32_t slot, bool is_message);
  [[nodiscard]] Link& link(NodeId from, NodeId to);
  [[nodiscard]] bool send(Node& from, NodeId to, Bytes& bytes);
  [[nodiscard]] bool take(Node& to, Arrival& arrival);
  void deliver(std::uint32_t slot);
  void release(std::uint32_t slot);

  SimOptions options_;
  Profile no_delay_;  // of the links of nodes to themselves
  Nanos now_ = 0;
  std::uint64_t n_scheduled_ = 0;
  std::vector<Event> heap_;
  std::vector<Callback> callbacks_;
  std::vector<std::uint32_t> free_callbacks_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::unordered_map<std::uint64_t, Link> links_;  // from << 32 | to; never iterated
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace rubato::net

#include "rubato/net/sim.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"

namespace rubato::net {
namespace {

// What a message weighs in the bound of its pair.
std::size_t weight(const Bytes& bytes) noexcept {
  return bytes.size() + 1;
}

}  // namespace

class SimNetwork::Node final : public Fabric {
 public:
  Node(SimNetwork& network, NodeId id, double rate_mbit)
      : egress(rate_mbit), network_(network), id_(id) {}

  [[nodiscard]] NodeId node() const noexcept override { return id_; }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return network_.n_nodes(); }
  [[nodiscard]] bool try_send(NodeId to, Bytes& bytes) noexcept override {
    return network_.send(*this, to, bytes);
  }
  [[nodiscard]] bool poll(Arrival& arrival) noexcept override {
    return network_.take(*this, arrival);
  }
  [[nodiscard]] bool drained() const noexcept override { return egress.free_at() <= network_.now_; }
  [[nodiscard]] std::string host(NodeId other) const override {
    return "host-" + std::to_string(other + 1);
  }
  [[noreturn]] void abort(int code, const std::string& message) noexcept override {
    std::fprintf(stderr, "rubato: virtual node %u at %.6f s: %s\n", id_,
                 static_cast<double>(network_.now_) * 1e-9, message.c_str());
    std::_Exit(code);
  }

  Egress egress;
  bool alive = true;
  double slowdown = 1;
  std::uint32_t inbox_first = kNone;
  std::uint32_t inbox_last = kNone;
  SimCounts counts;
  Callback listener;

 private:
  SimNetwork& network_;
  NodeId id_;
};

SimNetwork::SimNetwork(SimOptions options) : options_(std::move(options)) {
  RUBATO_REQUIRE(options_.n_nodes > 0);
  nodes_.reserve(options_.n_nodes);
  for (NodeId id = 0; id < options_.n_nodes; ++id) {
    nodes_.push_back(std::make_unique<Node>(*this, id, options_.profile.rate_mbit));
  }
}

SimNetwork::~SimNetwork() = default;

std::uint32_t SimNetwork::n_nodes() const noexcept {
  return options_.n_nodes;
}

SimNetwork::Node& SimNetwork::node(NodeId id) const {
  RUBATO_REQUIRE(id < options_.n_nodes, id, options_.n_nodes);
  return *nodes_[id];
}

Fabric& SimNetwork::fabric(NodeId id) {
  return node(id);
}

void SimNetwork::push(Nanos when, std::uint32_t slot, bool is_message) {
  const std::uint64_t sequence = n_scheduled_++;
  const std::uint64_t tie = options_.shuffle_ties ? hash_words(options_.seed, sequence, 3) : 0;
  heap_.push_back({when, tie, sequence, slot, is_message});
  std::push_heap(heap_.begin(), heap_.end());
}

void SimNetwork::at(Nanos when, Callback callback) {
  RUBATO_REQUIRE(when >= now_, when, now_);
  std::uint32_t slot = 0;
  if (free_callbacks_.empty()) {
    slot = static_cast<std::uint32_t>(callbacks_.size());
    callbacks_.push_back(std::move(callback));
  } else {
    slot = free_callbacks_.back();
    free_callbacks_.pop_back();
    callbacks_[slot] = std::move(callback);
  }
  push(when, slot, false);
}

bool SimNetwork::step() {
  if (heap_.empty()) return false;
  const Event event = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  now_ = event.when;
  if (event.is_message) {
    deliver(event.slot);
    return true;
  }
  // Moved out first: the callback may schedule others, and so move the vector.
  const Callback callback = std::exchange(callbacks_[event.slot], nullptr);
  free_callbacks_.push_back(event.slot);
  callback();
  return true;
}

std::uint64_t SimNetwork::run(Nanos until) {
  std::uint64_t n_run = 0;
  while (!heap_.empty() && heap_.front().when <= until) {
    step();
    ++n_run;
  }
  if (until != kNever) now_ = std::max(now_, until);
  return n_run;
}

Nanos SimNetwork::next_event() const noexcept {
  return heap_.empty() ? kNever : heap_.front().when;
}

void SimNetwork::on_change(NodeId id, Callback listener) {
  node(id).listener = std::move(listener);
}

void SimNetwork::kill(NodeId id, Nanos when) {
  (void)node(id);  // checked now rather than at `when`
  at(when, [this, id] {
    Node& dead = node(id);
    dead.alive = false;
    while (dead.inbox_first != kNone) {
      const std::uint32_t slot = dead.inbox_first;
      dead.inbox_first = messages_[slot].next;
      ++node(messages_[slot].from).counts.n_lost;
      release(slot);
    }
    dead.inbox_last = kNone;
  });
}

bool SimNetwork::alive(NodeId id) const {
  return node(id).alive;
}

void SimNetwork::set_slowdown(NodeId id, double factor) {
  RUBATO_REQUIRE(factor > 0, factor);
  node(id).slowdown = factor;
}

double SimNetwork::slowdown(NodeId id) const {
  return node(id).slowdown;
}

SimCounts SimNetwork::counts(NodeId id) const {
  return node(id).counts;
}

SimCounts SimNetwork::counts() const {
  SimCounts all;
  for (const auto& one : nodes_) {
    all.n_messages += one->counts.n_messages;
    all.n_bytes += one->counts.n_bytes;
    all.n_delivered += one->counts.n_delivered;
    all.n_lost += one->counts.n_lost;
    all.n_refused += one->counts.n_refused;
  }
  return all;
}

SimNetwork::Link& SimNetwork::link(NodeId from, NodeId to) {
  const std::uint64_t key = std::uint64_t{from} << 32 | to;
  const Profile& profile = from == to ? no_delay_ : options_.profile;
  return links_.try_emplace(key, profile, options_.seed, from, to).first->second;
}

bool SimNetwork::send(Node& from, NodeId to, Bytes& bytes) {
  RUBATO_REQUIRE(to < options_.n_nodes, to, options_.n_nodes);
  const std::size_t n_bytes = bytes.size();
  Link& way = link(from.node(), to);
  if (way.n_bytes > 0 && way.n_bytes + weight(bytes) > options_.pair_bytes_max) {
    way.refused = true;
    ++from.counts.n_refused;
    return false;
  }
  ++from.counts.n_messages;
  from.counts.n_bytes += n_bytes;
  if (!from.alive || !node(to).alive) {
    ++from.counts.n_lost;
    bytes = Bytes();
    return true;
  }
  const bool is_self = from.node() == to;
  const OnWire wire = is_self ? OnWire{now_, now_} : from.egress.take(now_, n_bytes);
  Nanos when = way.sampler.arrival(wire, n_bytes);
  // A drawn order of ties must not reorder a pair: give each of its messages an instant of its own.
  if (options_.shuffle_ties) when = std::max(when, way.last + 1);
  way.last = when;
  way.n_bytes += weight(bytes);
  std::uint32_t slot = 0;
  if (free_messages_.empty()) {
    slot = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    slot = free_messages_.back();
    free_messages_.pop_back();
  }
  messages_[slot] = {from.node(), to, &way, kNone, std::move(bytes), 0};
  bytes = Bytes();
  push(when, slot, true);
  return true;
}

void SimNetwork::deliver(std::uint32_t slot) {
  Message& message = messages_[slot];
  Node& from = node(message.from);
  Node& to = node(message.to);
  if (!from.alive || !to.alive) {
    ++from.counts.n_lost;
    release(slot);
    return;
  }
  ++from.counts.n_delivered;
  message.came = now();
  (to.inbox_first == kNone ? to.inbox_first : messages_[to.inbox_last].next) = slot;
  to.inbox_last = slot;
  if (to.listener) to.listener();
}

bool SimNetwork::take(Node& to, Arrival& arrival) {
  const std::uint32_t slot = to.inbox_first;
  if (slot == kNone) return false;
  Message& message = messages_[slot];
  to.inbox_first = message.next;
  if (to.inbox_first == kNone) to.inbox_last = kNone;
  arrival.from = message.from;
  arrival.bytes = std::move(message.bytes);
  arrival.came = message.came;
  // release() weighs the message that has just moved away as empty.
  message.link->n_bytes -= arrival.bytes.size();
  message.bytes = Bytes();
  release(slot);
  return true;
}

// Frees the slot and tells a sender that was refused on the link that there is room.
void SimNetwork::release(std::uint32_t slot) {
  Message& message = messages_[slot];
  Link& way = *message.link;
  way.n_bytes -= weight(message.bytes);
  message.bytes = Bytes();
  message.next = kNone;
  const NodeId from = message.from;
  free_messages_.push_back(slot);
  if (!std::exchange(way.refused, false)) return;
  // As an event of its own: the receiver is in the middle of something.
  at(now_, [this, from] {
    Node& sender = node(from);
    if (sender.alive && sender.listener) sender.listener();
  });
}

}  // namespace rubato::net

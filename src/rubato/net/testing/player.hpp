#pragma once
// Player: one node's part in a conformance exercise, the same for every fabric.
//
// A plan says which messages (receiver, size) each node sends, in order, as a pure function;
// contents are a pure function of (plan seed, pair, place in the pair). So every receiver knows
// exactly what must come from whom, and loss, reordering, duplication and corruption show at once,
// for empty messages too. Never blocks: whoever drives several players in one thread (simulator) or
// one a process (MPI) calls step() until it returns true.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rubato/net/fabric.hpp"

namespace rubato::net::testing {

struct PlannedMessage {
  NodeId to = 0;
  std::size_t n_bytes = 0;
};

struct Plan {
  std::uint64_t seed = 1;
  std::uint32_t n_nodes = 1;
  // The messages of a node, in order.
  std::function<std::vector<PlannedMessage>(NodeId from)> messages;
  // A player does not poll in its first steps, so that senders meet the bound.
  std::uint32_t n_deaf_steps = 0;
};

// `n` messages of 0..`size_max` bytes from every node to random nodes, itself included.
[[nodiscard]] Plan random_plan(std::uint64_t seed, std::uint32_t n_nodes, std::uint32_t n,
                               std::size_t size_max);
// Every node sends one message of each size to every node.
[[nodiscard]] Plan all_to_all_plan(std::uint64_t seed, std::uint32_t n_nodes,
                                   const std::vector<std::size_t>& sizes);
// Node 0 sends `n` messages of `n_bytes` to the last node, which is deaf at first.
[[nodiscard]] Plan flood_plan(std::uint64_t seed, std::uint32_t n_nodes, std::uint32_t n,
                              std::size_t n_bytes, std::uint32_t n_deaf_steps);

class Player {
 public:
  // `fabric` must outlive the player. What other nodes send for a later plan is kept for it.
  explicit Player(Fabric& fabric) : fabric_(fabric) {}

  void begin(Plan plan);

  // One pass that sends what the fabric takes and polls what came. True once all was sent and all
  // that was planned has come, or a fault was found.
  [[nodiscard]] bool step();

  // What went wrong, or "".
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  // Messages that were sent or came so far; for drivers that look for progress.
  [[nodiscard]] std::uint64_t n_moved() const noexcept { return n_moved_; }
  // Bytes that the fabric had taken when it refused for the first time; SIZE_MAX if it never did.
  [[nodiscard]] std::size_t bytes_at_refusal() const noexcept { return bytes_at_refusal_; }

 private:
  struct Expected {
    std::vector<std::size_t> sizes;
    std::size_t n_came = 0;
  };

  void send_some();
  void poll_some();
  void check(const Arrival& arrival);
  [[nodiscard]] bool all_came() const;

  Fabric& fabric_;
  Plan plan_;
  std::vector<PlannedMessage> to_send_;
  std::size_t n_sent_ = 0;
  std::vector<std::uint64_t> n_sent_to_;
  Bytes next_;
  bool next_is_made_ = false;
  std::map<NodeId, Expected> expected_;
  std::deque<Arrival> early_;
  std::uint32_t n_steps_ = 0;
  std::uint64_t n_moved_ = 0;
  std::size_t n_bytes_sent_ = 0;
  std::size_t bytes_at_refusal_ = SIZE_MAX;
  std::string fault_;
};

// Plays `plan` on `player` in real time with naps; returns the fault, "" if none, or a fault if it
// takes longer than `limit` or the fabric is not drained in the end.
[[nodiscard]] std::string play(Player& player, Fabric& fabric, Plan plan,
                               Nanos limit = 60 * kSecond);

}  // namespace rubato::net::testing

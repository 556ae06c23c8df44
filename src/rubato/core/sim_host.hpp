#pragma once
// SimHost: runs one Engine for each virtual node of a net::SimNetwork, on virtual cores, in virtual
// time.
//
// Everything happens in the calling thread, repeatable to the bit from the seeds. run() of a piece
// of work is executed for real when a virtual core takes it, and the core is busy for cost(work)
// times the node's slow-down; on_finished comes at the end. A message costs message_cost(bytes) on
// the core that sends it, before it leaves, and on the core that takes it, before on_message.
// Messages wait for a core, one is taken at a time (a fabric has one reader), and they go before
// new work.
//
// An empty event queue while an engine has not finished is a deadlock, and said to be one. No clock
// is read, so a job of 10,000 nodes takes as long as its events do.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/core/engine.hpp"
#include "rubato/core/figures.hpp"
#include "rubato/core/observer.hpp"
#include "rubato/net/sim.hpp"

namespace rubato::core {

struct SimHostOptions {
  std::uint32_t n_cores = 1;  // virtual cores of each node
  // For property tests: the idle core that gets the next event is drawn from `seed`, and each piece
  // of work takes up to extra_delay_max longer. (Ties of events: SimOptions::shuffle_ties.)
  bool shuffle = false;
  std::uint64_t seed = 1;
  Nanos extra_delay_max = 0;
  // A run that is longer in virtual time ends with an Error: a test's guard against engines that
  // set timers for ever.
  Nanos time_max = kNever;
  Observer* observer = nullptr;  // outlives the host
};

struct SimReport {
  Nanos wall = 0;                  // virtual, until the last event of the last engine
  std::vector<NodeFigures> nodes;  // [n_nodes]
};

class SimHost {
 public:
  // `network` outlives the host, and is used by nothing else while run() is under way. REQUIRES:
  // n_cores > 0.
  SimHost(net::SimNetwork& network, SimHostOptions options);
  SimHost(const SimHost&) = delete;
  SimHost& operator=(const SimHost&) = delete;
  ~SimHost();

  // Called before run(). Node `node` dies at virtual time `when`: what it holds is gone, run() ends
  // with ExitCode::node_lost and its name, and the engines of the others get on_failed().
  void kill(NodeId node, Nanos when);

  // Runs `engines` (one for each node, [n_nodes]) until all have finished and no message is on its
  // way. Blocks. Called once. Throws Error: what run() threw, with the node's name in front; a
  // deadlock, with every waiting node's waiting_for(); a lost node. Then each living engine has got
  // on_failed(), and the network holds what was under way and serves no other host.
  SimReport run(std::span<Engine* const> engines);

 private:
  class Node;
  friend class Node;

  void note_finished(bool was, bool is) noexcept;
  [[nodiscard]] std::string clock() const;
  [[nodiscard]] std::string waiting() const;
  [[nodiscard]] bool let_go();
  [[nodiscard]] Error stuck() const;
  [[nodiscard]] Error lost(NodeId node) const;
  [[nodiscard]] Error overlong() const;
  [[nodiscard]] SimReport report() const;

  net::SimNetwork& network_;
  SimHostOptions options_;
  RandomStream random_;
  std::deque<Node> nodes_;
  std::uint32_t n_unfinished_ = 0;
  std::uint64_t n_in_flight_ = 0;   // messages sent and not yet handled
  std::uint64_t n_cores_busy_ = 0;  // over all nodes
  Nanos start_ = 0;
  Nanos last_event_ = 0;
};

}  // namespace rubato::core

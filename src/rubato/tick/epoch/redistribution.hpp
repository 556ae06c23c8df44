#pragma once
// Redistribution: the engine of an epoch: the state of one tick moves from its old owners to new
// ones. A run with epochs is a chain of engines on one host: a Dataflow up to the epoch's tick,
// this, a Dataflow from there on; the host's own end of a run is the barrier between them.
//
//   1 sample     each node counts its own tuples; the samples climb a binary tree and are merged
//   2 decide     the sum comes down the tree; every node cuts by it, and all get the same queries
//   3 move       each old owner sends to each new one what the new query and its halo select of
//                its own tuples, in one message, if DISJOINT does not tell that there is nothing
// No node ever holds the global state: it packs what is its own and takes what it will hold.
//
// It knows nodes and messages, no tuples and no queries (those are the StateMove's). It reads no
// clock and never blocks (core/engine.hpp), so the simulator charges it like any engine: each piece
// of work by StateMove::cost, each message on its way.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rubato/core/engine.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

using net::NodeId;

// One node's part of a move, with its types. Different calls of pack() and unpack() come from
// several cores at once, all others one at a time.
class StateMove {
 public:
  StateMove() = default;
  StateMove(const StateMove&) = delete;
  StateMove& operator=(const StateMove&) = delete;
  virtual ~StateMove() = default;

  // Of the own tuples, as bytes; and into `into` those of other nodes.
  [[nodiscard]] virtual Bytes sample() = 0;
  virtual void merge_samples(Bytes& into, ByteView from) = 0;
  // Cuts by the samples of all nodes. Throws Error if the model cannot. The functions below follow
  // it.
  virtual void decide(ByteView samples) = 0;

  // Other nodes that get tuples from here, and those that send some here, ascending. Node i is in
  // the sources of j exactly if j is in the targets of i.
  [[nodiscard]] virtual const std::vector<NodeId>& targets() const = 0;
  [[nodiscard]] virtual const std::vector<NodeId>& sources() const = 0;
  // Appends the own tuples that targets()[i] will hold.
  virtual void pack(std::size_t i, Writer& out) = 0;
  // Takes those that sources()[i] sent.
  virtual void unpack(std::size_t i, ByteView payload) = 0;
  // Keeps the own tuples that this node will hold, and drops the others; when all is packed.
  virtual void keep() = 0;

  // Virtual time of a piece of work that read or wrote `n_bytes`.
  [[nodiscard]] virtual Nanos cost(std::size_t n_bytes) const = 0;
};

// What epochs moved.
struct MoveFigures {
  std::int64_t n_epochs = 0;
  std::int64_t bytes_sent = 0;  // of tuples, to other nodes; samples are not counted
  Nanos time = 0;  // from start() to the end of this node's last piece of work, all epochs

  void add(const MoveFigures& later) noexcept {
    n_epochs += later.n_epochs;
    bytes_sent += later.bytes_sent;
    time += later.time;
  }
};

class Redistribution final : public core::Engine {
 public:
  // Of the state of tick `t`. `move` outlives the engine.
  Redistribution(StateMove& move, NodeId self, std::uint32_t n_nodes, Tick t);

  void start(core::Port& port) override;
  void on_message(core::Port& port, NodeId from, Bytes bytes) override;
  void on_finished(core::Port& port, const core::Work& work) override;
  [[nodiscard]] bool next_work(std::uint32_t core, core::Work& work) override;
  [[nodiscard]] bool more_work() const override { return !ready_.empty(); }
  void run(const core::Work& work, std::uint32_t core) override;
  [[nodiscard]] Nanos cost(const core::Work& work) const override;
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override;
  [[nodiscard]] bool finished() const override { return stage_ == Stage::done; }
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::string work_name(const core::Work& work) const override;

  [[nodiscard]] const MoveFigures& figures() const noexcept { return figures_; }

 private:
  // Core::Work::index of this engine's works, all of kind move_state.
  enum class Step : std::uint32_t { sample, merge, decide, pack, unpack, keep };
  enum class Stage : std::uint8_t { sampling, deciding, moving, done };
  // Reached by Work::detail, so that run() needs no lock.
  struct Job {
    Step step = Step::sample;
    std::size_t i = 0;        // of pack and unpack
    Bytes bytes;              // what it reads or has written
    std::size_t n_bytes = 0;  // for its cost
  };

  void push(Step step, std::size_t i = 0, Bytes bytes = {});
  void collect();
  void spread(core::Port& port, Bytes samples);
  void begin_moving();
  void take(NodeId from, Bytes bytes);
  void finish_if_all_moved(core::Port& port);
  [[nodiscard]] std::vector<NodeId> children() const;

  StateMove& move_;
  const NodeId self_;
  const std::uint32_t n_nodes_;
  const Tick tick_;
  Stage stage_ = Stage::sampling;
  std::optional<Bytes> own_;       // samples of this node, until they are merged
  std::vector<Bytes> parts_;       // of its children in the tree, at most two
  std::map<NodeId, Bytes> early_;  // tuples from nodes that decided before this one; one a source
  std::deque<Job> jobs_;           // never erased: works point to them
  std::deque<core::Work> ready_;
  std::size_t packs_left_ = 0;
  std::size_t unpacks_left_ = 0;
  bool has_kept_ = false;
  Nanos started_ = 0;
  MoveFigures figures_;
};

}  // namespace rubato::tick

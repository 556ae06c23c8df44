#pragma once
// The two small global agreements of a run, both without a collective in a tick. Not those of
// core::Team: a barrier there goes up and down a tree, which takes twice as long, and has to be
// called by all; tests wait by hundreds where their lag is long, and only the root needs the sum.
//   - the barrier of policy bulk: dissemination, log2(n) rounds of empty messages;
//   - the stop test: measures climb a binary tree, the decision comes down it. A decision about
//     tick c takes effect at c + lag; no unit of a tick >= c + lag starts before it is known, so
//     every policy stops at the same tick with exactly that tick's state, however late the
//     decision comes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "rubato/core/engine.hpp"
#include "rubato/tick/detail/lates.hpp"
#include "rubato/tick/lending.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick::detail {

enum class MessageType : std::uint32_t {
  round = 1,
  barrier,
  measure,
  decision,
  taken,
  checkpoint,  // tick/checkpoint/checkpoint_engine.hpp
  pieces,
  epoch,  // these two: tick/epoch/epoch_engine.hpp
  moved,
  // Steps that are lent (tick/dataflow_lending.cpp).
  offer,     // the sender would run a step
  declined,  // the offer is void
  lent,      // a step to run, to the header's tick; detail: the lender's region
  returned,  // what came of it; detail: that region
  all_back   // the sender lends no more steps of the segment that ends with that tick
};

// In front of every message of the engine; 24 bytes.
struct MessageHeader {
  MessageType type = MessageType::round;
  std::uint32_t detail = 0;  // barrier: the stage; decision: 1 to stop; pieces: how many
  Tick tick = 0;
  Nanos sent =
      0;  // by the sender's clock, of what neighbours send each other: round, pieces, taken
};

// Writes into the header of a message that is ready when it leaves.
inline void stamp(Bytes& bytes, Nanos sent) noexcept {
  std::memcpy(bytes.data() + offsetof(MessageHeader, sent), &sent, sizeof sent);
}

class Barrier {
 public:
  // All nodes have finished tick `begin`.
  Barrier(NodeId self, std::uint32_t n_nodes, Tick begin)
      : self_(self), n_nodes_(n_nodes), released_(begin), current_(begin) {}

  // This node has finished tick t; called for t = begin + 1, begin + 2, ... in order.
  void arrive(core::Port& port, Tick t);
  void on_message(core::Port& port, const MessageHeader& header);
  // Up to tick t the run was none of policy bulk, and nobody arrived; from here on it is. Called on
  // every node, before its arrive(t + 1).
  void resume(Tick t);
  // All nodes have finished this tick.
  [[nodiscard]] Tick released() const noexcept { return released_; }

 private:
  void progress(core::Port& port);
  void send_stage(core::Port& port);

  NodeId self_;
  std::uint32_t n_nodes_;
  Tick released_;
  Tick current_;  // the barrier that this node is in; released_ or released_ + 1
  std::uint32_t stage_ = 0;
  std::set<std::pair<Tick, std::uint32_t>> came_;  // at most log2(n) entries
};

class StopTest {
 public:
  // Of the ticks after `begin`; the run ends at `end` if no test ends it.
  StopTest(NodeId self, std::uint32_t n_nodes, Store& store, Tick begin, Tick end);
  // From here on asks another store of the same model.
  void use(Store& store) noexcept { store_ = &store; }

  [[nodiscard]] bool tests(Tick t) const noexcept {
    return interval_ > 0 && t > 0 && t % interval_ == 0 && t + lag_ < end_;
  }
  // A region's part of the measure of tick t.
  void add(Tick t, ByteView part);
  // All regions of this node have given their part of tick t.
  void complete(core::Port& port, Tick t);
  void on_message(core::Port& port, const MessageHeader& header, ByteView payload);
  // Units of this tick and later may not start yet.
  [[nodiscard]] Tick limit() const noexcept;
  [[nodiscard]] Tick end() const noexcept { return end_; }
  // Whether this node knows the decisions of all tests up to and including tick t.
  [[nodiscard]] bool has_decided(Tick t) const noexcept {
    return next_undecided_ > t || !tests(next_undecided_);
  }

 private:
  struct Pending {
    Bytes measure;
    std::uint32_t missing = 0;  // children and, by one, this node itself
  };
  Pending& pending(Tick t);
  void part_complete(core::Port& port, Tick t);
  void decided(core::Port& port, Tick t, bool stop);

  NodeId self_;
  std::uint32_t n_nodes_;
  Store* store_;
  Tick interval_;
  Tick lag_;
  Tick end_;
  Tick next_undecided_;
  std::map<Tick, Pending> pending_;  // at most lag / interval + 1 entries
};

// What all segments of a node's run share.
struct Agreements {
  Barrier barrier;
  StopTest stop;
  LendingFigures lending{};
  Lates lates{};
};

}  // namespace rubato::tick::detail

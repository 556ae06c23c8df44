#pragma once
// Team: a set of cores that act together; its members are the collectives, its failure and its
// figures.
//
// Collectives are asynchronous state machines over messages: a call returns at once, and `done` is
// called later, during an event of the engine that owns the team, under the lock of its node
// (engine.hpp). Every member core makes the same calls in the same order; calls that disagree end
// in an Error that names both. A collective costs each node one message up and one down a binomial
// tree of the team's nodes (depth log2); nobody holds an entry for each member, but the root of a
// gather.
//
// An engine owns one Teams, passes it the messages that the teams sent through its Port, and calls
// the collectives of team `job()`, or of a part of it.
//
//   void on_message(Port& port, NodeId from, Bytes bytes) { teams_.on_message(port, from, bytes); }
//   teams_.job().async_allreduce<double>(port, rank, x, std::plus<>{}, [&](Port&, double sum)
//   {..});

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rubato/core/detail/reduction_tree.hpp"
#include "rubato/core/engine.hpp"
#include "rubato/core/index_set.hpp"
#include "rubato/core/job_shape.hpp"

namespace rubato::core {

// How many collectives of a team may be open at once on a node: the bound of its queues.
inline constexpr std::size_t kOpenCollectivesMax = 64;

struct TeamFigures {
  std::uint64_t n_collectives = 0;  // completed on this node
  std::uint64_t n_messages = 0;
  std::uint64_t n_bytes = 0;
  Nanos open = 0;  // from the first local call to the completion, summed over the collectives
};

// The result of a collective where it has one, otherwise nothing. `port` serves the next call.
using Done = std::function<void(Port& port, Bytes result)>;
// The contributions by rank at the root, an empty vector elsewhere.
using GatherDone = std::function<void(Port& port, std::vector<Bytes> parts)>;

class Teams;

class Team {
 public:
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  [[nodiscard]] std::uint64_t size() const noexcept { return cores_.size(); }
  [[nodiscard]] const IndexSet& cores() const noexcept { return cores_; }
  [[nodiscard]] const IndexSet& nodes() const noexcept { return nodes_; }
  // Member cores of this node have the ranks [first_local_rank(), first_local_rank() + n_local()).
  [[nodiscard]] std::uint64_t first_local_rank() const noexcept { return first_local_rank_; }
  [[nodiscard]] std::uint32_t n_local() const noexcept { return n_local_; }
  // For messages: "job", "job/0.2".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const TeamFigures& figures() const noexcept { return figures_; }
  // The failure that ended the team, if any; see async_fail().
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

  // Each collective is called once for each member core; `rank` is the rank of the calling core,
  // which must be of this node. At most kOpenCollectivesMax may be open; checked is twice that, since
  // nodes below this one may be as many ahead of it.

  // done(): every member has called.
  void async_barrier(Port& port, std::uint64_t rank, Done done);

  // done(value of the root). `value` counts at the root only. A node is done when those below it in
  // the tree are, and the root when all have the value.
  void async_broadcast(Port& port, std::uint64_t rank, std::uint64_t root, Bytes value, Done done);

  // done(reduction), combined in the fixed order of the ranks, whatever arrives first: the same
  // bits for any number of nodes (detail/reduction_tree.hpp).
  void async_allreduce(Port& port, std::uint64_t rank, Bytes value, Combine combine, Done done);

  // The same; the root alone gets the reduction, the others get nothing.
  void async_reduce(Port& port, std::uint64_t rank, std::uint64_t root, Bytes value,
                    Combine combine, Done done);

  // done(all values by rank) at the root, which holds size() of them; done({}) elsewhere.
  void async_gather(Port& port, std::uint64_t rank, std::uint64_t root, Bytes value,
                    GatherDone done);

  // allreduce of one plain value: op(smaller ranks, larger ranks).
  template <Plain T, class Op>
  void async_allreduce(Port& port, std::uint64_t rank, const T& value, Op op,
                       std::function<void(Port&, const T&)> done) {
    Writer out;
    out.put(value);
    async_allreduce(
        port, rank, out.take(),
        [op](Bytes& into, ByteView later) {
          const T sum = op(Reader(into).get<T>(), Reader(later).get<T>());
          std::memcpy(into.data(), &sum, sizeof sum);
        },
        [done = std::move(done)](Port& p, Bytes result) { done(p, Reader(result).get<T>()); });
  }

  // Splits the team: ranks of one colour form one team, in their order. `colour_of` is the same
  // pure function on all members, called for every rank; nothing is sent. Returns the teams that
  // have cores on this node, by colour; Teams owns them. Called once by each node, in the same
  // order as other splits.
  std::map<std::uint32_t, Team*> split(
      const std::function<std::uint32_t(std::uint64_t rank)>& colour_of);

  // Ends the team on all of its nodes: open collectives are dropped, later calls do nothing, and
  // each node's failure handler gets `error` (of several failures, the first that arrives). Not
  // collective.
  void async_fail(Port& port, const Error& error);
  void set_on_failure(std::function<void(Port&, const Error&)> handler);

 private:
  friend class Teams;
  enum class Kind : std::uint8_t { barrier, broadcast, reduce, allreduce, gather };
  enum class Phase : std::uint8_t { up, down, fail };
  struct Call;
  struct Open;
  struct Tree;

  Team(Teams& teams, IndexSet cores, std::uint64_t id, std::string name);

  void call(Port& port, std::uint64_t rank, Call call);
  void on_message(Port& port, NodeId from, Reader& in);
  void on_up(Port& port, std::uint64_t seq, Open& open, Reader& in);
  void on_failure_message(Port& port, Reader& in);
  void progress(Port& port, std::uint64_t seq);
  void progress_broadcast(Port& port, std::uint64_t seq, Open& open, const Tree& tree);
  void finish(Port& port, std::uint64_t seq, const Tree& tree, Bytes result);
  void merge_ups(Open& open);
  Open& open_at(std::uint64_t seq);
  void check_same_call(std::uint64_t seq, Open& open, Kind kind, std::uint64_t root,
                       const std::string& caller);
  [[nodiscard]] Tree tree_of(std::uint64_t root_rank) const;
  [[nodiscard]] std::uint64_t position() const;
  void send(Port& port, std::uint64_t position, Bytes bytes);
  [[nodiscard]] Writer header(Phase phase, std::uint64_t seq, Kind kind, std::uint64_t root) const;
  void spread_failure(Port& port, std::uint64_t origin, const Error& error);
  static const char* name_of(Kind kind) noexcept;

  Teams& teams_;
  IndexSet cores_;
  IndexSet nodes_;
  std::uint64_t id_;
  std::string name_;
  std::uint64_t first_local_rank_ = 0;
  std::uint32_t n_local_ = 0;
  std::uint32_t n_splits_ = 0;
  std::vector<std::uint64_t> next_seq_;  // [n_local]
  std::map<std::uint64_t, Open> open_;   // by sequence number
  std::optional<Error> failure_;
  std::function<void(Port&, const Error&)> on_failure_;
  TeamFigures figures_;
};

// The teams of one node: owns them and brings messages to the right one.
class Teams {
 public:
  explicit Teams(const JobShape& shape);
  Teams(const Teams&) = delete;
  Teams& operator=(const Teams&) = delete;
  ~Teams();

  [[nodiscard]] const JobShape& shape() const noexcept { return shape_; }
  // All cores of the job.
  [[nodiscard]] Team& job() noexcept { return *job_; }

  // A message that a team of another node sent. Messages for a team that this node has not split
  // off yet are kept (bounded). Throws Error if the bytes are no such message, or if members called
  // different collectives.
  void on_message(Port& port, NodeId from, ByteView bytes);

 private:
  friend class Team;
  struct Early {
    NodeId from;
    Bytes bytes;
  };

  void deliver_early(Port& port);
  Team& add(IndexSet cores, std::uint64_t id, std::string name);

  JobShape shape_;
  std::map<std::uint64_t, std::unique_ptr<Team>> teams_;
  std::vector<Early> early_;
  Team* job_ = nullptr;
};

}  // namespace rubato::core

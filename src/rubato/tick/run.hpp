#pragma once
// Running a Problem: in the simulator (any number of virtual nodes, one thread, virtual time) or on
// this node of a real job. Both give the same RunResult, and the same checksum.
//
// With epochs work is shared anew at each tick that is a multiple of `epoch`, and before the end
// (epoch/epoch_engine.hpp); nobody stops for it. The state of each tick, and where a stop condition
// ends the run, are those of a run without epochs. A model that cannot be cut again is not, by
// repartition; persistence needs a run with pieces.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rubato/core/figures.hpp"
#include "rubato/core/node_host.hpp"
#include "rubato/core/observer.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tick/epoch/epoch_engine.hpp"
#include "rubato/tick/problem.hpp"
#include "rubato/tick/sharing.hpp"

namespace rubato::tick {

// What one node did: the host's figures (time) and the engine's (units, rounds).
struct NodeResult {
  core::NodeFigures time;
  NodeFigures work;
  std::uint64_t state_bytes = 0;
  // Of the process, the most that was resident by the end of the run, its files written: all that
  // the node is. 0 in the simulator, where all nodes are one process.
  std::uint64_t peak_bytes = 0;
  MoveFigures moved;
};

struct RunResult {
  Policy policy;
  Tick begin = 0;         // where it began: 0, or the tick of a checkpoint
  Tick ticks = 0;         // where the run ended
  bool has_stop = false;  // the model has a stop condition, and it was tested
  bool stopped = false;   // which has ended the run; otherwise the number of ticks did
  Tick last_test = 0;     // of a condition that did not: it was tested up to here; 0: at no tick
  Nanos wall = 0;         // of the slowest node, virtual in the simulator
  std::uint64_t checksum = 0;      // of the final state
  std::uint32_t n_pieces = 0;      // that the model was cut into, of all nodes; 0: by its part()
  std::uint32_t n_pieces_end = 0;  // that it was cut into at the end
  std::vector<NodeResult> nodes;
  bool tuned = false;           // policy auto; `policy` is then what it began with
  std::vector<Choice> choices;  // of policy auto; what has changed something, and the first

  [[nodiscard]] double ticks_per_second() const noexcept {
    return wall > 0 ? static_cast<double>(ticks - begin) * 1e9 / static_cast<double>(wall) : 0;
  }
  // Share of all cores' time that was spent waiting.
  [[nodiscard]] double waiting_share() const noexcept;
  // How often something moved, how many pieces, and how many bytes of tuples between nodes, in all.
  [[nodiscard]] std::int64_t n_epochs() const noexcept;
  [[nodiscard]] std::int64_t pieces_moved() const noexcept;
  [[nodiscard]] std::int64_t bytes_moved() const noexcept;
};

struct SimulationOptions {
  std::uint32_t n_nodes = 16;
  std::uint32_t n_cores = 1;  // of each node
  net::Profile profile;       // its rate is each node's egress
  std::uint64_t seed = 1;
  std::vector<double> slowdowns;  // [n_nodes] or empty: how much slower each node computes
  core::Observer* observer = nullptr;
  SharingOptions sharing{};
  const StateSource* start = nullptr;  // begins at its tick with that state; null: at tick 0
  bool as_they_come = false;           // as in Dataflow::Options
  // An engine around that of a node, which the host drives in its place.
  std::function<std::unique_ptr<core::Engine>(NodeId, TickEngine&)> wrap{};
  // SIGINT, SIGTERM and SIGHUP end the run by an Error, as they end a real one. REQUIRES: the caller has a
  // core::SignalScope.
  bool heeds_signals = false;
  // Called for each node before the run, and when it has ended, before its state goes.
  std::function<void(NodeId, NodeRun&)> at_start;
  std::function<void(NodeId, NodeRun&)> at_end;
  // Called for each node that goes on as another NodeRun after an epoch, before the first step of
  // that; the one before it still runs.
  std::function<void(NodeId, NodeRun&)> at_epoch{};
};

// How many pieces, where nobody says a number: at least n_pieces_of_core() for each core of all nodes and
// at most twice as many, but fewer where they would be too small (HasGoodPieces in model.hpp), and two
// for each core at least.
[[nodiscard]] std::uint32_t n_good_pieces(const Problem& problem, std::uint32_t n_nodes,
                                          std::uint32_t n_cores);
[[nodiscard]] std::uint32_t n_pieces_of_core() noexcept;

// What of `sharing` a run on so many nodes of so many cores does: what nobody has asked for is chosen,
// kGoodPieces too; of what it returns it changes nothing. Throws Error if the model cannot do what
// was asked for. It depends on its arguments alone.
[[nodiscard]] SharingOptions chosen_sharing(const Problem& problem, SharingOptions sharing,
                                            std::uint32_t n_nodes, std::uint32_t n_cores);

// The cut that a run begins with. What its pieces cannot be made of is taken off `sharing`. Throws Error
// as Problem::partition() does.
[[nodiscard]] std::shared_ptr<const Partition> first_partition(const Problem& problem,
                                                               std::uint32_t n_nodes,
                                                               SharingOptions& sharing);

// What `sharing` means to the engines of a run that begins with policy `first`.
[[nodiscard]] EpochOptions epoch_options(const Policy& first, const SharingOptions& sharing);

// Blocks; uses one thread. Throws Error as the model's functions do, or at a deadlock.
[[nodiscard]] RunResult simulate(const Problem& problem, const Policy& policy, Tick ticks,
                                 const SimulationOptions& options);

struct ExecutionOptions {
  // Work takes at least its cost in virtual time; the rest is slept (core/paced_engine.hpp).
  bool paced = false;
  SharingOptions sharing{};
  const StateSource* start = nullptr;  // begins at its tick with that state; null: at tick 0
  // An engine around that of the node, which the host drives in its place.
  std::function<std::unique_ptr<core::Engine>(TickEngine&)> wrap{};
  // As in SimulationOptions, and not at once on all nodes: under the host's lock.
  std::function<void(NodeRun&)> at_epoch{};
  // The engine of the run, before it; it lives until at_end().
  std::function<void(TickEngine&)> at_engine{};
  // On every node, collectively: before the run, when it has ended, and when all have done that.
  std::function<void(NodeRun&)> at_start;
  std::function<void(NodeRun&)> at_end;
  std::function<void()> at_close;
};

// Collective over the nodes of `host`; blocks. At node 0 the result is whole, elsewhere `nodes`
// holds this node alone; ticks and checksum are everywhere those of the job. Throws the same Error
// on all nodes.
[[nodiscard]] RunResult execute(const Problem& problem, const Policy& policy, Tick ticks,
                                core::NodeHost& host, const ExecutionOptions& options);

}  // namespace rubato::tick

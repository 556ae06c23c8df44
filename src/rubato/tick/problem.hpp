#pragma once
// Problem: a model with its parameters set, ready to run, without its types: what runners,
// comparisons and commands work with. ProblemOf (problem_of.hpp) makes one from a Model and the Store
// that runs it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/check/report.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/epoch/handover.hpp"
#include "rubato/tick/output/source.hpp"
#include "rubato/tick/plan.hpp"
#include "rubato/tick/policy.hpp"
#include "rubato/tick/samples.hpp"
#include "rubato/tick/store.hpp"
#include "rubato/tick/tune/node_shape.hpp"

namespace rubato::tick {

// One node of a run, or of a segment of it: its plan, its tuples and its state machine.
class NodeRun {
 public:
  NodeRun() = default;
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;
  virtual ~NodeRun() = default;

  [[nodiscard]] virtual Dataflow& engine() = 0;
  [[nodiscard]] virtual Store& store() = 0;
  [[nodiscard]] virtual const Plan& plan() const = 0;
  // Of the own tuples at the end of the run; the sum over nodes is the same for every policy, node
  // count and fabric.
  [[nodiscard]] virtual std::uint64_t checksum() const = 0;
  // Its own tuples at the end of the run, for comparisons with a reference; by ascending id.
  [[nodiscard]] virtual TupleList own_tuples() const = 0;
  // Reads this node's tuples for files and pictures; null if the model does not say how they look.
  // The node outlives it.
  [[nodiscard]] virtual std::unique_ptr<OutputSource> output_source() const = 0;
  // Appends what an own region produced at tick t, in the form that a StateSource gives it back in;
  // to be called where Dataflow::on_own_step() calls. All own regions of all nodes are the state.
  virtual void save(RegionId region, Tick t, Writer& out) const = 0;

  // Epochs (tick/epoch/). Of a cut with pieces: the number of the piece that each own region is.
  [[nodiscard]] virtual std::span<const std::uint32_t> pieces() const = 0;
  // Samples for a model that is cut again (HasRepartition in model.hpp): of what an own region
  // produced at t, after its step, or of the node's load, as NodeLoad there has it. One of the two is
  // empty: that which the model does not ask for.
  [[nodiscard]] virtual Bytes sample(RegionId region, Tick t) const = 0;
  [[nodiscard]] virtual Bytes sample_load(double busy, double passed) const = 0;
  // What of this node's tuples of tick t goes where, as the run goes on from there as `after`, which
  // is of the same problem. May be called while this one runs; both outlive it.
  [[nodiscard]] virtual std::unique_ptr<Handover> hand_over(NodeRun& after, Tick t) = 0;
};

// Who owns what, for one number of nodes; shared by the virtual nodes of a simulation.
class Partition {
 public:
  Partition() = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  virtual ~Partition() = default;

  // Builds the plan of one node and its state: the initial one or, if there is a `start`, what the
  // node holds of that, or none yet if options.arrives. REQUIRES: without that, options.begin is the
  // tick of `start`, or else 0.
  [[nodiscard]] virtual std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& policy,
                                                           const Dataflow::Options& options,
                                                           const StateSource* start) const = 0;

  [[nodiscard]] virtual std::uint32_t n_nodes() const noexcept = 0;
  // The owner of each piece; empty if the cut is not of pieces.
  [[nodiscard]] virtual const std::vector<NodeId>& owners() const noexcept = 0;
  // What pieces are made of (balance/grains.hpp): how many there are, 0 if the cut is not of pieces, and
  // of how many a piece is.
  [[nodiscard]] virtual std::uint32_t n_grains() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t grains_of_piece() const noexcept = 0;
  // Whether pieces may be of so many grains: each node could have one, and the model steps each as a whole
  // (is_piece() in model.hpp).
  [[nodiscard]] virtual bool can_join(std::uint32_t n_grains) const = 0;
  // The same grains in pieces of so many, with other owners: one for all who ask for the same while any
  // has it. Throws Error if a node has none.
  [[nodiscard]] virtual std::shared_ptr<const Partition> with_owners(
      std::vector<NodeId> owners, std::uint32_t grains_of_piece) const = 0;
  // The model cut again by samples, and by what comes with single ticks beside what they tell
  // (`passes`, ns of a core a tick, of all nodes); null if it is to stay as it is. Throws Error if it
  // cannot be.
  // REQUIRES: repartitions() of the problem, for both.
  [[nodiscard]] virtual std::unique_ptr<Partition> cut_again(ByteView samples,
                                                             double passes) const = 0;
  // Adds samples to those in `into`. Bytes that are empty are no samples.
  virtual void merge_samples(Bytes& into, std::span<const WeighedSamples> from) const = 0;
  // What forecasts need to know of a node (tune/node_shape.hpp). REQUIRES: tunes() of the problem.
  [[nodiscard]] virtual NodeShape shape(NodeId self, const ShapeLimits& limits) const = 0;
};

class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  // Calls the model's part(), or, with n_pieces > 0, pieces() for about that number, of which each
  // node gets a stretch. They are of so many grains each, or of one if these cannot be joined. Throws
  // Error if the model cannot be cut so. The problem outlives it.
  [[nodiscard]] virtual std::unique_ptr<Partition> partition(
      std::uint32_t n_nodes, std::uint32_t n_pieces, std::uint32_t grains_of_piece) const = 0;
  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes,
                                                     std::uint32_t n_pieces = 0) const {
    return partition(n_nodes, n_pieces, 1);
  }
  // Whether the model can be cut again while it runs (HasRepartition in model.hpp). If not, every
  // cut of it is the first one, and an epoch would move nothing.
  [[nodiscard]] virtual bool repartitions() const noexcept = 0;
  // Whether policy auto can run it: it has sizes (HasSize in tune/node_shape_of.hpp), and a store that
  // hands over.
  [[nodiscard]] virtual bool tunes() const noexcept = 0;
  // Whether nodes can run steps for others (Store::lends()).
  [[nodiscard]] virtual bool lends() const noexcept = 0;
  // Whether it can be cut into pieces (HasPieces), and how many are good (HasGoodPieces).
  [[nodiscard]] virtual bool has_pieces() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t good_pieces(std::uint32_t wanted,
                                                  std::uint32_t least) const = 0;
  // Tests the model's rules (tick/check/checker.hpp), and throws as that does. check_problem()
  // tests the store too.
  [[nodiscard]] virtual CheckReport check(const CheckOptions& options) const = 0;
  // What people call the tuple of an id.
  [[nodiscard]] virtual std::string tuple_name(std::uint64_t id) const = 0;
};

}  // namespace rubato::tick

#pragma once
// Problem: a model with its parameters set, ready to run, without its types: what runners,
// comparisons and commands work with. ProblemOf makes one from a Model and the Store that runs it.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rubato/tick/check/checker.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/epoch/handover.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/output/source.hpp"
#include "rubato/tick/plan_builder.hpp"
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
  // The same pieces with other owners: one for all who ask for the same while any has it. Throws
  // Error if a node has none.
  [[nodiscard]] virtual std::shared_ptr<const Partition> with_owners(
      std::vector<NodeId> owners) const = 0;
  // The model cut again by samples; null if it is to stay as it is. Throws Error if it cannot be.
  // REQUIRES: repartitions() of the problem, for both.
  [[nodiscard]] virtual std::unique_ptr<Partition> cut_again(ByteView samples) const = 0;
  // Adds samples to those in `into`, which are none if it is empty.
  virtual void merge_samples(Bytes& into, ByteView from) const = 0;
  // What forecasts need to know of a node (tune/node_shape.hpp). REQUIRES: tunes() of the problem.
  [[nodiscard]] virtual NodeShape shape(NodeId self, int layers_most, Tick depth_most) const = 0;
};

class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  // Calls the model's part(), or, with n_pieces > 0, pieces() with about that number, of which each
  // node gets a stretch. Throws Error if the model cannot be cut so. The problem outlives it.
  [[nodiscard]] virtual std::unique_ptr<Partition> partition(std::uint32_t n_nodes,
                                                             std::uint32_t n_pieces) const = 0;
  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes) const {
    return partition(n_nodes, 0);
  }
  // Whether the model can be cut again while it runs (HasRepartition in model.hpp). If not, every
  // cut of it is the first one, and an epoch would move nothing.
  [[nodiscard]] virtual bool repartitions() const noexcept = 0;
  // Whether policy auto can run it: it has sizes (HasSize in tune/node_shape.hpp), and a store that
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

template <Checkable M, class StoreType, class StoreOptions = std::monostate>
class ProblemOf final : public Problem {
 public:
  using Query = typename M::Query;
  using State = typename M::State;
  using SharedCut = std::shared_ptr<const Cut<Query>>;

  explicit ProblemOf(M model, StoreOptions options = {})
      : model_(std::move(model)), options_(std::move(options)) {}

  [[nodiscard]] const M& model() const noexcept { return model_; }

  using Problem::partition;
  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes,
                                                     std::uint32_t n_pieces) const override {
    Cut<Query> cut;
    if constexpr (HasPieces<M>) {
      if (n_pieces > 0) cut = cut_into_pieces(model_, n_pieces, n_nodes);
    } else if (n_pieces > 0) {
      throw Error("pieces: this model cannot be cut into pieces: it has no pieces() and join()",
                  ExitCode::usage);
    }
    if (n_pieces == 0) cut.queries = model_.part(n_nodes);
    return std::make_unique<Parts>(*this, std::make_shared<const Cut<Query>>(std::move(cut)));
  }

  [[nodiscard]] bool repartitions() const noexcept override { return HasRepartition<M>; }
  [[nodiscard]] bool tunes() const noexcept override { return kHandsOver && HasSize<M>; }
  [[nodiscard]] bool lends() const noexcept override {
    return requires {
      StoreType::kLends;
    };
  }
  [[nodiscard]] bool has_pieces() const noexcept override { return HasPieces<M>; }
  [[nodiscard]] std::uint32_t good_pieces(std::uint32_t wanted,
                                          std::uint32_t least) const override {
    if constexpr (HasGoodPieces<M>) return model_.good_pieces(wanted, least);
    return std::max(wanted, least);
  }

  [[nodiscard]] CheckReport check(const CheckOptions& options) const override {
    return check_model(model_, options);
  }

  [[nodiscard]] std::string tuple_name(std::uint64_t id) const override {
    return detail::tuple_name(model_, id);
  }

  // A node's run with its types, for output.
  class Node final : public NodeRun {
   public:
    // With the model's initial state, or with `start`: nothing, or one of const StateSource& and
    // Arriving, which are of the tick options.begin.
    template <class... Start>
    Node(const ProblemOf& problem, SharedCut cut, NodeId self, const Policy& policy,
         const Dataflow::Options& options, Start&&... start)
        : problem_(problem),
          cut_(std::move(cut)),
          typed_(build_plan(problem.model_, *cut_, self, policy)),
          store_(make_store(std::forward<Start>(start)...)),
          flow_(typed_.plan, *store_, options) {
      // An entry for each node of the job, needed again only where the model is cut again.
      if (!options.hands_over) cut_.reset();
    }

    [[nodiscard]] Dataflow& engine() override { return flow_; }
    [[nodiscard]] StoreType& store() override { return *store_; }
    [[nodiscard]] const StoreType& store() const { return *store_; }
    [[nodiscard]] const Plan& plan() const override { return typed_.plan; }
    [[nodiscard]] const TypedPlan<Query>& typed_plan() const { return typed_; }
    [[nodiscard]] std::uint64_t checksum() const override {
      if constexpr (requires { store_->checksum(Tick{}); }) {
        return store_->checksum(flow_.end());
      } else {
        return own_tuples().checksum();
      }
    }
    [[nodiscard]] TupleList own_tuples() const override {
      static_assert(Checkable<M>, "checksums need for_each_tuple(state, f) const in the model");
      return detail::tuples_of(problem_.model_, store_->own_state(flow_.end()));
    }
    [[nodiscard]] std::unique_ptr<OutputSource> output_source() const override {
      return make_output_source(problem_.model_, *store_, typed_.plan.n_own);
    }
    void save(RegionId region, Tick t, Writer& out) const override { store_->save(region, t, out); }

    [[nodiscard]] std::span<const std::uint32_t> pieces() const override { return typed_.pieces; }
    [[nodiscard]] Bytes sample(RegionId region, Tick t) const override {
      Writer out;
      if constexpr (HasRepartition<M> && HasStateSamples<M>) {
        const M& model = problem_.model_;
        model.write_samples(out, model.sample(store_->region_state(region, t)));
      }
      return out.take();
    }
    [[nodiscard]] Bytes sample_load(double busy, double passed) const override {
      Writer out;
      if constexpr (HasRepartition<M> && HasLoadSamples<M>) {
        const M& model = problem_.model_;
        const NodeLoad<Query> load{typed_.plan.self, typed_.own, busy, passed};
        model.write_samples(out, model.sample(load));
      }
      return out.take();
    }
    [[nodiscard]] std::unique_ptr<Handover> hand_over(NodeRun& after, Tick t) override {
      if constexpr (kHandsOver) {
        auto& next = dynamic_cast<Node&>(after);
        RUBATO_REQUIRE(cut_ != nullptr && next.cut_ != nullptr, t);
        using Over = HandoverOf<M, StoreType>;
        return std::make_unique<Over>(problem_.model_, typename Over::Side{*cut_, typed_, *store_},
                                      typename Over::Side{*next.cut_, next.typed_, *next.store_},
                                      t);
      } else {
        RUBATO_REQUIRE(kHandsOver, t);
        return nullptr;
      }
    }

   private:
    template <class... Start>
    [[nodiscard]] std::unique_ptr<StoreType> make_store(Start&&... start) const {
      if constexpr (std::same_as<StoreOptions, std::monostate>) {
        return std::make_unique<StoreType>(problem_.model_, typed_, std::forward<Start>(start)...);
      } else {
        return std::make_unique<StoreType>(problem_.model_, typed_, std::forward<Start>(start)...,
                                           problem_.options_);
      }
    }

    const ProblemOf& problem_;
    SharedCut cut_;
    TypedPlan<Query> typed_;
    std::unique_ptr<StoreType> store_;
    Dataflow flow_;
  };

 private:
  static constexpr bool kHandsOver =
      requires(StoreType & store, std::span<const ByteView> fragments) {
    store.begin(RegionId{}, fragments);
  };

  class Parts final : public Partition {
   public:
    Parts(const ProblemOf& problem, SharedCut cut) : problem_(problem), cut_(std::move(cut)) {}

    [[nodiscard]] std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& policy,
                                                     const Dataflow::Options& options,
                                                     const StateSource* start) const override {
      if constexpr (kHandsOver) {
        if (options.arrives)
          return std::make_unique<Node>(problem_, cut_, self, policy, options,
                                        Arriving{options.begin});
      }
      const Tick begin = start == nullptr ? 0 : start->tick();
      RUBATO_REQUIRE(options.begin == begin, options.begin, begin);
      if (start == nullptr) return std::make_unique<Node>(problem_, cut_, self, policy, options);
      return std::make_unique<Node>(problem_, cut_, self, policy, options, *start);
    }

    [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return cut_->n_nodes(); }
    [[nodiscard]] const std::vector<NodeId>& owners() const noexcept override {
      return cut_->owners;
    }
    [[nodiscard]] std::shared_ptr<const Partition> with_owners(
        std::vector<NodeId> owners) const override {
      if constexpr (HasPieces<M>) {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<const Partition> known = moved_.lock();
        if (known && known->owners() == owners) return known;
        auto moved = std::make_shared<const Parts>(
            problem_, std::make_shared<const Cut<Query>>(cut_of_pieces(
                          problem_.model_, cut_->pieces, std::move(owners), n_nodes())));
        moved_ = moved;
        return moved;
      } else {
        RUBATO_REQUIRE(HasPieces<M>, owners.size());
        return nullptr;
      }
    }
    [[nodiscard]] std::unique_ptr<Partition> cut_again(ByteView samples) const override {
      if constexpr (HasRepartition<M>) {
        const M& model = problem_.model_;
        Reader reader(samples);
        Cut<Query> cut;
        cut.queries = model.part(n_nodes(), model.read_samples(reader));
        if (cut.queries.empty()) return nullptr;
        if (cut.queries.size() != n_nodes()) {
          throw Error("part(n, samples) gave " + std::to_string(cut.queries.size()) +
                          " queries, expected " + std::to_string(n_nodes()),
                      ExitCode::failed);
        }
        return std::make_unique<Parts>(problem_,
                                       std::make_shared<const Cut<Query>>(std::move(cut)));
      } else {
        RUBATO_REQUIRE(HasRepartition<M>, samples.size());
        return nullptr;
      }
    }
    void merge_samples(Bytes& into, ByteView from) const override {
      if constexpr (HasRepartition<M>) {
        if (into.empty()) {
          into.assign(from.begin(), from.end());
          return;
        }
        const M& model = problem_.model_;
        Reader ours(into);
        Reader theirs(from);
        typename M::Samples sum = model.read_samples(ours);
        model.merge_samples(sum, model.read_samples(theirs));
        Writer out;
        model.write_samples(out, sum);
        into = out.take();
      }
    }

    [[nodiscard]] NodeShape shape(NodeId self, int layers_most, Tick depth_most) const override {
      if constexpr (HasSize<M>) {
        return node_shape(problem_.model_, *cut_, self, layers_most, depth_most);
      } else {
        RUBATO_REQUIRE(HasSize<M>, self);
        return {};
      }
    }

   private:
    const ProblemOf& problem_;
    SharedCut cut_;
    mutable std::mutex mutex_;
    mutable std::weak_ptr<const Partition> moved_;  // of with_owners() last
  };

  M model_;
  StoreOptions options_;
};

}  // namespace rubato::tick

#pragma once
// Problem: a model with its parameters set, ready to run, without its types: what runners,
// comparisons and commands work with. ProblemOf makes one from a Model and the Store that runs it.

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rubato/tick/check/checker.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/epoch/state_move.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/output/source.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

class NodeRun;

// One node between two segments of a run, at an epoch.
class NodeMove {
 public:
  NodeMove() = default;
  NodeMove(const NodeMove&) = delete;
  NodeMove& operator=(const NodeMove&) = delete;
  virtual ~NodeMove() = default;

  // To be run by the host that runs the nodes.
  [[nodiscard]] virtual Redistribution& engine() = 0;
  // After it, once: the node with its new part, for the segment that begins at the tick that was
  // moved.
  [[nodiscard]] virtual std::unique_ptr<NodeRun> arrive(const Dataflow::Options& options) = 0;
};

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
  // After a segment's end: takes the own tuples to where they will be owned. The store goes; of
  // this node only engine() and plan() may be used from then on, and only as far as figures go.
  // REQUIRES: Problem::repartitions(), and the problem outlives the move.
  [[nodiscard]] virtual std::unique_ptr<NodeMove> leave() = 0;
};

// Who owns what, for one number of nodes; shared by the virtual nodes of a simulation.
class Partition {
 public:
  Partition() = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  virtual ~Partition() = default;

  // Builds the plan of one node and its state: the initial one or, if there is a `start`, what the
  // node holds of that. REQUIRES: options.begin is the tick of `start`, or else 0.
  [[nodiscard]] virtual std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& policy,
                                                           const Dataflow::Options& options,
                                                           const StateSource* start) const = 0;
};

class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  // Calls the model's part(). Throws Error if the model cannot be cut so. The problem outlives it.
  [[nodiscard]] virtual std::unique_ptr<Partition> partition(std::uint32_t n_nodes) const = 0;
  // Whether the model can be cut again while it runs (HasRepartition in model.hpp). If not, every
  // cut of it is the first one, and an epoch would move nothing.
  [[nodiscard]] virtual bool repartitions() const noexcept = 0;
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
  using Queries = std::shared_ptr<const std::vector<Query>>;  // [n_nodes]

  explicit ProblemOf(M model, StoreOptions options = {})
      : model_(std::move(model)), options_(std::move(options)) {}

  [[nodiscard]] const M& model() const noexcept { return model_; }

  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes) const override {
    return std::make_unique<Parts>(*this, model_.part(n_nodes));
  }

  [[nodiscard]] bool repartitions() const noexcept override { return HasRepartition<M>; }

  [[nodiscard]] CheckReport check(const CheckOptions& options) const override {
    return check_model(model_, options);
  }

  [[nodiscard]] std::string tuple_name(std::uint64_t id) const override {
    return detail::tuple_name(model_, id);
  }

  // A node's run with its types, for output.
  class Node final : public NodeRun {
   public:
    // With the model's initial state, or with `start`, which is of the tick options.begin: nothing
    // or one of StartState<State> and const StateSource&.
    template <class... Start>
    Node(const ProblemOf& problem, Queries queries, NodeId self, const Policy& policy,
         const Dataflow::Options& options, Start&&... start)
        : problem_(problem),
          queries_(std::move(queries)),
          typed_(build_plan(problem.model_, std::span(*queries_), self, policy)),
          store_(make_store(std::forward<Start>(start)...)),
          flow_(typed_.plan, *store_, options) {
      // An entry for each node of the job, needed again only where the model is cut again.
      if constexpr (!HasRepartition<M>) queries_.reset();
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
    [[nodiscard]] std::unique_ptr<NodeMove> leave() override {
      if constexpr (HasRepartition<M>) {
        State own = store_->own_state(flow_.end());
        store_.reset();
        return std::make_unique<Move>(problem_, queries_, typed_.plan, flow_.end(), std::move(own));
      } else {
        RUBATO_REQUIRE(HasRepartition<M>, typed_.plan.self);
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
    Queries queries_;
    TypedPlan<Query> typed_;
    std::unique_ptr<StoreType> store_;
    Dataflow flow_;
  };

 private:
  class Parts final : public Partition {
   public:
    Parts(const ProblemOf& problem, std::vector<Query> queries)
        : problem_(problem),
          queries_(std::make_shared<const std::vector<Query>>(std::move(queries))) {}
    [[nodiscard]] std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& policy,
                                                     const Dataflow::Options& options,
                                                     const StateSource* start) const override {
      const Tick begin = start == nullptr ? 0 : start->tick();
      RUBATO_REQUIRE(options.begin == begin, options.begin, begin);
      if (start == nullptr)
        return std::make_unique<Node>(problem_, queries_, self, policy, options);
      return std::make_unique<Node>(problem_, queries_, self, policy, options, *start);
    }

   private:
    const ProblemOf& problem_;
    Queries queries_;
  };

  // Only of models that can be cut again.
  class Move final : public NodeMove {
   public:
    Move(const ProblemOf& problem, Queries old, const Plan& plan, Tick t, State own)
        : problem_(problem),
          self_(plan.self),
          policy_(plan.policy),
          move_(problem.model_, std::move(old), plan.self, plan.policy, std::move(own)),
          engine_(move_, plan.self, plan.n_nodes, t),
          tick_(t) {}

    [[nodiscard]] Redistribution& engine() override { return engine_; }
    [[nodiscard]] std::unique_ptr<NodeRun> arrive(const Dataflow::Options& options) override {
      RUBATO_REQUIRE(options.begin == tick_, options.begin, tick_);
      return std::make_unique<Node>(problem_, move_.queries(), self_, policy_, options,
                                    StartState<State>{tick_, move_.take_held()});
    }

   private:
    const ProblemOf& problem_;
    NodeId self_;
    Policy policy_;
    StateMoveOf<M> move_;
    Redistribution engine_;
    Tick tick_;
  };

  M model_;
  StoreOptions options_;
};

}  // namespace rubato::tick

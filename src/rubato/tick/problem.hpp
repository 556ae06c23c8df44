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
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/output/source.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

// One node of a run: its plan, its tuples and its state machine.
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
};

// Who owns what, for one number of nodes; shared by the virtual nodes of a simulation.
class Partition {
 public:
  Partition() = default;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  virtual ~Partition() = default;

  // Builds the plan and the initial state of one node.
  [[nodiscard]] virtual std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& policy,
                                                           Tick ticks,
                                                           std::uint32_t n_cores) const = 0;
};

class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  // Calls the model's part(). Throws Error if the model cannot be cut so. The problem outlives it.
  [[nodiscard]] virtual std::unique_ptr<Partition> partition(std::uint32_t n_nodes) const = 0;
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

  explicit ProblemOf(M model, StoreOptions options = {})
      : model_(std::move(model)), options_(std::move(options)) {}

  [[nodiscard]] const M& model() const noexcept { return model_; }

  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes) const override {
    return std::make_unique<Parts>(*this, model_.part(n_nodes));
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
    Node(const ProblemOf& problem, std::span<const Query> queries, NodeId self,
         const Policy& policy, Tick ticks, std::uint32_t n_cores)
        : problem_(problem),
          typed_(build_plan(problem.model_, queries, self, policy)),
          store_(make_store()),
          flow_(typed_.plan, *store_, Dataflow::Options{ticks, n_cores}) {}

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

   private:
    [[nodiscard]] std::unique_ptr<StoreType> make_store() const {
      if constexpr (std::same_as<StoreOptions, std::monostate>) {
        return std::make_unique<StoreType>(problem_.model_, typed_);
      } else {
        return std::make_unique<StoreType>(problem_.model_, typed_, problem_.options_);
      }
    }

    const ProblemOf& problem_;
    TypedPlan<Query> typed_;
    std::unique_ptr<StoreType> store_;
    Dataflow flow_;
  };

 private:
  class Parts final : public Partition {
   public:
    Parts(const ProblemOf& problem, std::vector<Query> queries)
        : problem_(problem), queries_(std::move(queries)) {}
    [[nodiscard]] std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& policy, Tick ticks,
                                                     std::uint32_t n_cores) const override {
      return std::make_unique<Node>(problem_, queries_, self, policy, ticks, n_cores);
    }

   private:
    const ProblemOf& problem_;
    std::vector<Query> queries_;
  };

  M model_;
  StoreOptions options_;
};

}  // namespace rubato::tick

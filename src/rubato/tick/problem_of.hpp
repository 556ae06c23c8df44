#pragma once
// ProblemOf: the Problem of a Model and the Store that runs it. An engine of its own is compiled for
// each, in seconds; where several files use one, one of them can instantiate it for all (as
// models/app_heat.hpp).

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rubato/tick/check/checker.hpp"
#include "rubato/tick/epoch/handover_of.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/output/source_of.hpp"
#include "rubato/tick/plan_builder.hpp"
#include "rubato/tick/problem.hpp"
#include "rubato/tick/tune/node_shape_of.hpp"

namespace rubato::tick {

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
  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes, std::uint32_t n_pieces,
                                                     std::uint32_t grains_of_piece) const override {
    Cut<Query> cut;
    if constexpr (HasPieces<M>) {
      if (n_pieces > 0) cut = cut_into_pieces(model_, n_pieces, n_nodes, grains_of_piece);
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
    [[nodiscard]] std::uint32_t n_grains() const noexcept override {
      return static_cast<std::uint32_t>(cut_->grains ? cut_->grains->size() : cut_->pieces.size());
    }
    [[nodiscard]] std::uint32_t grains_of_piece() const noexcept override {
      return cut_->grains_of_piece;
    }
    [[nodiscard]] bool can_join(std::uint32_t n_grains) const override {
      if constexpr (HasPieces<M>) {
        return !cut_->pieces.empty() && can_join_grains(problem_.model_, *cut_, n_grains);
      } else {
        return false;
      }
    }
    [[nodiscard]] std::shared_ptr<const Partition> with_owners(
        std::vector<NodeId> owners, std::uint32_t grains_of_piece) const override {
      if constexpr (HasPieces<M>) {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<const Partition> known = moved_.lock();
        if (known && known->grains_of_piece() == grains_of_piece && known->owners() == owners)
          return known;
        auto moved = std::make_shared<const Parts>(
            problem_, std::make_shared<const Cut<Query>>(cut_of_grains(
                          problem_.model_, *cut_, std::move(owners), grains_of_piece)));
        moved_ = moved;
        return moved;
      } else {
        RUBATO_REQUIRE(HasPieces<M>, owners.size(), grains_of_piece);
        return nullptr;
      }
    }
    [[nodiscard]] std::unique_ptr<Partition> cut_again(ByteView samples,
                                                       double passes) const override {
      if constexpr (HasRepartition<M>) {
        const M& model = problem_.model_;
        Reader reader(samples);
        Cut<Query> cut;
        typename M::Samples all = model.read_samples(reader);
        if constexpr (HasWeighedSamples<M>) model.spread(all, passes);
        cut.queries = model.part(n_nodes(), all);
        if (cut.queries.empty()) return nullptr;
        if (cut.queries.size() != n_nodes()) {
          throw Error("part(n, samples) gave " + std::to_string(cut.queries.size()) +
                          " queries, expected " + std::to_string(n_nodes()),
                      ExitCode::failed);
        }
        return std::make_unique<Parts>(problem_,
                                       std::make_shared<const Cut<Query>>(std::move(cut)));
      } else {
        RUBATO_REQUIRE(HasRepartition<M>, samples.size(), passes);
        return nullptr;
      }
    }
    void merge_samples(Bytes& into, std::span<const WeighedSamples> from) const override {
      if constexpr (HasRepartition<M>) {
        const Bytes before = std::move(into);
        std::vector<WeighedSamples> all{{before, 0}};
        all.insert(all.end(), from.begin(), from.end());
        std::erase_if(all, [](const WeighedSamples& each) { return each.samples.empty(); });
        Writer out;
        if (all.size() == 1 && all.front().cost <= 0) {
          out.append(all.front().samples.data(), all.front().samples.size());
        } else if (!all.empty()) {
          problem_.model_.write_samples(out, gather_samples(problem_.model_, all));
        }
        into = out.take();
      } else {
        RUBATO_REQUIRE(HasRepartition<M>, from.size());
      }
    }

    [[nodiscard]] NodeShape shape(NodeId self, const ShapeLimits& limits) const override {
      if constexpr (HasSize<M>) {
        return node_shape(problem_.model_, *cut_, self, limits);
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

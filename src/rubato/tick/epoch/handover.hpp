#pragma once
// Handover: one node between two segments of a run, at the epoch tick E: which of its tuples go to
// whom, and what its new regions are made of. HandoverOf finds that by a model's functions alone.
//
// The unit of a move is the fragment (B, E): what an old region B produced at E, as far as a node
// will hold it. Node j will hold H_j = R_D o (W_D o R_D)^m (Q'_j); stepping B can yield some of it
// exactly if B meets W_D(H_j), so that sender and receiver find the same list, and a new region A
// is complete when the fragments of all B that meet W_D(A) are there. Nobody waits for more: the
// step of A from E needs those regions at E anyway.

#include <span>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

class Handover {
 public:
  struct Send {
    NodeId to = 0;
    std::vector<RegionId> regions;  // own, of the old segment, ascending
  };
  struct Receive {
    NodeId from = 0;
    // For each fragment, in the order of Send::regions there: the new regions that it is part of.
    std::vector<std::vector<RegionId>> readers;
  };

  Handover() = default;
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;
  virtual ~Handover() = default;

  // Ascending by node; this node itself is among them.
  [[nodiscard]] const std::vector<Send>& sends() const noexcept { return sends_; }
  [[nodiscard]] const std::vector<Receive>& receives() const noexcept { return receives_; }

  // These come from several cores at once. pack() appends the fragment of an old region for
  // sends()[i]; begin() makes the first version of a new region.
  virtual void pack(std::size_t i, RegionId region, Writer& out) const = 0;
  virtual void begin(RegionId region, std::span<const ByteView> fragments) = 0;

 protected:
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
};

template <Model M, class StoreType>
class HandoverOf final : public Handover {
 public:
  using Query = typename M::Query;

  // One segment of a node.
  struct Side {
    const Cut<Query>& cut;
    const TypedPlan<Query>& typed;
    StoreType& store;
  };

  // All outlive it, but for the cuts. `before` has its versions of tick t, or will have them before
  // pack() is called.
  HandoverOf(const M& model, const Side& before, const Side& after, Tick t)
      : model_(model), before_(before.store), after_(after.store), tick_(t) {
    find_sends(before, after);
    find_receives(before, after);
  }

  void pack(std::size_t i, RegionId region, Writer& out) const override {
    before_.save(region, tick_, held_[i], out);
  }
  void begin(RegionId region, std::span<const ByteView> fragments) override {
    after_.begin(region, fragments);
  }

 private:
  void find_sends(const Side& before, const Side& after) {
    const auto own = std::span(before.typed.regions).first(before.typed.plan.n_own);
    const detail::RegionIndex<Query> index(own);
    for (NodeId node = 0; node < after.cut.n_nodes(); ++node) {
      const int m = after.typed.plan.policy.replica_layers;
      Query held = held_query(model_, after.cut.queries[node], m);
      const std::vector<Query> reach{model_.write_dependencies(held)};
      if (model_.disjoint(before.cut.queries[before.typed.plan.self], reach.front())) continue;
      Send send{node, {}};
      for (const RegionId region : near(index, reach.front())) {
        if (region_meets(model_, own[region], std::span<const Query>(reach)))
          send.regions.push_back(region);
      }
      if (send.regions.empty()) continue;
      sends_.push_back(std::move(send));
      held_.push_back(std::move(held));
    }
  }

  void find_receives(const Side& before, const Side& after) {
    const std::vector<Query> reach{model_.write_dependencies(after.typed.held)};
    std::vector<RegionQuery<Query>> fragments;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // in receives_
    for (NodeId node = 0; node < before.cut.n_nodes(); ++node) {
      if (model_.disjoint(before.cut.queries[node], reach.front())) continue;
      Receive receive{node, {}};
      const Policy& policy = before.typed.plan.policy;
      for (RegionQuery<Query>& region : own_regions(model_, before.cut, node, policy)) {
        if (!region_meets(model_, region, std::span<const Query>(reach))) continue;
        places.emplace_back(receives_.size(), receive.readers.size());
        receive.readers.emplace_back();
        fragments.push_back(std::move(region));
      }
      if (!receive.readers.empty()) receives_.push_back(std::move(receive));
    }
    const detail::RegionIndex<Query> index{std::span<const RegionQuery<Query>>(fragments)};
    for (RegionId region = 0; region < after.typed.regions.size(); ++region) {
      std::vector<Query> writers;
      for (const Query& include : after.typed.regions[region].includes)
        writers.push_back(model_.write_dependencies(include));
      for (const RegionId i : near(index, writers.front())) {
        if (!region_meets(model_, fragments[i], std::span<const Query>(writers))) continue;
        receives_[places[i].first].readers[places[i].second].push_back(region);
      }
    }
  }

  // Ascending, each once.
  [[nodiscard]] static std::vector<RegionId> near(const detail::RegionIndex<Query>& index,
                                                  const Query& query) {
    std::vector<RegionId> list = index.near(query);
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  const M& model_;
  const StoreType& before_;
  StoreType& after_;
  const Tick tick_;
  std::vector<Query> held_;  // [sends]
};

}  // namespace rubato::tick

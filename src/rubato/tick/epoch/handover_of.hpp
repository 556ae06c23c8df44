#pragma once
// HandoverOf: a Handover found by a model's functions.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/epoch/handover.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

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

#pragma once
// OrderWatch: around the Dataflow of a node under policy pieces; keeps a book of its own of what is
// there, and holds each unit that is taken against all that could have been taken in its place, by
// equation 1 of [AsyTick 4.3]: alpha * D + beta * tick, smallest first, D in [0, 1), beta > alpha.
// Its Store has no tuples, so that plans of any model run under it.

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/core/wrapped_engine.hpp"
#include "rubato/tick/dataflow.hpp"

namespace rubato::tick::testing {

// Which versions are there, and which of them the asynchronous part of a unit has had.
class BookStore : public Store {
 public:
  explicit BookStore(const Plan& plan) : plan_(plan), n_interacted_(plan.n_own, {-1, 0}) {}

  void step(RegionId region, Tick t, std::uint32_t /*core*/) override { add(region, t + 1); }
  void unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t,
                    ByteView /*payload*/) override {
    for (const RegionId region : plan_.neighbours[neighbour].pieces[i])
      add(region, t);
  }
  bool interact(RegionId region, Tick t, std::span<const RegionId> present,
                std::uint32_t /*core*/) override {
    n_interacted_[region] = {t, present.size()};
    return true;
  }
  [[nodiscard]] bool interacts() const override { return true; }

  [[nodiscard]] bool has(RegionId region, Tick t) const {
    return t == 0 || present_.contains({t, region});
  }
  // Inputs of the unit that are there.
  [[nodiscard]] std::size_t n_present(RegionId region, Tick t) const {
    const auto inputs = plan_.inputs[region];
    return static_cast<std::size_t>(
        std::ranges::count_if(inputs, [&](RegionId input) { return has(input, t); }));
  }
  [[nodiscard]] std::size_t n_interacted(RegionId region, Tick t) const {
    return n_interacted_[region].first == t ? n_interacted_[region].second : 0;
  }

  void pack(std::uint32_t, Tick, Writer&) override {}
  void unpack(std::uint32_t, Tick, ByteView, std::span<const std::uint8_t>) override {}
  void pack_piece(std::uint32_t, std::uint32_t, Tick, Writer&) override {}
  void release(Tick floor) override {
    present_.erase(present_.begin(), present_.lower_bound({floor, 0}));
  }
  [[nodiscard]] Bytes measure(RegionId, Tick) override { return {}; }
  void combine(Bytes&, ByteView) override {}
  [[nodiscard]] bool stop(ByteView, Tick) override { return false; }
  [[nodiscard]] Tick stop_interval() const override { return 0; }
  [[nodiscard]] Tick stop_lag() const override { return 0; }
  [[nodiscard]] Nanos step_cost(RegionId, Tick) const override { return 1; }
  [[nodiscard]] Nanos copy_cost(std::size_t) const override { return 1; }
  [[nodiscard]] std::size_t bytes() const override { return 0; }

 private:
  void add(RegionId region, Tick t) {
    const bool is_new = present_.emplace(t, region).second;
    EXPECT_TRUE(is_new) << "region " << region << " at tick " << t;
  }

  const Plan& plan_;
  std::set<std::pair<Tick, RegionId>> present_;
  std::vector<std::pair<Tick, std::size_t>> n_interacted_;  // [own regions] tick, inputs
};

// Of node 0 of two: own regions with these inputs, and one of the other node, the last. `sources` are
// what that node reads.
[[nodiscard]] inline Plan plan_beside_one(const Policy& policy,
                                          const std::vector<std::vector<RegionId>>& inputs,
                                          const std::vector<RegionId>& sources) {
  Plan plan;
  plan.n_nodes = 2;
  plan.policy = policy;
  plan.n_own = static_cast<std::uint32_t>(inputs.size());
  plan.regions.resize(inputs.size() + 1);
  plan.regions.back() = {1, 0};
  for (const std::vector<RegionId>& of_region : inputs)
    plan.inputs.append(of_region);
  plan.inputs.append({});
  plan.link_readers();
  Neighbour other;
  other.node = 1;
  other.sends_here = other.receives = true;
  other.sources = sources;
  other.regions = {plan.n_own};
  other.pieces.append(other.regions);
  plan.neighbours.push_back(other);
  plan.set_depths();
  return plan;
}

// Of own units and their parts that were taken while another one was ready.
struct OrderCounts {
  std::int64_t units = 0;         // all
  std::int64_t parts = 0;         // all
  std::int64_t over_nearer = 0;   // of a later tick, and nearer to the border
  std::int64_t over_farther = 0;  // of the same tick, and farther from it
};

class OrderWatch final : public core::WrappedEngine {
 public:
  OrderWatch(Dataflow& flow, const Plan& plan, const BookStore& store, std::uint32_t n_cores,
             OrderCounts& counts)
      : WrappedEngine(flow),
        plan_(plan),
        store_(store),
        n_cores_(n_cores),
        counts_(counts),
        distances_(distances_of(plan)),
        next_(plan.n_own, 0),
        is_in_part_(plan.n_own, false) {}

  [[nodiscard]] bool next_work(std::uint32_t /*core*/, core::Work& work) override {
    if (!WrappedEngine::next_work(turn_++ % n_cores_, work)) return false;
    if (work.kind == step_own) {
      expect_first_of_units(work);
      // One unit at a time: what comes after it in its region is of a later tick.
      EXPECT_EQ(Dataflow::stepped_by(work).size(), 1U);
      next_[work.index] = work.tick + 1;
    } else if (work.kind == interact_own) {
      expect_first_of_parts(work);
      is_in_part_[work.index] = true;
    }
    return true;
  }
  void on_finished(core::Port& port, const core::Work& work) override {
    if (work.kind == interact_own) is_in_part_[work.index] = false;
    WrappedEngine::on_finished(port, work);
  }

 private:
  // Steps from the border, at which nodes hear of each other, through the units that read it. Beyond
  // the ticks that a piece may run ahead all are as far. Without a border there is no distance.
  static std::vector<Tick> distances_of(const Plan& plan) {
    const Tick most = plan.policy.depth;
    std::vector<Tick> distances(plan.n_own, most);
    for (const Neighbour& neighbour : plan.neighbours) {
      for (const RegionId source : neighbour.sources)
        distances[source] = 0;
    }
    for (bool changes = true; changes;) {
      changes = false;
      for (RegionId region = 0; region < plan.n_own; ++region) {
        for (const RegionId input : plan.inputs[region]) {
          if (!plan.regions[input].own() || distances[input] <= distances[region] + 1) continue;
          distances[input] = distances[region] + 1;
          changes = true;
        }
      }
    }
    return distances;
  }

  // alpha * D + beta * tick, D = distance / (most + 1), for alpha = 1 and any beta > 1.
  struct Priority {
    Tick tick = 0;
    Tick distance = 0;
    auto operator<=>(const Priority&) const = default;
  };
  [[nodiscard]] Priority priority(RegionId region, Tick t) const { return {t, distances_[region]}; }

  [[nodiscard]] bool is_ready(RegionId region) const {
    const Tick t = next_[region];
    return !is_in_part_[region] && store_.n_present(region, t) == plan_.inputs[region].size();
  }
  // Its step waits for something, but its own tuples are there, and more than it has had so far.
  [[nodiscard]] bool is_ready_in_part(RegionId region) const {
    const Tick t = next_[region];
    if (is_in_part_[region] || !store_.has(region, t)) return false;
    const std::size_t n = store_.n_present(region, t);
    return n < plan_.inputs[region].size() && n > store_.n_interacted(region, t);
  }

  void expect_first_of_units(const core::Work& taken) {
    ++counts_.units;
    EXPECT_TRUE(is_ready(taken.index)) << name(taken.index);
    const Priority mine = priority(taken.index, taken.tick);
    bool is_over_nearer = false;
    bool is_over_farther = false;
    for (RegionId region = 0; region < plan_.n_own; ++region) {
      if (region == taken.index || !is_ready(region)) continue;
      const Priority other = priority(region, next_[region]);
      EXPECT_LE(mine, other) << name(taken.index) << " was taken before " << name(region);
      is_over_nearer |= mine.tick < other.tick && mine.distance > other.distance;
      is_over_farther |= mine.tick == other.tick && mine.distance < other.distance;
    }
    counts_.over_nearer += is_over_nearer ? 1 : 0;
    counts_.over_farther += is_over_farther ? 1 : 0;
  }

  // A core that would be idle: no unit that may run is as early.
  void expect_first_of_parts(const core::Work& taken) {
    ++counts_.parts;
    EXPECT_TRUE(is_ready_in_part(taken.index)) << name(taken.index);
    const Priority mine = priority(taken.index, taken.tick);
    for (RegionId region = 0; region < plan_.n_own; ++region) {
      const Priority other = priority(region, next_[region]);
      if (region != taken.index && is_ready_in_part(region)) {
        EXPECT_LE(mine, other) << "part of " << name(taken.index) << " before " << name(region);
      }
      if (is_ready(region)) {
        EXPECT_LT(mine, other) << "part of " << name(taken.index) << " before all of "
                               << name(region);
      }
    }
  }

  [[nodiscard]] std::string name(RegionId region) const {
    return "(" + std::to_string(region) + ", tick " + std::to_string(next_[region]) +
           ", distance " + std::to_string(distances_[region]) + ")";
  }

  const Plan& plan_;
  const BookStore& store_;
  const std::uint32_t n_cores_;
  OrderCounts& counts_;
  const std::vector<Tick> distances_;  // [own regions]
  std::vector<Tick> next_;             // [own regions] the tick of the unit that runs next
  std::vector<bool> is_in_part_;       // [own regions] its asynchronous part runs
  std::uint32_t turn_ = 0;
};

}  // namespace rubato::tick::testing

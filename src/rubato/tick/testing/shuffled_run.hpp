#pragma once
// A whole run of a model over virtual nodes in a random order: plans, stores, engines and the
// ShuffleDriver put together, for property tests of any model and store.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/plan_builder.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::tick::testing {

struct ShuffledCase {
  Policy policy;
  std::uint32_t n_nodes = 1;
  std::uint32_t n_cores = 1;
  Tick ticks = 10;
  std::uint64_t seed = 0;

  [[nodiscard]] std::string describe() const {
    return "seed " + std::to_string(seed) + ": " + policy.to_string() + ", " +
           std::to_string(n_nodes) + " nodes x " + std::to_string(n_cores) + " cores, " +
           std::to_string(ticks) + " ticks";
  }
};

// Any valid policy, now and then bulk; 1 to 7 nodes, 1 to 3 cores.
[[nodiscard]] inline ShuffledCase random_shuffled_case(std::uint64_t seed) {
  RandomStream random(seed, 3);
  ShuffledCase c;
  c.seed = seed;
  c.policy.replica_layers = static_cast<int>(random.between(0, 5));
  c.policy.period = static_cast<int>(random.between(1, c.policy.replica_layers + 1));
  c.policy.depth = static_cast<int>(random.between(0, 4));
  if (random.between(0, 7) == 0) c.policy = Policy::parse("bulk");
  c.n_nodes = static_cast<std::uint32_t>(random.between(1, 7));
  c.n_cores = static_cast<std::uint32_t>(random.between(1, 3));
  c.ticks = random.between(0, 20);
  return c;
}

template <Model M>
struct ShuffledRun {
  typename M::State state;  // the union of what the nodes own at the end
  Tick end = 0;             // the same on every node, or Error
  std::int64_t replica_units = 0;
  std::int64_t compared_regions = 0;
};

// S is a Store of M with constructor (model, typed plan) and own_state(tick). Throws Error on a
// deadlock and when nodes end at different ticks.
template <class S, Model M>
[[nodiscard]] ShuffledRun<M> run_shuffled(const M& model, const ShuffledCase& c) {
  using Query = typename M::Query;
  const std::vector<Query> parts = model.part(c.n_nodes);
  std::vector<std::unique_ptr<TypedPlan<Query>>> plans;
  std::vector<std::unique_ptr<S>> stores;
  std::vector<std::unique_ptr<Dataflow>> flows;
  std::vector<core::Engine*> engines;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    plans.push_back(std::make_unique<TypedPlan<Query>>(
        build_plan(model, std::span<const Query>(parts), node, c.policy)));
    stores.push_back(std::make_unique<S>(model, *plans.back()));
    flows.push_back(std::make_unique<Dataflow>(plans.back()->plan, *stores.back(),
                                               Dataflow::Options{c.ticks, c.n_cores}));
    engines.push_back(flows.back().get());
  }
  ShuffleDriver(engines, c.n_cores, c.seed).run();
  ShuffledRun<M> run;
  run.end = flows.front()->end();
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    if (flows[node]->end() != run.end) {
      throw Error("node " + std::to_string(node) + " ended at tick " +
                      std::to_string(flows[node]->end()) + ", node 0 at " + std::to_string(run.end),
                  ExitCode::failed);
    }
    model.merge(run.state, stores[node]->own_state(run.end));
    run.replica_units += flows[node]->figures().replica_units;
    run.compared_regions += flows[node]->figures().compared_regions;
  }
  return run;
}

}  // namespace rubato::tick::testing

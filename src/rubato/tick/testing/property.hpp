#pragma once
// What the property tests of all kinds share: a random run (policy, nodes, cores, ticks), the run
// of a model on virtual nodes under the ShuffleDriver, and the comparison with the serial
// reference.

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::tick::testing {

struct RunCase {
  Policy policy;
  std::uint32_t n_nodes = 1;
  std::uint32_t n_cores = 1;
  Tick ticks = 10;
};

inline std::string describe(const RunCase& c) {
  return c.policy.to_string() + ", " + std::to_string(c.n_nodes) + " nodes x " +
         std::to_string(c.n_cores) + " cores, " + std::to_string(c.ticks) + " ticks";
}

inline Policy random_pieces(RandomStream& random) {
  Policy policy;
  policy.pieces = true;
  policy.depth = static_cast<int>(random.between(1, 6));
  return policy;
}

inline RunCase random_run(RandomStream& random) {
  RunCase c;
  c.policy.replica_layers = static_cast<int>(random.between(0, 5));
  c.policy.period = static_cast<int>(random.between(1, c.policy.replica_layers + 1));
  c.policy.depth = static_cast<int>(random.between(0, 4));
  const auto other = random.between(0, 7);
  if (other == 0) c.policy = Policy::parse("bulk");
  if (other == 1 || other == 2) c.policy = random_pieces(random);
  c.n_nodes = static_cast<std::uint32_t>(random.between(1, 7));
  c.n_cores = static_cast<std::uint32_t>(random.between(1, 3));
  c.ticks = random.between(0, 25);
  return c;
}

inline RunCase random_run(std::uint64_t seed) {
  RandomStream random(seed, 3);
  return random_run(random);
}

template <class State>
struct Outcome {
  State state;   // the union of what the nodes own at the end
  Tick end = 0;  // the same on every node
  std::int64_t replica_units = 0;
  std::int64_t compared_regions = 0;
  std::int64_t interactions = 0;
};

// Runs `model` on c.n_nodes virtual nodes that own what `cut` says, each with a StoreType, in an order
// drawn from the seed.
template <class StoreType, Model M>
Outcome<typename M::State> run_shuffled(const M& model, const Cut<typename M::Query>& cut,
                                        const RunCase& c, std::uint64_t seed) {
  using Query = typename M::Query;
  std::vector<std::unique_ptr<TypedPlan<Query>>> plans;
  std::vector<std::unique_ptr<StoreType>> stores;
  std::vector<std::unique_ptr<Dataflow>> flows;
  std::vector<core::Engine*> engines;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    plans.push_back(std::make_unique<TypedPlan<Query>>(build_plan(model, cut, node, c.policy)));
    stores.push_back(std::make_unique<StoreType>(model, *plans.back()));
    flows.push_back(std::make_unique<Dataflow>(plans.back()->plan, *stores.back(),
                                               Dataflow::Options{c.ticks, c.n_cores}));
    engines.push_back(flows.back().get());
  }
  ShuffleDriver(engines, c.n_cores, seed).run();
  Outcome<typename M::State> outcome;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    model.merge(outcome.state, stores[node]->own_state(flows[node]->end()));
    EXPECT_TRUE(node == 0 || flows[node]->end() == outcome.end);
    outcome.end = flows[node]->end();
    outcome.replica_units += flows[node]->figures().replica_units;
    outcome.compared_regions += flows[node]->figures().compared_regions;
    outcome.interactions += flows[node]->figures().interactions;
    // Rounds that wait are bounded by the window, however slow a node is; pieces may come one by one.
    std::size_t n_messages = 1;
    for (const Neighbour& neighbour : plans[node]->plan.neighbours)
      n_messages = std::max(n_messages, neighbour.pieces.size());
    EXPECT_LE(
        flows[node]->figures().inbox_most,
        n_messages * static_cast<std::size_t>(plans[node]->plan.window() / c.policy.period + 1));
  }
  return outcome;
}

template <class StoreType, Model M>
Outcome<typename M::State> expect_equal_run(const M& model, const Cut<typename M::Query>& cut,
                                            const RunCase& c, std::uint64_t seed,
                                            const ReferenceRun<typename M::State>& reference) {
  Outcome<typename M::State> outcome;
  EXPECT_NO_THROW((outcome = run_shuffled<StoreType>(model, cut, c, seed)));
  EXPECT_EQ(outcome.end, reference.ticks);
  EXPECT_TRUE(outcome.state == reference.state);
  return outcome;
}

// Of nodes that own the model's parts.
template <class StoreType, Model M>
Outcome<typename M::State> expect_equal_run(const M& model, const RunCase& c, std::uint64_t seed,
                                            const ReferenceRun<typename M::State>& reference) {
  return expect_equal_run<StoreType>(model, Cut<typename M::Query>{model.part(c.n_nodes), {}, {}},
                                     c, seed, reference);
}

}  // namespace rubato::tick::testing

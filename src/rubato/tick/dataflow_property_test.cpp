// The engine against the serial reference: random worlds, partitions, policies and interleavings,
// each equal bit for bit. The corner that breaks engines comes first: migration with k > 1 and late
// messages.

#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::AgentBox;
using testing::ShuffleDriver;
using testing::SwarmModel;

struct Case {
  SwarmModel::Options world;
  Policy policy;
  std::uint32_t n_nodes = 1;
  std::uint32_t n_cores = 1;
  Tick ticks = 10;
};

std::string describe(const Case& c, std::uint64_t seed) {
  return "seed " + std::to_string(seed) + ": " + c.policy.to_string() + ", " +
         std::to_string(c.n_nodes) + " nodes x " + std::to_string(c.n_cores) + " cores, " +
         std::to_string(c.world.width) + "x" + std::to_string(c.world.height) + ", V " +
         std::to_string(c.world.visibility) + ", R " + std::to_string(c.world.reachability) + ", " +
         std::to_string(c.ticks) + " ticks";
}

Case random_case(std::uint64_t seed) {
  RandomStream random(seed, 1);
  Case c;
  c.world.seed = seed;
  c.world.width = static_cast<std::int32_t>(random.between(8, 60));
  c.world.height = static_cast<std::int32_t>(random.between(8, 60));
  c.world.visibility = static_cast<std::int32_t>(random.between(0, 5));
  c.world.reachability = static_cast<std::int32_t>(random.between(0, 4));
  c.world.n_agents = static_cast<std::uint32_t>(random.between(0, 80));
  c.world.death_in = random.between(0, 1) != 0 ? 30 : 0;
  c.world.birth_in = random.between(0, 1) != 0 ? 35 : 0;
  c.policy.replica_layers = static_cast<int>(random.between(0, 5));
  c.policy.period = static_cast<int>(random.between(1, c.policy.replica_layers + 1));
  c.policy.depth = static_cast<int>(random.between(0, 4));
  if (random.between(0, 7) == 0) c.policy = Policy::parse("bulk");
  c.n_nodes = static_cast<std::uint32_t>(random.between(1, 7));
  c.n_cores = static_cast<std::uint32_t>(random.between(1, 3));
  c.ticks = random.between(0, 25);
  if (random.between(0, 3) == 0) {
    c.world.stop_interval = random.between(1, 4);
    c.world.stop_lag = random.between(0, 6);
    c.world.stop_below = 0xfc000000;
  }
  return c;
}

struct Outcome {
  SwarmModel::State state;
  Tick end = 0;
};

Outcome run_case(const Case& c, std::uint64_t seed) {
  const SwarmModel model(c.world);
  const std::vector<AgentBox> parts = model.part(c.n_nodes);
  std::vector<std::unique_ptr<TypedPlan<AgentBox>>> plans;
  std::vector<std::unique_ptr<FragmentStore<SwarmModel>>> stores;
  std::vector<std::unique_ptr<Dataflow>> flows;
  std::vector<core::Engine*> engines;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    plans.push_back(std::make_unique<TypedPlan<AgentBox>>(
        build_plan(model, std::span<const AgentBox>(parts), node, c.policy)));
    stores.push_back(std::make_unique<FragmentStore<SwarmModel>>(model, *plans.back()));
    flows.push_back(
        std::make_unique<Dataflow>(plans.back()->plan, *stores.back(), Dataflow::Options{c.ticks}));
    engines.push_back(flows.back().get());
  }
  ShuffleDriver(engines, c.n_cores, seed).run();
  Outcome outcome;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    model.merge(outcome.state, stores[node]->own_state(flows[node]->end()));
    EXPECT_TRUE(node == 0 || flows[node]->end() == outcome.end);
    outcome.end = flows[node]->end();
    // Rounds that wait are bounded by the window, however slow a node is.
    EXPECT_LE(flows[node]->figures().inbox_most,
              static_cast<std::size_t>(plans[node]->plan.window() / c.policy.period + 1));
  }
  return outcome;
}

void expect_reference(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(describe(c, seed));
  const SwarmModel model(c.world);
  const auto reference = run_reference(model, model.everything(), c.ticks);
  Outcome outcome;
  ASSERT_NO_THROW(outcome = run_case(c, seed));
  EXPECT_EQ(outcome.end, reference.ticks);
  EXPECT_TRUE(outcome.state == reference.state)
      << outcome.state.size() << " agents, expected " << reference.state.size();
}

std::uint64_t n_seeds() {
  const char* text = std::getenv("RUBATO_SEEDS");
  return text == nullptr ? 100 : std::strtoull(text, nullptr, 10);
}

TEST(DataflowProperty, migration_with_rare_rounds_and_late_messages_equals_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    Case c = random_case(seed);
    c.world.reachability = 3;
    c.policy.barrier = false;
    c.policy.period = 2 + static_cast<int>(seed % 2);
    c.policy.replica_layers = c.policy.period - 1 + static_cast<int>(seed / 2 % 4);
    c.n_nodes = 2 + static_cast<std::uint32_t>(seed % 4);
    expect_reference(c, seed);
    if (HasFailure()) return;
  }
}

TEST(DataflowProperty, every_policy_partition_and_interleaving_equals_the_reference) {
  for (std::uint64_t seed = 1000; seed < 1000 + n_seeds(); ++seed) {
    expect_reference(random_case(seed), seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace rubato::tick

// Points against the serial reference: random worlds in 2D and 3D, with and without edges, births,
// deaths and migration, each partition, policy, number of nodes and interleaving, with the general
// store and with the fast one: equal bit for bit.

#include <memory>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/random_case.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/epoch_run.hpp"
#include "rubato/tick/testing/late_run.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/resumed_run.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::tick {
namespace {

using points::testing::Case;
using points::testing::random_case;
using points::testing::Swarm;

template <class M>
struct Outcome {
  typename M::State state;
  Tick end = 0;
  std::int64_t interactions = 0;
  std::int64_t steps_lent = 0;
};

template <class Store, class M>
Outcome<M> run_case(const M& model, const Case& c, std::uint64_t seed) {
  using Query = typename M::Query;
  const std::vector<Query> parts = model.part(c.n_nodes);
  std::vector<std::unique_ptr<TypedPlan<Query>>> plans;
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<std::unique_ptr<Dataflow>> flows;
  std::vector<core::Engine*> engines;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    plans.push_back(std::make_unique<TypedPlan<Query>>(
        build_plan(model, std::span<const Query>(parts), node, c.policy)));
    stores.push_back(std::make_unique<Store>(model, *plans.back()));
    Dataflow::Options options{c.ticks};
    options.lending = {seed % 2 == 0, Nanos{0}};
    flows.push_back(std::make_unique<Dataflow>(plans.back()->plan, *stores.back(), options));
    engines.push_back(flows.back().get());
  }
  testing::ShuffleDriver(engines, c.n_cores, seed).run();
  Outcome<M> outcome;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node) {
    model.merge(outcome.state, stores[node]->own_state(flows[node]->end()));
    EXPECT_TRUE(node == 0 || flows[node]->end() == outcome.end);
    outcome.end = flows[node]->end();
    outcome.interactions += flows[node]->figures().interactions;
    outcome.steps_lent += flows[node]->figures().steps_lent;
  }
  return outcome;
}

template <class T, int D>
void expect_reference(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(describe(c, seed));
  const Swarm<T, D> swarm(c.world);
  const PointsModel<Swarm<T, D>> model(swarm, c.options);
  using M = PointsModel<Swarm<T, D>>;
  const auto reference = run_reference(model, model.everything(), c.ticks);
  Outcome<M> fast;
  ASSERT_NO_THROW((fast = run_case<PointsStore<Swarm<T, D>>>(model, c, seed)));
  EXPECT_EQ(fast.end, reference.ticks);
  EXPECT_TRUE(fast.state == reference.state)
      << "PointsStore: " << fast.state.size() << " bugs, expected " << reference.state.size();
  Outcome<M> general;
  ASSERT_NO_THROW((general = run_case<FragmentStore<M>>(model, c, seed)));
  EXPECT_EQ(general.end, reference.ticks);
  EXPECT_TRUE(general.state == reference.state)
      << "FragmentStore: " << general.state.size() << " bugs, expected " << reference.state.size();
}

// The same with the tuples counted and cut again at epochs.
template <class T, int D>
void expect_reference_with_epochs(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(describe(c, seed));
  using M = PointsModel<Swarm<T, D>>;
  const M model(Swarm<T, D>(c.world), c.options);
  const auto reference = run_reference(model, model.everything(), c.ticks);
  const testing::RunCase run{c.policy, c.n_nodes, c.n_cores, c.ticks};
  SharingOptions sharing;
  sharing.epoch = 1 + static_cast<Tick>(seed % 6);
  testing::expect_equal_epochs(ProblemOf<M, PointsStore<Swarm<T, D>>, PointsCosts>(model), run,
                               sharing, seed, reference);
  testing::expect_equal_epochs(ProblemOf<M, FragmentStore<M>>(model), run, sharing, seed,
                               reference);
}

// The same with pieces that move; returns how many.
template <class T, int D>
std::int64_t expect_reference_with_moves(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(describe(c, seed));
  using M = PointsModel<Swarm<T, D>>;
  const ProblemOf<M, PointsStore<Swarm<T, D>>, PointsCosts> problem{
      M(Swarm<T, D>(c.world), c.options)};
  const M& model = problem.model();
  testing::RunCase run{c.policy, c.n_nodes, c.n_cores, c.ticks};
  SharingOptions sharing;
  sharing.epoch = 1 + static_cast<Tick>(seed % 6);
  sharing.balance = Balance::persistence;
  sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(seed % 30);
  sharing.lending = {seed % 2 == 0, Nanos{0}};
  const auto n_pieces = static_cast<std::uint32_t>(model.pieces(sharing.n_pieces).size());
  run.n_nodes = std::min(run.n_nodes, n_pieces);
  const auto reference = run_reference(model, model.everything(), c.ticks);
  return testing::expect_equal_epochs(problem, run, sharing, seed, reference).n_pieces;
}

template <class T, int D>
void expect_reference_when_late(const Case& c, std::uint64_t seed, testing::LateCounts& counts) {
  SCOPED_TRACE(describe(c, seed));
  using M = PointsModel<Swarm<T, D>>;
  const ProblemOf<M, PointsStore<Swarm<T, D>>, PointsCosts> problem{
      M(Swarm<T, D>(c.world), c.options)};
  const M& model = problem.model();
  testing::expect_equal_when_late(problem, {c.policy, c.n_nodes, c.n_cores, c.ticks}, seed,
                                  run_reference(model, model.everything(), c.ticks), counts);
}

template <class T, int D>
void expect_reference_when_resumed(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(describe(c, seed));
  using M = PointsModel<Swarm<T, D>>;
  const ProblemOf<M, PointsStore<Swarm<T, D>>, PointsCosts> problem{
      M(Swarm<T, D>(c.world), c.options)};
  const M& model = problem.model();
  RandomStream random(seed, 4);
  testing::expect_equal_when_resumed(problem, {c.policy, c.n_nodes, c.n_cores, c.ticks},
                                     c.world.stop_lag, random,
                                     run_reference(model, model.everything(), c.ticks));
}

// expect(case, seed) for as many random cases, until one fails.
template <class F>
void for_all_seeds(std::uint64_t first, F&& expect, std::uint64_t n_seeds = rubato::n_seeds()) {
  for (std::uint64_t seed = first; seed < first + n_seeds; ++seed) {
    Case c = random_case(seed);
    if (seed % 2 == 0) {
      // The hard corner: migration with rare rounds, late messages and replicas.
      c.policy.barrier = c.policy.pieces = false;
      c.policy.period = 2 + static_cast<int>(seed % 3);
      c.policy.replica_layers = c.policy.period - 1 + static_cast<int>(seed / 2 % 3);
      c.n_nodes = 2 + static_cast<std::uint32_t>(seed % 4);
    }
    expect(c, seed);
    if (::testing::Test::HasFailure()) return;
  }
}

// In 3D a run takes three times as long.
template <class T, int D>
void expect_all_seeds(std::uint64_t first) {
  for_all_seeds(first, expect_reference<T, D>, n_seeds() / (D - 1));
}

TEST(PointsProperty, floats_in_2d_equal_the_reference) {
  expect_all_seeds<float, 2>(0);
}
TEST(PointsProperty, doubles_in_2d_equal_the_reference) {
  expect_all_seeds<double, 2>(10'000);
}
TEST(PointsProperty, floats_in_3d_equal_the_reference) {
  expect_all_seeds<float, 3>(20'000);
}
TEST(PointsProperty, doubles_in_3d_equal_the_reference) {
  expect_all_seeds<double, 3>(30'000);
}
TEST(PointsProperty, steps_in_part_equal_the_reference) {
  std::int64_t n_interactions = 0;
  std::int64_t n_lent = 0;
  for (std::uint64_t seed = 70'000; seed < 70'000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 5);
    Case c = random_case(seed);
    c.policy = testing::random_pieces(random);
    c.n_nodes = static_cast<std::uint32_t>(random.between(2, 5));
    SCOPED_TRACE(describe(c, seed));
    const PointsModel<Swarm<float, 2>> model(Swarm<float, 2>(c.world), c.options);
    const auto reference = run_reference(model, model.everything(), c.ticks);
    const auto run = run_case<PointsStore<Swarm<float, 2>>>(model, c, seed);
    EXPECT_EQ(run.end, reference.ticks);
    EXPECT_TRUE(run.state == reference.state);
    n_interactions += run.interactions;
    n_lent += run.steps_lent;
  }
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds()));
  EXPECT_GT(n_lent, static_cast<std::int64_t>(n_seeds()));
}
TEST(PointsProperty, floats_in_2d_that_are_cut_again_at_epochs_equal_the_reference) {
  for_all_seeds(40'000, expect_reference_with_epochs<float, 2>);
}
TEST(PointsProperty, doubles_in_3d_that_are_cut_again_at_epochs_equal_the_reference) {
  // Ten times as slow as those in 2D, of which there are all.
  for_all_seeds(50'000, expect_reference_with_epochs<double, 3>, n_seeds() / 4);
}

TEST(PointsProperty, runs_whose_pieces_move_equal_the_reference) {
  std::int64_t n_moved = 0;
  for_all_seeds(90'000, [&](const Case& c, std::uint64_t seed) {
    n_moved += expect_reference_with_moves<float, 2>(c, seed);
  });
  for_all_seeds(
      95'000,
      [&](Case c, std::uint64_t seed) {
        RandomStream random(seed, 6);
        c.policy = testing::random_pieces(random);
        n_moved += expect_reference_with_moves<double, 3>(c, seed);
      },
      n_seeds() / 4);
  EXPECT_GT(n_moved, static_cast<std::int64_t>(n_seeds()));
}

// Policy auto, mostly with choices at random.
TEST(PointsProperty, runs_whose_policy_changes_at_epochs_equal_the_reference) {
  using M = PointsModel<Swarm<float, 2>>;
  std::int64_t n_changes = 0;
  for_all_seeds(
      110'000,
      [&](const Case& c, std::uint64_t seed) {
        RandomStream random(seed, 7);
        const ProblemOf<M, PointsStore<Swarm<float, 2>>, PointsCosts> problem{
            M(Swarm<float, 2>(c.world), c.options)};
        n_changes += testing::expect_equal_auto(problem, random, seed);
      },
      n_seeds() / 2);
  EXPECT_GT(n_changes, static_cast<std::int64_t>(n_seeds() / 2));
}

TEST(PointsProperty, runs_that_begin_with_a_saved_state_equal_the_reference) {
  for_all_seeds(70'000, expect_reference_when_resumed<float, 2>, n_seeds() / 2);
  for_all_seeds(80'000, expect_reference_when_resumed<double, 3>, n_seeds() / 8);
}

TEST(PointsProperty, late_networks_do_not_show_in_the_state) {
  testing::LateCounts counts;
  for_all_seeds(60'000, [&](const Case& c, std::uint64_t seed) {
    expect_reference_when_late<float, 2>(c, seed, counts);
  });
  counts.expect_all_in(n_seeds());
  EXPECT_GT(counts.steps_lent, 0);
}

}  // namespace
}  // namespace rubato::tick

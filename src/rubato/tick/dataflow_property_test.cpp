// The engine against the serial reference: random worlds, partitions, policies and interleavings,
// each equal bit for bit. The corner that breaks engines comes first: migration with k > 1 and late
// messages.

#include <gtest/gtest.h>

#include "rubato/tick/testing/epoch_run.hpp"
#include "rubato/tick/testing/late_run.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/resumed_run.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::random_world;
using testing::SwarmModel;

void expect_reference(const SwarmModel::Options& world, const testing::RunCase& c,
                      std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c) + ", " +
               std::to_string(world.width) + "x" + std::to_string(world.height) + ", V " +
               std::to_string(world.visibility) + ", R " + std::to_string(world.reachability));
  const SwarmModel model(world);
  testing::expect_equal_run<FragmentStore<SwarmModel>>(
      model, c, seed, run_reference(model, model.everything(), c.ticks));
}

TEST(DataflowProperty, migration_with_rare_rounds_and_late_messages_equals_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    SwarmModel::Options world = random_world(seed, random);
    world.reachability = 3;
    testing::RunCase c = testing::random_run(random);
    c.policy.barrier = c.policy.pieces = false;
    c.policy.period = 2 + static_cast<int>(seed % 2);
    c.policy.replica_layers = c.policy.period - 1 + static_cast<int>(seed / 2 % 4);
    c.n_nodes = 2 + static_cast<std::uint32_t>(seed % 4);
    expect_reference(world, c, seed);
  }
}

TEST(DataflowProperty, every_policy_partition_and_interleaving_equals_the_reference) {
  for (std::uint64_t seed = 1000; seed < 1000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const SwarmModel::Options world = random_world(seed, random);
    expect_reference(world, testing::random_run(random), seed);
  }
}

// The step in two parts, of which the first one runs ahead where a core would be idle.
TEST(DataflowProperty, steps_in_two_parts_equal_the_reference_of_whole_ones) {
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = 4000; seed < 4000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const SwarmModel::Options world = random_world(seed, random);
    testing::RunCase c = testing::random_run(random);
    if (seed % 4 != 0) c.policy = testing::random_pieces(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const SwarmModel whole(world);
    const auto reference = run_reference(whole, whole.everything(), c.ticks);
    n_interactions += testing::expect_equal_run<FragmentStore<testing::SwarmInParts>>(
                          testing::SwarmInParts(world), c, seed, reference)
                          .interactions;
  }
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(2 * n_seeds()));
}

// The swarm's cuts have nothing in common from one epoch to the next; emigrants, halos of several
// layers and stop decisions under way cross each of them.
TEST(DataflowProperty, runs_that_are_cut_again_at_epochs_equal_the_reference) {
  for (std::uint64_t seed = 2000; seed < 2000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const SwarmModel::Options world = random_world(seed, random);
    const testing::RunCase c = testing::random_run(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const ProblemOf<SwarmModel, FragmentStore<SwarmModel>> problem{SwarmModel(world)};
    const SwarmModel& model = problem.model();
    SharingOptions sharing;
    sharing.epoch = random.between(1, 8);
    testing::expect_equal_epochs(problem, c, sharing, seed,
                                 run_reference(model, model.everything(), c.ticks));
  }
}

// Pieces of any shape with any owner; some nodes take eight times as long as others.
TEST(DataflowProperty, runs_whose_pieces_move_equal_the_reference) {
  using testing::PieceSwarm;
  std::int64_t n_moved = 0;
  for (std::uint64_t seed = 6000; seed < 6000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const SwarmModel::Options world = random_world(seed, random);
    testing::RunCase c = testing::random_run(random);
    if (seed % 2 == 0) c.policy = testing::random_pieces(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const ProblemOf<PieceSwarm, FragmentStore<PieceSwarm>> problem{PieceSwarm(world)};
    SharingOptions sharing;
    sharing.epoch = random.between(1, 8);
    sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 25));
    if (random.between(0, 3) != 0) sharing.balance = Balance::persistence;
    const auto reference = run_reference(problem.model(), problem.model().everything(), c.ticks);
    n_moved += testing::expect_equal_epochs(problem, c, sharing, seed, reference).n_pieces;
  }
  EXPECT_GT(4 * n_moved, static_cast<std::int64_t>(n_seeds()));
}

// Policy auto, mostly with choices at random: another policy, pieces that move and pieces that do not.
TEST(DataflowProperty, runs_whose_policy_changes_at_epochs_equal_the_reference) {
  using testing::PieceSwarm;
  std::int64_t n_changes = 0;
  for (std::uint64_t seed = 8000; seed < 8000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const ProblemOf<PieceSwarm, FragmentStore<PieceSwarm>> problem{
        PieceSwarm(random_world(seed, random))};
    n_changes += testing::expect_equal_auto(problem, random, seed);
  }
  EXPECT_GT(n_changes, static_cast<std::int64_t>(n_seeds()));
}

TEST(DataflowProperty, runs_that_begin_with_a_saved_state_equal_the_reference) {
  for (std::uint64_t seed = 4000; seed < 4000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const SwarmModel::Options world = random_world(seed, random);
    const testing::RunCase c = testing::random_run(random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ProblemOf<SwarmModel, FragmentStore<SwarmModel>> problem{SwarmModel(world)};
    const SwarmModel& model = problem.model();
    testing::expect_equal_when_resumed(problem, c, world.stop_lag, random,
                                       run_reference(model, model.everything(), c.ticks));
  }
}

TEST(DataflowProperty, late_networks_do_not_show_in_the_state) {
  testing::LateCounts counts;
  for (std::uint64_t seed = 3000; seed < 3000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const SwarmModel::Options world = random_world(seed, random);
    const testing::RunCase c = testing::random_run(random);
    const ProblemOf<SwarmModel, FragmentStore<SwarmModel>> problem{SwarmModel(world)};
    const SwarmModel& model = problem.model();
    testing::expect_equal_when_late(problem, c, seed,
                                    run_reference(model, model.everything(), c.ticks), counts);
  }
  // Its queries are boxes, which join to none, and it has no sizes: what goes with those is below.
  EXPECT_GT(counts.n_epochs, static_cast<std::int64_t>(n_seeds()));
}

TEST(DataflowProperty, late_networks_do_not_show_in_the_state_of_pieces) {
  using testing::PieceSwarmInParts;
  testing::LateCounts counts;
  for (std::uint64_t seed = 9000; seed < 9000 + n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 1);
    const ProblemOf<PieceSwarmInParts, FragmentStore<PieceSwarmInParts>> problem{
        PieceSwarmInParts(random_world(seed, random))};
    const testing::RunCase c = testing::random_run(random);
    const auto& model = problem.model();
    testing::expect_equal_when_late(problem, c, seed,
                                    run_reference(model, model.everything(), c.ticks), counts);
  }
  counts.expect_all_in(n_seeds());
}

}  // namespace
}  // namespace rubato::tick

// Epochs, moves of the balancer, pieces, policy auto, checkpoints and kills, all of them in one run:
// random models of all kinds under random policies and networks die at random moments, go on from the newest checkpoint on the
// disk as something else, and end as the serial reference does.

#include <iostream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/mixing.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/random_case.hpp"
#include "rubato/tick/testing/grid_cases.hpp"
#include "rubato/tick/testing/killed_run.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"

namespace rubato::tick {
namespace {

using testing::KillCounts;

class KillsProperty : public ::testing::Test {
 protected:
  // f(seed, random) for each seed of a test, until one fails: `usual` of them, 260 in all tests.
  template <class F>
  void for_all_seeds(std::uint64_t first, std::uint64_t usual, F&& f) {
    const std::uint64_t n = n_seeds(usual);
    for (std::uint64_t seed = first; seed < first + n && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      RandomStream random(seed, 51);
      f(seed, random);
    }
    std::cout << "[  KILLS   ] " << counts_.text() << "\n";
    RecordProperty("kills", counts_.text());
    if (HasFailure()) return;
    // The corners were reached, each in so many of a hundred runs at least.
    const auto at_least = [n](std::int64_t percent) {
      return static_cast<std::int64_t>(n) * percent;
    };
    EXPECT_GE(100 * counts_.kills, at_least(80));
    EXPECT_GE(100 * counts_.while_moving, at_least(10));
    EXPECT_GE(100 * counts_.of_all_nodes, at_least(25));
    EXPECT_GE(100 * counts_.of_resumed, at_least(15));
    EXPECT_GE(100 * counts_.before_any_checkpoint, at_least(5));
    EXPECT_GE(100 * counts_.torn, at_least(5));
    EXPECT_GE(100 * counts_.of_auto, at_least(15));
    if (n >= 50) {
      EXPECT_GT(counts_.n_epochs, 0);
      EXPECT_GT(counts_.epochs_of_auto, 0);
      EXPECT_EQ(counts_.pieces_moved > 0, have_pieces_);
      EXPECT_EQ(counts_.resized > 0, have_pieces_);
      EXPECT_EQ(counts_.steps_lent > 0, lend_);
    }
  }

  template <class P>
  void expect_equal(const P& problem, Tick ticks, RandomStream& random,
                    Policy (*policy)(RandomStream&) = testing::random_policy) {
    const auto& model = problem.model();
    have_pieces_ |= problem.has_pieces();
    lend_ |= problem.lends();
    testing::KilledRun<P>(problem, ticks, folder_, random, counts_, policy)
        .expect_equal(run_reference(model, model.everything(), ticks));
  }

  // In memory if it can be: where others keep the disk busy, files that are made durable take all of
  // the time.
  [[nodiscard]] static std::string scratch() {
    const std::string memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : ::testing::TempDir();
  }

  KillCounts counts_;
  bool have_pieces_ = false;  // some of the models
  bool lend_ = false;
  const std::string folder_ = scratch() + "/rubato-kills-" + std::to_string(::getpid());
};

TEST_F(KillsProperty, general_models_end_as_the_reference_however_often_they_are_killed) {
  using testing::PieceSwarm;
  using testing::PieceSwarmInParts;
  for_all_seeds(100'000, 70, [&](std::uint64_t seed, RandomStream& random) {
    const auto world = testing::random_world(seed, random);
    const Tick ticks = random.between(4, 40);
    if (seed % 2 == 0) {
      expect_equal(ProblemOf<PieceSwarm, FragmentStore<PieceSwarm>>(PieceSwarm(world)), ticks,
                   random);
    } else {
      using Parts = PieceSwarmInParts;
      expect_equal(ProblemOf<Parts, FragmentStore<Parts>>(Parts(world)), ticks, random);
    }
  });
}

template <class T, int D>
using Bugs = ProblemOf<PointsModel<points::testing::Swarm<T, D>>,
                       PointsStore<points::testing::Swarm<T, D>>, PointsCosts>;

TEST_F(KillsProperty, points_end_as_the_reference_however_often_they_are_killed) {
  for_all_seeds(200'000, 50, [&](std::uint64_t seed, RandomStream& random) {
    const points::testing::Case c = points::testing::random_case(seed);
    const Tick ticks = random.between(4, 20);
    if (seed % 16 != 0) {
      using points::testing::Swarm;
      expect_equal(Bugs<float, 2>(PointsModel(Swarm<float, 2>(c.world), c.options)), ticks, random);
    } else {
      using points::testing::Swarm;
      expect_equal(Bugs<double, 3>(PointsModel(Swarm<double, 3>(c.world), c.options)), ticks,
                   random);
    }
  });
}

TEST_F(KillsProperty, graphs_end_as_the_reference_however_often_they_are_killed) {
  using testing::Mixing;
  using testing::MixingInParts;
  using Model = GraphModel<Mixing>;
  using InParts = GraphModel<MixingInParts>;
  for_all_seeds(300'000, 80, [&](std::uint64_t seed, RandomStream& random) {
    const Tick ticks = random.between(4, 40);
    if (seed % 4 == 0) {
      expect_equal(ProblemOf<Model, FragmentStore<Model>>(testing::random_model(seed)), ticks,
                   random);
    } else if (seed % 2 == 0) {
      expect_equal(
          ProblemOf<Model, GraphStore<Mixing>, GraphStoreOptions>(testing::random_model(seed)),
          ticks, random);
    } else {
      expect_equal(ProblemOf<InParts, GraphStore<MixingInParts>, GraphStoreOptions>(
                       testing::random_model<MixingInParts>(seed)),
                   ticks, random);
    }
  });
}

template <class U>
using AnewGrid = ProblemOf<testing::CutAnew<U>, GridStore<U>, GridStoreOptions>;
template <class U>
using OwnGrid = ProblemOf<GridModel<U>, GridStore<U>, GridStoreOptions>;

// Rounds that are rare keep versions of several of them in use.
Policy random_grid_policy(RandomStream& random) {
  return random.between(0, 3) == 0 ? testing::with_rare_rounds(random).policy
                                   : testing::random_policy(random);
}

template <class Model>
Model random_model(RandomStream& random) {
  auto user = testing::random_grid<typename Model::User>(random);
  const std::int64_t tile_cells = random.between(1, 60);
  const Tick skew = random.between(1, 5);
  return Model(std::move(user), tile_cells, skew, testing::random_slices<Model>(random));
}

// Of all numbers of dimensions; cut anew by chance, or by how fast nodes are.
TEST_F(KillsProperty, grids_end_as_the_reference_however_often_they_are_killed) {
  using testing::CutAnew;
  for_all_seeds(400'000, 60, [&](std::uint64_t seed, RandomStream& random) {
    const Tick ticks = random.between(4, 30);
    const auto check = [&](const auto& problem) {
      expect_equal(problem, ticks, random, random_grid_policy);
    };
    if (seed % 8 == 0) {
      using User = testing::MixingGrid<3, 1, 1, false>;
      check(OwnGrid<User>(random_model<GridModel<User>>(random)));
    } else if (seed % 4 == 1) {
      using User = testing::MixingGrid<1, 1, 2, false>;
      check(AnewGrid<User>(random_model<CutAnew<User>>(random)));
    } else if (seed % 4 == 2) {
      using User = testing::MixingGrid<2, 2, 1, true>;
      check(OwnGrid<User>(random_model<GridModel<User>>(random)));
    } else if (seed % 8 == 3) {
      using User = testing::MixingGridInParts<2, 1, 1, testing::Stencil::star>;
      check(OwnGrid<User>(random_model<GridModel<User>>(random)));
    } else {
      using User = testing::MixingGrid<2, 1, 1, false>;
      check(AnewGrid<User>(random_model<CutAnew<User>>(random)));
    }
  });
}

}  // namespace
}  // namespace rubato::tick

// The models on simulated networks that are late in random ways, each run bit for bit the
// serial reference: as the command line builds them, with the stores that they run with.

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/models/app_fish.hpp"
#include "rubato/models/app_heat.hpp"
#include "rubato/models/app_jacobi.hpp"
#include "rubato/models/app_nbody.hpp"
#include "rubato/models/app_pagerank.hpp"
#include "rubato/models/app_traffic.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/late_run.hpp"

namespace rubato::models {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;
using tick::testing::RunCase;

// Of the seeds, those that have at least one node with a neighbour.
struct Reached {
  std::uint64_t n_runs_of_many = 0;
  std::uint64_t n_stopped = 0;
};

// `settings` draws parameters; P is what `make` builds.
template <class P>
Reached expect_reference_when_late(std::unique_ptr<tick::App> (*make)(),
                                   Settings (*settings)(RandomStream&), std::uint64_t first_seed) {
  Reached reached;
  tick::testing::LateCounts counts;
  for (std::uint64_t seed = first_seed;
       seed < first_seed + n_seeds() && !::testing::Test::HasFailure(); ++seed) {
    RandomStream random(seed, 41);
    RunCase c = tick::testing::random_run(random);
    c.n_nodes = std::min(c.n_nodes, 4U);
    c.ticks = random.between(1, 30);
    const auto app = make();
    tick::Parameters parameters;
    app->declare(parameters);
    for (const auto& [name, text] : settings(random))
      parameters.set(name, text);
    const auto problem = app->build();
    const auto& typed = dynamic_cast<const P&>(*problem);
    const auto reference = tick::run_reference(typed.model(), typed.model().everything(), c.ticks);
    tick::testing::expect_equal_when_late(typed, c, seed, reference, counts);
    reached.n_runs_of_many += c.n_nodes > 1 ? 1 : 0;
    reached.n_stopped += reference.ticks < c.ticks ? 1 : 0;
  }
  return reached;
}

std::string number(RandomStream& random, std::int64_t low, std::int64_t high) {
  return std::to_string(random.between(low, high));
}
std::string flag(RandomStream& random) {
  return random.between(0, 1) != 0 ? "true" : "false";
}

TEST(LateNetworks, do_not_show_in_a_school_of_fish) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"fish", number(random, 30, 120)},
            {"neighbours", number(random, 2, 12)},
            {"rho", "3"},
            {"reflecting", flag(random)},
            {"noise", random.between(0, 1) != 0 ? "gaussian" : "uniform"},
            {"partition", random.between(0, 1) != 0 ? "grid" : "quadtree"},
            // Both are of the world that so many fish and neighbours need, or larger.
            {"width", "40"},
            {"height", "40"}};
  };
  const Reached reached = expect_reference_when_late<FishProblem>(make_fish_app, settings, 100);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
}

TEST(LateNetworks, do_not_show_in_a_world_of_bodies) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"bodies", number(random, 30, 120)},
            {"seed", number(random, 1, 1000)},
            {"radius", "3"},
            {"softening", "0.3"},
            {"gravity", number(random, -2, 4)},
            {"dt", "0.1"},
            {"speed-limit", "20"},
            {"clusters", number(random, 0, 3)},
            {"reflecting", flag(random)},
            {"partition", random.between(0, 1) != 0 ? "grid" : "quadtree"},
            {"width", "30"},
            {"height", "40"}};
  };
  const Reached reached =
      expect_reference_when_late<NBodyProblem<float, 2>>(make_nbody_app, settings, 500);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
}

TEST(LateNetworks, do_not_show_in_a_world_of_bodies_in_space) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"bodies", number(random, 30, 80)},
            {"seed", number(random, 1, 1000)},
            {"dimensions", "3"},
            {"precision", "double"},
            {"gravity", "0.1"},
            {"clusters", number(random, 0, 2)},
            {"reflecting", flag(random)},
            {"width", "4"}};
  };
  const Reached reached =
      expect_reference_when_late<NBodyProblem<double, 3>>(make_nbody_app, settings, 600);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
}

TEST(LateNetworks, do_not_show_in_heat) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"width", number(random, 9, 40)},
            {"height", number(random, 9, 40)},
            {"edge", number(random, -3, 3)},
            {"start", "1"},
            {"tolerance", random.between(0, 2) == 0 ? "4" : "0"},
            {"test-interval", number(random, 1, 4)},
            {"test-lag", number(random, 0, 4)}};
  };
  const Reached reached = expect_reference_when_late<HeatProblem>(make_heat_app, settings, 200);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
  EXPECT_GT(reached.n_stopped, n_seeds() / 50);
}

TEST(LateNetworks, do_not_show_in_ranks) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"vertices", number(random, 20, 400)},
            {"degree", number(random, 1, 5)},
            {"seed", number(random, 1, 1000)},
            {"damping", "0.6"},
            {"tolerance", random.between(0, 1) != 0 ? "1e-4" : "0"},
            {"test-interval", number(random, 1, 4)},
            {"test-lag", number(random, 0, 4)}};
  };
  const Reached reached =
      expect_reference_when_late<PageRankProblem>(make_pagerank_app, settings, 300);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
  EXPECT_GT(reached.n_stopped, n_seeds() / 50);
}

TEST(LateNetworks, do_not_show_in_the_solution_of_a_system) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"rows", number(random, 20, 300)},
            {"degree", number(random, 1, 6)},
            {"seed", number(random, 1, 1000)},
            {"b", random.between(0, 1) != 0 ? "ones" : "random"},
            {"tolerance", random.between(0, 1) != 0 ? "1e-2" : "0"},
            {"norm", random.between(0, 1) != 0 ? "l2" : "max"},
            {"test-interval", number(random, 1, 4)},
            {"test-lag", number(random, 0, 4)}};
  };
  const Reached reached = expect_reference_when_late<JacobiProblem>(make_jacobi_app, settings, 700);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
  EXPECT_GT(reached.n_stopped, n_seeds() / 50);
}

TEST(LateNetworks, do_not_show_in_traffic) {
  const auto settings = [](RandomStream& random) -> Settings {
    return {{"columns", number(random, 2, 5)},
            {"rows", number(random, 2, 5)},
            {"lanes", number(random, 1, 3)},
            {"block", number(random, 9, 16)},
            {"density", "200"},
            {"inflow", number(random, 0, 400)},
            {"dawdle", number(random, 0, 300)}};
  };
  const Reached reached =
      expect_reference_when_late<TrafficProblem>(make_traffic_app, settings, 400);
  EXPECT_GT(reached.n_runs_of_many, n_seeds() / 2);
}

}  // namespace
}  // namespace rubato::models

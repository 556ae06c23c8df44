#pragma once
// Random runs of the swarm of bugs (swarm.hpp), for property tests.

#include <cstdint>
#include <string>

#include "rubato/base/random.hpp"
#include "rubato/tick/points/points_model.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::tick::points::testing {

// A world of bugs, how it is cut, and a run of it.
struct Case {
  SwarmOptions world;
  PointsOptions options;
  Policy policy;
  std::uint32_t n_nodes = 1;
  std::uint32_t n_cores = 1;
  Tick ticks = 10;
};

inline std::string describe(const Case& c, std::uint64_t seed) {
  std::string text = "seed " + std::to_string(seed) + ": " + c.policy.to_string() + ", " +
                     std::to_string(c.n_nodes) + " nodes x " + std::to_string(c.n_cores) +
                     " cores, V " + std::to_string(c.world.visibility) + ", R " +
                     std::to_string(c.world.reachability) + ", " + std::to_string(c.world.n_bugs) +
                     " bugs, " + std::to_string(c.ticks) + " ticks, world";
  for (std::size_t d = 0; d < 3; ++d) {
    text += " " + std::to_string(c.world.high[d] - c.world.low[d]) +
            (c.world.periodic[d] ? " periodic" : "");
  }
  return text;
}

inline Case random_case(std::uint64_t seed) {
  RandomStream random(seed, 2);
  Case c;
  c.world.seed = seed;
  for (std::size_t d = 0; d < 3; ++d) {
    c.world.low[d] = static_cast<double>(random.between(-3, 3));
    c.world.high[d] = c.world.low[d] + 4.0 + 10.0 * random.unit();
    c.world.periodic[d] = random.between(0, 1) != 0;
  }
  c.world.visibility = random.between(0, 9) == 0 ? 0.0 : 0.3 + random.unit();
  c.world.reachability = random.between(0, 9) == 0 ? 0.0 : 1.2 * random.unit();
  c.world.n_bugs = static_cast<std::uint32_t>(random.between(0, 250));
  c.world.death_in = random.between(0, 1) != 0 ? 30 : 0;
  c.world.birth_in = random.between(0, 1) != 0 ? 35 : 0;
  c.world.crowd = random.between(0, 2) == 0;
  c.options.partition =
      random.between(0, 1) != 0 ? PointsPartition::quadtree : PointsPartition::grid;
  c.options.tiles_least = random.between(1, 12);
  c.policy.replica_layers = static_cast<int>(random.between(0, 4));
  c.policy.period = static_cast<int>(random.between(1, c.policy.replica_layers + 1));
  c.policy.depth = static_cast<int>(random.between(0, 4));
  const auto other = random.between(0, 7);
  if (other == 0) c.policy = Policy::parse("bulk");
  if (other == 1 || other == 2) c.policy = tick::testing::random_pieces(random);
  c.n_nodes = static_cast<std::uint32_t>(random.between(1, 7));
  c.n_cores = static_cast<std::uint32_t>(random.between(1, 3));
  c.ticks = random.between(0, 14);
  if (random.between(0, 3) == 0) {
    c.world.stop_interval = random.between(1, 4);
    c.world.stop_lag = random.between(0, 6);
    c.world.stop_below = 0xfe000000;
  }
  return c;
}

}  // namespace rubato::tick::points::testing

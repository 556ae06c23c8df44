// Question: on 50 hosts whose network is late now and then, what do scheduling and replication gain
// for a model whose tuples move between hosts?
// Hypothesis: with ticks of 1 ms latency decides, so two ticks a message and three layers of
// replicas, with the inside running ahead, gain more than 2.5 over waiting for the neighbours.

#include <cmath>
#include <numbers>

#include "bench/harness.hpp"
#include "rubato/models/app_fish.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

constexpr int kColumns = 10;
constexpr int kRows = 5;

// Fish that keep their distance and all know the way stay evenly spread, as those of [Ticks 6.1]:
// 1,500 a host, whose tick costs 1 ms. A host is some 28 sights wide.
models::FishProblem school(std::uint64_t seed) {
  constexpr double kFishAHost = 1500;
  constexpr double kNeighbours = 6;
  constexpr double kSight = 6;
  const double side = std::sqrt(kFishAHost / kNeighbours * std::numbers::pi) * kSight;
  models::FishOptions fish;
  fish.n = static_cast<std::uint64_t>(kFishAHost) * kColumns * kRows;
  fish.seed = seed;
  fish.width = side * kColumns;
  fish.height = side * kRows;
  fish.rho = kSight;
  fish.alpha = 3;
  fish.informed = 1;
  fish.omega = 2;
  tick::PointsCosts costs;  // a fish costs as much as 15 pairs
  costs.pair = 1e6 / (kFishAHost * (15 + kNeighbours));
  costs.tuple = 15 * costs.pair;
  return models::FishProblem(tick::PointsModel(models::FishModel(fish)), costs);
}

Report run(const Options& options) {
  const tick::Tick ticks = options.quick ? 100 : 300;
  const int n_rounds = options.quick ? 1 : 5;
  const auto problem = school(options.seed);
  const std::vector<const char*> policies{"local", "k2m3d10"};
  std::vector<std::vector<double>> rates(policies.size());
  for (int round = 0; round < n_rounds; ++round) {
    tick::SimulationOptions simulation;
    simulation.n_nodes = kColumns * kRows;
    simulation.profile = net::parse_profile("ec2-large,rate=1000");
    simulation.seed = options.seed + static_cast<std::uint64_t>(round);
    std::uint64_t checksum = 0;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      options.begin_round(round, n_rounds, policies[i]);
      const auto result =
          tick::simulate(problem, tick::Policy::parse(policies[i]), ticks, simulation);
      if (checksum == 0) checksum = result.checksum;
      RUBATO_REQUIRE(result.checksum == checksum, policies[i]);
      rates[i].push_back(result.ticks_per_second());
    }
  }
  Report report;
  report.nodes = kColumns * kRows;
  report.rows = {compare_row("k2m3d10", "ticks/s", rates[1], "local", rates[0], "ratio >= 2.5")};
  return report;
}

}  // namespace

Benchmark tick_sim_fish() {
  return {"tick-sim-fish",
          "fish on 50 virtual hosts, 1 ms ticks, ec2-large: what do k, m and d gain over local?",
          run};
}

}  // namespace rubato::bench

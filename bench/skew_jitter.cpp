// Question: where a network is late now and then and one of the hosts takes twice as long, is what
// auto chooses as good as the best of all fixed settings, and what does it gain over simple ones?
// Hypothesis: balancing takes the slow host's excess away, replicas and scheduling hide the spikes;
// a simple policy has neither, so that auto gains more than 1.5.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/steady.hpp"
#include "rubato/models/app_fish.hpp"
#include "rubato/tick/tune/tuner.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kHosts = 16;
constexpr std::uint32_t kSlow = 5;  // one in the middle
constexpr std::uint32_t kPieces = 512;

// Fish that stay evenly spread, 800 a host, whose tick costs 1 ms on a host that is not slow.
models::FishProblem school(std::uint64_t seed) {
  constexpr double kFishAHost = 800;
  constexpr double kNeighbours = 6;
  constexpr double kSight = 6;
  const double side = std::sqrt(kFishAHost / kNeighbours * std::numbers::pi) * kSight;
  models::FishOptions fish;
  fish.n = static_cast<std::uint64_t>(kFishAHost) * kHosts;
  fish.seed = seed;
  fish.width = fish.height = side * 4;
  fish.rho = kSight;
  fish.alpha = 3;
  fish.informed = 1;
  fish.omega = 2;
  tick::PointsCosts costs;  // a fish costs as much as 15 pairs
  costs.pair = 1e6 / (kFishAHost * (15 + kNeighbours));
  costs.tuple = 15 * costs.pair;
  return models::FishProblem(tick::PointsModel(models::FishModel(fish)), costs);
}

tick::System balanced(const tick::Policy& policy) {
  tick::System system{policy, {}};
  system.sharing.n_pieces = kPieces;
  system.sharing.balance = tick::Balance::persistence;
  system.sharing.epoch = tick::kDefaultEpoch;
  return system;
}

struct Candidate {
  std::string name;
  tick::System system;
  bool simple = false;
  std::vector<double> rates{};
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> list;
  for (const char* text : {"bulk", "local", "k4m3"}) {  // the last: ghost layers for four ticks
    list.push_back({text, {tick::Policy::parse(text), {}}, true});
  }
  for (const tick::Policy& policy : tick::tuned_policies()) {
    // More layers than fish of a host would do again as much as the host itself does.
    if (policy.replica_layers > 5) continue;
    list.push_back({policy.to_string() + ", balanced", balanced(policy)});
    tick::System still = balanced(policy);
    still.sharing.balance = tick::Balance::none;
    still.sharing.epoch = 0;
    list.push_back({policy.to_string(), still});
  }
  return list;
}

// The rates of the one that is best in the mean.
const Candidate& best_of(const std::vector<Candidate>& all, bool simple) {
  const auto mean = [](const Candidate& c) {
    double sum = 0;
    for (const double rate : c.rates)
      sum += rate;
    return sum;
  };
  const Candidate* best = nullptr;
  for (const Candidate& candidate : all) {
    if (candidate.simple != simple) continue;
    if (best == nullptr || mean(candidate) > mean(*best)) best = &candidate;
  }
  return *best;
}

Report run(const Options& options) {
  const tick::Tick ticks = options.quick ? 200 : 600;
  const tick::Tick warm_up = options.quick ? 100 : 200;
  const int n_rounds = options.quick ? 1 : 3;
  const auto problem = school(options.seed);
  std::vector<Candidate> all = candidates();
  std::vector<double> automatic;
  for (int round = 0; round < n_rounds; ++round) {
    tick::SimulationOptions simulation;
    simulation.n_nodes = kHosts;
    simulation.profile = net::parse_profile("ec2-large");
    simulation.seed = options.seed + static_cast<std::uint64_t>(round);
    simulation.slowdowns.assign(kHosts, 1.0);
    simulation.slowdowns[kSlow] = 2;
    options.begin_round(round, n_rounds, "auto");
    tick::System system = tick::System::parse("auto");
    system.sharing.n_pieces = kPieces;
    const SteadyRun chosen = run_steady(problem, system, ticks, warm_up, simulation);
    automatic.push_back(chosen.rate);
    for (Candidate& candidate : all) {
      options.begin_round(round, n_rounds, candidate.name);
      const SteadyRun fixed = run_steady(problem, candidate.system, ticks, warm_up, simulation);
      RUBATO_REQUIRE(fixed.result.checksum == chosen.result.checksum, candidate.name);
      candidate.rates.push_back(fixed.rate);
    }
  }
  const Candidate& fixed = best_of(all, false);
  const Candidate& simple = best_of(all, true);
  Report report;
  report.nodes = kHosts;
  report.rows = {
      compare_row("over-best-fixed", "ticks/s", automatic, fixed.name, fixed.rates,
                  "ratio >= 0.95"),
      compare_row("over-simple", "ticks/s", automatic, simple.name, simple.rates, "ratio >= 1.5")};
  return report;
}

}  // namespace

Benchmark skew_jitter() {
  return {"skew-jitter",
          "fish on 16 virtual hosts, ec2-large, one host slow: does auto find what is best?", run};
}

}  // namespace rubato::bench

// Question: what does the engine cost a school of a million fish on one node?
// Hypothesis: tiles that fit a core's cache pay for versions, regions and checks, so that two cores
// step as many fish as two hand-written loops that know nothing of each other.

#include <barrier>
#include <memory>
#include <thread>

#include "bench/harness.hpp"
#include "bench/tick_fish_baseline.hpp"
#include "rubato/core/job.hpp"
#include "rubato/models/app_fish.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

// The school of the yardstick: 16 neighbours, and 0.05 of the visibility a tick.
models::FishOptions school(std::uint64_t n, std::uint64_t seed) {
  models::FishOptions options;
  options.n = n;
  options.seed = seed;
  options.rho = 1;
  options.alpha = 0.09;
  options.speed = 0.25;
  options.theta = 1;
  options.informed = 0;
  return options;
}

models::FishProblem problem_of(std::uint64_t n, std::uint64_t seed) {
  return models::FishProblem(tick::PointsModel(models::FishModel(school(n, seed))), {});
}

// Fish a second of kCores baselines at once, each with its part of the fish.
double run_baselines(std::uint64_t n, std::uint64_t seed, tick::Tick ticks) {
  std::barrier ready(kCores + 1);
  Nanos begin = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < kCores; ++i) {
      threads.emplace_back([&, i] {
        const models::FishModel model(school(n / kCores, seed + i));
        FishBaseline baseline(model);
        baseline.run(1);  // touches its memory
        ready.arrive_and_wait();
        baseline.run(ticks);
      });
    }
    ready.arrive_and_wait();
    begin = steady_now();
  }
  return static_cast<double>(n) * static_cast<double>(ticks) /
         static_cast<double>(steady_now() - begin) * 1e3;
}

// Both on a school that is small enough to do it each time.
void require_same_bits(std::uint64_t seed, core::NodeHost& host) {
  constexpr std::uint64_t kFish = 20'000;
  constexpr tick::Tick kTicks = 10;
  const models::FishModel model(school(kFish, seed));
  FishBaseline baseline(model);
  baseline.run(kTicks);
  std::uint64_t sum = 0;
  for (const models::Fish& fish : baseline.fish())
    sum += tick::tuple_hash(fish.id, std::as_bytes(std::span(&fish, 1)));
  const auto problem = problem_of(kFish, seed);
  const auto result = tick::execute(problem, tick::Policy::parse("local"), kTicks, host, {});
  RUBATO_REQUIRE(result.checksum == sum, result.checksum, sum);
}

Report run(const Options& options) {
  const std::uint64_t n = 1'000'000;
  const tick::Tick ticks = options.quick ? 15 : 60;
  const int n_rounds = options.quick ? 5 : 9;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(net::make_fabric(), config);
  core::NodeHost& host = job.host();
  require_same_bits(options.seed, host);
  const auto problem = problem_of(n, options.seed);
  std::vector<double> ours;
  std::vector<double> by_hand;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    by_hand.push_back(run_baselines(n, options.seed, ticks));
    const auto result = tick::execute(problem, tick::Policy::parse("local"), ticks, host, {});
    ours.push_back(static_cast<double>(n) * static_cast<double>(ticks) /
                   static_cast<double>(result.wall) * 1e3);
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("fish", "M fish/s", ours, "2 hand-written loops, half the fish each",
                             by_hand, "ratio >= 0.9")};
  return report;
}

}  // namespace

Benchmark tick_fish() {
  return {"tick-fish", "1M fish on one node: what does the engine cost over a loop by hand?", run};
}

}  // namespace rubato::bench

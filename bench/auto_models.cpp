// Question: does policy auto do as well for graphs and points as it does for grids, whose forecasts
// are the simplest? And where pieces move, does it find how many there should be?
// Hypothesis: graphs of some thousand vertices take so little of a late message that nodes which step
// much of the others' parts are the fastest, many times faster than `local`, and a forecast sees that; where
// points crowd, areas tell less of what replicas cost, and it is off by more. Two pieces a node are too few for
// a crowd or a slow node, and auto, which begins with them, finds that out at its first epoch.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/steady.hpp"
#include "rubato/models/apps.hpp"
#include "rubato/tick/tune/tuner.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kHosts = 8;

struct Case {
  const char* metric;
  const char* model;
  std::vector<std::pair<std::string, std::string>> parameters;
};

std::vector<Case> cases() {
  return {{"pagerank", "pagerank", {{"vertices", "4000"}, {"tolerance", "0"}}},
          {"jacobi", "jacobi", {{"rows", "8000"}, {"tolerance", "0"}}},
          {"jacobi-near", "jacobi", {{"rows", "100000"}, {"far", "0"}, {"tolerance", "0"}}},
          {"traffic", "traffic", {}},
          {"fish", "fish", {{"fish", "3000"}}},
          {"nbody", "nbody", {{"bodies", "4000"}}},
          {"nbody-clusters", "nbody", {{"bodies", "4000"}, {"clusters", "2"}}}};
}

// With pieces that move, whatever else the model could do; and node 0 so much slower.
struct PiecesCase {
  Case of;
  double slowdown = 1;
};

std::vector<PiecesCase> pieces_cases() {
  return {{{"nbody-pieces", "nbody", {{"bodies", "30000"}, {"clusters", "2"}}}},
          {{"fish-pieces", "fish", {{"fish", "20000"}}}},
          {{"traffic-pieces", "traffic", {{"columns", "120"}, {"rows", "120"}}}, 3},
          {{"pagerank-pieces", "pagerank", {{"vertices", "200000"}, {"tolerance", "0"}}}, 3}};
}

// The app outlives its problem.
struct Built {
  std::unique_ptr<tick::App> app;
  std::unique_ptr<tick::Problem> problem;
};

Built build(const Case& c) {
  for (const tick::AppMaker& make : models::built_in_apps()) {
    Built built{make(), nullptr};
    if (built.app->name() != c.model) continue;
    tick::Parameters parameters;
    built.app->declare(parameters);
    for (const auto& [name, text] : c.parameters)
      parameters.set(name, text);
    built.problem = built.app->build();
    return built;
  }
  throw Error(std::string("no model ") + c.model);
}

tick::SimulationOptions simulation_of(std::uint64_t seed) {
  tick::SimulationOptions simulation;
  simulation.n_nodes = kHosts;
  simulation.profile = net::parse_profile("ec2-large");
  simulation.seed = seed;
  return simulation;
}

// Ticks/s of each seed: of auto, and of the candidate that is the best over all seeds.
Row run_case(const Case& c, const Options& options, tick::Tick ticks, tick::Tick warm_up) {
  const Built built = build(c);
  const int n_seeds = options.quick ? 1 : 3;
  const std::vector<tick::Policy> policies = tick::tuned_policies();
  std::vector<double> automatic;
  std::vector<std::vector<double>> fixed(policies.size());
  for (int i = 0; i < n_seeds; ++i) {
    tick::SimulationOptions simulation =
        simulation_of(options.seed + static_cast<std::uint64_t>(i));
    const SteadyRun tuned =
        run_steady(*built.problem, tick::System::parse("auto"), ticks, warm_up, simulation);
    automatic.push_back(tuned.rate);
    for (std::size_t p = 0; p < policies.size(); ++p) {
      const SteadyRun run =
          run_steady(*built.problem, {policies[p], {}}, ticks, warm_up, simulation);
      RUBATO_REQUIRE(run.result.checksum == tuned.result.checksum, policies[p].to_string());
      fixed[p].push_back(run.rate);
    }
  }
  const auto sum = [](const std::vector<double>& all) {
    double total = 0;
    for (const double each : all)
      total += each;
    return total;
  };
  const auto best = std::ranges::max_element(fixed, {}, sum);
  const std::string name = policies[static_cast<std::size_t>(best - fixed.begin())].to_string();
  return compare_row(
      c.metric, "ticks/s", automatic,
      name + "; local " + std::to_string(static_cast<int>(sum(fixed.front()) / n_seeds)), *best,
      "reported");
}

// Ticks/s of each seed: of auto, which begins with the fewest pieces, and of auto with the number that is the
// best over all seeds.
Row run_pieces_case(const PiecesCase& c, const Options& options, tick::Tick ticks,
                    tick::Tick warm_up) {
  const Built built = build(c.of);
  const int n_seeds = options.quick ? 1 : 2;
  constexpr std::uint32_t kNumbers[] = {2 * kHosts, 8 * kHosts, 32 * kHosts};
  constexpr std::uint32_t kMostGrains = 16;
  std::vector<double> automatic;
  std::vector<double> fixed[std::size(kNumbers)];
  for (int i = 0; i < n_seeds; ++i) {
    tick::SimulationOptions simulation =
        simulation_of(options.seed + static_cast<std::uint64_t>(i));
    simulation.slowdowns.assign(kHosts, 1);
    simulation.slowdowns.front() = c.slowdown;
    tick::System system = tick::System::parse("auto");
    system.sharing.balance_is_default = false;
    system.sharing.n_pieces = kNumbers[0];
    system.sharing.grains_of_piece = {kMostGrains, kMostGrains / 2, kMostGrains / 4,
                                      kMostGrains / 8, 1};
    const SteadyRun tuned = run_steady(*built.problem, system, ticks, warm_up, simulation);
    automatic.push_back(tuned.rate);
    system.sharing.grains_of_piece.clear();
    for (std::size_t k = 0; k < std::size(kNumbers); ++k) {
      system.sharing.n_pieces = kNumbers[k];
      const SteadyRun run = run_steady(*built.problem, system, ticks, warm_up, simulation);
      RUBATO_REQUIRE(run.result.checksum == tuned.result.checksum, kNumbers[k]);
      fixed[k].push_back(run.rate);
    }
  }
  std::size_t best = 0;
  std::string others;
  for (std::size_t k = 0; k < std::size(kNumbers); ++k) {
    const double mean = std::accumulate(fixed[k].begin(), fixed[k].end(), 0.0) / n_seeds;
    others += "; " + std::to_string(kNumbers[k]) + ": " + std::to_string(static_cast<int>(mean));
    if (mean > std::accumulate(fixed[best].begin(), fixed[best].end(), 0.0) / n_seeds) best = k;
  }
  return compare_row(c.of.metric, "ticks/s", automatic,
                     std::to_string(kNumbers[best]) + " pieces" + others, fixed[best], "reported");
}

Report run(const Options& options) {
  const tick::Tick ticks = options.quick ? 120 : 500;
  const tick::Tick warm_up = options.quick ? 60 : 200;
  Report report;
  report.nodes = kHosts;
  const std::vector<Case> all = cases();
  const std::vector<PiecesCase> in_pieces = pieces_cases();
  const auto n = static_cast<int>(all.size() + in_pieces.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    options.begin_round(static_cast<int>(i), n, all[i].metric);
    report.rows.push_back(run_case(all[i], options, ticks, warm_up));
  }
  for (std::size_t i = 0; i < in_pieces.size(); ++i) {
    options.begin_round(static_cast<int>(all.size() + i), n, in_pieces[i].of.metric);
    // Of larger models: fewer ticks.
    report.rows.push_back(
        run_pieces_case(in_pieces[i], options, options.quick ? 90 : 300, options.quick ? 60 : 100));
  }
  return report;
}

}  // namespace

Benchmark auto_models() {
  return {"auto-models",
          "graphs and points on 8 virtual hosts, ec2-large: is auto as good as the best?", run};
}

}  // namespace rubato::bench

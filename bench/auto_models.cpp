// Question: does policy auto do as well for graphs and points as it does for grids, whose forecasts
// are the simplest?
// Hypothesis: graphs of some thousand vertices take so little of a late message that nodes which step
// much of the others' parts are the fastest, many times faster than `local`, and a forecast sees that; where
// points crowd, areas tell less of what replicas cost, and it is off by more.

#include <algorithm>
#include <memory>
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

// Ticks/s of each seed: of auto, and of the candidate that is the best over all seeds.
Row run_case(const Case& c, const Options& options, tick::Tick ticks, tick::Tick warm_up) {
  const Built built = build(c);
  const int n_seeds = options.quick ? 1 : 3;
  const std::vector<tick::Policy> policies = tick::tuned_policies();
  std::vector<double> automatic;
  std::vector<std::vector<double>> fixed(policies.size());
  for (int i = 0; i < n_seeds; ++i) {
    tick::SimulationOptions simulation;
    simulation.n_nodes = kHosts;
    simulation.profile = net::parse_profile("ec2-large");
    simulation.seed = options.seed + static_cast<std::uint64_t>(i);
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

Report run(const Options& options) {
  const tick::Tick ticks = options.quick ? 120 : 500;
  const tick::Tick warm_up = options.quick ? 60 : 200;
  Report report;
  report.nodes = kHosts;
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    options.begin_round(static_cast<int>(i), static_cast<int>(all.size()), all[i].metric);
    report.rows.push_back(run_case(all[i], options, ticks, warm_up));
  }
  return report;
}

}  // namespace

Benchmark auto_models() {
  return {"auto-models",
          "graphs and points on 8 virtual hosts, ec2-large: is auto as good as the best?", run};
}

}  // namespace rubato::bench

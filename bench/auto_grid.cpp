// Question: does policy auto find, on its own, a policy about as good as the best of its
// candidates, whatever the network and however long a tick is? And is it ever worse than waiting
// for neighbours?
// Hypothesis: a forecast from what was measured in the first ticks tells the candidates apart where
// they differ by more than a tenth; where they do not, it matters little which one is taken.

#include <algorithm>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/sim_heat.hpp"
#include "bench/steady.hpp"
#include "rubato/tick/tune/tuner.hpp"

namespace rubato::bench {
namespace {

constexpr std::int64_t kBlock = 128;  // cells along a host's side

struct Combination {
  double tick_ms = 0;
  const char* profile = "";
  std::int64_t columns = 1;
  std::int64_t rows = 1;
};

std::vector<Combination> combinations(bool quick) {
  std::vector<Combination> list;
  for (const double tick_ms : {0.2, 0.5, 1.0, 3.0, 10.0}) {
    for (const char* profile : {"const", "ec2-large", "ec2-small"}) {
      for (const auto& [columns, rows] : {std::pair{2, 2}, {4, 4}}) {
        if (!quick || (tick_ms == 1.0 && rows == 2))
          list.push_back({tick_ms, profile, columns, rows});
      }
    }
  }
  return list;
}

struct Outcome {
  double automatic = 0;            // ticks/s, the mean of all seeds
  std::vector<double> candidates;  // [tuned_policies()]
};

Outcome run_combination(const Combination& c, int n_seeds, std::uint64_t first_seed,
                        tick::Tick ticks, tick::Tick warm_up) {
  const SimHeat problem =
      sim_heat(c.columns * kBlock, c.rows * kBlock,
               c.tick_ms * 1e6 / static_cast<double>(kBlock * kBlock), kBlock * kBlock / 4);
  const std::vector<tick::Policy> policies = tick::tuned_policies();
  Outcome outcome;
  outcome.candidates.resize(policies.size());
  for (int i = 0; i < n_seeds; ++i) {
    tick::SimulationOptions simulation;
    simulation.n_nodes = static_cast<std::uint32_t>(c.columns * c.rows);
    simulation.profile = net::parse_profile(c.profile);
    simulation.seed = first_seed + static_cast<std::uint64_t>(i);
    const SteadyRun automatic =
        run_steady(problem, tick::System::parse("auto"), ticks, warm_up, simulation);
    outcome.automatic += automatic.rate / n_seeds;
    for (std::size_t p = 0; p < policies.size(); ++p) {
      const SteadyRun fixed = run_steady(problem, {policies[p], {}}, ticks, warm_up, simulation);
      RUBATO_REQUIRE(fixed.result.checksum == automatic.result.checksum, policies[p].to_string());
      outcome.candidates[p] += fixed.rate / n_seeds;
    }
  }
  return outcome;
}

Row worst_row(const char* metric, const std::string& baseline, const std::vector<double>& values,
              const std::vector<double>& baselines, const char* must) {
  Row row;
  row.metric = metric;
  row.unit = "ticks/s";
  row.baseline = baseline;
  row.must = must;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i)
    ratios.push_back(values[i] / baselines[i]);
  const auto worst = static_cast<std::size_t>(std::ranges::min_element(ratios) - ratios.begin());
  row.value = values[worst];
  row.baseline_value = baselines[worst];
  row.ratio = ratios[worst];
  row.spread = relative_spread(ratios);
  return row;
}

Report run(const Options& options) {
  const tick::Tick ticks = options.quick ? 120 : 500;
  const tick::Tick warm_up = options.quick ? 60 : 200;
  const int n_seeds = options.quick ? 1 : 5;
  const auto all = combinations(options.quick);
  std::vector<double> automatic;
  std::vector<double> best;
  std::vector<double> local;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Combination& c = all[i];
    const std::string what = std::to_string(c.tick_ms).substr(0, 4) + " ms, " + c.profile + ", " +
                             std::to_string(c.columns * c.rows) + " hosts";
    options.begin_round(static_cast<int>(i), static_cast<int>(all.size()), what);
    const Outcome outcome = run_combination(c, n_seeds, options.seed, ticks, warm_up);
    automatic.push_back(outcome.automatic);
    best.push_back(*std::ranges::max_element(outcome.candidates));
    local.push_back(outcome.candidates.front());
  }
  Report report;
  report.nodes = 16;
  report.rows = {
      worst_row("worst-of-best", "best candidate", automatic, best, "ratio >= 0.9"),
      worst_row("worst-over-local", "local", automatic, local, "ratio >= 0.98"),
  };
  std::vector<double> of_best;
  std::vector<double> over_local;
  for (std::size_t i = 0; i < all.size(); ++i) {
    of_best.push_back(automatic[i] / best[i]);
    over_local.push_back(automatic[i] / local[i]);
  }
  report.rows.push_back(value_row("median-of-best", "ratio", of_best, ""));
  report.rows.push_back(value_row("median-over-local", "ratio", over_local, ""));
  return report;
}

}  // namespace

Benchmark auto_grid() {
  return {"auto-grid",
          "heat, 30 combinations of tick time, network and hosts: is auto as good as the best?",
          run};
}

}  // namespace rubato::bench

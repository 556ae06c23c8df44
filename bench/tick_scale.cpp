// Question: does a job of 1,024 hosts tick as fast as one of 4, each host having the same work?
// Hypothesis: nothing in the engine is global in a tick and no table has an entry for each host, so
// the rate stays within 10 % and the engine's memory a host stays the same but for the list of
// queries.

#include "bench/harness.hpp"
#include "bench/sim_heat.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

constexpr std::int64_t kBlock = 64;         // real cells along a host's side
constexpr double kScale = 1000.0 / kBlock;  // it stands for 1000 x 1000 cells of 1 ns
constexpr const char* kPolicy = "k8m23d10";

struct Point {
  double ticks_per_second = 0;
  double engine_bytes = 0;  // of the largest node
};

Point measure(std::int64_t side, tick::Tick ticks, std::uint64_t seed) {
  const SimHeat problem = sim_heat(side * kBlock, side * kBlock, 1, kBlock * kBlock, kScale);
  tick::SimulationOptions options;
  options.n_nodes = static_cast<std::uint32_t>(side * side);
  options.profile = net::parse_profile("ec2-large");
  options.profile.rate_mbit = 1000 / kScale;
  options.seed = seed;
  Point point;
  options.at_end = [&](net::NodeId, tick::NodeRun& node) {
    point.engine_bytes = std::max(point.engine_bytes, static_cast<double>(node.engine().bytes()));
  };
  point.ticks_per_second =
      tick::simulate(problem, tick::Policy::parse(kPolicy), ticks, options).ticks_per_second();
  return point;
}

Report run(const Options& options) {
  const std::int64_t most = options.quick ? 16 : 32;
  // Long enough that the first rounds, when all start at once, count for little.
  const tick::Tick ticks = options.quick ? 60 : 1000;
  std::vector<double> rate_ratio_base;
  std::vector<double> rate;
  std::vector<double> more_bytes;
  const int n_rounds = options.quick ? 1 : 3;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round);
    const Point few = measure(2, ticks, seed);
    const Point many = measure(most, ticks, seed);
    rate_ratio_base.push_back(few.ticks_per_second);
    rate.push_back(many.ticks_per_second);
    more_bytes.push_back((many.engine_bytes - few.engine_bytes) / static_cast<double>(most * most));
  }
  Report report;
  report.nodes = static_cast<std::uint32_t>(most * most);
  report.rows = {
      compare_row("throughput-a-host", "ticks/s", rate, "4 hosts", rate_ratio_base, "ratio >= 0.9"),
      value_row("engine-bytes-a-host", "B x hosts above 4 hosts", more_bytes, "value <= 64"),
  };
  return report;
}

}  // namespace

Benchmark tick_scale() {
  return {"tick-scale", "simulated, 4 to 1,024 hosts: does the rate a host hold, and its memory?",
          run};
}

}  // namespace rubato::bench

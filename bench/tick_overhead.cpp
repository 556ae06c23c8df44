// Question: what does the runtime itself take of a run, waiting and stepping excluded?
// Hypothesis: with pieces of 30 us and more, under 1 % of wall [Ticks 6.3 has 0.02 % with one unit
// a tick and no threads]. Most of it is lines that the cores take from each other, so the time of
// that stands beside it.

#include "bench/core_to_core.hpp"
#include "bench/harness.hpp"
#include "bench/sim_heat.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

Report run(const Options& options) {
  const tick::Tick ticks = options.quick ? 1000 : 5000;
  const int n_rounds = options.quick ? 3 : 7;
  const SimHeat problem = sim_heat(1000, 1000, 1, 125'000);
  core::Job job(net::make_fabric(), {});
  core::NodeHost& host = job.host();
  std::vector<double> shares;
  std::vector<double> unit_us;
  std::vector<double> core_ns;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    core_ns.push_back(core_to_core_ns(host.shape().n_cores));
    const tick::RunResult result =
        tick::execute(problem, tick::Policy::parse("local"), ticks, host, {});
    const core::CoreFigures total = result.nodes.front().time.total();
    shares.push_back(static_cast<double>(total.own() + total.sending) /
                     static_cast<double>(total.wall));
    unit_us.push_back(static_cast<double>(total.busy_total()) * 1e-3 /
                      static_cast<double>(result.nodes.front().work.own_units));
  }
  Report report;
  report.cores = host.shape().n_cores;
  report.rows = {value_row("own-share", "of wall", shares, "value <= 0.01"),
                 value_row("unit", "us", unit_us, "value >= 30"),
                 value_row("core-to-core", "ns, there and back", core_ns, "")};
  return report;
}

}  // namespace

Benchmark tick_overhead() {
  return {"tick-overhead", "heat 1000^2 on one node: which share of time is the runtime's own?",
          run};
}

}  // namespace rubato::bench

// Question: what does it cost to save a run every 2 s while it goes on?
// Hypothesis: regions are copied right after their step, when they are in the cache, and written by
// a thread of their own, so that a state of 134 MB takes no more than a twentieth of the time.

#include <filesystem>

#include <unistd.h>

#include "bench/harness.hpp"
#include "bench/sim_heat.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;
constexpr Nanos kInterval = 2 * kSecond;

struct Measured {
  double ticks_per_second = 0;  // of the whole call, set-up and the last writing too
  std::uint64_t checksum = 0;
  std::uint64_t n_checkpoints = 0;
};

Measured run_once(const SimHeat& problem, tick::Tick ticks, core::NodeHost& host,
                  const std::string& folder) {
  tick::ExecutionOptions execution;
  tick::CheckpointOptions checkpoint;
  checkpoint.folder = folder;
  checkpoint.interval = kInterval;
  checkpoint.about.ticks = ticks;
  const Nanos begin = steady_now();
  const auto checkpoints = tick::add_checkpoints(execution, checkpoint, host);
  const tick::RunResult result =
      tick::execute(problem, tick::Policy::parse("local"), ticks, host, execution);
  const double seconds = static_cast<double>(steady_now() - begin) / kSecond;
  return {static_cast<double>(ticks) / seconds, result.checksum,
          checkpoints ? checkpoints->n_whole() : 0};
}

Report run(const Options& options) {
  const std::int64_t size = 4096;
  const tick::Tick ticks = options.quick ? 1000 : 3000;
  const int n_rounds = options.quick ? 3 : 7;
  const SimHeat problem = sim_heat(size, size, 1, 0);
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(net::make_fabric(), config);
  const std::string folder = (std::filesystem::temp_directory_path() /
                              ("rubato-bench-checkpoints-" + std::to_string(::getpid())))
                                 .string();
  std::vector<double> saved;
  std::vector<double> plain;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    // Each goes first as often as the other.
    Measured with;
    if (round % 2 == 0) with = run_once(problem, ticks, job.host(), folder);
    const Measured without = run_once(problem, ticks, job.host(), "");
    if (round % 2 != 0) with = run_once(problem, ticks, job.host(), folder);
    std::filesystem::remove_all(folder);
    RUBATO_REQUIRE(with.checksum == without.checksum, with.checksum, without.checksum);
    RUBATO_REQUIRE(with.n_checkpoints > 0, with.n_checkpoints);
    saved.push_back(with.ticks_per_second);
    plain.push_back(without.ticks_per_second);
  }
  Report report;
  report.cores = kCores;
  report.rows = {
      compare_row("heat", "ticks/s", saved, "no checkpoints, same bits", plain, "ratio >= 0.95")};
  return report;
}

}  // namespace

Benchmark checkpoint_cost() {
  return {"checkpoint-cost", "heat 4096^2 doubles, saved every 2 s: what does that cost?", run};
}

}  // namespace rubato::bench

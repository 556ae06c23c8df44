// Question: how long does an empty program take, from its start to its end?
// Hypothesis: a flow is some memory that is asked for and not touched, and a thread a core; so a
// program that has nothing to do is over before somebody who waits for it notices.

#include "bench/baselines/spawn_programs.hpp"
#include "bench/harness.hpp"

namespace rubato::bench {
namespace {

// Of the times of some starts, as times a millisecond: what rows are made of.
double starts_a_millisecond(const std::string& path, int n_starts) {
  std::vector<double> milliseconds;
  milliseconds.reserve(static_cast<std::size_t>(n_starts));
  for (int i = 0; i < n_starts; ++i)
    milliseconds.push_back(static_cast<double>(spawn_time(path)) / kMillisecond);
  return 1 / median(std::move(milliseconds));
}

Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 7;
  const int n_starts = options.quick ? 5 : 30;
  const std::string program = std::string(RUBATO_BENCH_FOLDER) + "/flow_empty";
  std::vector<double> ours;
  std::vector<double> nothing;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    ours.push_back(starts_a_millisecond(program, n_starts));
    nothing.push_back(starts_a_millisecond("/bin/true", n_starts));
  }
  Report report;
  report.rows = {time_row("start", "ms", ours, "/bin/true", nothing, "value <= 50")};
  return report;
}

}  // namespace

Benchmark flow_start() {
  return {"flow-start", "how long does an empty program take, from its start to its end?", run};
}

}  // namespace rubato::bench

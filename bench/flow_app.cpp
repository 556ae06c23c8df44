// Question: how many programs does a node start and wait for in a second, as tasks of a flow?
// Hypothesis: a task costs some microseconds, a program the system hundreds, so that a node starts
// about as many as a loop of posix_spawn and waitpid in as many threads; what is between them are a
// process group, a pipe for the errors and a descriptor for the end of each program.

#include "bench/baselines/spawn_programs.hpp"
#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/flow/program/program_task.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;
constexpr const char* kProgram = "/bin/true";

double app_rate(core::NodeHost& host, std::uint64_t n_programs, Counters& counters) {
  double result = 0;
  counters = counted_run(host, [&] {
    const Nanos begin = steady_now();
    const flow::FlowResult run = flow::run([=] {
      const auto start = flow::async_program();
      for (std::uint64_t i = 0; i < n_programs; ++i)
        start(kProgram);
    });
    result = static_cast<double>(n_programs) * kSecond / static_cast<double>(steady_now() - begin);
    run.check();
    RUBATO_REQUIRE(run.counters.n_run == n_programs, run.counters.n_run, n_programs);
    RUBATO_REQUIRE(run.counters.n_data == run.counters.n_freed, run.counters.n_freed);
  });
  return result;
}

Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 7;
  const std::uint64_t n_programs = options.quick ? 2'000 : 10'000;
  const std::uint32_t n_threads = core::MessageOptions{}.n_native_threads;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> ours;
  std::vector<double> hand;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    ours.push_back(app_rate(job.host(), n_programs, counters));
    hand.push_back(spawn_rate(kProgram, n_threads, n_programs));
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("launches", "1/s", ours, "posix_spawn and waitpid, 4 threads", hand,
                             "value >= 2500")};
  report.rows.front().counters = counters;
  return report;
}

}  // namespace

Benchmark flow_app() {
  return {"flow-app", "how many programs does a node start in a second, as tasks?", run};
}

}  // namespace rubato::bench

// Question: how many tasks that do nothing does a flow run in a second?
// Hypothesis: a task is a record of 300 bytes and a datum that says that it is done, made and freed
// on the core that makes it or takes it; what is made on both cores never leaves its core's cache.

#include "bench/baselines/omp_spawn.hpp"
#include "bench/flow_work.hpp"
#include "bench/harness.hpp"
#include "bench/job.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

struct Kind {
  std::string metric;
  std::uint64_t n_tasks;
  bool one_source;
  std::string must;
};

Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 7;
  const std::uint64_t million = options.quick ? 100'000 : 1'000'000;
  const std::vector<Kind> kinds = {{"one-source", million, true, "value >= 2"},
                                   {"distributed", million, false, "value >= 3"},
                                   {"one-source-10M", 10 * million, true, "value >= 2"},
                                   {"distributed-10M", 10 * million, false, "value >= 3"}};
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  Report report;
  report.cores = kCores;
  int n_done = 0;
  const int n_all = n_rounds * static_cast<int>(kinds.size() + 1);
  for (const Kind& kind : kinds) {
    std::vector<double> ours;
    std::vector<double> omp;
    Counters counters;
    for (int round = 0; round < n_rounds; ++round) {
      options.begin_round(n_done++, n_all, kind.metric);
      ours.push_back(flow_noop_rate(job.host(), kind.n_tasks, kind.one_source, counters));
      omp.push_back(kind.one_source ? omp_spawn_rate(kCores, kind.n_tasks)
                                    : omp_spawn_rate_of_all(kCores, kind.n_tasks));
    }
    report.rows.push_back(compare_row(kind.metric, "million/s", ours,
                                      "OpenMP tasks (libgomp), one process", omp, kind.must));
    report.rows.back().counters = counters;
  }
  std::vector<double> four_nodes;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(n_done++, n_all, "mpi-4");
    const JobResult job_of_four = run_job("flow_job", 4, {"noop", std::to_string(10 * million)});
    four_nodes.push_back(job_of_four.rate);
    counters = job_of_four.counters;
  }
  report.rows.push_back(value_row("mpi-4", "million/s", four_nodes, "value >= 1.5"));
  report.rows.back().counters = counters;
  return report;
}

}  // namespace

Benchmark flow_noop() {
  return {"flow-noop", "tasks of a flow that do nothing: how many in a second?", run};
}

}  // namespace rubato::bench

// Question: how long does it take until a task that needs a value runs after that value is set?
// Hypothesis: on one node as long as it takes to make a task, since nobody is asked for anything;
// between two nodes as long as a message, for each link is one.

#include "bench/baselines/omp_spawn.hpp"
#include "bench/flow_work.hpp"
#include "bench/harness.hpp"
#include "bench/job.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 9;
  const std::uint64_t n_links = options.quick ? 10'000 : 100'000;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> one_node;
  std::vector<double> omp;
  std::vector<double> two_nodes;
  std::vector<double> mpi;
  Counters of_one;
  Counters of_two;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    one_node.push_back(flow_chain_rate(job.host(), n_links, of_one));
    omp.push_back(omp_chain_rate(kCores, n_links));
    const JobResult chain = run_job("flow_job", 2, {"chain", std::to_string(n_links)});
    two_nodes.push_back(chain.rate);
    of_two = chain.counters;
    mpi.push_back(run_job("messages_mpi", 2, {"ping-pong", std::to_string(n_links)}).rate);
  }
  Report report;
  report.cores = kCores;
  report.rows = {
      time_row("one-node", "us/link", one_node, "OpenMP tasks (libgomp), depend", omp,
               "value <= 1"),
      time_row("two-nodes", "us/link", two_nodes, "an MPI message to and fro", mpi, "value <= 5")};
  report.rows.front().counters = of_one;
  report.rows.back().counters = of_two;
  return report;
}

}  // namespace

Benchmark flow_chain() {
  return {"flow-chain", "tasks each of which needs the one before: how long is a link?", run};
}

}  // namespace rubato::bench

// The jobs of flow-noop and flow-chain whose nodes are processes: flow_job noop TASKS, or flow_job
// chain LINKS. One core a node. Node 0 prints a line of JSON with "million_per_second" and
// "counters".

#include <string>
#include <vector>

#include "bench/flow_work.hpp"
#include "bench/jobs/job_result.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/fabric_factory.hpp"

namespace rubato::bench {
namespace {

int run(const std::vector<std::string>& words) {
  if (words.size() != 2 || (words[0] != "noop" && words[0] != "chain"))
    throw Error("expected noop TASKS or chain LINKS", ExitCode::usage);
  core::JobConfig config;
  config.host.n_cores = 1;
  core::Job job(net::make_fabric(), config);
  const std::uint64_t n = std::stoull(words[1]);
  JobResult result;
  result.rate = words[0] == "noop" ? flow_noop_rate(job.host(), n, false, result.counters)
                                   : flow_chain_rate(job.host(), n, result.counters);
  if (job.speaks()) print(result);
  return 0;
}

}  // namespace
}  // namespace rubato::bench

int main(int argc, char** argv) {
  return rubato::bench::job_main(argc, argv, "flow_job", rubato::bench::run);
}

#include "rubato/tick/run_here.hpp"

#include "rubato/net/local.hpp"

namespace rubato::tick {

RunResult execute_here(const Problem& problem, const Policy& policy, Tick ticks,
                       std::uint32_t n_cores, const ExecutionOptions& options) {
  net::LocalFabric fabric;
  core::NodeHostOptions host_options;
  host_options.n_cores = n_cores;
  host_options.owns_process = false;
  host_options.pinning = core::Pinning::off;
  core::NodeHost host(fabric, std::move(host_options));
  return execute(problem, policy, ticks, host, options);
}

}  // namespace rubato::tick

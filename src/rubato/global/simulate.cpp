#include "rubato/global/simulate.hpp"

#include <memory>
#include <vector>

#include "rubato/core/sim_host.hpp"
#include "rubato/core/task/context.hpp"
#include "rubato/global/heap.hpp"
#include "rubato/net/sim.hpp"

namespace rubato::global {
namespace {

constexpr std::uint32_t kMostWithHugePages = 64;  // cores

}  // namespace

SimulatedRun simulate(const std::function<void()>& main, const SimulateOptions& options,
                      SourcePlace at) {
  const core::detail::UnwatchedLeaks unwatched(!options.kills.empty());
  net::SimOptions network_options;
  network_options.n_nodes = options.n_nodes;
  network_options.seed = options.seed;
  network_options.profile = net::parse_profile(options.profile);
  network_options.shuffle_ties = options.shuffle;
  net::SimNetwork network(network_options);

  ProgramOptions program_options = options.program;
  program_options.messages.n_native_threads = 0;  // virtual time knows no threads
  program_options.messages.clock = nullptr;
  // All virtual nodes share the addresses of this process, and its memory.
  if (options.n_nodes * options.n_cores > kMostWithHugePages) program_options.huge_pages = false;
  if (program_options.bytes_a_core == 0) {
    program_options.bytes_a_core =
        NodeMemory::default_bytes_a_core(options.n_nodes * options.n_cores);
  }
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<core::Engine*> engines;
  for (net::NodeId node = 0; node < options.n_nodes; ++node) {
    const core::JobShape shape{node, options.n_nodes, options.n_cores};
    programs.push_back(std::make_unique<Program>(shape, program_options));
    if (options.on_engine) options.on_engine(programs.back()->engine(), shape);
    programs.back()->set_main(main, at);
    engines.push_back(&programs.back()->engine());
  }
  core::SimHost host(network, {.n_cores = options.n_cores,
                               .shuffle = options.shuffle,
                               .seed = options.seed,
                               .extra_delay_max = options.extra_delay_max,
                               .observer = options.observer});
  for (const auto& [node, when] : options.kills)
    host.kill(node, when);
  core::SimReport report = host.run(engines);

  SimulatedRun run{report.wall, {}, std::move(report.nodes)};
  for (const auto& program : programs)
    run.counters.add(program->engine().counters());
  return run;
}

}  // namespace rubato::global

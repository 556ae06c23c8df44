#pragma once
// Runs of programs whose counters stand beside their figures.

#include <utility>

#include "bench/harness.hpp"
#include "rubato/global/program.hpp"
#include "rubato/global/report.hpp"

namespace rubato::bench {

[[nodiscard]] inline Counters named(const core::CoreCounters& counters) {
  Counters all;
  for (const auto& [name, n] : global::named_counters(counters))
    all.emplace_back(name, n);
  return all;
}

// Collective: global::run(host, options, main). Returns what all cores of all nodes have done, at
// node 0.
template <class F>
Counters counted_run(core::NodeHost& host, F&& main, const global::ProgramOptions& options = {}) {
  global::Program program(host.shape(), options);
  program.set_main(std::forward<F>(main));
  const core::NodeFigures mine = host.run(program.engine());
  core::CoreCounters all;
  for (const auto& of_node :
       global::gather_figures(host, mine, program.engine().counters()).counters)
    all.add(of_node);
  return named(all);
}

}  // namespace rubato::bench

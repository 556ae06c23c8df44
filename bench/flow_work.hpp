#pragma once
// What the benchmarks of flows measure, on the cores of a process and as a job of several.

#include <cstdint>

#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/node_host.hpp"

namespace rubato::bench {

// Computes for that time, and lets nobody else run.
inline void spin(Nanos time) {
  if (time <= 0) return;
  for (const Nanos end = steady_now() + time; steady_now() < end;) {
  }
}

// Collective; each checks what it computed, and that as many tasks ran as were made. Node 0 returns
// the figure, and has the counters of the run.

// Million tasks a second that do nothing: made by one task, or by a loop on all cores.
[[nodiscard]] double flow_noop_rate(core::NodeHost& host, std::uint64_t n_tasks, bool one_source,
                                    Counters& counters);
// Million links a second of a chain of tasks, each of which needs the value of the one before;
// of several nodes, each link runs on another one than that before.
[[nodiscard]] double flow_chain_rate(core::NodeHost& host, std::uint64_t n_links,
                                     Counters& counters);

}  // namespace rubato::bench

#pragma once
// What the lab's network feels like: TCP round trips between two of its hosts.

#include <string>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/tools/lab/hosts.hpp"

namespace rubato::tools::lab {

// Times `n_rounds` round trips of `n_bytes` each way between hosts 1 and 2 over the jittery
// network. For a child of the lab's process, while the switch runs: it starts a child of its own.
// Throws Error.
[[nodiscard]] std::vector<Nanos> measure_round_trips(const Hosts& hosts, int n_rounds, int n_bytes);

}  // namespace rubato::tools::lab

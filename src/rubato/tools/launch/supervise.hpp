#pragma once
// Runs a launcher (mpirun) to its end, and finds out what became of the job's nodes.

#include <string>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::tools {

// Starts `words`, passes on what it writes, and waits. Blocks.
// - All nodes ended well: 0, or Error if what they wrote did not get through to standard output.
//   A node that fails gives its exit code to the job.
// - A node was killed: Error(node_lost) that names node, host and signal.
// - SIGINT or SIGTERM to this process ends all nodes within 2 s: 130 or 143. Where nodes save their run
//   on a signal (saves_report), the first SIGTERM makes them do it: 75. SIGUSR1 is passed on.
// - If nodes wrote a journal (journal_report), and the job was told to end or has lost a node, it says
//   how to go on: `launch`, the words of ours before those of a node, and the node's.
// The launcher's own words about a failed process are dropped, since ours say it better.
// REQUIRES: each node runs under a guard (guard.hpp).
[[nodiscard]] int supervise(const std::vector<std::string>& words, const std::string& launch = "");

}  // namespace rubato::tools

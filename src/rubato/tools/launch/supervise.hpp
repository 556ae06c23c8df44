#pragma once
// Runs a launcher (mpirun) to its end, and finds out what became of the job's nodes.

#include <string>
#include <vector>

#include <signal.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {

// What has become of a job.
struct JobEnd {
  int code = 0;
  std::string error{};       // what is to be said with that code; "": the nodes have said it
  bool told_to_end = false;  // by a signal, one that has it saved too: whatever came of that

  // No node has said that code: one was lost.
  [[nodiscard]] bool lost_a_node() const noexcept {
    return code == static_cast<int>(ExitCode::node_lost) && !error.empty();
  }
  // The code. Throws Error if there is something to be said.
  [[nodiscard]] int result() const {
    if (!error.empty()) throw Error(error, static_cast<ExitCode>(code));
    return code;
  }
};

// While one lives, the signals that a job's launcher heeds (SIGINT, SIGTERM, SIGHUP, SIGUSR1; SIGCHLD) wait for the
// next supervise(): between two starts of a job none is lost, and none ends this process.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

 private:
  sigset_t old_{};  // the mask before
};

// Starts `words`, passes on what it writes, and waits. Blocks. Throws Error if it cannot be started.
// - All nodes ended well: 0, or an error if what they wrote did not get through to standard output.
//   A node that fails gives its exit code to the job.
// - A node was killed: an error (node_lost) that names node, host and signal.
// - SIGINT or SIGTERM to this process ends all nodes within 2 s: 130 or 143. Where nodes save their run
//   on a signal (saves_report), the first SIGTERM or SIGHUP makes them do it: 75. SIGUSR1 does that too, and
//   before they have said so waits until they have: it would kill a node that is not ready for it.
// - If nodes wrote a journal (journal_report), and the job was told to end or has lost a node, it says
//   how to go on: `launch`, the words of ours before those of a node, and the node's. Not of a lost
//   node if `starts_again`, unless it was told to end: then the caller goes on himself.
// The launcher's own words about a failed process are dropped, since ours say it better.
// REQUIRES: each node runs under a guard (guard.hpp).
[[nodiscard]] JobEnd supervise(const std::vector<std::string>& words,
                               const std::string& launch = "", bool starts_again = false);

}  // namespace rubato::tools

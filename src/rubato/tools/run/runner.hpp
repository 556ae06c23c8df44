#pragma once
// Runs a model for a command: in the simulator, on this node, or as a node of a job, with progress
// lines for people and a trace if one is asked for.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "rubato/tick/app.hpp"
#include "rubato/tick/balance/skew.hpp"
#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/output/outputs.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tools/run/slowdowns.hpp"
#include "rubato/tools/run/watch.hpp"

namespace rubato::tools {

class RunRecord;

struct RunRequest {
  std::string model{};   // its name, in front of what goes wrong while it runs
  std::string inputs{};  // the files that it reads, for the progress line of that; "": none
  tick::Policy policy;
  // What has a name of its own beside the policy's, such as auto; "": none has.
  std::string system{};
  tick::Tick ticks = 0;
  std::uint32_t n_cores = 0;  // of this node; 0: its share of the machine
  tick::SharingOptions sharing{};
  std::uint64_t seed = 1;  // of the network's delays
  std::string profile;     // net/profile.hpp in text form; "": none, or what RUBATO_PROFILE says
  bool paced = false;      // on real nodes: tick::ExecutionOptions::paced
  std::string trace;       // file; "": none

  std::uint32_t n_simulated = 0;  // virtual nodes; 0: a real run
  std::uint32_t n_sim_cores = 1;  // of each
  Slowdowns slowdowns{};          // of virtual nodes
  // What people say n_simulated with, "" for nothing: it is named where a model cannot be cut so.
  std::string nodes_option{};

  tick::OutputOptions output{};              // what is left on the disk
  tick::CheckpointOptions checkpoint{};      // what is saved on the way
  const tick::StateSource* start = nullptr;  // the run begins with it; null: at tick 0. Outlives it
  // Of a checkpoint as the start, which must be one for all nodes: where it is, and the number of the
  // run that wrote it.
  std::string start_path{};
  std::uint64_t start_run_id = 0;
  // Begun when there is something to run; the caller ends it. It says where its files go. Null: none.
  RunRecord* record = nullptr;
  // What people said: the system, or the policy.
  [[nodiscard]] std::string system_text() const {
    return system.empty() ? policy.to_string() : system;
  }

  // With the nodes of a run that has ended: all of them in the simulator, else this process's own.
  std::function<void(tick::NodeId, tick::NodeRun&)> at_end{};
};

struct RunOutcome {
  tick::RunResult result;                   // whole at node 0
  tick::SharingOptions sharing{};           // of the request, with all that was chosen
  std::vector<std::string> files;           // that were written; at node 0
  std::uint64_t n_checkpoints = 0;          // that have become whole; at node 0
  std::string last_checkpoint{};            // the folder of the last of them, or ""
  tick::NodeId node = 0;                    // this process; only node 0 speaks
  std::uint32_t n_cores = 1;                // of each node
  std::optional<io::Table> findings;        // tick::App::findings(), at node 0
  std::optional<tick::SkewFigures> skew{};  // of a run of pieces on several nodes; at node 0
  ExitCode code = ExitCode::ok;
  std::string error{};  // what has been said where the code is not ok
};

// The simulated part of it, for a problem that is built already: same request, without trace and
// outputs. Blocks.
[[nodiscard]] tick::RunResult simulate_problem(const tick::Problem& problem,
                                               const RunRequest& request, ProgressShare share);

// Blocks until the run has ended. Under a launcher it is collective and called once a process.
// Progress, that of reading and planning too, goes to `err`, at node 0 alone, after 2 s. Throws Error in a simulation and wherever
// nodes fail apart; a failure that all nodes of a job share is returned, so that one of them
// reports it.
[[nodiscard]] RunOutcome run_model(tick::App& app, const RunRequest& request, std::ostream& err);

}  // namespace rubato::tools

#pragma once
// The experiments of [Grappa 3.2, 3.3.1, 4.1] that need no graph, figures 6 to 8 and the times of
// switches: what is run, what is measured, the tables of it, and what the paper says of them.
//
// Many nodes are simulated, of one core each: what a record, a task's turn and a buffer cost there
// is what core::MessageOptions says, and an increment that is issued costs kIssueCost. Two nodes
// and the switches are measured here, by `rubato bench` in a process of its own.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/message/core_context.hpp"
#include "rubato/tools/reproduce/paper_report.hpp"
#include "rubato/tools/reproduce/statement.hpp"

namespace rubato::tools {

// Virtual time of a core to compute an address and to write a record for it.
inline constexpr Nanos kIssueCost = 10;

struct GrappaOptions {
  std::uint32_t n_nodes = 64;  // the most that are simulated
  std::uint64_t seed = 1;
  std::string profile = "const, base=50, rate=2000";
  Nanos deadline = core::MessageOptions{}.deadline;  // of buffers that are not full
  std::uint64_t n_updates = std::uint64_t{1} << 20;  // a node, as runs of many
  std::uint64_t n_single = std::uint64_t{1} << 13;   // a node, one by one
  std::uint32_t batch = 512;                         // that are under way of a node, one by one
  std::uint32_t n_sending = 31;                      // nodes that send updates of 32 bytes, at most
  std::uint32_t n_watched = 8;                       // nodes of the run over time, at most
  std::uint32_t n_peak_tasks = 2048;                 // of a node, in it
  bool measures = true;                              // runs benchmarks of this machine
  // Small enough for a test; it measures and judges nothing.
  [[nodiscard]] static GrappaOptions quick();
};

// Random increments in the simulator. Rates are of all nodes, a second of virtual time.
struct GupsPoint {
  std::uint32_t n_nodes = 0;
  double rate = 0;          // as runs of many
  double single_rate = 0;   // one by one; 0 of one node, which sends nothing
  double node_bytes_s = 0;  // that a node sends to others, as runs of many
};

// Updates of 32 bytes to random nodes, in the simulator.
struct UpdateRun {
  std::uint32_t n_nodes = 0;
  double rate = 0;
  double node_bytes_s = 0;
  double link_bytes_s = 0;  // what a node can send; 0: without limit
};

// A piece of a run over time.
struct Moment {
  double ms = 0;            // its end
  double n_waiting = 0;     // tasks of all nodes that wait for a delegate, in its mean
  double node_bytes_s = 0;  // that a node sends to others
};

// A row of `rubato bench NAME --json`; without a baseline its value and the ratio are 0.
struct BenchRow {
  std::string metric;
  double value = 0;
  std::string baseline;
  double baseline_value = 0;
  double ratio = 0;
};
// Those that `json` has; none if it is not a benchmark's.
[[nodiscard]] std::vector<BenchRow> bench_rows(const std::string& json);
// nullptr if there is none.
[[nodiscard]] const BenchRow* find_row(const std::vector<BenchRow>& rows, std::string_view metric);
// Of a row "32-bytes".
[[nodiscard]] double message_bytes(const BenchRow& row);
// Of waiting tasks and bandwidth, over the moments; 0 if one of them does not change.
[[nodiscard]] double correlation(const std::vector<Moment>& moments);

struct GrappaRuns {
  std::vector<GupsPoint> gups;
  std::vector<UpdateRun> updates;
  std::vector<Moment> over_time;
  double watched_link_bytes_s = 0;  // what a node of it can send; 0: without limit
  // Of benchmarks; empty if they were not run or failed.
  std::vector<BenchRow> gups_mpi;
  std::vector<BenchRow> message_size;
  std::vector<BenchRow> messages;
  std::vector<BenchRow> yield;
};

// Runs all of it; what is under way, and which benchmark failed, goes to `err`. Blocks: minutes,
// unless quick. Throws Error if the profile is none, or a simulated run fails.
[[nodiscard]] GrappaRuns run_grappa(const GrappaOptions& options, std::ostream& err);

using GrappaFigure = PaperFigure;
[[nodiscard]] std::vector<GrappaFigure> grappa_figures(const GrappaRuns& runs,
                                                       const GrappaOptions& options);

// What the paper says; what was not measured is not judged, and says so.
[[nodiscard]] std::vector<Statement> judge_grappa(const GrappaRuns& runs);

}  // namespace rubato::tools

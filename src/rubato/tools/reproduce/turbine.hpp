#pragma once
// The experiments of [Turbine 1, 2, 7]: figures 1 and 6 to 9 and table 1: what is simulated, the
// tables of it, and what the paper says of them.
//
// Differs from the paper: there is one kind of node, of one core, instead of servers, engines and
// workers; the virtual cost of a step (kTaskCost, kDataCost) is that of this runtime on a core of
// today, not of one with 633 MHz, so that rates are higher; and each node has fewer data and tasks
// than the paper's, since a rate does not need more. The network has the latency of the paper's.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/tools/reproduce/paper_report.hpp"
#include "rubato/tools/reproduce/statement.hpp"

namespace rubato::tools {

// Virtual time of a core to make a task, and to begin and end one: what `rubato bench flow-noop` finds
// is less on the machines that it was run on.
inline constexpr Nanos kTaskCost = 500;
// To make and set a datum, or to visit one (`rubato bench flow-range`, `flow-store`).
inline constexpr Nanos kDataCost = 250;

struct TurbineOptions {
  std::uint32_t n_nodes = 256;  // the most that are simulated; sizes are powers of 4
  std::uint64_t seed = 1;
  std::string profile = "const, base=1";  // [Turbine 7]: about 1 us
  std::int64_t n_tasks = 64;              // a node, in figures 1 and 6
  double task_ms = 1;                     // of a task in figure 1
  double program_ms = 25;                 // of /bin/sleep: 512 of them were below 21,099 a second
  std::int64_t n_data = 4096;             // a node, in figures 7 to 9
  std::uint32_t n_stage_nodes = 64;       // of table 1, at most
  std::int64_t n_stage_tasks = 64;        // of the widest stage of table 1, a node
  double scale = 1e-5;                    // of durations in table 1

  bool operator==(const TurbineOptions&) const = default;
  // Small enough for a test; it judges nothing.
  [[nodiscard]] static TurbineOptions quick();
};

// Rates a second of virtual time, of all nodes.
struct TurbinePoint {
  std::uint32_t n_nodes = 0;
  double by_one = 0;   // figure 1: tasks that one node makes
  double by_all = 0;   // and all of them
  double noop = 0;     // figure 6: tasks of one source that do nothing
  double program = 0;  // and that start a program
  double data = 0;     // figure 7
  double range = 0;    // figure 8
  double iterate = 0;  // figure 9
};

// A stage of table 1, with its duration scaled; stages of an application run as a flow.
struct TurbineStage {
  std::string application;
  std::string stage;
  double seconds = 0;        // in the paper
  std::int64_t n_tasks = 0;  // here
  double rate = 0;           // tasks a second, of the whole run
};
struct TurbineApplication {
  std::string name;
  std::uint32_t n_nodes = 0;
  double busy = 0;  // the part of all cores' time in which tasks ran
};

struct TurbineRuns {
  std::vector<TurbinePoint> points;  // by nodes
  std::vector<TurbineStage> stages;
  std::vector<TurbineApplication> applications;
};

// Runs all of it; what is under way goes to `err`. Blocks: some seconds. Throws Error
// if the profile is none, or a simulated run fails.
[[nodiscard]] TurbineRuns run_turbine(const TurbineOptions& options, std::ostream& err);
[[nodiscard]] std::vector<PaperFigure> turbine_figures(const TurbineRuns& runs,
                                                       const TurbineOptions& options);
// What the paper says of these runs.
[[nodiscard]] std::vector<Statement> judge_turbine(const TurbineRuns& runs,
                                                   const TurbineOptions& options);

}  // namespace rubato::tools

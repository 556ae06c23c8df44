#pragma once
// The experiments of [AsyTick 5], figures 4 to 14, in the simulator: what is run, what is measured,
// the tables of it, and what the paper says of them.
//
// The set-up is the paper's, scaled down; docs/decisions/0016-set-up-of-asytick.md says why each
// number is what it is. A worker of the paper has a core, a partition and a scheduler of its own:
// here it is a virtual node of one core. What is skewed:
//   nbody            groups of bodies meet, at each tick elsewhere, beside a cluster that drifts
//   fish, graphs     at each tick one worker, any, computes `slowdown` times slower
// The first `warm_up` ticks, in which a balancer has nothing to go by, are in no figure of time: a
// second run ends with them, and what it took is taken off.

#include <algorithm>
#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rubato/io/table.hpp"
#include "rubato/tick/balance/skew.hpp"
#include "rubato/tools/command_line.hpp"
#include "rubato/tools/costs/record_costs.hpp"
#include "rubato/tools/reproduce/statement.hpp"

namespace rubato::tools {

inline constexpr std::array<std::string_view, 4> kAsytickModels{"fish", "pagerank", "nbody",
                                                                "jacobi"};

// Of a benchmark, a parameter of its model that is set otherwise; or "pieces".
struct AsytickChange {
  std::string model;
  std::string parameter;
  std::string value;

  // MODEL.PARAMETER=VALUE. Throws Error (usage).
  [[nodiscard]] static AsytickChange parse(const std::string& text);
};

// Set aside for a run of usual size: two of them side by side have taken 3.4 GB in all.
inline constexpr std::size_t kBytesOfRun = std::size_t{7} << 29;

struct AsytickOptions {
  std::uint32_t n_nodes = 16;
  std::uint32_t n_cores = 16;  // workers of a node, of one core each
  tick::Tick ticks = 64;
  tick::Tick warm_up = 32;
  tick::Tick epoch = 16;  // of systems that balance
  int depth = 16;         // ticks that a piece may run ahead
  double tick_ms = 140;   // virtual time of a tick if all workers share its work evenly
  double slowdown = 4;
  std::uint64_t seed = 1;
  std::string profile;  // "": a constant delay, and each worker its share of 2 Gb/s
  double size = 1;      // of the benchmarks, as a factor; nothing is judged unless it is 1
  std::vector<std::uint32_t> scale_nodes{2, 4, 8, 16};
  std::vector<double> sizes{0.25, 0.5625, 1};
  std::uint32_t size_nodes = 4;  // of the runs by size: enough work for each with the least of them
  std::vector<double> piece_counts{4, 16, 64, 256};  // a worker
  // Runs at a time, each in a thread; 0: as many as there are processors, and no more than memory holds.
  std::uint32_t jobs = 0;
  // Of one benchmark alone, and without figures 12 to 14; "": of all.
  std::string only;
  std::vector<AsytickChange> changes;      // made last
  CostTable costs = CostTable::shipped();  // of single tuples, pairs ..; a tuple here is many

  [[nodiscard]] std::uint32_t n_workers() const noexcept { return n_nodes * n_cores; }
  [[nodiscard]] std::string network() const;
  // Small enough for a test; what the statements say of it means nothing.
  [[nodiscard]] static AsytickOptions quick();
};

// One of the paper's benchmarks: a model of the command line, what is set of it, and its pieces.
struct AsytickBenchmark {
  std::string model;
  std::vector<std::pair<std::string, std::string>> settings;
  std::string pair_cost;       // the parameter that charges a pair, or an edge
  std::uint32_t n_pieces = 0;  // if it can be cut into pieces
  double slowdown = 1;
};
// fish, pagerank, nbody, jacobi. `size` multiplies the options' own.
[[nodiscard]] std::vector<AsytickBenchmark> asytick_benchmarks(const AsytickOptions& options);
[[nodiscard]] AsytickBenchmark asytick_nbody(const AsytickOptions& options, double size = 1);

// What is run to record their costs.
[[nodiscard]] std::vector<CostSample> asytick_samples(std::string_view model);

// What one run was. Times are virtual; those of workers are the sum over all of them.
struct SystemRun {
  double seconds = 0;        // of the ticks after the warm-up
  double steps_s = 0;        // of workers, in them: stepping
  double moves_s = 0;        // packing, unpacking, sending, taking
  double cores_s = 0;        // all of it
  double unevenness = 0;     // of the steps of each worker in them: max / mean - 1
  double whole_steps_s = 0;  // stepping and the other over the whole run
  double whole_moves_s = 0;
  std::uint64_t n_messages = 0;
  std::uint64_t n_bytes = 0;
  std::uint64_t checksum = 0;
  tick::SkewFigures skew;

  [[nodiscard]] double waiting_share() const { return 1 - (steps_s + moves_s) / cores_s; }
};

struct BenchmarkRuns {
  std::string model;
  double asynchronous_share = 0;          // of a step's cost: that of pairs, or of edges
  std::map<std::string, SystemRun> runs;  // by name of the system, and "as they come"

  [[nodiscard]] const SystemRun& run(const std::string& system) const;
  // What no system can be faster than: comtick's work, shared evenly.
  [[nodiscard]] double perfect_seconds() const;
  // Of the time that comtick takes beyond that, what `system` does not.
  [[nodiscard]] double absorbed(const std::string& system) const;
  // Of what asytick-plb absorbs, what it does not with its units in the order of their arrival.
  [[nodiscard]] double scheduled() const;
};

struct SeriesPoint {
  double x = 0;
  double seconds = 0;  // after the warm-up
};

struct AsytickRuns {
  std::vector<BenchmarkRuns> benchmarks;
  std::array<double, 5> completion{};  // fish, asytick: of the five ticks after a skewed one
  std::vector<SeriesPoint> by_nodes;   // nbody, asytick-plb
  std::vector<SeriesPoint> by_size;    // x: bodies
  std::vector<SeriesPoint> by_pieces;
  bool equal = true;  // all runs of a benchmark ended with the same bits

  [[nodiscard]] bool has(const std::string& model) const {
    return std::ranges::find(benchmarks, model, &BenchmarkRuns::model) != benchmarks.end();
  }
  // REQUIRES: has(model).
  [[nodiscard]] const BenchmarkRuns& of(const std::string& model) const;
};

// Runs all of it with the models of `identity`; what is under way goes to `err`. Blocks: most of an
// hour of processor time, unless quick. Throws Error if a model is missing or a run fails.
[[nodiscard]] AsytickRuns run_asytick(const Identity& identity, const AsytickOptions& options,
                                      std::ostream& err);

struct AsytickFigure {
  int number = 0;
  std::string title;
  io::Table table;
  std::string note = "";  // below the table
};
[[nodiscard]] std::vector<AsytickFigure> asytick_figures(const AsytickRuns& runs,
                                                         const AsytickOptions& options);

// The statements of [AsyTick 5] about figures 4 to 14, those that are about what has been run; what it
// says of each benchmark is judged of those.
[[nodiscard]] std::vector<Statement> judge_asytick(const AsytickRuns& runs);

}  // namespace rubato::tools

// Question: does a tree whose shape nobody knows keep all cores busy, and what does a task a vertex
// cost?
// Hypothesis: nothing is shared before a core is hungry, so that a vertex costs its hash and some
// nanoseconds; and nodes that are 500 us apart ask once and are given halves, so that the start and
// the end alone are lost.

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "examples/09_trees/uts_tree.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/global/per_core.hpp"
#include "rubato/global/simulate.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;
constexpr std::uint32_t kSimNodes = 4;
constexpr Nanos kVertexCost = 255;  // of a vertex in virtual time: what it takes in one thread here
constexpr std::size_t kSimBytes = std::size_t{16} << 20;

// A vertex; a task each.
struct Visit {
  uts::Vertex vertex;
  std::uint32_t is_costly;  // in virtual time
  std::uint32_t tree;       // of uts::kTrees
  global::PerCore<uts::Count> counts;

  void run(core::CoreContext& here) const {
    const uts::Tree& kind = uts::kTrees[tree];
    uts::Count& mine = counts.in(here);
    ++mine.n_vertices;
    mine.depth = std::max(mine.depth, vertex.depth);
    const std::uint32_t n = uts::n_children(kind, vertex);
    if (n == 0) ++mine.n_leaves;
    if (is_costly != 0) here.charge(kVertexCost);
    Visit child = *this;
    for (std::uint32_t i = 0; i < n; ++i) {
      child.vertex = uts::child(vertex, i);
      here.spawn_pooled(child);
    }
  }
};

// The same, as the tasks of a program are made; of real time.
struct VisitByCall {
  uts::Vertex vertex;
  std::uint32_t tree;
  global::PerCore<uts::Count> counts;

  void operator()() const {
    const uts::Tree& kind = uts::kTrees[tree];
    uts::Count& mine = counts.here();
    ++mine.n_vertices;
    mine.depth = std::max(mine.depth, vertex.depth);
    const std::uint32_t n = uts::n_children(kind, vertex);
    if (n == 0) ++mine.n_leaves;
    for (std::uint32_t i = 0; i < n; ++i)
      global::spawn_anywhere(VisitByCall{uts::child(vertex, i), tree, counts});
  }
};

enum class By : std::uint8_t { record, record_in_virtual_time, call };

// The program; the time of the walk. Checks the count.
Nanos walk(std::uint32_t tree, By by) {
  const auto counts = global::PerCore<uts::Count>::make();
  const Nanos begin = steady_now();
  const uts::Vertex root = uts::root(uts::kTrees[tree]);
  global::finish([&] {
    if (by == By::call) return global::spawn_anywhere(VisitByCall{root, tree, counts});
    const std::uint32_t is_costly = by == By::record_in_virtual_time ? 1 : 0;
    core::CoreContext::here().spawn_pooled(Visit{root, is_costly, tree, counts});
  });
  const Nanos time = steady_now() - begin;
  const uts::Count all = counts.reduce([](const uts::Count& mine) { return mine; },
                                       [](uts::Count a, const uts::Count& b) {
                                         a.n_vertices += b.n_vertices;
                                         a.n_leaves += b.n_leaves;
                                         a.depth = std::max(a.depth, b.depth);
                                         return a;
                                       });
  RUBATO_REQUIRE(all == uts::kTrees[tree].expected, all.n_vertices, all.n_leaves, all.depth);
  return time;
}

double walk_seconds(std::uint32_t n_cores, std::uint32_t tree, By by, Counters& counters) {
  core::JobConfig config;
  config.host.n_cores = n_cores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  Nanos time = 0;
  counters = counted_run(job.host(), [&] { time = walk(tree, by); });
  return static_cast<double>(time) / kSecond;
}

double sequential_seconds(std::uint32_t tree) {
  const Nanos begin = steady_now();
  const uts::Count count = uts::walk(uts::kTrees[tree]);
  const Nanos time = steady_now() - begin;
  RUBATO_REQUIRE(count == uts::kTrees[tree].expected, count.n_vertices);
  return static_cast<double>(time) / kSecond;
}

// Two sequential walks side by side: what a core of two is worth here.
double two_walks_efficiency(std::uint32_t tree, double alone) {
  double first = 0;
  double second = 0;
  std::thread other([&] { second = sequential_seconds(tree); });
  first = sequential_seconds(tree);
  other.join();
  return alone / std::max(first, second);
}

// The work over what all nodes could have done meanwhile, in virtual time.
double simulated_efficiency(std::uint32_t tree, std::uint64_t seed) {
  const Nanos wall =
      global::simulate([tree] { static_cast<void>(walk(tree, By::record_in_virtual_time)); },
                       {.n_nodes = kSimNodes,
                        .profile = "const,base=500",
                        .seed = seed,
                        .program = {.bytes_a_core = kSimBytes}})
          .wall;
  const double work = static_cast<double>(uts::kTrees[tree].expected.n_vertices) * kVertexCost;
  return work / (kSimNodes * static_cast<double>(wall));
}

Report run(const Options& options) {
  const std::uint32_t tree = options.quick ? 0 : 1;
  const int n_rounds = options.quick ? 1 : 3;
  std::vector<double> over_one;
  std::vector<double> two_cores;
  std::vector<double> sequential;
  std::vector<double> side_by_side;
  std::vector<double> simulated;
  std::vector<double> by_call;
  Counters counters;
  const double n_million = static_cast<double>(uts::kTrees[tree].expected.n_vertices) / 1e6;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    Counters of_one;
    over_one.push_back(walk_seconds(1, tree, By::record, of_one));
    const double two = walk_seconds(2, tree, By::record, counters);
    over_one.back() /= 2 * two;
    two_cores.push_back(n_million / two / 2);
    Counters of_calls;
    by_call.push_back(n_million / walk_seconds(2, tree, By::call, of_calls) / 2);
    const double alone = sequential_seconds(tree);
    sequential.push_back(n_million / alone);
    side_by_side.push_back(two_walks_efficiency(tree, alone));
    simulated.push_back(
        simulated_efficiency(tree, options.seed + static_cast<std::uint64_t>(round)));
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("efficiency", "of 2 cores over 1", over_one, "two sequential walks",
                             side_by_side, "value >= 0.95"),
                 compare_row("vertices-a-core", "million/s", two_cores, "a sequential walk",
                             sequential, "ratio >= 0.9"),
                 compare_row("vertices-by-call", "million/s", by_call, "a sequential walk",
                             sequential, "reported"),
                 value_row("sim-4-nodes", "of 4 nodes, 500 us apart", simulated, "value >= 0.9")};
  report.rows.front().counters = counters;
  return report;
}

}  // namespace

Benchmark uts() {
  return {"uts", "a tree of unknown shape, a task a vertex: are all cores busy?", run};
}

}  // namespace rubato::bench

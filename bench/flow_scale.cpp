// Question: does a flow on 1,024 nodes run as fast as on one, each node having the same work, and
// how many tasks lie on a node at most?
// Hypothesis: ranges are cut by nodes and loops attached along a tree, so that work is everywhere
// after four steps, and what comes back is summed on the way. Nodes that run out ask along a
// hypercube. What is left is the start and the end.
//
// Simulated, a core a node, the network of [Turbine 7]: 1 us of latency. A task takes kTask of
// virtual time, and an insertion or a visit of a member kOperation. These tasks are few and long, since
// the simulator's own time goes with the messages; those that do nothing take what they do on real
// cores (flow-noop), and each node has as many as it runs in some milliseconds.

#include <bit>
#include <cmath>
#include <string>

#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/simulate.hpp"

namespace rubato::bench {
namespace {

constexpr const char* kProfile = "const, base=1";
constexpr Nanos kTask = 4 * kMillisecond;
constexpr Nanos kEmpty = 100;
constexpr Nanos kOperation = kMicrosecond;
constexpr std::uint32_t kGrain = 4;
constexpr std::uint32_t kEmptyGrain = 256;                 // what a loop of so many takes by itself
constexpr std::size_t kBytesACore = std::size_t{1} << 20;  // of addresses

struct Sizes {
  std::uint32_t n_nodes_most = 1024;
  std::int64_t n_tasks = 64;      // of each node
  std::int64_t n_members = 4096;  // of each node
  std::int64_t n_empty = 32'768;  // of each node
};

struct Point {
  double wall = 0;           // ns, virtual
  double n_queued_most = 0;  // tasks of any node
  Counters counters{};
};

// A loop's pool holds a half for each time that the range was cut, and the tasks of one grain, since
// the newest run first. A core with nothing to do may get up to half of such a pool from each of its
// lifelines, of which there are as many as bits in the number of nodes.
double queue_bound(std::uint32_t n_nodes, std::int64_t n_tasks, std::uint32_t grain) {
  const auto bits = [](std::uint64_t n) { return static_cast<double>(std::bit_width(n - 1)); };
  const auto n = static_cast<std::uint64_t>(n_tasks) * n_nodes;
  return (grain + bits(n / grain)) * (1 + bits(n_nodes) / 2);
}

// A core's pool holds a task for each kPairsATask members of its shard, and the halves of a range;
// and it may get one part of such a pool from each of its lifelines, which cut it in as many parts as
// a third of their number, and one.
double range_queue_bound(std::uint32_t n_nodes, std::int64_t n_members) {
  const auto bits = [](std::uint64_t n) { return static_cast<double>(std::bit_width(n - 1)); };
  const double own = static_cast<double>(n_members) / flow::kPairsATask +
                     bits(static_cast<std::uint64_t>(n_members)) + kGrain;
  return own * (1 + bits(n_nodes) / (std::floor(bits(n_nodes) / 3) + 1));
}

global::SimulatedRun simulate(std::uint32_t n_nodes, std::uint64_t seed,
                              const std::function<void()>& main) {
  return global::simulate([&] { flow::run(main).check(); },
                          {.n_nodes = n_nodes,
                           .profile = kProfile,
                           .seed = seed,
                           .program = {.messages = {}, .bytes_a_core = kBytesACore}});
}

// Tasks of that time, started by a loop.
template <Nanos Time>
Point tasks_of(std::uint32_t n_nodes, std::int64_t n_tasks, std::uint64_t seed,
               std::uint32_t grain) {
  const std::int64_t n = n_tasks * n_nodes;
  static std::int64_t n_run;  // what travels holds no address; the simulator is one thread
  n_run = 0;
  const global::SimulatedRun run = simulate(n_nodes, seed, [n, grain] {
    const auto start = [](std::int64_t) {
      flow::async([] {
        core::CoreContext::here().charge(Time);
        ++n_run;
      })();
    };
    flow::async_for(0, n, start, {.grain = grain})();
  });
  RUBATO_REQUIRE(n_run == n, n_run, n);
  return {static_cast<double>(run.wall), static_cast<double>(run.counters.n_queued_max),
          named(run.counters)};
}

// A container is made and filled by a loop, and another loop visits its members.
Point range(std::uint32_t n_nodes, std::int64_t n_members, std::uint64_t seed) {
  const std::int64_t n = n_members * n_nodes;
  static std::int64_t sum;
  sum = 0;
  const global::SimulatedRun run = simulate(n_nodes, seed, [n] {
    auto [numbers, inserter] = flow::make_container<std::int64_t>();
    flow::async_for(0, n, [](std::int64_t i, const flow::Inserter<std::int64_t>& out) {
      core::CoreContext::here().charge(kOperation);
      out.insert(i, 2 * i);
    })(std::move(inserter));
    flow::async_each(std::move(numbers), [](std::int64_t key, std::int64_t value) {
      core::CoreContext::here().charge(kOperation);
      sum += value - key;
    })();
  });
  RUBATO_REQUIRE(sum == n * (n - 1) / 2, sum, n);
  return {static_cast<double>(run.wall), static_cast<double>(run.counters.n_queued_max),
          named(run.counters)};
}

Report run(const Options& options) {
  const Sizes sizes = options.quick ? Sizes{64, 64, 1024, 8192} : Sizes{};
  Report report;
  report.nodes = sizes.n_nodes_most;
  Point first_noop;
  Point first_range;
  Point first_empty;
  double queued = 0;
  double empty_queued = 0;
  double range_queued = 0;
  int round = 0;
  const int n_rounds = std::bit_width(sizes.n_nodes_most) / 2 + 1;
  for (std::uint32_t n_nodes = 1; n_nodes <= sizes.n_nodes_most; n_nodes *= 4) {
    options.begin_round(round++, n_rounds, std::to_string(n_nodes) + " nodes");
    const Point tasks = tasks_of<kTask>(n_nodes, sizes.n_tasks, options.seed, kGrain);
    const Point empty = tasks_of<kEmpty>(n_nodes, sizes.n_empty, options.seed, kEmptyGrain);
    const Point members = range(n_nodes, sizes.n_members, options.seed);
    if (n_nodes == 1) first_noop = tasks, first_range = members, first_empty = empty;
    queued = std::max(queued, tasks.n_queued_most);
    empty_queued = std::max(empty_queued, empty.n_queued_most);
    range_queued = std::max(range_queued, members.n_queued_most);
    const std::string size = std::to_string(n_nodes);
    const char* const must = n_nodes == 1024 ? "value >= 0.8" : "";
    report.rows.push_back(
        value_row("efficiency-" + size, "of one node", {first_noop.wall / tasks.wall}, must));
    report.rows.back().counters = tasks.counters;
    report.rows.push_back(value_row("empty-efficiency-" + size, "of one node",
                                    {first_empty.wall / empty.wall}, must));
    report.rows.back().counters = empty.counters;
    report.rows.push_back(value_row("range-efficiency-" + size, "of one node",
                                    {first_range.wall / members.wall}, must));
    report.rows.back().counters = members.counters;
  }
  const auto add_queue = [&](const char* name, double most, double bound) {
    report.rows.push_back(value_row(name, "tasks of a node", {most},
                                    "value <= " + std::to_string(static_cast<int>(bound))));
  };
  add_queue("queue-most", queued, queue_bound(sizes.n_nodes_most, sizes.n_tasks, kGrain));
  add_queue("empty-queue-most", empty_queued,
            queue_bound(sizes.n_nodes_most, sizes.n_empty, kEmptyGrain));
  add_queue("range-queue-most", range_queued,
            range_queue_bound(sizes.n_nodes_most, sizes.n_members));
  return report;
}

}  // namespace

Benchmark flow_scale() {
  return {"flow-scale",
          "simulated, 1 to 1,024 nodes: does a flow's rate a node hold, and its queue?", run};
}

}  // namespace rubato::bench

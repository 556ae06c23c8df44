// Question: what does it cost to go from one task to the next, and does it grow with their number?
// Hypothesis: a switch saves a few registers, so that 2 tasks are bound by that; and who asks for
// the stacks of those who come next is bound by memory bandwidth, not latency, however many there
// are [Grappa 3.2].

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/baselines/ring_yield.hpp"
#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "bench/yield_work.hpp"
#include "rubato/core/job.hpp"
#include "rubato/core/task/scheduler.hpp"
#include "rubato/global/program.hpp"
#include "rubato/net/local.hpp"
#ifdef RUBATO_HAS_BOOST_FIBER
#include "bench/baselines/fiber_yield.hpp"
#endif

namespace rubato::bench {
namespace {

using core::Scheduler;
using core::Worker;

struct Size {
  const char* name;
  std::size_t n_tasks;
  const char* must;
};

double task_yield_ns(std::size_t n, std::uint64_t n_yields, std::uint64_t seed, bool prefetches,
                     Counters& counters) {
  Scheduler::Options options;
  if (!prefetches) options.prefetch_distance = 0;
  Scheduler tasks(options);
  YieldClock clock(n);
  std::vector<Worker*> workers;
  workers.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    tasks.spawn(
        [&] {
          Scheduler& here = Scheduler::current();
          workers.push_back(&here.running());
          here.suspend("the others");
          yield_work(clock, n_yields, [&] { here.yield(); });
        },
        core::TaskOptions{"yield", core::StackClass::small});
  }
  const auto run = [&] {
    while (tasks.run_some(1 << 20).more) {
    }
  };
  run();
  for (const std::size_t i : shuffled(n, seed))
    tasks.wake(*workers[i]);
  run();
  // Of tasks alone: there are no messages.
  const Scheduler::Figures figures = tasks.figures();
  counters = {{"tasks", figures.n_spawned}, {"switches", figures.n_turns}};
  return clock.ns_a_yield(n_yields);
}

// The same tasks in a program, whose core looks for messages at the end of each of its slices.
// NOLINTNEXTLINE(readability-function-size): yields are in line
double program_yield_ns(core::NodeHost& host, std::size_t n, std::uint64_t n_yields,
                        std::uint64_t seed) {
  YieldClock clock(n);
  static_cast<void>(counted_run(host, [&] {
    Scheduler& tasks = Scheduler::current();
    std::vector<Worker*> workers;
    workers.reserve(n);
    global::finish([&] {
      for (std::size_t i = 0; i < n; ++i) {
        global::spawn(
            [&] {
              workers.push_back(&tasks.running());
              tasks.suspend("the others");
              yield_work(clock, n_yields, [] { global::yield(); });
            },
            core::TaskOptions{"yield", core::StackClass::small});
      }
      while (workers.size() < n)
        global::yield();
      for (const std::size_t i : shuffled(n, seed))
        tasks.wake(*workers[i]);
    });
  }));
  return clock.ns_a_yield(n_yields);
}

// Less is better: the ratio is that of the baseline over the value.
Row row_of(const std::string& metric, const std::vector<double>& ns, const char* baseline,
           const std::vector<double>& baseline_ns, const char* must) {
  Row row = value_row(metric, "ns a yield", ns, must);
  if (baseline_ns.empty()) return row;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ns.size(); ++i)
    ratios.push_back(baseline_ns[i] / ns[i]);
  row.baseline = baseline;
  row.baseline_value = median(baseline_ns);
  row.ratio = median(ratios);
  row.spread = relative_spread(ratios);
  return row;
}

constexpr std::size_t kFew = 10'000;
constexpr int kTimesOfFew = 3;  // in a round, of what takes a moment

// ns a yield of so many tasks, all of them taken by turns.
struct Samples {
  std::vector<double> ours;
  std::vector<double> blind;
  std::vector<double> rings;
  std::vector<double> fibers;
  std::vector<double> programs;
  Counters counters;  // the same with and without

  void take(core::NodeHost& host, std::size_t n_tasks, std::uint64_t n_yields, std::uint64_t seed) {
    ours.push_back(task_yield_ns(n_tasks, n_yields, seed, true, counters));
    blind.push_back(task_yield_ns(n_tasks, n_yields, seed, false, counters));
    rings.push_back(ring_yield_ns(n_tasks, n_yields, seed));
    programs.push_back(program_yield_ns(host, n_tasks, n_yields, seed));
#ifdef RUBATO_HAS_BOOST_FIBER
    fibers.push_back(fiber_yield_ns(n_tasks, n_yields, seed));
#endif
  }
};

Report run(const Options& options) {
  std::vector<Size> sizes{{"tasks-2", 2, "value <= 6, ratio >= 3"},
                          {"tasks-1k", 1'000, "value <= 6, ratio >= 3"},
                          {"tasks-100k", 100'000, "value <= 25, ratio >= 3"},
                          {"tasks-500k", 500'000, "value <= 30, ratio >= 3"}};
  if (options.quick) sizes.pop_back();  // its tasks take longer to make than to measure
  const int n_rounds = options.quick ? 1 : 5;
  const std::uint64_t n_all = options.quick ? 400'000 : 10'000'000;
  core::JobConfig config;
  config.host.n_cores = 1;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  Report report;
  // All sizes in each round: what else the machine does comes and goes in minutes, and meets them all.
  std::vector<Samples> samples(sizes.size());
  for (int round = 0; round < n_rounds; ++round) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Size& size = sizes[i];
      const int n_times = options.quick || size.n_tasks > kFew ? 1 : kTimesOfFew;
      options.begin_round(round, n_rounds, size.name);
      for (int time = 0; time < n_times; ++time) {
        const std::uint64_t n_yields = std::max<std::uint64_t>(n_all / size.n_tasks, 4);
        const auto seed = options.seed + static_cast<std::uint64_t>(kTimesOfFew * round + time);
        samples[i].take(job.host(), size.n_tasks, n_yields, seed);
      }
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = sizes[i].name;
    const Samples& of = samples[i];
    report.rows.push_back(row_of(name, of.ours, "Boost.Fiber", of.fibers, sizes[i].must));
    report.rows.back().counters = of.counters;
    report.rows.push_back(row_of(name + "-prefetch", of.ours, "without prefetching", of.blind, ""));
    report.rows.push_back(
        row_of(name + "-limit", of.ours, "a ring without a scheduler", of.rings, ""));
    report.rows.push_back(
        row_of(name + "-program", of.programs, "tasks without a program", of.ours, "reported"));
  }
  return report;
}

}  // namespace

Benchmark yield() {
  return {"yield", "2 to 500,000 tasks yield to each other: what does a switch cost?", run};
}

}  // namespace rubato::bench

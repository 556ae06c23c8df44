// Question: what do workers of a type, and tasks that get units, cost, and do they all work while there is work?
// Hypothesis: the cores of a node take from one queue under a lock, so that no worker waits until another
// core is between two of its tasks; a rule costs a microsecond, with what the keeper of its type is told.

#include "bench/baselines/worker_queue.hpp"
#include "bench/harness.hpp"
#include "bench/job.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;
constexpr const char* kBaseline = "threads and a deque under a lock";

struct Kind {
  std::string metric;
  std::string what;
  std::uint64_t n_tasks;
  Nanos each;
  std::string must;
};

// Of tasks that take no time the rate; of others the part of the time in which the cores run them.
Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 7;
  const std::uint64_t part = options.quick ? 10 : 1;
  const std::vector<Kind> kinds = {
      {"rules-noop", "rules", 500'000 / part, 0, "value >= 0.5"},
      {"units-noop", "units", 500'000 / part, 0, "value >= 0.5"},
      {"units-noop-batches", "batches", 500'000 / part, 0, "value >= 0.5"},
      {"rules-1ms", "rules", 2'000 / part, kMillisecond, "value >= 0.95"},
      {"units-1ms", "units", 2'000 / part, kMillisecond, "value >= 0.95"}};
  Report report;
  report.cores = kCores;
  int n_done = 0;
  for (const Kind& kind : kinds) {
    const bool is_rate = kind.each == 0;
    const double factor = is_rate ? 1 : static_cast<double>(kind.each) / kCores / 1e3;
    std::vector<double> ours;
    std::vector<double> by_hand;
    Counters counters;
    for (int round = 0; round < n_rounds; ++round) {
      options.begin_round(n_done++, n_rounds * static_cast<int>(kinds.size()), kind.metric);
      const JobResult job =
          run_job("flow_workers_job", 1,
                  {kind.what, std::to_string(kind.n_tasks), std::to_string(kind.each)});
      ours.push_back(job.rate * factor);
      by_hand.push_back(worker_queue_rate(kCores, kind.n_tasks, kind.each) * factor);
      counters = job.counters;
    }
    report.rows.push_back(compare_row(kind.metric, is_rate ? "million/s" : "busy", ours, kBaseline,
                                      by_hand, kind.must));
    report.rows.back().counters = counters;
  }
  return report;
}

}  // namespace

Benchmark flow_workers() {
  return {"flow-workers", "workers of a type and units: what do they cost, and are all busy?", run};
}

}  // namespace rubato::bench

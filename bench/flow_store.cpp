// Question: how many data are made, set and read in a second?
// Hypothesis: a datum is a place in a table of its core, so that a task that makes, sets and reads
// one costs about what it costs with a hash table by hand.

#include <unordered_map>

#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

double store_rate(core::NodeHost& host, std::int64_t n, Counters& counters) {
  double result = 0;
  counters = counted_run(host, [&] {
    const Nanos begin = steady_now();
    const flow::FlowResult run = flow::run([=] {
      flow::async_for(0, n, [](std::int64_t i) {
        auto [future, promise] = flow::make_datum<std::int64_t>();
        promise.set(i);
        const std::int64_t found = future.get();
        RUBATO_REQUIRE(found == i, found, i);
      })();
    });
    result = static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
    run.check();
    RUBATO_REQUIRE(run.counters.n_data > static_cast<std::uint64_t>(n), run.counters.n_data);
  });
  return result;
}

double by_hand(std::int64_t n) {
  const Nanos begin = steady_now();
  std::unordered_map<std::int64_t, std::int64_t> data;
  for (std::int64_t i = 0; i < n; ++i) {
    data.emplace(i, i);
    const auto found = data.find(i);
    RUBATO_REQUIRE(found->second == i);
    data.erase(found);
  }
  return static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
}

Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 7;
  const std::int64_t n = options.quick ? 500'000 : 10'000'000;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> ours;
  std::vector<double> hand;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    ours.push_back(store_rate(job.host(), n, counters));
    hand.push_back(by_hand(n));
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("operations", "million/s", ours, "std::unordered_map, one thread",
                             hand, "value >= 3")};
  report.rows.front().counters = counters;
  return report;
}

}  // namespace

Benchmark flow_store() {
  return {"flow-store", "a datum is made, set and read: how often in a second?", run};
}

}  // namespace rubato::bench

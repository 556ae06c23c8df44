// Question: how fast is a distributed container made, filled and gone over, and what does a member
// take?
// And what does a loop over 10^9 take, which is not kept?
// Hypothesis: members of contiguous keys are words in an array, so that the container costs what
// its tasks cost, each of which has up to 256 members.

#include <fstream>
#include <functional>
#include <unordered_map>

#include <unistd.h>

#include "bench/counted_run.hpp"
#include "bench/growth.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/per_core.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

// Bytes of this process that are in memory.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t n_all = 0;
  std::uint64_t n_resident = 0;
  file >> n_all >> n_resident;
  return static_cast<double>(n_resident) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

struct Measured {
  double members = 0;  // million a second
  double bytes = 0;    // of a member, while the container is held
  Counters counters;
};

constexpr std::int64_t kBatch = 1000;

// By tasks that insert each member by itself, or a thousand at a time.
void fill(std::int64_t n, bool by_batches, flow::Inserter<std::int64_t> inserter) {
  const auto one = [](std::int64_t i, const flow::Inserter<std::int64_t>& out) {
    out.insert(i, 3 * i);
  };
  const auto thousand = [](std::int64_t i, const flow::Inserter<std::int64_t>& out) {
    std::vector<std::int64_t> values(kBatch);
    for (std::int64_t j = 0; j < kBatch; ++j)
      values[static_cast<std::size_t>(j)] = 3 * (kBatch * i + j);
    out.insert_all(kBatch * i, values);
  };
  if (by_batches) {
    flow::async_for(0, n / kBatch, thousand)(std::move(inserter));
  } else {
    flow::async_for(0, n, one)(std::move(inserter));
  }
}

Measured range(core::NodeHost& host, std::int64_t n, bool by_batches) {
  Measured result;
  result.counters = counted_run(host, [&] {
    const auto sums = global::PerCore<std::int64_t>::make();
    const double before = resident_bytes();
    const Nanos begin = steady_now();
    const flow::FlowResult run = flow::run([&] {
      auto [numbers, inserter] = flow::make_container<std::int64_t>();
      fill(n, by_batches, std::move(inserter));
      const auto summed = flow::async_each(
          numbers, [sums](std::int64_t key, std::int64_t value) { sums.here() += value - key; })();
      summed.get();
      result.members = static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
      result.bytes = (resident_bytes() - before) / static_cast<double>(n);
      RUBATO_REQUIRE(numbers.size().get() == n);
    });
    run.check();
    const auto sum = sums.reduce([](std::int64_t x) { return x; }, std::plus<>());
    RUBATO_REQUIRE(sum == n * (n - 1), sum, n);
  });
  return result;
}

// By how many MiB the process grows at most while a loop over [0, n) runs; each body is counted, and
// may start a task.
double loop_mib(core::NodeHost& host, std::int64_t n, bool starts_tasks, Counters& counters) {
  double mib = 0;
  counters = counted_run(host, [&] {
    const auto counts = global::PerCore<std::int64_t>::make();
    const Growth growth;
    const flow::FlowResult run = flow::run([&] {
      const auto count = [counts](std::int64_t) { ++counts.here(); };
      const auto start = [count](std::int64_t i) { flow::async(count)(i); };
      if (starts_tasks) {
        flow::async_for(0, n, start)();
      } else {
        flow::async_for(0, n, count)();
      }
    });
    mib = growth.mib();
    run.check();
    const auto n_run = counts.reduce([](std::int64_t x) { return x; }, std::plus<>());
    RUBATO_REQUIRE(n_run == n, n_run, n);
  });
  return mib;
}

// One thread, a table of its own.
double by_hand(std::int64_t n) {
  const Nanos begin = steady_now();
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  for (std::int64_t i = 0; i < n; ++i)
    numbers.emplace(i, 3 * i);
  std::int64_t sum = 0;
  for (const auto& [key, value] : numbers)  // order: of a sum
    sum += value - key;
  RUBATO_REQUIRE(sum == n * (n - 1), sum, n);
  return static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
}

Report run(const Options& options) {
  const int n_rounds = options.quick ? 1 : 7;
  const std::int64_t n = options.quick ? 1'000'000 : 10'000'000;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> members;
  std::vector<double> in_batches;
  std::vector<double> bytes;
  std::vector<double> hand;
  Counters of_range;
  Counters of_loop;
  Counters of_tasks;
  // Before there is memory that was kept.
  const std::int64_t n_long = options.quick ? 10'000'000 : 1'000'000'000;
  const double loop = loop_mib(job.host(), n_long, false, of_loop);
  const double tasks = loop_mib(job.host(), n_long / 10, true, of_tasks);
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    const Measured measured = range(job.host(), n, false);
    members.push_back(measured.members);
    in_batches.push_back(range(job.host(), n, true).members);
    of_range = measured.counters;
    if (round == 0) bytes.push_back(measured.bytes);  // later ones find memory that was kept
    hand.push_back(by_hand(n));
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("members", "million/s", members, "std::unordered_map, one thread",
                             hand, "value >= 5"),
                 compare_row("members-in-batches", "million/s", in_batches,
                             "std::unordered_map, one thread", hand, "value >= 5"),
                 value_row("memory", "bytes/member", bytes, "value <= 24"),
                 value_row("loop-1G", "MiB", {loop}, "value <= 64"),
                 value_row("tasks-100M", "MiB", {tasks}, "value <= 64")};
  report.rows[0].counters = of_range;
  report.rows[3].counters = of_loop;
  report.rows[4].counters = of_tasks;
  return report;
}

}  // namespace

Benchmark flow_range() {
  return {"flow-range", "10 million members of a container: how fast, and how large?", run};
}

}  // namespace rubato::bench

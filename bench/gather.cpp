// Question: how many random reads of a table over all cores are done in a second, each with its
// value used?
// Hypothesis: a read that hands its value to a function when it comes, without a task that waits
// for it, costs twice an update: 16 bytes there and 16 back, each in runs that are prefetched and
// applied in one loop.

#include "bench/core_to_core.hpp"
#include "bench/counted_run.hpp"
#include "bench/gups_work.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

struct Rates {
  double fetched = 0;
  double blocking = 0;
  double awaited = 0;
  Counters counters{};  // of all
};

constexpr std::uint64_t kLineWords = 8;

std::uint64_t expected_sum(std::uint64_t n, std::uint64_t mask) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < n; ++i)
    sum += gups_word(i, mask);
  return sum;
}

// The value of word w is w. A function that gets the value, tasks that wait for it, and coroutines.
Rates gather_rates(core::NodeHost& host, std::uint32_t log2_words, std::uint64_t n_reads) {
  Rates rates;
  const std::uint64_t mask = (std::uint64_t{1} << log2_words) - 1;
  const std::uint64_t n_blocking = n_reads / 8;
  rates.counters = counted_run(host, [&] {
    const auto table = global::GlobalArray<std::uint64_t>::make(mask + 1);
    // A line a core, whose first word it adds its values to.
    const auto sums =
        global::GlobalArray<std::uint64_t>::make(global::n_cores() * kLineWords, kLineWords);
    global::forall(table, [](std::uint64_t i, std::uint64_t& x) { x = i; });
    const auto total = [&] {
      std::uint64_t sum = 0;
      for (global::CoreId core = 0; core < global::n_cores(); ++core)
        sum += global::read(sums[core * kLineWords]);
      global::forall(sums, [](std::uint64_t& x) { x = 0; });
      return sum;
    };
    Nanos begin = steady_now();
    global::forall(0, n_reads, [=](std::uint64_t i) {
      global::fetch(table[gups_word(i, mask)],
                    [sum = sums.local()](std::uint64_t value) { *sum += value; });
    });
    rates.fetched = static_cast<double>(n_reads) / static_cast<double>(steady_now() - begin) * 1e3;
    std::uint64_t sum = total();
    RUBATO_REQUIRE(sum == expected_sum(n_reads, mask), sum);
    begin = steady_now();
    global::forall(0, n_blocking, [=](std::uint64_t i) {
      const std::uint64_t value = global::read(table[gups_word(i, mask)]);
      *sums.local() += value;
    });
    rates.blocking =
        static_cast<double>(n_blocking) / static_cast<double>(steady_now() - begin) * 1e3;
    sum = total();
    RUBATO_REQUIRE(sum == expected_sum(n_blocking, mask), sum);
    begin = steady_now();
    global::forall(0, n_blocking, [=](std::uint64_t i) -> global::Coroutine {
      const std::uint64_t value = co_await global::awaited_read(table[gups_word(i, mask)]);
      *sums.local() += value;
    });
    rates.awaited =
        static_cast<double>(n_blocking) / static_cast<double>(steady_now() - begin) * 1e3;
    sum = total();
    RUBATO_REQUIRE(sum == expected_sum(n_blocking, mask), sum);
  });
  return rates;
}

Report run(const Options& options) {
  const std::uint32_t log2_words = options.quick ? 24 : 27;
  const std::uint64_t n_reads = options.quick ? 10'000'000 : 100'000'000;
  const int n_rounds = options.quick ? 1 : 7;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> fetched;
  std::vector<double> blocking;
  std::vector<double> awaited;
  std::vector<double> limits;
  std::vector<double> apart;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    apart.push_back(core_to_core_ns(kCores));
    const Rates rates = gather_rates(job.host(), log2_words, n_reads);
    fetched.push_back(rates.fetched);
    blocking.push_back(rates.blocking);
    awaited.push_back(rates.awaited);
    limits.push_back(gather_in_place(log2_words, n_reads));
    counters = rates.counters;
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("reads", "million/s", fetched, "2 threads in place, prefetched",
                             limits, "value >= 60"),
                 compare_row("blocking-reads", "million/s", blocking,
                             "2 threads in place, prefetched", limits, "reported"),
                 compare_row("awaited-reads", "million/s", awaited,
                             "2 threads in place, prefetched", limits, "reported"),
                 value_row("core-to-core", "ns, there and back", apart, "")};
  report.rows.front().counters = counters;
  return report;
}

}  // namespace

Benchmark gather() {
  return {"gather", "random reads through delegates, each value used: how many in a second?", run};
}

}  // namespace rubato::bench

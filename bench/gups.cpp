// Question: how many random increments of a table over all cores are done in a second, each an
// asynchronous delegate with a lambda, in a scope?
// Hypothesis: increments that travel as runs of 8 bytes, are prefetched and applied in a loop that
// the compiler has seen whole cost two to three times what a program does that was written for that
// job alone.

#include "bench/core_to_core.hpp"
#include "bench/counted_run.hpp"
#include "bench/gups_work.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

double gups_rate(core::NodeHost& host, std::uint32_t log2_words, std::uint64_t n_updates,
                 Counters& counters) {
  Nanos time = 0;
  std::uint64_t sum = 0;
  counters = counted_run(host, [&] {
    const std::uint64_t n_words = std::uint64_t{1} << log2_words;
    const auto table = global::GlobalArray<std::uint64_t>::make(n_words);
    global::forall(table, [](std::uint64_t& x) { x = 0; });  // pages come with the first use
    const Nanos begin = steady_now();
    global::forall(0, n_updates, [=](std::uint64_t i) {
      global::async_call(table[gups_word(i, n_words - 1)], [](std::uint64_t& x) { ++x; });
    });
    time = steady_now() - begin;
    global::on_all_cores([table, total = global::make_global(sum)] {
      std::uint64_t mine = 0;
      for (std::uint64_t k = 0; k < table.n_of(global::this_core()); ++k)
        mine += table.local()[k];
      global::fetch_add(total, mine);
    });
  });
  RUBATO_REQUIRE(sum == n_updates, sum, n_updates);
  return static_cast<double>(n_updates) / static_cast<double>(time) * 1e3;
}

Report run(const Options& options) {
  const std::uint32_t log2_words = options.quick ? 24 : 27;
  const std::uint64_t n_updates = options.quick ? 20'000'000 : 200'000'000;
  const int n_rounds = options.quick ? 1 : 7;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> ours;
  std::vector<double> limits;
  std::vector<double> apart;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    apart.push_back(core_to_core_ns(kCores));
    ours.push_back(gups_rate(job.host(), log2_words, n_updates, counters));
    limits.push_back(gups_owner_computes(log2_words, n_updates));
  }
  Report report;
  report.cores = kCores;
  report.rows.push_back(compare_row("updates", "million/s", ours, "owner computes, by hand", limits,
                                    "value >= 150, ratio >= 0.45"));
  report.rows.back().counters = counters;
  report.rows.push_back(value_row("core-to-core", "ns, there and back", apart, ""));
  return report;
}

}  // namespace

Benchmark gups() {
  return {"gups", "random increments through delegates: how many in a second?", run};
}

}  // namespace rubato::bench

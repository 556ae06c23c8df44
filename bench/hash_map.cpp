// Question: how many times a second can string keys be counted in a hash map over all cores?
// Hypothesis: a key that travels as its bytes and is looked for after its slot and its entry have
// been asked for is found as fast as one whose address was handed over and which is looked for at
// once.

#include "rubato/global/hash_map.hpp"

#include "bench/core_to_core.hpp"
#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "bench/hash_map_work.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

double upsert_rate(core::NodeHost& host, const std::vector<std::string>& keys, std::uint64_t n,
                   Counters& counters) {
  Nanos time = 0;
  std::uint64_t sum = 0;
  counters = counted_run(host, [&] {
    const auto map = global::GlobalHashMap<std::string, std::uint64_t>::make();
    const Nanos begin = steady_now();
    // One node: the keys are where everybody can read them.
    global::forall(0, n, [map, all = &keys](std::uint64_t i) {
      map.async_upsert((*all)[gups_word(i, UINT64_MAX) % all->size()], std::uint64_t{1},
                       [](std::uint64_t& count, const std::uint64_t& more) { count += more; });
    });
    time = steady_now() - begin;
    global::forall(map,
                   [total = global::make_global(sum)](const std::string&, std::uint64_t& count) {
                     global::async_call(total, [count](std::uint64_t& s) { s += count; });
                   });
    map.free();
  });
  RUBATO_REQUIRE(sum == n, sum, n);
  return static_cast<double>(n) / static_cast<double>(time) * 1e3;
}

Report run(const Options& options) {
  const std::uint64_t n = options.quick ? 5'000'000 : 50'000'000;
  const std::vector<std::string> keys = hash_map_keys(options.quick ? 100'000 : 1'000'000);
  const int n_rounds = options.quick ? 1 : 7;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> ours;
  std::vector<double> by_hand;
  std::vector<double> apart;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    apart.push_back(core_to_core_ns(kCores));
    ours.push_back(upsert_rate(job.host(), keys, n, counters));
    by_hand.push_back(robin_map_upserts(keys, n));
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("upserts", "million/s", ours, "2 threads, tsl::robin_map, by hand",
                             by_hand, "ratio >= 0.5"),
                 value_row("core-to-core", "ns, there and back", apart, "")};
  report.rows.front().counters = counters;
  return report;
}

}  // namespace

Benchmark hash_map() {
  return {"hashmap", "string keys counted in a hash map over all cores: how many in a second?",
          run};
}

}  // namespace rubato::bench

// Question: how many empty tasks can one core start in a second, if both run them?
// Hypothesis: a task of 8 bytes is written and read where it lies, and a core that is hungry takes
// hundreds at a time, so that neither cores nor tasks wait for each other.

#include "bench/baselines/omp_spawn.hpp"
#include "bench/core_to_core.hpp"
#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/loop.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;
constexpr std::uint64_t kLineWords = 8;

// Counts itself, so that none can be left out.
struct Empty {
  global::Place count;
  void run(core::CoreContext& here) const {
    ++*reinterpret_cast<std::uint64_t*>(count.resolve(here));
  }
};

struct Spawned {
  double rate = 0;         // million tasks a second
  double other_share = 0;  // that the other core ran
  Counters counters{};
};

// `spawn_one(counter)` makes a task that adds 1 to the word of the core that runs it; the first of these is
// at `counter`.
template <class F>
Spawned spawn_rate(core::NodeHost& host, std::uint64_t n_tasks, const F& spawn_one) {
  Spawned result;
  result.counters = counted_run(host, [&] {
    const auto counts =
        global::GlobalArray<std::uint64_t>::make(global::n_cores() * kLineWords, kLineWords);
    const Nanos begin = steady_now();
    global::finish([&] {
      for (std::uint64_t i = 0; i < n_tasks; ++i)
        spawn_one(counts[0].place());
    });
    result.rate = static_cast<double>(n_tasks) / static_cast<double>(steady_now() - begin) * 1e3;
    const std::uint64_t mine = global::read(counts[0]);
    const std::uint64_t others = global::read(counts[kLineWords]);
    RUBATO_REQUIRE(mine + others == n_tasks, mine, others, n_tasks);
    result.other_share = static_cast<double>(others) / static_cast<double>(n_tasks);
  });
  return result;
}

Report run(const Options& options) {
  const std::uint64_t n_tasks = options.quick ? 2'000'000 : 50'000'000;
  const std::uint64_t n_omp = n_tasks / 20;
  const int n_rounds = options.quick ? 1 : 7;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  // As loops make their tasks, and as programs do.
  const auto spawn_record = [](global::Place counts) {
    core::CoreContext::here().spawn_pooled(Empty{counts});
  };
  const auto spawn_closure = [](global::Place counts) {
    global::spawn_anywhere([counts] { Empty{counts}.run(core::CoreContext::here()); });
  };
  std::vector<double> ours;
  std::vector<double> anywhere;
  std::vector<double> apart;
  std::vector<double> shares;
  std::vector<double> omp;
  Counters counters;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    apart.push_back(core_to_core_ns(kCores));
    const Spawned spawned = spawn_rate(job.host(), n_tasks, spawn_record);
    anywhere.push_back(spawn_rate(job.host(), n_tasks, spawn_closure).rate);
    ours.push_back(spawned.rate);
    shares.push_back(spawned.other_share);
    counters = spawned.counters;
    omp.push_back(omp_spawn_rate(kCores, n_omp));
  }
  Report report;
  report.cores = kCores;
  report.rows = {
      compare_row("tasks", "million/s", ours, "OpenMP tasks (libgomp)", omp, "value >= 30"),
      value_row("tasks-anywhere", "million/s", anywhere, "reported"),
      value_row("other-core", "of the tasks", shares, "reported"),
      value_row("core-to-core", "ns, there and back", apart, "")};
  report.rows.front().counters = counters;
  return report;
}

}  // namespace

Benchmark spawn() {
  return {"spawn", "empty tasks from one core, run on both: how many in a second?", run};
}

}  // namespace rubato::bench

// Question: what does a task take of the machine's memory while it waits?
// Hypothesis: one with a stack a page, since its small stack lies beside the others in huge pages;
// one without, a coroutine, its frame.

#include <fstream>
#include <string>

#include "bench/counted_run.hpp"
#include "bench/harness.hpp"
#include "rubato/core/job.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

// Bytes of this process that are in memory, and those of its page tables.
double resident_bytes() {
  std::ifstream file("/proc/self/status");
  double n_kibi = 0;
  for (std::string word; file >> word;) {
    double n = 0;
    if ((word == "VmRSS:" || word == "VmPTE:") && file >> n) n_kibi += n;
  }
  RUBATO_REQUIRE(n_kibi > 0 && "/proc/self/status says nothing of memory");
  return n_kibi * 1024;
}

constexpr std::uint64_t kGuarded = 10'000;

// What `n` tasks take while each waits for a cell.
double stackful_bytes(std::uint64_t n, core::StackClass stack) {
  double bytes = 0;
  core::FullEmpty<std::uint64_t> gate;
  std::uint64_t sum = 0;
  global::finish([&] {
    const double before = resident_bytes();
    for (std::uint64_t i = 0; i < n; ++i) {
      global::spawn([&] { sum += gate.read_ff(); }, {"waits", stack});
    }
    core::CoreContext& here = core::CoreContext::here();
    while (here.tasks().figures().n_waiting < n)
      here.yield();
    bytes = (resident_bytes() - before) / static_cast<double>(n);
    gate.write_xf(1);
  });
  RUBATO_REQUIRE(sum == n, sum, n);
  return bytes;
}

global::Coroutine wait_for(global::CoroutineEvent& event, global::GlobalPtr<std::uint64_t> sum) {
  co_await event;
  co_await global::awaited_call(sum, [](std::uint64_t& s) { ++s; });
}

// The same of coroutines that wait for an event, and later for a delegate.
double coroutine_bytes(std::uint64_t n) {
  const auto sum = global::GlobalArray<std::uint64_t>::make(1);
  global::CoroutineEvent event;
  double bytes = 0;
  global::finish([&] {
    const double before = resident_bytes();
    for (std::uint64_t i = 0; i < n; ++i)
      global::start(wait_for(event, sum[0]));
    bytes = (resident_bytes() - before) / static_cast<double>(n);
    event.set();
  });
  const std::uint64_t found = global::read(sum[0]);
  RUBATO_REQUIRE(found == n, found, n);
  return bytes;
}

Report run(const Options& options) {
  const std::uint64_t n = options.quick ? 20'000 : 200'000;
  core::JobConfig config;
  config.host.n_cores = 1;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  std::vector<double> stackful;
  std::vector<double> guarded;
  std::vector<double> coroutine;
  options.begin_round(0, 1);
  // The smaller first: the process keeps memory that is given back, which would count for nothing.
  const Counters of_coroutines =
      counted_run(job.host(), [&] { coroutine.push_back(coroutine_bytes(n)); });
  // Of these there are fewer: each takes two of the areas that the kernel has for a process.
  const Counters of_guarded = counted_run(
      job.host(), [&] { guarded.push_back(stackful_bytes(kGuarded, core::StackClass::guarded)); });
  const Counters of_stackful = counted_run(
      job.host(), [&] { stackful.push_back(stackful_bytes(n, core::StackClass::small)); });
  Report report;
  report.rows = {value_row("stackful", "bytes", stackful, "value <= 4300"),
                 value_row("coroutine", "bytes", coroutine, "value <= 256"),
                 value_row("guarded", "bytes", guarded, "reported")};
  report.rows.at(0).counters = of_stackful;
  report.rows.at(1).counters = of_coroutines;
  report.rows.at(2).counters = of_guarded;
  return report;
}

}  // namespace

Benchmark task_memory() {
  return {"task-memory", "tasks that wait, with a stack and without: what do they take?", run};
}

}  // namespace rubato::bench

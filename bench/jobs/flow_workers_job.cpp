// The job of flow-workers: flow_workers_job rules|units|batches TASKS NANOSECONDS; of units, put one by one
// or a thousand at a time. Two cores a node, on each of
// which a worker, or a task that gets units, spins for that time. Node 0 prints a line of JSON with
// "million_per_second" and "counters". A program of its own: where units are known, flows begin otherwise.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/counted_run.hpp"
#include "bench/flow_work.hpp"
#include "bench/jobs/job_result.hpp"
#include "rubato/core/job.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/pool/unit_kind.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/reduce_cores.hpp"
#include "rubato/net/fabric_factory.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

// NOLINTNEXTLINE(cert-err58-cpp): before main, like all actions
const flow::UnitKind<Nanos> kSpins("spin");

// Of this core, whose tasks are its thread's.
thread_local std::uint64_t n_done = 0;

void put_rules(std::uint64_t n, Nanos each) {
  const flow::RuleOptions options{.type = flow::work_type("worker")};
  const auto task = [](Nanos time) {
    spin(time);
    ++n_done;
  };
  for (std::uint64_t i = 0; i < n; ++i)
    flow::async(task, options)(each);
}

void begin_getters() {
  const auto get_all = [] {
    while (const auto time = kSpins.get()) {
      spin(*time);
      ++n_done;
    }
  };
  for (global::CoreId core = 0; core < global::n_cores(); ++core)
    flow::async(get_all, {.core = core})();
}
void put_units(std::uint64_t n, Nanos each) {
  begin_getters();
  for (std::uint64_t i = 0; i < n; ++i)
    kSpins.put(each);
}
void put_batches(std::uint64_t n, Nanos each) {
  begin_getters();
  const std::vector<Nanos> thousand(1000, each);
  for (std::uint64_t i = 0; i < n; i += thousand.size())
    kSpins.put_all({thousand.data(), std::min<std::uint64_t>(n - i, thousand.size())});
}

int run(const std::vector<std::string>& words) {
  const std::map<std::string, void (*)(std::uint64_t n, Nanos each)> kinds = {
      {"rules", &put_rules}, {"units", &put_units}, {"batches", &put_batches}};
  if (words.size() != 3 || !kinds.contains(words[0]))
    throw Error("expected rules|units|batches TASKS NANOSECONDS", ExitCode::usage);
  const auto put = kinds.at(words[0]);
  const std::uint64_t n = std::stoull(words[1]);
  const Nanos each = std::stoll(words[2]);
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(net::make_fabric(), config);
  JobResult result;
  result.counters = counted_run(job.host(), [&] {
    const Nanos begin = steady_now();
    const flow::FlowResult flow =
        flow::run([&] { put(n, each); }, {flow::Workers::parse({"worker=2/node"})});
    result.rate = static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
    flow.check();
    const std::uint64_t n_run = global::reduce_cores([] { return n_done; }, std::plus<>());
    RUBATO_REQUIRE(n_run == n, n_run, n);
  });
  if (job.speaks()) print(result);
  return 0;
}

}  // namespace
}  // namespace rubato::bench

int main(int argc, char** argv) {
  return rubato::bench::job_main(argc, argv, "flow_workers_job", rubato::bench::run);
}

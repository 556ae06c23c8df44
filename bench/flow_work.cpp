#include "bench/flow_work.hpp"

#include <functional>

#include "bench/counted_run.hpp"
#include "rubato/base/time.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/reduce_cores.hpp"

namespace rubato::bench {
namespace {

double rate(std::uint64_t n, Nanos time) {
  return static_cast<double>(n) / static_cast<double>(time) * 1e3;
}

// Of this core, whose tasks are its thread's.
thread_local std::uint64_t n_noops = 0;

void start_noop() {
  flow::async([] { ++n_noops; })();
}

}  // namespace

double flow_noop_rate(core::NodeHost& host, std::uint64_t n_tasks, bool one_source,
                      Counters& counters) {
  double result = 0;
  counters = counted_run(host, [&] {
    global::on_all_cores([] { n_noops = 0; });
    const Nanos begin = steady_now();
    const flow::FlowResult run = flow::run([=] {
      if (one_source) {
        for (std::uint64_t i = 0; i < n_tasks; ++i)
          start_noop();
      } else {
        flow::async_for(0, static_cast<std::int64_t>(n_tasks),
                        [](std::int64_t) { start_noop(); })();
      }
    });
    result = rate(n_tasks, steady_now() - begin);
    run.check();
    const std::uint64_t n_done = global::reduce_cores([] { return n_noops; }, std::plus<>());
    RUBATO_REQUIRE(n_done == n_tasks, n_done, n_tasks);
    RUBATO_REQUIRE(run.counters.n_data == run.counters.n_freed, run.counters.n_freed);
  });
  return result;
}

double flow_chain_rate(core::NodeHost& host, std::uint64_t n_links, Counters& counters) {
  double result = 0;
  counters = counted_run(host, [&] {
    const global::CoreId n_cores = global::n_cores();
    const bool goes_round = host.shape().n_nodes > 1;
    const Nanos begin = steady_now();
    const flow::FlowResult run = flow::run([=] {
      flow::Future<std::uint64_t> last = flow::async([] { return std::uint64_t{0}; })();
      for (std::uint64_t i = 0; i < n_links; ++i) {
        const auto core = static_cast<global::CoreId>(i % n_cores);
        last = flow::async([](std::uint64_t x) { return x + 1; },
                           {.core = goes_round ? core : flow::kAnyCore})(std::move(last));
      }
      const std::uint64_t found = last.get();
      RUBATO_REQUIRE(found == n_links, found, n_links);
    });
    result = rate(n_links, steady_now() - begin);
    run.check();
  });
  return result;
}

}  // namespace rubato::bench

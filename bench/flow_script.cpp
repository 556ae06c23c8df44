// Question: what does a flow cost that is a script?
// Hypothesis: a rule of a script is a rule of a flow whose action walks over a tree of some nodes; so
// it takes some times as long as one in C++, and as much less than one that servers are asked for. A
// leaf is run by a thread beside the cores, to which it is handed and which hands it back.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/counted_run.hpp"
#include "bench/growth.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/net/local.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

constexpr const char* kRules = R"(
for i in [1:int(arg("n"))] {
  integer x
  when { } then {x} from {= i + 1}
}
)";
constexpr const char* kLeaves = R"(
leaf touch(integer i) to (integer x)
for i in [1:int(arg("n"))] {
  integer x
  when { } then {x} from {touch i}
}
)";
constexpr const char* kRange = R"(
container<integer, integer> c
for i in [1:int(arg("n"))] {
  integer x
  when { } then {x} from {= 3 * i}
  insert c[i] = x
}
foreach x in c {
  integer y
  when {x} then {y} from {= x + 1}
}
)";
constexpr const char* kGated = R"(
leaf hold() to (integer x)
integer gate
when { } then {gate} from {hold}
for i in [1:int(arg("n"))] {
  integer x
  when {gate} then {x} from {= i + gate}
}
)";

// Members of which each millionth is counted.
constexpr std::int64_t kOneIn = 1'000'000;
constexpr const char* kLoop = R"(
leaf count(integer x) to (integer y)
for i in [1:int(arg("n"))] {
  integer x
  when { } then {x} from {= i + 1}
  if i % 1000000 == 0 {
    integer y
    when {x} then {y} from {count x}
  }
}
)";
std::atomic<std::int64_t> counted =
    0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::int64_t count(std::int64_t x) {
  counted += x;
  return x;
}

std::int64_t touch(std::int64_t i) {
  return i + 1;
}
// Until the loop has long made what it may.
std::int64_t hold() {
  std::this_thread::sleep_for(std::chrono::seconds(2));
  return 1;
}

Counters run_text(core::NodeHost& host, const char* text, std::int64_t n) {
  global::ProgramOptions options;
  options.messages.tasks.stacks.guarded_bytes = flow::kScriptStackBytes;
  const auto main = [&] {
    flow::ScriptArguments arguments;
    arguments.named["n"] = std::to_string(n);
    flow::run_script(text, "flow-script", arguments).check();
  };
  return counted_run(host, main, options);
}

double script_rate(core::NodeHost& host, const char* text, std::int64_t n, Counters& counters) {
  const Nanos begin = steady_now();
  counters = run_text(host, text, n);
  return static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
}

// The same of futures in C++: a loop whose bodies make a task each.
double rate_in_cpp(core::NodeHost& host, std::int64_t n) {
  const Nanos begin = steady_now();
  global::run(host, {}, [&] {
    flow::run([n] {
      const auto next = flow::async([](std::int64_t i) { return i + 1; });
      flow::async_for(1, n + 1, [next](std::int64_t i) { next(i); })();
    }).check();
  });
  return static_cast<double>(n) / static_cast<double>(steady_now() - begin) * 1e3;
}

// By how many MiB the process grows at most.
double growth_mib(core::NodeHost& host, const char* text, std::int64_t n, Counters& counters) {
  const Growth growth;
  counters = run_text(host, text, n);
  return growth.mib();
}

Report run(const Options& options) {
  flow::register_leaf("touch", &touch);
  flow::register_leaf("hold", &hold);
  flow::register_leaf("count", &count);
  const int n_rounds = options.quick ? 1 : 7;
  const std::int64_t n = options.quick ? 100'000 : 1'000'000;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(std::make_unique<net::LocalFabric>(), config);
  Report report;
  report.cores = kCores;
  Counters of_gated;
  // Before there is memory that was kept.
  const double gated = growth_mib(job.host(), kGated, n, of_gated);
  const std::int64_t n_long = options.quick ? 10'000'000 : 1'000'000'000;
  Counters of_loop;
  const double loop = growth_mib(job.host(), kLoop, n_long, of_loop);
  const std::int64_t n_counted = n_long / kOneIn;
  const std::int64_t expected = kOneIn * n_counted * (n_counted + 1) / 2 + n_counted;
  RUBATO_REQUIRE(counted == expected, counted.load(), expected);
  const std::vector<std::pair<std::string, const char*>> scripts = {
      {"rules", kRules}, {"range", kRange}, {"leaves", kLeaves}};
  const int n_all = n_rounds * static_cast<int>(scripts.size());
  int n_done = 0;
  for (const auto& [metric, text] : scripts) {
    std::vector<double> ours;
    std::vector<double> in_cpp;
    Counters counters;
    for (int round = 0; round < n_rounds; ++round) {
      options.begin_round(n_done++, n_all, metric);
      ours.push_back(script_rate(job.host(), text, n, counters));
      in_cpp.push_back(rate_in_cpp(job.host(), n));
    }
    report.rows.push_back(compare_row(metric, "million/s", ours, "tasks of a flow in C++", in_cpp,
                                      metric == "leaves" ? "reported" : "value >= 1"));
    report.rows.back().counters = counters;
  }
  report.rows.push_back(value_row("gated", "MiB", {gated}, "value <= 64"));
  report.rows.back().counters = of_gated;
  report.rows.push_back(value_row("loop-1G", "MiB", {loop}, "value <= 64"));
  report.rows.back().counters = of_loop;
  return report;
}

}  // namespace

Benchmark flow_script() {
  return {"flow-script",
          "a script of a million rules: how many in a second, and what do they take?", run};
}

}  // namespace rubato::bench

// What `reproduce grappa` simulates and measures.

#include <algorithm>
#include <bit>
#include <functional>
#include <ostream>

#include <nlohmann/json.hpp>

#include "rubato/base/random.hpp"
#include "rubato/core/observer.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/simulate.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tools/process.hpp"
#include "rubato/tools/reproduce/grappa.hpp"

namespace rubato::tools {
namespace {

using core::CoreContext;
using global::GlobalArray;
using Words = GlobalArray<std::uint64_t>;

constexpr std::size_t kBytesACore = std::size_t{64} << 20;  // of addresses
constexpr std::uint64_t kWordsANode = 1 << 12;
constexpr std::size_t kMoments = 20;
constexpr const char* kPaperRate = ", rate=40000";  // of a card of the paper's cluster

double per_second(std::uint64_t n, Nanos time) {
  return static_cast<double>(n) / static_cast<double>(time) * 1e9;
}

// What a node sends in a second, in the mean of all.
double node_bytes_s(const global::SimulatedRun& run) {
  std::uint64_t n_bytes = 0;
  for (const core::NodeFigures& node : run.nodes)
    n_bytes += node.bytes_sent;
  return per_second(n_bytes, run.wall) / static_cast<double>(run.nodes.size());
}

double link_bytes_s(const std::string& profile) {
  return net::parse_profile(profile).rate_mbit * 1e6 / 8;
}

// The table of a job of `n_nodes`, a power of two of words.
Words table_of(std::uint32_t n_nodes) {
  return Words::make(kWordsANode * std::bit_ceil(n_nodes));
}

// A random one of them, for increment i.
global::GlobalPtr<std::uint64_t> word_of(const Words& table, std::uint64_t seed, std::uint64_t i) {
  return table[hash_words(seed, i) & (table.size() - 1)];
}

global::SimulateOptions simulation(const GrappaOptions& options, std::uint32_t n_nodes) {
  return {.n_nodes = n_nodes,
          .profile = options.profile,
          .seed = options.seed,
          .program = {{.deadline = options.deadline}, kBytesACore}};
}

// A record leaves alone, at once.
core::MessageOptions one_by_one() {
  return {.block_bytes = 1, .buffer_bytes = 1, .deadline = 0};
}

// A task that waits for each of its increments.
struct SingleIncrements {
  Words table;
  std::uint64_t seed;
  std::uint64_t first;
  std::uint64_t n;

  void operator()() const {
    for (std::uint64_t i = first; i < first + n; ++i) {
      CoreContext::here().charge(kIssueCost);
      global::fetch_add(word_of(table, seed, i), std::uint64_t{1});
    }
  }
};

global::SimulatedRun increments(const GrappaOptions& options, std::uint32_t n_nodes) {
  const std::uint64_t seed = options.seed;
  const std::uint64_t n_updates = options.n_updates * n_nodes;
  return global::simulate(
      [=] {
        const Words table = table_of(n_nodes);
        global::forall(0, n_updates, [=](std::uint64_t i) {
          CoreContext::here().charge(kIssueCost);
          global::async_call(word_of(table, seed, i), [](std::uint64_t& x) { ++x; });
        });
      },
      simulation(options, n_nodes));
}

global::SimulatedRun single_increments(const GrappaOptions& options, std::uint32_t n_nodes) {
  const std::uint64_t seed = options.seed;
  const std::uint64_t n_tasks = options.batch;
  const std::uint64_t n_of_task = options.n_single / n_tasks;
  const auto on_core = [=](const Words& table) {
    CoreContext& here = CoreContext::here();
    for (std::uint64_t t = here.core() * n_tasks; t < (here.core() + 1) * n_tasks; ++t) {
      here.spawn(SingleIncrements{table, seed, t * n_of_task, n_of_task},
                 {"increments", core::StackClass::small});
    }
  };
  global::SimulateOptions simulated = simulation(options, n_nodes);
  simulated.program.messages = one_by_one();
  return global::simulate(
      [=] {
        const Words table = table_of(n_nodes);
        global::on_all_cores([=] { on_core(table); });
      },
      simulated);
}

GupsPoint gups_point(const GrappaOptions& options, std::uint32_t n_nodes) {
  GupsPoint point{n_nodes};
  const global::SimulatedRun many = increments(options, n_nodes);
  point.rate = per_second(options.n_updates * n_nodes, many.wall);
  point.node_bytes_s = node_bytes_s(many);
  if (n_nodes == 1) return point;  // of itself it asks for nothing
  const std::uint64_t n_single = options.n_single / options.batch * options.batch;
  point.single_rate = per_second(n_single * n_nodes, single_increments(options, n_nodes).wall);
  return point;
}

UpdateRun update_run(const GrappaOptions& options, const std::string& profile) {
  const std::uint32_t n_nodes = std::min(options.n_sending, options.n_nodes);
  const std::uint64_t seed = options.seed;
  const std::uint64_t n_updates = options.n_updates * n_nodes;
  global::SimulateOptions simulated = simulation(options, n_nodes);
  simulated.profile = profile;
  const global::SimulatedRun run = global::simulate(
      [=] {
        const Words table = table_of(n_nodes);
        // 24 bytes and an address.
        global::forall(0, n_updates, [=](std::uint64_t i) {
          CoreContext::here().charge(kIssueCost);
          const auto update = [a = i, b = seed, c = ~i](std::uint64_t& x) { x += a ^ b ^ c; };
          global::async_call(word_of(table, seed, i), update);
        });
      },
      simulated);
  return {n_nodes, per_second(n_updates, run.wall), node_bytes_s(run), link_bytes_s(profile)};
}

// --- over time
// ------------------------------------------------------------------------------------------

// How many tasks wait when a core begins a turn, and what is sent.
class Timeline final : public core::Observer {
 public:
  explicit Timeline(std::uint32_t n_nodes) : turns_(n_nodes) {}

  void on_work(core::NodeId node, std::uint32_t /*core*/, const core::Work& work, Nanos begin,
               Nanos /*end*/) noexcept override {
    turns_[node].push_back({begin, static_cast<double>(work.tick)});
  }
  void on_sent(core::NodeId /*node*/, core::NodeId /*peer*/, std::size_t n_bytes,
               Nanos when) noexcept override {
    sent_.push_back({when, static_cast<double>(n_bytes)});
  }
  void on_taken(core::NodeId /*node*/, core::NodeId /*peer*/, std::size_t /*n_bytes*/,
                Nanos /*when*/) noexcept override {}

  [[nodiscard]] std::vector<Moment> moments(Nanos wall) const {
    const double length = static_cast<double>(wall) / kMoments;
    std::vector<Moment> all(kMoments);
    const auto at = [&](Nanos when) {
      return std::min(static_cast<std::size_t>(static_cast<double>(when) / length), kMoments - 1);
    };
    for (std::size_t i = 0; i < kMoments; ++i)
      all[i].ms = static_cast<double>(i + 1) * length / 1e6;
    for (const Event& event : sent_)
      all[at(event.when)].node_bytes_s +=
          event.value / length * 1e9 / static_cast<double>(turns_.size());
    for (const auto& turns : turns_) {
      // What a turn finds has been so since the one before.
      Nanos since = 0;
      for (const Event& turn : turns) {
        for (std::size_t i = at(since); i <= at(turn.when); ++i) {
          const double begin = std::max(static_cast<double>(since), length * double(i));
          const double end = std::min(static_cast<double>(turn.when), length * double(i + 1));
          all[i].n_waiting += std::max(end - begin, 0.0) / length * turn.value;
        }
        since = turn.when;
      }
    }
    return all;
  }

 private:
  struct Event {
    Nanos when;
    double value;
  };
  std::vector<std::vector<Event>> turns_;  // [n_nodes]
  std::vector<Event> sent_;
};

// Rounds of increments that are waited for, each of half as many tasks as the one before: as in the
// paper's run, where fewer and fewer vertices are active.
std::vector<Moment> over_time(const GrappaOptions& options, std::uint32_t n_nodes) {
  constexpr std::uint64_t kRounds = 5;
  constexpr std::uint64_t kIncrements = 8;  // of a task
  const std::uint64_t seed = options.seed;
  const std::uint64_t n_most = std::uint64_t{options.n_peak_tasks} * n_nodes;
  Timeline timeline(n_nodes);
  global::SimulateOptions simulated = simulation(options, n_nodes);
  simulated.observer = &timeline;
  const global::SimulatedRun run = global::simulate(
      [=] {
        const Words table = table_of(n_nodes);
        for (std::uint64_t round = 0; round < kRounds; ++round) {
          const auto task = [=](std::uint64_t i) {
            SingleIncrements{table, seed, (round * n_most + i) * kIncrements, kIncrements}();
          };
          global::forall(0, n_most >> round, task, {.threshold = 1});
        }
      },
      simulated);
  return timeline.moments(run.wall);
}

// --- of this machine
// ------------------------------------------------------------------------------------

std::vector<BenchRow> measure(const std::string& name, const GrappaOptions& options,
                              std::ostream& err) {
  err << "bench " << name << '\n';
  const Finished bench =
      run_program({own_path(), "bench", name, "--json", "--seed", std::to_string(options.seed)});
  if (bench.code == 0) {
    if (auto rows = bench_rows(bench.out); !rows.empty()) return rows;
  }
  err << "bench " << name << " failed (exit code " << bench.code
      << "): its figures are left out, its statements not judged\n";
  return {};
}

}  // namespace

GrappaOptions GrappaOptions::quick() {
  GrappaOptions options;
  options.n_nodes = 4;
  options.n_updates = 1 << 12;
  options.n_single = 1 << 8;
  options.batch = 64;
  options.n_peak_tasks = 64;
  options.measures = false;
  return options;
}

std::vector<BenchRow> bench_rows(const std::string& json) {
  const auto bench = nlohmann::json::parse(json, nullptr, false);
  std::vector<BenchRow> rows;
  if (!bench.is_object() || !bench.contains("rows")) return rows;
  for (const auto& row : bench["rows"]) {
    BenchRow out;
    out.metric = row.value("metric", "");
    out.value = row.value("value", 0.0);
    if (row.contains("baseline") && !row["baseline"].is_null()) {
      out.baseline = row.value("baseline", "");
      out.baseline_value = row.value("baseline_value", 0.0);
      out.ratio = row.value("ratio", 0.0);
    }
    rows.push_back(std::move(out));
  }
  return rows;
}

const BenchRow* find_row(const std::vector<BenchRow>& rows, std::string_view metric) {
  const auto row = std::ranges::find(rows, metric, &BenchRow::metric);
  return row == rows.end() ? nullptr : &*row;
}

GrappaRuns run_grappa(const GrappaOptions& options, std::ostream& err) {
  GrappaRuns runs;
  for (std::uint32_t n_nodes = 1;; n_nodes = std::min(2 * n_nodes, options.n_nodes)) {
    err << "increments of " << n_nodes << (n_nodes == 1 ? " node" : " nodes") << '\n';
    runs.gups.push_back(gups_point(options, n_nodes));
    if (n_nodes == options.n_nodes) break;
  }
  err << "updates of 32 bytes" << '\n';
  runs.updates = {update_run(options, options.profile),
                  update_run(options, options.profile + kPaperRate)};
  err << "concurrency over time" << '\n';
  runs.over_time = over_time(options, std::min(options.n_watched, options.n_nodes));
  runs.watched_link_bytes_s = link_bytes_s(options.profile);
  if (!options.measures) return runs;
  runs.gups_mpi = measure("gups-mpi", options, err);
  runs.message_size = measure("message-size", options, err);
  runs.messages = measure("messages", options, err);
  runs.yield = measure("yield", options, err);
  return runs;
}

}  // namespace rubato::tools

// The runs of `reproduce asytick`.

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <thread>

#include <fmt/format.h>

#include "rubato/base/memory.hpp"
#include "rubato/base/random.hpp"
#include "rubato/core/wrapped_engine.hpp"
#include "rubato/tick/balance/persistence.hpp"
#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/reproduce/asytick.hpp"

namespace rubato::tools {
namespace {

constexpr const char* kAsTheyCome = "as they come";
constexpr tick::Tick kShareTicks = 4;  // of the run that tells the share of pairs
// [AsyTick 5.3]: the ninth iteration of fish is the skewed one.
constexpr tick::Tick kSkewedTick = 8;

bool is_step(std::uint32_t kind) {
  return kind == tick::step_own || kind == tick::interact_own;
}

// The cloud around a worker: at some ticks it is slower.
class SlowedEngine final : public core::WrappedEngine {
 public:
  using IsSlow = std::function<bool(tick::Tick)>;
  SlowedEngine(core::Engine& engine, double slowdown, IsSlow is_slow)
      : WrappedEngine(engine), slowdown_(slowdown), is_slow_(std::move(is_slow)) {}

  [[nodiscard]] Nanos cost(const core::Work& work) const override {
    const Nanos cost = WrappedEngine::cost(work);
    if (!is_step(work.kind) || !is_slow_(work.tick)) return cost;
    return static_cast<Nanos>(static_cast<double>(cost) * slowdown_);
  }

 private:
  double slowdown_;
  IsSlow is_slow_;
};

std::unique_ptr<tick::Problem> build(const Identity& identity, const AsytickBenchmark& benchmark,
                                     bool pairs_cost = true) {
  for (const auto& make : identity.models) {
    std::unique_ptr<tick::App> app = make();
    if (app->name() != benchmark.model) continue;
    ChosenModel model(std::move(app));
    for (const auto& [name, value] : benchmark.settings)
      model.set(name, value);
    if (!pairs_cost) model.set(benchmark.pair_cost, "0");
    return model.app().build();
  }
  throw Error("no model " + benchmark.model + " to reproduce", ExitCode::failed);
}

tick::System system_of(const AsytickBenchmark& benchmark, const AsytickOptions& options,
                       const std::string& name) {
  tick::System system = tick::System::parse(name);
  if (system.policy.pieces) system.policy.depth = options.depth;
  system.sharing.n_pieces = benchmark.n_pieces;
  if (system.sharing.moves()) system.sharing.epoch = options.epoch;
  return system;
}

tick::SimulationOptions simulation_of(const AsytickBenchmark& benchmark,
                                      const AsytickOptions& options) {
  tick::SimulationOptions simulation;
  simulation.n_nodes = options.n_workers();
  simulation.profile = net::parse_profile(options.network(), "--profile");
  simulation.seed = options.seed;
  if (benchmark.slowdown == 1) return simulation;
  simulation.wrap = [&benchmark, &options](tick::NodeId node, tick::TickEngine& engine) {
    return std::make_unique<SlowedEngine>(engine, benchmark.slowdown, [&, node](tick::Tick t) {
      return hash_words(options.seed, static_cast<std::uint64_t>(t)) % options.n_workers() == node;
    });
  };
  return simulation;
}

double seconds(Nanos time) {
  return static_cast<double>(time) * 1e-9;
}

// As many as there are processors, and no more than go into the memory of this machine.
std::size_t usual_jobs() {
  return std::clamp<std::size_t>(physical_memory() / kBytesOfRun, 1,
                                 std::max(1U, std::thread::hardware_concurrency()));
}

// Runs side by side, each in its own virtual time: what they find does not depend on how many do.
class SideBySide {
 public:
  explicit SideBySide(const AsytickOptions& options, std::ostream& err)
      : n_threads_(options.jobs > 0 ? options.jobs : usual_jobs()), err_(err) {}

  // `run` may not use what another one writes.
  void add(std::string what, std::function<void()> run) {
    runs_.push_back({std::move(what), std::move(run)});
  }
  // All that has been added, those that were added first first. Throws what the first run that
  // failed has thrown; those that have begun end before.
  void run() {
    {
      std::vector<std::jthread> others;
      const std::size_t n_threads = std::min<std::size_t>(n_threads_, runs_.size());
      for (std::size_t i = 1; i < n_threads; ++i)
        others.emplace_back([this] { work(); });
      work();
    }
    runs_.clear();
    next_ = 0;
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Run {
    std::string what;
    std::function<void()> run;
  };

  void work() {
    for (std::size_t i = next_++; i < runs_.size(); i = next_++) {
      {
        const std::lock_guard lock(mutex_);
        if (error_) return;
        err_ << runs_[i].what << '\n';
      }
      try {
        runs_[i].run();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }

  std::size_t n_threads_;
  std::ostream& err_;
  std::vector<Run> runs_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Of all workers, over a whole run.
struct Totals {
  double seconds = 0;
  double steps_s = 0;
  double moves_s = 0;
};

Totals totals_of(const tick::RunResult& result) {
  Totals sum{seconds(result.wall), 0, 0};
  for (const tick::NodeResult& node : result.nodes) {
    const core::CoreFigures all = node.time.total();
    for (std::uint32_t kind = 0; kind < all.busy.size(); ++kind)
      (is_step(kind) ? sum.steps_s : sum.moves_s) += seconds(all.busy[kind]);
    sum.moves_s += seconds(all.sending);
  }
  return sum;
}

SystemRun run_system(const tick::Problem& problem, const AsytickBenchmark& benchmark,
                     const AsytickOptions& options, const std::string& name) {
  const bool as_they_come = name == kAsTheyCome;
  const tick::System system = system_of(benchmark, options, as_they_come ? "asytick-plb" : name);
  tick::SimulationOptions simulation = simulation_of(benchmark, options);
  simulation.sharing = system.sharing;
  simulation.as_they_come = as_they_come;
  const Totals start =
      totals_of(tick::simulate(problem, system.policy, options.warm_up, simulation));
  tick::SkewObserver skew({options.n_workers(), 1, 0, false});
  simulation.observer = &skew;
  const tick::RunResult result = tick::simulate(problem, system.policy, options.ticks, simulation);
  const Totals whole = totals_of(result);
  SystemRun run;
  run.seconds = whole.seconds - start.seconds;
  run.cores_s = run.seconds * options.n_workers();
  run.steps_s = whole.steps_s - start.steps_s;
  run.moves_s = whole.moves_s - start.moves_s;
  run.whole_steps_s = whole.steps_s;
  run.whole_moves_s = whole.moves_s;
  for (const tick::NodeResult& node : result.nodes) {
    run.n_messages += static_cast<std::uint64_t>(node.work.messages_sent);
    run.n_bytes += static_cast<std::uint64_t>(node.work.bytes_sent);
  }
  run.checksum = result.checksum;
  run.skew = skew.figures();
  std::vector<double> loads(options.n_workers());
  for (tick::NodeId worker = 0; worker < loads.size(); ++worker) {
    for (tick::Tick t = options.warm_up; t < options.ticks; ++t)
      loads[worker] += static_cast<double>(skew.time(worker, t));
  }
  run.unevenness = tick::imbalance(loads);
  return run;
}

// From two runs on one node, one in which pairs, or edges, cost nothing.
double asynchronous_share(const Identity& identity, const AsytickBenchmark& benchmark) {
  std::array<double, 2> steps{};
  for (const bool pairs_cost : {false, true}) {
    tick::SimulationOptions simulation;
    simulation.n_nodes = 1;
    const auto problem = build(identity, benchmark, pairs_cost);
    const tick::RunResult result =
        tick::simulate(*problem, tick::Policy::parse("local"), kShareTicks, simulation);
    steps[pairs_cost ? 1 : 0] = seconds(result.nodes.front().time.total().busy_total());
  }
  return 1 - steps[0] / steps[1];
}

constexpr std::array<const char*, 5> kSystems{"asytick-plb", "asytick", kAsTheyCome, "comtick",
                                              "oritick"};

// `out.runs` has an entry for each system before any of the runs begins.
void add_benchmark(SideBySide& all, const Identity& identity, const AsytickBenchmark& benchmark,
                   const AsytickOptions& options, BenchmarkRuns& out) {
  const auto problem = std::shared_ptr<const tick::Problem>(build(identity, benchmark));
  for (const char* name : kSystems) {
    SystemRun& run = out.runs[name];
    all.add(fmt::format("{}: {}, {} and {} ticks", benchmark.model, name, options.warm_up,
                        options.ticks),
            [problem, &benchmark, &options, name, &run] {
              run = run_system(*problem, benchmark, options, name);
            });
  }
  all.add(benchmark.model + ": the share of pairs",
          [&] { out.asynchronous_share = asynchronous_share(identity, benchmark); });
}

// At the skewed tick one node is slow; no other tick is skewed but as the fish are.
std::array<double, 5> fish_completion(const Identity& identity, const AsytickBenchmark& benchmark,
                                      const AsytickOptions& options) {
  const auto problem = build(identity, benchmark);
  const tick::System system = system_of(benchmark, options, "asytick");
  tick::SimulationOptions simulation = simulation_of(benchmark, options);
  simulation.sharing = system.sharing;
  simulation.wrap = [&](tick::NodeId node, tick::TickEngine& engine) {
    return std::make_unique<SlowedEngine>(
        engine, benchmark.slowdown, [node](tick::Tick t) { return t == kSkewedTick && node == 0; });
  };
  tick::SkewObserver skew({options.n_workers(), 1, 0, true});
  simulation.observer = &skew;
  (void)tick::simulate(*problem, system.policy, kSkewedTick + 8, simulation);
  const std::vector<double> found = skew.figures().completion;
  std::array<double, 5> completion{};
  RUBATO_REQUIRE(found.size() == completion.size(), found.size());
  std::ranges::copy(found, completion.begin());
  return completion;
}

// The points of figures 12 to 14. Those that are the usual benchmark are taken from it.
class Series {
 public:
  Series(SideBySide& all, const Identity& identity, const AsytickOptions& options)
      : all_(all), identity_(identity), options_(options), usual_(asytick_nbody(options)) {}

  void add(AsytickRuns& out) {
    for (const double per_worker : options_.piece_counts) {
      AsytickBenchmark other = usual_;
      other.n_pieces = static_cast<std::uint32_t>(std::lround(per_worker * options_.n_workers()));
      const std::uint32_t n_pieces = other.n_pieces;
      add(out.by_pieces, n_pieces, {std::move(other), options_}, n_pieces == usual_.n_pieces,
          fmt::format("{} pieces", n_pieces));
    }
    for (const double size : options_.sizes) {
      AsytickOptions few = options_;
      few.n_nodes = options_.size_nodes;
      AsytickBenchmark other = asytick_nbody(options_, size);
      const double n_bodies = std::stod(other.settings.front().second);
      add(out.by_size, n_bodies, {std::move(other), few}, false,
          fmt::format("{} bodies on {} nodes", n_bodies, few.n_nodes));
    }
    for (const std::uint32_t n_nodes : options_.scale_nodes) {
      AsytickOptions few = options_;
      few.n_nodes = n_nodes;
      add(out.by_nodes, n_nodes, {usual_, few}, n_nodes == options_.n_nodes,
          fmt::format("{} nodes", n_nodes));
    }
  }
  // After all that was added has run.
  void finish(const AsytickRuns& out) {
    for (const auto& [points, i] : usual_points_)
      (*points)[i].seconds = out.of("nbody").run("asytick-plb").seconds;
  }

 private:
  struct Point {
    AsytickBenchmark benchmark;
    AsytickOptions options;
  };

  void add(std::vector<SeriesPoint>& to, double x, Point point, bool is_usual,
           const std::string& what) {
    const std::size_t i = to.size();
    to.push_back({x, 0});
    if (is_usual) {
      usual_points_.emplace_back(&to, i);
      return;
    }
    all_.add("nbody, asytick-plb: " + what, [this, &to, i, point = std::move(point)] {
      const auto problem = build(identity_, point.benchmark);
      to[i].seconds = run_system(*problem, point.benchmark, point.options, "asytick-plb").seconds;
    });
  }

  SideBySide& all_;
  const Identity& identity_;
  const AsytickOptions& options_;
  AsytickBenchmark usual_;
  std::vector<std::pair<std::vector<SeriesPoint>*, std::size_t>> usual_points_;
};

}  // namespace

const SystemRun& BenchmarkRuns::run(const std::string& system) const {
  const auto found = runs.find(system);
  RUBATO_REQUIRE(found != runs.end(), model, system);
  return found->second;
}

double BenchmarkRuns::perfect_seconds() const {
  const SystemRun& comtick = run("comtick");
  return (comtick.steps_s + comtick.moves_s) / comtick.cores_s * comtick.seconds;
}

double BenchmarkRuns::absorbed(const std::string& system) const {
  const double comtick = run("comtick").seconds;
  return (comtick - run(system).seconds) / (comtick - perfect_seconds());
}

double BenchmarkRuns::scheduled() const {
  return 1 - absorbed(kAsTheyCome) / absorbed("asytick-plb");
}

const BenchmarkRuns& AsytickRuns::of(const std::string& model) const {
  const auto found = std::ranges::find(benchmarks, model, &BenchmarkRuns::model);
  RUBATO_REQUIRE(found != benchmarks.end(), model);
  return *found;
}

AsytickRuns run_asytick(const Identity& identity, const AsytickOptions& options,
                        std::ostream& err) {
  AsytickRuns out;
  SideBySide all(options, err);
  const std::vector<AsytickBenchmark> benchmarks = asytick_benchmarks(options);
  for (const AsytickBenchmark& benchmark : benchmarks)
    out.benchmarks.push_back({benchmark.model, 0, {}});
  for (std::size_t i = 0; i < benchmarks.size(); ++i) {
    add_benchmark(all, identity, benchmarks[i], options, out.benchmarks[i]);
    if (benchmarks[i].model != "fish") continue;
    all.add("fish: one skewed tick",
            [&, i] { out.completion = fish_completion(identity, benchmarks[i], options); });
  }
  Series series(all, identity, options);
  if (options.only.empty()) series.add(out);
  all.run();
  for (const BenchmarkRuns& runs : out.benchmarks) {
    for (const auto& [name, run] : runs.runs)
      out.equal = out.equal && run.checksum == runs.run("oritick").checksum;
  }
  series.finish(out);
  return out;
}

}  // namespace rubato::tools

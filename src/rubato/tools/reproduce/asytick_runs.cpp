// The runs of `reproduce asytick`.

#include <algorithm>
#include <memory>
#include <ostream>

#include <fmt/format.h>

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

BenchmarkRuns run_benchmark(const Identity& identity, const AsytickBenchmark& benchmark,
                            const AsytickOptions& options, std::ostream& err) {
  const auto problem = build(identity, benchmark);
  BenchmarkRuns out{benchmark.model, 0, {}};
  err << fmt::format("{}: 5 systems, {} and {} ticks\n", benchmark.model, options.warm_up,
                     options.ticks);
  for (const char* name : {"oritick", "comtick", "asytick", "asytick-plb", kAsTheyCome})
    out.runs[name] = run_system(*problem, benchmark, options, name);
  out.asynchronous_share = asynchronous_share(identity, benchmark);
  return out;
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

class Series {
 public:
  Series(const Identity& identity, std::ostream& err) : identity_(identity), err_(err) {}

  void add(std::vector<SeriesPoint>& to, double x, const AsytickBenchmark& benchmark,
           const AsytickOptions& options, const std::string& what) {
    err_ << "nbody, asytick-plb: " << what << '\n';
    const auto problem = build(identity_, benchmark);
    to.push_back({x, run_system(*problem, benchmark, options, "asytick-plb").seconds});
  }

 private:
  const Identity& identity_;
  std::ostream& err_;
};

void run_series(const Identity& identity, const AsytickOptions& options, std::ostream& err,
                AsytickRuns& out) {
  const AsytickBenchmark usual = asytick_nbody(options);
  const double usual_seconds = out.of("nbody").run("asytick-plb").seconds;
  Series series(identity, err);
  for (const std::uint32_t n_nodes : options.scale_nodes) {
    AsytickOptions few = options;
    few.n_nodes = n_nodes;
    if (n_nodes == options.n_nodes) {
      out.by_nodes.push_back({static_cast<double>(n_nodes), usual_seconds});
      continue;
    }
    series.add(out.by_nodes, n_nodes, usual, few, fmt::format("{} nodes", n_nodes));
  }
  for (const double size : options.sizes) {
    AsytickOptions few = options;
    few.n_nodes = options.size_nodes;
    const AsytickBenchmark other = asytick_nbody(options, size);
    const double n_bodies = std::stod(other.settings.front().second);
    series.add(out.by_size, n_bodies, other, few, fmt::format("{} bodies", n_bodies));
  }
  for (const std::uint32_t n_pieces : options.piece_counts) {
    AsytickBenchmark other = usual;
    other.n_pieces = n_pieces;
    if (n_pieces == usual.n_pieces) {
      out.by_pieces.push_back({static_cast<double>(n_pieces), usual_seconds});
      continue;
    }
    series.add(out.by_pieces, n_pieces, other, options, fmt::format("{} pieces", n_pieces));
  }
}

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
  for (const AsytickBenchmark& benchmark : asytick_benchmarks(options)) {
    out.benchmarks.push_back(run_benchmark(identity, benchmark, options, err));
    const BenchmarkRuns& runs = out.benchmarks.back();
    for (const auto& [name, run] : runs.runs)
      out.equal = out.equal && run.checksum == runs.run("oritick").checksum;
    if (benchmark.model == "fish") out.completion = fish_completion(identity, benchmark, options);
  }
  if (options.only.empty()) run_series(identity, options, err, out);
  return out;
}

}  // namespace rubato::tools

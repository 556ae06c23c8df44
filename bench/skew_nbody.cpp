// Question: what does a run gain from pieces that advance alone where the work of each tick lies on
// another node than that of the tick before?
// Hypothesis: a barrier waits for the node that has most in each tick, and balancing by what was
// cannot know it; pieces let the others go on, and it catches up, so that a run takes little more
// than its work divided by the cores [AsyTick 5.3]. What single nodes have too much of over all ticks
// that count, they do not catch up with: there lending steps helps.

#include "bench/skew_nbody.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "bench/harness.hpp"
#include "rubato/base/error.hpp"
#include "rubato/tick/balance/skew.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

constexpr const char* kProfile = "ec2-large";

// Ticks of a run; those up to `warm_up`, while the balancers have nothing to go by, do not count.
struct Ticks {
  tick::Tick warm_up = 2 * kSkewEpoch;
  tick::Tick all = 4 * kSkewEpoch;
};

// What each piece costs at each tick, from a run on one node, and what no schedule can be faster
// than.
class Bound final : public core::Observer {
 public:
  void on_work(core::NodeId /*node*/, std::uint32_t /*core*/, const core::Work& work, Nanos begin,
               Nanos end) noexcept override {
    if (work.kind == tick::step_own) costs_[{work.tick, work.index}] = end - begin;
  }
  void on_sent(core::NodeId, core::NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(core::NodeId, core::NodeId, std::size_t, Nanos) noexcept override {}

  // max(work / cores, critical path) of the ticks from `from` on, in ns.
  [[nodiscard]] double value(const tick::Plan& plan, tick::Tick from, double n_cores) const {
    double work = 0;
    std::vector<double> path(plan.n_own);
    std::vector<double> next(plan.n_own);
    tick::Tick t = -1;
    for (const auto& [unit, cost] : costs_) {
      if (unit.first < from) continue;
      if (unit.first != t) path = next;
      t = unit.first;
      double longest = 0;
      for (const tick::RegionId input : plan.inputs[unit.second])
        longest = std::max(longest, path[input]);
      next[unit.second] = longest + static_cast<double>(cost);
      work += static_cast<double>(cost);
    }
    return std::max(work / n_cores, *std::ranges::max_element(next));
  }

 private:
  std::map<std::pair<tick::Tick, tick::RegionId>, Nanos> costs_;  // by (tick, piece)
};

double bound(const SkewProblem& problem, tick::Tick ticks, tick::Tick from) {
  Bound seen;
  tick::Plan plan;
  tick::SimulationOptions simulation;
  simulation.n_nodes = 1;
  simulation.observer = &seen;
  simulation.sharing = skew_system("asytick").sharing;
  simulation.at_start = [&](tick::NodeId, tick::NodeRun& node) { plan = node.plan(); };
  // Under other policies a node on its own steps a piece through several ticks in one go, which would
  // count for the first of them.
  (void)tick::simulate(problem, tick::Policy::parse("bulk"), ticks, simulation);
  return seen.value(plan, from, kSkewNodes);
}

struct Outcome {
  double time = 0;  // of the ticks after the warm-up, ns
  tick::SkewFigures skew;
  std::uint64_t checksum = 0;
};

tick::RunResult simulate(const SkewProblem& problem, const tick::System& system, tick::Tick ticks,
                         std::uint64_t seed, core::Observer* observer) {
  tick::SimulationOptions simulation;
  simulation.n_nodes = kSkewNodes;
  simulation.profile = net::parse_profile(kProfile);
  simulation.seed = seed;
  simulation.sharing = system.sharing;
  simulation.observer = observer;
  return tick::simulate(problem, system.policy, ticks, simulation);
}

Outcome run_system(const SkewProblem& problem, const char* name, const Ticks& ticks,
                   std::uint64_t seed) {
  const tick::System system = skew_system(name);
  tick::SkewObserver skew({kSkewNodes, 1, 0, true});
  const tick::RunResult whole = simulate(problem, system, ticks.all, seed, &skew);
  const tick::RunResult start = simulate(problem, system, ticks.warm_up, seed, nullptr);
  return {static_cast<double>(whole.wall - start.wall), skew.figures(), whole.checksum};
}

double mean_from(tick::Tick from, const std::vector<double>& by_tick) {
  double sum = 0;
  for (auto t = static_cast<std::size_t>(from); t < by_tick.size(); ++t)
    sum += by_tick[t];
  return sum / static_cast<double>(by_tick.size() - static_cast<std::size_t>(from));
}

Report run(const Options& options) {
  const Ticks ticks = options.quick ? Ticks{16, 40} : Ticks{};
  const int n_rounds = options.quick ? 1 : 2;
  const std::vector<const char*> names{"oritick",     "comtick",      "asytick",
                                       "asytick-plb", "asytick-lend", "auto"};
  std::map<std::string, std::vector<double>> rates;  // ticks a second
  std::vector<double> bounds;
  std::vector<double> imbalances;
  std::vector<double> gains;
  for (int round = 0; round < n_rounds; ++round) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round);
    const SkewProblem problem = skew_nbody_problem(ticks.all, options.seed);
    const auto rate = [&](double time) {
      return static_cast<double>(ticks.all - ticks.warm_up) * 1e9 / time;
    };
    std::uint64_t checksum = 0;
    for (const char* name : names) {
      options.begin_round(round, n_rounds, name);
      const Outcome outcome = run_system(problem, name, ticks, seed);
      rates[name].push_back(rate(outcome.time));
      if (checksum == 0) checksum = outcome.checksum;
      RUBATO_REQUIRE(outcome.checksum == checksum, name);
      if (std::string(name) == "comtick")
        imbalances.push_back(mean_from(ticks.warm_up, outcome.skew.computation.by_tick));
    }
    bounds.push_back(rate(bound(problem, ticks.all, ticks.warm_up)));
    gains.push_back(rates["comtick"].back() / rates["oritick"].back());
  }
  Report report;
  report.nodes = kSkewNodes;
  const auto& best = rates["asytick-plb"];
  report.rows = {
      compare_row("over-oritick", "ticks/s", best, "oritick", rates["oritick"], "ratio >= 3.67"),
      compare_row("over-comtick", "ticks/s", best, "comtick", rates["comtick"], "ratio >= 2.53"),
      compare_row("of-bound", "ticks/s", rates["asytick-lend"], "max(work / cores, critical path)",
                  bounds, "ratio >= 0.9"),
      compare_row("plb-of-bound", "ticks/s", best, "max(work / cores, critical path)", bounds, ""),
      compare_row("lend-over-plb", "ticks/s", rates["asytick-lend"], "asytick-plb", best, ""),
      compare_row("auto-over-plb", "ticks/s", rates["auto"], "asytick-plb", best, ""),
      compare_row("asytick", "ticks/s", rates["asytick"], "oritick", rates["oritick"], ""),
      value_row("comtick-lambda", "max / mean - 1", imbalances, "3.0 <= value <= 3.5"),
      value_row("comtick-gain", "over oritick", gains, "1.3 <= value <= 1.6")};
  try {
    for (Row& row : skew_lab_rows(options))
      report.rows.push_back(std::move(row));
  } catch (const Error& error) {
    fmt::print(stderr, "skew-nbody: without the rows of the lab: {}\n", error.what());
  }
  return report;
}

}  // namespace

SkewProblem skew_nbody_problem(tick::Tick ticks, std::uint64_t seed) {
  models::NBodyOptions bodies;
  bodies.n = 53'000;
  bodies.seed = seed;
  bodies.width = 1024.1;  // 64 pieces of 16 cells
  bodies.radius = 1;
  bodies.dt = 1;
  bodies.gravity = 1e-7;
  bodies.speed = 0.02;
  bodies.clusters = 1;
  bodies.clustered = 0.5;
  bodies.cover = 0.0156;
  bodies.drift = 0.05;
  bodies.gatherings = static_cast<std::uint64_t>(ticks);
  bodies.groups = 16;
  bodies.gathered = 84;
  bodies.rush = 14.8;
  bodies.speed_limit = 14.9;
  tick::PointsCosts costs;
  costs.tuple = 50;
  costs.pair = 400;
  using Bodies = models::NBody<float, 2>;
  return SkewProblem{tick::PointsModel<Bodies>{Bodies(bodies)}, costs};
}

tick::System skew_system(const char* name) {
  tick::System system = tick::System::parse(name);
  if (system.sharing.tune) return system;
  system.sharing.n_pieces = kSkewPieces;
  if (system.sharing.moves()) system.sharing.epoch = kSkewEpoch;
  if (system.policy.pieces) system.policy.depth = 32;
  return system;
}

Benchmark skew_nbody() {
  return {"skew-nbody",
          "bodies that gather, each tick on another of 16 virtual nodes: what do pieces gain?",
          run};
}

}  // namespace rubato::bench

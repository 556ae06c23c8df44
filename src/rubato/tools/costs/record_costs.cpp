#include "rubato/tools/costs/record_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "rubato/base/time.hpp"
#include "rubato/base/wall_clock.hpp"
#include "rubato/core/wrapped_engine.hpp"
#include "rubato/io/number.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/record/machine.hpp"

namespace rubato::tools {
namespace {

// One work of a run: which it is, what it took for real and what the model charges for it.
struct Seen {
  std::uint32_t region = 0;
  tick::Tick tick = 0;
  std::size_t n_steps = 0;
  double took = 0;
  double charged = 0;
};

// A simulator's host runs work for real, on the thread that calls it: there it can be timed.
class TimedEngine final : public core::WrappedEngine {
 public:
  TimedEngine(core::Engine& engine, std::vector<Seen>& seen) : WrappedEngine(engine), seen_(seen) {}

  void run(const core::Work& work, std::uint32_t core) override {
    const Nanos begin = steady_now();
    WrappedEngine::run(work, core);
    const Nanos took = steady_now() - begin;
    if (work.kind != tick::step_own) return;
    seen_.push_back({work.index, work.tick, tick::Dataflow::stepped_by(work).size(),
                     static_cast<double>(took), static_cast<double>(WrappedEngine::cost(work))});
  }

 private:
  std::vector<Seen>& seen_;
};

std::vector<std::string> cost_names(const ChosenModel& model) {
  std::vector<std::string> names;
  for (const auto& parameter : model.parameters().list()) {
    if (is_cost(parameter)) names.push_back(parameter.name);
  }
  if (names.empty()) {
    throw Error(model.app().name() +
                " charges nothing for its steps: expected parameters ns-per-.., found none");
  }
  return names;
}

// What a run on one node and one core steps, in its order, which is that of any costs. Of those, one
// costs a nanosecond and the others nothing; none of them: "".
std::vector<Seen> run_sample(const tick::AppMaker& make, const CostSample& sample,
                             const std::vector<std::string>& names, const std::string& charged) {
  ChosenModel model(make());
  for (const auto& [name, text] : sample.settings)
    model.set(name, text);
  for (const std::string& name : names)
    model.set(name, name == charged ? "1" : "0");
  const auto problem = model.app().build();
  std::vector<Seen> seen;
  tick::SimulationOptions simulation;
  simulation.n_nodes = 1;
  if (problem->has_pieces()) simulation.sharing.n_pieces = sample.n_pieces;
  simulation.wrap = [&](tick::NodeId, tick::TickEngine& engine) {
    return std::make_unique<TimedEngine>(engine, seen);
  };
  // Under other policies a node on its own takes a tile of a grid through several ticks in one go.
  (void)tick::simulate(*problem, tick::Policy::parse("bulk"), sample.ticks, simulation);
  return seen;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<TimedStep> steps_of(const tick::AppMaker& make, const CostSample& sample,
                                const std::vector<std::string>& names, int n_runs) {
  const std::vector<Seen> base = run_sample(make, sample, names, "");
  std::vector<std::vector<double>> took(base.size());
  std::vector<TimedStep> steps(base.size());
  const auto expect_same = [&](const std::vector<Seen>& run) {
    RUBATO_REQUIRE(run.size() == base.size(), run.size(), base.size());
    for (std::size_t i = 0; i < run.size(); ++i) {
      RUBATO_REQUIRE(run[i].region == base[i].region && run[i].tick == base[i].tick &&
                         run[i].n_steps == base[i].n_steps,
                     i, run[i].region, run[i].tick);
    }
  };
  for (const std::string& name : names) {
    const std::vector<Seen> run = run_sample(make, sample, names, name);
    expect_same(run);
    for (std::size_t i = 0; i < run.size(); ++i)
      steps[i].counts.push_back(std::round(run[i].charged - base[i].charged));
  }
  for (int i = 0; i < n_runs; ++i) {
    const std::vector<Seen> run = run_sample(make, sample, names, "");
    expect_same(run);
    for (std::size_t k = 0; k < run.size(); ++k)
      took[k].push_back(run[k].took);
  }
  std::vector<TimedStep> counted;
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (base[i].tick < sample.ticks / 4) continue;
    // What the store charges for any unit, it charges beside these.
    steps[i].ns = std::max(0.0, median(took[i]) - base[i].charged);
    counted.push_back(std::move(steps[i]));
  }
  return counted;
}

// Solves the square system of the kinds in `chosen`; nothing if it has no single solution.
std::optional<std::vector<double>> solve(std::vector<std::vector<double>> rows) {
  const std::size_t n = rows.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
    }
    std::swap(rows[k], rows[pivot]);
    if (std::abs(rows[k][k]) < 1e-9) return std::nullopt;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j <= n; ++j)
        rows[i][j] -= factor * rows[k][j];
    }
  }
  std::vector<double> solution(n);
  for (std::size_t k = 0; k < n; ++k)
    solution[k] = rows[k][n] / rows[k][k];
  return solution;
}

// Least squares over the kinds in the set; nothing if one is below 0, or they cannot be told apart.
// Counts are scaled to 1 first, so that "nearly singular" means the same for all.
std::optional<std::vector<double>> fit_set(std::span<const TimedStep> steps, std::size_t n_kinds,
                                           unsigned set) {
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < n_kinds; ++k) {
    if ((set >> k & 1U) != 0) chosen.push_back(k);
  }
  std::vector<double> scale(chosen.size(), 0);
  for (const TimedStep& step : steps) {
    for (std::size_t i = 0; i < chosen.size(); ++i)
      scale[i] += step.counts[chosen[i]] * step.counts[chosen[i]];
  }
  for (double& each : scale) {
    each = std::sqrt(each);
    if (each == 0) return std::nullopt;
  }
  std::vector<std::vector<double>> rows(chosen.size(), std::vector<double>(chosen.size() + 1));
  for (const TimedStep& step : steps) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const double a = step.counts[chosen[i]] / scale[i];
      for (std::size_t j = 0; j < chosen.size(); ++j)
        rows[i][j] += a * step.counts[chosen[j]] / scale[j];
      rows[i][chosen.size()] += a * step.ns;
    }
  }
  const auto solution = solve(std::move(rows));
  if (!solution) return std::nullopt;
  std::vector<double> ns(n_kinds, 0);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if ((*solution)[i] < 0) return std::nullopt;
    ns[chosen[i]] = (*solution)[i] / scale[i];
  }
  return ns;
}

double charged(const TimedStep& step, const std::vector<double>& ns) {
  double sum = 0;
  for (std::size_t k = 0; k < ns.size(); ++k)
    sum += step.counts[k] * ns[k];
  return sum;
}

}  // namespace

FittedCosts fit_costs(std::span<const TimedStep> steps, std::size_t n_kinds) {
  RUBATO_REQUIRE(n_kinds <= 8, n_kinds);
  FittedCosts best{std::vector<double>(n_kinds, 0), 0};
  double least = std::numeric_limits<double>::infinity();
  // Of few kinds all sets can be tried: the best of those without a cost below 0 is what is wanted.
  for (unsigned set = 1; set < 1U << n_kinds; ++set) {
    const auto ns = fit_set(steps, n_kinds, set);
    if (!ns) continue;
    double squares = 0;
    for (const TimedStep& step : steps)
      squares += std::pow(charged(step, *ns) - step.ns, 2);
    if (squares >= least) continue;
    least = squares;
    best.ns = *ns;
  }
  double off = 0;
  double all = 0;
  for (const TimedStep& step : steps) {
    off += std::abs(charged(step, best.ns) - step.ns);
    all += step.ns;
  }
  best.explained = all > 0 ? 1 - off / all : 0;
  return best;
}

CostRecord record_costs(const tick::AppMaker& model, std::span<const CostSample> samples,
                        int n_runs) {
  const ChosenModel chosen(model());
  const std::vector<std::string> names = cost_names(chosen);
  std::vector<TimedStep> steps;
  for (const CostSample& sample : samples) {
    std::vector<TimedStep> more = steps_of(model, sample, names, n_runs);
    std::ranges::move(more, std::back_inserter(steps));
  }
  const FittedCosts fitted = fit_costs(steps, names.size());
  CostRecord record;
  record.n_steps = steps.size();
  record.explained = fitted.explained;
  for (const TimedStep& step : steps)
    record.seconds += step.ns * 1e-9;
  for (std::size_t k = 0; k < names.size(); ++k)
    record.costs.push_back({chosen.app().name(), names[k], fitted.ns[k]});
  return record;
}

std::string text_of(const CostRecord& record) {
  std::string text = fmt::format("# {} steps, {:.3f} s in one run, {:.1f} % of it as charged\n",
                                 record.n_steps, record.seconds, 100 * record.explained);
  for (const RecordedCost& cost : record.costs)
    text += fmt::format("{} {} {:.4g}\n", cost.model, cost.parameter, cost.ns);
  return text;
}

std::string heading_of_costs() {
  return fmt::format("# Recorded {} on {}\n# by {}\n", utc_now().substr(0, 10),
                     this_machine().processor, describe_build());
}

}  // namespace rubato::tools

// What `reproduce turbine` simulates.

#include <algorithm>
#include <functional>
#include <ostream>

#include "rubato/base/error.hpp"
#include "rubato/flow/loop.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/simulate.hpp"
#include "rubato/tools/reproduce/turbine.hpp"

namespace rubato::tools {
namespace {

using core::CoreContext;

constexpr std::size_t kBytesACore = std::size_t{1} << 20;  // of addresses
constexpr std::int64_t kDocksAMolecule = 100;              // as in table 1

struct Stage {
  const char* name;
  double seconds;
};
constexpr Stage kDock{"dock", 1000};
constexpr Stage kMerge{"modmerge", 5};
constexpr Stage kScore{"score", 6000};
constexpr Stage kDispatch{"economic-dispatch", 15};
constexpr Stage kDssat{"runDSSAT", 12};

void charge(Nanos time) {
  CoreContext::here().charge(time);
}

Nanos simulated_time(const TurbineOptions& options, std::uint32_t n_nodes,
                     const std::function<void()>& main) {
  return global::simulate([&] { flow::run(main).check(); },
                          {.n_nodes = n_nodes,
                           .profile = options.profile,
                           .seed = options.seed,
                           .program = {.messages = {}, .bytes_a_core = kBytesACore}})
      .wall;
}

double per_second(std::int64_t n, Nanos time) {
  return static_cast<double>(n) / static_cast<double>(time) * 1e9;
}

Nanos in_nanos(double ms) {
  return static_cast<Nanos>(ms * kMillisecond);
}

void start_task(Nanos time) {
  charge(kTaskCost);
  flow::async([time] { charge(kTaskCost + time); })();
}

// Tasks of `time` that one task makes, or a loop over all nodes.
double task_rate(const TurbineOptions& options, std::uint32_t n_nodes, Nanos time, bool by_all) {
  const std::int64_t n = options.n_tasks * n_nodes;
  return per_second(n, simulated_time(options, n_nodes, [=] {
                      if (by_all) {
                        flow::async_for(0, n, [time](std::int64_t) { start_task(time); })();
                        return;
                      }
                      for (std::int64_t i = 0; i < n; ++i)
                        start_task(time);
                    }));
}

// Each node stores at another one each time: a member is made and set by one message.
double data_rate(const TurbineOptions& options, std::uint32_t n_nodes) {
  constexpr std::int64_t kOfANode = 1024;  // neighbouring keys
  const std::int64_t n = options.n_data * n_nodes;
  const std::int64_t n_places = (n + kOfANode - 1) / kOfANode;
  const auto store = [n_places](std::int64_t i, const flow::Inserter<std::int64_t>& out) {
    charge(kDataCost);
    out.insert(i % n_places * kOfANode + i / n_places, i);
  };
  return per_second(n, simulated_time(options, n_nodes, [=] {
                      auto [data, inserter] = flow::make_container<std::int64_t>();
                      flow::async_for(0, n, store)(std::move(inserter));
                    }));
}

double range_rate(const TurbineOptions& options, std::uint32_t n_nodes, bool iterates) {
  const std::int64_t n = options.n_data * n_nodes;
  static std::int64_t n_visited;  // what travels holds no address; the simulator is one thread
  n_visited = 0;
  const Nanos time = simulated_time(options, n_nodes, [=] {
    auto [numbers, inserter] = flow::make_container<std::int64_t>();
    flow::async_for(0, n, [](std::int64_t i, const flow::Inserter<std::int64_t>& out) {
      charge(kDataCost);
      out.insert(i, i);
    })(std::move(inserter));
    if (!iterates) return;
    flow::async_each(std::move(numbers), [](std::int64_t, std::int64_t) {
      charge(kDataCost);
      ++n_visited;
    })();
  });
  RUBATO_REQUIRE(n_visited == (iterates ? n : 0), n_visited, n);
  return per_second(n, time);
}

TurbinePoint point_of(const TurbineOptions& options, std::uint32_t n_nodes) {
  TurbinePoint point{n_nodes};
  point.by_one = task_rate(options, n_nodes, in_nanos(options.task_ms), false);
  point.by_all = task_rate(options, n_nodes, in_nanos(options.task_ms), true);
  point.noop = task_rate(options, n_nodes, 0, false);
  point.program = task_rate(options, n_nodes, in_nanos(options.program_ms), false);
  point.data = data_rate(options, n_nodes);
  point.range = range_rate(options, n_nodes, false);
  point.iterate = range_rate(options, n_nodes, true);
  return point;
}

// --- table 1
// ------------------------------------------------------------------------------------

Nanos scaled(const Stage& stage, double scale) {
  return static_cast<Nanos>(stage.seconds * scale * kSecond);
}

// A stage whose tasks need nothing.
void run_stage(TurbineRuns& runs, const TurbineOptions& options, const char* application,
               const Stage& stage) {
  const std::uint32_t n_nodes = std::min(options.n_stage_nodes, options.n_nodes);
  const std::int64_t n = options.n_stage_tasks * n_nodes;
  const Nanos time = scaled(stage, options.scale);
  const Nanos wall = simulated_time(options, n_nodes, [=] {
    flow::async_for(0, n, [time](std::int64_t) { start_task(time); })();
  });
  const double rate = per_second(n, wall);
  runs.stages.push_back({application, stage.name, stage.seconds, n, rate});
  runs.applications.push_back(
      {application, n_nodes, rate * static_cast<double>(time) / 1e9 / n_nodes});
}

// For each molecule docks, which are merged, then a score: all of a molecule wait for each other by
// futures alone.
void run_docking(TurbineRuns& runs, const TurbineOptions& options) {
  const std::uint32_t n_nodes = std::min(options.n_stage_nodes, options.n_nodes);
  const std::int64_t n_molecules =
      std::max<std::int64_t>(1, options.n_stage_tasks * n_nodes / kDocksAMolecule);
  const Nanos dock = scaled(kDock, options.scale);
  const Nanos merge = scaled(kMerge, options.scale);
  const Nanos score = scaled(kScore, options.scale);
  const Nanos wall = simulated_time(options, n_nodes, [=] {
    flow::async_for(0, n_molecules,
                    [=](std::int64_t) {
                      charge(kTaskCost);
                      const auto docked = flow::async_for(
                          0, kDocksAMolecule, [dock](std::int64_t) { charge(kTaskCost + dock); },
                          {.grain = 1})();
                      const auto merged =
                          flow::async([merge] { charge(kTaskCost + merge); })(docked);
                      flow::async([score] { charge(kTaskCost + score); })(merged);
                    },
                    {.grain = 1})();
  });
  const std::int64_t n_docks = n_molecules * kDocksAMolecule;
  const auto add = [&](const Stage& stage, std::int64_t n) {
    runs.stages.push_back({"modftdock", stage.name, stage.seconds, n, per_second(n, wall)});
  };
  add(kDock, n_docks);
  add(kMerge, n_molecules);
  add(kScore, n_molecules);
  const auto work = static_cast<double>(n_docks * dock + n_molecules * (merge + score));
  runs.applications.push_back({"modftdock", n_nodes, work / static_cast<double>(wall) / n_nodes});
}

}  // namespace

TurbineOptions TurbineOptions::quick() {
  TurbineOptions options;
  options.n_nodes = 4;
  options.n_tasks = 16;
  options.n_data = 256;
  options.n_stage_tasks = 50;
  return options;
}

TurbineRuns run_turbine(const TurbineOptions& options, std::ostream& err) {
  TurbineRuns runs;
  for (std::uint32_t n_nodes = 1; n_nodes <= options.n_nodes; n_nodes *= 4) {
    err << "tasks and data of " << n_nodes << (n_nodes == 1 ? " node" : " nodes") << '\n';
    runs.points.push_back(point_of(options, n_nodes));
  }
  err << "the applications of table 1\n";
  run_docking(runs, options);
  run_stage(runs, options, "power-grid distribution", kDispatch);
  run_stage(runs, options, "DSSAT", kDssat);
  return runs;
}

}  // namespace rubato::tools

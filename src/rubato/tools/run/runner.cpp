#include "rubato/tools/run/runner.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include <unistd.h>

#include "rubato/core/clocks.hpp"
#include "rubato/core/job.hpp"
#include "rubato/core/placement.hpp"
#include "rubato/core/signals.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/observe/trace.hpp"
#include "rubato/tools/launch/guard.hpp"
#include "rubato/tools/record/run_record.hpp"
#include "rubato/tools/run/recording.hpp"
#include "rubato/tools/run/report.hpp"
#include "rubato/tools/run/watched_problem.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

std::string title_of(const tick::App& app, const RunRequest& request) {
  return app.name() + " " + request.system_text();
}

// What goes wrong while a model runs says where, but not in which model: a job may run several, and
// its log is read later.
template <class Run>
auto run_named(const std::string& model, const Run& run) {
  try {
    return run();
  } catch (const Error& error) {
    if (error.code() != ExitCode::failed || model.empty()) throw;
    throw error.in(model);
  }
}

void print_warnings(const tick::App& app, std::ostream& err) {
  for (const std::string& warning : app.warnings())
    err << program_invocation_short_name << ": warning: " << warning << std::endl;
}

tick::SimulationOptions simulation_options(const RunRequest& request) {
  tick::SimulationOptions options;
  options.n_nodes = request.n_simulated;
  options.n_cores = request.n_sim_cores;
  options.profile = net::parse_profile(request.profile.empty() ? "none" : request.profile);
  options.seed = request.seed;
  options.sharing = request.sharing;
  options.start = request.start;
  options.slowdowns = request.slowdowns.of_nodes(options.n_nodes);
  options.at_end = request.at_end;
  return options;
}

// A run of pieces tells how they lie on its nodes.
bool shows_skew(const RunRequest& request, std::uint32_t n_nodes) {
  return n_nodes > 1 && (request.sharing.n_pieces > 0 || request.policy.pieces);
}

tick::Tick begin_of(const RunRequest& request) {
  return request.start != nullptr ? request.start->tick() : 0;
}

void note_checkpoints(const std::unique_ptr<tick::Checkpoints>& checkpoints, RunOutcome& outcome) {
  if (!checkpoints) return;
  outcome.n_checkpoints = checkpoints->n_whole();
  outcome.last_checkpoint = checkpoints->last();
}

// Where the files of a run go.
struct Files {
  tick::OutputOptions output;
  tick::CheckpointOptions checkpoint;
};

// With these a record begins, if there is one. Collective over the nodes of `host`, if there is one.
Files begin_files(const RunRequest& request, const RunOutcome& outcome, core::NodeHost* host) {
  Files files{request.output, request.checkpoint};
  if (request.record == nullptr) return files;
  request.record->set_pieces(outcome.sharing.n_pieces);
  request.record->begin(host, files.output, files.checkpoint);
  return files;
}

// What the launcher is to know of a run that has begun, in case that its nodes cannot end it.
void report_files(const RunRequest& request, const Files& files, std::ostream& err) {
  err << output_report(files.output.folder);
  if (!files.checkpoint.folder.empty()) err << saves_report();
  if (request.record != nullptr) err << record_report(request.record->folder());
  err << std::flush;
}

// Tells `set_up` of what it goes through, as long as it is there.
WatchedProblem::Watch watch_of(std::optional<SetUpWatch>& set_up, std::string nodes_option) {
  WatchedProblem::Watch watch;
  watch.on_cut = [&set_up](std::uint32_t n_nodes) {
    if (set_up) set_up->cut(n_nodes);
  };
  watch.on_node = [&set_up](tick::NodeId node) {
    if (set_up) set_up->node(node);
  };
  watch.nodes_option = std::move(nodes_option);
  return watch;
}

tick::RunResult simulate_watched(const tick::Problem& problem, const RunRequest& request,
                                 tick::SimulationOptions options, ProgressShare share,
                                 WatchedProblem::Watch watch_of_problem) {
  SimulationWatch watch(std::move(share), request.ticks,
                        std::uint64_t{options.n_nodes} * options.n_cores, options.observer);
  options.observer = &watch;
  const core::SignalScope signals;
  options.heeds_signals = true;
  const WatchedProblem watched(problem, std::move(watch_of_problem));
  return run_named(request.model,
                   [&] { return tick::simulate(watched, request.policy, request.ticks, options); });
}

RunOutcome simulate(tick::App& app, const RunRequest& request, std::ostream& err) {
  std::unique_ptr<observe::Trace> trace;
  if (!request.trace.empty()) trace = std::make_unique<observe::Trace>();
  tick::SimulationOptions options = simulation_options(request);
  options.observer = trace.get();
  std::optional<tick::SkewObserver> skew;
  if (shows_skew(request, options.n_nodes)) {
    skew.emplace(
        tick::SkewObserver::Options{options.n_nodes, options.n_cores, begin_of(request), true},
        trace.get());
    options.observer = &*skew;
  }
  std::vector<Bytes> findings;
  options.at_end = [&](tick::NodeId node, tick::NodeRun& run) {
    if (request.at_end) request.at_end(node, run);
    findings.push_back(app.finding(run));
  };
  std::optional<SetUpWatch> set_up(std::in_place, err, is_terminal(STDERR_FILENO),
                                   title_of(app, request), request.inputs);
  options.at_start = [&](tick::NodeId node, tick::NodeRun& /*run*/) {
    if (node + 1 == request.n_simulated) set_up.reset();
  };
  const std::unique_ptr<tick::Problem> problem = app.build();
  print_warnings(app, err);
  RunOutcome outcome;
  outcome.n_cores = request.n_sim_cores;
  outcome.sharing =
      tick::chosen_sharing(*problem, request.sharing, options.n_nodes, options.n_cores);
  // From here on there is something to take back.
  const core::SignalScope signals;
  std::optional<core::CheckpointSignals> checkpoint_signals;
  if (request.checkpoint.on_signal) checkpoint_signals.emplace();
  const Files files = begin_files(request, outcome, nullptr);
  if (request.record != nullptr) err << record_report(request.record->folder()) << std::flush;
  const std::unique_ptr<tick::Outputs> outputs = tick::add_outputs(options, files.output);
  const auto checkpoints = tick::add_checkpoints(options, files.checkpoint);
  {
    Progress progress(err, is_terminal(STDERR_FILENO), title_of(app, request), steady_now());
    outcome.result = simulate_watched(*problem, request, options, {.progress = progress},
                                      watch_of(set_up, request.nodes_option));
  }
  outcome.files = outputs->files();
  note_checkpoints(checkpoints, outcome);
  outcome.findings = app.findings(findings);
  if (skew) outcome.skew = skew->figures();
  if (trace) {
    observe::Trace::write(request.trace, {trace->pack()},
                          trace_text(outcome.result, title_of(app, request)));
    outcome.files.push_back(request.trace);
  }
  return outcome;
}

// A real run's parts that the job's host looks at; the job goes first.
struct RealRun {
  std::unique_ptr<observe::Trace> trace;
  std::optional<tick::SkewObserver> skew;  // of this node
  std::optional<RunWatch> watch;
  std::unique_ptr<core::Job> job;
  std::unique_ptr<tick::Problem> problem;
};

// What each node has seen of itself, at node 0, and then of its steps around the worst tick. Collective.
void gather_skew(const RunRequest& request, const RealRun& run, RunOutcome& outcome) {
  if (!run.skew) return;
  core::NodeHost& host = run.job->host();
  const std::vector<Bytes> parts = host.gather(run.skew->pack());
  tick::SkewObserver all({host.shape().n_nodes, 1, begin_of(request), true});
  host.agree([&] {
    if (outcome.node != 0) return;
    for (const Bytes& part : parts)
      all.add(part);
    outcome.skew = all.figures();
  });
  Writer worst;
  if (outcome.skew) worst.put(outcome.skew->completion_tick);
  const Bytes asked = host.broadcast(worst.take());
  const std::vector<Bytes> units =
      host.gather(run.skew->pack_units(Reader(asked).get<tick::Tick>()));
  const std::vector<core::ClockOffset> clocks = core::measure_clocks(host);
  host.agree([&] {
    const auto tells = [&](const core::ClockOffset& clock) {
      return outcome.skew->tells_ticks(clock.error);
    };
    if (outcome.node != 0 || !std::ranges::all_of(clocks, tells)) return;
    for (std::size_t node = 0; node < units.size(); ++node)
      all.add_units(units[node], clocks[node].ahead);
    outcome.skew = all.figures();
  });
}

struct Beginning {
  tick::Tick tick = 0;
  std::uint64_t run_id = 0;
  std::string path;

  [[nodiscard]] std::string text() const { return path.empty() ? "at tick 0" : "with " + path; }
};

// Each node has found its checkpoint for itself, before the job met. Collective; throws Error on all
// nodes if they are not the same one.
void agree_on_beginning(const RunRequest& request, core::NodeHost& host) {
  Writer mine;
  mine.put(begin_of(request));
  mine.put(request.start_run_id);
  mine.put_string(request.start_path);
  const std::vector<Bytes> all = host.gather(mine.take());
  host.agree([&] {
    Beginning first;
    for (std::size_t node = 0; node < all.size(); ++node) {
      Reader in(all[node]);
      Beginning found{in.get<tick::Tick>(), in.get<std::uint64_t>(), in.get_string()};
      if (node == 0) first = found;
      if (found.tick == first.tick && found.run_id == first.run_id) continue;
      throw Error("node " + std::to_string(node) + " begins " + found.text() + ", node 0 " +
                  first.text() +
                  ": expected one checkpoint for all (do the nodes share this file system?)");
    }
  });
}

void run_to_end(tick::App& app, const RunRequest& request, RealRun& run, RunOutcome& outcome,
                std::ostream& err) {
  core::NodeHost& host = run.job->host();
  const std::string title = title_of(app, request);
  std::optional<SetUpWatch> set_up;
  agree_on_beginning(request, host);
  if (outcome.node == 0) set_up.emplace(err, is_terminal(STDERR_FILENO), title, request.inputs);
  host.agree([&] {
    run.problem = app.build();
    outcome.sharing = tick::chosen_sharing(*run.problem, request.sharing, host.shape().n_nodes,
                                           host.shape().n_cores);
  });
  if (outcome.node == 0) print_warnings(app, err);
  // From here on there is something to take back, in the run and around it.
  const core::SignalScope signals;
  std::optional<core::CheckpointSignals> checkpoint_signals;
  if (request.checkpoint.on_signal) checkpoint_signals.emplace();
  tick::ExecutionOptions execution;
  execution.paced = request.paced;
  execution.sharing = request.sharing;
  execution.start = request.start;
  execution.at_engine = [&](tick::TickEngine& engine) {
    set_up.reset();
    if (run.watch) run.watch->follow(engine);
  };
  Bytes finding;
  execution.at_end = [&](tick::NodeRun& node) {
    if (request.at_end) request.at_end(outcome.node, node);
    finding = app.finding(node);
  };
  const Files files = begin_files(request, outcome, &host);
  const std::unique_ptr<tick::Outputs> outputs = tick::add_outputs(execution, files.output, host);
  const auto checkpoints = tick::add_checkpoints(execution, files.checkpoint, host);
  if (outcome.node == 0) report_files(request, files, err);
  const WatchedProblem watched(*run.problem, watch_of(set_up, "launch -n"));
  outcome.result = run_named(request.model, [&] {
    return tick::execute(watched, request.policy, request.ticks, host, execution);
  });
  outcome.files = outputs->files();
  note_checkpoints(checkpoints, outcome);
  run.watch.reset();
  const std::vector<Bytes> findings = host.gather(std::move(finding));
  host.agree([&] {
    if (outcome.node == 0) outcome.findings = app.findings(findings);
  });
  gather_skew(request, run, outcome);
  if (!run.trace) return;
  const std::vector<Bytes> parts = host.gather(run.trace->pack());
  host.agree([&] {
    if (outcome.node == 0) {
      observe::Trace::write(request.trace, parts, trace_text(outcome.result, title));
      outcome.files.push_back(request.trace);
    }
  });
}

RunOutcome execute_here(tick::App& app, const RunRequest& request, std::ostream& err) {
  RealRun run;
  auto fabric = net::make_fabric({.profile = request.profile, .seed = request.seed});
  RunOutcome outcome;
  outcome.node = fabric->node();
  if (fabric->n_nodes() == 1 && !request.profile.empty()) {
    err << program_invocation_short_name
        << ": --profile: one node sends no messages that could be late; see --simulate\n";
  }
  core::JobConfig config;
  config.seed = request.seed;
  core::NodeHostOptions& options = config.host;
  options.n_cores = request.n_cores;
  if (!request.trace.empty()) {
    run.trace = std::make_unique<observe::Trace>(fabric->n_nodes());
    options.observer = run.trace.get();
  }
  if (shows_skew(request, fabric->n_nodes())) {
    const auto n_processors = static_cast<std::uint32_t>(core::allowed_processors().size());
    const std::uint32_t n_cores = std::max({request.n_cores, n_processors, 1U});
    run.skew.emplace(
        tick::SkewObserver::Options{
            .n_cores = n_cores,
            .begin = begin_of(request),
            .keeps_units = true,
            .first_node = outcome.node,
            .n_units_max = n_cores * tick::SkewObserver::kUnitsOfCoreMax,
            .n_ticks_max = tick::SkewObserver::ticks_max(fabric->n_nodes())},
        run.trace.get());
    options.observer = &*run.skew;
  }
  if (outcome.node == 0) {
    run.watch.emplace(err, is_terminal(STDERR_FILENO), title_of(app, request), request.ticks);
    options.glance = [&run](const core::RunGlance& glance) {
      if (run.watch) run.watch->look(glance);
    };
  }
  run.job = std::make_unique<core::Job>(std::move(fabric), std::move(config));
  outcome.n_cores = run.job->shape().n_cores;
  try {
    run_to_end(app, request, run, outcome, err);
  } catch (const Error& error) {
    // All nodes have it, or the job has been taken down. It is said and recorded before any node may leave: the
    // first that ends with another code than 0 makes Open MPI end the others where they stand.
    // That a job was told to end, its launcher says.
    const bool told = error.code() == ExitCode::interrupted || error.code() == ExitCode::terminated;
    if (outcome.node == 0 && !(told && is_guarded_node()))
      err << program_invocation_short_name << ": " << error.what() << std::endl;
    outcome.code = error.code();
    outcome.error = error.what();
    if (request.record != nullptr) end_record(*request.record, outcome.code, outcome.error, err);
  }
  return outcome;
}

}  // namespace

tick::RunResult simulate_problem(const tick::Problem& problem, const RunRequest& request,
                                 ProgressShare share) {
  tick::SimulationOptions options = simulation_options(request);
  return simulate_watched(problem, request, options, std::move(share),
                          {.nodes_option = request.nodes_option});
}

RunOutcome run_model(tick::App& app, const RunRequest& request, std::ostream& err) {
  return request.n_simulated > 0 ? simulate(app, request, err) : execute_here(app, request, err);
}

}  // namespace rubato::tools

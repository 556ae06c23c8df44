// rubato run MODEL: a model runs on this node, as a job under a launcher, or in the simulator.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "rubato/core/signals.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/costs/cost_table.hpp"
#include "rubato/tools/launch/guard.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/record/run_record.hpp"
#include "rubato/tools/run/recording.hpp"
#include "rubato/tools/run/result_text.hpp"
#include "rubato/tools/run/resume.hpp"
#include "rubato/tools/run/runner.hpp"
#include "rubato/tools/run/system_words.hpp"

namespace rubato::tools {
namespace {

struct RunOptions {
  SystemWords system;
  std::string record;          // the folder, "" for one that is new
  std::uint64_t seed = 1;      // of all; the request has that of the network
  std::uint64_t net_seed = 0;  // 0: `seed`
  RunRequest request;
  tick::Parameters output;
  CheckpointWords checkpoint;
  std::string slowdown = "1";
  std::string costs;  // file; "": as the model says
  const CLI::Option* policy_option = nullptr;
  const CLI::Option* net_seed_option = nullptr;
  const CLI::Option* seed_option = nullptr;
  const CLI::Option* ticks_option = nullptr;
  const CLI::Option* record_option = nullptr;
};

// A check that says what is wrong, and is silent in the help.
CLI::Validator quiet(CLI::Validator check) {
  check.description("");
  return check;
}

void check(const RunOptions& options) {
  const RunRequest& r = options.request;
  if (r.n_simulated > 0 && r.n_cores > 0) {
    throw Error("--cores is for real cores; a simulated node has --sim-cores", ExitCode::usage);
  }
  if (r.n_simulated == 0 && (r.n_sim_cores != 1 || r.slowdowns.any())) {
    throw Error("--sim-cores and --slowdown need --simulate N, the number of virtual nodes",
                ExitCode::usage);
  }
  if (r.paced && r.n_simulated > 0) {
    throw Error(
        "--paced is for real nodes; virtual ones take the time of their work: expected no "
        "--simulate with it",
        ExitCode::usage);
  }
  if (options.net_seed_option->count() > 0 && r.profile.empty() &&
      (r.n_simulated > 0 || std::getenv("RUBATO_PROFILE") == nullptr)) {
    throw Error("--net-seed: messages are not late: expected --profile with it", ExitCode::usage);
  }
  if (!options.costs.empty() && r.n_simulated == 0 && !r.paced) {
    throw Error("--costs: steps are charged in virtual time: expected --simulate N or --paced too",
                ExitCode::usage);
  }
  if (!r.profile.empty()) {
    // Looked at before a job is joined, so that a mistyped name is a usage error.
    (void)net::parse_profile(r.profile, "--profile");
  }
}

// The names of the files among the parameters that people have set.
std::string input_names(const ChosenModel& model) {
  std::string names;
  const auto& list = model.parameters().list();
  for (const auto& [name, text] : model.settings()) {
    const auto known = std::ranges::find(list, name, &tick::Parameters::Parameter::name);
    if (known == list.end() || !known->names_file(text)) continue;
    const std::filesystem::path path(text);
    names += (names.empty() ? "" : ", ") + path.filename().string();
  }
  return names;
}

void set_system(RunRequest& request, ChosenSystem chosen) {
  request.system = std::move(chosen.name);
  request.policy = chosen.policy;
  request.sharing = std::move(chosen.sharing);
}

void print(const ChosenModel& model, const RunRequest& request, const RunOutcome& outcome,
           const Context& context) {
  const auto report = [&](const io::TableStyle& err, const io::TableStyle& out) {
    return std::pair(report_of_run(request, outcome, err),
                     result_of_run(model, request, outcome, out));
  };
  const std::string figures = json_of_run(model, request, outcome) + "\n";
  if (request.record != nullptr) {
    const auto [table, result] = report({}, {});
    request.record->finish(figures, table + result);
  }
  if (context.json) {
    context.out << figures;
    return;
  }
  const auto [table, result] =
      report(io::style_of_terminal(STDERR_FILENO), io::style_of_terminal(STDOUT_FILENO));
  context.err << table;
  context.out << result;
}

ExitCode run(RunOptions& options, ChosenModel& model, const Context& context) {
  (void)choose_system(options.system);  // what is wrong with it is said before files are read
  options.request.slowdowns = Slowdowns::parse(options.slowdown);
  check(options);
  if (!options.costs.empty()) CostTable::read(options.costs).set(model);
  std::optional<core::EarlyCheckpointSignal> signal;
  if (wants_checkpoints(options.checkpoint)) signal.emplace();
  const bool is_recorded = options.record_option->count() > 0;
  if (is_recorded) options.checkpoint.record = record_folder(options.record, model.app().name());
  const Resumed resumed =
      resume_run({options.checkpoint, options.system, options.seed, options.request.ticks}, model,
                 {options.seed_option->count() > 0, options.ticks_option->count() > 0,
                  options.policy_option->count() > 0});
  model.refuse_unread();
  if (wants_checkpoints(options.checkpoint) && !signal) signal.emplace();
  set_system(options.request, choose_system(options.system));
  if (!resumed.source && model.has("seed")) model.set("seed", std::to_string(options.seed));
  if (resumed.branch_tick() > 0) model.app().begin_branch(resumed.branch_tick());
  options.request.start = resumed.source.get();
  if (resumed.source) {
    options.request.start_path = resumed.path;
    options.request.start_run_id = resumed.source->manifest().run_id;
  }
  options.request.checkpoint =
      checkpoint_options(options.checkpoint, model, resumed, options.seed, options.request.ticks);
  for (const std::string& warning : resumed.warnings)
    context.err << say_once("rubato: " + warning + "\n");
  options.request.seed = options.net_seed != 0 ? options.net_seed : options.seed;
  options.request.model = options.request.output.name = model.app().name();
  options.request.inputs = input_names(model);
  std::unique_ptr<RunRecord> record;
  if (is_recorded) {
    record = make_record(options.checkpoint.record, model, options.request, resumed, options.seed);
    options.request.record = record.get();
  }
  options.request.output.validate();
  const RunOutcome outcome = run_recorded(model.app(), options.request, context.err);
  if (outcome.node != 0 || outcome.code != ExitCode::ok) return outcome.code;
  print(model, options.request, outcome, context);
  return ExitCode::ok;
}

void add_advanced(CLI::App& parser, RunOptions& options) {
  const auto add = [&](const char* names, auto& target, const char* help) {
    return parser.add_option(names, target, help)->type_name("")->group(kAdvancedGroup);
  };
  add_system_options(parser, options.system);
  options.net_seed_option =
      add("--net-seed", options.net_seed, "Of the network's delays alone, with --profile");
  add("--slowdown", options.slowdown, kSlowdownHelp)->capture_default_str();
  parser
      .add_flag("--paced", options.request.paced,
                "On real nodes: work takes its time in the simulator at least, by sleeping")
      ->group(kAdvancedGroup);
}

constexpr const char* kTableWords =
    "The table of a run, on standard error; shares are of the time of a node's cores:\n"
    "  stepping  its own part of the state\n"
    "  replicas  layers of its neighbours' state, computed again instead of waited for\n"
    "  waiting   nothing to do: a message or another node is late\n"
    "  sending   messages, with packing and unpacking them\n"
    "  own       what the runtime takes itself\n"
    "  ahead     ticks that some region was ahead of the slowest, at most\n"
    "  MB peak   of the process; MB state, in the simulator, of the state alone\n\n";

RunOnModel prepare(CLI::App& parser, const tick::App& model) {
  auto options = std::make_shared<RunOptions>();
  RunRequest& request = options->request;
  request.ticks = model.default_ticks();
  request.nodes_option = "--simulate";
  const char* group = "Run";
  const auto add = [&](const char* names, auto& target, const char* help) {
    return parser.add_option(names, target, help)->type_name("")->group(group);
  };
  options->policy_option =
      add("--policy", options->system.policy, policy_help().c_str())->capture_default_str();
  options->ticks_option =
      add("--ticks", request.ticks, "Ticks to run, unless the model ends earlier")
          ->capture_default_str()
          ->check(quiet(CLI::Range(tick::Tick{0}, tick::Tick{1} << 53)));
  add("--cores", request.n_cores, "Cores of this node; default: its share of the machine")
      ->check(quiet(CLI::Range(1U, 1024U)));
  options->seed_option =
      add("--seed", options->seed, "Of all random numbers: the model's, and the network's delays")
          ->capture_default_str();
  group = "Simulator and network";
  add("--simulate", request.n_simulated, "Run on that many virtual nodes, in virtual time")
      ->check(quiet(CLI::Range(1U, 100'000U)));
  add("--sim-cores", request.n_sim_cores, "Cores of a virtual node")
      ->capture_default_str()
      ->check(quiet(CLI::Range(1U, 1024U)));
  add("--profile", request.profile,
      "Latency that the network wears: a name (none, const, lognormal, pareto, ec2-large, "
      "ec2-small), key=value,.. or a file");
  add("--costs", options->costs,
      "File of what steps cost in virtual time, as the command costs writes it");
  add_checkpoint_options(parser, options->checkpoint);
  group = "Output";
  request.output.declare(options->output);
  add_parameter_options(parser, options->output, group);
  add("--trace", request.trace, "Write a trace for ui.perfetto.dev: cores, waits, messages");
  constexpr const char* kRecordHelp =
      "Keep all of the run in a folder: configuration, versions, hosts, figures, report, and the "
      "files of --format, --every and --checkpoint-every; the command runs shows it. Default: a "
      "new one in runs/";
  options->record_option = add("--record", options->record, kRecordHelp)->expected(0, 1);
  add_advanced(parser, *options);
  const std::string files = model.files();
  parser.footer((files.empty() ? "" : "Files of --output:\n" + files + "\n") + kTableWords +
                parser.get_footer());
  return [options](ChosenModel& chosen, const Context& context) {
    return run(*options, chosen, context);
  };
}

}  // namespace

void add_run(CommandLine& line) {
  add_model_command(line, {.command = {.name = "run",
                                       .group = kRunGroup,
                                       .summary = "Run a model here, as a job, or in the simulator",
                                       .examples = "",
                                       .run = {}},
                           .prepare = prepare,
                           .examples = [](const tick::App& app) { return app.examples(); }});
}

}  // namespace rubato::tools

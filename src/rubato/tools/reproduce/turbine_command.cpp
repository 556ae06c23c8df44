#include "rubato/tools/reproduce/turbine_command.hpp"

#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/net/profile.hpp"

namespace rubato::tools {
namespace {

constexpr const char* kTitle = "A distributed-memory dataflow engine for many-task programs, here";

std::string conditions(const TurbineOptions& options) {
  return fmt::format(
      "simulated: up to {} nodes of one core, {} tasks and {} data a node, network \"{}\"; a task "
      "costs {} ns where it is made and where it runs, a datum {} ns",
      options.n_nodes, options.n_tasks, options.n_data, options.profile, kTaskCost, kDataCost);
}

void put_options(io::JsonWriter& json, const TurbineOptions& options) {
  json.field("n_nodes", options.n_nodes)
      .field("n_tasks", options.n_tasks)
      .field("n_data", options.n_data)
      .field("n_stage_tasks", options.n_stage_tasks)
      .field("task_ms", options.task_ms)
      .field("program_ms", options.program_ms)
      .field("scale", options.scale)
      .field("profile", options.profile)
      .field("seed", options.seed);
}

}  // namespace

void TurbineCommand::add_to(CLI::App& reproduce) {
  parser_ = reproduce.add_subcommand("turbine", "[Turbine 7], figures 1 and 6 to 9, table 1");
  parser_->fallthrough();
  const auto add = [&](const char* name, auto& target, const char* help) {
    return parser_->add_option(name, target, help)->type_name("");
  };
  parser_->add_flag("--quick", quick_, "Tiny; shows that it works, judges nothing");
  add("--report", report_, "Write an HTML report with charts");
  add("--nodes", n_nodes_, "The most that are simulated; default: 256 (the paper: 2,048)")
      ->check(CLI::Range(2U, 1024U).description(""));
  add("--profile", profile_, "Latency; default: const, base=1, as the paper's machine");
  add("--task-ms", task_ms_, "Virtual time of a task in figure 1; default: 1")
      ->check(CLI::Range(0.001, 1e5).description(""));
  add("--stage-tasks", n_stage_tasks_, "Of the widest stage of table 1, a node; default: 64")
      ->check(CLI::Range(2, 100'000).description(""));
  add("--seed", seed_, "Of the network");
}

bool TurbineCommand::chosen() const {
  return parser_ != nullptr && parser_->parsed();
}

TurbineOptions TurbineCommand::options() const {
  TurbineOptions options = quick_ ? TurbineOptions::quick() : TurbineOptions{};
  if (n_nodes_ > 0) options.n_nodes = n_nodes_;
  if (!profile_.empty()) options.profile = profile_;
  if (task_ms_ > 0) options.task_ms = task_ms_;
  if (n_stage_tasks_ > 0) options.n_stage_tasks = n_stage_tasks_;
  options.seed = seed_;
  (void)net::parse_profile(options.profile, "--profile");
  return options;
}

ExitCode TurbineCommand::run(const Context& context) const {
  const TurbineOptions chosen = options();
  context.err << conditions(chosen) << '\n';
  const TurbineRuns runs = run_turbine(chosen, context.err);
  const PaperReport report{"turbine", kTitle, conditions(chosen), turbine_figures(runs, chosen),
                           quick_ ? std::vector<Statement>{} : judge_turbine(runs, chosen)};
  const auto put = [&](io::JsonWriter& json) { put_options(json, chosen); };
  context.out << (context.json ? report_json(report, put) : report_text(report));
  if (quick_) context.err << "--quick shows that it works, and judges nothing\n";
  if (!report_.empty()) {
    write_html_report(report_, report);
    context.err << "report   " << report_ << '\n';
  }
  return ExitCode::ok;
}

}  // namespace rubato::tools

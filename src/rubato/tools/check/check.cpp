// rubato check MODEL: does a model keep the rules that the engine builds on (tick/check/)?

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "rubato/base/time.hpp"
#include "rubato/io/json.hpp"
#include "rubato/tick/check/runs.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/model_command.hpp"
#include "rubato/tools/progress.hpp"
#include "rubato/tools/run/watched_problem.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

tick::CheckReport check_watched(tick::App& app, const tick::CheckOptions& options,
                                std::ostream& err) {
  ProgressClock progress(err, is_terminal(STDERR_FILENO), "check " + app.name());
  progress.at(Progress::kUnknown, "reading");
  const auto problem = app.build();
  // It tests the rules first, and then cuts the model for each run that it holds against the
  // reference.
  const auto tell = [&](std::string note) { progress.at(Progress::kUnknown, std::move(note)); };
  const WatchedProblem watched(
      *problem, {.on_cut =
                     [&](std::uint32_t n_nodes) {
                       tell("running on " + std::to_string(n_nodes) + " virtual nodes");
                     },
                 .on_check = [&] { tell("testing rules"); }});
  return tick::check_problem(watched, options);
}

void print_json(const ChosenModel& model, const tick::CheckOptions& options,
                const tick::CheckReport& report, const Context& context) {
  io::JsonWriter json;
  json.begin_object()
      .field("model", model.app().name())
      .field("commit", commit())
      .field("seed", options.seed)
      .field("ticks", report.ticks)
      .field("n_tuples", report.n_tuples)
      .field("n_queries", report.n_queries)
      .field("ok", report.ok());
  json.key("rules").begin_array();
  for (const tick::RuleResult& rule : report.rules) {
    json.begin_object()
        .field("rule", rule.name)
        .field("source", rule.source)
        .field("statement", rule.statement)
        .field("n_cases", rule.n_cases)
        .field("ok", !rule.failure.has_value());
    if (rule.failure) json.field("failure", *rule.failure);
    json.end_object();
  }
  json.end_array();
  json.key("notes").begin_array();
  for (const std::string& note : report.notes)
    json.value(note);
  json.end_array().end_object();
  context.out << json.text() << '\n';
}

ExitCode run(const tick::CheckOptions& options, ChosenModel& model, const Context& context) {
  if (model.has("seed")) model.set("seed", std::to_string(options.seed));
  const auto set_by_people = model.settings();
  model.refuse_unread();
  for (const auto& [name, text] : model.app().check_settings()) {
    const bool is_set = std::ranges::any_of(
        set_by_people, [&wanted = name](const auto& setting) { return setting.first == wanted; });
    if (!is_set) model.set(name, text);
  }
  const Nanos begin = steady_now();
  const tick::CheckReport report = check_watched(model.app(), options, context.err);
  if (context.json) {
    print_json(model, options, report, context);
  } else {
    context.out << tick::describe(report);
    context.err << model.app().name() << ": " << report.n_tuples << " tuples, " << report.n_queries
                << " queries, " << report.ticks << " ticks, "
                << std::round(static_cast<double>(steady_now() - begin) / 1e6) / 1000
                << " s: " << (report.ok() ? "no rule is broken" : "the model breaks rules") << '\n';
  }
  return report.ok() ? ExitCode::ok : ExitCode::failed;
}

RunOnModel prepare(CLI::App& parser, const tick::App& /*model*/) {
  auto options = std::make_shared<tick::CheckOptions>();
  const auto add = [&](const char* name, auto& target, const char* help) {
    return parser.add_option(name, target, help)
        ->type_name("")
        ->capture_default_str()
        ->group("Check");
  };
  const auto positive = [](CLI::Validator check) {
    check.description("");
    return check;
  };
  add("--seed", options->seed, "Of the sampled queries and subsets, and of the model");
  add("--ticks", options->ticks, "Of the serial reference run, and of the runs held against it")
      ->check(positive(CLI::Range(1, 1'000'000)));
  add("--states", options->n_states, "Of the reference run that are sampled")
      ->check(positive(CLI::Range(1, 1000)));
  return [options](ChosenModel& chosen, const Context& context) {
    return run(*options, chosen, context);
  };
}

}  // namespace

void add_check(CommandLine& line) {
  add_model_command(line, {.command = {.name = "check",
                                       .group = kMeasureGroup,
                                       .summary = "Test that a model keeps the rules of the engine",
                                       .examples = "",
                                       .run = {}},
                           .prepare = prepare,
                           .examples = [](const tick::App& app) {
                             return std::vector<std::string>{app.name()};
                           }});
}

}  // namespace rubato::tools

// rubato runs: what `run --record` has kept: a list, one of them, what two differ in.

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "rubato/tools/command_line.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/record/run_diff.hpp"
#include "rubato/tools/record/run_tables.hpp"

namespace rubato::tools {
namespace {

struct RunsOptions {
  const CLI::App* list = nullptr;
  const CLI::App* show = nullptr;
  const CLI::App* diff = nullptr;
  std::string folder = kRunsFolder;
  std::string shown;
  std::string a;
  std::string b;
};

// A page of text on standard output, or a line of JSON.
void print(const Context& context, const std::string& text, const io::JsonWriter& json) {
  context.out << (context.json ? json.text() + "\n" : text);
}

ExitCode list(const std::string& folder, const Context& context) {
  std::vector<std::string> problems;
  const std::vector<RecordedRun> runs = list_runs(folder, problems);
  for (const std::string& problem : problems)
    context.err << "rubato: warning: left out: " << problem << '\n';
  io::JsonWriter json;
  put_runs(json, runs);
  if (runs.empty() && !context.json) {
    context.err << "no run is recorded in " << folder << '\n';
    return ExitCode::ok;
  }
  print(context, runs_table(runs).to_text(io::style_of_terminal(STDOUT_FILENO)), json);
  return ExitCode::ok;
}

ExitCode show(const std::string& folder, const Context& context) {
  const RecordedRun run = read_run(folder);
  io::JsonWriter json;
  json.begin_object();
  put_run(json, run);
  json.end_object();
  print(context, run_page(run, io::style_of_terminal(STDOUT_FILENO)), json);
  return ExitCode::ok;
}

ExitCode diff(const std::string& folder, const std::string& other, const Context& context) {
  const RecordedRun a = read_run(folder);
  const RecordedRun b = read_run(other);
  const RunDiff found = diff_runs(a, b);
  io::JsonWriter json;
  put_diff(json, a, b, found);
  print(context, diff_page(a, b, found, io::style_of_terminal(STDOUT_FILENO)), json);
  return found.is_broken() ? ExitCode::failed : ExitCode::ok;
}

ExitCode run(const RunsOptions& options, const Context& context) {
  if (options.show->parsed()) return show(options.shown, context);
  if (options.diff->parsed()) return diff(options.a, options.b, context);
  if (options.list->parsed()) return list(options.folder, context);
  throw Error("expected list, show or diff behind runs", ExitCode::usage);
}

}  // namespace

void add_runs(CommandLine& line) {
  auto options = std::make_shared<RunsOptions>();
  const std::string& name = line.identity().name;
  CLI::App& parser =
      line.add({.name = "runs",
                .group = kRunGroup,
                .summary = "Recorded runs: a list, one of them, what two differ in",
                .examples = "  " + name + " runs list\n  " + name +
                            " runs show runs/heat-20261121-231500-3fa9c1\n  " + name +
                            " runs diff first second\n"
                            "A run is recorded by `run .. --record`.",
                .run = [options](const Context& context) { return run(*options, context); },
                .choice = "action"});
  parser.require_subcommand(0, 1);
  const auto add = [&](const char* action, const char* summary) {
    CLI::App* app = parser.add_subcommand(action, summary);
    app->fallthrough();
    return app;
  };
  CLI::App* list_app = add("list", "A row for each run in a folder, the oldest first");
  list_app->add_option("FOLDER", options->folder, "Where the runs are")
      ->type_name("")
      ->capture_default_str();
  CLI::App* show_app =
      add("show", "Configuration, machines and figures of a run, and what each node waited");
  show_app->add_option("RUN", options->shown, "Its folder")->type_name("")->required();
  CLI::App* diff_app =
      add("diff", "What differs; exit code 1 if checksums do that should be the same");
  diff_app->add_option("RUN", options->a, "Its folder")->type_name("")->required();
  diff_app->add_option("OTHER", options->b, "That of another")->type_name("")->required();
  options->list = list_app;
  options->show = show_app;
  options->diff = diff_app;
}

}  // namespace rubato::tools

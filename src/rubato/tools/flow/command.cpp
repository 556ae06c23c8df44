// rubato flow: scripts of TIC are checked, printed, and run on this machine or as a job.

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <stdlib.h>

#include "rubato/core/job.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/plugin/plugin.hpp"
#include "rubato/flow/tic/check.hpp"
#include "rubato/flow/tic/parse.hpp"
#include "rubato/flow/tic/print.hpp"
#include "rubato/io/json.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tools/commands.hpp"

namespace rubato::tools {
namespace {

struct FlowOptions {
  std::string script;
  std::vector<std::string> arguments;
  std::vector<std::string> workers;
  std::vector<std::string> plugins;
  std::string journal;
  std::string resume;
  std::uint32_t n_cores = 0;
};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error("cannot read " + path + ": expected a script of TIC");
  return text.str();
}

flow::ScriptArguments arguments_of(const FlowOptions& options) {
  flow::ScriptArguments arguments;
  for (const std::string& word : options.arguments) {
    const std::size_t at = word.find('=');
    if (at == std::string::npos || at == 0) {
      throw Error("--arg " + word + ": expected NAME=VALUE", ExitCode::usage);
    }
    if (!arguments.named.emplace(word.substr(0, at), word.substr(at + 1)).second) {
      throw Error("--arg " + word + ": found " + word.substr(0, at) + " twice", ExitCode::usage);
    }
  }
  return arguments;
}

// For files without a name; goes with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rubato-flow-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error("cannot make the folder " + name, ExitCode::failed);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// What node 0 knows of a run.
struct ScriptRun {
  flow::FlowResult result;
  std::optional<Error> error;  // the script could not be run at all
  Nanos wall = 0;

  [[nodiscard]] ExitCode code() const {
    if (error) return error->code();
    if (result.n_failures > 0) return ExitCode::some_tasks_failed;
    return result.waiting.empty() ? ExitCode::ok : ExitCode::failed;
  }
};

void put_texts(io::JsonWriter& json, const char* name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts)
    json.value(text);
  json.end_array();
}

void say(const ScriptRun& run, const FlowOptions& options, const core::JobShape& shape,
         const Context& context) {
  const flow::FlowCounters& counters = run.result.counters;
  const double seconds = static_cast<double>(run.wall) * 1e-9;
  if (run.error) throw *run.error;
  const std::string text = run.result.text();
  if (!text.empty()) context.err << options.script << ": " << text << '\n';
  context.err << fmt::format("{} tasks, {} failed, {} not run, in {:.3f} s on {} {}\n",
                             counters.n_run, counters.n_failed, counters.n_skipped, seconds,
                             shape.n_cores_total(), shape.n_cores_total() == 1 ? "core" : "cores");
  const flow::JournalCounts& journal = run.result.journal;
  if (!options.resume.empty()) {
    context.err << fmt::format("journal: {} done before, {} new, {} done again\n", journal.n_done,
                               journal.n_new, journal.n_again);
    for (const std::string& why : journal.why)
      context.err << "  " << why << '\n';
    if (journal.n_again > journal.why.size()) context.err << "  ..\n";
  }
  if (!journal.problem.empty()) context.err << journal.problem << '\n';
  if (!context.json) return;
  io::JsonWriter json;
  json.begin_object()
      .field("script", options.script)
      .field("nodes", shape.n_nodes)
      .field("cores", shape.n_cores_total())
      .field("seconds", seconds)
      .field("run", counters.n_run)
      .field("failed", counters.n_failed)
      .field("skipped", counters.n_skipped)
      .field("data", counters.n_data);
  json.key("journal")
      .begin_object()
      .field("done", journal.n_done)
      .field("new", journal.n_new)
      .field("again", journal.n_again)
      .field("problem", journal.problem);
  put_texts(json, "why", journal.why);
  json.end_object();
  put_texts(json, "failures", run.result.failures);
  put_texts(json, "waiting", run.result.waiting);
  json.end_object();
  context.out << json.text() << '\n';
}

// Collective.
ExitCode run_flow(const FlowOptions& options, const Context& context) {
  flow::ScriptArguments arguments = arguments_of(options);
  for (const std::string& plugin : options.plugins)
    flow::load_plugin(plugin);
  flow::RunOptions run_options{flow::Workers::parse(options.workers)};
  run_options.journal.resume = !options.resume.empty();
  run_options.journal.folder = run_options.journal.resume ? options.resume : options.journal;
  core::JobConfig config;
  config.host.n_cores = options.n_cores;
  core::Job job(net::make_fabric(), std::move(config));
  ScriptRun run;
  global::run(job.host(), {}, [&] {
    try {
      const TemporaryFolder temporary;
      arguments.temporary_folder = temporary.path();
      const Nanos begin = steady_now();
      run.result =
          flow::run_script(text_of_file(options.script), options.script, arguments, run_options);
      run.wall = steady_now() - begin;
    } catch (const Error& error) {
      run.error = error;
    }
  });
  // Said before any node leaves: the first that ends with another code than 0 may take the others
  // down.
  ExitCode code = run.code();
  if (job.speaks()) {
    try {
      say(run, options, job.shape(), context);
    } catch (const Error& error) {
      context.err << "rubato: " << error.what() << std::endl;
    }
    context.err.flush();
    context.out.flush();
  }
  Writer out;
  out.put(code);
  const Bytes bytes = job.host().broadcast(out.take());
  Reader in(bytes);
  return in.get<ExitCode>();
}

ExitCode print_script(const FlowOptions& options, const Context& context) {
  const auto program = flow::tic::parse_program(text_of_file(options.script), options.script);
  context.out << flow::tic::print_program(program);
  return ExitCode::ok;
}

ExitCode check_script(const FlowOptions& options, const Context& context) {
  auto program = flow::tic::parse_program(text_of_file(options.script), options.script);
  for (const auto& warning : flow::tic::check_program(program)) {
    context.err << fmt::format("{}:{}:{}: warning: {}\n", options.script, warning.place.line,
                               warning.place.column, warning.text);
  }
  context.err << options.script << " is well\n";
  return ExitCode::ok;
}

}  // namespace

void add_flow(CommandLine& line) {
  if (line.identity().single_model) return;
  auto options = std::make_shared<FlowOptions>();
  auto runs = std::make_shared<std::function<ExitCode(const Context&)>>();
  CLI::App& parser =
      line.add({.name = "flow",
                .group = kRunGroup,
                .summary = "Scripts whose tasks run when their inputs are there (TIC)",
                .examples = "  rubato flow run examples/20_tic/lines.tic\n"
                            "  rubato flow run sweep.tic --arg n=100 --cores 4 --json\n"
                            "  rubato flow check sweep.tic\n"
                            "  rubato flow print sweep.tic",
                .run = [runs](const Context& context) { return (*runs)(context); },
                .choice = "subcommand"});
  parser.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, auto* function) {
    CLI::App* sub = parser.add_subcommand(name, help);
    sub->fallthrough();
    sub->add_option("script", options->script, "File of TIC (docs/tic.md)")
        ->required()
        ->type_name("FILE");
    sub->callback(
        [=] { *runs = [=](const Context& context) { return function(*options, context); }; });
    return sub;
  };
  CLI::App* run = add("run", "Runs a script; exit 4 if some of its tasks failed", &run_flow);
  run->add_option("--arg", options->arguments, "An argument of the script, for arg(\"NAME\")")
      ->type_name("NAME=VALUE");
  run->add_option("--workers", options->workers,
                  "How many tasks of a type of work run at a time, in all or on each node")
      ->type_name("TYPE=N[/node]");
  run->add_option("--plugin", options->plugins,
                  "A shared library with leaves in C (rubato_plugin.h)")
      ->type_name("FILE");
  CLI::Option* journal =
      run->add_option("--journal", options->journal,
                      "Writes down in this new folder what has ended well, for --resume")
          ->type_name("DIR");
  run->add_option("--resume", options->resume,
                  "Goes on with the run of this journal: what is done and unchanged is not run")
      ->type_name("DIR")
      ->excludes(journal);
  run->add_option("--cores", options->n_cores, "Cores of a node; default: all")->type_name("");
  add("check", "Finds what is wrong with a script before it runs", &check_script);
  add("print", "Prints a script in its canonical form", &print_script);
}

}  // namespace rubato::tools

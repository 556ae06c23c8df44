// rubato flow: scripts of TIC are checked, printed, and run on this machine or as a job.

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "rubato/base/shell.hpp"
#include "rubato/core/job.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/observe/flow_report.hpp"
#include "rubato/flow/observe/progress_engine.hpp"
#include "rubato/flow/plugin/plugin.hpp"
#include "rubato/flow/seen_folder.hpp"
#include "rubato/flow/tic/check.hpp"
#include "rubato/flow/tic/parse.hpp"
#include "rubato/flow/tic/print.hpp"
#include "rubato/io/json.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/flow/command_files.hpp"
#include "rubato/tools/flow/dry_run.hpp"
#include "rubato/tools/flow/go_on.hpp"
#include "rubato/tools/flow/temporary_folder.hpp"
#include "rubato/tools/launch/guard.hpp"
#include "rubato/tools/progress.hpp"
#include "rubato/tools/run/resume.hpp"
#include "rubato/tools/terminal.hpp"

namespace rubato::tools {
namespace {

constexpr std::size_t kWhyShown = 20;  // of tasks that are done again

struct FlowOptions {
  std::string script;
  std::vector<std::string> arguments;
  std::vector<std::string> workers;
  std::vector<std::string> plugins;
  std::string journal;
  std::string resume;
  std::uint32_t n_cores = 0;
  std::uint32_t n_native_threads = 0;  // 0: as usual
  std::string temporary;
  std::string report;
  std::string trace;
  bool progress = false;
  double progress_every = 0;  // s; 0: as usual
  bool dry_run = false;
  bool print_tic = false;
  std::uint32_t retries = 0;
  double timeout = 0;  // s; 0: none
  std::string given;   // those of the command line but --journal and --resume, for a shell
};

// What was given of the options of a command, each with a space before it.
std::string given_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || !name.starts_with("--") || name == "--journal" ||
        name == "--resume")
      continue;
    if (option->get_expected_max() == 0) {
      text += " " + name;
      continue;
    }
    for (const std::string& value : option->results())
      text += " " + name + " " + shell_word(value);
  }
  return text;
}

flow::ScriptArguments arguments_of(const FlowOptions& options) {
  flow::ScriptArguments arguments;
  arguments.retries = options.retries;
  arguments.timeout = options.timeout;
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

// Loads the plugins, too.
flow::RunOptions run_options_of(const FlowOptions& options) {
  for (const std::string& plugin : options.plugins)
    flow::load_plugin(plugin);
  flow::RunOptions run_options{flow::Workers::parse(options.workers), {}};
  run_options.journal.resume = !options.resume.empty();
  run_options.journal.folder = run_options.journal.resume ? options.resume : options.journal;
  // A job that its launcher has started again goes on.
  if (std::getenv(kRestartVariable) != nullptr &&
      flow::Journal::has_run(run_options.journal.folder))
    run_options.journal.resume = true;
  return run_options;
}

global::ProgramOptions program_options(const FlowOptions& asked) {
  global::ProgramOptions options;
  if (asked.n_native_threads > 0) options.messages.n_native_threads = asked.n_native_threads;
  options.messages.tasks.stacks.guarded_bytes = flow::kScriptStackBytes;
  return options;
}

// What node 0 knows of a run.
struct ScriptRun {
  flow::FlowResult result;
  std::optional<Error> error;  // the script could not be run at all
  Nanos wall = 0;
  bool goes_on = false;  // with the journal of an earlier one

  [[nodiscard]] ExitCode code() const {
    if (error) return error->code();
    if (result.n_failures > 0) return ExitCode::some_tasks_failed;
    return result.waiting.empty() ? ExitCode::ok : ExitCode::failed;
  }
};

// The line that tells how far it is, on node 0. The service thread of the host calls look(); what
// scripts print comes by way of say().
class ScriptProgress final : public flow::LineSink {
 public:
  ScriptProgress(const FlowOptions& options, const Context& context)
      : progress_(context.err, is_terminal(STDERR_FILENO), options.script, steady_now(),
                  static_cast<Nanos>(options.progress_every * kSecond)) {}

  // While the run goes on; null: nobody is to look.
  void follow(const flow::ProgressEngine* engine) noexcept { engine_ = engine; }
  void look(const core::RunGlance& glance) {
    const flow::ProgressEngine* const engine = engine_;
    if (engine == nullptr) return;
    const flow::ProgressText::Line line = text_.look(glance.elapsed, engine->counts());
    const std::lock_guard lock(mutex_);
    progress_.update(steady_now(), line.part < 0 ? Progress::kUnknown : line.part, line.text,
                     line.left);
  }
  void say(std::FILE* to, const std::string& text) override {
    const bool meets = is_terminal(::fileno(to));
    const std::lock_guard lock(mutex_);
    if (meets) progress_.clear();
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
    if (meets) progress_.draw();
  }

 private:
  std::mutex mutex_;
  Progress progress_;  // under the mutex
  flow::ProgressText text_;
  std::atomic<const flow::ProgressEngine*> engine_{nullptr};
};

void say(const ScriptRun& run, const flow::FlowReport& report, const FlowOptions& options,
         const core::JobShape& shape, const Context& context) {
  const double seconds = static_cast<double>(run.wall) * 1e-9;
  if (run.error) throw *run.error;
  const std::string text = run.result.text();
  if (!text.empty()) context.err << options.script << ": " << text << '\n';
  const std::string leaks = run.result.leak_text();
  if (!leaks.empty()) context.err << options.script << ": " << leaks << '\n';
  const std::string unset = run.result.unset_text();
  if (!unset.empty()) context.err << options.script << ": " << unset << '\n';
  context.err << fmt::format("{}, in {:.3f} s on {} {}\n", run.result.summary(), seconds,
                             shape.n_cores_total(), shape.n_cores_total() == 1 ? "core" : "cores");
  const flow::JournalCounts& journal = run.result.journal;
  if (run.goes_on) {
    context.err << fmt::format("journal: {} done before, {} new, {} done again\n", journal.n_done,
                               journal.n_new, journal.n_again);
    const std::size_t n_shown = std::min(journal.why.size(), kWhyShown);
    for (std::size_t i = 0; i < n_shown; ++i)
      context.err << "  " << journal.why[i] << '\n';
    if (journal.n_again > n_shown) {
      context.err << "  and " << journal.n_again - n_shown << " more"
                  << (journal.why_in.empty() ? "" : ": all stand in ") << journal.why_in << '\n';
    }
  }
  if (!journal.problem.empty()) context.err << journal.problem << '\n';
  if (!context.json) return;
  io::JsonWriter json;
  json.begin_object()
      .field("script", options.script)
      .field("nodes", shape.n_nodes)
      .field("cores", shape.n_cores_total())
      .field("seconds", seconds)
      .field("retries", options.retries)
      .field("timeout", options.timeout);
  report.put(json);
  json.end_object();
  context.out << json.text() << '\n';
}

// A run of a script on this node of a job, and what is seen of it.
class FlowRun {
 public:
  FlowRun(const FlowOptions& options, const Context& context)
      : options_(options),
        context_(context),
        arguments_(arguments_of(options)),
        run_options_(run_options_of(options)),
        shows_progress_(options.progress || options.progress_every > 0 ||
                        is_terminal(STDERR_FILENO)) {
    run_.goes_on = run_options_.journal.resume;
  }

  // Collective.
  ExitCode run() {
    core::JobConfig config;
    config.host.n_cores = options_.n_cores;
    auto fabric = net::make_fabric();
    if (!options_.trace.empty()) trace_ = std::make_unique<observe::Trace>(fabric->n_nodes());
    if (wants_figures()) config.host.observer = report_.observer(trace_.get(), trace_.get());
    // Its service thread looks, and is gone before the line is.
    if (shows_progress_) {
      progress_.emplace(options_, context_);
      config.host.glance = [this](const core::RunGlance& glance) { progress_->look(glance); };
      config.host.report = [this](const std::string& line) {
        progress_->say(stderr, "rubato: " + line + "\n");
      };
    }
    core::Job job(std::move(fabric), std::move(config));
    job.host().agree([&] {
      if (!job.speaks()) return;
      check_place_of(options_.report);
      check_place_of(options_.trace);
    });
    global::Program program(job.shape(), program_options(options_));
    program.set_main([this] { run_main(); });
    attach(job, program);
    const Nanos begin = steady_now();
    core::NodeFigures mine;
    try {
      mine = run_engine(job, program);
    } catch (const Error& error) {
      progress_.reset();
      if (job.speaks()) {
        say_what_came(error, flow::result_so_far(program.engine(), job.shape()));
        say_how_to_go_on(error, steady_now() - begin);
      }
      throw;
    }
    progress_.reset();
    report_.set_result(run_.result);
    ExitCode code = run_.code();
    try {
      if (wants_figures()) gather(job, mine, program.engine().counters());
    } catch (const Error& error) {  // of all nodes
      if (job.speaks()) context_.err << "rubato: " << error.what() << std::endl;
      // A full disk is no bad input; else what has failed of the flow says more.
      if (code == ExitCode::ok) code = ExitCode::failed;
    }
    try {
      job.host().agree([] {
        // What was printed has been flushed line by line.
        if (std::ferror(stdout) != 0) {
          throw Error("writing what the script prints failed: is the disk full?", ExitCode::failed);
        }
      });
    } catch (const Error& error) {  // of all nodes
      if (job.speaks()) context_.err << "rubato: " << error.what() << std::endl;
      if (code == ExitCode::ok) code = error.code();
    }
    return end(job, code);
  }

 private:
  // What this node knows of a run that did not end: others have ended as well, or are gone.
  void say_what_came(const Error& why, const flow::FlowResult& result) {
    try {
      const std::string text = result.text();
      if (!text.empty()) context_.err << options_.script << ": " << text << std::endl;
      if (!wants_figures()) return;
      report_.set_result(result);
      report_.take({report_.pack()});
      if (!options_.report.empty()) {
        io::HtmlReport page(options_.script);
        page.paragraph(std::string("The run did not end: ") + why.what() +
                       ". This is what its first node knew then.");
        report_.add(page);
        page.write(options_.report);
      }
      if (trace_) observe::Trace::write(options_.trace, {trace_->pack()}, {});
      if (!context_.json) return;
      io::JsonWriter json;
      json.begin_object().field("script", options_.script).field("did_not_end", why.what());
      report_.put(json);
      json.end_object();
      context_.out << json.text() << std::endl;
    } catch (const Error& error) {
      context_.err << "rubato: " << error.what() << std::endl;
    }
  }
  // Of a run that was ended with all that it had under way, by a signal. Of a job, its launcher says
  // it, which outlives its nodes.
  void say_how_to_go_on(const Error& why, Nanos time) const {
    if (journal().empty() || launcher_knows_) return;
    try {
      context_.err << fmt::format("{}: {} after {:.3f} s; {}", options_.script, why.what(),
                                  static_cast<double>(time) * 1e-9,
                                  how_to_go_on(journal(), command_to_go_on()));
      context_.err.flush();
    } catch (const Error& error) {
      context_.err << "rubato: " << error.what() << std::endl;
    }
  }
  // What comes before its folder.
  [[nodiscard]] std::string command_to_go_on() const {
    return "rubato flow run " + shell_word(options_.script) + options_.given + " --resume";
  }
  [[nodiscard]] const std::string& journal() const noexcept {
    return options_.resume.empty() ? options_.journal : options_.resume;
  }

  // The same on all nodes.
  [[nodiscard]] bool wants_figures() const {
    return context_.json || trace_ || !options_.report.empty();
  }

  // Collective: node 0 alone knows whether somebody looks at its terminal, and what nodes say to
  // each other depends on it.
  void attach(core::Job& job, global::Program& program) {
    Writer out;
    out.put(static_cast<std::uint8_t>(shows_progress_ ? 1 : 0));
    const Bytes bytes = job.host().broadcast(out.take());
    shows_progress_ = Reader(bytes).get<std::uint8_t>() != 0;
    if (wants_figures()) {
      report_.attach(program.engine(), job.shape());
    } else if (shows_progress_) {
      report_.attach_counts(program.engine(), job.shape());
    }
    for (std::uint32_t local = 0; progress_ && local < job.shape().n_cores; ++local)
      program.engine().core(local).local_or_make<flow::LinePlace>().sink = &*progress_;
  }

  // A task of node 0.
  void run_main() {
    try {
      const std::string known = journal_report(journal(), command_to_go_on());
      launcher_knows_ = !known.empty();
      context_.err << known << std::flush;
      const bool is_alone = core::CoreContext::here().shape().n_nodes == 1;
      temporary_.emplace(options_.temporary,
                         is_alone ? TemporaryFolder::Look() : &flow::nodes_without);
      arguments_.temporary_folder = temporary_->path();
      const Nanos begin = steady_now();
      run_.result = flow::run_script(text_of_file(options_.script), options_.script, arguments_,
                                     run_options_);
      run_.wall = steady_now() - begin;
    } catch (const Error& error) {
      run_.error = error;
    }
  }

  core::NodeFigures run_engine(core::Job& job, global::Program& program) {
    if (!shows_progress_) return job.host().run(program.engine());
    flow::ProgressEngine engine(program.engine(), job.shape(), [this] { return report_.counts(); });
    if (progress_ && job.speaks()) progress_->follow(&engine);
    core::NodeFigures mine = job.host().run(engine);
    if (progress_) progress_->follow(nullptr);
    return mine;
  }

  // Collective: what the nodes have seen is written by the first.
  void gather(core::Job& job, const core::NodeFigures& mine, const core::CoreCounters& counters) {
    const global::ProgramFigures figures = global::gather_figures(job.host(), mine, counters);
    const std::vector<Bytes> seen = job.host().gather(report_.pack());
    const std::vector<Bytes> events =
        trace_ ? job.host().gather(trace_->pack()) : std::vector<Bytes>();
    job.host().agree([&] {
      if (!job.speaks() || run_.error) return;
      report_.take(seen);
      if (!options_.report.empty()) {
        io::HtmlReport page = global::figures_page(options_.script, figures);
        report_.add(page);
        page.write(options_.report);
      }
      if (trace_) observe::Trace::write(options_.trace, events, global::trace_text(figures));
    });
  }

  // Collective. Said before any node leaves: the first that ends with another code than 0 may take
  // the others down.
  ExitCode end(core::Job& job, ExitCode code) {
    if (job.speaks()) {
      try {
        say(run_, report_, options_, job.shape(), context_);
      } catch (const Error& error) {
        context_.err << "rubato: " << error.what() << std::endl;
      }
      context_.err.flush();
      context_.out.flush();
    }
    Writer out;
    out.put(code);
    const Bytes bytes = job.host().broadcast(out.take());
    Reader in(bytes);
    return in.get<ExitCode>();
  }

  const FlowOptions& options_;
  const Context& context_;
  flow::ScriptArguments arguments_;
  flow::RunOptions run_options_;
  bool shows_progress_;
  std::unique_ptr<observe::Trace> trace_;
  flow::FlowReport report_;
  std::optional<ScriptProgress> progress_;
  ScriptRun run_;
  bool launcher_knows_ = false;  // how to go on
  // Of node 0. Not in its task: those of a run that is ended by a signal are left where they stand.
  std::optional<TemporaryFolder> temporary_;
};

// Interprets the script and runs nothing: on one node, since there is nothing to share.
ExitCode plan_flow(const FlowOptions& options, const Context& context) {
  flow::ScriptArguments arguments = arguments_of(options);
  arguments.temporary_folder = "TEMPORARY";
  const flow::RunOptions run_options = run_options_of(options);
  core::JobConfig config;
  config.host.n_cores = options.n_cores;
  core::Job job(net::make_fabric(), std::move(config));
  if (job.shape().n_nodes > 1) {
    throw Error("--dry-run: expected one node, found " + std::to_string(job.shape().n_nodes) +
                    ": nothing is run, so say it without the launcher",
                ExitCode::usage);
  }
  flow::ScriptPlan plan;
  std::optional<Error> error;  // thrown behind the run, which would tell where it came from
  global::run(job.host(), program_options(options), [&] {
    try {
      plan =
          flow::plan_script(text_of_file(options.script), options.script, arguments, run_options);
    } catch (const Error& thrown) {
      error = thrown;
    }
  });
  if (error) throw *error;
  return say_plan(plan, options.script, context);
}

ExitCode print_script(const FlowOptions& options, const Context& context) {
  const auto program = flow::tic::parse_program(text_of_file(options.script), options.script);
  context.out << flow::tic::print_program(program);
  return ExitCode::ok;
}

// Collective.
ExitCode run_flow(const FlowOptions& options, const Context& context) {
  if (options.print_tic) return print_script(options, context);
  if (options.dry_run) return plan_flow(options, context);
  return FlowRun(options, context).run();
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

// CLI's own checks let "nan" through.
const CLI::Validator& is_time() {
  static const CLI::Validator check(
      [](const std::string& text) -> std::string {
        double x = 0;
        if (CLI::detail::lexical_cast(text, x) && x > 0 && std::isfinite(x)) return "";
        return "found " + text + ", expected seconds, more than 0";
      },
      "");
  return check;
}

// `options` stay as long as the command line.
void add_run_options(CLI::App& run, FlowOptions& options) {
  run.add_option("--arg", options.arguments, "An argument of the script, for arg(\"NAME\")")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  run.add_option("--workers", options.workers,
                 "How many tasks of a type of work run at a time, in all or on each node")
      ->type_name("TYPE=N[/node]")
      ->allow_extra_args(false);
  run.add_option("--plugin", options.plugins, "A shared library with leaves in C (rubato_plugin.h)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  CLI::Option* journal =
      run.add_option("--journal", options.journal,
                     "Writes down in this new folder what has ended well, for --resume")
          ->type_name("DIR");
  CLI::Option* resume =
      run.add_option("--resume", options.resume,
                     "Goes on with the run of this journal: what is done and unchanged is not run")
          ->type_name("DIR")
          ->excludes(journal);
  run.add_option("--cores", options.n_cores, "Cores of a node; default: all")->type_name("");
  run.add_option("--native-threads", options.n_native_threads,
                 "Programs and long leaves that a node runs at a time, beside those of workers;"
                 " default: its processors, 4 at least")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  run.add_option(
         "--temporary", options.temporary,
         "Where files without a name are, seen by all nodes (RUBATO_TEMPORARY; default: TMPDIR,"
         " or this folder where nodes do not share that)")
      ->type_name("DIR")
      ->envname("RUBATO_TEMPORARY");
  run.add_option("--report", options.report,
                 "A page of what ran: tasks by name, the slowest, each core over time")
      ->type_name("FILE");
  run.add_option("--trace", options.trace, "All tasks and messages, for ui.perfetto.dev")
      ->type_name("FILE");
  run.add_flag("--progress", options.progress,
               "Says how far it is where stderr is no terminal, too");
  run.add_option("--progress-every", options.progress_every,
                 "The same, every so many seconds (default: 0.2 on a terminal, else 10)")
      ->type_name("S")
      ->check(is_time());
  run.add_option("--retries", options.retries,
                 "How often a leaf or an app is tried again that does not say so itself")
      ->type_name("N");
  run.add_option("--timeout", options.timeout,
                 "How long a try may take of a leaf or an app that does not say so itself")
      ->type_name("SECONDS")
      ->check(is_time());
  CLI::Option* dry_run =
      run.add_flag("--dry-run", options.dry_run,
                   "Says what would run, as far as no results decide it, and runs nothing;"
                   " of a new run, since it reads no journal")
          ->excludes(resume);
  run.add_flag("--print-tic", options.print_tic,
               "Prints the script in its canonical form, as `flow print`, and runs nothing")
      ->excludes(dry_run);
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
                            "  rubato flow run sweep.tic --report sweep.html\n"
                            "  rubato flow run sweep.tic --dry-run\n"
                            "  rubato flow check sweep.tic\n"
                            "  rubato flow print sweep.tic",
                .run = [runs](const Context& context) { return (*runs)(context); },
                .choice = "subcommand"});
  parser.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, auto* function) {
    CLI::App* sub = parser.add_subcommand(name, help)->group("What to do with a script");
    sub->fallthrough();
    sub->add_option("script", options->script, "File of TIC (docs/tic.md)")
        ->required()
        ->type_name("FILE");
    sub->callback([=] {
      options->given = given_options(*sub);
      *runs = [=](const Context& context) { return function(*options, context); };
    });
    return sub;
  };
  CLI::App* run = add("run", "Runs a script; exit 4 if some of its tasks failed", &run_flow);
  add_run_options(*run, *options);
  add("check", "Finds what is wrong with a script before it runs", &check_script);
  add("print", "Prints a script in its canonical form", &print_script);
}

}  // namespace rubato::tools

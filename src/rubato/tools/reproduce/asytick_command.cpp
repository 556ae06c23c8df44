#include "rubato/tools/reproduce/asytick_command.hpp"

#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "rubato/io/html_report.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/reproduce/statement_text.hpp"

namespace rubato::tools {
namespace {

constexpr const char* kTitle = "Resisting skew-accumulation for time-stepped applications, here";

std::string conditions(const AsytickOptions& options) {
  return fmt::format(
      "{} nodes of {} workers, a virtual node of one core each; {} ticks and {} before them, "
      "epochs of {}, network \"{}\"",
      options.n_nodes, options.n_cores, options.ticks - options.warm_up, options.warm_up,
      options.epoch, options.network());
}

std::string text_of(const std::vector<AsytickFigure>& figures) {
  const io::TableStyle style = io::style_of_terminal(STDOUT_FILENO);
  std::string text;
  for (const AsytickFigure& figure : figures) {
    text +=
        fmt::format("Figure {}  {}\n{}", figure.number, figure.title, figure.table.to_text(style));
    text += figure.note.empty() ? "\n" : "(" + figure.note + ")\n\n";
  }
  return text;
}

std::string json_of(const AsytickOptions& options, const AsytickRuns& runs,
                    const std::vector<AsytickFigure>& figures,
                    const std::vector<Statement>& statements) {
  io::JsonWriter json;
  json.begin_object()
      .field("paper", "asytick")
      .field("commit", commit())
      .field("n_nodes", options.n_nodes)
      .field("n_cores", options.n_cores)
      .field("ticks", options.ticks)
      .field("warm_up", options.warm_up)
      .field("epoch", options.epoch)
      .field("tick_ms", options.tick_ms)
      .field("slowdown", options.slowdown)
      .field("profile", options.network())
      .field("seed", options.seed)
      .field("equal", runs.equal);
  json.key("figures").begin_array();
  for (const AsytickFigure& figure : figures) {
    json.begin_object()
        .field("number", figure.number)
        .field("title", figure.title)
        .field("note", figure.note);
    json.key("points");
    figure.table.to_json(json);
    json.end_object();
  }
  json.end_array().key("statements");
  put_statements(json, statements);
  json.end_object();
  return json.text() + '\n';
}

void write_report(const std::string& path, const AsytickOptions& options,
                  const std::vector<AsytickFigure>& figures,
                  const std::vector<Statement>& statements) {
  io::HtmlReport report(kTitle);
  report.paragraph(conditions(options) + ".");
  if (!statements.empty()) report.heading("What the paper says").table(statement_table(statements));
  for (const AsytickFigure& figure : figures) {
    report.heading(fmt::format("Figure {}: {}", figure.number, figure.title)).table(figure.table);
    if (!figure.note.empty()) report.paragraph(figure.note + ".");
  }
  report.write(path);
}

// What is said of the paper, if anything may be: of smaller benchmarks it says nothing, and the
// reasons were measured with the default options.
std::vector<Statement> statements_of(const AsytickOptions& options, const AsytickRuns& runs) {
  const AsytickOptions usual;
  if (options.size != usual.size || !options.only.empty()) return {};
  std::vector<Statement> statements = judge_asytick(runs);
  const bool is_usual = options.n_cores == usual.n_cores && options.slowdown == usual.slowdown &&
                        options.profile == usual.profile && options.seed == usual.seed &&
                        options.n_nodes == usual.n_nodes && options.tick_ms == usual.tick_ms &&
                        options.epoch == usual.epoch && options.changes.empty();
  for (Statement& statement : statements) {
    if (!is_usual) statement.why.clear();
  }
  return statements;
}

}  // namespace

void AsytickCommand::add_to(CLI::App& reproduce) {
  parser_ = reproduce.add_subcommand("asytick", "[AsyTick 5], figures 4 to 14");
  parser_->fallthrough();
  const auto add = [&](const char* name, auto& target, const char* help) {
    return parser_->add_option(name, target, help)->type_name("");
  };
  parser_->add_flag("--quick", quick_, "Tiny; shows that it works, judges nothing");
  add("--report", report_, "Write an HTML report");
  add("--nodes", n_nodes_, "Nodes; default: 16")->check(CLI::Range(2U, 1024U).description(""));
  add("--cores", n_cores_, "Workers of each node, of one core; default: 4 (the paper: 16)")
      ->check(CLI::Range(1U, 64U).description(""));
  add("--slowdown", slowdown_, "Of one worker at each tick, not of n-body; default: 4")
      ->check(CLI::Range(1.0, 1000.0).description(""));
  add("--tick-ms", tick_ms_, "Virtual time of a tick whose work is shared evenly; default: 140")
      ->check(CLI::Range(0.01, 1e5).description(""));
  add("--epoch", epoch_, "Ticks from one balancing to the next; default: 16")
      ->check(CLI::Range(1, 1000).description(""));
  add("--profile", profile_, "Latency; default: const, base=50, and 2000 Mbit/s a node");
  add("--seed", seed_, "Of the benchmarks, the network and who is slow");
  add("--only", only_, "One benchmark: fish, pagerank, nbody or jacobi; judges nothing")
      ->check(CLI::IsMember({"fish", "pagerank", "nbody", "jacobi"}).description(""));
  add("--set", changes_, "MODEL.PARAMETER=VALUE, of a benchmark; may be given several times");
}

bool AsytickCommand::chosen() const {
  return parser_ != nullptr && parser_->parsed();
}

AsytickOptions AsytickCommand::options() const {
  AsytickOptions options = quick_ ? AsytickOptions::quick() : AsytickOptions{};
  if (n_nodes_ > 0) options.n_nodes = n_nodes_;
  if (n_cores_ > 0) options.n_cores = n_cores_;
  if (tick_ms_ > 0) options.tick_ms = tick_ms_;
  if (epoch_ > 0) options.epoch = epoch_;
  if (slowdown_ > 0) options.slowdown = slowdown_;
  if (!profile_.empty()) options.profile = profile_;
  options.seed = seed_;
  options.only = only_;
  for (const std::string& text : changes_)
    options.changes.push_back(AsytickChange::parse(text));
  (void)net::parse_profile(options.network(), "--profile");
  return options;
}

ExitCode AsytickCommand::run(const Identity& identity, const Context& context) const {
  const AsytickOptions chosen = options();
  context.err << conditions(chosen) << '\n';
  const AsytickRuns runs = run_asytick(identity, chosen, context.err);
  const std::vector<AsytickFigure> figures = asytick_figures(runs, chosen);
  const std::vector<Statement> statements = statements_of(chosen, runs);
  context.out << (context.json ? json_of(chosen, runs, figures, statements)
                               : text_of(figures) + statements_text(statements));
  if (statements.empty())
    context.err << (quick_ ? "--quick shows that it works, and judges nothing\n"
                           : "one benchmark alone: nothing is judged\n");
  if (!report_.empty()) {
    write_report(report_, chosen, figures, statements);
    context.err << "report   " << report_ << '\n';
  }
  if (!runs.equal) throw Error("systems ended with different bits", ExitCode::failed);
  return ExitCode::ok;
}

}  // namespace rubato::tools

#include "rubato/tools/reproduce/grappa_command.hpp"

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

constexpr const char* kTitle = "Latency-tolerant software distributed shared memory, here";

std::string conditions(const GrappaOptions& options) {
  return fmt::format(
      "simulated: up to {} nodes of one core, {} increments a node, network \"{}\"; measured: {}",
      options.n_nodes, options.n_updates, options.profile,
      options.measures ? "this machine" : "nothing");
}

std::string text_of(const std::vector<GrappaFigure>& figures) {
  const io::TableStyle style = io::style_of_terminal(STDOUT_FILENO);
  std::string text;
  for (const GrappaFigure& figure : figures) {
    text += fmt::format("{}  {}\n{}", figure.place, figure.title, figure.table.to_text(style));
    text += figure.note.empty() ? "\n" : "(" + figure.note + ")\n\n";
  }
  return text;
}

std::string json_of(const GrappaOptions& options, const std::vector<GrappaFigure>& figures,
                    const std::vector<Statement>& statements) {
  io::JsonWriter json;
  json.begin_object()
      .field("paper", "grappa")
      .field("commit", commit())
      .field("n_nodes", options.n_nodes)
      .field("n_updates", options.n_updates)
      .field("n_single", options.n_single)
      .field("batch", options.batch)
      .field("deadline_us", static_cast<double>(options.deadline) / kMicrosecond)
      .field("profile", options.profile)
      .field("seed", options.seed)
      .field("measures", options.measures);
  json.key("figures").begin_array();
  for (const GrappaFigure& figure : figures) {
    json.begin_object()
        .field("place", figure.place)
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

void write_report(const std::string& path, const GrappaOptions& options,
                  const std::vector<GrappaFigure>& figures,
                  const std::vector<Statement>& statements) {
  io::HtmlReport report(kTitle);
  report.paragraph(conditions(options) + ".");
  if (!statements.empty()) report.heading("What the paper says").table(statement_table(statements));
  for (const GrappaFigure& figure : figures) {
    report.heading(figure.place + ": " + figure.title);
    for (const io::LineChart& chart : figure.charts)
      report.chart(chart);
    report.table(figure.table);
    if (!figure.note.empty()) report.paragraph(figure.note + ".");
  }
  report.write(path);
}

// Reasons were measured with the default options.
std::vector<Statement> statements_of(const GrappaOptions& options, const GrappaRuns& runs) {
  std::vector<Statement> statements = judge_grappa(runs);
  const GrappaOptions usual;
  const bool is_usual = options.n_nodes == usual.n_nodes && options.profile == usual.profile &&
                        options.seed == usual.seed && options.deadline == usual.deadline;
  for (Statement& statement : statements) {
    if (!is_usual) statement.why.clear();
  }
  return statements;
}

}  // namespace

void GrappaCommand::add_to(CLI::App& reproduce) {
  parser_ = reproduce.add_subcommand("grappa", "[Grappa 3.2, 3.3.1, 4.1], figures 6 to 8");
  parser_->fallthrough();
  const auto add = [&](const char* name, auto& target, const char* help) {
    return parser_->add_option(name, target, help)->type_name("");
  };
  parser_->add_flag("--quick", quick_, "Tiny, in the simulator alone; judges nothing");
  add("--report", report_, "Write an HTML report with charts");
  add("--nodes", n_nodes_, "The most that are simulated; default: 64 (the paper: 128)")
      ->check(CLI::Range(2U, 1024U).description(""));
  add("--profile", profile_, "Latency; default: const, base=50, rate=2000");
  add("--deadline-us", deadline_us_, "When buffers leave that are not full; default: 100")
      ->check(CLI::Range(0.001, 1e6).description(""));
  add("--seed", seed_, "Of the network, and of which words are incremented");
}

bool GrappaCommand::chosen() const {
  return parser_ != nullptr && parser_->parsed();
}

GrappaOptions GrappaCommand::options() const {
  GrappaOptions options = quick_ ? GrappaOptions::quick() : GrappaOptions{};
  if (n_nodes_ > 0) options.n_nodes = n_nodes_;
  if (!profile_.empty()) options.profile = profile_;
  if (deadline_us_ > 0) options.deadline = static_cast<Nanos>(deadline_us_ * kMicrosecond);
  options.seed = seed_;
  (void)net::parse_profile(options.profile, "--profile");
  return options;
}

ExitCode GrappaCommand::run(const Context& context) const {
  const GrappaOptions chosen = options();
  context.err << conditions(chosen) << '\n';
  const GrappaRuns runs = run_grappa(chosen, context.err);
  const std::vector<GrappaFigure> figures = grappa_figures(runs, chosen);
  const std::vector<Statement> statements =
      quick_ ? std::vector<Statement>{} : statements_of(chosen, runs);
  context.out << (context.json ? json_of(chosen, figures, statements)
                               : text_of(figures) + statements_text(statements));
  if (quick_) context.err << "--quick shows that it works, and judges nothing\n";
  if (!report_.empty()) {
    write_report(report_, chosen, figures, statements);
    context.err << "report   " << report_ << '\n';
  }
  return ExitCode::ok;
}

}  // namespace rubato::tools

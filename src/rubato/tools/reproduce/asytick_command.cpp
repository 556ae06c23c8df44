#include "rubato/tools/reproduce/asytick_command.hpp"

#include <algorithm>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/io/output_file.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tools/reproduce/paper_report.hpp"

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

void put_options(io::JsonWriter& json, const AsytickOptions& options, const AsytickRuns& runs) {
  json.field("n_nodes", options.n_nodes)
      .field("n_cores", options.n_cores)
      .field("ticks", options.ticks)
      .field("warm_up", options.warm_up)
      .field("epoch", options.epoch)
      .field("tick_ms", options.tick_ms)
      .field("slowdown", options.slowdown)
      .field("profile", options.network())
      .field("seed", options.seed)
      .field("equal", runs.equal);
}

std::vector<PaperFigure> paper_figures(const AsytickRuns& runs, const AsytickOptions& options) {
  std::vector<PaperFigure> figures;
  for (AsytickFigure& figure : asytick_figures(runs, options)) {
    figures.push_back({fmt::format("Figure {}", figure.number),
                       std::move(figure.title),
                       std::move(figure.table),
                       std::move(figure.note),
                       {},
                       figure.number});
  }
  return figures;
}

// What is said of the paper, if anything may be: of smaller benchmarks it says nothing, and the
// reasons were measured with the default options.
std::vector<Statement> statements_of(const AsytickOptions& options, const AsytickRuns& runs) {
  const AsytickOptions usual;
  if (options.size != usual.size) return {};
  std::vector<Statement> statements = judge_asytick(runs);
  const bool is_usual = options.n_cores == usual.n_cores && options.slowdown == usual.slowdown &&
                        options.profile == usual.profile && options.seed == usual.seed &&
                        options.n_nodes == usual.n_nodes && options.tick_ms == usual.tick_ms &&
                        options.epoch == usual.epoch && options.changes.empty() &&
                        options.costs.costs() == usual.costs.costs();
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
  add("--cores", n_cores_, "Workers of each node, of one core; default: 16")
      ->check(CLI::Range(1U, 64U).description(""));
  add("--slowdown", slowdown_, "Of one worker at each tick, not of n-body; default: 4")
      ->check(CLI::Range(1.0, 1000.0).description(""));
  add("--tick-ms", tick_ms_, "Virtual time of a tick whose work is shared evenly; default: 140")
      ->check(CLI::Range(0.01, 1e5).description(""));
  add("--epoch", epoch_, "Ticks from one balancing to the next; default: 16")
      ->check(CLI::Range(1, 1000).description(""));
  add("--profile", profile_, "Latency; default: const, base=50, and 2000 Mbit/s a node");
  add("--jobs", jobs_,
      "Runs at a time; default: as many as there are processors, and 3.5 GiB for each")
      ->check(CLI::Range(1U, 1024U).description(""));
  add("--seed", seed_, "Of the benchmarks, the network and who is slow");
  add("--only", only_, "One benchmark, and what is said of it: fish, pagerank, nbody or jacobi")
      ->check(CLI::IsMember({"fish", "pagerank", "nbody", "jacobi"}).description(""));
  CLI::Option* costs =
      add("--costs", costs_, "File of recorded costs; default: those that come with rubato");
  add("--record", record_, "Record the costs of the benchmarks on this machine, into that file")
      ->excludes(costs);
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
  options.jobs = jobs_;
  for (const std::string& text : changes_)
    options.changes.push_back(AsytickChange::parse(text));
  if (!costs_.empty()) options.costs = CostTable::read(costs_);
  (void)net::parse_profile(options.network(), "--profile");
  return options;
}

// Runs nothing else.
void AsytickCommand::record(const Identity& identity, const Context& context) const {
  io::OutputFile file(record_);
  file.write(heading_of_costs());
  for (const std::string_view name : kAsytickModels) {
    context.err << name << ": recording\n";
    const auto make = std::ranges::find_if(
        identity.models, [&](const tick::AppMaker& each) { return each()->name() == name; });
    if (make == identity.models.end())
      throw Error("no model " + std::string(name) + " to record", ExitCode::failed);
    file.write(text_of(record_costs(*make, asytick_samples(name))));
  }
  file.commit();
  context.err << "costs    " << record_ << '\n';
}

ExitCode AsytickCommand::run(const Identity& identity, const Context& context) const {
  if (!record_.empty()) {
    record(identity, context);
    return ExitCode::ok;
  }
  const AsytickOptions chosen = options();
  context.err << conditions(chosen) << '\n';
  const AsytickRuns runs = run_asytick(identity, chosen, context.err);
  const PaperReport report{"asytick", kTitle, conditions(chosen), paper_figures(runs, chosen),
                           statements_of(chosen, runs)};
  const auto put = [&](io::JsonWriter& json) { put_options(json, chosen, runs); };
  context.out << (context.json ? report_json(report, put) : report_text(report));
  if (report.statements.empty()) context.err << "--quick shows that it works, and judges nothing\n";
  if (!report_.empty()) {
    write_html_report(report_, report);
    context.err << "report   " << report_ << '\n';
  }
  if (!runs.equal) throw Error("systems ended with different bits", ExitCode::failed);
  return ExitCode::ok;
}

}  // namespace rubato::tools

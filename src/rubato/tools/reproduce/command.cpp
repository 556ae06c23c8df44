// rubato reproduce PAPER: the paper's figures here, and what of its statements holds.

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "rubato/io/html_report.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tools/build_info.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/reproduce/asytick_command.hpp"
#include "rubato/tools/reproduce/figures.hpp"
#include "rubato/tools/reproduce/grappa_command.hpp"
#include "rubato/tools/reproduce/statement_text.hpp"
#include "rubato/tools/reproduce/turbine_command.hpp"

namespace rubato::tools {
namespace {

struct CommandOptions {
  bool quick = false;
  std::string report;
  std::uint32_t n_rounds = 0;
  tick::Tick ticks = 0;
  double tick_ms = 0;
  std::uint32_t n_hosts = 0;
  std::string profile;
  std::uint64_t seed = 1;
};

ReproduceOptions reproduce_options(const CommandOptions& given) {
  ReproduceOptions options = given.quick ? ReproduceOptions::quick() : ReproduceOptions{};
  if (given.n_rounds > 0) options.n_rounds = given.n_rounds;
  if (given.ticks > 0) options.ticks = given.ticks;
  if (given.tick_ms > 0) options.tick_ms = given.tick_ms;
  if (given.n_hosts > 0) options.n_hosts = given.n_hosts;
  if (!given.profile.empty()) options.profile = given.profile;
  options.seed = given.seed;
  (void)net::parse_profile(options.profile, "--profile");
  return options;
}

std::string conditions(const ReproduceOptions& options) {
  return fmt::format(
      "{} virtual hosts, {} ms of virtual time a tick, {} rounds of {} ticks, network \"{}\"",
      options.n_hosts, options.tick_ms, options.n_rounds, options.ticks, options.profile);
}

void print_text(const Reproduction& r, const Context& context) {
  const io::TableStyle style = io::style_of_terminal(STDOUT_FILENO);
  for (const Figure& figure : r.figures) {
    context.out << fmt::format("Figure {}  {}\n{}\n", figure.number, figure.title,
                               figure.table().to_text(style));
  }
  context.out << statements_text(r.statements);
}

void print_json(const Reproduction& r, const ReproduceOptions& options, const Context& context) {
  io::JsonWriter json;
  json.begin_object()
      .field("paper", "ticks")
      .field("commit", commit())
      .field("n_hosts", options.n_hosts)
      .field("rounds", options.n_rounds)
      .field("ticks", options.ticks)
      .field("tick_ms", options.tick_ms)
      .field("profile", options.profile)
      .field("seed", options.seed)
      .field("equal", r.equal);
  json.key("figures").begin_array();
  for (const Figure& figure : r.figures) {
    json.begin_object()
        .field("number", figure.number)
        .field("title", figure.title)
        .field("unit", figure.unit);
    json.key("points");
    figure.table().to_json(json);
    json.end_object();
  }
  json.end_array().key("statements");
  put_statements(json, r.statements);
  json.end_object();
  context.out << json.text() << '\n';
}

void write_report(const std::string& path, const Reproduction& r, const ReproduceOptions& options) {
  io::HtmlReport report("Making time-stepped applications tick in the cloud, here");
  report.paragraph(conditions(options) + ".");
  if (!r.statements.empty())
    report.heading("What the paper says").table(statement_table(r.statements));
  for (const Figure& figure : r.figures) {
    report.heading(fmt::format("Figure {}: {}", figure.number, figure.title));
    io::BarChart chart{.title = figure.title, .unit = figure.unit};
    for (const FigurePoint& point : figure.points)
      chart.bars.push_back({point.label, point.throughput, false});
    report.chart(chart).table(figure.table());
  }
  report.write(path);
}

ExitCode run(const CommandOptions& given, const Identity& identity, const Context& context) {
  const ReproduceOptions options = reproduce_options(given);
  context.err << conditions(options) << '\n';
  const Reproduction r = reproduce_ticks(identity, options, context.err);
  context.json ? print_json(r, options, context) : print_text(r, context);
  if (r.statements.empty()) context.err << "--quick shows that it works, and judges nothing\n";
  if (!given.report.empty()) {
    write_report(given.report, r, options);
    context.err << "report   " << given.report << '\n';
  }
  if (!r.equal) throw Error("policies ended with different bits", ExitCode::failed);
  return ExitCode::ok;
}

}  // namespace

void add_reproduce(CommandLine& line) {
  // A program with a model of its own has none of the paper's.
  if (line.identity().single_model) return;
  auto options = std::make_shared<CommandOptions>();
  auto asytick = std::make_shared<AsytickCommand>();
  auto grappa = std::make_shared<GrappaCommand>();
  auto turbine = std::make_shared<TurbineCommand>();
  CLI::App& parser =
      line.add({.name = "reproduce",
                .group = kMeasureGroup,
                .summary = "A paper's figures from the simulator, and what holds of its statements",
                .examples = "  rubato reproduce ticks --report ticks.html\n"
                            "  rubato reproduce ticks --rounds 20 --ticks 500\n"
                            "  rubato reproduce ticks --quick --json\n"
                            "  rubato reproduce asytick\n"
                            "  rubato reproduce asytick --only fish --set fish.neighbours=90\n"
                            "  rubato reproduce grappa --report grappa.html\n"
                            "  rubato reproduce turbine",
                .run =
                    [options, asytick, grappa, turbine, &line](const Context& context) {
                      if (grappa->chosen()) return grappa->run(context);
                      if (turbine->chosen()) return turbine->run(context);
                      if (asytick->chosen()) return asytick->run(line.identity(), context);
                      return run(*options, line.identity(), context);
                    },
                .choice = "paper"});
  CLI::App* ticks = parser.add_subcommand("ticks", "[Ticks 6.3], figures 6 to 13");
  ticks->fallthrough();
  asytick->add_to(parser);
  grappa->add_to(parser);
  turbine->add_to(parser);
  parser.require_subcommand(1);
  const auto add = [&](const char* name, auto& target, const char* help) {
    return ticks->add_option(name, target, help)->type_name("");
  };
  ticks->add_flag("--quick", options->quick, "Tiny; shows that it works, judges nothing");
  add("--report", options->report, "Write an HTML report with charts");
  add("--hosts", options->n_hosts, "Virtual hosts; default: 50, as in the paper")
      ->check(CLI::Range(4U, 10'000U).description(""));
  add("--rounds", options->n_rounds, "Interleaved rounds; default: 3 (the paper: 20)");
  add("--ticks", options->ticks, "Ticks of a run; default: 300 (the paper: 500)");
  add("--tick-ms", options->tick_ms, "Virtual time of a host's tick; default: 2.5");
  add("--profile", options->profile, "Latency; default: ec2-large, rate=1000");
  add("--seed", options->seed, "Of round 1");
}

}  // namespace rubato::tools

#include "rubato/tools/reproduce/grappa_command.hpp"

#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rubato/net/profile.hpp"

namespace rubato::tools {
namespace {

constexpr const char* kTitle = "Latency-tolerant software distributed shared memory, here";

std::string conditions(const GrappaOptions& options) {
  return fmt::format(
      "simulated: up to {} nodes of one core, {} increments a node, network \"{}\"; measured: {}",
      options.n_nodes, options.n_updates, options.profile,
      options.measures ? "this machine" : "nothing");
}

void put_options(io::JsonWriter& json, const GrappaOptions& options) {
  json.field("n_nodes", options.n_nodes)
      .field("n_updates", options.n_updates)
      .field("n_single", options.n_single)
      .field("batch", options.batch)
      .field("deadline_us", static_cast<double>(options.deadline) / kMicrosecond)
      .field("profile", options.profile)
      .field("seed", options.seed)
      .field("measures", options.measures);
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
  const PaperReport report{"grappa", kTitle, conditions(chosen), grappa_figures(runs, chosen),
                           quick_ ? std::vector<Statement>{} : judge_grappa(runs)};
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

// rubato doctor: what this machine offers to a job, and what to do about the rest.

#include "rubato/tools/doctor/doctor.hpp"

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rubato/tools/build_info.hpp"
#include "rubato/tools/commands.hpp"
#include "rubato/tools/doctor/probe.hpp"

namespace rubato::tools {
namespace {

void print_table(const std::vector<Finding>& findings, const Context& context) {
  constexpr const char* kColors[] = {"\033[32m", "\033[33m", "\033[31m"};
  std::size_t width = 0;
  for (const Finding& finding : findings)
    width = std::max(width, finding.name.size());
  for (const Finding& finding : findings) {
    const bool color = context.color_out;
    context.out << fmt::format("{:<{}}  {}{:<7}{}  {}\n", finding.name, width,
                               color ? kColors[static_cast<int>(finding.verdict)] : "",
                               to_string(finding.verdict), color ? "\033[0m" : "", finding.value);
    if (!finding.hint.empty()) {
      context.out << fmt::format("{:<{}}           -> {}\n", "", width, finding.hint);
    }
  }
}

void print_json(const std::vector<Finding>& findings, const Context& context) {
  nlohmann::ordered_json report = {{"version", version()}, {"commit", commit()}};
  for (const Finding& finding : findings) {
    nlohmann::ordered_json entry = {{"verdict", to_string(finding.verdict)},
                                    {"value", finding.value}};
    if (!finding.hint.empty()) entry["hint"] = finding.hint;
    report["findings"][finding.name] = std::move(entry);
  }
  // A path or a host name may hold bytes that are no text.
  using Json = nlohmann::ordered_json;
  context.out << report.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

void add_doctor(CommandLine& line) {
  struct Options {
    bool latency = false;
    LatencyOptions of_latency;
  };
  auto options = std::make_shared<Options>();
  CLI::App& app = line.add(
      {.name = "doctor",
       .group = kClusterGroup,
       .summary =
           "What this machine offers: MPI, cores, memory, permissions; how late its network is",
       .examples = "  rubato doctor\n"
                   "  rubato doctor --json\n"
                   "  rubato launch -n 4 -- rubato doctor --latency\n"
                   "  rubato run heat --simulate 16 --profile measured.profile",
       .run = [options](const Context& context) {
         if (options->latency) return measure_latency(options->of_latency, context);
         const std::vector<Finding> findings = probe_machine();
         context.json ? print_json(findings, context) : print_table(findings, context);
         return ExitCode::ok;
       }});
  app.add_flag("--latency", options->latency,
               "Measure round trips between the nodes of this job and write their profile");
  app.add_option("--bytes", options->of_latency.n_bytes, "Bytes of a message")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
  app.add_option("--samples", options->of_latency.n_samples, "Round trips with each node")
      ->capture_default_str()
      ->check(CLI::Range(10U, 10'000'000U));
  app.add_option("--output", options->of_latency.profile_path, "Where the profile goes")
      ->capture_default_str();
}

}  // namespace rubato::tools

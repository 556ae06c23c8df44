// rubato doctor: what this machine offers to a job, and what to do about the rest.

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
  context.out << report.dump() << '\n';
}

}  // namespace

void add_doctor(CommandLine& line) {
  line.add({.name = "doctor",
            .group = kClusterGroup,
            .summary = "What this machine offers: MPI, cores, memory, permissions",
            .examples = "  rubato doctor\n  rubato doctor --json",
            .run = [](const Context& context) {
              const std::vector<Finding> findings = probe_machine();
              context.json ? print_json(findings, context) : print_table(findings, context);
              return ExitCode::ok;
            }});
}

}  // namespace rubato::tools

#include "rubato/tools/flow/dry_run.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "rubato/io/json.hpp"

namespace rubato::tools {
namespace {

std::string many(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void say_as_text(const flow::ScriptPlan& plan, std::ostream& out) {
  std::uint64_t n_programs = 0;
  std::uint64_t n_leaves = 0;
  std::uint64_t n_unknown = 0;
  for (const flow::PlannedCalls& calls : plan.calls) {
    (calls.is_app ? n_programs : n_leaves) += calls.n;
    out << fmt::format("{} {}, {}\n", calls.is_app ? "app" : "leaf", calls.name,
                       many(calls.n, "time"));
    for (std::size_t i = 0; i < std::min(calls.lines.size(), kLinesShown); ++i)
      out << "  " << calls.lines[i] << '\n';
    if (calls.n > kLinesShown) out << "  .. and " << calls.n - kLinesShown << " more\n";
  }
  for (const flow::UnknownStatement& statement : plan.unknown) {
    n_unknown += statement.n;
    out << fmt::format("{} depends on results of {}", statement.text, statement.needs);
    out << (statement.n > 1 ? fmt::format(", {} times\n", statement.n) : "\n");
  }
  for (const std::string& missing : plan.missing)
    out << "not there now: " << missing << '\n';
  out << many(n_programs, "program") << " and "
      << fmt::format("{} {}", n_leaves, n_leaves == 1 ? "leaf" : "leaves") << " would run";
  if (n_unknown > 0) {
    out << ", and what " << many(n_unknown, "statement") << " decide" << (n_unknown == 1 ? "s" : "")
        << " by results";
  }
  out << '\n';
}

void say_as_json(const flow::ScriptPlan& plan, const std::string& script, std::ostream& out) {
  io::JsonWriter json;
  json.begin_object().field("script", script).key("calls").begin_array();
  for (const flow::PlannedCalls& calls : plan.calls) {
    json.begin_object().field("name", calls.name).field("is_app", calls.is_app);
    json.field("number", calls.n).key("lines").begin_array();
    for (const std::string& line : calls.lines)
      json.value(line);
    json.end_array().end_object();
  }
  json.end_array().key("unknown").begin_array();
  for (const flow::UnknownStatement& statement : plan.unknown) {
    json.begin_object().field("statement", statement.text).field("needs", statement.needs);
    json.field("number", statement.n).end_object();
  }
  json.end_array().key("missing").begin_array();
  for (const std::string& missing : plan.missing)
    json.value(missing);
  json.end_array().key("failures").begin_array();
  for (const std::string& failure : plan.result.failures)
    json.value(failure);
  json.end_array().key("waiting").begin_array();
  for (const std::string& waiting : plan.result.waiting)
    json.value(waiting);
  json.end_array().end_object();
  out << json.text() << '\n';
}

}  // namespace

ExitCode say_plan(const flow::ScriptPlan& plan, const std::string& script, const Context& context) {
  if (context.json) {
    say_as_json(plan, script, context.out);
  } else {
    say_as_text(plan, context.out);
  }
  const std::string text = plan.result.text();
  if (!text.empty()) context.err << script << ": " << text << '\n';
  if (plan.result.n_failures > 0) return ExitCode::some_tasks_failed;
  return plan.result.waiting.empty() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace rubato::tools

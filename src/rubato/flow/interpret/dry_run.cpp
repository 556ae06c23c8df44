#include "rubato/flow/interpret/dry_run.hpp"

#include <algorithm>

#include "rubato/base/shell.hpp"
#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/builtin_calls.hpp"
#include "rubato/flow/interpret/file_names.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

// Around the name in the text of a failure; no text of a script's own begins so.
constexpr std::string_view kBefore = "\x01unknown:";
constexpr char kBehind = '\x02';

bool is_container(const tic::Type& type) {
  return type.is(tic::Kind::container) || type.is(tic::Kind::structure);
}

// `f`, or "?" if it needs what is unknown.
template <class F>
std::string text_or_unknown(const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (unknown_in(error.what()).empty()) throw;
    return "?";
  }
}

}  // namespace

void DryRun::note_call(const std::string& name, bool is_app, std::string line) {
  const std::lock_guard lock(mutex_);
  PlannedCalls& calls = calls_[name];
  calls.name = name;
  calls.is_app = is_app;
  ++calls.n;
  // The smallest, whatever the order in which they came.
  const auto at = std::ranges::upper_bound(calls.lines, line);
  calls.lines.insert(at, std::move(line));
  if (calls.lines.size() > PlannedCalls::kLinesKept) calls.lines.pop_back();
}

void DryRun::note_file(const std::string& file, const std::string& app) {
  const std::lock_guard lock(mutex_);
  files_.try_emplace(file, app);
}

std::string DryRun::writer_of(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(file);
  return found == files_.end() ? "" : found->second;
}

void DryRun::note_unknown(std::string text, std::string needs) {
  const std::lock_guard lock(mutex_);
  ++unknown_[{std::move(text), std::move(needs)}];
}

void DryRun::note_missing(std::string text) {
  const std::lock_guard lock(mutex_);
  missing_.insert(std::move(text));
}

ScriptPlan DryRun::take_plan() {
  const std::lock_guard lock(mutex_);
  ScriptPlan plan;
  for (auto& [name, calls] : calls_)
    plan.calls.push_back(std::move(calls));
  for (const auto& [statement, n] : unknown_)
    plan.unknown.push_back({statement.first, statement.second, n});
  plan.missing.assign(missing_.begin(), missing_.end());
  calls_.clear();
  unknown_.clear();
  missing_.clear();
  return plan;
}

ScriptPlan plan_script(const std::string& text, const std::string& file_name,
                       ScriptArguments arguments, RunOptions options) {
  DryRun dry;
  arguments.dry_run = &dry;
  options.journal = {};
  FlowResult result = run_script(text, file_name, arguments, options);
  ScriptPlan plan = dry.take_plan();
  plan.result = std::move(result);
  return plan;
}

Value unknown_value(const std::string& name) {
  return Value::failed(std::string(kBefore) + name + kBehind);
}

bool is_unknown(const Value& value) {
  return value.is_failed() && !unknown_in(value.as_text()).empty();
}

std::string unknown_in(const std::string& failure) {
  const std::size_t at = failure.find(kBefore);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kBefore.size();
  return failure.substr(begin, failure.find(kBehind, begin) - begin);
}

// --- the interpreter's part

// An input of a call. In a dry run, as far as it is known: an unknown one is a failed value, which
// whoever needs it meets.
Value Interpreter::input_of(const Expr& e, const tic::Type& type, Environment& environment) const {
  if (!is_dry()) return value_of(e, type, environment);
  try {
    return value_of(e, type, environment);
  } catch (const Error& error) {
    const std::string name = unknown_in(error.what());
    if (name.empty()) throw;
    return unknown_value(name);
  }
}

namespace {

// The command of an app, in whose frame its inputs are.
class PlannedCommand {
 public:
  PlannedCommand(const Compiled& compiled, const tic::Callable& callable, Environment& frame)
      : compiled_(compiled), callable_(callable), frame_(frame) {}

  std::string line() {
    const tic::Command& command = callable_.command;
    for (const Expr& word : command.words) {
      if (word.type.is(tic::Kind::container)) {
        add(text_or_unknown([&] { return members(word); }));
      } else {
        add(text(word));
      }
    }
    if (command.standard_input) add("< " + text(*command.standard_input));
    if (command.standard_output && !is_captured(*command.standard_output))
      add("> " + text(*command.standard_output));
    if (command.standard_error && !is_captured(*command.standard_error))
      add("2> " + text(*command.standard_error));
    return std::move(line_);
  }

 private:
  void add(const std::string& word) { line_ += (line_.empty() || word.empty() ? "" : " ") + word; }
  std::string text(const Expr& e) {
    return text_or_unknown([&] {
      const auto* name = e.as<tic::NameRef>();
      const Value file_name = name != nullptr ? frame_.slot(name->variable).name : Value();
      if (file_name.is_failed()) throw Error(file_name.as_text());
      return shell_word(file_name.kind() != Kind::none ? file_name.as_text()
                                                       : text_of(evaluate(e, compiled_, frame_)));
    });
  }
  std::string members(const Expr& e) {
    std::string words;
    for (const auto& [key, value] : evaluate_members(e, compiled_, frame_))
      words += (words.empty() ? "" : " ") + shell_word(text_of(value));
    return words;
  }
  // An output that is text, and no file.
  bool is_captured(const Expr& e) {
    const auto* name = e.as<tic::NameRef>();
    return name != nullptr && name->variable >= static_cast<int>(callable_.inputs.size()) &&
           frame_.slot(name->variable).name.kind() == Kind::none;
  }

  const Compiled& compiled_;
  const tic::Callable& callable_;
  Environment& frame_;
  std::string line_;
};

}  // namespace

// Inputs that nothing here would write, and that are not there.
void Interpreter::plan_inputs(const tic::Rule& rule, Environment& environment) const {
  DryRun& dry = *compiled_.arguments().dry_run;
  std::vector<std::string> files;
  static_cast<void>(text_or_unknown([&] {
    files = files_of(rule, environment);
    return "";
  }));
  for (const std::string& file : files) {
    if (!dry.writer_of(file).empty()) continue;
    const std::string problem = problem_of_input(flow_, file);
    if (!problem.empty()) dry.note_missing(printable(file) + ": " + problem);
  }
}

void Interpreter::plan_app(const tic::Rule& rule, const tic::RuleCall& /*call*/,
                           const tic::Callable& callable, Environment& frame,
                           Environment& environment) const {
  plan_inputs(rule, environment);
  std::string line = PlannedCommand(compiled_, callable, frame).line();
  compiled_.arguments().dry_run->note_call(callable.name, true, std::move(line));
  const auto file_name = [&](std::size_t i) {
    return frame.slot(static_cast<int>(callable.inputs.size() + i)).name;
  };
  plan_outputs(rule, callable, file_name, environment);
}

void Interpreter::plan_leaf(const tic::Rule& rule, const tic::RuleCall& call,
                            const tic::Callable& callable, Environment& environment) const {
  plan_inputs(rule, environment);
  std::string line = callable.name + "(";
  const std::vector<const Expr*> inputs = inputs_of(call);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    line += i > 0 ? ", " : "";
    line += text_or_unknown([&] {
      if (is_container(callable.inputs[i].type)) return members_text(*inputs[i], environment);
      return text_of(value_of(*inputs[i], callable.inputs[i].type, environment));
    });
  }
  compiled_.arguments().dry_run->note_call(callable.name, false, line + ")");
  const auto file_name = [&](std::size_t i) { return output_name(rule.outputs[i], environment); };
  plan_outputs(rule, callable, file_name, environment);
}

void Interpreter::plan_outputs(const tic::Rule& rule, const tic::Callable& callable,
                               const std::function<Value(std::size_t)>& file_name,
                               Environment& environment) const {
  for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
    const tic::Type& type = callable.outputs[i].type;
    Value value = unknown_value(callable.name);
    if (type.is(tic::Kind::void_type)) value = Value::done();
    if (type.is(tic::Kind::file)) {
      Value name = file_name(i);
      if (name.is_failed()) {
        value = std::move(name);
      } else if (name.kind() != Kind::none) {
        compiled_.arguments().dry_run->note_file(name.as_text(), callable.name);
        value = std::move(name);
      }
    }
    submit_put(flow_, write_argument(rule.outputs[i], environment),
               {Arg::Mode::value, {}, std::move(value), nullptr}, place(rule.outputs[i]));
  }
}

}  // namespace rubato::flow

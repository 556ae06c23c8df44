// Programs of a script: `app` [Turbine 5.2, external application functions].

#include <algorithm>

#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/builtin_calls.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/program/program_task.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

// A call of an app: the frame in which its words are evaluated, and its words so far.
class AppCall {
 public:
  AppCall(const Compiled& compiled, const tic::Callable& callable, Environment& frame,
          ProgramTaskOptions options, SourcePlace at)
      : compiled_(compiled), callable_(callable), frame_(frame), task_(std::move(options), at) {}

  // What is asked for as standard output, if it is a string: its output's number.
  [[nodiscard]] static int text_output(const tic::Callable& callable) {
    const auto& out = callable.command.standard_output;
    const auto* name = out ? out->as<tic::NameRef>() : nullptr;
    if (name == nullptr) return -1;
    const int output = name->variable - static_cast<int>(callable.inputs.size());
    if (output < 0) return -1;
    const tic::Type& type = callable.outputs[static_cast<std::size_t>(output)].type;
    return type.is(tic::Kind::string) ? output : -1;
  }

  StartedProgram start() {
    for (const Expr& word : callable_.command.words)
      add_word(word);
    const tic::Command& command = callable_.command;
    if (command.standard_input) task_.add(stdin_from(FileName{text(*command.standard_input)}));
    if (command.standard_output && text_output(callable_) < 0)
      task_.add(stdout_to(path(*command.standard_output)));
    if (command.standard_error) task_.add(stderr_to(path(*command.standard_error)));
    // A word may name a file as a part of it.
    for (std::size_t i = 0; i < callable_.inputs.size(); ++i) {
      const Value& name = frame_.slot(static_cast<int>(i)).name;
      if (name.kind() == Kind::file) task_.add(needs(FileName{name.as_text()}));
    }
    return task_.start();
  }

 private:
  [[nodiscard]] std::string text(const Expr& e) { return text_of(evaluate(e, compiled_, frame_)); }
  // The name of an output, or of any file.
  [[nodiscard]] std::string path(const Expr& e) {
    const auto* name = e.as<tic::NameRef>();
    if (name != nullptr && frame_.slot(name->variable).name.kind() != Kind::none)
      return frame_.slot(name->variable).name.as_text();
    return text(e);
  }
  void add_word(const Expr& word) {
    if (word.type.is(tic::Kind::container)) {
      for (const auto& [key, value] : evaluate_members(word, compiled_, frame_)) {
        if (value.kind() == Kind::file) {
          task_.add(FileName{value.as_text()});
        } else {
          task_.add(text_of(value));
        }
      }
      return;
    }
    add_text(word.type.is(tic::Kind::file) ? path(word) : text(word));
  }
  // Where a word names an output, the program gets the name that it is to write to.
  void add_text(const std::string& word) {
    for (std::size_t i = 0; i < callable_.outputs.size(); ++i) {
      const Value& name = frame_.slot(static_cast<int>(callable_.inputs.size() + i)).name;
      if (name.kind() == Kind::none) continue;
      const std::size_t at = word.find(name.as_text());
      if (at == std::string::npos) continue;
      const std::string before = word.substr(0, at);
      const std::string behind = word.substr(at + name.as_text().size());
      if (before.empty() && behind.empty()) {
        task_.add(output(name.as_text()));
      } else {
        task_.add(joined(before, output(name.as_text()), behind));
      }
      return;
    }
    task_.add(word);
  }

  const Compiled& compiled_;
  const tic::Callable& callable_;
  Environment& frame_;
  ProgramTask task_;
};

}  // namespace

void Interpreter::call_app(const tic::Rule& rule, const tic::RuleCall& call,
                           const tic::Callable& callable, Environment& environment) {
  Environment frame(flow_, callable.frame);
  const std::vector<const Expr*> inputs = inputs_of(call);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Slot& slot = frame.slot(static_cast<int>(i));
    Value value = input_of(*inputs[i], callable.inputs[i].type, environment);
    // The frame gives a container's reference back; here it is only shared.
    if (value.is_reference()) {
      Ref all = value.as_reference();
      slot.reader.ref = flow_.share(all, false);
      environment.known[inputs[i]] = Value::reference(all);
      value = Value::reference({all.id, 0});
    }
    if (value.kind() == Kind::file) slot.name = value;
    slot.value = std::move(value);
  }
  for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
    if (!callable.outputs[i].type.is(tic::Kind::file)) continue;
    Slot& slot = frame.slot(static_cast<int>(inputs.size() + i));
    slot.name = output_name(rule.outputs[i], environment);
    if (slot.name.kind() == Kind::none) {
      std::string temporary = compiled_.arguments().temporary_folder + "/" + callable.name + "-" +
                              flow_.new_file_name();
      for (const Value& key : keys_of(rule.outputs[i], environment))
        temporary += "-" + text_of(key);
      slot.name = Value::text(Kind::file, temporary);
    }
  }
  if (is_dry()) return plan_app(rule, call, callable, frame, environment);
  ProgramTaskOptions options = program_options(rule, callable, frame, environment);
  const int text_output = AppCall::text_output(callable);
  options.captures_stdout = text_output >= 0;
  const SourcePlace at{kScriptFile, call.place.line};
  StartedProgram started = AppCall(compiled_, callable, frame, options, at).start();
  for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
    Arg value{Arg::Mode::wait, {}, {}, nullptr};
    const tic::Type& type = callable.outputs[i].type;
    if (static_cast<int>(i) == text_output) {
      value.ref = started.text.take();
    } else if (type.is(tic::Kind::file)) {
      const Slot& slot = frame.slot(static_cast<int>(inputs.size() + i));
      value.ref = flow_.share(started.file(slot.name.as_text()).ref(), false);
    } else {
      value.ref = flow_.share(started.done.ref(), false);
    }
    submit_put(flow_, write_argument(rule.outputs[i], environment), std::move(value), place(call));
  }
}

// What the rule does not say, the app says.
ProgramTaskOptions Interpreter::program_options(const tic::Rule& rule,
                                                const tic::Callable& callable, Environment& frame,
                                                Environment& environment) const {
  ProgramTaskOptions options;
  options.timeout = timeout_of(rule.options, environment, callable.options, frame);
  options.retry.n_tries = n_tries(rule.options, environment, callable.options, frame);
  const RuleOptions where = merged_options(rule.options, environment, callable.options, frame);
  options.core = where.core;
  options.may_move = where.may_move;
  options.priority = where.priority;
  options.type = where.type;
  options.n_cores = where.n_cores;
  return options;
}

}  // namespace rubato::flow

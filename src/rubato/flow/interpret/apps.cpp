// Programs of a script: `app` [Turbine 5.2, external application functions].

#include <algorithm>

#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/args_in_hand.hpp"
#include "rubato/flow/interpret/builtin_calls.hpp"
#include "rubato/flow/interpret/file_names.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/program/program_task.hpp"
#include "rubato/flow/tic/builtins.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

// A word of a command: text with names of outputs in it. The program is given other names for them,
// so they are kept apart from the text, which may have the same bytes by chance.
struct Word {
  std::vector<std::string> texts = {""};  // before each output, and behind the last
  std::vector<std::string> outputs = {};

  void add(const std::string& text) { texts.back() += text; }
  void add_output(const std::string& name) {
    outputs.push_back(name);
    texts.emplace_back();
  }
  void add(const Word& word) {
    for (std::size_t i = 0; i < word.texts.size(); ++i) {
      if (i > 0) add_output(word.outputs[i - 1]);
      add(word.texts[i]);
    }
  }
};

// A call of an app: the frame in which its words are evaluated, and its words so far.
class AppCall {
 public:
  AppCall(const Compiled& compiled, const tic::Callable& callable, Environment& frame,
          ProgramTaskOptions options, SourcePlace at)
      : compiled_(compiled), callable_(callable), frame_(frame), task_(std::move(options), at) {}

  // What a stream sets, if it is a string: its output's number.
  [[nodiscard]] static int text_output(const tic::Callable& callable,
                                       const tic::Box<Expr>& stream) {
    const auto* name = stream ? stream->as<tic::NameRef>() : nullptr;
    if (name == nullptr) return -1;
    const int output = name->variable - static_cast<int>(callable.inputs.size());
    if (output < 0) return -1;
    const tic::Type& type = callable.outputs[static_cast<std::size_t>(output)].type;
    return type.is(tic::Kind::string) ? output : -1;
  }

  // `also` are files that it may read, though they are no inputs of the app; `leases` those of files
  // that it reads or writes.
  StartedProgram start(const std::vector<std::string>& also, std::vector<Arg> leases) {
    for (Arg& lease : leases)
      task_.hold(std::move(lease));
    for (const Expr& word : callable_.command.words)
      add_word(word);
    const tic::Command& command = callable_.command;
    if (command.standard_input) task_.add(stdin_from(FileName{text(*command.standard_input)}));
    const auto is_file = [&](const tic::Box<Expr>& stream) {
      return stream && text_output(callable_, stream) < 0;
    };
    if (is_file(command.standard_output)) task_.add(stdout_to(path(*command.standard_output)));
    if (is_file(command.standard_error)) task_.add(stderr_to(path(*command.standard_error)));
    // A word may name a file as a part of it.
    for (std::size_t i = 0; i < callable_.inputs.size(); ++i) {
      const Value& name = frame_.slot(static_cast<int>(i)).name;
      if (name.kind() == Kind::file) task_.add(needs(FileName{name.as_text()}));
    }
    for (const std::string& file : also) {
      if (!is_input(file)) task_.add(needs(FileName{file}));
    }
    return task_.start();
  }

 private:
  [[nodiscard]] bool is_input(const std::string& file) {
    for (std::size_t i = 0; i < callable_.inputs.size(); ++i) {
      const Value& name = frame_.slot(static_cast<int>(i)).name;
      if (name.kind() == Kind::file && name.as_text() == file) return true;
    }
    return false;
  }
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
    const Word parts = word_of(word);
    const bool is_output =
        parts.outputs.size() == 1 && parts.texts[0].empty() && parts.texts[1].empty();
    if (is_output) {
      task_.add(output(parts.outputs[0]));
      return;
    }
    task_.add(parts.texts[0]);
    for (std::size_t i = 0; i < parts.outputs.size(); ++i)
      task_.add_part(output(parts.outputs[i])).add_part(parts.texts[i + 1]);
  }
  // Outputs stay such where they are named as a whole: as a word, by filename(), in what is joined,
  // and in what takes the place of another text. Elsewhere their names are text.
  Word word_of(const Expr& e) {
    Word word;
    if (is_output(e)) {
      word.add_output(path(e));
      return word;
    }
    const auto* binary = e.as<tic::Binary>();
    if (binary != nullptr && binary->op == tic::BinaryOp::concatenate) {
      word = word_of(*binary->left);
      word.add(word_of(*binary->right));
      return word;
    }
    if (const auto* call = e.as<tic::CallExpr>()) {
      const tic::BuiltinId id = tic::builtins()[static_cast<std::size_t>(call->builtin)].id;
      const bool is_same = id == tic::BuiltinId::filename || id == tic::BuiltinId::to_string;
      if (is_same && is_text(call->arguments[0])) return word_of(call->arguments[0]);
      if (id == tic::BuiltinId::replace) return replaced(e, call->arguments);
    }
    word.add(e.type.is(tic::Kind::file) ? path(e) : text(e));
    return word;
  }
  Word replaced(const Expr& whole, const std::vector<Expr>& arguments) {
    Word word;
    const Word by = word_of(arguments[2]);
    const Word from = word_of(arguments[0]);
    const std::string part = text(arguments[1]);
    if (by.outputs.empty() || !from.outputs.empty() || part.empty()) {
      word.add(text(whole));
      return word;
    }
    const std::string& all = from.texts[0];
    std::size_t at = 0;
    for (std::size_t next = all.find(part); next != std::string::npos; next = all.find(part, at)) {
      word.add(all.substr(at, next - at));
      word.add(by);
      at = next + part.size();
    }
    word.add(all.substr(at));
    return word;
  }
  static bool is_text(const Expr& e) {
    return e.type.is(tic::Kind::file) || e.type.is(tic::Kind::string);
  }
  // A file that the program is to write.
  [[nodiscard]] bool is_output(const Expr& e) {
    const auto* name = e.as<tic::NameRef>();
    return name != nullptr && name->variable >= static_cast<int>(callable_.inputs.size()) &&
           frame_.slot(name->variable).name.kind() != Kind::none;
  }

  const Compiled& compiled_;
  const tic::Callable& callable_;
  Environment& frame_;
  ProgramTask task_;
};

}  // namespace

// Files that a rule waits for: its action may have them by their names.
std::vector<std::string> Interpreter::files_of(const tic::Rule& rule,
                                               Environment& environment) const {
  std::vector<std::string> files;
  for (const Expr& input : rule.inputs) {
    if (!input.type.is(tic::Kind::file)) continue;
    const Value file = value_of(input, input.type, environment);
    if (file.kind() == Kind::file) files.push_back(file.as_text());
  }
  return files;
}

// An app would say it in words of its own, or make something of nothing.
void Interpreter::check_files(const std::vector<std::string>& files) const {
  for (const std::string& file : files) {
    const std::string problem = problem_of_input(flow_, file);
    if (!problem.empty()) throw Error("its input " + printable(file) + ": " + problem);
  }
}

// Of the temporary files that the rule names.
void Interpreter::add_leases(const tic::Rule& rule, const tic::RuleCall& call,
                             Environment& environment, std::vector<Arg>& to) {
  const auto add = [&](const Expr& e) {
    const auto* name = e.as<tic::NameRef>();
    if (name == nullptr || !e.type.is(tic::Kind::file)) return;
    Slot& slot = environment.slot(name->variable);
    if (slot.lease.id) to.push_back(environment.pack_lease(slot));
  };
  for (const Expr& input : rule.inputs)
    add(input);
  for (const Expr* input : inputs_of(call))
    add(*input);
  for (const Expr& output : rule.outputs)
    add(output);
}

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
    slot.name = name_to_write(rule.outputs[i], callable, environment);
  }
  claim_names(rule, environment);
  if (is_dry()) return plan_app(rule, call, callable, frame, environment);
  const std::vector<std::string> files = files_of(rule, environment);
  check_files(files);
  ProgramTaskOptions options = program_options(rule, callable, frame, environment);
  const int text = AppCall::text_output(callable, callable.command.standard_output);
  const int errors = AppCall::text_output(callable, callable.command.standard_error);
  options.captures_stdout = text >= 0;
  options.text_has_errors = text >= 0 && text == errors;
  options.captures_stderr = errors >= 0 && text != errors;
  const SourcePlace at{script_file(), call.place.line, call.place.column};
  ArgsInHand leases(flow_);
  add_leases(rule, call, environment, leases.all);
  StartedProgram started =
      AppCall(compiled_, callable, frame, options, at).start(files, leases.take());
  for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
    Arg value{Arg::Mode::wait, {}, {}, nullptr};
    const tic::Type& type = callable.outputs[i].type;
    if (static_cast<int>(i) == text) {
      value.ref = started.text.take();
    } else if (static_cast<int>(i) == errors) {
      value.ref = started.errors.take();
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
  options.called = callable.name;
  options.timeout = timeout_of(rule.options, environment, callable.options, frame);
  options.retry.n_tries = n_tries(rule.options, environment, callable.options, frame);
  options.retry.elsewhere =
      rule.options.retries ? rule.options.elsewhere : callable.options.elsewhere;
  const RuleOptions where = merged_options(rule.options, environment, callable.options, frame);
  options.core = where.core;
  options.may_move = where.may_move;
  options.priority = where.priority;
  options.type = where.type;
  options.n_cores = where.n_cores;
  return options;
}

}  // namespace rubato::flow

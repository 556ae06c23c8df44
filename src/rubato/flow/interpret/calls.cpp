// Rules of a script: expressions, built-ins, functions, and leaves of C++.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "rubato/flow/in_time.hpp"
#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/args_in_hand.hpp"
#include "rubato/flow/interpret/builtin_calls.hpp"
#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/interpret/leaf_crash.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/leaf_runs.hpp"
#include "rubato/flow/node_turns.hpp"
#include "rubato/flow/program/retries.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

// For a leaf whose time was over, if it is to be tried again: as a program has from SIGTERM on.
constexpr Nanos kPatience = 2 * kSecond;

bool is_container(const tic::Type& type) {
  return type.is(tic::Kind::container) || type.is(tic::Kind::structure);
}

// What an option asks for, of those numbers that it may be.
std::int64_t within(const char* option, std::int64_t asked, std::int64_t least, std::int64_t most) {
  if (asked >= least && asked <= most) return asked;
  throw Error(std::string(option) + " " + std::to_string(asked) + ": expected " +
              std::to_string(least) + " to " + std::to_string(most));
}

constexpr std::int64_t kMostRetries = 1'000'000;

}  // namespace

void Interpreter::set_place(const tic::Options& options, Environment& environment,
                            RuleOptions& to) const {
  const std::int64_t asked = evaluate(*options.target, compiled_, environment).as_integer();
  const core::JobShape& shape = flow_.core().shape();
  const bool is_node = options.target_kind == tic::TargetKind::node;
  const std::int64_t n = is_node ? shape.n_nodes : static_cast<std::int64_t>(shape.n_cores_total());
  if (asked < 0 || asked >= n) {
    // A wish that cannot be is none.
    if (!options.only) return;
    throw Error("only on " + std::string(is_node ? "node " : "core ") + std::to_string(asked) +
                ": expected 0 to " + std::to_string(n - 1));
  }
  to.may_move = !options.only;
  to.core = is_node ? next_core_of(static_cast<core::NodeId>(asked)) : static_cast<CoreId>(asked);
}

RuleOptions Interpreter::merged_options(const tic::Options& of_rule, Environment& environment,
                                        const tic::Options& of_callable, Environment& frame) const {
  RuleOptions result;
  result.priority = priority_of(of_rule, environment, of_callable, frame);
  const auto with = [&](bool rule_says, bool callable_says, const auto& use) {
    if (rule_says) return use(of_rule, environment);
    if (callable_says) use(of_callable, frame);
  };
  with(static_cast<bool>(of_rule.target), static_cast<bool>(of_callable.target),
       [&](const tic::Options& from, Environment& in) { set_place(from, in, result); });
  with(!of_rule.work_type.empty(), !of_callable.work_type.empty(),
       [&](const tic::Options& from, Environment& /*in*/) {
         result.type = flow_.typed_pool().workers().type(from.work_type);
       });
  with(static_cast<bool>(of_rule.parallel), static_cast<bool>(of_callable.parallel),
       [&](const tic::Options& from, Environment& in) {
         const std::int64_t asked = evaluate(*from.parallel, compiled_, in).as_integer();
         result.n_cores = static_cast<std::uint32_t>(within("parallel", asked, 1, UINT32_MAX));
       });
  return result;
}

RuleOptions Interpreter::task_options(const tic::Rule& rule, Environment& environment) const {
  const auto* call = std::get_if<tic::RuleCall>(&rule.action);
  if (call == nullptr || call->callee_kind != tic::CalleeKind::callable)
    return merged_options(rule.options, environment, tic::Options(), environment);
  const tic::Callable& callable =
      compiled_.program().callables[static_cast<std::size_t>(call->index)];
  // A program is a task of its own, which call_app() starts.
  if (callable.kind == tic::CallableKind::app) return {};
  const auto frame = leaf_frame(*call, callable, environment);
  RuleOptions options = merged_options(rule.options, environment, callable.options, *frame);
  options.as_team = callable.kind == tic::CallableKind::leaf &&
                    leaf_function(callable.name).run_by_team != nullptr;
  return options;
}

std::int32_t Interpreter::priority_of(const tic::Options& of_rule, Environment& environment,
                                      const tic::Options& of_callable, Environment& frame) const {
  if (!of_rule.priority && !of_callable.priority) return 0;
  const Value asked = of_rule.priority ? evaluate(*of_rule.priority, compiled_, environment)
                                       : evaluate(*of_callable.priority, compiled_, frame);
  return static_cast<std::int32_t>(within("priority", asked.as_integer(), INT32_MIN, INT32_MAX));
}

std::uint32_t Interpreter::n_tries(const tic::Options& of_rule, Environment& environment,
                                   const tic::Options& of_callable, Environment& frame) const {
  const bool rule_says = static_cast<bool>(of_rule.retries);
  if (!rule_says && !of_callable.retries) return 1;
  const Value retries = rule_says ? evaluate(*of_rule.retries, compiled_, environment)
                                  : evaluate(*of_callable.retries, compiled_, frame);
  return 1 + static_cast<std::uint32_t>(within("retries", retries.as_integer(), 0, kMostRetries));
}

// What the options of a leaf see: its scalars.
std::unique_ptr<Environment> Interpreter::leaf_frame(const tic::RuleCall& call,
                                                     const tic::Callable& callable,
                                                     Environment& environment) const {
  auto frame = std::make_unique<Environment>(flow_, callable.frame);
  const std::vector<const Expr*> inputs = inputs_of(call);
  for (std::size_t i = 0; callable.kind == tic::CallableKind::leaf && i < inputs.size(); ++i) {
    if (is_container(callable.inputs[i].type)) continue;
    frame->slot(static_cast<int>(i)).value =
        value_of(*inputs[i], callable.inputs[i].type, environment);
  }
  return frame;
}

void Interpreter::evaluate_call(const tic::CallExpr& call,
                                const std::vector<const Expr*>& arguments,
                                Environment& environment) {
  std::vector<Value> values;
  for (const Expr* argument : arguments) {
    if (is_container(argument->type)) {
      values.push_back(Value::text(Kind::string, members_text(*argument, environment)));
    } else {
      values.push_back(evaluate(*argument, compiled_, environment));
    }
  }
  static_cast<void>(call_builtin(call, values, compiled_, environment));
}

// For print(): {0: 1.5, 1: 2.0}, {x: 1.5, y: 2.0}
std::string Interpreter::members_text(const Expr& e, Environment& environment) const {
  const bool is_structure = e.type.is(tic::Kind::structure);
  const auto name_of = [&](const Value& key) -> std::string {
    if (!is_structure) return key_text(key);
    const auto& of = compiled_.program().structs.at(static_cast<std::size_t>(e.type.struct_index));
    return of.fields.at(static_cast<std::size_t>(key.as_integer())).name.text;
  };
  std::string text = "{";
  for (const auto& [key, value] : evaluate_members(e, compiled_, environment)) {
    if (text.size() > 1) text += ", ";
    text += name_of(key) + ": " + (value.is_reference() ? "{..}" : text_of(value));
    if (value.is_reference()) flow_.give_back_reader(value.as_reference());
  }
  return text + "}";
}

void Interpreter::perform_rule(const CompiledStatement& statement, const tic::Rule& rule,
                               Environment& environment) {
  if (const auto* e = std::get_if<Expr>(&rule.action)) {
    return assign_value(rule.outputs[0], *e, environment);
  }
  const auto& call = std::get<tic::RuleCall>(rule.action);
  if (call.value) return assign_value(rule.outputs[0], *call.value, environment);
  if (call.callee_kind == tic::CalleeKind::builtin) {
    tic::CallExpr as_call;
    as_call.place = call.place;
    as_call.name = call.callee;
    as_call.builtin = call.index;
    evaluate_call(as_call, inputs_of(call), environment);
    if (!rule.outputs.empty()) set_target(rule.outputs[0], Value::done(), environment);
    return;
  }
  const tic::Callable& callable =
      compiled_.program().callables[static_cast<std::size_t>(call.index)];
  if (callable.kind == tic::CallableKind::function) {
    call_function(rule, call, callable, environment);
  } else if (callable.kind == tic::CallableKind::leaf) {
    call_leaf(statement, rule, call, callable, environment);
  } else {
    call_app(rule, call, callable, environment);
  }
}

std::vector<const Expr*> Interpreter::inputs_of(const tic::RuleCall& call) {
  std::vector<const Expr*> inputs;
  for (const tic::Argument& argument : call.arguments) {
    if (argument.output < 0) inputs.push_back(&argument.value);
  }
  return inputs;
}

// By reference: its own rules wait for what is open.
void Interpreter::call_function(const tic::Rule& rule, const tic::RuleCall& call,
                                const tic::Callable& callable, Environment& environment) {
  for (const Expr& output : rule.outputs)
    make_inner(output, environment);
  ArgsInHand in_hand(flow_);
  std::vector<Arg>& args = in_hand.all;
  const auto add_value = [&](Value value) {
    args.push_back(Environment::packed(std::move(value)));
  };
  const std::vector<const Expr*> inputs = inputs_of(call);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Expr& e = *inputs[i];
    const tic::Type& type = callable.inputs[i].type;
    const Value* known = tic::is_operand(e) ? known_value(e, environment) : nullptr;
    const bool is_open = tic::is_operand(e) && (known == nullptr || known->is_reference());
    // As one that is open, and fails later.
    const bool has_failed =
        known != nullptr && known->is_failed() && !(is_dry() && is_unknown(*known));
    Value value = is_open ? Value() : has_failed ? *known : input_of(e, type, environment);
    const bool is_made = value.is_reference();  // by the expression, for the function alone
    add_value(is_made ? Value() : std::move(value));
    if (is_open) {
      args.push_back(read_argument(e, Arg::Mode::reader, environment));
    } else if (is_made) {
      const Ref made = environment.known.extract(&e).mapped().as_reference();
      args.push_back({Arg::Mode::reader, made, {}, nullptr});
    } else {
      args.emplace_back();
    }
    args.emplace_back();
    add_name_arguments(e, environment, args);
  }
  for (const Expr& output : rule.outputs) {
    args.emplace_back();
    args.push_back(read_argument(output, Arg::Mode::reader, environment));
    args.push_back(write_argument(output, environment));
    if (output.type.is(tic::Kind::file) && output.as<tic::NameRef>() == nullptr) {
      // A member's, for those that the function calls.
      args.push_back(Environment::packed(name_to_write(output, callable, environment)));
      args.emplace_back();
    } else {
      add_name_arguments(output, environment, args);
    }
  }
  submit_function(flow_, static_cast<std::uint32_t>(call.index), in_hand.take(), place(call));
}

Arg Interpreter::write_argument(const Expr& target, Environment& environment) const {
  Keys keys = written_keys_of(target, environment);
  Arg arg{Arg::Mode::writer, flow_.share(writer_of(target, environment), true), {}, nullptr};
  if (!keys.empty()) arg.keys = std::make_unique<Keys>(std::move(keys));
  return arg;
}

void Interpreter::run_function(Rule& rule) {
  std::uint64_t index = 0;
  std::memcpy(&index, rule.closure().data(), sizeof index);
  const tic::Callable& callable = compiled_.program().callables[index];
  Environment environment(flow_, callable.frame);
  std::size_t at = 0;
  const std::size_t n_parameters = callable.inputs.size() + callable.outputs.size();
  for (std::size_t i = 0; i < n_parameters; ++i)
    environment.unpack_slot(static_cast<int>(i), rule.args(), at);
  try {
    for (std::size_t i = callable.inputs.size(); i < n_parameters; ++i)
      make_fields(static_cast<int>(i), environment, rule.at);
    run_block(callable.frame.body, environment);
  } catch (const std::exception& error) {
    const std::string unknown = is_dry() ? unknown_in(error.what()) : "";
    const Value failure =
        unknown.empty() ? Value::failed(rule.text() + ": " + error.what()) : unknown_value(unknown);
    if (unknown.empty()) {
      flow_.note_failed_body(failure.as_text());
    } else {
      compiled_.arguments().dry_run->note_unknown("function " + callable.name, unknown);
    }
    for (std::size_t i = callable.inputs.size(); i < n_parameters; ++i)
      fail_variable(static_cast<int>(i), environment, failure, rule.at);
  }
}

Nanos Interpreter::timeout_of(const tic::Options& of_rule, Environment& environment,
                              const tic::Options& of_callable, Environment& frame) const {
  if (!of_rule.timeout && !of_callable.timeout) return kNever;
  const double seconds =
      number_of(of_rule.timeout ? evaluate(*of_rule.timeout, compiled_, environment)
                                : evaluate(*of_callable.timeout, compiled_, frame));
  if (std::isnan(seconds)) throw Error("the timeout is no number: expected seconds");
  if (seconds <= 0)
    throw Error("timeout " + text_of(Value::floating(seconds)) + ": expected more than 0 s");
  // What is longer than a century is none.
  return seconds < 4e9 ? std::max<Nanos>(1, static_cast<Nanos>(seconds * kSecond)) : kNever;
}

// On a thread beside the cores, or by all of a team. False if its time was over: then what it was
// to set has failed.
bool Interpreter::run_leaf_function(const CompiledStatement& statement, const tic::Rule& rule,
                                    const tic::Callable& callable, Environment& environment,
                                    LeafCall& leaf) {
  const LeafFunction& function = leaf_function(callable.name);
  const auto frame = leaf_frame(std::get<tic::RuleCall>(rule.action), callable, environment);
  const Nanos timeout = timeout_of(rule.options, environment, callable.options, *frame);
  if (team_ != nullptr) {
    if (timeout != kNever)
      throw Error("leaf " + callable.name + " runs on a team of cores: expected no timeout");
    try {
      run_leaf_by_team(flow_, *team_, function, leaf, callable);
    } catch (const std::exception& error) {
      throw Error(in_call(leaf) + error.what());
    }
    return true;
  }
  JournalledLeaf journalled(leaf, flow_);
  // Once, and in no time of the leaf's own.
  if (journalled.find(function, callable, 0)) return true;
  const std::uint32_t n = n_tries(rule.options, environment, callable.options, *frame);
  const std::int32_t priority = priority_of(rule.options, environment, callable.options, *frame);
  const std::vector<Value> outputs = leaf.outputs;
  bool is_whole = true;
  std::vector<std::string> problems;  // one of each try
  const auto text_of_all = [&](const std::string& last) {
    problems.push_back(last);
    return in_call(leaf) + text_of_tries(problems);
  };
  const auto give_up = [&](const std::string& why) {
    fail(statement, environment, text_of_all(why));
  };
  const std::string who =
      "task '" + callable.name + "' of " + place_text(compiled_, statement.statement->place);
  const std::string in_crash =
      who + (function.library.path.empty() ? "" : ", of the plugin ") + function.library.path;
  const auto run = [&] {
    const LeafInCrash named(in_crash);
    is_whole = run_leaf(function, leaf, callable);
  };
  for (std::uint32_t i = 1;; ++i) {
    try {
      EndedIn ended = EndedIn::time;
      if (timeout == kNever) {
        flow_.run_native(run, {core::NativeTime::any, priority});
      } else {
        ended = run_in_time(flow_, {timeout, i < n ? kPatience : 0, priority}, who, run, give_up);
      }
      if (ended == EndedIn::nothing) return false;
      if (ended == EndedIn::time) break;
    } catch (const std::exception& error) {
      if (i >= n) throw Error(text_of_all(error.what()));
      problems.emplace_back(error.what());
    }
    leaf.outputs = outputs;
  }
  if (is_whole) journalled.add();
  return true;
}

void Interpreter::call_leaf(const CompiledStatement& statement, const tic::Rule& rule,
                            const tic::RuleCall& call, const tic::Callable& callable,
                            Environment& environment) {
  // The first of a team does it for all; if it cannot, others are told.
  if (team_ == nullptr || team_->is_first) claim_names(rule, environment);
  if (is_dry()) return plan_leaf(rule, call, callable, environment);
  LeafCall leaf{callable.name, {}, {}, {}, files_of(rule, environment)};
  check_files(leaf.files_waited_for);
  const std::vector<const Expr*> inputs = inputs_of(call);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_container(callable.inputs[i].type)) {
      leaf.containers.push_back(evaluate_members(*inputs[i], compiled_, environment));
      leaf.inputs.emplace_back();
    } else {
      leaf.containers.emplace_back();
      leaf.inputs.push_back(value_of(*inputs[i], callable.inputs[i].type, environment));
    }
  }
  leaf.outputs.resize(rule.outputs.size());
  for (std::size_t i = 0; i < rule.outputs.size(); ++i)
    leaf.outputs[i] = callable.outputs[i].type.is(tic::Kind::file)
                          ? name_to_write(rule.outputs[i], callable, environment)
                          : Value();
  if (!run_leaf_function(statement, rule, callable, environment, leaf)) return;
  if (team_ != nullptr && !team_->is_first) return;
  for (std::size_t i = 0; i < rule.outputs.size(); ++i)
    set_target(rule.outputs[i], std::move(leaf.outputs[i]), environment);
}

void Interpreter::run_put(Flow& flow, Rule& rule) {
  Arg& writer = rule.args()[0];
  Value value = rule.args()[1].take_value();
  if (writer.has_keys() && value.is_failed() && !Interpreter::here().is_dry()) {
    flow.fail_member(writer.ref, *writer.keys, value, rule.at);
  } else if (writer.has_keys()) {
    flow.insert_at(writer.ref, *writer.keys, std::move(value), rule.at);
  } else if (value.is_failed()) {
    flow.give_back_writer(std::exchange(writer.ref, {}), &value);
  } else {
    flow.set(std::exchange(writer.ref, {}), std::move(value), rule.at);
  }
}

}  // namespace rubato::flow

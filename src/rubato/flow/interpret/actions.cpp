#include "rubato/flow/interpret/actions.hpp"

#include <cstring>

#include "rubato/flow/interpret/interpreter.hpp"

namespace rubato::flow {
namespace {

template <class T>
T read_closure(const Rule& rule) {
  T x{};
  std::memcpy(&x, rule.closure().data(), sizeof x);
  return x;
}

std::string describe_statement(const Rule& rule) {
  return Interpreter::here().describe(read_closure<StatementId>(rule).number);
}
std::string describe_input(const Rule& rule, std::size_t argument) {
  return Interpreter::here().describe_input(rule, argument);
}
std::string describe_loop(const Rule& rule) {
  return Interpreter::here().describe(
      static_cast<std::uint32_t>(read_closure<std::uint64_t>(rule)));
}
std::string describe_function(const Rule& rule) {
  const auto index = read_closure<std::uint64_t>(rule);
  return Interpreter::here().compiled().program().callables[index].name;
}

// Of all closures here: what their names are looked up by comes first.
std::uint32_t number_of(const Rule& rule) {
  return read_closure<std::uint32_t>(rule);
}

void run_statement(Flow& /*flow*/, Rule& rule) {
  Interpreter::here().run_statement(rule);
}
void run_failed(Flow& /*flow*/, Rule& rule) {
  Interpreter::here().run_failed(rule);
}

// NOLINTBEGIN(cert-err58-cpp): before main, like all actions
// The statement has been counted when it was found that it cannot run.
const ActionId kFailed = register_action({.name = "failed statement",
                                          .run = &run_failed,
                                          .takes_failures = true,
                                          .describe = &describe_statement,
                                          .number = &number_of,
                                          .describe_input = &describe_input,
                                          .counts_itself = true,
                                          .part = TaskPart::step});
// NOLINTEND(cert-err58-cpp)

ActionId register_statement(std::string_view name, TaskPart part) {
  return register_action({.name = name,
                          .run = &run_statement,
                          .describe = &describe_statement,
                          .number = &number_of,
                          .describe_input = &describe_input,
                          .part = part,
                          .when_failed = kFailed});
}

// NOLINTBEGIN(cert-err58-cpp): before main, like all actions
const ActionId kStatement = register_statement("statement", TaskPart::step);
// A call of a leaf or an app that waits for its inputs, or of an app; and of a leaf that has them.
const ActionId kCall = register_statement("statement", TaskPart::before_task);
const ActionId kLeaf = register_statement("leaf", TaskPart::task);
const ActionId kDryStatement = register_action({.name = "statement",
                                                .run = &run_statement,
                                                .takes_failures = true,
                                                .describe = &describe_statement,
                                                .number = &number_of,
                                                .part = TaskPart::step});
const ActionId kFunction = register_action(
    {.name = "function",
     .run = [](Flow& /*flow*/, Rule& rule) { Interpreter::here().run_function(rule); },
     .describe = &describe_function,
     .number = &number_of,
     .part = TaskPart::step});
const ActionId kRange =
    register_action({.name = "for",
                     .run = [](Flow& /*flow*/, Rule& rule) { Interpreter::here().run_range(rule); },
                     .describe = &describe_loop,
                     .number = &number_of,
                     .is_loop = true,
                     .part = TaskPart::step});
const ActionId kEach =
    register_action({.name = "foreach",
                     .run = [](Flow& /*flow*/, Rule& rule) { Interpreter::here().run_each(rule); },
                     .takes_failures = true,
                     .describe = &describe_loop,
                     .number = &number_of,
                     .is_loop = true,
                     .part = TaskPart::step});
const ActionId kPut = register_action(
    {.name = "put", .run = &Interpreter::run_put, .takes_failures = true, .part = TaskPart::step});
// NOLINTEND(cert-err58-cpp)

template <class T>
std::unique_ptr<Rule> make_rule(ActionId action, const T& closure, std::vector<Arg> args,
                                const RuleOptions& options, PortablePlace at) {
  auto rule = std::make_unique<Rule>(action, static_cast<std::uint32_t>(args.size()), options, at);
  rule->set_closure(&closure, sizeof closure);
  for (std::size_t i = 0; i < args.size(); ++i)
    rule->args()[i] = std::move(args[i]);
  return rule;
}

}  // namespace

StatementId statement_of(const Rule& rule) {
  return read_closure<StatementId>(rule);
}

ScriptRange range_of(const Rule& rule) {
  return read_closure<ScriptRange>(rule);
}

void submit_statement(Flow& flow, StatementId id, TaskPart part, std::vector<Arg> args,
                      const RuleOptions& options, PortablePlace at) {
  const ActionId of_call = part == TaskPart::task ? kLeaf : kCall;
  flow.submit(
      make_rule(part == TaskPart::step ? kStatement : of_call, id, std::move(args), options, at));
}

void submit_dry_statement(Flow& flow, StatementId id, std::vector<Arg> args,
                          const RuleOptions& options, PortablePlace at) {
  flow.submit(make_rule(kDryStatement, id, std::move(args), options, at));
}

void submit_failing(Flow& flow, StatementId id, std::vector<Arg> args, const Value& failure,
                    PortablePlace at) {
  args.push_back({Arg::Mode::value, {}, failure, nullptr});
  flow.submit(make_rule(kFailed, id, std::move(args), {}, at));
}

void submit_function(Flow& flow, std::uint32_t callable, std::vector<Arg> args, PortablePlace at) {
  flow.submit(make_rule(kFunction, std::uint64_t{callable}, std::move(args), {}, at));
}

std::unique_ptr<Rule> range_rule(const ScriptRange& range, std::vector<Arg> args,
                                 PortablePlace at) {
  return make_rule(kRange, range, std::move(args), {}, at);
}

void attach_each(Flow& flow, std::uint32_t number, std::vector<Arg> args, PortablePlace at) {
  auto rule = make_rule(kEach, std::uint64_t{number}, std::move(args), {}, at);
  rule->at_arg = static_cast<std::uint32_t>(rule->args().size());
  flow.attach_loop(std::move(rule));
}

void submit_put(Flow& flow, Arg writer, Arg value, PortablePlace at) {
  std::vector<Arg> args;
  args.push_back(std::move(writer));
  args.push_back(std::move(value));
  flow.submit(make_rule(kPut, std::uint64_t{0}, std::move(args), {}, at));
}

std::vector<const tic::Expr*> targets_of(const tic::Statement& statement) {
  if (const auto* assign = std::get_if<tic::Assign>(&statement.form)) return {&assign->target};
  if (const auto* insert = std::get_if<tic::Insert>(&statement.form)) return {&insert->member};
  std::vector<const tic::Expr*> all;
  if (const auto* rule = std::get_if<tic::Rule>(&statement.form)) {
    for (const tic::Expr& output : rule->outputs)
      all.push_back(&output);
  }
  return all;
}

bool is_task_of_its_own(const tic::Statement& statement) {
  const auto* rule = std::get_if<tic::Rule>(&statement.form);
  if (rule == nullptr) return false;
  const auto* call = std::get_if<tic::RuleCall>(&rule->action);
  return call != nullptr && call->callee_kind == tic::CalleeKind::callable;
}

const tic::Declared& declared_at(const tic::Statement& statement, Stage stage) {
  const Stage first = is_value(stage) ? Stage::value : Stage::name;
  const auto i = static_cast<std::size_t>(stage) - static_cast<std::size_t>(first);
  return std::get<tic::Declaration>(statement.form).names.at(i);
}

std::vector<int> own_variables(const tic::Statement& statement, Stage stage) {
  if (is_declared(stage)) return {declared_at(statement, stage).variable};
  const bool in_round = stage == Stage::round;
  std::vector<int> own;
  if (const auto* loop = std::get_if<tic::Loop>(&statement.form); loop != nullptr && in_round) {
    for (const tic::LoopState& state : loop->state)
      own.push_back(state.name.variable);
  }
  return own;
}

}  // namespace rubato::flow

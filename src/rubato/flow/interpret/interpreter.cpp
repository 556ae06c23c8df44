// Blocks, operands and rules of a script; what statements do is in statements.cpp.

#include "rubato/flow/interpret/interpreter.hpp"

#include <algorithm>
#include <array>

#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/pool/team_task.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

// Of this core.
struct Script {
  std::unique_ptr<const Compiled> compiled;
};

bool is_container(const tic::Type& type) {
  return type.is(tic::Kind::container) || type.is(tic::Kind::structure);
}

}  // namespace

Interpreter Interpreter::here() {
  return Interpreter(Flow::here(), *CoreContext::here().local_or_make<Script>().compiled);
}

void Interpreter::set_script(const std::string& text, const std::string& file_name,
                             const ScriptArguments& arguments) {
  CoreContext::here().local_or_make<Script>().compiled =
      std::make_unique<Compiled>(text, file_name, arguments);
}

std::string Interpreter::describe(std::uint32_t number) const {
  const tic::Statement& statement = *compiled_.statement(number).statement;
  if (const auto* rule = std::get_if<tic::Rule>(&statement.form)) {
    if (const auto* call = std::get_if<tic::RuleCall>(&rule->action)) return call->callee;
  }
  if (const auto* call = std::get_if<tic::CallExpr>(&statement.form)) return call->name;
  // In the order of tic::Statement::form.
  constexpr std::array kNames{"declaration", "assignment", "rule", "insert", "close",
                              "foreach",     "for",        "if",   "switch", "loop",
                              "next",        "wait",       "call"};
  static_assert(kNames.size() == std::variant_size_v<decltype(tic::Statement::form)>);
  return kNames[statement.form.index()];
}

PortablePlace Interpreter::place(const tic::Node& node) const noexcept {
  return PortablePlace(SourcePlace{kScriptFile, node.place.line});
}

void Interpreter::start_main() {
  Environment environment(flow_, compiled_.program().main);
  run_block(compiled_.program().main.body, environment);
}

// --- blocks

void Interpreter::run_block(const tic::Block& block, Environment& environment) {
  for (const tic::Statement& statement : block.statements) {
    if (const auto* declaration = std::get_if<tic::Declaration>(&statement.form))
      declare(*declaration, block, environment);
  }
  for (const tic::Statement& statement : block.statements)
    start(compiled_.of(statement), environment);
  for (const int variable : block.declared)
    environment.forget(variable);
}

// Of a loop: one body that cannot be begun is no reason for the others.
void Interpreter::run_body_of(const CompiledStatement& loop, const tic::Block& body,
                              Environment& environment) {
  try {
    run_block(body, environment);
  } catch (const std::exception& error) {
    for (const int variable : body.declared)
      environment.forget(variable);
    fail(loop, environment, error.what());
  }
}

void Interpreter::declare(const tic::Declaration& declaration, const tic::Block& block,
                          Environment& environment) {
  for (const tic::Declared& declared : declaration.names) {
    Slot& slot = environment.slot(declared.variable);
    DataId id;
    if (is_container(declaration.type)) {
      id = flow_.create_container(Kind::none, compiled_.is_main(block), place(declared));
    } else {
      id = flow_.create(Kind::none, place(declared));
    }
    slot.reader.ref = {id, kWholeWeight};
    slot.writer.ref = {id, kWholeWeight};
    if (declaration.type.is(tic::Kind::file)) declare_file(declared, environment);
  }
}

// Its name is known from the start.
void Interpreter::declare_file(const tic::Declared& declared, Environment& environment) {
  Slot& slot = environment.slot(declared.variable);
  if (!declared.mapped) {
    const std::string name =
        compiled_.arguments().temporary_folder + "/" + declared.name + "-" + flow_.new_file_name();
    slot.name = Value::text(Kind::file, name);
    return;
  }
  std::vector<Operand> needs;
  collect(*declared.mapped, environment, needs);
  const auto is_open = [&](const Operand& o) { return !is_known(o, environment); };
  if (std::ranges::any_of(needs, is_open)) {
    throw Error(place_text(compiled_, declared.place) + ": the name of file '" + declared.name +
                "' needs values that are not there yet: expected names of literals, arguments of "
                "the run, keys and counters (declare it inside a wait)");
  }
  slot.name = Value::text(Kind::file, evaluate(*declared.mapped, compiled_, environment).as_text());
  if (!compiled_.is_written(environment.frame(), declared.variable)) {
    flow_.set(std::exchange(slot.writer.ref, {}), slot.name, place(declared));
  }
}

// --- operands

bool Interpreter::is_known(const Operand& operand, const Environment& environment) const {
  return known_value(*operand.expression, environment) != nullptr;
}

void Interpreter::collect(const Expr& e, const Environment& environment, std::vector<Operand>& to,
                          Arg::Mode of_containers) const {
  if (tic::is_operand(e)) {
    to.push_back({&e, is_container(e.type) ? of_containers : Arg::Mode::wait});
    return collect_keys(e, environment, to);
  }
  if (const auto* unary = e.as<tic::Unary>()) {
    collect(*unary->operand, environment, to);
  } else if (const auto* binary = e.as<tic::Binary>()) {
    collect(*binary->left, environment, to);
    collect(*binary->right, environment, to);
  } else if (const auto* member = e.as<tic::MemberRef>()) {
    collect(*member->container, environment, to);
    collect(*member->key, environment, to);
  } else if (const auto* call = e.as<tic::CallExpr>()) {
    for (const Expr& argument : call->arguments) {
      const auto* name = argument.as<tic::NameRef>();
      const bool is_name = call->name == "filename" && name != nullptr &&
                           environment.slot(name->variable).name.kind() != Kind::none;
      if (is_name) continue;
      collect(argument, environment, to,
              call->name == "size" ? Arg::Mode::wait : Arg::Mode::closed);
    }
  }
}

void Interpreter::collect_keys(const Expr& e, const Environment& environment,
                               std::vector<Operand>& to) const {
  if (const auto* member = e.as<tic::MemberRef>()) {
    collect(*member->key, environment, to);
    collect_keys(*member->container, environment, to);
  } else if (const auto* field = e.as<tic::FieldRef>()) {
    collect_keys(*field->object, environment, to);
  }
}

bool Interpreter::has_known_keys(const Expr& operand, const Environment& environment) const {
  std::vector<Operand> needs;
  collect_keys(operand, environment, needs);
  return std::ranges::all_of(needs, [&](const Operand& o) { return is_known(o, environment); });
}

// From the last key to the first, the outermost, as Arg has them.
Keys Interpreter::keys_of(const Expr& operand, Environment& environment) const {
  Keys keys;
  const Expr* e = &operand;
  while (true) {
    if (const auto* member = e->as<tic::MemberRef>()) {
      keys.push_back(evaluate(*member->key, compiled_, environment));
      e = &*member->container;
    } else if (const auto* field = e->as<tic::FieldRef>()) {
      keys.push_back(Value::integer(field->index));
      e = &*field->object;
    } else {
      return keys;
    }
  }
}

Arg Interpreter::read_argument(const Expr& operand, Arg::Mode mode,
                               Environment& environment) const {
  Way& way = environment.slot(tic::root_variable(operand)).reader;
  Keys keys = keys_of(operand, environment);
  keys.insert(keys.end(), way.keys.begin(), way.keys.end());
  Arg arg{mode, flow_.share(way.ref, false), {}, nullptr};
  if (!keys.empty()) arg.keys = std::make_unique<Keys>(std::move(keys));
  return arg;
}

// --- statements that wait

void Interpreter::start(const CompiledStatement& statement, Environment& environment, Stage stage) {
  try {
    const std::vector<Operand> operands = operands_of(statement, environment, stage);
    const auto is_open = [&](const Operand& o) { return !is_known(o, environment); };
    const bool waits = std::ranges::any_of(operands, is_open);
    if (waits || (stage == Stage::begin && is_task_of_its_own(*statement.statement))) {
      return defer(statement, environment, operands, waits ? stage : Stage::ready);
    }
    perform(statement, environment, stage);
  } catch (const std::exception& error) {
    fail(statement, environment, error.what());
  }
}

void Interpreter::defer(const CompiledStatement& statement, Environment& environment,
                        const std::vector<Operand>& operands, Stage stage) {
  // What may be wrong first: then nobody has references of it yet.
  RuleOptions options;
  const auto* rule = std::get_if<tic::Rule>(&statement.statement->form);
  if (rule != nullptr && stage == Stage::ready && !is_dry())
    options = task_options(*rule, environment);
  std::vector<Arg> args;
  environment.pack(statement, args);
  for (const int variable : own_variables(*statement.statement, stage == Stage::round))
    environment.pack_slot(environment.slot(variable), true, args);
  for (const Operand& operand : operands) {
    const auto found = environment.known.find(operand.expression);
    if (found != environment.known.end()) {
      if (found->second.is_reference()) {
        Ref all = found->second.as_reference();
        args.push_back({Arg::Mode::reader, flow_.share(all, false), {}, nullptr});
        found->second = Value::reference(all);
      } else {
        args.push_back({Arg::Mode::value, {}, found->second, nullptr});
      }
    } else if (!is_known(operand, environment) &&
               has_known_keys(*operand.expression, environment)) {
      args.push_back(read_argument(*operand.expression, operand.mode, environment));
    } else {
      args.emplace_back();
    }
  }
  const auto submit = is_dry() ? &submit_dry_statement : &submit_statement;
  submit(flow_, statement.number, static_cast<std::uint32_t>(stage), std::move(args), options,
         place(*statement.statement));
}

void Interpreter::run_statement(Rule& rule) {
  const StatementId id = statement_of(rule);
  const CompiledStatement& statement = compiled_.statement(id.number);
  const auto stage = static_cast<Stage>(id.stage);
  Environment environment(flow_, *statement.frame);
  std::size_t at = 0;
  environment.unpack(statement, rule.args(), at);
  for (const int variable : own_variables(*statement.statement, stage == Stage::round))
    Environment::unpack_slot(environment.slot(variable), rule.args(), at);
  const Stage next = stage == Stage::ready ? Stage::begin : stage;
  const std::vector<Operand> operands = operands_of(statement, environment, next);
  for (const Operand& operand : operands) {
    Value value = rule.args()[at++].take_value();
    if (value.kind() != Kind::none) environment.known[operand.expression] = std::move(value);
  }
  if (stage != Stage::ready) return start(statement, environment, stage);
  team_ = rule.team;
  try {
    perform(statement, environment, Stage::ready);
  } catch (const std::exception& error) {
    // The first of a team says it.
    if (team_ != nullptr && !team_->is_first) throw;
    if (team_ != nullptr) team_->fail(error.what());
    fail(statement, environment, error.what());
  }
}

// What the statement was to write has failed; others go on.
void Interpreter::fail(const CompiledStatement& statement, Environment& environment,
                       const std::string& what) const {
  const std::string unknown = is_dry() ? unknown_in(what) : "";
  if (!unknown.empty()) {
    compiled_.arguments().dry_run->note_unknown(
        "'" + describe(statement.number) + "' of " +
            place_text(compiled_, statement.statement->place),
        unknown);
    return fail_targets(statement, environment, unknown_value(unknown));
  }
  const std::string text = "task '" + describe(statement.number) + "' of " +
                           place_text(compiled_, statement.statement->place) + ": " + what;
  flow_.note_failed_body(text);
  fail_targets(statement, environment, Value::failed(text));
}

void Interpreter::fail_targets(const CompiledStatement& statement, Environment& environment,
                               const Value& failure) const {
  const auto fail_slot = [&](int variable) {
    flow_.give_back_writer(flow_.share(environment.slot(variable).writer.ref, true), &failure);
  };
  for (std::size_t i = 0; i < statement.needs.size(); ++i) {
    if (statement.writes[i]) fail_slot(statement.needs[i]);
  }
  for (const int variable : own_variables(*statement.statement, false))
    fail_slot(variable);
}

}  // namespace rubato::flow

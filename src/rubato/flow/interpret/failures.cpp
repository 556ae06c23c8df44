// What a statement was to set, when it has failed or an input of it has.
//
// A failure goes along the keys: `c[i][j] = x` without an x is a member c[i][j] that says why there is
// none, so that other members, and other containers in c, are as they were. So it waits for its keys
// even then. Where a key has failed, any member of the container up to there may be the missing one;
// and of all that a block is to set, whose statements have not begun.

#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

bool is_container(const tic::Type& type) {
  return type.is(tic::Kind::container) || type.is(tic::Kind::structure);
}

}  // namespace

// In which rounds of the loops around it a statement is: " (i = 3, name = 'a')", of what it knows.
std::string Interpreter::round_text(const CompiledStatement& statement,
                                    const Environment& environment) const {
  constexpr std::size_t kCharactersMost = 40;
  std::string text;
  for (const int variable : statement.rounds) {
    const Value& value = environment.slot(variable).value;
    const bool is_text = value.kind() == Kind::string && value.as_text().size() <= kCharactersMost;
    if (!is_text && value.kind() != Kind::integer) continue;
    const std::string is = is_text ? "'" + printable(value.as_text()) + "'" : text_of(value);
    text += (text.empty() ? " (" : ", ") +
            statement.frame->variables[static_cast<std::size_t>(variable)].name + " = " + is;
  }
  return text.empty() ? "" : text + ")";
}

// What the statement was to write has failed; others go on.
void Interpreter::fail(const CompiledStatement& statement, Environment& environment,
                       const std::string& what, Stage stage) const {
  const tic::Statement& failed = *statement.statement;
  const std::string who = is_name(stage)
                              ? "the name of file '" + declared_at(failed, stage).name + "'"
                              : "'" + describe(statement.number) + "'";
  const tic::Place where = is_declared(stage) ? declared_at(failed, stage).place : failed.place;
  const std::string whole = who + " of " + place_text(compiled_, where);
  const std::string unknown = is_dry() ? unknown_in(what) : "";
  if (!unknown.empty()) {
    compiled_.arguments().dry_run->note_unknown(whole, unknown);
    return fail_targets(statement, environment, unknown_value(unknown), stage);
  }
  const std::string text =
      (is_name(stage) ? "" : "task ") + whole + round_text(statement, environment) + ": " + what;
  flow_.note_failed_body(text);
  fail_targets(statement, environment, Value::failed(text), stage);
}

// Of what it needs; null if nothing has failed. A dry run finds by itself what is unknown.
const Value* Interpreter::failure_among(const std::vector<Operand>& operands,
                                        const Environment& environment) const {
  for (const Operand& operand : operands) {
    if (operand.is_name) continue;
    const Value* const known = known_value(*operand.expression, environment);
    if (known == nullptr || !known->is_failed() || (is_dry() && is_unknown(*known))) continue;
    return known;
  }
  return nullptr;
}

// A statement that has been no rule yet.
void Interpreter::skip_statement(const CompiledStatement& statement, Environment& environment,
                                 Value failure, Stage stage) {
  flow_.note_skipped(part_of(*statement.statement, stage) == TaskPart::step);
  fail_along_keys(statement, environment, failure, stage);
}

void Interpreter::run_failed(Rule& rule) {
  const StatementId id = statement_of(rule);
  const CompiledStatement& statement = compiled_.statement(id.number);
  Environment environment(flow_, *statement.frame);
  std::size_t at = unpack_statement(statement, id.stage, rule, environment);
  for (const Operand& operand : operands_of(statement, environment, id.stage)) {
    Arg& arg = rule.args()[at++];
    if (arg.is_waited_for()) continue;  // not met any more
    Value value = arg.take_value();
    if (value.kind() != Kind::none) environment.known[operand.expression] = std::move(value);
  }
  const Value failure = rule.args().back().value;
  fail_along_keys(statement, environment, failure, id.stage);
}

// As soon as the keys are there, as far as they will be.
void Interpreter::fail_along_keys(const CompiledStatement& statement, Environment& environment,
                                  const Value& failure, Stage stage) {
  if (!is_declared(stage) && stage != Stage::round) {
    const std::vector<Operand> keys = operands_of(statement, environment, Stage::failing);
    const auto waits = [&](const Operand& o) { return may_wait_for(o, environment); };
    if (std::ranges::any_of(keys, waits))
      return defer(statement, environment, keys, Stage::failing, failure);
  }
  fail_targets(statement, environment, failure, stage);
  environment.forget_known();
}

void Interpreter::fail_targets(const CompiledStatement& statement, Environment& environment,
                               const Value& failure, Stage stage) const {
  const PortablePlace at = place(*statement.statement);
  if (!is_declared(stage) && stage != Stage::round) {
    for (const Expr* target : targets_of(*statement.statement))
      fail_target(*target, environment, failure);
    if (!targets_of(*statement.statement).empty()) return;
  }
  for (std::size_t i = 0; i < statement.needs.size(); ++i) {
    if (statement.writes[i]) fail_variable(statement.needs[i], environment, failure, at);
  }
  for (const int variable :
       own_variables(*statement.statement, is_declared(stage) ? stage : Stage::begin))
    fail_variable(variable, environment, failure, at);
}

// The key of a member, if it is there.
std::optional<Value> Interpreter::key_if_known(const Expr& key, Environment& environment) const {
  std::vector<Operand> needs;
  collect(key, environment, needs);
  const auto is_there = [&](const Operand& o) { return is_known(o, environment); };
  if (!std::ranges::all_of(needs, is_there)) return std::nullopt;
  try {
    return evaluate(key, compiled_, environment);
  } catch (const std::exception&) {
    return std::nullopt;  // it is this one that has failed
  }
}

void Interpreter::fail_target(const Expr& target, Environment& environment,
                              const Value& failure) const {
  std::vector<std::optional<Value>> found;  // the outermost last
  const Expr* e = &target;
  while (e->as<tic::NameRef>() == nullptr) {
    if (const auto* member = e->as<tic::MemberRef>()) {
      found.push_back(key_if_known(*member->key, environment));
      e = &*member->container;
    } else {
      const auto& field = std::get<tic::FieldRef>(e->form);
      found.emplace_back(Value::integer(field.index));
      e = &*field.object;
    }
  }
  const int variable = tic::root_variable(target);
  if (found.empty() || is_dry())
    return fail_variable(variable, environment, failure, place(target));
  Way& way = environment.slot(variable).writer;
  if (!way.ref.id) return;
  // As far as they are known.
  Keys keys = way.keys;
  bool is_whole = true;
  for (auto key = found.rbegin(); key != found.rend() && is_whole; ++key) {
    is_whole = key->has_value();
    if (is_whole) keys.insert(keys.begin(), **key);
  }
  if (is_whole && !is_container(target.type))
    return flow_.fail_member(way.ref, std::move(keys), failure, place(target));
  fail_container(way.ref, std::move(keys), failure, place(target));
}

void Interpreter::fail_variable(int variable, Environment& environment, const Value& failure,
                                PortablePlace at) const {
  Way& way = environment.slot(variable).writer;
  if (!way.ref.id) return;
  const tic::Variable& declared = environment.frame().variables[static_cast<std::size_t>(variable)];
  if (way.keys.empty() || is_container(declared.type) || is_dry())
    return fail_container(way.ref, way.keys, failure, at);
  flow_.fail_member(way.ref, way.keys, failure, at);
}

// Or the scalar, if there are no keys.
void Interpreter::fail_container(Ref& writer, Keys keys, const Value& failure,
                                 PortablePlace at) const {
  if (keys.empty() || is_dry()) {
    flow_.give_back_writer(flow_.share(writer, true), &failure);
  } else {
    flow_.fail_inner(writer, std::move(keys), failure, at);
  }
}

}  // namespace rubato::flow

// What statements of a script do when their operands are known.

#include <algorithm>
#include <cstring>

#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

constexpr std::uint64_t kIterationsATask = 16;  // bodies make rules, which are tasks again

bool is_container(const tic::Type& type) {
  return type.is(tic::Kind::container) || type.is(tic::Kind::structure);
}

bool is_same_literal(const Expr& label, const Value& value, const Compiled& compiled,
                     Environment& environment) {
  return evaluate(label, compiled, environment) == value;
}

}  // namespace

namespace {

// Throws the reason if the operand will have no value.
void check_known(const Expr& operand, const Environment& environment) {
  const Value* const known = known_value(operand, environment);
  if (known != nullptr && known->is_failed()) throw Error(known->as_text());
}

}  // namespace

Value Interpreter::value_of(const Expr& e, const tic::Type& type, Environment& environment) const {
  if (type.is(tic::Kind::container) && !tic::is_operand(e)) return made_container(e, environment);
  return widened(evaluate(e, compiled_, environment), type);
}

Value Interpreter::made_container(const Expr& e, Environment& environment) const {
  Members members = evaluate_members(e, compiled_, environment);
  const Ref whole{flow_.create_container(Kind::none, false, place(e)), kWholeWeight};
  Ref writer = whole;
  for (auto& [key, value] : members)
    flow_.insert(writer, key, std::move(value), place(e));
  flow_.give_back_writer(writer);
  environment.known[&e] = Value::reference(whole);
  return Value::reference(whole);
}

// --- operands of each form

void Interpreter::collect_rule(const tic::Rule& rule, const Environment& environment,
                               std::vector<Operand>& to) const {
  for (const Expr& input : rule.inputs)
    collect(input, environment, to);
  for (const Expr& output : rule.outputs)
    collect_keys(output, environment, to);
  for (const auto* option : {&rule.options.priority, &rule.options.target, &rule.options.retries,
                             &rule.options.timeout, &rule.options.parallel}) {
    if (*option) collect(**option, environment, to);
  }
  if (const auto* e = std::get_if<Expr>(&rule.action)) return collect(*e, environment, to);
  const auto& call = std::get<tic::RuleCall>(rule.action);
  if (call.value) return collect(*call.value, environment, to);
  const bool is_function =
      call.callee_kind == tic::CalleeKind::callable &&
      compiled_.program().callables[static_cast<std::size_t>(call.index)].kind ==
          tic::CallableKind::function;
  if (!is_function) collect_names(rule, environment, to);
  for (const tic::Argument& argument : call.arguments) {
    if (argument.output >= 0) continue;
    if (is_function && tic::is_operand(argument.value)) {
      collect_keys(argument.value, environment, to);
    } else {
      collect(argument.value, environment, to);
    }
  }
}

// Whoever writes a file waits until it has its name, known or not: then it is nobody else's.
void Interpreter::collect_names(const tic::Rule& rule, const Environment& environment,
                                std::vector<Operand>& to) const {
  for (const Expr& output : rule.outputs) {
    const auto* name = output.as<tic::NameRef>();
    if (name != nullptr && environment.slot(name->variable).named.id)
      to.push_back({&output, Arg::Mode::wait, true});
  }
}

std::vector<Interpreter::Operand> Interpreter::operands_of(const CompiledStatement& statement,
                                                           const Environment& environment,
                                                           Stage stage) const {
  std::vector<Operand> all;
  if (stage == Stage::failing) {
    for (const Expr* target : targets_of(*statement.statement))
      collect_keys(*target, environment, all);
    return all;
  }
  if (is_name(stage)) {
    collect(*declared_at(*statement.statement, stage).mapped, environment, all);
    return all;
  }
  if (is_value(stage)) {
    collect(*declared_at(*statement.statement, stage).value, environment, all);
    return all;
  }
  const auto add = [&](const Expr& e, Arg::Mode mode = Arg::Mode::closed) {
    collect(e, environment, all, mode);
  };
  const auto add_form = [&](const auto& form) {
    using Form = std::remove_cvref_t<decltype(form)>;
    if constexpr (std::is_same_v<Form, tic::Assign>) {
      add(form.value);
      collect_keys(form.target, environment, all);
    } else if constexpr (std::is_same_v<Form, tic::Rule>) {
      collect_rule(form, environment, all);
    } else if constexpr (std::is_same_v<Form, tic::Insert>) {
      add(form.value, Arg::Mode::handle);
      collect_keys(form.member, environment, all);
    } else if constexpr (std::is_same_v<Form, tic::Foreach>) {
      add(form.container, Arg::Mode::handle);
    } else if constexpr (std::is_same_v<Form, tic::ForRange>) {
      add(form.first);
      add(form.last);
      if (form.step) add(*form.step);
    } else if constexpr (std::is_same_v<Form, tic::If>) {
      add(form.condition);
    } else if constexpr (std::is_same_v<Form, tic::Switch>) {
      add(form.subject);
    } else if constexpr (std::is_same_v<Form, tic::Loop>) {
      if (stage == Stage::round) return add(form.condition);
      for (const tic::LoopState& state : form.state)
        add(state.initial);
    } else if constexpr (std::is_same_v<Form, tic::Next>) {
      for (const Expr& value : form.values)
        add(value);
    } else if constexpr (std::is_same_v<Form, tic::Wait>) {
      for (const Expr& input : form.inputs)
        add(input);
    } else if constexpr (std::is_same_v<Form, tic::CallExpr>) {
      for (const Expr& argument : form.arguments) {
        const auto* name = argument.template as<tic::NameRef>();
        const bool is_name = form.name == "filename" && name != nullptr;
        if (!is_name) add(argument);
      }
    }
  };
  std::visit(add_form, statement.statement->form);
  return all;
}

// --- what they do

void Interpreter::perform(const CompiledStatement& statement, Environment& environment,
                          Stage stage) {
  perform_form(statement, environment, stage);
  environment.forget_known();
}

void Interpreter::perform_form(const CompiledStatement& statement, Environment& environment,
                               Stage stage) {
  const auto& form = statement.statement->form;
  if (is_name(stage)) {
    perform_name(declared_at(*statement.statement, stage), environment);
  } else if (const auto* declaration = std::get_if<tic::Declaration>(&form)) {
    perform_declared(*declaration, declared_at(*statement.statement, stage), environment);
  } else if (const auto* assign = std::get_if<tic::Assign>(&form)) {
    assign_value(assign->target, assign->value, environment);
  } else if (const auto* rule = std::get_if<tic::Rule>(&form)) {
    perform_rule(statement, *rule, environment);
  } else if (const auto* insert = std::get_if<tic::Insert>(&form)) {
    perform_insert(*insert, environment);
  } else if (const auto* close = std::get_if<tic::Close>(&form)) {
    Slot& slot = environment.slot(tic::root_variable(close->container));
    flow_.give_back_writer(std::exchange(slot.writer.ref, {}));
  } else if (const auto* foreach = std::get_if<tic::Foreach>(&form)) {
    perform_foreach(statement, *foreach, environment);
  } else if (const auto* range = std::get_if<tic::ForRange>(&form)) {
    perform_range(statement, *range, environment);
  } else if (const auto* branch = std::get_if<tic::If>(&form)) {
    if (evaluate(branch->condition, compiled_, environment).as_boolean())
      return run_block(branch->body, environment);
    if (branch->otherwise) run_block(*branch->otherwise, environment);
  } else if (const auto* cases = std::get_if<tic::Switch>(&form)) {
    perform_switch(*cases, environment);
  } else if (const auto* loop = std::get_if<tic::Loop>(&form)) {
    if (stage == Stage::round) return perform_round(statement, *loop, environment);
    begin_round(statement, *loop, values_of(loop->state, environment), environment);
  } else if (const auto* next = std::get_if<tic::Next>(&form)) {
    const auto& around = std::get<tic::Loop>(statement.loop->statement->form);
    std::vector<Value> values;
    values.reserve(next->values.size());
    for (std::size_t i = 0; i < next->values.size(); ++i)
      values.push_back(value_of(next->values[i], around.state[i].type, environment));
    begin_round(*statement.loop, around, std::move(values), environment);
  } else if (const auto* wait = std::get_if<tic::Wait>(&form)) {
    run_block(wait->body, environment);
  } else if (const auto* call = std::get_if<tic::CallExpr>(&form)) {
    std::vector<const Expr*> arguments;
    arguments.reserve(call->arguments.size());
    for (const Expr& argument : call->arguments)
      arguments.push_back(&argument);
    evaluate_call(*call, arguments, environment);
  }
}

void Interpreter::perform_declared(const tic::Declaration& declaration,
                                   const tic::Declared& declared, Environment& environment) {
  Slot& slot = environment.slot(declared.variable);
  if (is_container(declaration.type)) {
    for (auto& [key, value] : evaluate_members(*declared.value, compiled_, environment))
      flow_.insert(slot.writer.ref, key, std::move(value), place(declared));
    flow_.give_back_writer(std::exchange(slot.writer.ref, {}));
    return;
  }
  Value value = value_of(*declared.value, declaration.type, environment);
  flow_.set(std::exchange(slot.writer.ref, {}), std::move(value), place(declared));
}

// The checker lets nothing be written behind a close.
Ref& Interpreter::writer_of(const Expr& target, Environment& environment) const {
  Ref& writer = environment.slot(tic::root_variable(target)).writer.ref;
  if (writer.id) return writer;
  throw Error(place_text(compiled_, target.place) +
              ": it is written where it cannot be written any more");
}

Keys Interpreter::written_keys_of(const Expr& target, Environment& environment) const {
  Keys keys = keys_of(target, environment);
  const Keys& outer = environment.slot(tic::root_variable(target)).writer.keys;
  keys.insert(keys.end(), outer.begin(), outer.end());
  return keys;
}

void Interpreter::set_target(const Expr& target, Value value, Environment& environment) {
  Ref& writer = writer_of(target, environment);
  Keys keys = written_keys_of(target, environment);
  value = widened(std::move(value), target.type);
  if (keys.empty()) {
    flow_.set(flow_.share(writer, true), std::move(value), place(target));
  } else {
    flow_.insert_at(writer, std::move(keys), std::move(value), place(target));
  }
}

// A member or a field that is a container is there though nothing may come to be in it.
void Interpreter::make_inner(const Expr& target, Environment& environment) const {
  if (!is_container(target.type)) return;
  Keys keys = written_keys_of(target, environment);
  if (!keys.empty())
    flow_.make_inner(writer_of(target, environment), std::move(keys), place(target));
}

// So are fields that are filled member by member.
void Interpreter::make_fields(int variable, Environment& environment, PortablePlace at) const {
  Way& way = environment.slot(variable).writer;
  for (const std::vector<int>& fields : compiled_.filled_fields(environment.frame(), variable)) {
    Keys keys;
    for (const int field : fields)
      keys.push_back(Value::integer(field));
    keys.insert(keys.end(), way.keys.begin(), way.keys.end());
    flow_.make_inner(way.ref, std::move(keys), at);
  }
}

// A container gets copies of all members, those of another one when it is closed.
void Interpreter::assign_value(const Expr& target, const Expr& value, Environment& environment) {
  if (is_container(target.type)) {
    set_members(target, evaluate_members(value, compiled_, environment), environment);
  } else {
    set_target(target, evaluate(value, compiled_, environment), environment);
  }
}

void Interpreter::set_members(const Expr& target, Members members, Environment& environment) {
  Ref& writer = writer_of(target, environment);
  const Keys keys = written_keys_of(target, environment);
  flow_.assign_whole(writer, keys, place(target));
  for (auto& [key, value] : members) {
    Keys all{key};
    all.insert(all.end(), keys.begin(), keys.end());
    flow_.insert_at(writer, std::move(all), std::move(value), place(target));
  }
}

void Interpreter::perform_insert(const tic::Insert& insert, Environment& environment) {
  if (!is_container(insert.value.type)) {
    return set_target(insert.member, evaluate(insert.value, compiled_, environment), environment);
  }
  if (!tic::is_operand(insert.value)) {
    return set_members(insert.member, evaluate_members(insert.value, compiled_, environment),
                       environment);
  }
  check_known(insert.value, environment);
  // It becomes the member itself.
  const auto found = environment.known.find(&insert.value);
  RUBATO_REQUIRE(found != environment.known.end());
  Value reference = std::exchange(found->second, Value());
  set_target(insert.member, std::move(reference), environment);
}

// --- loops and branches

void Interpreter::perform_switch(const tic::Switch& cases, Environment& environment) {
  const Value subject = evaluate(cases.subject, compiled_, environment);
  for (const tic::Case& each : cases.cases) {
    const auto fits = [&](const Expr& label) {
      return is_same_literal(label, subject, compiled_, environment);
    };
    if (std::ranges::any_of(each.labels, fits)) return run_block(each.body, environment);
  }
  if (cases.otherwise) run_block(*cases.otherwise, environment);
}

void Interpreter::perform_foreach(const CompiledStatement& statement, const tic::Foreach& loop,
                                  Environment& environment) {
  // What an expression makes becomes a container, whose loops are tasks that any core may take.
  if (!tic::is_operand(loop.container))
    static_cast<void>(made_container(loop.container, environment));
  check_known(loop.container, environment);
  const auto found = environment.known.find(&loop.container);
  RUBATO_REQUIRE(found != environment.known.end());
  std::vector<Arg> args;
  args.push_back(
      {Arg::Mode::reader, std::exchange(found->second, Value()).as_reference(), {}, nullptr});
  environment.pack(statement, args);
  attach_each(flow_, statement.number, std::move(args), place(*statement.statement));
}

void Interpreter::bind_member(int variable, Value value, Environment& environment) {
  Slot& slot = environment.slot(variable);
  if (value.is_reference()) {
    slot.reader.ref = value.as_reference();
    return;
  }
  if (value.kind() == Kind::file) slot.name = value;
  slot.value = std::move(value);
}

void Interpreter::run_each(Rule& rule) {
  std::uint64_t number = 0;
  std::memcpy(&number, rule.closure().data(), sizeof number);
  const CompiledStatement& statement = compiled_.statement(static_cast<std::uint32_t>(number));
  const auto& loop = std::get<tic::Foreach>(statement.statement->form);
  Environment environment(flow_, *statement.frame);
  std::size_t at = 1;
  environment.unpack(statement, rule.args(), at);
  const auto run_body = [&](const Value& key, Value value) {
    if (is_dry() && is_unknown(value)) return fail(statement, environment, value.as_text());
    // The statements that need it do not run, others of the body do.
    if (value.is_never_set()) value = flow_.told(rule, 0, value);
    if (loop.key) environment.slot(loop.key->variable).value = key;
    bind_member(loop.value.variable, std::move(value), environment);
    run_body_of(statement, loop.body, environment);
    environment.forget(loop.value.variable);
  };
  for (ByteView words = rule.closure().subspan(sizeof number); !words.empty();
       words = words.subspan(sizeof(WordPair))) {
    WordPair pair{};
    std::memcpy(&pair, words.data(), sizeof pair);
    run_body(Value::integer(pair.key), pair.value());
  }
  for (; at + 1 < rule.args().size(); at += 2)
    run_body(rule.args()[at].value, rule.args()[at + 1].take_value());
}

void Interpreter::perform_range(const CompiledStatement& statement, const tic::ForRange& loop,
                                Environment& environment) {
  const std::int64_t first = evaluate(loop.first, compiled_, environment).as_integer();
  const std::int64_t last = evaluate(loop.last, compiled_, environment).as_integer();
  const std::int64_t step =
      loop.step ? evaluate(*loop.step, compiled_, environment).as_integer() : 1;
  if (step == 0) throw Error("the step of a range is 0");
  const bool is_empty = step > 0 ? first > last : first < last;
  if (is_empty) return;
  const auto span = step > 0 ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)
                             : static_cast<std::uint64_t>(first) - static_cast<std::uint64_t>(last);
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step)
                                        : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  if (span / stride == UINT64_MAX) throw Error("a range of 2^64 members: expected fewer");
  std::vector<Arg> args;
  environment.pack(statement, args);
  for (Arg& arg : args)
    flow_.make_wide(arg.ref, arg.mode == Arg::Mode::writer);
  flow_.submit(range_rule({statement.number, first, step, span / stride + 1}, std::move(args),
                          place(*statement.statement)));
}

void Interpreter::run_range(Rule& rule) {
  ScriptRange range = range_of(rule);
  const auto at_iteration = [&](std::uint64_t i) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.first) +
                                     i * static_cast<std::uint64_t>(range.step));
  };
  while (range.n > kIterationsATask) {
    std::unique_ptr<Rule> upper = flow_.halve_rule(rule);
    const std::uint64_t n_lower = range.n / 2;
    const ScriptRange half{range.number, at_iteration(n_lower), range.step, range.n - n_lower};
    range.n = n_lower;
    upper->set_closure(&half, sizeof half);
    flow_.submit(std::move(upper));
  }
  const CompiledStatement& statement =
      compiled_.statement(static_cast<std::uint32_t>(range.number));
  const auto& loop = std::get<tic::ForRange>(statement.statement->form);
  Environment environment(flow_, *statement.frame);
  std::size_t at = 0;
  environment.unpack(statement, rule.args(), at);
  for (std::uint64_t i = 0; i < range.n; ++i) {
    environment.slot(loop.variable.variable).value = Value::integer(at_iteration(i));
    run_body_of(statement, loop.body, environment);
  }
}

std::vector<Value> Interpreter::values_of(const std::vector<tic::LoopState>& states,
                                          Environment& environment) const {
  std::vector<Value> values;
  values.reserve(states.size());
  for (const tic::LoopState& state : states)
    values.push_back(value_of(state.initial, state.type, environment));
  return values;
}

// As a rule, so that a loop of many rounds does not grow a stack. The round that says `next` keeps
// its own state meanwhile.
void Interpreter::begin_round(const CompiledStatement& statement, const tic::Loop& loop,
                              std::vector<Value> values, Environment& environment) {
  const auto exchange_state = [&] {
    for (std::size_t i = 0; i < values.size(); ++i)
      std::swap(environment.slot(loop.state[i].name.variable).value, values[i]);
  };
  exchange_state();
  auto known = std::exchange(environment.known, {});
  defer(statement, environment, operands_of(statement, environment, Stage::round), Stage::round);
  environment.known = std::move(known);
  exchange_state();
}

void Interpreter::perform_round(const CompiledStatement& /*statement*/, const tic::Loop& loop,
                                Environment& environment) {
  if (evaluate(loop.condition, compiled_, environment).as_boolean()) {
    environment.forget_known();
    return run_block(loop.body, environment);
  }
  const std::size_t first = loop.state.size() - loop.results.size();
  for (std::size_t i = 0; i < loop.results.size(); ++i) {
    const int state = loop.state[first + i].name.variable;
    set_target(loop.results[i], environment.slot(state).value, environment);
  }
}

}  // namespace rubato::flow

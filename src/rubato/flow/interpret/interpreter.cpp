// Blocks, operands and rules of a script; what statements do is in statements.cpp.

#include "rubato/flow/interpret/interpreter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <climits>
#include <mutex>

#include "rubato/flow/interpret/args_in_hand.hpp"
#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/interpret/file_names.hpp"
#include "rubato/flow/interpret/script_data_names.hpp"
#include "rubato/flow/pool/team_task.hpp"
#include "rubato/flow/tic/print.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {

using tic::Expr;

namespace {

// Of this core.
struct Script {
  std::unique_ptr<const Compiled> compiled;
  std::unique_ptr<const ScriptDataNames> names;
};

bool is_container(const tic::Type& type) {
  return type.is(tic::Kind::container) || type.is(tic::Kind::structure);
}

// The scripts that this process has run, each of which keeps its place; the last place is that of all
// beyond. All processes of a job run the same ones in the same order.
class ScriptNames {
 public:
  [[nodiscard]] const char* current() const noexcept {
    return current_.load(std::memory_order_acquire);
  }
  // All cores of a process name the same one.
  void set_current(const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::size_t i = 0;
    while (i + 1 < names_.size() && names_[i][0] != '\0' && name != names_[i].data())
      ++i;
    if (name != names_[i].data())
      names_[i][name.copy(names_[i].data(), names_[i].size() - 1)] = '\0';
    current_.store(names_[i].data(), std::memory_order_release);
  }

 private:
  using Name = std::array<char, PATH_MAX + 1>;  // ends with a 0
  std::mutex mutex_;
  std::array<Name, 16> names_{};
  std::atomic<const char*> current_{names_[0].data()};
};
constinit ScriptNames script_names;  // NOLINT: texts that PortablePlace names lie in the program

// Of a key: for people, the number before it tells files apart.
std::string in_file_name(const std::string& key) {
  constexpr std::size_t kCharactersMost = 40;
  std::string text = key.substr(0, kCharactersMost);
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '+';
  };
  for (char& c : text)
    c = is_plain(c) ? c : '_';
  return text;
}

}  // namespace

const char* script_file() noexcept {
  return script_names.current();
}

Interpreter Interpreter::here() {
  return Interpreter(Flow::here(), *CoreContext::here().local_or_make<Script>().compiled);
}

void Interpreter::set_script(const std::string& text, const std::string& file_name,
                             const ScriptArguments& arguments) {
  auto compiled = std::make_unique<const Compiled>(text, file_name, arguments);
  auto names = std::make_unique<const ScriptDataNames>(*compiled);
  Flow::here().set_names(names.get());
  CoreContext::here().local_or_make<Script>() = {std::move(compiled), std::move(names)};
  script_names.set_current(file_name);
  forget_file_names(CoreContext::here());
}

std::string Interpreter::describe(std::uint32_t number) const {
  const tic::Statement& statement = *compiled_.statement(number).statement;
  if (const auto* rule = std::get_if<tic::Rule>(&statement.form)) {
    if (const auto* call = std::get_if<tic::RuleCall>(&rule->action)) return call->callee;
  }
  if (const auto* call = std::get_if<tic::CallExpr>(&statement.form)) return call->name;
  if (const auto* declaration = std::get_if<tic::Declaration>(&statement.form)) {
    const auto is_mapped = [](const tic::Declared& declared) { return bool{declared.mapped}; };
    if (std::ranges::any_of(declaration->names, is_mapped)) return "name of a file";
  }
  // In the order of tic::Statement::form.
  constexpr std::array kNames{"declaration", "assignment", "rule", "insert", "close",
                              "foreach",     "for",        "if",   "switch", "loop",
                              "next",        "wait",       "call"};
  static_assert(kNames.size() == std::variant_size_v<decltype(tic::Statement::form)>);
  return kNames[statement.form.index()];
}

std::string Interpreter::describe_input(const Rule& rule, std::size_t argument) const {
  const StatementId id = statement_of(rule);
  const CompiledStatement& statement = compiled_.statement(id.number);
  Environment environment(flow_, *statement.frame);
  std::size_t at = 0;
  // What its operands depend on; no references.
  const auto look_at = [&](int variable) {
    Slot& slot = environment.slot(variable);
    slot.value = rule.args()[at].value;
    slot.named.id = rule.args()[at + 3].ref.id;
    slot.name = rule.args()[at + 3].value;
    at += environment.is_file(variable) ? Environment::kFileArgs : Environment::kArgs;
  };
  for (const int variable : statement.needs)
    look_at(variable);
  for (const int variable : own_variables(*statement.statement, id.stage))
    look_at(variable);
  const Stage stage = id.stage == Stage::ready ? Stage::begin : id.stage;
  const std::vector<Operand> operands = operands_of(statement, environment, stage);
  if (argument < at || argument - at >= operands.size()) return "";
  return tic::print_expression(*operands[argument - at].expression);
}

PortablePlace Interpreter::place(const tic::Node& node) const noexcept {
  return PortablePlace(SourcePlace{script_file(), node.place.line, node.place.column});
}

void Interpreter::start_main() {
  Environment environment(flow_, compiled_.program().main);
  run_block(compiled_.program().main.body, environment);
}

// --- blocks

void Interpreter::run_block(const tic::Block& block, Environment& environment) {
  for (const tic::Statement& statement : block.statements) {
    if (std::holds_alternative<tic::Declaration>(statement.form))
      declare(compiled_.of(statement), block, environment);
  }
  for (const tic::Statement& statement : block.statements) {
    const CompiledStatement& compiled = compiled_.of(statement);
    if (const auto* declaration = std::get_if<tic::Declaration>(&statement.form)) {
      for (std::size_t i = 0; i < declaration->names.size(); ++i) {
        if (declaration->names[i].value) start(compiled, environment, value_stage(i));
      }
    } else {
      start(compiled, environment);
    }
  }
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

void Interpreter::declare(const CompiledStatement& statement, const tic::Block& block,
                          Environment& environment) {
  const auto& declaration = std::get<tic::Declaration>(statement.statement->form);
  for (std::size_t i = 0; i < declaration.names.size(); ++i) {
    const tic::Declared& declared = declaration.names[i];
    Slot& slot = environment.slot(declared.variable);
    DataId id;
    if (is_container(declaration.type)) {
      id = flow_.create_container(Kind::none, compiled_.is_main(block), place(declared),
                                  has_fields(declaration.type) && !is_dry());
    } else {
      id = flow_.create(Kind::none, place(declared));
    }
    slot.reader.ref = {id, kWholeWeight};
    slot.writer.ref = {id, kWholeWeight};
    if (declaration.type.is(tic::Kind::structure))
      make_fields(declared.variable, environment, place(declared));
    if (declaration.type.is(tic::Kind::file)) declare_file(statement, i, environment);
  }
}

// It may get its name later: that is a statement of its own, for which the file's slot has the
// right to set the name.
void Interpreter::declare_file(const CompiledStatement& statement, std::size_t i,
                               Environment& environment) {
  const tic::Declared& declared = declared_at(*statement.statement, name_stage(i));
  Slot& slot = environment.slot(declared.variable);
  if (!declared.mapped) {
    const std::string name = compiled_.temporary_name(declared.name, flow_.new_file_name());
    slot.name = Value::text(Kind::file, name);
    // Tasks in a journal have their files in later runs, too.
    const bool may_go = compiled_.is_kept_by_readers(environment.frame(), declared.variable);
    if (may_go && !is_dry() && flow_.journal() == nullptr)
      slot.lease = flow_.lease_file(name, place(declared));
    return;
  }
  Slot file = std::exchange(slot, {});
  const bool is_input = !compiled_.is_written(environment.frame(), declared.variable);
  if (is_input) {
    // Its name is all that there is to know.
    slot.writer.ref = std::exchange(file.writer.ref, {});
  } else {
    const Ref whole{flow_.create(Kind::file, place(declared)), kWholeWeight};
    slot.writer.ref = file.named = whole;
  }
  start(statement, environment, name_stage(i));
  file.name = slot.name;
  if (is_input && file.name.kind() == Kind::none) file.named = flow_.share(file.reader.ref, false);
  environment.forget(declared.variable);
  slot = std::move(file);
}

void Interpreter::perform_name(const tic::Declared& declared, Environment& environment) {
  Slot& slot = environment.slot(declared.variable);
  const std::string name = evaluate(*declared.mapped, compiled_, environment).as_text();
  if (name.empty()) {
    throw Error(place_text(compiled_, declared.mapped->place) +
                ": found \"\", expected a name for '" + declared.name + "'; without one, `file " +
                declared.name + "` is a temporary file");
  }
  if (compiled_.writes_named_files() &&
      !compiled_.is_written(environment.frame(), declared.variable)) {
    claim_file_name(name,
                    "file '" + declared.name + "' of " + place_text(compiled_, declared.place),
                    NameUse::read);
  }
  const Ref writer = std::exchange(slot.writer.ref, {});
  slot.name = Value::text(Kind::file, name);
  flow_.set(writer, slot.name, place(declared));
}

// Of the files that a rule is about to write, as far as the script names them: others have names of
// their own.
void Interpreter::claim_names(const tic::Rule& rule, const Environment& environment) const {
  for (const Expr& output : rule.outputs) {
    const auto* name = output.as<tic::NameRef>();
    if (name == nullptr || !environment.slot(name->variable).named.id) continue;
    const Value file = output_name(output, environment);
    if (file.kind() != Kind::file) continue;
    const tic::Variable& declared =
        environment.frame().variables[static_cast<std::size_t>(name->variable)];
    claim_file_name(file.as_text(),
                    "file '" + declared.name + "' of " + place_text(compiled_, declared.place),
                    NameUse::write);
  }
}

Value Interpreter::output_name(const Expr& output, const Environment& environment) {
  const auto* name = output.as<tic::NameRef>();
  if (name == nullptr) return {};
  const Slot& slot = environment.slot(name->variable);
  if (slot.name.kind() != Kind::none || !slot.named.id) return slot.name;
  const auto found = environment.known.find(&output);
  RUBATO_REQUIRE(found != environment.known.end(), output.place.line);
  return found->second;
}

Value Interpreter::name_to_write(const Expr& output, const tic::Callable& by,
                                 Environment& environment) {
  Value name = output_name(output, environment);
  if (name.kind() != Kind::none) return name;
  std::string temporary = compiled_.temporary_name(by.name, flow_.new_file_name());
  for (const Value& key : keys_of(output, environment))
    temporary += "-" + in_file_name(text_of(key));
  return Value::text(Kind::file, temporary);
}

void Interpreter::add_name_arguments(const Expr& e, Environment& environment,
                                     std::vector<Arg>& to) {
  const auto* name = e.as<tic::NameRef>();
  Slot* const slot = name == nullptr ? nullptr : &environment.slot(name->variable);
  to.push_back(slot == nullptr ? Arg() : environment.pack_name(*slot));
  if (!e.type.is(tic::Kind::file)) return;
  to.push_back(slot == nullptr ? Arg() : environment.pack_lease(*slot));
}

// --- operands

bool Interpreter::is_known(const Operand& operand, const Environment& environment) const {
  if (operand.is_name) return environment.known.contains(operand.expression);
  return known_value(*operand.expression, environment) != nullptr;
}

// The argument of filename(), if its name is all that is to be waited for.
bool Interpreter::collect_name(const Expr& file, const Environment& environment,
                               std::vector<Operand>& to) {
  const auto* name = file.as<tic::NameRef>();
  if (name == nullptr) return false;
  const Slot& slot = environment.slot(name->variable);
  if (slot.name.kind() != Kind::none) return true;
  if (slot.is_known()) return !slot.value.is_failed();
  if (slot.named.id) to.push_back({&file, Arg::Mode::wait, true});
  return static_cast<bool>(slot.named.id);
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
      if (call->name == "filename" && collect_name(argument, environment, to)) continue;
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

// It is open, and its keys are known.
bool Interpreter::may_wait_for(const Operand& operand, const Environment& environment) const {
  if (is_known(operand, environment)) return false;
  std::vector<Operand> needs;
  collect_keys(*operand.expression, environment, needs);
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
    if (const Value* const failure = failure_among(operands, environment))
      return skip_statement(statement, environment, *failure, stage);
    const auto is_open = [&](const Operand& o) { return !is_known(o, environment); };
    const bool waits = std::ranges::any_of(operands, is_open);
    if (waits || (stage == Stage::begin && is_task_of_its_own(*statement.statement))) {
      return defer(statement, environment, operands, waits ? stage : Stage::ready);
    }
    perform(statement, environment, stage);
  } catch (const std::exception& error) {
    fail(statement, environment, error.what(), stage);
  }
}

void Interpreter::defer(const CompiledStatement& statement, Environment& environment,
                        const std::vector<Operand>& operands, Stage stage, const Value& failure) {
  // What may be wrong first: then nobody has references of it yet.
  RuleOptions options;
  const auto* rule = std::get_if<tic::Rule>(&statement.statement->form);
  if (rule != nullptr && stage == Stage::ready && !is_dry())
    options = task_options(*rule, environment);
  ArgsInHand in_hand(flow_);
  std::vector<Arg>& args = in_hand.all;
  environment.pack(statement, args);
  for (const int variable : own_variables(*statement.statement, stage))
    environment.pack_slot(variable, true, args);
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
    } else if (operand.is_name) {
      const int file = tic::root_variable(*operand.expression);
      args.push_back(
          {Arg::Mode::wait, flow_.share(environment.slot(file).named, false), {}, nullptr});
    } else if (may_wait_for(operand, environment)) {
      args.push_back(read_argument(*operand.expression, operand.mode, environment));
    } else {
      args.emplace_back();
    }
  }
  const StatementId id{statement.number, stage};
  const PortablePlace at = place(*statement.statement);
  if (stage == Stage::failing) return submit_failing(flow_, id, in_hand.take(), failure, at);
  if (is_dry()) return submit_dry_statement(flow_, id, in_hand.take(), options, at);
  submit_statement(flow_, id, part_of(*statement.statement, stage), in_hand.take(), options, at);
}

// Of a rule of that statement.
TaskPart Interpreter::part_of(const tic::Statement& statement, Stage stage) const {
  if (!is_task_of_its_own(statement)) return TaskPart::step;
  const auto& call = std::get<tic::RuleCall>(std::get<tic::Rule>(statement.form).action);
  switch (compiled_.program().callables[static_cast<std::size_t>(call.index)].kind) {
    case tic::CallableKind::function:
      return TaskPart::step;
    case tic::CallableKind::leaf:
      return stage == Stage::ready ? TaskPart::task : TaskPart::before_task;
    case tic::CallableKind::app:
      return TaskPart::before_task;
  }
  return TaskPart::step;
}

std::size_t Interpreter::unpack_statement(const CompiledStatement& statement, Stage stage,
                                          Rule& rule, Environment& environment) {
  std::size_t at = 0;
  environment.unpack(statement, rule.args(), at);
  for (const int variable : own_variables(*statement.statement, stage)) {
    environment.forget(variable);  // others of its declaration may need it, too
    environment.unpack_slot(variable, rule.args(), at);
  }
  return at;
}

void Interpreter::run_statement(Rule& rule) {
  const StatementId id = statement_of(rule);
  const CompiledStatement& statement = compiled_.statement(id.number);
  const Stage stage = id.stage;
  Environment environment(flow_, *statement.frame);
  std::size_t at = unpack_statement(statement, stage, rule, environment);
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

}  // namespace rubato::flow

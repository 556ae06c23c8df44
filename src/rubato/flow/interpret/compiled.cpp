#include "rubato/flow/interpret/compiled.hpp"

#include <algorithm>
#include <iterator>

#include "rubato/flow/interpret/escaping_files.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/leaf_runs.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/tic/check.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {
namespace {

using tic::Block;
using tic::Expr;
using tic::Statement;

// All variables that a statement names, and those that it writes, blocks included.
class Uses {
 public:
  std::set<int> named;
  std::set<int> written;
  std::set<int> inner;    // declared inside
  bool has_next = false;  // of the loop around

  void add(const Block& block) {
    inner.insert(block.declared.begin(), block.declared.end());
    for (const Statement& statement : block.statements)
      add(statement);
  }
  void add(const Statement& statement) {
    const bool had_next = has_next;
    std::visit([&](const auto& form) { add_form(form); }, statement.form);
    tic::for_each_block(statement, [&](const Block& block) { add(block); });
    // That of a loop inside goes on with that loop.
    if (std::holds_alternative<tic::Loop>(statement.form)) has_next = had_next;
  }

 private:
  void add(const Expr& e) {
    if (const auto* name = e.as<tic::NameRef>()) named.insert(name->variable);
    tic::for_each_part(e, [&](const Expr& part) { add(part); });
  }
  void add(const tic::Box<Expr>& e) {
    if (e) add(*e);
  }
  void add_all(const std::vector<Expr>& all) {
    for (const Expr& e : all)
      add(e);
  }
  void add_target(const Expr& e) {
    add(e);
    written.insert(tic::root_variable(e));
  }
  void add_options(const tic::Options& options) {
    for (const auto* e : {&options.priority, &options.retries, &options.timeout, &options.target,
                          &options.parallel})
      add(*e);
  }

  void add_form(const tic::Declaration& declaration) {
    for (const tic::Declared& declared : declaration.names) {
      inner.insert(declared.variable);
      add(declared.mapped);
      add(declared.value);
      if (declared.value) written.insert(declared.variable);
    }
  }
  void add_form(const tic::Assign& assign) {
    add_target(assign.target);
    add(assign.value);
  }
  void add_form(const tic::Rule& rule) {
    add_all(rule.inputs);
    for (const Expr& output : rule.outputs)
      add_target(output);
    if (const auto* e = std::get_if<Expr>(&rule.action)) {
      add(*e);
    } else {
      const auto& call = std::get<tic::RuleCall>(rule.action);
      for (const tic::Argument& argument : call.arguments)
        add(argument.value);
      add(call.value);
    }
    add_options(rule.options);
  }
  void add_form(const tic::Insert& insert) {
    add_target(insert.member);
    add(insert.value);
  }
  void add_form(const tic::Close& close) { add_target(close.container); }
  void add_form(const tic::Foreach& loop) {
    inner.insert(loop.value.variable);
    if (loop.key) inner.insert(loop.key->variable);
    add(loop.container);
  }
  void add_form(const tic::ForRange& loop) {
    inner.insert(loop.variable.variable);
    add(loop.first);
    add(loop.last);
    add(loop.step);
  }
  void add_form(const tic::If& branch) { add(branch.condition); }
  void add_form(const tic::Switch& cases) { add(cases.subject); }
  void add_form(const tic::Loop& loop) {
    for (const tic::LoopState& state : loop.state) {
      inner.insert(state.name.variable);
      add(state.initial);
    }
    add(loop.condition);
    for (const Expr& result : loop.results)
      add_target(result);
  }
  void add_form(const tic::Next& next) {
    has_next = true;
    add_all(next.values);
  }
  void add_form(const tic::Wait& wait) { add_all(wait.inputs); }
  void add_form(const tic::CallExpr& call) { add_all(call.arguments); }
};

// That which is another one in each round of a loop; -1: there is none.
int variable_of_rounds(const Statement& statement) {
  if (const auto* range = std::get_if<tic::ForRange>(&statement.form))
    return range->variable.variable;
  if (const auto* each = std::get_if<tic::Foreach>(&statement.form))
    return each->key ? each->key->variable : -1;
  if (const auto* loop = std::get_if<tic::Loop>(&statement.form))
    return loop->state.empty() ? -1 : loop->state.front().name.variable;
  return -1;
}

}  // namespace

Compiled::Compiled(const std::string& text, const std::string& file_name, ScriptArguments arguments)
    : program_(tic::load_program(text, file_name)), arguments_(std::move(arguments)) {
  set_default_options();
  for (const tic::Callable& callable : program_.callables) {
    if (callable.kind == tic::CallableKind::function) {
      add_block(callable.frame.body, callable.frame, -1);
    }
  }
  add_block(program_.main.body, program_.main, -1);
  for (std::size_t i = 0; i < statements_.size(); ++i) {
    if (loops_[i] >= 0) statements_[i].loop = &statements_[static_cast<std::size_t>(loops_[i])];
  }
  escaping_ = escaping_files(program_);
  for (const auto& [frame, variable] : written_) {
    if (frame->variables[static_cast<std::size_t>(variable)].mapped) writes_named_files_ = true;
  }
}

const std::set<std::vector<int>>& Compiled::filled_fields(const tic::Frame& frame,
                                                          int variable) const {
  static const std::set<std::vector<int>> none;
  const auto found = filled_.find({&frame, variable});
  return found == filled_.end() ? none : found->second;
}

// As if each leaf and app said them.
void Compiled::set_default_options() {
  for (tic::Callable& callable : program_.callables) {
    if (callable.kind == tic::CallableKind::function) continue;
    const auto set = [&](tic::Box<Expr>& option, auto literal) {
      Expr value;
      value.place = callable.place;
      value.form = literal;
      if (!option) option = tic::Box<Expr>(std::move(value));
    };
    if (arguments_.retries > 0)
      set(callable.options.retries, tic::IntegerLiteral{arguments_.retries});
    if (arguments_.timeout > 0 && !is_leaf_of_team(callable.name))
      set(callable.options.timeout, tic::FloatLiteral{arguments_.timeout});
  }
}

std::string Compiled::temporary_name(const std::string& called, std::string_view number) const {
  if (arguments_.temporary_folder.empty()) {
    throw Error(
        "file '" + called +
        "' has no name, and nodes share no folder for such files: found TMPDIR (or /tmp) and the "
        "folder of the run on one node alone; give it a name, or --temporary DIR that all see");
  }
  return arguments_.temporary_folder + "/" + called + "-" + std::string(number);
}

void Compiled::check_arguments() const {
  if (program_.has_computed_arguments) return;
  const std::set<std::string>& read = program_.argument_names;
  for (const auto& [name, value] : arguments_.named) {
    if (read.contains(name)) continue;
    std::string names;
    for (const std::string& each : read)
      names.append(names.empty() ? "" : ", ").append(each);
    throw Error(program_.file_name + ": found the argument '" + printable(name) +
                    "', which nothing in it reads, expected " + (names.empty() ? "none" : names) +
                    did_you_mean(name, {read.begin(), read.end()}),
                ExitCode::usage);
  }
}

void Compiled::check_types(const Workers& workers) const {
  const auto check = [&](const tic::Options& options, const tic::Node& at) {
    if (options.work_type.empty()) return;
    try {
      static_cast<void>(workers.type(options.work_type));
    } catch (const Error& error) {
      throw Error(program_.file_name + ":" + std::to_string(at.place.line) + ":" +
                      std::to_string(at.place.column) + ": " + error.what(),
                  ExitCode::bad_input);
    }
  };
  for (const tic::Callable& callable : program_.callables)
    check(callable.options, callable);
  for (const CompiledStatement& compiled : statements_) {
    if (const auto* rule = std::get_if<tic::Rule>(&compiled.statement->form))
      check(rule->options, *compiled.statement);
  }
}

void Compiled::check_leaves() const {
  std::set<int> called;
  for (const CompiledStatement& compiled : statements_) {
    const auto* rule = std::get_if<tic::Rule>(&compiled.statement->form);
    const auto* call = rule != nullptr ? std::get_if<tic::RuleCall>(&rule->action) : nullptr;
    if (call != nullptr && call->callee_kind == tic::CalleeKind::callable)
      called.insert(call->index);
  }
  std::string problems;
  for (const int index : called) {
    const tic::Callable& callable = program_.callables[static_cast<std::size_t>(index)];
    if (callable.kind != tic::CallableKind::leaf) continue;
    try {
      check_signature(callable, leaf_function(callable.name));
    } catch (const Error& error) {
      problems.append(problems.empty() ? "" : "\n").append(program_.file_name);
      problems.append(":").append(std::to_string(callable.place.line));
      problems.append(":").append(std::to_string(callable.place.column));
      problems.append(": ").append(error.what());
    }
  }
  if (!problems.empty()) throw Error(problems, ExitCode::bad_input);
}

void Compiled::add_block(const Block& block, const tic::Frame& frame, int loop) {
  for (const Statement& statement : block.statements)
    add_statement(statement, frame, loop);
}

// s.f[i], of a struct s: f. A name that is inserted as the field itself is another container.
void Compiled::add_filled(const Statement& statement, const tic::Frame& frame) {
  const auto add = [&](const Expr& target) {
    const Expr* e = &target;
    const Expr* container = nullptr;  // that the innermost member of the variable is in
    std::vector<int> fields;
    while (e->as<tic::NameRef>() == nullptr) {
      if (const auto* member = e->as<tic::MemberRef>()) {
        e = container = &*member->container;
        fields.clear();
      } else {
        const auto& field = std::get<tic::FieldRef>(e->form);
        fields.push_back(field.index);
        e = &*field.object;
      }
    }
    if (container != nullptr && !fields.empty())
      filled_[{&frame, tic::root_variable(target)}].insert(std::move(fields));
  };
  if (const auto* insert = std::get_if<tic::Insert>(&statement.form)) add(insert->member);
  if (const auto* assign = std::get_if<tic::Assign>(&statement.form)) add(assign->target);
  if (const auto* rule = std::get_if<tic::Rule>(&statement.form)) {
    for (const Expr& output : rule->outputs)
      add(output);
  }
}

void Compiled::add_statement(const Statement& statement, const tic::Frame& frame, int loop) {
  Uses uses;
  uses.add(statement);
  add_filled(statement, frame);
  const auto number = static_cast<int>(statements_.size());
  CompiledStatement compiled{&statement, &frame, nullptr, static_cast<std::uint32_t>(number),
                             {},         {},     {}};
  // What goes on with the loop needs what the loop needs, and its state is set anew.
  if (uses.has_next && loop >= 0) {
    const CompiledStatement& around = statements_[static_cast<std::size_t>(loop)];
    for (std::size_t i = 0; i < around.needs.size(); ++i) {
      uses.named.insert(around.needs[i]);
      if (around.writes[i]) uses.written.insert(around.needs[i]);
    }
  }
  // Others of its declaration: the value of one may need them.
  const bool is_declaration = std::holds_alternative<tic::Declaration>(statement.form);
  const std::set<int> siblings = is_declaration ? uses.named : std::set<int>();
  for (const int variable : uses.written) {
    uses.named.insert(variable);
    written_.insert({&frame, variable});
  }
  for (const int variable : uses.named) {
    const bool is_inner = uses.inner.contains(variable);
    if (is_inner && !siblings.contains(variable)) continue;
    compiled.needs.push_back(variable);
    compiled.writes.push_back(!is_inner && uses.written.contains(variable));
  }
  const auto is_needed = [&](int variable) {
    return std::ranges::find(compiled.needs, variable) != compiled.needs.end();
  };
  std::ranges::copy_if(rounds_, std::back_inserter(compiled.rounds), is_needed);
  numbers_[&statement] = compiled.number;
  statements_.push_back(std::move(compiled));
  loops_.push_back(loop);
  const bool is_loop = std::holds_alternative<tic::Loop>(statement.form);
  const std::size_t n_rounds = rounds_.size();
  if (const int variable = variable_of_rounds(statement); variable >= 0)
    rounds_.push_back(variable);
  tic::for_each_block(
      statement, [&](const Block& block) { add_block(block, frame, is_loop ? number : loop); });
  rounds_.resize(n_rounds);
}

}  // namespace rubato::flow

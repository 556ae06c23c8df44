#include "rubato/flow/tic/detail/checker.hpp"

#include <algorithm>
#include <set>

#include "rubato/base/error.hpp"
#include "rubato/flow/tic/builtins.hpp"
#include "rubato/flow/tic/check.hpp"
#include "rubato/flow/tic/lexer.hpp"
#include "rubato/flow/tic/parse.hpp"

namespace rubato::flow::tic {

void check_program(Program& program, Diagnostics& errors, Diagnostics& warnings) {
  detail::Checker(program, errors).run();
  // Who writes what is only known where names are.
  if (errors.empty()) detail::check_writers(program, errors, warnings);
}

std::vector<Diagnostic> check_program(Program& program) {
  Diagnostics errors(program.file_name);
  Diagnostics warnings(program.file_name);
  check_program(program, errors, warnings);
  errors.throw_if_any();
  return warnings.list();
}

Program load_program(std::string_view text, std::string file_name) {
  Program program = parse_program(text, std::move(file_name));
  static_cast<void>(check_program(program));
  return program;
}

namespace detail {
namespace {

void insert_sorted(std::vector<int>& list, int value) {
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at == list.end() || *at != value) list.insert(at, value);
}

}  // namespace

void Checker::fail(Place place, std::string_view found, std::string_view expected,
                   std::string_view hint) {
  errors_.found(place, found, expected, hint);
  throw CheckStop();
}

void Checker::run() {
  declare_globals();
  structs();
  for (Callable& c : program_.callables) {
    try {
      parameters(c);
    } catch (const CheckStop&) {
      // Noted; its calls would only repeat it.
    }
  }
  if (!errors_.empty()) return;
  for (Callable& c : program_.callables)
    callable(c);
  frame(program_.main);
}

void Checker::taken(const Node& node, const std::string& name,
                    std::map<std::string, Place>& names) {
  const auto [at, is_new] = names.emplace(name, node.place);
  if (!is_new) {
    errors_.found(node.place, "a second '" + name + "'",
                  "another name; the first is at " + errors_.where(at->second));
  }
  if (is_builtin(name)) {
    errors_.found(node.place, "'" + name + "'", "another name; this is a built-in function");
  }
}

void Checker::declare_globals() {
  std::map<std::string, Place> names;
  for (std::size_t i = 0; i < program_.structs.size(); ++i) {
    taken(program_.structs[i], program_.structs[i].name, names);
    struct_index_.emplace(program_.structs[i].name, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < program_.callables.size(); ++i) {
    taken(program_.callables[i], program_.callables[i].name, names);
    callable_index_.emplace(program_.callables[i].name, static_cast<int>(i));
  }
}

void Checker::structs() {
  for (Struct& s : program_.structs) {
    std::map<std::string, Place> fields;
    for (Parameter& field : s.fields) {
      try {
        resolve(field.type, field.place);
      } catch (const CheckStop&) {
        continue;
      }
      const auto [at, is_new] = fields.emplace(field.name.text, field.name.place);
      if (is_new) continue;
      errors_.found(field.name.place, "a second field '" + field.name.text + "'",
                    "another name; the first is at " + errors_.where(at->second));
    }
    if (s.fields.empty()) errors_.found(s.place, "a struct without fields", "at least one");
  }
  if (!errors_.empty()) return;
  for (std::size_t i = 0; i < program_.structs.size(); ++i) {
    if (!contains_itself(static_cast<int>(i))) continue;
    const Struct& s = program_.structs[i];
    errors_.found(s.place, "struct '" + s.name + "', which contains itself",
                  "a container between, whose members may be missing");
  }
}

bool Checker::contains_itself(int struct_index) const {
  std::set<int> seen;
  std::vector<int> left{struct_index};
  while (!left.empty()) {
    const int at = left.back();
    left.pop_back();
    for (const Parameter& field : program_.structs.at(static_cast<std::size_t>(at)).fields) {
      if (!field.type.is(Kind::structure)) continue;
      if (field.type.struct_index == struct_index) return true;
      if (seen.insert(field.type.struct_index).second) left.push_back(field.type.struct_index);
    }
  }
  return false;
}

void Checker::resolve(Type& type, Place place) {
  if (type.is(Kind::container)) resolve(type.element.at(0), place);
  if (!type.is(Kind::structure)) return;
  const auto at = struct_index_.find(type.struct_name);
  if (at != struct_index_.end()) {
    type.struct_index = at->second;
    return;
  }
  // What looks like a type may be a misspelled statement.
  std::vector<std::string> words = reserved_words();
  for (const auto& each : struct_index_)
    words.push_back(each.first);
  fail(place, "'" + type.struct_name + "'", "a type", did_you_mean(type.struct_name, words));
}

void Checker::parameters(Callable& c) {
  const auto add = [&](Parameter& p, VariableRole role) {
    resolve(p.type, p.place);
    for (const Variable& v : c.frame.variables) {
      if (v.name != p.name.text) continue;
      fail(p.name.place, "a second '" + v.name + "'",
           "another name; the first is at " + errors_.where(v.place));
    }
    p.name.variable = static_cast<int>(c.frame.variables.size());
    Variable v;
    v.place = p.name.place;
    v.name = p.name.text;
    v.type = p.type;
    v.role = role;
    c.frame.variables.push_back(std::move(v));
  };
  for (Parameter& p : c.inputs) {
    add(p, VariableRole::input);
    if (c.kind == CallableKind::leaf) leaf_input(p);
  }
  for (Parameter& p : c.outputs)
    add(p, VariableRole::output);
}

void Checker::callable(Callable& c) {
  if (c.kind == CallableKind::function) return frame(c.frame);
  frame_ = &c.frame;
  const ScopeGuard scope(*this, c.frame.body);
  for (std::size_t i = 0; i < c.frame.variables.size(); ++i)
    scopes_.back().names.emplace(c.frame.variables[i].name, static_cast<int>(i));
  try {
    options(c.options, c.kind == CallableKind::app);
    reads_options(c);
    if (c.kind == CallableKind::app) command(c);
  } catch (const CheckStop&) {
    // Noted.
  }
}

void Checker::frame(Frame& frame) {
  frame_ = &frame;
  scopes_.clear();
  const ScopeGuard scope(*this, frame.body);
  for (std::size_t i = 0; i < frame.variables.size(); ++i) {
    scopes_.back().names.emplace(frame.variables[i].name, static_cast<int>(i));
    frame.body.declared.push_back(static_cast<int>(i));
  }
  statements(frame.body);
}

int Checker::declare(const std::string& name, Place place, Type type, VariableRole role) {
  for (const Scope& scope : scopes_) {
    const auto at = scope.names.find(name);
    if (at == scope.names.end()) continue;
    const Place first = frame_->variables.at(static_cast<std::size_t>(at->second)).place;
    errors_.found(place, "a second '" + name + "'",
                  "another name; the first is at " + errors_.where(first));
    throw CheckStop();
  }
  const int index = static_cast<int>(frame_->variables.size());
  Variable v;
  v.place = place;
  v.name = name;
  v.type = std::move(type);
  v.role = role;
  frame_->variables.push_back(std::move(v));
  scopes_.back().names.emplace(name, index);
  insert_sorted(scopes_.back().block->declared, index);
  return index;
}

void Checker::declare(Name& name, Type type, VariableRole role) {
  name.variable = declare(name.text, name.place, std::move(type), role);
}

int Checker::look_up(const std::string& name, Place place, Use use) {
  for (std::size_t depth = scopes_.size(); depth-- > 0;) {
    const auto at = scopes_[depth].names.find(name);
    if (at == scopes_[depth].names.end()) continue;
    // Each block between here and the declaration needs it from outside.
    for (std::size_t inner = depth + 1; inner < scopes_.size(); ++inner) {
      insert_sorted(scopes_[inner].block->captures, at->second);
      if (use == Use::write) insert_sorted(scopes_[inner].block->writes, at->second);
    }
    return at->second;
  }
  unknown_name(name, place);
}

void Checker::unknown_name(const std::string& name, Place place) {
  std::vector<std::string> names;
  for (const Scope& scope : scopes_) {
    for (const auto& each : scope.names)
      names.push_back(each.first);
  }
  const std::string found = "'" + name + "'";
  const auto& globals = program_.main.body.statements;
  if (frame_ != &program_.main) {
    for (const Statement& s : globals) {
      const auto* d = std::get_if<Declaration>(&s.form);
      if (d == nullptr) continue;
      for (const Declared& each : d->names) {
        if (each.name != name) continue;
        fail(place, found + ", a variable of main", "a parameter or a variable of this function");
      }
    }
  }
  fail(place, found, "a variable that is declared above", did_you_mean(name, names));
}

}  // namespace detail
}  // namespace rubato::flow::tic

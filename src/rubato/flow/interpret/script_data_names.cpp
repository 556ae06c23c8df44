#include "rubato/flow/interpret/script_data_names.hpp"

#include <cstring>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/interpreter.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {
namespace {

std::size_t n_keys_of(const tic::Expr& target) {
  if (const auto* member = target.as<tic::MemberRef>()) return 1 + n_keys_of(*member->container);
  if (const auto* field = target.as<tic::FieldRef>()) return 1 + n_keys_of(*field->object);
  return 0;
}

bool is_of_script(SourcePlace place) {
  return std::strcmp(place.file, script_file()) == 0;
}

}  // namespace

bool has_fields(const tic::Type& type) noexcept {
  const tic::Type* inner = &type;
  while (inner->is(tic::Kind::container))
    inner = &inner->element.front();
  return inner->is(tic::Kind::structure);
}

ScriptDataNames::ScriptDataNames(const Compiled& compiled) : compiled_(compiled) {
  const auto add = [&](const tic::Frame& frame) {
    for (const tic::Variable& variable : frame.variables) {
      const LineAndColumn at{variable.place.line, variable.place.column};
      variables_[at] = &variable;
      targets_[at] = {&variable, 0};  // `integer x = 1`
    }
    add_block(frame.body, frame);
  };
  for (const tic::Callable& callable : compiled_.program().callables)
    add(callable.frame);
  add(compiled_.program().main);
}

void ScriptDataNames::add_block(const tic::Block& block, const tic::Frame& frame) {
  for (const tic::Statement& statement : block.statements) {
    const std::vector<const tic::Expr*> targets = targets_of(statement);
    const auto add = [&](const tic::Expr& target, tic::Place at) {
      const auto variable = static_cast<std::size_t>(tic::root_variable(target));
      targets_[{at.line, at.column}] = {&frame.variables[variable], n_keys_of(target)};
    };
    for (const tic::Expr* target : targets)
      add(*target, target->place);
    // What programs write is set where they are called.
    const auto* rule = std::get_if<tic::Rule>(&statement.form);
    const auto* call = rule == nullptr ? nullptr : std::get_if<tic::RuleCall>(&rule->action);
    if (call != nullptr && targets.size() == 1) add(*targets.front(), call->place);
    tic::for_each_block(statement, [&](const tic::Block& inner) { add_block(inner, frame); });
  }
}

std::string ScriptDataNames::made_at(PortablePlace at) const {
  const SourcePlace place = at.place();
  if (!is_of_script(place)) return "";
  const auto found = variables_.find({place.line, place.column});
  return found == variables_.end() ? "" : "'" + found->second->name + "'";
}

std::string ScriptDataNames::set_at(PortablePlace at, const Keys& keys) const {
  const SourcePlace place = at.place();
  if (!is_of_script(place)) return "";
  const auto found = targets_.find({place.line, place.column});
  if (found == targets_.end()) return "";
  const tic::Variable& variable = *found->second.variable;
  // A parameter may be a member itself, whose keys are the outermost ones.
  std::size_t n_left = keys.size();
  if (variable.role == tic::VariableRole::output) n_left = std::min(n_left, found->second.n_keys);
  std::string name = variable.name;
  const tic::Type* type = &variable.type;
  for (; n_left > 0; --n_left) {
    const Value& key = keys[n_left - 1];
    if (type->is(tic::Kind::structure)) {
      const tic::Parameter& field =
          struct_of(*type).fields.at(static_cast<std::size_t>(key.as_integer()));
      name += "." + field.name.text;
      type = &field.type;
    } else {
      name += "[" + key_text(key) + "]";
      if (type->is(tic::Kind::container)) type = &type->element.front();
    }
  }
  return "'" + name + "'";
}

// --- fields

struct ScriptDataNames::Unset {
  Flow& flow;
  PortablePlace at;  // of the variable
};

void ScriptDataNames::note_unset_fields(Flow& flow, DataId id, PortablePlace at) const {
  const SourcePlace place = at.place();
  const auto found = variables_.find({place.line, place.column});
  if (!is_of_script(place) || found == variables_.end()) return;
  note_fields({flow, at}, id, found->second->name, found->second->type);
}

// Containers that others made and put there say so themselves.
void ScriptDataNames::note_fields(const Unset& unset, DataId id, const std::string& name,
                                  const tic::Type& type) const {
  if (!type.is(tic::Kind::structure)) {
    const tic::Type& element = type.element.front();
    unset.flow.for_each_made_inside(
        id, [&](DataId inner) { note_fields(unset, inner, name + "[..]", element); });
    return;
  }
  if (!unset.flow.may_tell_unset(id)) return;
  const std::vector<tic::Parameter>& fields = struct_of(type).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string field = name + "." + fields[i].name.text;
    const auto key = static_cast<std::int64_t>(i);
    if (unset.flow.lacks_field(id, key)) {
      // Nothing need come to be in a container.
      if (!fields[i].type.is(tic::Kind::container)) unset.flow.note_unset_field(unset.at, field);
    } else if (has_fields(fields[i].type)) {
      const DataId inner = unset.flow.made_inside(id, key);
      if (inner) note_fields(unset, inner, field, fields[i].type);
    }
  }
}

}  // namespace rubato::flow

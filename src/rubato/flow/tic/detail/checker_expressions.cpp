#include <type_traits>

#include "rubato/base/error.hpp"
#include "rubato/flow/tic/builtins.hpp"
#include "rubato/flow/tic/detail/checker.hpp"
#include "rubato/flow/tic/detail/expression_text.hpp"

namespace rubato::flow::tic::detail {
namespace {

// "integer 'n'", "the string \"x\"": what a message says was found.
std::string described(const Expr& e) {
  return type_text(e.type) + " '" + expression_text(e) + "'";
}

std::string conversion_hint(const Type& to, const Type& from) {
  if (to.is(Kind::string) && from.is(Kind::file)) return "; filename(f) or read(f) is a string";
  if (to.is(Kind::string) && from.is_scalar()) return "; string(x) converts";
  if (to.is(Kind::integer) && from.is_scalar()) return "; int(x) converts";
  if (to.is(Kind::floating) && from.is(Kind::string)) return "; float(x) converts";
  return "";
}

}  // namespace

const Type& Checker::expression(Expr& e) {
  e.type = std::visit([&](auto& f) { return form(e, f); }, e.form);
  return e.type;
}

template <class Literal>
Type Checker::form(Expr& e, Literal& literal) {
  static_cast<void>(e);
  static_cast<void>(literal);
  if constexpr (std::is_same_v<Literal, IntegerLiteral>) return type_of(Kind::integer);
  if constexpr (std::is_same_v<Literal, FloatLiteral>) return type_of(Kind::floating);
  if constexpr (std::is_same_v<Literal, StringLiteral>) return type_of(Kind::string);
  return type_of(Kind::boolean);
}

Type Checker::form(Expr& e, NameRef& n) {
  n.variable = look_up(n.name, e.place, Use::read);
  return frame_->variables.at(static_cast<std::size_t>(n.variable)).type;
}

Type Checker::form(Expr& e, MemberRef& m) {
  const Type container = expression(*m.container);
  if (!container.is(Kind::container)) {
    fail(e.place, described(*m.container) + " before '['", "a container");
  }
  expression(*m.key);
  expect_type(type_of(container.key), *m.key, "the key");
  return container.element.at(0);
}

Type Checker::form(Expr& e, FieldRef& f) {
  const Type object = expression(*f.object);
  if (!object.is(Kind::structure)) {
    fail(e.place, described(*f.object) + " before '." + f.field + "'", "a struct");
  }
  const Struct& s = program_.structs.at(static_cast<std::size_t>(object.struct_index));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < s.fields.size(); ++i) {
    names.push_back(s.fields[i].name.text);
    if (names.back() != f.field) continue;
    f.index = static_cast<int>(i);
    return s.fields[i].type;
  }
  fail(e.place, "'." + f.field + "'", "a field of struct " + s.name, did_you_mean(f.field, names));
}

Type Checker::form(Expr& e, Unary& u) {
  static_cast<void>(e);
  expression(*u.operand);
  if (u.op == UnaryOp::logical_not) {
    expect_kind(*u.operand, Kind::boolean, "behind 'not'");
    return type_of(Kind::boolean);
  }
  expect_number(*u.operand, "behind '-'");
  return u.operand->type;
}

Type Checker::form(Expr& e, Binary& b) {
  const Type left = expression(*b.left);
  const Type right = expression(*b.right);
  const std::string beside = "beside '" + std::string(operator_text(b.op)) + "'";
  if (b.op == BinaryOp::logical_and || b.op == BinaryOp::logical_or) {
    expect_kind(*b.left, Kind::boolean, beside);
    expect_kind(*b.right, Kind::boolean, beside);
    return type_of(Kind::boolean);
  }
  if (b.op == BinaryOp::concatenate) {
    for (const Expr* side : {&*b.left, &*b.right}) {
      if (side->type.is_scalar()) continue;
      fail(side->place, described(*side) + " " + beside, "a string, a number or a boolean",
           conversion_hint(type_of(Kind::string), side->type));
    }
    return type_of(Kind::string);
  }
  if (b.op <= BinaryOp::greater_equal) {
    const bool equality = b.op == BinaryOp::equal || b.op == BinaryOp::not_equal;
    const bool alike = (left.is_number() && right.is_number()) ||
                       (left == right && left.is(Kind::string)) ||
                       (left == right && left.is(Kind::boolean) && equality);
    if (!alike) {
      fail(e.place, described(*b.left) + " and " + described(*b.right) + " " + beside,
           equality ? "two numbers, two strings or two booleans" : "two numbers or two strings");
    }
    return type_of(Kind::boolean);
  }
  const bool text = b.op == BinaryOp::add && left.is(Kind::string);
  if (text) fail(e.place, "'+' between strings", "'++', which joins them");
  expect_number(*b.left, beside);
  expect_number(*b.right, beside);
  return left.is(Kind::floating) ? left : right;
}

Type Checker::form(Expr& e, CallExpr& c) {
  static_cast<void>(e);
  call(c);
  const Builtin& b = builtins()[static_cast<std::size_t>(c.builtin)];
  if (b.is_procedure) {
    fail(c.place, "'" + c.name + "' in an expression",
         "a statement, or a rule: when {..} then {..} from {" + c.name + " ..}");
  }
  return b.result_type();
}

void Checker::call(CallExpr& c) {
  std::vector<Type> types;
  for (Expr& argument : c.arguments)
    types.push_back(expression(argument));
  if (callable_index_.contains(c.name)) {
    fail(c.place, "'" + c.name + "' in an expression",
         "a rule: when {..} then {..} from {" + c.name + " ..}");
  }
  if (!is_builtin(c.name)) unknown_function(c.name, c.place);
  c.builtin = find_builtin(c.name, types);
  if (c.builtin < 0) {
    const std::string found =
        joined(c.arguments, ", ", [](const Expr& x) { return type_text(x.type); });
    fail(c.place, c.name + "(" + found + ")", signatures_text(c.name));
  }
  if (builtins()[static_cast<std::size_t>(c.builtin)].id == BuiltinId::arithmetic) {
    fail(c.place, "'arithmetic' in an expression", "the expression itself");
  }
  const bool joins = builtins()[static_cast<std::size_t>(c.builtin)].id == BuiltinId::join;
  if (joins && !types[0].element.at(0).is(Kind::string)) {
    fail(c.place, "join of a " + type_text(types[0]), "a container of strings");
  }
  if (builtins()[static_cast<std::size_t>(c.builtin)].id == BuiltinId::arg) {
    const auto* name = c.arguments[0].as<StringLiteral>();
    if (name == nullptr) {
      program_.has_computed_arguments = true;
    } else {
      program_.argument_names.insert(name->value);
    }
  }
  const bool names = builtins()[static_cast<std::size_t>(c.builtin)].id == BuiltinId::filename;
  if (names && !is_operand(c.arguments[0])) fail(c.place, "no variable", "the name of a file");
}

void Checker::unknown_function(const std::string& name, Place place) {
  std::vector<std::string> names = builtin_names();
  for (const auto& each : callable_index_)
    names.push_back(each.first);
  fail(place, "'" + name + "'", "a function", did_you_mean(name, names));
}

void Checker::expect_kind(Expr& e, Kind kind, std::string_view for_what) {
  if (e.type.is(kind)) return;
  fail(e.place, described(e) + " " + std::string(for_what), kind_name(kind),
       conversion_hint(type_of(kind), e.type));
}

void Checker::expect_number(Expr& e, std::string_view for_what) {
  if (e.type.is_number()) return;
  fail(e.place, described(e) + " " + std::string(for_what), "a number",
       e.type.is(Kind::string) ? "; int(x) or float(x) converts" : "");
}

void Checker::expect_type(const Type& to, const Expr& value, std::string_view for_what) {
  const bool widens = to.is(Kind::floating) && value.type.is(Kind::integer);
  if (to == value.type || widens) return;
  fail(value.place, described(value), type_text(to) + " for " + std::string(for_what),
       conversion_hint(to, value.type));
}

// A name, a member or a field: what rules wait for and what they set.
const Type& Checker::operand(Expr& e, Use use) {
  expression(e);
  if (use == Use::write) {
    writable(e, root_variable(e));
    // Once more as a write, so that blocks know what they write outside.
    const Variable& v = frame_->variables.at(static_cast<std::size_t>(root_variable(e)));
    look_up(v.name, e.place, Use::write);
  }
  return e.type;
}

void Checker::writable(const Expr& whole, int variable) {
  const Variable& v = frame_->variables.at(static_cast<std::size_t>(variable));
  const std::string name = "'" + v.name + "'";
  switch (v.role) {
    case VariableRole::input:
      fail(whole.place, "input " + name + " to be written", "an output or a variable");
    case VariableRole::member:
    case VariableRole::key:
    case VariableRole::index:
      fail(whole.place, name + " to be written, which its loop sets", "another variable");
    case VariableRole::state:
      fail(whole.place, "the state " + name + " to be written", "its new value in next (..)");
    case VariableRole::output:
    case VariableRole::local:
      return;
  }
}

}  // namespace rubato::flow::tic::detail

#pragma once
// What expressions and statements read, for whoever waits on it; and the blocks of statements.

#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow::tic {

// Calls f(const Expr&) for each name, member and field that must be closed before `e` has a value:
// the longest form, `c[i].x` rather than `c`, and then what its keys need. The argument of
// filename() needs only its keys, since the name of a file is known before the file is closed.
template <class F>
void for_each_read(const Expr& e, const F& f);

// The keys of a member or field, such as i and j of c[i].x[j]: what must be closed to find it.
template <class F>
void for_each_key_read(const Expr& e, const F& f) {
  if (const auto* m = e.as<MemberRef>()) {
    for_each_key_read(*m->container, f);
    for_each_read(*m->key, f);
  } else if (const auto* field = e.as<FieldRef>()) {
    for_each_key_read(*field->object, f);
  } else if (e.as<NameRef>() == nullptr) {
    // A member of a computed container: glob("*")[0].
    for_each_read(e, f);
  }
}

// Whether e is a name, or members and fields of one: what rules wait for, set and pass on open.
[[nodiscard]] inline bool is_operand(const Expr& e) {
  if (const auto* m = e.as<MemberRef>()) return is_operand(*m->container);
  if (const auto* f = e.as<FieldRef>()) return is_operand(*f->object);
  return e.as<NameRef>() != nullptr;
}

template <class F>
void for_each_read(const Expr& e, const F& f) {
  if (is_operand(e)) {
    f(e);
    for_each_key_read(e, f);
  } else if (const auto* u = e.as<Unary>()) {
    for_each_read(*u->operand, f);
  } else if (const auto* b = e.as<Binary>()) {
    for_each_read(*b->left, f);
    for_each_read(*b->right, f);
  } else if (const auto* c = e.as<CallExpr>()) {
    for (const Expr& argument : c->arguments) {
      if (c->name == "filename") {
        for_each_key_read(argument, f);
      } else {
        for_each_read(argument, f);
      }
    }
  } else if (e.as<MemberRef>() != nullptr || e.as<FieldRef>() != nullptr) {
    for_each_key_read(e, f);
  }
}

// Calls f(const Expr&) for the expressions directly in one: operands, a container and its key, arguments.
template <class F>
void for_each_part(const Expr& e, const F& f) {
  if (const auto* member = e.as<MemberRef>()) {
    f(*member->container);
    f(*member->key);
  } else if (const auto* field = e.as<FieldRef>()) {
    f(*field->object);
  } else if (const auto* unary = e.as<Unary>()) {
    f(*unary->operand);
  } else if (const auto* binary = e.as<Binary>()) {
    f(*binary->left);
    f(*binary->right);
  } else if (const auto* call = e.as<CallExpr>()) {
    for (const Expr& argument : call->arguments)
      f(argument);
  }
}

// Calls visit(const Block&) for the blocks directly in a statement.
template <class F>
void for_each_block(const Statement& statement, const F& visit) {
  const auto visit_form = [&](const auto& form) {
    if constexpr (requires { form.cases; }) {
      for (const Case& each : form.cases)
        visit(each.body);
    } else if constexpr (requires { form.body; }) {
      visit(form.body);
    }
    if constexpr (requires { form.otherwise; }) {
      if (form.otherwise) visit(*form.otherwise);
    }
  };
  std::visit(visit_form, statement.form);
}

// The variable that a name, a member or a field belongs to. REQUIRES: is_operand(e), resolved.
[[nodiscard]] inline int root_variable(const Expr& e) {
  if (const auto* m = e.as<MemberRef>()) return root_variable(*m->container);
  if (const auto* f = e.as<FieldRef>()) return root_variable(*f->object);
  return std::get<NameRef>(e.form).variable;
}

}  // namespace rubato::flow::tic

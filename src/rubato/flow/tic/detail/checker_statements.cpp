#include "rubato/base/error.hpp"
#include "rubato/flow/tic/builtins.hpp"
#include "rubato/flow/tic/detail/checker.hpp"
#include "rubato/flow/tic/detail/expression_text.hpp"

namespace rubato::flow::tic::detail {
namespace {

// Puts another value in place of one for as long as it lives.
template <class T>
class Instead {
 public:
  Instead(T& place, T value) : place_(place), before_(place) { place = value; }
  ~Instead() { place_ = before_; }
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace

void Checker::statements(Block& b) {
  for (Statement& s : b.statements) {
    try {
      check(s);
    } catch (const CheckStop&) {
      if (errors_.full()) return;
    }
  }
}

void Checker::block(Block& b) {
  const ScopeGuard scope(*this, b);
  statements(b);
}

void Checker::check(Statement& s) {
  std::visit([&](auto& f) { form(s, f); }, s.form);
}

void Checker::form(Statement& s, Declaration& d) {
  // An unknown type still declares its names, or each use of them would be one more error.
  try {
    resolve(d.type, s.place);
  } catch (const CheckStop&) {
    d.type = type_of(Kind::void_type);
    for (Declared& each : d.names)
      each.variable = declare(each.name, each.place, d.type, VariableRole::local);
    throw;
  }
  for (Declared& each : d.names) {
    try {
      declared(d.type, each);
    } catch (const CheckStop&) {
      if (each.variable < 0) {
        each.variable = declare(each.name, each.place, d.type, VariableRole::local);
      }
    }
  }
}

void Checker::declared(const Type& type, Declared& d) {
  if (d.mapped) {
    expression(*d.mapped);
    expect_type(type_of(Kind::string), *d.mapped, "the name of a file");
  }
  if (d.value) {
    expression(*d.value);
    expect_type(type, *d.value, "'" + d.name + "'");
  }
  d.variable = declare(d.name, d.place, type, VariableRole::local);
  frame_->variables.back().mapped = static_cast<bool>(d.mapped);
}

void Checker::form(Statement& s, Assign& a) {
  static_cast<void>(s);
  expression(a.value);
  operand(a.target, Use::write);
  expect_type(a.target.type, a.value, "'" + expression_text(a.target) + "'");
}

void Checker::form(Statement& s, Insert& i) {
  static_cast<void>(s);
  operand(i.member, Use::write);
  expression(i.value);
  expect_type(i.member.type, i.value, "'" + expression_text(i.member) + "'");
}

void Checker::form(Statement& s, Close& c) {
  static_cast<void>(s);
  operand(c.container, Use::write);
  if (!c.container.type.is(Kind::container)) {
    fail(c.container.place, type_text(c.container.type) + " to be closed",
         "a container; other variables close with their value");
  }
  if (c.container.as<NameRef>() == nullptr) {
    fail(c.container.place, "'" + expression_text(c.container) + "' to be closed",
         "a whole variable; what is in it closes with it");
  }
}

void Checker::form(Statement& s, Foreach& f) {
  static_cast<void>(s);
  const Type container = expression(f.container);
  if (!container.is(Kind::container)) {
    fail(f.container.place, type_text(container) + " behind 'in'",
         "a container; for i in [first:last] counts");
  }
  const Instead<const Loop*> no_next(loop_, nullptr);
  const ScopeGuard scope(*this, f.body);
  declare(f.value, container.element.at(0), VariableRole::member);
  if (f.key) declare(*f.key, type_of(container.key), VariableRole::key);
  statements(f.body);
}

void Checker::form(Statement& s, ForRange& f) {
  static_cast<void>(s);
  for (Expr* each : {&f.first, &f.last, f.step ? &*f.step : nullptr}) {
    if (each == nullptr) continue;
    expression(*each);
    expect_kind(*each, Kind::integer, "in a range");
  }
  const auto* step = f.step ? f.step->as<IntegerLiteral>() : nullptr;
  if (step != nullptr && step->value == 0) fail(f.step->place, "a step of 0", "any other");
  const Instead<const Loop*> no_next(loop_, nullptr);
  const ScopeGuard scope(*this, f.body);
  declare(f.variable, type_of(Kind::integer), VariableRole::index);
  statements(f.body);
}

void Checker::form(Statement& s, If& i) {
  static_cast<void>(s);
  expression(i.condition);
  expect_kind(i.condition, Kind::boolean, "as a condition");
  block(i.body);
  if (i.otherwise) block(*i.otherwise);
}

void Checker::form(Statement& s, Switch& sw) {
  static_cast<void>(s);
  const Type type = expression(sw.subject);
  if (!type.is_scalar() || type.is(Kind::floating)) {
    fail(sw.subject.place, type_text(type) + " behind 'switch'", "integer, string or boolean");
  }
  for (Case& c : sw.cases) {
    for (Expr& label : c.labels) {
      expression(label);
      expect_type(type, label, "this switch");
    }
  }
  labels(sw);
  for (Case& c : sw.cases)
    block(c.body);
  if (sw.otherwise) block(*sw.otherwise);
}

void Checker::labels(const Switch& s) {
  std::map<std::string, Place> seen;
  for (const Case& c : s.cases) {
    for (const Expr& label : c.labels) {
      const auto [at, is_new] = seen.emplace(expression_text(label), label.place);
      if (is_new) continue;
      fail(label.place, "a second case " + at->first,
           "each case once; the first is at " + errors_.where(at->second));
    }
  }
}

void Checker::form(Statement& s, Loop& l) {
  if (l.state.empty())
    fail(s.place, "a loop without state", "at least one variable, (integer i = 0)");
  for (LoopState& state : l.state) {
    resolve(state.type, state.place);
    if (state.type.is(Kind::container) || state.type.is(Kind::structure))
      fail(state.place, type_text(state.type) + " as the state of a loop", "a scalar or a file");
    expression(state.initial);
    expect_type(state.type, state.initial, "'" + state.name.text + "'");
  }
  if (l.results.size() > l.state.size()) {
    fail(l.results[0].place, std::to_string(l.results.size()) + " results",
         "at most one for each state variable");
  }
  for (std::size_t i = 0; i < l.results.size(); ++i) {
    const LoopState& state = l.state[l.state.size() - l.results.size() + i];
    Expr& result = l.results[i];
    if (operand(result, Use::write) == state.type) continue;
    fail(result.place, type_text(result.type) + " '" + expression_text(result) + "'",
         type_text(state.type) + ", as the state '" + state.name.text + "'");
  }
  const Instead<const Loop*> next_here(loop_, &l);
  const ScopeGuard scope(*this, l.body);
  for (LoopState& state : l.state)
    declare(state.name, state.type, VariableRole::state);
  expression(l.condition);
  expect_kind(l.condition, Kind::boolean, "as a condition");
  statements(l.body);
}

void Checker::form(Statement& s, Next& n) {
  if (loop_ == nullptr) fail(s.place, "next", "next inside a loop, not inside its foreach or for");
  if (n.values.size() != loop_->state.size()) {
    fail(s.place, std::to_string(n.values.size()) + " values of next",
         std::to_string(loop_->state.size()) + ", one for each state variable");
  }
  for (std::size_t i = 0; i < n.values.size(); ++i) {
    expression(n.values[i]);
    expect_type(loop_->state[i].type, n.values[i], "'" + loop_->state[i].name.text + "'");
  }
}

void Checker::form(Statement& s, Wait& w) {
  static_cast<void>(s);
  for (Expr& input : w.inputs)
    operand(input, Use::read);
  block(w.body);
}

void Checker::form(Statement& s, CallExpr& c) {
  call(c);
  if (!builtins()[static_cast<std::size_t>(c.builtin)].is_procedure) {
    fail(s.place, "the value of " + c.name + ", which nobody uses", "x = " + c.name + "(..)");
  }
}

}  // namespace rubato::flow::tic::detail

#include "rubato/base/error.hpp"
#include "rubato/flow/tic/builtins.hpp"
#include "rubato/flow/tic/detail/checker.hpp"
#include "rubato/flow/tic/detail/expression_text.hpp"
#include "rubato/flow/tic/detail/parser.hpp"

namespace rubato::flow::tic::detail {

void Checker::rule(Rule& r) {
  for (Expr& input : r.inputs)
    operand(input, Use::read);
  for (Expr& output : r.outputs)
    operand(output, Use::write);
  waits_for_itself(r);
  if (auto* e = std::get_if<Expr>(&r.action)) {
    expression(*e);
    if (r.outputs.size() != 1) {
      const Place place = r.outputs.empty() ? e->place : r.outputs[1].place;
      fail(place, std::to_string(r.outputs.size()) + " outputs of an expression", "one");
    }
    expect_type(r.outputs[0].type, *e, "'" + expression_text(r.outputs[0]) + "'");
    covered(r, *e);
  } else {
    rule_call(r, std::get<RuleCall>(r.action));
  }
  for (const Expr& output : r.outputs)
    keys_covered(r, output);
  const auto* call = std::get_if<RuleCall>(&r.action);
  const Callable* const called = call != nullptr && call->callee_kind == CalleeKind::callable
                                     ? &program_.callables[static_cast<std::size_t>(call->index)]
                                     : nullptr;
  options(r.options, called != nullptr && called->kind == CallableKind::app);
  if (called == nullptr || called->kind == CallableKind::function) only_of_tasks(r.options, called);
  for (const Box<Expr>* each : {&r.options.priority, &r.options.retries, &r.options.timeout,
                                &r.options.target, &r.options.parallel}) {
    if (*each) covered(r, **each);
  }
}

// A function is what it calls, and an expression is done at once.
void Checker::only_of_tasks(const Options& o, const Callable* function) {
  const std::string of =
      function != nullptr ? "function " + function->name : "what is no call of a leaf or an app";
  const std::string expected =
      function != nullptr
          ? "none; the rules in it, or the leaves and apps that it calls, can have one"
          : "none";
  const auto refuse = [&](const Box<Expr>& option, const char* name) {
    if (option) fail(option->place, std::string(name) + " of " + of, expected);
  };
  refuse(o.retries, "retries");
  refuse(o.timeout, "a timeout");
  refuse(o.parallel, "parallel");
}

void Checker::waits_for_itself(const Rule& r) {
  for (const Expr& input : r.inputs) {
    for (const Expr& output : r.outputs) {
      if (!(input == output)) continue;
      fail(input.place, "'" + expression_text(input) + "', which this rule itself sets",
           "inputs that others set");
    }
  }
}

void Checker::rule_call(Rule& r, RuleCall& c) {
  for (Argument& a : c.arguments) {
    expression(a.value);
    // The paper names outputs among the arguments too; as an input it would wait for itself.
    for (std::size_t o = 0; o < r.outputs.size(); ++o) {
      if (a.value == r.outputs[o]) a.output = static_cast<int>(o);
    }
  }
  const auto at = callable_index_.find(c.callee);
  if (at != callable_index_.end()) {
    c.callee_kind = CalleeKind::callable;
    c.index = at->second;
    call_of_callable(r, c);
  } else if (is_builtin(c.callee)) {
    c.callee_kind = CalleeKind::builtin;
    call_of_builtin(r, c);
  } else {
    unknown_function(c.callee, c.place);
  }
}

std::string Checker::signature(const Callable& callee) {
  const auto list = [](const std::vector<Parameter>& parameters) {
    return "(" +
           joined(parameters, ", ",
                  [](const Parameter& p) { return type_text(p.type) + " " + p.name.text; }) +
           ")";
  };
  return callee.name + list(callee.inputs) + " to " + list(callee.outputs);
}

void Checker::call_of_callable(Rule& r, RuleCall& c) {
  const Callable& callee = program_.callables.at(static_cast<std::size_t>(c.index));
  std::vector<const Expr*> inputs;
  for (const Argument& a : c.arguments) {
    if (a.output < 0) inputs.push_back(&a.value);
  }
  if (inputs.size() != callee.inputs.size()) {
    fail(c.place, std::to_string(inputs.size()) + " arguments of " + c.callee,
         std::to_string(callee.inputs.size()) + ": " + signature(callee));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    expect_type(callee.inputs[i].type, *inputs[i],
                "'" + callee.inputs[i].name.text + "' of " + callee.name);
    // A function takes variables that are still open: its own rules wait for them.
    const bool by_reference = callee.kind == CallableKind::function && is_operand(*inputs[i]);
    if (by_reference) {
      keys_covered(r, *inputs[i]);
    } else {
      covered(r, *inputs[i]);
    }
  }
  rule_outputs_fit(r, callee, c.place);
}

void Checker::rule_outputs_fit(const Rule& r, const Callable& callee, Place place) {
  if (r.outputs.size() != callee.outputs.size()) {
    fail(place, std::to_string(r.outputs.size()) + " outputs of " + callee.name,
         std::to_string(callee.outputs.size()) + ": " + signature(callee));
  }
  for (std::size_t i = 0; i < r.outputs.size(); ++i) {
    const Expr& output = r.outputs[i];
    if (output.type == callee.outputs[i].type) continue;
    fail(output.place, type_text(output.type) + " '" + expression_text(output) + "'",
         type_text(callee.outputs[i].type) + " for '" + callee.outputs[i].name.text + "' of " +
             callee.name);
  }
}

void Checker::call_of_builtin(Rule& r, RuleCall& c) {
  Expr value;
  value.place = c.place;
  CallExpr as_call;
  as_call.place = c.place;
  as_call.name = c.callee;
  for (const Argument& a : c.arguments) {
    if (a.output < 0) as_call.arguments.push_back(a.value);
  }
  if (c.callee == "arithmetic") {
    rule_arithmetic(c);
    value = *c.value;
    expression(value);
  } else {
    call(as_call);
    c.index = as_call.builtin;
    value.type = builtins()[static_cast<std::size_t>(c.index)].result_type();
    value.height = 2;
    value.form = std::move(as_call);
  }
  for (const Argument& a : c.arguments) {
    if (a.output < 0) covered(r, a.value);
  }
  const bool procedure = builtins()[static_cast<std::size_t>(c.index)].is_procedure;
  if (r.outputs.size() != 1 && !(procedure && r.outputs.empty())) {
    fail(c.place, std::to_string(r.outputs.size()) + " outputs of " + c.callee,
         procedure ? "none, or a void that is closed when it is done" : "one");
  }
  if (!r.outputs.empty())
    expect_type(r.outputs[0].type, value, "'" + expression_text(r.outputs[0]) + "'");
  if (!procedure) c.value = Box<Expr>(std::move(value));
}

// {arithmetic "(+)*(+)" a b c d}: the template becomes (a+b)*(c+d).
void Checker::rule_arithmetic(RuleCall& c) {
  const auto* text = c.arguments.empty() ? nullptr : c.arguments[0].value.as<StringLiteral>();
  if (text == nullptr) fail(c.place, "no template", "a string of operators, as in \"(+)*(+)\"");
  std::vector<Expr> operands;
  for (std::size_t i = 1; i < c.arguments.size(); ++i)
    operands.push_back(c.arguments[i].value);
  c.index = find_builtin("arithmetic", {type_of(Kind::string)});
  const Place place = c.arguments[0].value.place;
  Diagnostics in_template("");
  try {
    auto tokens = read_tokens(text->value, in_template);
    c.value = Box<Expr>(Parser(std::move(tokens), in_template).arithmetic(std::move(operands)));
  } catch (const SyntaxStop&) {
    // Told below, at the place of the template.
  }
  if (!in_template.empty()) {
    errors_.add(place, "in the template: " + in_template.list()[0].text);
    throw CheckStop();
  }
}

// Whatever an action reads is closed before it runs, so it must be named among the inputs.
void Checker::covered(const Rule& r, const Expr& e) {
  if (const auto* u = e.as<Unary>()) return covered(r, *u->operand);
  if (const auto* b = e.as<Binary>()) {
    covered(r, *b->left);
    return covered(r, *b->right);
  }
  if (const auto* c = e.as<CallExpr>()) {
    // The name of a file is known before the file is closed.
    const bool only_name = c->name == "filename";
    for (const Expr& argument : c->arguments) {
      if (only_name) named_before(r, argument);
      only_name ? keys_covered(r, argument) : covered(r, argument);
    }
    return;
  }
  if (!is_operand(e)) {
    if (const auto* m = e.as<MemberRef>()) covered(r, *m->container);
    if (const auto* f = e.as<FieldRef>()) covered(r, *f->object);
    return keys_covered(r, e);
  }
  for (const Expr& input : r.inputs) {
    if (input == e) return;
  }
  for (const Expr& output : r.outputs) {
    if (!(output == e)) continue;
    fail(e.place, "'" + expression_text(e) + "' in the action, which this rule itself sets",
         "what its inputs hold");
  }
  for (const Expr* part = &e; part != nullptr;) {
    for (const Expr& input : r.inputs) {
      if (input == *part) return keys_covered(r, e);
    }
    const auto* m = part->as<MemberRef>();
    const auto* f = part->as<FieldRef>();
    part = m != nullptr ? &*m->container : f != nullptr ? &*f->object : nullptr;
  }
  const auto root = static_cast<std::size_t>(root_variable(e));
  if (frame_->variables.at(root).closed_on_entry()) return keys_covered(r, e);
  const std::string name = expression_text(e);
  fail(e.place, "'" + name + "' in the action",
       "'" + name + "' among the inputs: when {.. " + name + "}");
}

// A member or a field has no name of its own before something sets it.
void Checker::named_before(const Rule& r, const Expr& file) {
  if (file.as<NameRef>() != nullptr) return;
  for (const Expr& output : r.outputs) {
    if (!(output == file)) continue;
    const std::string name = expression_text(file);
    fail(file.place, "the name of '" + name + "', which this rule sets",
         "a variable: file f; when {..} then {f} from {.. filename(f)}; " +
             std::string(file.as<MemberRef>() != nullptr ? "insert " : "") + name + " = f");
  }
}

void Checker::keys_covered(const Rule& r, const Expr& e) {
  if (const auto* m = e.as<MemberRef>()) {
    keys_covered(r, *m->container);
    covered(r, *m->key);
  }
  if (const auto* f = e.as<FieldRef>()) keys_covered(r, *f->object);
}

void Checker::options(Options& o, bool of_app) {
  if (o.elsewhere && !of_app)
    fail(o.retries->place, "retries elsewhere of what is no app", "retries, or an app");
  for (Box<Expr>* each : {&o.priority, &o.retries, &o.target, &o.parallel}) {
    if (!*each) continue;
    expression(**each);
    expect_kind(**each, Kind::integer, "as an option");
  }
  if (o.timeout) {
    expression(*o.timeout);
    expect_number(*o.timeout, "as the seconds of a timeout");
  }
  // What is certain to be wrong; the rest is known when it runs.
  const auto at_least = [&](const Box<Expr>& value, std::int64_t least, std::string_view what) {
    const auto* literal = value ? value->as<IntegerLiteral>() : nullptr;
    if (literal == nullptr || literal->value >= least) return;
    fail(value->place, std::to_string(literal->value),
         std::string(what) + " of at least " + std::to_string(least));
  };
  at_least(o.retries, 0, "a number of retries");
  at_least(o.parallel, 1, "a number of cores");
  at_least(o.target, 0, "a node or a core");
  if (o.timeout) {
    const auto* seconds = o.timeout->as<IntegerLiteral>();
    const auto* fraction = o.timeout->as<FloatLiteral>();
    if ((seconds != nullptr && seconds->value <= 0) ||
        (fraction != nullptr && fraction->value <= 0))
      fail(o.timeout->place, expression_text(*o.timeout), "a timeout of more than 0 s");
  }
}

}  // namespace rubato::flow::tic::detail

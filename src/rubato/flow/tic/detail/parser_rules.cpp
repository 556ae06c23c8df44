// Rules: when {inputs} then {outputs} from {action} options. Lists in braces are separated by
// spaces, newlines or commas.

#include <array>

#include "rubato/base/error.hpp"
#include "rubato/flow/tic/detail/parser.hpp"

namespace rubato::flow::tic::detail {
namespace {

struct NumberOption {
  std::string_view word;
  Box<Expr> Options::*member;
};
constexpr std::array<NumberOption, 4> kNumberOptions{{{"priority", &Options::priority},
                                                      {"retries", &Options::retries},
                                                      {"timeout", &Options::timeout},
                                                      {"parallel", &Options::parallel}}};

}  // namespace

Rule Parser::rule() {
  Rule r;
  take();
  expect("{", "before the inputs");
  r.inputs = operands("}");
  expect("then");
  expect("{", "before the outputs");
  r.outputs = operands("}");
  expect("from");
  expect("{", "before the action");
  skip_separators();
  if (accept("=")) {
    skip_separators();
    r.action = expression();
    skip_separators();
    expect("}", "behind the expression");
  } else {
    r.action = rule_call();
  }
  r.options = options();
  return r;
}

RuleCall Parser::rule_call() {
  RuleCall c;
  c.place = token().place;
  // Conversions are named as their types, which are reserved.
  const bool conversion = at("float") || at("string") || at("boolean") || at("integer");
  c.callee = conversion ? std::string(take().text) : name("the name of a function").text;
  for (skip_separators(); !accept("}"); skip_separators()) {
    if (token().kind == TokenKind::end) fail("an argument or '}'");
    c.arguments.push_back({argument(), -1});
    accept(",");
  }
  return c;
}

std::vector<Expr> Parser::operands(std::string_view close) {
  std::vector<Expr> list;
  for (skip_separators(); !accept(close); skip_separators()) {
    list.push_back(operand());
    accept(",");
  }
  return list;
}

Expr Parser::operand() {
  Name n = name("the name of a variable");
  Expr e;
  e.place = n.place;
  e.form = NameRef{std::move(n.text), -1};
  return postfix(std::move(e), true);
}

// A literal, a name, a member, a field, a call or an expression in parentheses.
Expr Parser::argument() {
  const Token& t = token();
  const Token& behind = token(1);
  const bool number_behind =
      behind.kind == TokenKind::integer || behind.kind == TokenKind::floating;
  if (t.is("-") && !(number_behind && !behind.spaced)) {
    fail("an argument; expressions stand in parentheses");
  }
  if (t.kind == TokenKind::name && behind.is("(") && !behind.spaced) return primary();
  const bool is_value = t.kind == TokenKind::integer || t.kind == TokenKind::floating ||
                        t.kind == TokenKind::string || t.is("-") || t.is("true") || t.is("false");
  if (is_value) return literal();
  if (t.is("(")) return primary();
  if (t.kind != TokenKind::name) fail("an argument; expressions stand in parentheses");
  return operand();
}

Options Parser::options() {
  Options o;
  o.place = token().place;
  while (!at_end_of_statement() && !at("{"))
    option(o);
  return o;
}

void Parser::option(Options& o) {
  for (const NumberOption& number : kNumberOptions) {
    if (!at(number.word)) continue;
    once(o.*number.member);
    if (number.member == &Options::retries) o.elsewhere = accept("elsewhere");
    return;
  }
  if (at("on") || at("only")) return target(o);
  if (accept("type")) {
    if (!o.work_type.empty()) fail("this option once");
    o.work_type = name("the name of a type of work").text;
    return;
  }
  static const std::vector<std::string> words{"priority", "retries", "timeout", "parallel",
                                              "on",       "only",    "type"};
  const bool word = token().kind == TokenKind::name;
  fail("an option (priority, retries, timeout, on, only on, type, parallel) or the end",
       word ? did_you_mean(token().text, words) : "");
}

void Parser::once(Box<Expr>& place) {
  if (place) fail("this option once");
  take();
  place = Box<Expr>(expression());
}

void Parser::target(Options& o) {
  if (o.target) fail("this option once");
  o.only = accept("only");
  expect("on");
  const bool node = at("node");
  if (!node && !at("core")) fail("node or core");
  take();
  o.target_kind = node ? TargetKind::node : TargetKind::core;
  o.target = Box<Expr>(expression());
}

}  // namespace rubato::flow::tic::detail

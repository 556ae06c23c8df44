// Expressions, loosest first: or, and, not, comparisons (which do not chain), ++, + -, * / %,
// minus, ** (to the right), members and fields.

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "rubato/flow/tic/detail/parser.hpp"

namespace rubato::flow::tic::detail {
namespace {

struct Operator {
  std::string_view text;
  BinaryOp op;
};

constexpr std::array<Operator, 2> kOr{{{"or", BinaryOp::logical_or}, {"||", BinaryOp::logical_or}}};
constexpr std::array<Operator, 2> kAnd{
    {{"and", BinaryOp::logical_and}, {"&&", BinaryOp::logical_and}}};
constexpr std::array<Operator, 1> kConcatenate{{{"++", BinaryOp::concatenate}}};
constexpr std::array<Operator, 2> kSum{{{"+", BinaryOp::add}, {"-", BinaryOp::subtract}}};
constexpr std::array<Operator, 3> kProduct{
    {{"*", BinaryOp::multiply}, {"/", BinaryOp::divide}, {"%", BinaryOp::modulo}}};
constexpr std::array<Operator, 6> kComparison{{{"==", BinaryOp::equal},
                                               {"!=", BinaryOp::not_equal},
                                               {"<", BinaryOp::less},
                                               {"<=", BinaryOp::less_equal},
                                               {">", BinaryOp::greater},
                                               {">=", BinaryOp::greater_equal}}};

// The levels of binary operators that group to the left. Between 1 and 2 stand not and comparisons.
constexpr std::array<std::span<const Operator>, 5> kLevels{kOr, kAnd, kConcatenate, kSum, kProduct};
constexpr int kAboveComparison = 2;

const Operator* operator_of(const Token& token, std::span<const Operator> among) noexcept {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const Operator& o) { return token.is(o.text); });
  return found == among.end() ? nullptr : &*found;
}

template <class Form>
Expr made(Place place, Form form) {
  Expr e;
  e.place = place;
  e.form = std::move(form);
  return e;
}

}  // namespace

Expr Parser::checked_height(Expr expr, int below) {
  expr.height = below + 1;
  if (expr.height > kMaxExprHeight) {
    errors_.found(expr.place, "an expression of more than 256 levels",
                  "parts of it in variables of their own");
    throw SyntaxStop();
  }
  return expr;
}

Expr Parser::joined(Place place, BinaryOp op, Expr left, Expr right) {
  const int below = std::max(left.height, right.height);
  return checked_height(
      made(place, Binary{op, Box<Expr>(std::move(left)), Box<Expr>(std::move(right))}), below);
}

Expr Parser::expression() {
  const Nesting nesting(*this);
  return binary(0);
}

Expr Parser::binary(int level) {
  if (level == static_cast<int>(kLevels.size())) return unary();
  const auto next = [&] {
    return level + 1 == kAboveComparison ? logical_not() : binary(level + 1);
  };
  Expr left = next();
  while (const Operator* o = operator_of(token(), kLevels.at(static_cast<std::size_t>(level)))) {
    const Place place = take().place;
    Expr right = next();
    left = joined(place, o->op, std::move(left), std::move(right));
  }
  return left;
}

Expr Parser::logical_not() {
  if (!at("not") && !at("!")) return comparison();
  const Nesting nesting(*this);
  const Place place = take().place;
  Expr operand = logical_not();
  const int below = operand.height;
  return checked_height(made(place, Unary{UnaryOp::logical_not, Box<Expr>(std::move(operand))}),
                        below);
}

Expr Parser::comparison() {
  Expr left = binary(kAboveComparison);
  const Operator* o = operator_of(token(), kComparison);
  if (o == nullptr) return left;
  const Place place = take().place;
  Expr both = joined(place, o->op, std::move(left), binary(kAboveComparison));
  if (operator_of(token(), kComparison) != nullptr) {
    fail("'and' between two comparisons; they do not chain");
  }
  return both;
}

Expr Parser::unary() {
  if (!at("-")) return power();
  const Nesting nesting(*this);
  const Place place = token().place;
  // A literal behind its minus is one negative number, so that -9223372036854775808 can be written.
  const bool folds =
      (token(1).kind == TokenKind::integer || token(1).kind == TokenKind::floating) &&
      !token(2).is("**");
  if (folds) return postfix(literal(), false);
  take();
  Expr operand = unary();
  const int below = operand.height;
  return checked_height(made(place, Unary{UnaryOp::minus, Box<Expr>(std::move(operand))}), below);
}

Expr Parser::power() {
  Expr base = postfix(primary(), false);
  if (!at("**")) return base;
  const Nesting nesting(*this);
  const Place place = take().place;
  Expr exponent = unary();
  return joined(place, BinaryOp::power, std::move(base), std::move(exponent));
}

// In lists that spaces separate, `a [` and `a (` are two things: there only what is adjacent binds.
Expr Parser::postfix(Expr base, bool adjacent_only) {
  while ((at("[") || at(".")) && !(adjacent_only && token().spaced)) {
    base = postfix_step(std::move(base));
  }
  return base;
}

Expr Parser::postfix_step(Expr base) {
  const Place place = base.place;
  if (take().text == ".") {
    const int below = base.height;
    FieldRef f;
    f.field = name("the name of a field").text;
    f.object = Box<Expr>(std::move(base));
    return checked_height(made(place, std::move(f)), below);
  }
  Expr key = expression();
  expect("]", "behind the key");
  const int below = std::max(base.height, key.height);
  return checked_height(
      made(place, MemberRef{Box<Expr>(std::move(base)), Box<Expr>(std::move(key))}), below);
}

bool Parser::starts_operand() const noexcept {
  const Token& t = token();
  if (t.kind == TokenKind::name) return !t.is("and") && !t.is("or");
  return t.kind == TokenKind::integer || t.kind == TokenKind::floating ||
         t.kind == TokenKind::string || t.is("(");
}

Expr Parser::primary() {
  if (template_operands_ && !starts_operand()) return template_operand();
  const Token& t = token();
  if (template_operands_ && t.kind == TokenKind::name) {
    fail("an operator or a number; variables stand behind the template");
  }
  if (t.is("(")) {
    take();
    Expr inner = expression();
    expect(")");
    return inner;
  }
  const bool conversion = t.is("float") || t.is("string") || t.is("boolean") || t.is("integer");
  const bool plain = t.kind == TokenKind::name && (!is_reserved(t.text) || conversion);
  if (plain && token(1).is("(")) return call();
  const bool truth = t.is("true") || t.is("false");
  if (t.kind == TokenKind::name && !truth) {
    Name n = name("an expression");
    return made(n.place, NameRef{std::move(n.text), -1});
  }
  return literal();
}

Expr Parser::call() {
  CallExpr c;
  c.place = token().place;
  c.name = std::string(take().text);
  take();
  c.arguments = expressions(")");
  int below = 0;
  for (const Expr& e : c.arguments)
    below = std::max(below, e.height);
  const Place place = c.place;
  return checked_height(made(place, std::move(c)), below);
}

std::vector<Expr> Parser::expressions(std::string_view close) {
  std::vector<Expr> list;
  if (accept(close)) return list;
  do {
    list.push_back(expression());
  } while (accept(","));
  if (!accept(close)) fail("',' or '" + std::string(close) + "'");
  return list;
}

Expr Parser::literal() {
  const Place place = token().place;
  const bool negative = at("-");
  const Token& t = token(negative ? 1 : 0);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (t.kind == TokenKind::integer) {
    if (negative) take();
    if (t.integer > kMost && !negative) fail("an integer of 64 bits");
    const std::uint64_t bits = negative ? ~t.integer + 1 : t.integer;
    take();
    return made(place, IntegerLiteral{static_cast<std::int64_t>(bits)});
  }
  if (t.kind == TokenKind::floating) {
    if (negative) take();
    take();
    return made(place, FloatLiteral{negative ? -t.floating : t.floating});
  }
  if (!negative && t.kind == TokenKind::string) return made(place, StringLiteral{take().value});
  if (t.is("true") || t.is("false")) return made(place, BooleanLiteral{take().is("true")});
  fail("an expression");
}

Expr Parser::label() {
  const bool negative = at("-");
  const Token& t = token(negative ? 1 : 0);
  const bool one = t.kind == TokenKind::integer || (!negative && t.kind == TokenKind::string) ||
                   (!negative && (t.is("true") || t.is("false")));
  if (!one) fail("an integer, a string, true or false");
  return literal();
}

Expr Parser::arithmetic(std::vector<Expr> operands) {
  template_operands_ = std::move(operands);
  Expr e = expression();
  if (token().kind != TokenKind::end) fail("an operator or the end of the template");
  if (n_operands_taken_ < template_operands_->size()) {
    errors_.found(template_operands_->at(n_operands_taken_).place, "an operand too many",
                  std::to_string(n_operands_taken_) + " for this template");
    throw SyntaxStop();
  }
  return e;
}

Expr Parser::template_operand() {
  if (n_operands_taken_ >= template_operands_->size()) {
    fail("an operand: the template has more places than the call has operands");
  }
  return template_operands_->at(n_operands_taken_++);
}

}  // namespace rubato::flow::tic::detail

#include "rubato/flow/tic/detail/expression_text.hpp"

#include <array>

#include "rubato/flow/tic/lexer.hpp"
#include "rubato/io/number.hpp"

namespace rubato::flow::tic::detail {
namespace {

// How tightly a form binds, as in parser_expressions.cpp.
constexpr int kNot = 3;
constexpr int kComparison = 4;
constexpr int kMinus = 8;
constexpr int kPower = 9;
constexpr int kPostfix = 10;
constexpr int kPrimary = 11;

struct OperatorText {
  std::string_view text;
  int binds;
};
constexpr std::array<OperatorText, 15> kOperators{{{"or", 1},
                                                   {"and", 2},
                                                   {"==", kComparison},
                                                   {"!=", kComparison},
                                                   {"<", kComparison},
                                                   {"<=", kComparison},
                                                   {">", kComparison},
                                                   {">=", kComparison},
                                                   {"++", 5},
                                                   {"+", 6},
                                                   {"-", 6},
                                                   {"*", 7},
                                                   {"/", 7},
                                                   {"%", 7},
                                                   {"**", kPower}}};

int binding(const Expr& e) {
  if (const auto* b = e.as<Binary>()) return kOperators.at(static_cast<std::size_t>(b->op)).binds;
  if (const auto* u = e.as<Unary>()) return u->op == UnaryOp::minus ? kMinus : kNot;
  if (e.as<MemberRef>() != nullptr || e.as<FieldRef>() != nullptr) return kPostfix;
  // A negative literal is read as a minus in front of a number.
  const auto* i = e.as<IntegerLiteral>();
  const auto* f = e.as<FloatLiteral>();
  const bool negative = (i != nullptr && i->value < 0) ||
                        (f != nullptr && io::number_text(f->value).starts_with('-'));
  return negative ? kMinus : kPrimary;
}

std::string text_binding(const Expr& e, int at_least) {
  const std::string text = expression_text(e);
  return binding(e) < at_least ? "(" + text + ")" : text;
}

std::string text(const IntegerLiteral& i) {
  return io::number_text(i.value);
}
std::string text(const FloatLiteral& f) {
  std::string number = io::number_text(f.value);
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return number;
}
std::string text(const StringLiteral& s) {
  return string_literal(s.value);
}
std::string text(const BooleanLiteral& b) {
  return b.value ? "true" : "false";
}
std::string text(const NameRef& n) {
  return n.name;
}
std::string text(const MemberRef& m) {
  return text_binding(*m.container, kPostfix) + "[" + expression_text(*m.key) + "]";
}
std::string text(const FieldRef& f) {
  return text_binding(*f.object, kPostfix) + "." + f.field;
}
std::string text(const Unary& u) {
  if (u.op == UnaryOp::logical_not) return "not " + text_binding(*u.operand, kNot);
  const std::string operand = text_binding(*u.operand, kMinus);
  // A minus right before a number would be read as a part of it.
  const bool digit = operand[0] >= '0' && operand[0] <= '9';
  return digit ? "-(" + expression_text(*u.operand) + ")" : "-" + operand;
}
std::string text(const Binary& b) {
  const auto [word, binds] = kOperators.at(static_cast<std::size_t>(b.op));
  int left = binds;
  int right = binds + 1;
  if (binds == kComparison) left = binds + 1;
  if (binds == kPower) {
    left = kPostfix;
    right = kMinus;
  }
  return text_binding(*b.left, left) + " " + std::string(word) + " " +
         text_binding(*b.right, right);
}
std::string text(const CallExpr& c) {
  return call_text(c);
}

bool is_operand(const Expr& e) {
  if (const auto* m = e.as<MemberRef>()) return is_operand(*m->container);
  if (const auto* f = e.as<FieldRef>()) return is_operand(*f->object);
  return e.as<NameRef>() != nullptr;
}

}  // namespace

std::string_view operator_text(BinaryOp op) noexcept {
  return kOperators[static_cast<std::size_t>(op)].text;
}

std::string call_text(const CallExpr& c) {
  return c.name + "(" + joined(c.arguments, ", ", expression_text) + ")";
}

std::string expression_text(const Expr& expression) {
  return std::visit([](const auto& form) { return text(form); }, expression.form);
}

std::string argument_text(const Expr& e) {
  const bool literal = e.as<IntegerLiteral>() != nullptr || e.as<FloatLiteral>() != nullptr ||
                       e.as<StringLiteral>() != nullptr || e.as<BooleanLiteral>() != nullptr;
  const bool bare = literal || is_operand(e) || e.as<CallExpr>() != nullptr;
  return bare ? expression_text(e) : "(" + expression_text(e) + ")";
}

}  // namespace rubato::flow::tic::detail

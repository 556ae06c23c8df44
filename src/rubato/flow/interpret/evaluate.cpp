#include "rubato/flow/interpret/evaluate.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "rubato/flow/interpret/builtin_calls.hpp"
#include "rubato/flow/interpret/compiled.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {
namespace {

using tic::BinaryOp;
using tic::Expr;

class Evaluator {
 public:
  Evaluator(const Compiled& compiled, Environment& environment)
      : compiled_(compiled), environment_(environment) {}

  Value value(const Expr& e) {
    if (const auto* literal = e.as<tic::IntegerLiteral>()) return Value::integer(literal->value);
    if (const auto* literal = e.as<tic::FloatLiteral>()) return Value::floating(literal->value);
    if (const auto* literal = e.as<tic::BooleanLiteral>()) return Value::boolean(literal->value);
    if (const auto* literal = e.as<tic::StringLiteral>())
      return Value::text(Kind::string, literal->value);
    if (const auto* unary = e.as<tic::Unary>()) return unary_value(e, *unary);
    if (const auto* binary = e.as<tic::Binary>()) return binary_value(e, *binary);
    if (const auto* call = e.as<tic::CallExpr>()) return call_value(*call);
    const Value* known = known_value(e, environment_);
    if (known == nullptr) return member_of_whole(e);
    if (known->is_failed()) throw Error(known->as_text());
    // A parameter of a function may be another's datum, and that of another type.
    return widened(*known, e.type);
  }

 private:
  [[noreturn]] void fail(const Expr& e, const std::string& what) const {
    throw Error(place_text(compiled_, e.place) + ": " + what);
  }
  // split(text)[2]; in a command, a member or a field of a parameter.
  Value member_of_whole(const Expr& e) {
    const auto* member = e.as<tic::MemberRef>();
    const auto* field = e.as<tic::FieldRef>();
    if (member == nullptr && field == nullptr) fail(e, "it has no value yet where it is read");
    const Value key = member != nullptr ? value(*member->key) : Value::integer(field->index);
    const Expr& whole = member != nullptr ? *member->container : *field->object;
    Value found;
    for (const auto& [k, v] : evaluate_members(whole, compiled_, environment_)) {
      if (k == key && !v.is_reference()) found = v;
      if (v.is_reference()) environment_.flow().give_back_reader(v.as_reference());
    }
    if (found.kind() != Kind::none) return widened(found, e.type);
    fail(e, member != nullptr ? "there is no member " + key_text(key)
                              : "there is no value of the field " + field->field);
  }

  Value unary_value(const Expr& e, const tic::Unary& unary) {
    const Value operand = value(*unary.operand);
    if (unary.op == tic::UnaryOp::logical_not) return Value::boolean(!operand.as_boolean());
    if (operand.kind() == Kind::floating) return Value::floating(-operand.as_floating());
    std::int64_t result = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, operand.as_integer(), &result))
      fail(e, "an integer of 64 bits overflows");
    return Value::integer(result);
  }

  Value binary_value(const Expr& e, const tic::Binary& binary) {
    if (binary.op == BinaryOp::logical_and || binary.op == BinaryOp::logical_or) {
      const bool left = value(*binary.left).as_boolean();
      const bool decides = binary.op == BinaryOp::logical_or;
      return left == decides ? Value::boolean(left) : value(*binary.right);
    }
    const Value left = value(*binary.left);
    const Value right = value(*binary.right);
    if (binary.op == BinaryOp::concatenate) {
      return Value::text(Kind::string, text_of(left) + text_of(right));
    }
    if (left.kind() == Kind::integer && right.kind() == Kind::integer)
      return integers(e, binary.op, left.as_integer(), right.as_integer());
    if (is_number(left) && is_number(right))
      return floats(e, binary.op, number_of(left), number_of(right));
    if (left.kind() == Kind::boolean) {
      const bool is_equal = left.as_boolean() == right.as_boolean();
      return Value::boolean(is_equal == (binary.op == BinaryOp::equal));
    }
    return Value::boolean(compares(binary.op, left.as_text().compare(right.as_text())));
  }
  static bool is_number(const Value& value) {
    return value.kind() == Kind::integer || value.kind() == Kind::floating;
  }
  static bool compares(BinaryOp op, int order) {
    switch (op) {
      case BinaryOp::equal:
        return order == 0;
      case BinaryOp::not_equal:
        return order != 0;
      case BinaryOp::less:
        return order < 0;
      case BinaryOp::less_equal:
        return order <= 0;
      case BinaryOp::greater:
        return order > 0;
      default:
        return order >= 0;
    }
  }
  static bool is_comparison(BinaryOp op) {
    return op >= BinaryOp::equal && op <= BinaryOp::greater_equal;
  }

  [[nodiscard]] Value integers(const Expr& e, BinaryOp op, std::int64_t a, std::int64_t b) const {
    if (is_comparison(op)) return Value::boolean(compares(op, a < b ? -1 : a > b ? 1 : 0));
    std::int64_t result = 0;
    bool overflows = false;
    if ((op == BinaryOp::divide || op == BinaryOp::modulo) && b == 0) fail(e, "division by zero");
    if (op == BinaryOp::add) {
      overflows = __builtin_add_overflow(a, b, &result);
    } else if (op == BinaryOp::subtract) {
      overflows = __builtin_sub_overflow(a, b, &result);
    } else if (op == BinaryOp::multiply) {
      overflows = __builtin_mul_overflow(a, b, &result);
    } else if (op == BinaryOp::power) {
      if (b < 0 && a != 1 && a != -1) {
        fail(e, "found the integers " + std::to_string(a) + " ** " + std::to_string(b) +
                    ", expected an exponent of 0 at least, or a base that is a float");
      }
      overflows = !integer_power(a, b, result);
    } else if (b == -1) {
      overflows = op == BinaryOp::divide && __builtin_sub_overflow(std::int64_t{0}, a, &result);
    } else {
      result = op == BinaryOp::divide ? a / b : a % b;
    }
    if (overflows) fail(e, "an integer of 64 bits overflows");
    return Value::integer(result);
  }
  // By squaring; false if it overflows. A negative power is of 1 or -1.
  static bool integer_power(std::int64_t base, std::int64_t exponent, std::int64_t& result) {
    result = 1;
    if (exponent < 0) exponent = -(exponent % 2);
    while (exponent > 0) {
      if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result)) return false;
      exponent /= 2;
      if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return false;
    }
    return true;
  }

  [[nodiscard]] Value floats(const Expr& e, BinaryOp op, double a, double b) const {
    if (is_comparison(op)) {
      if (std::isnan(a) || std::isnan(b)) return Value::boolean(op == BinaryOp::not_equal);
      return Value::boolean(compares(op, a < b ? -1 : a > b ? 1 : 0));
    }
    switch (op) {
      case BinaryOp::add:
        return Value::floating(a + b);
      case BinaryOp::subtract:
        return Value::floating(a - b);
      case BinaryOp::multiply:
        return Value::floating(a * b);
      case BinaryOp::divide:
        if (b == 0) fail(e, "division by zero");
        return Value::floating(a / b);
      case BinaryOp::modulo:
        if (b == 0) fail(e, "division by zero");
        return Value::floating(std::fmod(a, b));
      default:
        return Value::floating(std::pow(a, b));
    }
  }

  Value call_value(const tic::CallExpr& call) {
    std::vector<Value> values;
    std::optional<Members> members;
    for (const Expr& argument : call.arguments) {
      if (argument.type.is(tic::Kind::container) && !tic::is_operand(argument)) {
        members = evaluate_members(argument, compiled_, environment_);
        values.emplace_back();
        continue;
      }
      const auto* name = call.name == "filename" ? argument.as<tic::NameRef>() : nullptr;
      const Value* known = name == nullptr ? nullptr : &environment_.slot(name->variable).name;
      const bool is_there = known != nullptr && known->kind() != Kind::none;
      if (is_there && known->is_failed()) throw Error(known->as_text());
      values.push_back(is_there ? *known : value(argument));
    }
    return call_builtin(call, values, compiled_, environment_, members ? &*members : nullptr);
  }

  const Compiled& compiled_;
  Environment& environment_;
};

}  // namespace

Value widened(Value value, const tic::Type& type) {
  if (type.is(tic::Kind::floating) && value.kind() == Kind::integer)
    return Value::floating(static_cast<double>(value.as_integer()));
  if (type.is(tic::Kind::string) && value.kind() == Kind::blob)
    return Value::text(Kind::string, value.as_text());
  return value;
}

double number_of(const Value& value) {
  return value.kind() == Kind::integer ? static_cast<double>(value.as_integer())
                                       : value.as_floating();
}

const Value* known_value(const tic::Expr& operand, const Environment& environment) {
  if (const auto* name = operand.as<tic::NameRef>()) {
    const Slot& slot = environment.slot(name->variable);
    if (slot.is_known()) return &slot.value;
  }
  const auto found = environment.known.find(&operand);
  return found == environment.known.end() ? nullptr : &found->second;
}

Value evaluate(const tic::Expr& e, const Compiled& compiled, Environment& environment) {
  Value value = Evaluator(compiled, environment).value(e);
  return value;
}

std::string text_of(const Value& value) {
  if (value.kind() == Kind::integer) return std::to_string(value.as_integer());
  if (value.kind() == Kind::boolean) return value.as_boolean() ? "true" : "false";
  if (value.kind() == Kind::unit) return "done";
  if (value.kind() != Kind::floating) return value.as_text();
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value.as_floating());
  std::string all(text, end);
  // So that it reads back as a float.
  if (all.find_first_not_of("-0123456789") == std::string::npos) all += ".0";
  return all;
}

std::string place_text(const Compiled& compiled, tic::Place place) {
  return compiled.program().file_name + ":" + std::to_string(place.line) + ":" +
         std::to_string(place.column);
}

}  // namespace rubato::flow

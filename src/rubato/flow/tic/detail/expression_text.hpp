#pragma once
// Expressions as text, with no more parentheses than they need.

#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow::tic::detail {

[[nodiscard]] std::string expression_text(const Expr& expression);

// As an argument in the braces of a rule or of an app, where only simple forms stand bare.
[[nodiscard]] std::string argument_text(const Expr& expression);

[[nodiscard]] std::string call_text(const CallExpr& call);

// "+", "and", ...
[[nodiscard]] std::string_view operator_text(BinaryOp op) noexcept;

// The texts of `list` with `between` between them.
template <class T, class TextOf>
[[nodiscard]] std::string joined(const std::vector<T>& list, std::string_view between,
                                 const TextOf& text_of) {
  std::string text;
  for (const T& each : list) {
    if (&each != list.data()) text += between;
    text += text_of(each);
  }
  return text;
}

}  // namespace rubato::flow::tic::detail

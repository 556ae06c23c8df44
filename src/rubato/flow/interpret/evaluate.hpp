#pragma once
// Values of expressions of TIC, all of whose operands are known.

#include <memory>
#include <string>
#include <vector>

#include "rubato/flow/interpret/environment.hpp"

namespace rubato::flow {

class Compiled;

// Members of a container that an expression makes: split(), glob().
using Members = std::vector<std::pair<Value, Value>>;

// A name, a member or a field whose value is there: known in the environment.
[[nodiscard]] const Value* known_value(const tic::Expr& operand, const Environment& environment);
// REQUIRES: all operands are known. Throws Error with the place in the script: a division by zero,
// an overflow, text that is no number, a file that cannot be read. May wait, for members of
// containers that are closed.
[[nodiscard]] Value evaluate(const tic::Expr& e, const Compiled& compiled,
                             Environment& environment);
// The same of an expression of a container type.
[[nodiscard]] Members evaluate_members(const tic::Expr& e, const Compiled& compiled,
                                       Environment& environment);

// An integer where a float is wanted, and a blob where a string is; any other value as it is.
[[nodiscard]] Value widened(Value value, const tic::Type& type);
// As string() and `++` write it: floats in the shortest form that reads back.
[[nodiscard]] std::string text_of(const Value& value);
// "name.tic:3:7"
[[nodiscard]] std::string place_text(const Compiled& compiled, tic::Place place);

}  // namespace rubato::flow

#pragma once
// What the built-in functions of TIC do (tic/builtins.hpp has their signatures).

#include <vector>

#include "rubato/flow/interpret/evaluate.hpp"

namespace rubato::flow {

// REQUIRES: as many values as arguments, of the types that the checker found; of a container that an
// expression makes, which is the first, none, but its members. Procedures return Value::done().
// Throws Error with the place of the call. May wait (join, contains).
[[nodiscard]] Value call_builtin(const tic::CallExpr& call, const std::vector<Value>& values,
                                 const Compiled& compiled, Environment& environment,
                                 const Members* members = nullptr);

// Of an integer or a float.
[[nodiscard]] double number_of(const Value& value);

}  // namespace rubato::flow

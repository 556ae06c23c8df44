#pragma once
// The functions that every script may call, with their signatures: one table, which the checker
// picks overloads from and an interpreter switches over.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/type.hpp"

namespace rubato::flow::tic {

enum class BuiltinId : std::uint8_t {
  to_integer,  // int(x): floats are cut towards zero, strings are read whole
  to_float,    // float(x)
  to_string,   // string(x): floats in the shortest form that reads back
  to_boolean,  // boolean("true" or "false")
  floor,
  ceil,
  round,  // half away from zero
  sqrt,
  exp,
  log,  // natural
  sin,
  cos,
  tan,
  abs,
  min,  // of one or more
  max,
  length,     // of a string, in bytes
  substring,  // substring(text, start [, length]), bytes from 0
  find,       // find(text, part): the first place, or -1
  replace,    // replace(text, part, by): each place
  split,      // split(text [, separator]): at runs of spaces without one
  join,       // join(container of strings, separator), in the order of the keys
  trim,
  upper,  // ASCII
  lower,
  size,      // members of a container that is closed
  contains,  // contains(container, key), once it is closed
  filename,  // of a file, which need not be closed
  read,      // the bytes of a file
  glob,      // the files that a pattern matches, sorted by name
  arg,       // arg("name" [, "default"]): from the command line
  n_args,
  n_nodes,      // of the run
  n_cores,      // of the run
  closed,       // a void, once its arguments are closed
  arithmetic,   // a template of operators and its operands; only as the action of a rule
  print,        // one line: the values with spaces between
  trace,        // the same with the place in the script in front
  assert_that,  // assert(condition [, text])
};

// One overload. A letter of `parameters` is a type: i integer, f float, s string, b boolean, F a
// file, x any scalar, C any container, k the key of the container before it, v anything; behind a
// letter, ? makes it optional and * lets it repeat, also zero times.
struct Builtin {
  std::string_view name;
  BuiltinId id;
  std::string_view parameters;
  std::string_view result;  // the type as it is written
  // It does something: a statement of its own, or a rule; an output of that is done when it is.
  bool is_procedure = false;

  [[nodiscard]] Type result_type() const;
};

// All overloads, those of a name side by side.
[[nodiscard]] std::span<const Builtin> builtins() noexcept;

// The overload for arguments of these types: the first that fits as it is, else the first that fits
// when integers widen to floats. -1 if there is none.
[[nodiscard]] int find_builtin(std::string_view name, const std::vector<Type>& arguments);

[[nodiscard]] bool is_builtin(std::string_view name) noexcept;
[[nodiscard]] std::vector<std::string> builtin_names();

// The overloads of a name as people read them: "abs(integer) or abs(float)".
[[nodiscard]] std::string signatures_text(std::string_view name);

}  // namespace rubato::flow::tic

#pragma once
// Small random scripts that the checker accepts, with what they print by a direct evaluation.
//
// Each expression and statement is made as its text and, beside it, as a function that does the same
// on a map of values, in the order in which it was made. The text's statements are shuffled, since
// their order says nothing.
//
// Scripts that may fail have divisions by zero, as values and as keys. Then the direct evaluation
// says, too, how many statements fail and how many do not run since they need what failed.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rubato/base/random.hpp"

namespace rubato::flow::random_scripts {

struct Failed {};  // thrown where an expression has no value, and the value of who needed it
using Words = std::map<std::int64_t, std::string>;
struct Numbers {
  std::map<std::int64_t, std::optional<std::int64_t>> members;  // without a value: it has failed
  bool lacks_members = false;  // and any of those that are not there may have
};
struct Rows {
  std::map<std::int64_t, Numbers> members;
  bool lacks_members = false;
};
using Anything =
    std::variant<std::int64_t, double, std::string, bool, Numbers, Words, Rows, Failed>;
using Values = std::map<std::string, Anything>;

// Throws Failed if it has.
template <class T>
const T& get(const Values& values, const std::string& name) {
  if (std::holds_alternative<Failed>(values.at(name))) throw Failed();
  return std::get<T>(values.at(name));
}

// What came of a script.
struct Outcome {
  std::string lines;
  std::uint64_t n_failed = 0;
  std::uint64_t n_skipped = 0;
};

using Operands = std::vector<std::string>;  // names, and members as they are written

template <class T>
struct Made {
  std::string text;
  std::function<T(const Values&)> value;
  Operands operands = {};
  [[nodiscard]] bool is_name() const { return operands.size() == 1 && operands[0] == text; }
};
using Run = std::function<void(Values&, Outcome&)>;
struct MadeStatement {
  std::string text;
  Run run;
};

[[nodiscard]] Operands both(Operands a, const Operands& b);
// The variables that they are, or are members of; each once.
[[nodiscard]] Operands roots_of(const Operands& operands);
// Whether all of them have values.
[[nodiscard]] bool are_there(const Operands& operands, const Values& values);
[[nodiscard]] bool is_whole(const Numbers& numbers);
// `insert to[key] = value`.
void insert(Numbers& to, const Made<std::int64_t>& key, const Made<std::int64_t>& value,
            const Values& v, Outcome& out);
// A statement that does `f` if it has its inputs; false if it has not done it.
template <class F>
bool perform(Outcome& out, bool has_inputs, const F& f) {
  if (!has_inputs) {
    ++out.n_skipped;
    return false;
  }
  try {
    f();
    return true;
  } catch (const Failed&) {
    ++out.n_failed;
    return false;
  }
}

class ScriptMaker {
 public:
  explicit ScriptMaker(std::uint64_t seed, bool may_fail = false)
      : random_(seed), may_fail_(may_fail) {}

  // And what comes of it, with the lines in some order.
  std::string make(Outcome& out);

 private:
  // Names that can be read, by the types of their values.
  struct Scope {
    std::vector<std::string> integers, floats, strings, booleans, numbers, words;
  };
  struct Function {
    std::string name;
    std::function<Anything(std::int64_t, const Anything&, const std::string&, Outcome&)> call;
  };
  // function f(integer n) to (container<integer, integer> r)
  struct RowFunction {
    std::string name;
    std::function<Numbers(std::int64_t, Outcome&)> call;
  };
  // Statements of a block while it is made; those that declare come first in the text.
  struct Block {
    std::vector<std::string> declared;
    std::vector<std::string> texts;
    std::vector<Run> runs;
  };

  [[nodiscard]] std::int64_t below(std::int64_t n) { return random_.between(0, n - 1); }
  [[nodiscard]] bool one_in(std::int64_t n) { return below(n) == 0; }
  [[nodiscard]] const std::string& one_of(const std::vector<std::string>& all) {
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
  }
  std::string new_name(const char* kind) { return kind + std::to_string(n_names_++); }

  Made<std::int64_t> integer(const Scope& scope, int depth);
  Made<std::int64_t> integer_of_container(const Scope& scope, int depth);
  Made<std::string> string(const Scope& scope, int depth);
  Made<bool> boolean(const Scope& scope, int depth);
  // split() of something.
  Made<Words> computed(const Scope& scope, int depth);

  MadeStatement block(Scope scope, int depth, int n_statements);
  void add(Block& to, Scope& scope, int depth);
  void add_declaration(Block& to, Scope& scope);
  void add_late(Block& to, Scope& scope, int depth);
  void add_print(Block& to, const Scope& scope);
  void add_branches(Block& to, const Scope& scope, int depth);
  void add_container(Block& to, Scope& scope);
  void add_each(Block& to, const Scope& scope, int depth);
  void add_call(Block& to, Scope& scope);
  std::string function();

  // --- where scripts may fail (random_rows_test.cpp)
  Made<std::int64_t> key(const std::string& variable, const Scope& scope);
  std::string row_function();
  void add_rows(Block& to, const Scope& scope);
  void add_filled_rows(Block& to, const Scope& scope, const std::string& rows);
  void add_called_rows(Block& to, const Scope& scope, const std::string& rows);
  void add_late_row(Block& to, const Scope& scope, const std::string& rows);
  void add_row_readers(Block& to, const std::string& rows);
  void add_copies(Block& to, const std::string& rows);

  RandomStream random_;
  bool may_fail_;
  int n_names_ = 0;
  std::vector<Function> functions_;
  std::vector<RowFunction> row_functions_;
};

}  // namespace rubato::flow::random_scripts

#pragma once
// Small random scripts that the checker accepts, with what they print by a direct evaluation.
//
// Each expression and statement is made as its text and, beside it, as a function that does the same
// on a map of values, in the order in which it was made. The text's statements are shuffled, since
// their order says nothing.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "rubato/base/random.hpp"

namespace rubato::flow::random_scripts {

using Numbers = std::map<std::int64_t, std::int64_t>;
using Words = std::map<std::int64_t, std::string>;
using Anything = std::variant<std::int64_t, double, std::string, bool, Numbers, Words>;
using Values = std::map<std::string, Anything>;

template <class T>
struct Made {
  std::string text;
  std::function<T(const Values&)> value;
  std::vector<std::string> names = {};  // that it reads
  [[nodiscard]] bool is_name() const { return names.size() == 1 && names[0] == text; }
};
// Prints into its second argument.
struct MadeStatement {
  std::string text;
  std::function<void(Values&, std::string&)> run;
};

class ScriptMaker {
 public:
  explicit ScriptMaker(std::uint64_t seed) : random_(seed) {}

  // And what it prints, in some order of the lines.
  std::string make(std::string& out);

 private:
  // Names that can be read, by the types of their values.
  struct Scope {
    std::vector<std::string> integers, floats, strings, booleans, numbers, words;
  };
  struct Function {
    std::string name;
    std::function<std::int64_t(std::int64_t, double, const std::string&, std::string&)> call;
  };
  // Statements of a block while it is made; those that declare come first in the text.
  struct Block {
    std::vector<std::string> declared;
    std::vector<std::string> texts;
    std::vector<std::function<void(Values&, std::string&)>> runs;
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

  RandomStream random_;
  int n_names_ = 0;
  std::vector<Function> functions_;
};

}  // namespace rubato::flow::random_scripts

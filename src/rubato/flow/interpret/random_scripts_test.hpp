#pragma once
// Small random scripts that the checker accepts, with what they print by a direct evaluation.
//
// Each expression and statement is made as its text and, beside it, as a function that does the same
// on a map of values, in the order in which it was made. The text's statements are shuffled, since
// their order says nothing.
//
// Scripts that may fail have divisions by zero, as values and as keys, and leaves that fail. Then the
// direct evaluation says, too, how many statements fail and how many do not run since they need what
// failed.
//
// What leaves do is seen outside of the script: files, and a line for each call that ended well.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"

namespace rubato::flow::random_scripts {

struct Failed {};  // thrown where an expression has no value, and the value of who needed it
using Words = std::map<std::int64_t, std::string>;
template <class K, class T>
struct MembersOf {
  std::map<K, std::optional<T>> members;  // without a value: it has failed
  bool lacks_members = false;             // and any of those that are not there may have
};
using Numbers = MembersOf<std::int64_t, std::int64_t>;
using Table = MembersOf<std::string, std::int64_t>;
using Texts = MembersOf<std::int64_t, std::string>;  // what is in files
struct Rows {
  std::map<std::int64_t, Numbers> members;
  bool lacks_members = false;
};
using Anything =
    std::variant<std::int64_t, double, std::string, bool, Numbers, Table, Words, Rows, Failed>;
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
  std::string calls;                         // of leaves, a line each
  std::map<std::string, std::string> files;  // those that have names, and what is in them
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
template <class K, class T>
[[nodiscard]] bool is_whole(const MembersOf<K, T>& all) {
  return !all.lacks_members &&
         std::ranges::all_of(all.members, [](const auto& each) { return each.second.has_value(); });
}
[[nodiscard]] std::string in_quotes(const std::string& text);
// As the built-in does.
[[nodiscard]] Words split(const std::string& text, const std::string& by);
template <class T>
[[nodiscard]] Made<T> read(const std::string& name) {
  return {name, [name](const Values& values) { return get<T>(values, name); }, {name}};
}
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
// `insert to[key] = value`.
template <class K, class T>
void insert(MembersOf<K, T>& to, const Made<K>& key, const Made<T>& value, const Values& v,
            Outcome& out) {
  std::optional<K> at;
  std::optional<T> x;
  const bool has_key = are_there(key.operands, v);
  perform(out, has_key && are_there(value.operands, v), [&] { x = value.value(v); });
  Outcome of_key;
  perform(of_key, has_key, [&] { at = key.value(v); });
  if (x && !at) ++out.n_failed;
  if (at) {
    to.members[*at] = x;
  } else {
    to.lacks_members = true;
  }
}

// --- leaves of these scripts, in the simulator

// Of leaves that have ended well, a line each; and when the first and the last one did.
struct Calls {
  std::string lines;
  Nanos first = 0;
  Nanos last = 0;
};
// All calls since then.
void forget_calls();
[[nodiscard]] const Calls& calls();
// What the leaf `noted` returns.
[[nodiscard]] std::int64_t noted(std::int64_t n, const std::string& text);

struct Kinds {
  bool may_fail = false;
  // Where files with names lie. "": no files, and no leaves.
  std::string folder = {};
  int n_statements = 5;  // of main
  // In place of leaves that write and read files.
  bool has_programs = false;
};
// Where programs say what leaves say in calls().
[[nodiscard]] std::string log_of(const std::string& folder);

class ScriptMaker {
 public:
  explicit ScriptMaker(std::uint64_t seed, Kinds kinds = {})
      : random_(seed), kinds_(std::move(kinds)), may_fail_(kinds_.may_fail) {}

  // And what comes of it, with the lines in some order.
  std::string make(Outcome& out);

 private:
  // Names that can be read, by the types of their values.
  struct Scope {
    std::vector<std::string> integers, floats, strings, booleans, numbers, words, tables, files,
        voids;
    std::vector<std::pair<std::string, std::size_t>> structs;  // and which of struct_types_
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
  struct Field {
    std::string path;  // ".a", or ".p.a" of a struct in the struct
    bool is_integer;
  };
  struct StructType {
    std::string name;
    std::string inner;  // ".p", which is of struct_types_[0]; "" if there is none
    std::vector<Field> fields;
  };
  // function f(pair p, integer n) to (pair q)
  struct StructFunction {
    std::string name;
    std::size_t type;
    std::function<std::vector<Anything>(const std::vector<Anything>&, std::int64_t, Outcome&)> call;
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
  MadeStatement finished(Block made);
  void add(Block& to, Scope& scope, int depth);
  void add_declaration(Block& to, Scope& scope);
  void add_late(Block& to, Scope& scope, int depth);
  void add_print(Block& to, const Scope& scope);
  void add_branches(Block& to, const Scope& scope, int depth);
  void add_container(Block& to, Scope& scope);
  void add_each(Block& to, const Scope& scope, int depth);
  void add_call(Block& to, Scope& scope);
  std::string function();

  // --- control (random_control_test.cpp)
  void add_wait(Block& to, const Scope& scope, int depth);
  void add_switch(Block& to, const Scope& scope, int depth);
  void add_late_switch(Block& to, const Scope& scope, const std::string& name);
  void add_loop(Block& to, Scope& scope, int depth);
  void add_next(Block& to, const Scope& scope, const std::string& i, const std::string& s);
  void add_said(Block& to, Scope& scope);
  void add_assert(Block& to, const Scope& scope);

  // --- structs and tables (random_structs_test.cpp)
  std::string struct_types();
  std::string struct_function();
  [[nodiscard]] Operands fields_of(const std::string& name, std::size_t type) const;
  void declare_struct(Scope& scope, const std::string& name, std::size_t type);
  void add_field(Block& to, Scope& scope, const std::string& field, bool is_integer);
  void add_copied(Block& to, const std::string& from, const std::string& name, std::size_t type);
  void add_struct(Block& to, Scope& scope);
  void add_struct_call(Block& to, Scope& scope);
  void add_table(Block& to, Scope& scope);

  // --- leaves and files (random_files_test.cpp)
  [[nodiscard]] std::string leaves() const;
  std::string task_options();
  void add_leaf(Block& to, Scope& scope, int depth);
  void add_noted(Block& to, Scope& scope);
  void add_file(Block& to, Scope& scope, int depth);
  void add_read(Block& to, Scope& scope);
  void add_parts(Block& to, Scope& scope);

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
  Kinds kinds_;
  bool may_fail_;
  int n_names_ = 0;
  std::vector<StructType> struct_types_;
  std::vector<StructFunction> struct_functions_;
  std::vector<Function> functions_;
  std::vector<RowFunction> row_functions_;
};

}  // namespace rubato::flow::random_scripts

#pragma once
// Names and types. What does not fit is noted and thrown as CheckStop, which the checker of the
// statement catches, to go on with the next one.
//
//   checker.cpp              scopes, declarations, programs
//   checker_expressions.cpp  expressions
//   checker_rules.cpp        rules and their calls
//   checker_statements.cpp   the other statements
//   checker_apps.cpp         command lines
//   writers.cpp              single assignment, once names are known
//   next_paths.cpp           next, once in each round of a loop

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/diagnostics.hpp"
#include "rubato/flow/tic/syntax.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow::tic::detail {

// Thrown after the error has been noted.
struct CheckStop {};

class Checker {
 public:
  Checker(Program& program, Diagnostics& errors) : program_(program), errors_(errors) {}
  void run();

 private:
  struct Scope {
    Block* block;
    std::map<std::string, int, std::less<>> names;
  };
  class ScopeGuard;

  [[noreturn]] void fail(Place place, std::string_view found, std::string_view expected,
                         std::string_view hint = "");

  // --- declarations
  void declare_globals();
  void taken(const Node& node, const std::string& name, std::map<std::string, Place>& names);
  void structs();
  [[nodiscard]] bool contains_itself(int struct_index) const;
  void callable(Callable& callable);
  void command(Callable& callable);
  void command_stream(const Callable& callable, Box<Expr>& stream, bool is_input);
  void command_outputs(const Callable& callable);
  void reads_parameters(const Callable& callable, const Expr& e);
  void reads_options(const Callable& callable);
  void leaf_input(const Parameter& input);
  void parameters(Callable& callable);
  void resolve(Type& type, Place place);
  void frame(Frame& frame);

  // --- names
  int declare(const std::string& name, Place place, Type type, VariableRole role);
  void declare(Name& name, Type type, VariableRole role);
  enum class Use { read, write };
  int look_up(const std::string& name, Place place, Use use);
  [[noreturn]] void unknown_name(const std::string& name, Place place);

  // --- expressions: each sets and returns the type
  const Type& expression(Expr& e);
  Type form(Expr& e, NameRef& n);
  Type form(Expr& e, MemberRef& m);
  Type form(Expr& e, FieldRef& f);
  Type form(Expr& e, Unary& u);
  Type form(Expr& e, Binary& b);
  Type form(Expr& e, CallExpr& c);
  template <class Literal>
  Type form(Expr& e, Literal& literal);
  void call(CallExpr& c);
  [[noreturn]] void unknown_function(const std::string& name, Place place);
  void expect_kind(Expr& e, Kind kind, std::string_view for_what);
  void expect_number(Expr& e, std::string_view for_what);
  // Notes and throws unless a value of type `from` can become one of type `to`.
  void expect_type(const Type& to, const Expr& value, std::string_view for_what);
  const Type& operand(Expr& e, Use use);
  void writable(const Expr& whole, int variable);

  // --- rules
  void rule(Rule& r);
  void rule_call(Rule& r, RuleCall& c);
  void call_of_callable(Rule& r, RuleCall& c);
  void call_of_builtin(Rule& r, RuleCall& c);
  void rule_arithmetic(RuleCall& c);
  void rule_outputs_fit(const Rule& r, const Callable& callee, Place place);
  void waits_for_itself(const Rule& r);
  void covered(const Rule& r, const Expr& e);
  void keys_covered(const Rule& r, const Expr& e);
  void named_before(const Rule& r, const Expr& file);
  // `of_app`: who runs so is a program.
  void options(Options& o, bool of_app);
  void only_of_tasks(const Options& o, const Callable* function);
  [[nodiscard]] static std::string signature(const Callable& callee);

  // --- statements
  void block(Block& b);
  void statements(Block& b);
  void check(Statement& s);
  void form(Statement& s, Declaration& d);
  void form(Statement& s, Assign& a);
  void form(Statement& s, Rule& r) { static_cast<void>(s), rule(r); }
  void form(Statement& s, Insert& i);
  void form(Statement& s, Close& c);
  void form(Statement& s, Foreach& f);
  void form(Statement& s, ForRange& f);
  void form(Statement& s, If& i);
  void form(Statement& s, Switch& sw);
  void form(Statement& s, Loop& l);
  void form(Statement& s, Next& n);
  void form(Statement& s, Wait& w);
  void form(Statement& s, CallExpr& c);
  void declared(const Type& type, Declared& d);
  void labels(const Switch& s);

  Program& program_;
  Diagnostics& errors_;
  std::map<std::string, int, std::less<>> struct_index_;
  std::map<std::string, int, std::less<>> callable_index_;
  Frame* frame_ = nullptr;
  std::vector<Scope> scopes_;
  const Loop* loop_ = nullptr;  // whose next may stand here
};

// A block that is open, for as long as it lives.
class Checker::ScopeGuard {
 public:
  ScopeGuard(Checker& checker, Block& block) : checker_(checker) {
    checker_.scopes_.push_back({&block, {}});
  }
  ~ScopeGuard() { checker_.scopes_.pop_back(); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Checker& checker_;
};

// The second pass, over a tree whose names and types are right: who writes what.
void check_writers(const Program& program, Diagnostics& errors, Diagnostics& warnings);

// Each loop in `body` says next exactly once in each round.
void check_next(const Block& body, Diagnostics& errors);

}  // namespace rubato::flow::tic::detail

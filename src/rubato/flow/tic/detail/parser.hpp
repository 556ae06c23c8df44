#pragma once
// The recursive-descent parser of TIC. A function reads what its name says and leaves the parser
// behind it; what does not fit is noted and thrown as SyntaxStop, which the reader of the statement
// catches, to go on behind the statement.
//
//   parser.cpp              the tokens, programs, declarations, recovery
//   parser_statements.cpp   statements
//   parser_rules.cpp        rules, their options, lists of names
//   parser_expressions.cpp  expressions

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/lexer.hpp"
#include "rubato/flow/tic/parse.hpp"
#include "rubato/flow/tic/syntax.hpp"

namespace rubato::flow::tic::detail {

// Thrown after the error has been noted.
struct SyntaxStop {};

class Parser {
 public:
  Parser(std::vector<Token> tokens, Diagnostics& errors)
      : tokens_(std::move(tokens)), errors_(errors) {}

  // All of the script.
  void program(Program& program);
  // All tokens as one template of `arithmetic`, such as (+)*(+), whose operands are left out: they
  // are taken from `operands`, in order.
  Expr arithmetic(std::vector<Expr> operands);

 private:
  // Blocks, parentheses and types may nest this deep, so that no script overflows the stack.
  static constexpr int kMaxNesting = 64;
  class Nesting;

  // --- tokens
  [[nodiscard]] const Token& token(std::size_t ahead = 0) const noexcept;
  [[nodiscard]] bool at(std::string_view word) const noexcept { return token().is(word); }
  [[nodiscard]] bool at_end_of_statement() const noexcept;
  [[nodiscard]] bool at_type() const noexcept;
  const Token& take() noexcept;
  bool accept(std::string_view word) noexcept;
  // Notes "found (this token), expected ..." and throws.
  [[noreturn]] void fail(std::string_view expected, std::string_view hint = "");
  void expect(std::string_view word, std::string_view why = "");
  void expect_end_of_statement(std::string_view hint = "");
  void skip_separators() noexcept;
  Name name(std::string_view what);

  // --- declarations
  void item(Program& program);
  void function(Program& program);
  void callable(Program& program, CallableKind kind);
  Struct structure();
  void signature(Callable& callable);
  std::vector<Parameter> parameters();
  Command command();
  Expr command_word();
  Type type();
  Type container_type();

  // --- statements
  Block block();
  void recover() noexcept;
  Statement statement();
  void statement_form(Statement& statement);
  Declaration declaration();
  Declared declared(const Type& type);
  void starts_with_name(Statement& statement);
  Assign assign();
  Insert insert();
  Close close();
  Foreach foreach ();
  ForRange for_range();
  If if_chain();
  Switch switch_cases();
  Case switch_case();
  Loop loop();
  LoopState loop_state();
  Next next();
  Wait wait();

  // --- rules
  Rule rule();
  RuleCall rule_call();
  Options options();
  void option(Options& options);
  void target(Options& options);
  void once(Box<Expr>& place);
  // { a c[1] s.f }, up to and with `close`.
  std::vector<Expr> operands(std::string_view close);
  Expr operand();
  Expr argument();

  // --- expressions
  Expr expression();
  Expr binary(int level);
  Expr comparison();
  Expr logical_not();
  Expr unary();
  Expr power();
  Expr postfix(Expr base, bool adjacent_only);
  Expr postfix_step(Expr base);
  Expr primary();
  Expr call();
  Expr literal();
  Expr label();
  std::vector<Expr> expressions(std::string_view close);
  [[nodiscard]] Expr joined(Place place, BinaryOp op, Expr left, Expr right);
  Expr checked_height(Expr expr, int below);
  // In a template: the next operand, where the text has none.
  Expr template_operand();
  [[nodiscard]] bool starts_operand() const noexcept;

  std::vector<Token> tokens_;
  Diagnostics& errors_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  std::optional<std::vector<Expr>> template_operands_;
  std::size_t n_operands_taken_ = 0;
};

// One level of nesting, for as long as it lives.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (parser_.nesting_ >= kMaxNesting) parser_.fail("at most 64 levels of nesting");
    ++parser_.nesting_;
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& parser_;
};

}  // namespace rubato::flow::tic::detail

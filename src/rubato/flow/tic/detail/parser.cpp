#include "rubato/flow/tic/detail/parser.hpp"

#include "rubato/base/error.hpp"

namespace rubato::flow::tic {

Program parse_program(std::string_view text, std::string file_name, Diagnostics& errors) {
  Program program;
  program.file_name = std::move(file_name);
  detail::Parser(read_tokens(text, errors), errors).program(program);
  return program;
}

Program parse_program(std::string_view text, std::string file_name) {
  Diagnostics errors(file_name);
  Program program = parse_program(text, std::move(file_name), errors);
  errors.throw_if_any();
  return program;
}

namespace detail {

const Token& Parser::token(std::size_t ahead) const noexcept {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::take() noexcept {
  const Token& taken = token();
  if (at_ + 1 < tokens_.size()) ++at_;
  return taken;
}

bool Parser::accept(std::string_view word) noexcept {
  if (!at(word)) return false;
  take();
  return true;
}

void Parser::fail(std::string_view expected, std::string_view hint) {
  errors_.found(token().place, shown(token()), expected, hint);
  throw SyntaxStop();
}

void Parser::expect(std::string_view word, std::string_view why) {
  if (accept(word)) return;
  std::string expected = "'" + std::string(word) + "'";
  if (!why.empty()) expected.append(" ").append(why);
  const bool could_be_meant = token().kind == TokenKind::name && word.size() > 1;
  fail(expected, could_be_meant ? did_you_mean(token().text, {std::string(word)}) : "");
}

bool Parser::at_end_of_statement() const noexcept {
  return token().kind == TokenKind::separator || token().kind == TokenKind::end || at("}");
}

void Parser::expect_end_of_statement(std::string_view hint) {
  if (!at_end_of_statement()) fail("the end of the statement", hint);
}

void Parser::skip_separators() noexcept {
  while (token().kind == TokenKind::separator)
    take();
}

Name Parser::name(std::string_view what) {
  const Token& t = token();
  if (t.kind != TokenKind::name) fail(what);
  if (is_reserved(t.text)) fail(std::string(what) + "; this word is reserved");
  Name name;
  name.place = t.place;
  name.text = std::string(take().text);
  return name;
}

// Behind the statement that failed: at the end of its line or before the brace that closes the
// block. A block inside it is skipped whole.
void Parser::recover() noexcept {
  int depth = 0;
  while (token().kind != TokenKind::end) {
    if (depth == 0 && at_end_of_statement()) return;
    if (at("{")) ++depth;
    if (at("}")) --depth;
    take();
  }
}

void Parser::program(Program& program) {
  while (!errors_.full()) {
    skip_separators();
    if (token().kind == TokenKind::end) return;
    try {
      item(program);
      expect_end_of_statement();
      // A brace too many ends nothing here.
      if (at("}")) fail("a statement; no block is open here");
    } catch (const SyntaxStop&) {
      recover();
      if (at("}")) take();
    }
  }
}

void Parser::item(Program& program) {
  if (at("function")) return function(program);
  if (at("app")) return callable(program, CallableKind::app);
  if (at("leaf")) return callable(program, CallableKind::leaf);
  if (at("struct")) {
    program.structs.push_back(structure());
    return;
  }
  if (at("}")) fail("a statement; no block is open here");
  program.main.body.statements.push_back(statement());
}

// The paper's main has no arguments: its statements join those outside of functions.
void Parser::function(Program& program) {
  if (!token(1).is("main")) return callable(program, CallableKind::function);
  take();
  take();
  expect("(");
  expect(")", "since main has no arguments: use arg(\"name\")");
  Block body = block();
  auto& statements = program.main.body.statements;
  for (Statement& s : body.statements)
    statements.push_back(std::move(s));
}

void Parser::callable(Program& program, CallableKind kind) {
  Callable c;
  take();
  c.kind = kind;
  Name n = name("a name");
  c.place = n.place;
  c.name = std::move(n.text);
  signature(c);
  if (kind != CallableKind::function) c.options = options();
  if (kind == CallableKind::function) c.frame.body = block();
  if (kind == CallableKind::app) c.command = command();
  program.callables.push_back(std::move(c));
}

void Parser::signature(Callable& c) {
  expect("(");
  c.inputs = parameters();
  if (!accept("to")) return;
  expect("(");
  c.outputs = parameters();
}

std::vector<Parameter> Parser::parameters() {
  std::vector<Parameter> list;
  while (!accept(")")) {
    if (!at_type()) fail("a type or ')'");
    Parameter p;
    p.place = token().place;
    p.type = type();
    p.name = name("the name of a parameter");
    list.push_back(std::move(p));
    accept(",");
  }
  return list;
}

Struct Parser::structure() {
  Struct s;
  take();
  Name n = name("the name of the struct");
  s.place = n.place;
  s.name = std::move(n.text);
  expect("{");
  for (skip_separators(); !accept("}"); skip_separators()) {
    if (!at_type()) fail("a type or '}'");
    Parameter field;
    field.place = token().place;
    field.type = type();
    do {
      field.name = name("the name of a field");
      s.fields.push_back(field);
      accept(",");
    } while (!at_end_of_statement() && !at_type());
  }
  return s;
}

bool Parser::at_type() const noexcept {
  if (token().kind != TokenKind::name) return false;
  for (int k = 0; k <= static_cast<int>(Kind::container); ++k) {
    if (at(kind_name(static_cast<Kind>(k)))) return true;
  }
  return !is_reserved(token().text) && token(1).kind == TokenKind::name &&
         !is_reserved(token(1).text);
}

Type Parser::type() {
  if (at("container")) return container_type();
  for (int k = 0; k < static_cast<int>(Kind::container); ++k) {
    if (accept(kind_name(static_cast<Kind>(k)))) return type_of(static_cast<Kind>(k));
  }
  Type t = type_of(Kind::structure);
  t.struct_name = name("a type").text;
  return t;
}

Type Parser::container_type() {
  const Nesting nesting(*this);
  take();
  expect("<", "and the types of keys and members");
  const bool by_text = at("string");
  if (!by_text && !at("integer")) fail("the type of the keys: integer or string");
  take();
  expect(",");
  Type element = type();
  expect(">");
  return container_of(by_text ? Kind::string : Kind::integer, std::move(element));
}

Command Parser::command() {
  Command c;
  expect("{");
  for (skip_separators(); !accept("}"); skip_separators()) {
    const bool redirects = token().kind == TokenKind::name && token(1).is("=");
    if (!redirects) {
      c.words.push_back(command_word());
      continue;
    }
    Box<Expr>* stream = at("stdin")    ? &c.standard_input
                        : at("stdout") ? &c.standard_output
                        : at("stderr") ? &c.standard_error
                                       : nullptr;
    const std::vector<std::string> streams{"stdin", "stdout", "stderr"};
    if (stream == nullptr) {
      fail("stdin, stdout or stderr before '='", did_you_mean(token().text, streams));
    }
    if (*stream) fail("each stream once");
    take();
    take();
    *stream = Box<Expr>(operand());
  }
  if (c.words.empty()) {
    at_ -= 1;
    fail("the program and its arguments");
  }
  return c;
}

Expr Parser::command_word() {
  if (token().kind == TokenKind::end) fail("an argument of the program or '}'");
  return argument();
}

}  // namespace detail
}  // namespace rubato::flow::tic

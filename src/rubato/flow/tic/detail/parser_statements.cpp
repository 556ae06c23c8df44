#include "rubato/base/error.hpp"
#include "rubato/flow/tic/detail/parser.hpp"

namespace rubato::flow::tic::detail {
namespace {

// What a statement may begin with, for messages.
const std::vector<std::string>& statement_words() {
  static const std::vector<std::string> words{
      "when",  "foreach", "for",     "if",     "switch",   "loop", "next",     "wait",   "insert",
      "close", "print",   "trace",   "assert", "function", "app",  "leaf",     "struct", "integer",
      "float", "string",  "boolean", "void",   "blob",     "file", "container"};
  return words;
}

}  // namespace

Block Parser::block() {
  const Nesting nesting(*this);
  expect("{", "before a block");
  Block b;
  while (!errors_.full()) {
    skip_separators();
    if (accept("}")) return b;
    if (token().kind == TokenKind::end) fail("'}' at the end of the block");
    try {
      b.statements.push_back(statement());
      expect_end_of_statement();
    } catch (const SyntaxStop&) {
      recover();
    }
  }
  throw SyntaxStop();
}

Statement Parser::statement() {
  Statement s;
  s.place = token().place;
  statement_form(s);
  return s;
}

void Parser::statement_form(Statement& s) {
  if (at("when")) {
    s.form = rule();
  } else if (at("insert")) {
    s.form = insert();
  } else if (at("close")) {
    s.form = close();
  } else if (at("foreach")) {
    s.form = foreach ();
  } else if (at("for")) {
    s.form = for_range();
  } else if (at("if")) {
    s.form = if_chain();
  } else if (at("switch")) {
    s.form = switch_cases();
  } else if (at("loop")) {
    s.form = loop();
  } else if (at("next")) {
    s.form = next();
  } else if (at("wait")) {
    s.form = wait();
  } else if (at_type()) {
    s.form = declaration();
  } else {
    starts_with_name(s);
  }
}

// x = .., s.f = .. or print(..).
void Parser::starts_with_name(Statement& s) {
  const Token& t = token();
  if (at("function") || at("app") || at("leaf") || at("struct")) {
    fail("a statement; this declaration stands outside of functions and blocks");
  }
  const bool plain = t.kind == TokenKind::name && !is_reserved(t.text);
  const Token& behind = token(1);
  if (plain && behind.is("(")) {
    Expr c = call();
    s.form = std::move(*c.as<CallExpr>());
    return;
  }
  if (plain && (behind.is("=") || behind.is(".") || behind.is("["))) {
    s.form = assign();
    return;
  }
  fail("a statement",
       t.kind == TokenKind::name ? did_you_mean(t.text, statement_words()) : std::string());
}

Assign Parser::assign() {
  Assign a;
  const Place place = token().place;
  a.target = operand();
  if (a.target.as<MemberRef>() != nullptr) {
    errors_.found(place, "a member before '='", "insert c[key] = value");
    throw SyntaxStop();
  }
  expect("=");
  a.value = expression();
  return a;
}

Declaration Parser::declaration() {
  Declaration d;
  const std::string first(token().text);
  d.type = type();
  do {
    d.names.push_back(declared(d.type));
    accept(",");
  } while (token().kind == TokenKind::name && !is_reserved(token().text));
  // A misspelled word looks like a type: forech x in c.
  expect_end_of_statement(is_reserved(first) ? "" : did_you_mean(first, statement_words()));
  return d;
}

Declared Parser::declared(const Type& type) {
  Declared d;
  Name n = name("the name of a variable");
  d.place = n.place;
  d.name = std::move(n.text);
  const bool mapped = token().kind == TokenKind::string || at("(");
  if (mapped) {
    if (!type.is(Kind::file)) fail("'=' before a value; only files have a name of their own");
    d.mapped = Box<Expr>(expression());
  }
  if (accept("=")) d.value = Box<Expr>(expression());
  return d;
}

Insert Parser::insert() {
  Insert i;
  take();
  i.member = operand();
  if (i.member.as<MemberRef>() == nullptr) fail("'[' and the key of the new member");
  expect("=");
  i.value = expression();
  return i;
}

Close Parser::close() {
  take();
  return {operand()};
}

Foreach Parser::foreach () {
  Foreach f;
  take();
  f.value = name("the name of the members");
  if (accept(",")) f.key = name("the name of their keys");
  expect("in");
  f.container = expression();
  f.body = block();
  return f;
}

ForRange Parser::for_range() {
  ForRange f;
  take();
  f.variable = name("the name of the counter");
  expect("in");
  expect("[", "and a range [first:last:step]; foreach is for containers");
  f.first = expression();
  expect(":");
  f.last = expression();
  if (accept(":")) f.step = Box<Expr>(expression());
  expect("]", "at the end of the range");
  f.body = block();
  return f;
}

If Parser::if_chain() {
  If i;
  expect("if");
  i.condition = expression();
  i.body = block();
  if (!accept("else")) return i;
  if (!at("if")) {
    i.otherwise = block();
    return i;
  }
  const Nesting nesting(*this);
  Statement other;
  other.place = token().place;
  other.form = if_chain();
  i.otherwise.emplace().statements.push_back(std::move(other));
  return i;
}

Switch Parser::switch_cases() {
  const Nesting nesting(*this);
  Switch s;
  take();
  s.subject = expression();
  expect("{", "before the cases");
  for (skip_separators(); !accept("}"); skip_separators()) {
    if (at("default")) {
      if (s.otherwise) fail("one default only");
      take();
      s.otherwise = block();
    } else {
      s.cases.push_back(switch_case());
    }
  }
  return s;
}

Case Parser::switch_case() {
  const std::vector<std::string> words{"case", "default"};
  if (!at("case")) {
    fail("case, default or '}'",
         token().kind == TokenKind::name ? did_you_mean(token().text, words) : std::string());
  }
  take();
  Case c;
  do {
    c.labels.push_back(label());
  } while (accept(","));
  c.body = block();
  return c;
}

Loop Parser::loop() {
  Loop l;
  take();
  expect("(", "before the state of the loop");
  while (!accept(")")) {
    l.state.push_back(loop_state());
    if (!accept(",") && !at(")")) fail("',' or ')'");
  }
  expect("while");
  l.condition = expression();
  l.body = block();
  if (accept("to")) {
    expect("(");
    l.results = operands(")");
  }
  return l;
}

LoopState Parser::loop_state() {
  if (!at_type()) fail("a type, as in (integer i = 0)");
  LoopState s;
  s.place = token().place;
  s.type = type();
  s.name = name("the name of a state variable");
  expect("=", "and the first value");
  s.initial = expression();
  return s;
}

Next Parser::next() {
  take();
  expect("(", "before the next state");
  return {expressions(")")};
}

Wait Parser::wait() {
  Wait w;
  take();
  expect("(", "before the variables to wait for");
  w.inputs = operands(")");
  w.body = block();
  return w;
}

}  // namespace rubato::flow::tic::detail

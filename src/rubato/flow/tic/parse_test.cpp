#include "rubato/flow/tic/parse.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/tic/print.hpp"
#include "rubato/flow/tic/scripts_test.hpp"

namespace rubato::flow::tic {
namespace {

std::string errors_of(std::string_view text) {
  try {
    static_cast<void>(parse_program(text, "a.tic"));
    return "none";
  } catch (const Error& e) {
    return e.what();
  }
}

const Expr& value_of(const Program& p) {
  return std::get<Assign>(p.main.body.statements.at(0).form).value;
}
std::string grouped(std::string_view expression) {
  return print_expression(value_of(parse_program("x = " + std::string(expression), "a.tic")));
}

TEST(TicParser, reads_the_rules_of_the_paper_as_they_stand) {
  // Section 6.3, with b as the output of both rules: what the checker says of it is its own test.
  const Program p = parse_program(
      "file a \"input.txt\"\nfile b \"output.txt\"\n"
      "when { } then {b} from {create_file filename(a)}\n"
      "when {a} then {b} \\\n    from {copy_file filename(a) filename(b)}\n",
      "a.tic");
  ASSERT_EQ(p.main.body.statements.size(), 4U);
  const auto& rule = std::get<Rule>(p.main.body.statements[3].form);
  EXPECT_EQ(rule.inputs.size(), 1U);
  const auto& call = std::get<RuleCall>(rule.action);
  EXPECT_EQ(call.callee, "copy_file");
  EXPECT_EQ(call.arguments.size(), 2U);
  EXPECT_EQ(call.place.line, 5);
  EXPECT_EQ(call.place.column, 11);
}

TEST(TicParser, groups_as_mathematics_does) {
  EXPECT_EQ(grouped("1 + 2 * 3"), "1 + 2 * 3");
  EXPECT_EQ(grouped("(1 + 2) * 3"), "(1 + 2) * 3");
  EXPECT_EQ(grouped("(a - b) - c - (d - e)"), "a - b - c - (d - e)");
  EXPECT_EQ(grouped("2 ** (3 ** 2)"), "2 ** 3 ** 2");
  EXPECT_EQ(grouped("(2 ** 3) ** 2"), "(2 ** 3) ** 2");
  EXPECT_EQ(grouped("(-2) ** 2 + -2 ** 2"), "(-2) ** 2 + -(2 ** 2)");
  EXPECT_EQ(grouped("not (a == b) and (c or d)"), "not a == b and (c or d)");
  EXPECT_EQ(grouped("\"a\" ++ (1 + 2) ++ (\"b\" ++ c)"), "\"a\" ++ 1 + 2 ++ (\"b\" ++ c)");
  EXPECT_EQ(grouped("-(-a) - -(1)"), "--a - -(1)");
}

TEST(TicParser, holds_the_least_integer) {
  EXPECT_EQ(grouped("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(errors_of("x = 9223372036854775808"),
            "a.tic:1:5: found '9223372036854775808', expected an integer of 64 bits");
}

TEST(TicParser, spaces_separate_arguments) {
  const Program p =
      parse_program("when {a c[1]} then {b} from {f a -1 c[1] (a) s.x \"w\"}", "a.tic");
  const auto& rule = std::get<Rule>(p.main.body.statements[0].form);
  EXPECT_EQ(std::get<RuleCall>(rule.action).arguments.size(), 6U);
}

TEST(TicParser, main_may_be_a_function) {
  EXPECT_EQ(parse_program("function main() {\n print(1)\n}", "a.tic"),
            parse_program("print(1)", "b.tic"));
}

TEST(TicParser, suggests_the_word_that_was_meant) {
  EXPECT_EQ(errors_of("when {a} than {b} from {f}"),
            "a.tic:1:10: found 'than', expected 'then' (did you mean \"then\"?)");
  EXPECT_EQ(errors_of("inset c[1] = 2"),
            "a.tic:1:8: found '[', expected the end of the statement (did you mean \"insert\"?)");
  EXPECT_EQ(errors_of("foreac x in c { }"),
            "a.tic:1:10: found 'in', expected the end of the statement (did you mean "
            "\"foreach\"?)");
  EXPECT_EQ(errors_of("swich (x) { }"), "a.tic:1:11: found '{', expected the end of the statement");
  EXPECT_EQ(
      errors_of("when {} then {} from {f} prioriti 3"),
      "a.tic:1:26: found 'prioriti', expected an option (priority, retries, timeout, on, only "
      "on, type, parallel) or the end (did you mean \"priority\"?)");
  EXPECT_EQ(errors_of("whn {a} then {b} from {f}"),
            "a.tic:1:1: found 'whn', expected a statement (did you mean \"when\"?)");
}

TEST(TicParser, each_error_has_its_place) {
  EXPECT_EQ(errors_of("when {a} then {b}\nfrom {f a - 1}"),
            "a.tic:2:11: found '-', expected an argument; expressions stand in parentheses");
  EXPECT_EQ(errors_of("integer when"),
            "a.tic:1:9: found 'when', expected the name of a variable; this word is reserved");
  EXPECT_EQ(errors_of("c[1] = 2"),
            "a.tic:1:1: found a member before '=', expected insert c[key] = value");
  EXPECT_EQ(errors_of("container<float, integer> c"),
            "a.tic:1:11: found 'float', expected the type of the keys: integer or string");
  EXPECT_EQ(errors_of("integer n \"text\""),
            "a.tic:1:11: found the string \"text\", expected '=' before a value; only files have a "
            "name of their own");
  EXPECT_EQ(errors_of("x = a < b < c"),
            "a.tic:1:11: found '<', expected 'and' between two comparisons; they do not chain");
  EXPECT_EQ(errors_of("x = (a + b"), "a.tic:1:11: found the end of the file, expected ')'");
  EXPECT_EQ(errors_of("for i in c { }"),
            "a.tic:1:10: found 'c', expected '[' and a range [first:last:step]; foreach is for "
            "containers");
  EXPECT_EQ(errors_of("if a { print(1)"),
            "a.tic:1:16: found the end of the file, expected '}' at the end of the block");
  EXPECT_EQ(errors_of("print(1)\n}"),
            "a.tic:2:1: found '}', expected a statement; no block is open here");
  EXPECT_EQ(errors_of("when {} then {} from {f} retries 1 retries 2"),
            "a.tic:1:36: found 'retries', expected this option once");
  EXPECT_EQ(errors_of("when {} then {} from {f} on 3"),
            "a.tic:1:29: found '3', expected node or core");
  EXPECT_EQ(errors_of("app a() to (file f) {\n}"),
            "a.tic:2:1: found '}', expected the program and its arguments");
  EXPECT_EQ(errors_of("app a() to (file f) { \"w\" sdtout=f }"),
            "a.tic:1:27: found 'sdtout', expected stdin, stdout or stderr before '=' (did you mean "
            "\"stdout\"?)");
  EXPECT_EQ(errors_of("if a { function f() { } }"),
            "a.tic:1:8: found 'function', expected a statement; this declaration stands outside of "
            "functions and blocks");
  EXPECT_EQ(errors_of("function main(integer n) { }"),
            "a.tic:1:15: found 'integer', expected ')' since main has no arguments: use "
            "arg(\"name\")");
}

TEST(TicParser, goes_on_behind_an_error) {
  EXPECT_EQ(errors_of("x = \nfunction f() {\n  y = )\n  print(1)\n}\nwhen a\nprint(2)"),
            "a.tic:1:5: found the end of the line, expected an expression\n"
            "a.tic:3:7: found ')', expected an expression\n"
            "a.tic:6:6: found 'a', expected '{' before the inputs");
}

TEST(TicParser, stops_after_twenty_errors) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "when " + std::to_string(i) + "\n";
  const std::string errors = errors_of(text);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 19);
}

TEST(TicParser, refuses_what_nests_too_deep) {
  const std::string deep(10'000, '(');
  EXPECT_NE(errors_of("x = " + deep).find("at most 64 levels of nesting"), std::string::npos);
  std::string sum = "x = 1";
  for (int i = 0; i < 10'000; ++i)
    sum += " + 1";
  EXPECT_NE(errors_of(sum).find("an expression of more than 256 levels"), std::string::npos);
  std::string blocks;
  for (int i = 0; i < 10'000; ++i)
    blocks += "if true {";
  EXPECT_NE(errors_of(blocks).find("at most 64 levels of nesting"), std::string::npos);
  const auto chain = [](int n) {
    std::string text = "if true { }";
    for (int i = 0; i < n; ++i)
      text += " else if true { }";
    return text;
  };
  EXPECT_EQ(errors_of(chain(60)), "none");
  EXPECT_NE(errors_of(chain(10'000)).find("at most 64 levels of nesting"), std::string::npos);
}

// What stands between lines of ``` in the description of the language, without a word behind them.
std::vector<std::string> examples_of_the_description() {
  const auto folder = std::filesystem::path(RUBATO_TIC_FOLDER);
  std::ifstream file(folder / "../../../../docs/tic.md");
  std::vector<std::string> examples;
  bool inside = false;
  bool counts = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      counts = inside && line == "```";
      if (counts) examples.emplace_back();
    } else if (counts) {
      examples.back() += line + "\n";
    }
  }
  return examples;
}

TEST(TicParser, reads_the_examples_of_the_description) {
  int n_read = 0;
  for (const std::string& example : examples_of_the_description()) {
    // These are messages.
    if (example.starts_with("a.tic:")) continue;
    EXPECT_EQ(errors_of(example), "none") << example;
    ++n_read;
  }
  EXPECT_GE(n_read, 5);
}

TEST(TicParser, reads_all_scripts) {
  for (const Script& script : all_scripts())
    EXPECT_NO_THROW(static_cast<void>(parse_program(script.text, script.name))) << script.name;
}

}  // namespace
}  // namespace rubato::flow::tic

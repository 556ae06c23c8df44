#include "rubato/flow/tic/print.hpp"

#include <gtest/gtest.h>

#include "rubato/flow/tic/parse.hpp"
#include "rubato/flow/tic/scripts_test.hpp"

namespace rubato::flow::tic {
namespace {

TEST(TicPrinter, what_is_printed_reads_back_to_the_same_tree) {
  const auto scripts = all_scripts();
  ASSERT_GE(scripts.size(), 5U);
  for (const Script& script : scripts) {
    const Program p = parse_program(script.text, script.name);
    const std::string text = print_program(p);
    EXPECT_EQ(parse_program(text, "again"), p) << text;
    EXPECT_EQ(print_program(parse_program(text, "again")), text);
  }
}

TEST(TicPrinter, writes_canonical_text) {
  const std::string text =
      "struct p { float x y }; leaf f(integer a) to(p b)priority 3\n"
      "leaf g() to (void v)\n"
      "function h(integer a)to(integer b){ b=a**2 }\n"
      "integer n=(1+2)*3, m\nfile o(\"a\" ++ n)\n"
      "if n<2 {close c} else if n<3 { } else {print(-1,- 0.5)}\n"
      "when {n,m} then {} from {trace n (m+1) -2} only on core 3 type gpu timeout 1e300\n";
  const std::string canonical =
      "struct p {\n  float x\n  float y\n}\n\n"
      "leaf f(integer a) to (p b) priority 3\n"
      "leaf g() to (void v)\n\n"
      "function h(integer a) to (integer b) {\n  b = a ** 2\n}\n\n"
      "integer n = (1 + 2) * 3, m\nfile o \"a\" ++ n\n"
      "if n < 2 {\n  close c\n} else if n < 3 {\n} else {\n  print(-1, -0.5)\n}\n"
      "when {n m} then { } from {trace n (m + 1) -2} timeout 1e+300 only on core 3 type gpu\n";
  EXPECT_EQ(print_program(parse_program(text, "a.tic")), canonical);
}

TEST(TicPrinter, writes_an_if_that_is_alone_behind_an_else_as_an_else_if) {
  EXPECT_EQ(print_program(parse_program("if a { } else { if b { } else { c = 1 } }", "a.tic")),
            "if a {\n} else if b {\n} else {\n  c = 1\n}\n");
  // Beside another statement it is none.
  const std::string two = "if a {\n} else {\n  if b {\n  }\n  c = 1\n}\n";
  EXPECT_EQ(print_program(parse_program(two, "a.tic")), two);
}

TEST(TicPrinter, breaks_long_rules) {
  const std::string name(40, 'x');
  const std::string text = "when {" + name + "} then {" + name + "} from {f " + name + "}";
  EXPECT_EQ(print_program(parse_program(text, "a.tic")),
            "when {" + name + "} \\\n    then {" + name + "} \\\n    from {f " + name + "}\n");
}

TEST(TicPrinter, prints_one_statement) {
  const Program p = parse_program("for i in [0:9:3] { print(i) }", "a.tic");
  EXPECT_EQ(print_statement(p.main.body.statements[0]), "for i in [0:9:3] {\n  print(i)\n}");
}

}  // namespace
}  // namespace rubato::flow::tic

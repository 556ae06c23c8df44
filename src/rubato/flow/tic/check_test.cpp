#include "rubato/flow/tic/check.hpp"

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/flow/tic/parse.hpp"
#include "rubato/flow/tic/print.hpp"
#include "rubato/flow/tic/scripts_test.hpp"

namespace rubato::flow::tic {
namespace {

std::string errors_of(std::string_view text) {
  try {
    static_cast<void>(load_program(text, "a.tic"));
    return "none";
  } catch (const Error& e) {
    return e.what();
  }
}

std::string warnings_of(std::string_view text) {
  Program p = parse_program(text, "a.tic");
  std::string all;
  for (const Diagnostic& d : check_program(p))
    all += std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " + d.text;
  return all;
}

TEST(TicChecker, accepts_all_scripts_without_a_warning) {
  for (const Script& script : all_scripts()) {
    EXPECT_EQ(errors_of(script.text), "none") << script.name;
    EXPECT_EQ(warnings_of(script.text), "") << script.name;
  }
}

TEST(TicChecker, names_both_writers_of_a_variable) {
  // As the paper prints it.
  EXPECT_EQ(errors_of("leaf create_file(string n) to (file f)\n"
                      "leaf copy_file(string a, string b) to (file f)\n"
                      "file a \"input.txt\"\nfile b \"output.txt\"\n"
                      "when { } then {b} from {create_file filename(a)}\n"
                      "when {a} then {b} \\\n    from {copy_file filename(a) filename(b)}\n"),
            "a.tic:6:16: found a second writer of 'b', expected one; the first is at a.tic:5:16");
  EXPECT_EQ(errors_of("integer x = 1\nif x > 2 { x = 3 }"),
            "a.tic:2:12: found a second writer of 'x', expected one; the first is at a.tic:1:9");
  EXPECT_EQ(errors_of("struct s { integer a b }\ns v\nv.a = 1\nv.b = 2\nv.a = 3\nprint(v)"),
            "a.tic:5:1: found a second writer of 'v', expected one; the first is at a.tic:3:1");
  EXPECT_EQ(errors_of("container<integer, integer> c\ninsert c[1] = 1\ninsert c[1] = 2\nprint(c)"),
            "a.tic:3:8: found a second writer of 'c', expected one; the first is at a.tic:2:8");
}

TEST(TicChecker, branches_are_one_writer) {
  EXPECT_EQ(errors_of("integer n = n_args()\ninteger x\nif n > 2 { x = 3 } else { x = 4 }\n"
                      "integer y\nif n > 2 { y = 1 }\nif n <= 2 { y = 2 }\nprint(x, y)"),
            "none");
}

TEST(TicChecker, rounds_write_only_members) {
  EXPECT_EQ(errors_of("integer x\nfor i in [1:9] { x = i }\nprint(x)"),
            "a.tic:2:18: found 'x' written in each round, expected a member under a key of the "
            "round, or a loop with state");
  EXPECT_EQ(
      errors_of("container<integer, integer> x\nfor i in [1:9] { insert x[i] = i }\nprint(x)"),
      "none");
}

TEST(TicChecker, several_functions_may_fill_one_container) {
  const std::string head =
      "function f(integer k) to (container<integer, integer> c) { insert c[k] = 1 }\n"
      "leaf g() to (container<integer, integer> c)\ncontainer<integer, integer> c\n";
  EXPECT_EQ(errors_of(head + "when {} then {c} from {f 1}\nwhen {} then {c} from {f 2}\nprint(c)"),
            "none");
  EXPECT_EQ(errors_of(head + "when {} then {c} from {g}\nwhen {} then {c} from {f 2}\nprint(c)"),
            "a.tic:5:15: found a second writer of 'c', expected one; the first is at a.tic:4:15");
}

TEST(TicChecker, names_what_nobody_writes) {
  EXPECT_EQ(errors_of("integer x\nprint(x)"),
            "a.tic:2:7: found 'x', which nobody writes, expected a rule that sets it");
  EXPECT_EQ(errors_of("function f(integer a) to (integer b) { print(a) }"),
            "a.tic:1:35: found output 'b', which f never writes, expected a rule that sets it");
}

TEST(TicChecker, warns_of_what_nobody_reads) {
  EXPECT_EQ(warnings_of("integer x = 1\n"), "1:9 found 'x', which nobody reads, expected a reader");
}

TEST(TicChecker, names_a_circle) {
  EXPECT_EQ(errors_of("leaf f(integer a) to (integer b)\ninteger x y\n"
                      "when {x} then {y} from {f x}\nwhen {y} then {x} from {f y}"),
            "a.tic:2:9: found a circle: x waits for y waits for x, expected rules that can all "
            "start");
  EXPECT_EQ(errors_of("integer x\nwhen {x} then {x} from {= 1}"),
            "a.tic:2:7: found 'x', which this rule itself sets, expected inputs that others set");
  EXPECT_EQ(errors_of("integer a = 1\ninteger b\nwhen {a} then {b} from {= a + b}"),
            "a.tic:3:31: found 'b' in the action, which this rule itself sets, expected what its "
            "inputs hold");
}

TEST(TicChecker, names_unknown_things_with_the_nearest) {
  EXPECT_EQ(errors_of("integer count = 1\nprint(cuont)"),
            "a.tic:2:7: found 'cuont', expected a variable that is declared above (did you mean "
            "\"count\"?)");
  EXPECT_EQ(errors_of("leaf runModel() to (integer a)\ninteger a\n"
                      "when {} then {a} from {runModle}"),
            "a.tic:3:24: found 'runModle', expected a function (did you mean \"runModel\"?)");
  EXPECT_EQ(errors_of("intger a"),
            "a.tic:1:1: found 'intger', expected a type (did you mean \"integer\"?)");
  EXPECT_EQ(errors_of("print(sqtr(2.0))"),
            "a.tic:1:7: found 'sqtr', expected a function (did you mean \"sqrt\"?)");
  EXPECT_EQ(errors_of("struct p { float width }\np a\na.wdith = 1.0"),
            "a.tic:3:1: found '.wdith', expected a field of struct p (did you mean \"width\"?)");
  EXPECT_EQ(errors_of("integer n = 1\nfunction f() { print(n) }"),
            "a.tic:2:22: found 'n', a variable of main, expected a parameter or a variable of this "
            "function");
}

TEST(TicChecker, names_second_declarations) {
  EXPECT_EQ(errors_of("integer a\nif true { float a }"),
            "a.tic:2:17: found a second 'a', expected another name; the first is at a.tic:1:9");
  EXPECT_EQ(errors_of("leaf f()\napp f() { \"w\" }"),
            "a.tic:2:5: found a second 'f', expected another name; the first is at a.tic:1:6");
  EXPECT_EQ(errors_of("leaf sqrt()"),
            "a.tic:1:6: found 'sqrt', expected another name; this is a built-in function");
  EXPECT_EQ(errors_of("leaf f(integer a, float a)"),
            "a.tic:1:25: found a second 'a', expected another name; the first is at a.tic:1:16");
  EXPECT_EQ(errors_of("struct s { s inner }"),
            "a.tic:1:8: found struct 's', which contains itself, expected a container between, "
            "whose members may be missing");
}

TEST(TicChecker, names_types_that_do_not_fit) {
  EXPECT_EQ(errors_of("integer a = 1.5"),
            "a.tic:1:13: found float '1.5', expected integer for 'a'; int(x) converts");
  EXPECT_EQ(errors_of("float a = 1\nprint(a)"), "none");
  EXPECT_EQ(errors_of("integer a = \"x\" + 1"),
            "a.tic:1:17: found '+' between strings, expected '++', which joins them");
  EXPECT_EQ(errors_of("file f \"x\"\nprint(\"a\" ++ f)"),
            "a.tic:2:14: found file 'f' beside '++', expected a string, a number or a boolean; "
            "filename(f) or read(f) is a string");
  EXPECT_EQ(errors_of("if 1 { }"), "a.tic:1:4: found integer '1' as a condition, expected boolean");
  EXPECT_EQ(
      errors_of("print(1 == \"a\")"),
      "a.tic:1:9: found integer '1' and string '\"a\"' beside '==', expected two numbers, two "
      "strings or two booleans");
  EXPECT_EQ(errors_of("print(abs(true))"),
            "a.tic:1:7: found abs(boolean), expected abs(integer) or abs(float)");
  EXPECT_EQ(errors_of("void v = closed(1)\nvoid w\nwhen {v} then {w} from {print v}\nprint(w)"),
            "none");
  EXPECT_EQ(errors_of("integer x\nwhen { } then {x} from {print 1}\nprint(x)"),
            "a.tic:2:25: found void 'print(1)', expected integer for 'x'");
  EXPECT_EQ(errors_of("void v w\nwhen { } then {v w} from {print 1}\nprint(v, w)"),
            "a.tic:2:27: found 2 outputs of print, expected none, or a void that is closed when it "
            "is done");
  EXPECT_EQ(errors_of("void v = print(1)\nprint(v)"),
            "a.tic:1:10: found 'print' in an expression, expected a statement, or a rule: when "
            "{..} then {..} from {print ..}");
  EXPECT_EQ(errors_of("container<string, integer> c\nprint(c[1])"),
            "a.tic:2:9: found integer '1', expected string for the key; string(x) converts");
  EXPECT_EQ(errors_of("foreach v in 3 { }"),
            "a.tic:1:14: found integer behind 'in', expected a container; for i in [first:last] "
            "counts");
  EXPECT_EQ(errors_of("switch 1 { case \"a\" { } }"),
            "a.tic:1:17: found string '\"a\"', expected integer for this switch; int(x) converts");
  EXPECT_EQ(errors_of("switch 1 { case 2 { } case 3, 2 { } }"),
            "a.tic:1:31: found a second case 2, expected each case once; the first is at "
            "a.tic:1:17");
  EXPECT_EQ(errors_of("for i in [1:5:0] { }"), "a.tic:1:15: found a step of 0, expected any other");
}

TEST(TicChecker, names_arguments_that_do_not_fit) {
  const std::string leaf = "leaf f(file m, integer n) to (blob s)\nfile m \"m\"\nblob s\n";
  EXPECT_EQ(errors_of(leaf + "when {m} then {s} from {f m}"),
            "a.tic:4:25: found 1 arguments of f, expected 2: f(file m, integer n) to (blob s)");
  EXPECT_EQ(errors_of(leaf + "when {m} then {s} from {f m 1.5}"),
            "a.tic:4:29: found float '1.5', expected integer for 'n' of f; int(x) converts");
  EXPECT_EQ(errors_of(leaf + "when {m} then {} from {f m 1}"),
            "a.tic:4:24: found 0 outputs of f, expected 1: f(file m, integer n) to (blob s)");
  EXPECT_EQ(errors_of(leaf + "file t\nwhen {m} then {t} from {f m 1}"),
            "a.tic:5:16: found file 't', expected blob for 's' of f");
  EXPECT_EQ(errors_of(leaf + "when {} then {s} from {f m 1}"),
            "a.tic:4:26: found 'm' in the action, expected 'm' among the inputs: when {.. m}");
  EXPECT_EQ(errors_of(leaf + "print(f(m, 1))"),
            "a.tic:4:7: found 'f' in an expression, expected a rule: when {..} then {..} from {f "
            "..}");
}

TEST(TicChecker, inputs_and_loop_variables_are_not_written) {
  EXPECT_EQ(errors_of("function f(integer a) { a = 1 }"),
            "a.tic:1:25: found input 'a' to be written, expected an output or a variable");
  EXPECT_EQ(errors_of("for i in [1:2] { i = 3 }"),
            "a.tic:1:18: found 'i' to be written, which its loop sets, expected another variable");
}

TEST(TicChecker, each_way_through_a_loop_has_one_next) {
  const std::string head = "integer n = 5\nloop (integer i = 0) while i < n {";
  EXPECT_EQ(errors_of(head + " }"),
            "a.tic:2:1: found a loop without next, expected next (..) in its body");
  EXPECT_EQ(
      errors_of(head + " if i > 2 { next (1) } }"),
      "a.tic:2:1: found a loop of which some rounds reach no next, expected next (..) on each "
      "way");
  EXPECT_EQ(
      errors_of(head + " next (1); next (2) }"),
      "a.tic:2:1: found a loop of which some rounds reach two next, expected one next (..) on "
      "each way");
  EXPECT_EQ(errors_of(head + " next (1, 2) }"),
            "a.tic:2:36: found 2 values of next, expected 1, one for each state variable");
  EXPECT_EQ(
      errors_of(
          "loop (container<integer, string> c = split(\"a\")) while size(c) > 0 { next (c) }"),
      "a.tic:1:7: found container<integer, string> as the state of a loop, expected a scalar or "
      "a file");
  EXPECT_EQ(errors_of("next (1)"),
            "a.tic:1:1: found next, expected next inside a loop, not inside its foreach or for");
}

TEST(TicChecker, an_app_sets_all_its_outputs) {
  EXPECT_EQ(errors_of("app a(file x) to (file y) { \"cp\" x }"),
            "a.tic:1:24: found output 'y', which the command does not set, expected filename(y) or "
            "stdout=y in the command");
  EXPECT_EQ(errors_of("app a(file x) to (file y) { \"cp\" stdin=y stdout=y }"),
            "a.tic:1:40: found 'y', expected an input of the app for stdin");
  EXPECT_EQ(errors_of("app a(blob x) { \"cp\" x }"),
            "a.tic:1:22: found blob 'x' in a command, expected a scalar, a file or a container of "
            "these");
}

TEST(TicChecker, names_bad_options_and_templates) {
  EXPECT_EQ(errors_of("leaf f() retries 1 elsewhere"),
            "a.tic:1:18: found retries elsewhere of what is no app, expected retries, or an app");
  const std::string task =
      "app t() { \"true\" }\nfunction f() { when {} then {} from {t} retries 1 }\n";
  EXPECT_EQ(errors_of(task + "when {} then {} from {f} priority 2 on node 0"), "none");
  EXPECT_EQ(errors_of(task + "when {} then {} from {f} timeout 2"),
            "a.tic:3:34: found a timeout of function f, expected none; the rules in it, or the "
            "leaves and apps that it calls, can have one");
  EXPECT_EQ(errors_of("integer a\nwhen {} then {a} from {= 1} retries 2\nprint(a)"),
            "a.tic:2:37: found retries of what is no call of a leaf or an app, expected none");
  EXPECT_EQ(errors_of("when {} then {} from {print 1} parallel 2"),
            "a.tic:1:41: found parallel of what is no call of a leaf or an app, expected none");
  EXPECT_EQ(errors_of("leaf f() retries -1"),
            "a.tic:1:18: found -1, expected a number of retries of at least 0");
  EXPECT_EQ(errors_of("leaf f() timeout 0"),
            "a.tic:1:18: found 0, expected a timeout of more than 0 s");
  EXPECT_EQ(errors_of("leaf f() timeout 0.0"),
            "a.tic:1:18: found 0.0, expected a timeout of more than 0 s");
  EXPECT_EQ(errors_of("leaf f() timeout \"a\""),
            "a.tic:1:18: found string '\"a\"' as the seconds of a timeout, expected a number; "
            "int(x) or float(x) converts");
  EXPECT_EQ(errors_of("integer a = 1\ninteger x\nwhen {a} then {x} from {arithmetic \"+\" a}"),
            "a.tic:3:36: in the template: found the end of the file, expected an operand: the "
            "template has more places than the call has operands");
  EXPECT_EQ(errors_of("integer a = 1\ninteger x\nwhen {a} then {x} from {arithmetic \"+\" a a a}"),
            "a.tic:3:36: in the template: found an operand too many, expected 2 for this template");
}

TEST(TicChecker, close_and_insert_are_in_order) {
  EXPECT_EQ(errors_of("container<integer, integer> c\nclose c\ninsert c[1] = 2\nprint(c)"),
            "a.tic:3:8: found 'c' written behind its close, expected it before the close at "
            "a.tic:2:1");
  EXPECT_EQ(errors_of("integer c\nclose c"),
            "a.tic:2:7: found integer to be closed, expected a container; other variables close "
            "with their value");
}

TEST(TicChecker, finds_each_way_to_write_behind_a_close) {
  const std::string head =
      "function f() to (integer x) { x = 4 }\nfunction g() to (container<integer, integer> d) { }\n"
      "container<integer, integer> c\nprint(c)\ninteger n = 1\n";
  const auto behind = [&](const std::string& text) { return errors_of(head + text); };
  const auto found = [](const std::string& place, const std::string& close) {
    return "a.tic:" + place +
           ": found 'c' written behind its close, expected it before the close "
           "at a.tic:" +
           close;
  };
  EXPECT_EQ(behind("close c\nwhen { } then {c[3]} from {= 5}"), found("7:16", "6:1"));
  EXPECT_EQ(behind("close c\nfor i in [1:3] { insert c[i] = i }"), found("7:25", "6:1"));
  EXPECT_EQ(behind("close c\nwhen { } then {c[3]} from {f}"), found("7:16", "6:1"));
  EXPECT_EQ(behind("close c\nwhen { } then {c} from {g}"), found("7:16", "6:1"));
  EXPECT_EQ(behind("close c\nif n > 0 { insert c[n] = 1 }"), found("7:19", "6:1"));
  EXPECT_EQ(behind("close c\nwait (n) { insert c[n] = 1 }"), found("7:19", "6:1"));
  EXPECT_EQ(behind("close c\nloop (integer i = 0) while i < 2 { next (i + 1) } to (c[n])"),
            found("7:55", "6:1"));
  // Also if the close may not be reached; branches apart do not meet.
  EXPECT_EQ(behind("if n > 0 { close c }\ninsert c[n] = 1"), found("7:8", "6:12"));
  EXPECT_EQ(behind("switch n { case 1 { close c } case 2 { insert c[n] = 1 } }"), "none");
  EXPECT_EQ(behind("if n > 0 { insert c[1] = 1\nclose c\n} else { insert c[2] = 1 }"), "none");
  EXPECT_EQ(
      behind("for i in [1:3] { insert c[i] = 1\nclose c\n}"),
      "a.tic:7:1: found 'c' closed in each round, expected it behind the loop, or not at all: "
      "what has ended writes no more");
  EXPECT_EQ(behind("for i in [1:3] { container<integer, integer> e\nclose e\nprint(e) }"), "none");
}

TEST(TicChecker, finds_statements_that_write_what_they_wait_for) {
  const std::string c = "container<integer, integer> c\n";
  const auto found = [](const std::string& place, const std::string& statement) {
    return "a.tic:" + place + ": found 'c' written within a " + statement +
           " it, expected another variable: it would close when all that may write it has ended";
  };
  EXPECT_EQ(errors_of(c + "foreach v, k in c { insert c[k + 1] = v }"),
            found("2:28", "foreach over"));
  EXPECT_EQ(errors_of(c + "insert c[1] = 1\nfor i in [1:3] { wait (c) { insert c[i + 1] = 1 } }"),
            found("3:36", "wait for"));
  EXPECT_EQ(errors_of("integer c\nwait (c) { c = 1 }"), found("2:12", "wait for"));
  // A close says that its own block writes no more, and not that the body does not.
  EXPECT_EQ(errors_of(c + "insert c[1] = 1\n"
                          "foreach v, k in c { if k < 3 { insert c[k + 1] = v } }\nclose c"),
            found("3:39", "foreach over"));
  EXPECT_EQ(errors_of(c + "container<integer, integer> d\n"
                          "foreach v, k in c { insert d[k] = v }\nprint(d)"),
            "none");
}

TEST(TicChecker, closes_whole_variables) {
  const std::string found = "to be closed, expected a whole variable; what is in it closes with it";
  EXPECT_EQ(errors_of("container<string, container<integer, integer>> c\nclose c[\"a\"]\nprint(c)"),
            "a.tic:2:7: found 'c[\"a\"]' " + found);
  EXPECT_EQ(
      errors_of("struct b { container<integer, integer> m; integer n }\nb s\nclose s.m\nprint(s)"),
      "a.tic:3:7: found 's.m' " + found);
}

TEST(TicChecker, lets_apps_and_leaves_read_what_is_there_when_they_begin) {
  const std::string head = "struct p { integer x; container<integer, string> c }\n";
  const std::string nested = "container<integer, container<integer, string>> v";
  const auto of_parameters = [&](const std::string& text) { return errors_of(head + text); };
  const auto found = [](const std::string& place, const std::string& what) {
    return "a.tic:" + place + ": found '" + what +
           "' in show, expected scalars and files of its "
           "parameters; what is in a container inside of another needs a parameter of its own";
  };
  EXPECT_EQ(of_parameters("app show(p v, container<integer, string> w) to (void s) retries size(w) "
                          "{ \"echo\" v.x w[v.x] size(w) w }"),
            "none");
  EXPECT_EQ(of_parameters("app show(p v) to (void s) { \"echo\" v.c[1] }"), found("2:36", "v.c"));
  EXPECT_EQ(of_parameters("app show(p v) to (void s) { \"echo\" size(v.c) }"),
            found("2:41", "v.c"));
  EXPECT_EQ(of_parameters("app show(" + nested + ") to (void s) { \"echo\" v[1][2] }"),
            found("2:81", "v[1]"));
  EXPECT_EQ(of_parameters("leaf f(container<integer, string> c) retries size(c)"),
            "a.tic:2:51: found container<integer, string> 'c' in an option of a leaf, expected a "
            "scalar; a rule that calls the leaf may read its containers in options of its own");
  const std::string of_leaf =
      "' of a leaf, expected containers and structs of scalars and files; what is inside needs a "
      "parameter of its own";
  EXPECT_EQ(of_parameters("leaf f(" + nested + ")"),
            "a.tic:2:55: found container<integer, container<integer, string>> 'v" + of_leaf);
  EXPECT_EQ(of_parameters("leaf f(p v)"), "a.tic:2:10: found p 'v" + of_leaf);
}

TEST(TicChecker, knows_that_members_that_a_rule_sets_have_no_names) {
  const std::string head =
      "app mk(string n) to (file f) { \"touch\" f n }\ncontainer<integer, file> c\n";
  EXPECT_EQ(
      errors_of(head + "when { } then {c[1]} from {mk filename(c[1])}"),
      "a.tic:3:40: found the name of 'c[1]', which this rule sets, expected a variable: file f; "
      "when {..} then {f} from {.. filename(f)}; insert c[1] = f");
  EXPECT_EQ(errors_of(head +
                      "file f\nwhen { } then {f} from {mk filename(f)}\ninsert c[1] = f\nprint(c)"),
            "none");
}

TEST(TicChecker, expands_templates_of_arithmetic) {
  const Program p = load_program(
      "integer a = 1, b = 2, c = 3, d = 4\ninteger x\n"
      "when {a b c d} then {x} from {arithmetic \"(+)*(+)\" a b c d}\nprint(x)",
      "a.tic");
  const auto& rule = std::get<Rule>(p.main.body.statements[2].form);
  const auto& call = std::get<RuleCall>(rule.action);
  EXPECT_EQ(print_expression(*call.value), "(a + b) * (c + d)");
  EXPECT_EQ(call.value->type, type_of(Kind::integer));
}

TEST(TicChecker, an_output_among_the_arguments_is_no_input) {
  const Program p = load_program(
      "leaf readModel() to (file m)\nfile m \"m\"\nwhen { } then {m} from {readModel m }", "a.tic");
  const auto& rule = std::get<Rule>(p.main.body.statements[1].form);
  EXPECT_EQ(std::get<RuleCall>(rule.action).arguments.at(0).output, 0);
}

TEST(TicChecker, a_block_lists_what_it_takes_from_outside) {
  const Program p = load_program(
      "integer n = 2\ncontainer<integer, integer> c\n"
      "for i in [0:n] {\n  integer t = i * n\n  if t > 1 { insert c[i] = t }\n}\nprint(c)",
      "a.tic");
  const auto& loop = std::get<ForRange>(p.main.body.statements[2].form);
  EXPECT_EQ(loop.variable.variable, 2);
  EXPECT_EQ(loop.body.declared, (std::vector<int>{2, 3}));
  EXPECT_EQ(loop.body.captures, (std::vector<int>{0, 1}));
  EXPECT_EQ(loop.body.writes, (std::vector<int>{1}));
  const auto& branch = std::get<If>(loop.body.statements[1].form).body;
  EXPECT_EQ(branch.captures, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(p.main.variables.at(2).role, VariableRole::index);
  EXPECT_TRUE(p.main.body.captures.empty());
}

}  // namespace
}  // namespace rubato::flow::tic

// What people are told of a script: names, places, numbers.

#include <csignal>
#include <cstdlib>

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

std::int64_t odd_only(std::int64_t n) {
  if (n % 2 == 0) throw Error("it is even");
  return n;
}
void crash() {
  static_cast<void>(*static_cast<volatile int*>(nullptr));  // NOLINT
}
[[maybe_unused]] const bool kLeaves = register_leaf("odd_only", &odd_only) &&
                                      register_leaf("crash", &crash) &&
                                      register_leaf(
                                          "leave", +[] { std::exit(0); });

void expect_in(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Told, is_which_app_or_leaf_has_failed_with_line_and_column) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran ran = run_text(seed, R"(
leaf odd_only(integer n) to (integer m)
app broken(integer n) to (void v) { "sh" "-c" "exit 3" n }
integer m
void v w
when { } then {m} from {odd_only 4}
when { } then {v} from {broken 1}; when { } then {w} from {broken 2}
)");
    EXPECT_EQ(ran.result.n_failures, 3U);
    expect_in(ran.result.text(), {"task 'odd_only' of test.tic:6:1: odd_only(4): it is even",
                                  "task 'broken' of test.tic:7:25: ", "ended with code 3",
                                  "task 'broken' of test.tic:7:60: "});
  }
}

TEST(Told, is_what_was_set_twice_by_the_names_that_it_has) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran ran = run_text(seed, R"(
struct point { integer x y }
function twice(integer n) to (integer m) { if n > 0 { m = n }; if n > 5 { m = 2 * n } }
function fill(integer n) to (container<integer, integer> p) { insert p[n / 2] = n }
app touch(integer n) to (void v) { "true" n }
integer s
point q
container<integer, void> all
container<integer, container<integer, integer>> c
container<string, point> named
when { } then {s} from {twice 7}
for i in [2:3] {
  when { } then {c[9]} from {fill i}
  named["a" ++ string(i / 2)].y = i
}
when { } then {q.x} from {twice 9}
for i in [1:1] { for j in [1:2] { when { } then {all[i]} from {touch j} } }
)");
    expect_in(ran.result.text(),
              {"'s' of test.tic:6:9 was set as 'm' at test.tic:3:",
               "'p[1]' was set at test.tic:4:70, and is set again there: a member is set once",
               "'named[\"a1\"].y' was set at test.tic:14:3, and is set again there: a member",
               "'m' was set at test.tic:3:", ": a member is set once",
               "'all[1]' was set at test.tic:17:64, and is set again there: a member is set once"});
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Told, is_what_a_rule_waits_for_that_waits_for_ever) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran ran = run_text(seed, R"(
leaf odd_only(integer n) to (integer m)
container<integer, integer> c
integer x y
when {c[1]} then {x} from {odd_only (c[1])}
when {x} then {y} from {odd_only x}
insert c[x] = y
)");
    expect_in(ran.result.text(),
              {"nothing goes on any more, and 3 rules wait for ever for 3 data that are not set:\n",
               "task 'odd_only' of test.tic:5:1 waits for 'c[1]', member 1 of a container",
               "task 'odd_only' of test.tic:6:1 waits for 'x', the datum of test.tic:4:9, which ",
               "task 'insert' of test.tic:7:1 waits for 'y', the datum of test.tic:4:11, which "});
  }
}

TEST(Told, are_leaves_and_programs_as_tasks_and_nothing_else) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran ran = run_text(seed, R"(
leaf odd_only(integer n) to (integer m)
app echo(integer n) to (string s) { "echo" n stdout=s }
function twice(integer n) to (integer m) { m = n + n }
for i in [1 : 3] {
  integer m k
  string s t
  when { } then {m} from {odd_only (2 * i - 1)}
  when {m} then {s} from {echo m}
  when {m} then {k} from {twice m}
  when {k s} then {t} from {echo (k + length(s))}
  wait (t) { print(i) }
}
)");
    EXPECT_EQ(ran.result.text(), "");
    EXPECT_EQ(ran.result.n_tasks(), 9U) << "seed " << seed;
    EXPECT_GT(ran.result.counters.n_steps, 9U);
  }
}

// Those that wait for a task's results are not tasks themselves.
TEST(Told, are_the_tasks_that_did_not_run) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran ran = run_text(seed, R"(
leaf odd_only(integer n) to (integer m)
integer m k
integer x
when { } then {m} from {odd_only 2}
x = m + 1
when {x} then {k} from {odd_only x}
wait (k) { print("never") }
print(x)
)");
    EXPECT_EQ(ran.result.n_failures, 1U);
    EXPECT_EQ(ran.result.n_not_run(), 1U);
    EXPECT_EQ(ran.result.n_tasks(), 1U);
    expect_in(ran.result.text(), {"1 task failed, 1 did not run since they need what failed:\n"});
    EXPECT_EQ(ran.result.summary(), "1 task, 1 failed, 1 not run (nor 3 rules beside them)");
  }
}

TEST(Told, are_options_that_cannot_be) {
  const auto told = [](const std::string& option) {
    const Ran ran = run_text(5,
                             "leaf odd_only(integer n) to (integer m)\ninteger m\n"
                             "when { } then {m} from {odd_only 1} " +
                                 option + "\n");
    return ran.result.text();
  };
  expect_in(told("parallel (0 - 3)"), {"parallel -3: expected 1 to "});
  expect_in(told("parallel (1 - 1)"), {"parallel 0: expected 1 to "});
  expect_in(told("retries (0 - 1)"), {"retries -1: expected 0 to 1000000"});
  expect_in(told("timeout (0 - 1)"), {"timeout -1.0: expected more than 0 s"});
  expect_in(told("timeout (1.0 - 1.0)"), {"timeout 0.0: expected more than 0 s"});
  expect_in(told("priority 3000000000"),
            {"priority 3000000000: expected -2147483648 to 2147483647"});
  EXPECT_EQ(told("priority (0 - 2147483648)"), "");
}

TEST(Told, are_names_that_are_empty) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran ran = run_text(seed, R"(app put(string text) to (file f) { "printf" text stdout=f }
string name = trim(" ")
file f (name)
when { } then {f} from {put "x"}
)");
    expect_in(ran.result.text(), {"test.tic:3:9: found \"\", expected a name for 'f'; without one, "
                                  "`file f` is a temporary file"});
  }
}

// An input and an output in one block, whose names are compared before the run.
TEST(Told, are_names_that_are_empty_beside_others) {
  const Ran ran = run_text(3, R"(app copy(file a) to (file b) { "cp" a b }
file a "/dev/null"
file b (trim(" "))
when {a} then {b} from {copy a}
)");
  expect_in(ran.result.text(), {"test.tic:3:9: found \"\", expected a name for 'b'"});
}

TEST(Told, are_fields_by_their_names_alone) {
  for (std::uint64_t seed = 0; seed < n_seeds(8); ++seed) {
    const Ran never = run_text(seed, R"(
struct point { integer x y }
function some(integer n) to (point p) { p.x = n; if n > 9 { p.y = n } }
point p
when { } then {p} from {some 1}
print(p.y)
)");
    expect_in(never.result.text(),
              {"'print' of test.tic:6:1", " did not run: it needs 'p.y', which was never set"});
    EXPECT_EQ(never.result.text().find("container"), std::string::npos) << never.result.text();
    const Ran waits = run_text(seed, R"(
struct point { integer x y }
leaf odd_only(integer n) to (integer m)
point p
when {p.x} then {p.y} from {odd_only p.x}
when {p.y} then {p.x} from {odd_only p.y}
)");
    ASSERT_EQ(waits.result.waiting.size(), 2U) << waits.result.text();
    expect_in(waits.result.text(),
              {"waits for 'p.x', which nobody has set", "waits for 'p.y', which nobody has set"});
    EXPECT_EQ(waits.result.text().find("container"), std::string::npos) << waits.result.text();
  }
}

TEST(Told, are_the_names_of_fields) {
  expect_lines(R"(
struct place { float x y; string name }
place p
p.x = 1.5
p.y = 2.0
p.name = "here"
print(p)
)",
               "{x: 1.5, y: 2.0, name: here}\n");
}

TEST(Told, is_that_integers_have_no_negative_powers) {
  const Ran ran = run_text(3, "integer n = 0 - 1\nprint(2 ** n)\n");
  expect_in(ran.result.text(),
            {"test.tic:2:9: found the integers 2 ** -1, expected an exponent of 0 at "
             "least, or a base that is a float"});
  expect_lines("integer n = 0 - 1\nprint(2.0 ** n)\n", "0.5\n", 3);
}

TEST(Told, is_that_powers_are_exact_at_the_ends_of_integers) {
  expect_lines(R"(
integer least = 0 - 9223372036854775807 - 1
print(1 ** least, (0 - 1) ** least, (0 - 1) ** (least + 1))
)",
               "1 1 -1\n", 3);
}

// As of other containers: 64 members a task.
TEST(Foreach, over_what_an_expression_makes_has_tasks_for_its_bodies) {
  std::string words;
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    words += (i == 0 ? "" : " ") + std::to_string(i);
    lines += std::to_string(i) + " " + std::to_string(i) + "\n";
  }
  const std::string loop = "foreach word, i in split(\"" + words + "\") { print(i, word) }\n";
  expect_lines(loop, lines, 10);
  EXPECT_GE(run_text(9, loop).result.counters.n_run, 300U / kPairsATask);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ToldDeathTest, is_the_leaf_that_ends_the_process) {
  EXPECT_EXIT(global::run_here(1,
                               [] {
                                 static_cast<void>(
                                     run_script("leaf crash() to (void v)\nvoid v\n"
                                                "when { } then {v} from {crash}\n",
                                                "crash.tic"));
                               }),
              ::testing::KilledBySignal(SIGSEGV), "SIGSEGV in task 'crash' of crash.tic:3:1");
}

TEST(ToldDeathTest, is_the_leaf_that_leaves_the_process) {
  EXPECT_EXIT(global::run_here(1,
                               [] {
                                 static_cast<void>(
                                     run_script("leaf leave() to (void v)\nvoid v\n"
                                                "when { } then {v} from {leave}\n",
                                                "leave.tic"));
                               }),
              ::testing::ExitedWithCode(1), "exit.. in task 'leave' of leave.tic:3:1");
}
#endif

}  // namespace
}  // namespace rubato::flow

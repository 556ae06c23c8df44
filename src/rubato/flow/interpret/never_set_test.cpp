// What was never set, and who needed it.

#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

// That many needed what nobody set, so that so many did not run in all; and these are the reasons.
struct Expected {
  std::uint64_t n_never_set;
  std::uint64_t n_skipped;
  std::vector<std::string> reasons;
  std::string lines = "";
};

void expect_told(const Ran& ran, const Expected& expected) {
  const FlowResult& result = ran.result;
  EXPECT_EQ(result.n_failures, expected.n_never_set) << result.text();
  EXPECT_EQ(result.counters.n_never_set, expected.n_never_set);
  EXPECT_EQ(result.counters.n_skipped, expected.n_skipped) << result.text();
  EXPECT_FALSE(result.is_good());
  EXPECT_EQ(ran.out, sorted_lines(expected.lines));
  EXPECT_EQ(result.n_data_held, 0U);
}

void expect_never_set(const std::string& text, const Expected& expected) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Ran ran = run_text(seed, text);
    expect_told(ran, expected);
    for (const std::string& reason : expected.reasons)
      EXPECT_NE(ran.result.text().find(reason), std::string::npos) << ran.result.text();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(NeverSet, an_output_that_a_function_did_not_set_is_told_with_who_needed_it) {
  expect_never_set(
      R"(
function f(integer n) to (integer x) { if n > 3 { x = 1 } }
app use(integer n) to (void v) { "true" n }
integer x
void v
when { } then {x} from {f 2}
when {x} then {v} from {use x}
wait (v) { print("not reached") }
print("other work")
)",
      {1,
       2,
       {"1 task needs what was never set:",
        "task 'use' of test.tic:7:1 did not run: it needs 'x', and the datum of "
        "test.tic:4:9 was never set"},
       "other work\n"});
}

TEST(NeverSet, fields_and_members_are_told_as_they_are_written) {
  expect_never_set(
      R"(
struct pair { integer a b }
pair y
y.a = 1
if y.a > 1 { y.b = 2 }
container<integer, integer> c
insert c[0] = 1
print(y.b)
wait (c[2]) { print("not reached") }
integer seven = 3 + 4
print(c[seven], y.a)
foreach x, i in c { print(i, x) }
)",
      {3,
       3,
       {"3 tasks need what was never set:",
        "task 'print' of test.tic:8:1 did not run: it needs 'y.b', which was never set",
        "task 'wait' of test.tic:9:1 did not run: it needs 'c[2]', and member 2 of a ",
        "task 'print' of test.tic:11:1 did not run: it needs 'c[seven]', and member 7 "},
       "0 1\n"});
}

// No failure: the run is good.
TEST(NeverSet, what_nobody_waits_for_is_a_note) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const Ran ran = run_text(seed, R"(
function f(integer n) to (integer x, integer y) { y = n; if n > 3 { x = 1 } }
integer x y z
void never
when { } then {x y} from {f 2}
container<integer, integer> c
for i in [0:2] { integer t; if i > 0 { t = i }; insert c[i] = i }
print(c, y)
)");
    EXPECT_EQ(ran.result.text(), "");
    EXPECT_TRUE(ran.result.is_good());
    EXPECT_EQ(ran.out, "{0: 0, 1: 1, 2: 2} 2\n");
    EXPECT_EQ(ran.result.unset_text(),
              "4 data were never set, and nothing needed them:\n"
              "  'x' of test.tic:3:9\n  'z' of test.tic:3:13\n"
              "  'never' of test.tic:4:6\n  't' of test.tic:7:26");
    EXPECT_EQ(ran.result.n_data_held, 0U);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

// Not of one that was waited for, nor of a struct that has failed; a container may be empty.
TEST(NeverSet, are_fields_that_nobody_waits_for) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const Ran ran = run_text(seed, R"(
struct point { integer x y }
struct body { point at; float mass; container<integer, float> forces }
function f(integer n) to (point p) { p.x = n; if n > 2 { p.y = n } }
function g() to (body b) { b.mass = 2.0 }
container<integer, point> c
container<string, container<integer, point>> d
body b e
point none failed told whole
for i in [1:3] { when { } then {c[i]} from {f i}; d["a"][i].y = i }
b.at.y = 7
when { } then {e} from {g}
failed.x = 1 / (1 - 1)
if 1 > 2 { told.x = 1; told.y = 2 }
print(told.y)
point source
source.x = 1
whole = source
)");
    EXPECT_EQ(ran.result.n_failures, 2U) << ran.result.text();
    EXPECT_EQ(ran.result.unset_text(),
              "13 data were never set, and nothing needed them:\n"
              "  'd[..][..].x' of test.tic:7:46, 3 times\n"
              "  'c[..].y' of test.tic:6:27, 2 times\n"
              "  'b.at.x' of test.tic:8:6\n  'b.mass' of test.tic:8:6\n"
              "  'e.at' of test.tic:8:8\n"
              "  'none.x' of test.tic:9:7\n  'none.y' of test.tic:9:7\n"
              "  'told.x' of test.tic:9:19\n  'whole.y' of test.tic:9:24\n"
              "  'source.y' of test.tic:16:7");
    EXPECT_EQ(ran.result.n_data_held, 0U);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(NeverSet, is_counted_by_place_in_a_note) {
  const Ran ran = run_text(5, R"(
container<integer, integer> c
for i in [1:9] { integer t; if i < 4 { t = i; insert c[i] = t } }
print(size(c))
)");
  EXPECT_EQ(ran.result.text(), "");
  EXPECT_EQ(ran.result.unset_text(),
            "6 data were never set, and nothing needed them:\n  't' of test.tic:3:26, 6 times");
}

// Or nobody has told yet what it would be.
TEST(NeverSet, is_no_note_of_what_was_told_or_has_failed) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const Ran ran = run_text(seed, R"(
function f(integer n) to (integer x) { if n > 3 { x = 1 } }
integer x y a b
when { } then {x} from {f 2}
y = x + 1
a = 1 / (1 - 1)
b = a + 1
)");
    ASSERT_EQ(ran.result.n_failures, 2U) << ran.result.text();
    ASSERT_EQ(ran.result.unset_text(), "") << "seed " << seed;
  }
}

TEST(NeverSet, what_nobody_waits_for_may_stay_so) {
  expect_lines(R"(
    function f(integer n) to (integer x, integer y) { y = n; if n > 3 { x = 1 } }
    integer x y
    when { } then {x y} from {f 2}
    container<integer, integer> c
    insert c[1] = y
    print(c)
)",
               "{1: 2}\n", 8);
}

TEST(NeverSet, is_not_said_again_of_what_a_failure_left_open) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const Ran ran = run_text(seed, R"(
container<integer, integer> c
for i in [0:3] { insert c[i] = 6 / (i - 2) }
print(c[0])
print(c[2])
)");
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    ASSERT_EQ(ran.result.counters.n_never_set, 0U) << ran.result.text();
    ASSERT_EQ(ran.result.counters.n_skipped, 1U) << ran.result.text();
    ASSERT_EQ(ran.out, "-3\n");
  }
}

TEST(NeverSet, is_nothing_of_a_range_that_cannot_be_counted) {
  const Ran ran = run_text(1, R"(
for i in [-9223372036854775807 - 1:9223372036854775807] { print(i) }
print("beside")
)");
  EXPECT_EQ(ran.result.n_failures, 1U);
  EXPECT_NE(ran.result.text().find("a range of 2^64 members"), std::string::npos)
      << ran.result.text();
}

}  // namespace
}  // namespace rubato::flow

// Built-ins that do something: print, trace, assert. They are done, or they fail.

#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

TEST(Procedures, close_a_void_when_they_are_done) {
  expect_lines(
      R"(
    void first second
    container<integer, void> told
    integer n = 3
    when {n} then {first} from {print "first" n}
    when {first n} then {second} from {assert (n == 3) "three"}
    wait (second) { print("second") }
    for i in [0:2] { when {second} then {told[i]} from {print "told" i} }
    print("all", size(told))
    when {told[1]} then { } from {trace "one"}

    function all(container<integer, void> c) to (void all_there) { when {c} then {all_there} from {closed} }
    void both = closed(told, n)
    void by_function
    when { } then {by_function} from {all told}
    wait (both by_function) { print("closed") }
)",
      "first 3\nsecond\ntold 0\ntold 1\ntold 2\nall 3\ntrace test.tic:10:35: one\nclosed\n");
}

TEST(Procedures, that_fail_leave_what_waits_for_them) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
integer n = 3
void good bad
when {n} then {good} from {assert (n > 2) "more than 2"}
when {n} then {bad} from {assert (n > 3) ("more than 3, not " ++ n)}
when {good} then { } from {print "good"}
when {bad} then { } from {print "bad"}
)");
    EXPECT_EQ(ran.out, "good\n");
    EXPECT_EQ(ran.result.n_failures, 1U);
    EXPECT_EQ(ran.result.counters.n_skipped, 1U);
    EXPECT_NE(ran.result.text().find(
                  "'assert' of test.tic:5:1: test.tic:5:27: assert(): more than 3, not 3"),
              std::string::npos)
        << ran.result.text();
  }
}

}  // namespace
}  // namespace rubato::flow

// What people are told of a script: names, places, numbers.

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

std::int64_t odd_only(std::int64_t n) {
  if (n % 2 == 0) throw Error("it is even");
  return n;
}
[[maybe_unused]] const bool kLeaves = register_leaf("odd_only", &odd_only);

void expect_in(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(Told, is_which_app_or_leaf_has_failed_with_line_and_column) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Ran ran = run_text(seed, R"(
leaf odd_only(integer n) to (integer m)
app broken(integer n) to (void v) { "sh" "-c" "exit 3" n }
integer m
void v w
when { } then {m} from {odd_only 4}
when { } then {v} from {broken 1}; when { } then {w} from {broken 2}
)");
    EXPECT_EQ(ran.result.n_failures, 3U);
    expect_in(ran.result.text(), {"task 'odd_only' of test.tic:6:1: it is even",
                                  "task 'broken' of test.tic:7:25: ", "ended with code 3",
                                  "task 'broken' of test.tic:7:60: "});
  }
}

TEST(Told, is_what_a_rule_waits_for_that_waits_for_ever) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Ran ran = run_text(seed, R"(
leaf odd_only(integer n) to (integer m)
container<integer, integer> c
integer x y
when {c[1]} then {x} from {odd_only (c[1])}
when {x} then {y} from {odd_only x}
insert c[x] = y
)");
    expect_in(ran.result.text(),
              {"task 'odd_only' of test.tic:5:1 waits for 'c[1]', member 1 of a container",
               "waits for 'x', the datum of test.tic:4:9, which nobody has set"});
  }
}

}  // namespace
}  // namespace rubato::flow

// Loops with rounds: what of them has failed when a statement has.

#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

TEST(Rounds, go_on_beside_a_loop_inside_that_fails) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
integer r
loop (integer i = 0) while i < 2 {
  integer inner
  loop (integer j = 1 % (i - 1)) while j < 3 { next (j + 1) } to (inner)
  print("inner", i, inner)
  next (i + 1)
} to (r)
print("r", r)
)");
    // In the round of 1 there is no j.
    EXPECT_EQ(sorted_lines(ran.out), "inner 0 3\nr 2\n");
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_EQ(ran.result.failures[0],
              "task 'loop' of test.tic:5:3 (i = 1): test.tic:5:23: division by zero");
    EXPECT_EQ(ran.result.counters.n_skipped, 1U);
  }
}

TEST(Rounds, have_no_results_when_one_cannot_go_on) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const Ran ran = run_text(seed, R"(
integer r
loop (integer i = 0) while i < 2 {
  if 1 % (i - 1) == 0 { next (i + 1) } else { next (i + 2) }
} to (r)
print("r", r)
)");
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_EQ(ran.result.counters.n_skipped, 1U);
  }
}

}  // namespace
}  // namespace rubato::flow

#include "rubato/flow/in_time.hpp"

#include <atomic>
#include <thread>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::error_of;

template <class T>
std::string failure_of(const Future<T>& future) {
  return error_of([&] { static_cast<void>(future.get()); });
}

std::atomic<bool> may_end = false;
std::atomic<int> n_told = 0;

// Ends when it is told to, and it may.
void wait_to_be_told() {
  while (!time_is_up() || !may_end)
    std::this_thread::yield();
  ++n_told;
}

// Takes so many seconds of virtual time.
std::int64_t take(std::int64_t seconds) {
  CoreContext::here().charge(seconds * kSecond);
  return seconds;
}
// The same, and 3 s less with each try.
std::int64_t n_takes = 0;
std::int64_t take_less(std::int64_t seconds) {
  return take(seconds - 3 * n_takes++);
}
std::int64_t be_told_once(std::int64_t n) {
  may_end = true;
  if (n_told == 0) wait_to_be_told();
  return n;
}
std::int64_t be_told(std::int64_t n) {
  wait_to_be_told();
  return n;
}
std::int64_t by_a_team(const global::Team& team, std::int64_t n) {
  return n * team.rank();
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("take", &take) && register_leaf("take_less", &take_less) &&
    register_leaf("be_told_once", &be_told_once) && register_leaf("be_told", &be_told) &&
    register_leaf("by_a_team", &by_a_team);

TEST(InTime, tasks_that_take_longer_fail_in_virtual_time) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      const auto quick = async([] { return take(2); }, {.timeout = 2 * kSecond})();
      const auto slow = async([](int x) { return take(3) + x; },
                              {.name = "slow", .timeout = 2'500 * kMillisecond})(1);
      auto [members, insert] = make_container<std::int64_t>();
      auto done = async([](const Inserter<std::int64_t>& /*unused*/) { take(4); },
                        {.timeout = 3 * kSecond})(std::move(insert));
      const auto needs = async([](std::int64_t x) { return x; })(slow);
      EXPECT_EQ(quick.get(), 2);
      const std::string why = failure_of(slow);
      EXPECT_TRUE(contains(why, "task 'slow' of ")) << why;
      EXPECT_TRUE(contains(why, ": took longer than 2.5 s")) << why;
      EXPECT_EQ(failure_of(needs), why);
      EXPECT_TRUE(contains(failure_of(done), "took longer than 3 s"));
      EXPECT_TRUE(contains(failure_of(members.size()), "took longer than 3 s"));
    });
    ASSERT_EQ(result.n_failures, 2U) << result.text();
    ASSERT_EQ(result.counters.n_failed, 2U);
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
    ASSERT_TRUE(result.waiting.empty());
  }
}

TEST(InTime, what_needs_a_task_is_told_while_its_thread_goes_on) {
  n_told = 0;
  may_end = false;
  bool was_told_before = false;
  const FlowResult result = run_flow_here(1, [&] {
    const auto slow = async([] { return be_told(5); }, {.timeout = 20 * kMillisecond})();
    const auto other = async([](std::int64_t x) { return x; })(slow);
    EXPECT_TRUE(contains(failure_of(other), "took longer than 0.02 s"));
    was_told_before = n_told == 0;
    may_end = true;
  });
  EXPECT_TRUE(was_told_before);
  EXPECT_EQ(n_told, 1);  // the run has waited for it
  EXPECT_EQ(result.n_failures, 1U) << result.text();
  EXPECT_EQ(result.n_data_held, 0U);
}

TEST(InTime, a_run_that_waits_for_a_thread_says_so) {
  n_told = 0;
  may_end = false;
  testing::internal::CaptureStderr();
  run_flow_here(1, [&] {
    async([] { return be_told(5); }, {.name = "stuck", .timeout = kMillisecond})();
    // As long as it takes to be told of.
    async(
        [] {
          while (!time_is_up())
            std::this_thread::yield();
          may_end = true;
        },
        {.timeout = 1'200 * kMillisecond})();
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "rubato: task 'stuck' of ")) << said;
  EXPECT_TRUE(contains(said, "took longer than 0.001 s and has not ended: the run waits\n"))
      << said;
}

TEST(InTime, what_needs_the_cores_can_have_no_time_out) {
  const FlowResult result = run_flow_here(2, [] {
    const auto team =
        async_team(2, [](const global::Team& all) { return all.rank(); }, {.timeout = kSecond})();
    EXPECT_TRUE(contains(failure_of(team), "expected none"));
    const auto starts = async([] { return async([] { return 1; })(); }, {.timeout = kSecond})();
    EXPECT_TRUE(contains(failure_of(starts), "expected none"));
  });
  EXPECT_EQ(result.n_failures, 2U) << result.text();
}

TEST(InTime, leaves_of_scripts_have_the_time_out_of_programs) {
  for (std::uint64_t seed = 0; seed < n_seeds(25); ++seed) {
    n_takes = 0;
    const Ran ran = run_text(seed, R"(
leaf take(integer s) to (integer n) timeout 2.5
leaf take_less(integer s) to (integer n) timeout 2.5 retries 2
integer a b c d e
when { } then {a} from {take 2}
when { } then {b} from {take 3}
when {a} then {c} from {take 3} timeout a * 2
when { } then {d} from {take_less 7}
when {b} then {e} from {take b}
print(a)
print(b)
print(c)
print(d)
)");
    ASSERT_EQ(ran.out, "1\n2\n3\n") << "seed " << seed << ran.result.text();
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    ASSERT_EQ(ran.result.failures[0],
              "task 'take' of test.tic:6:1: take(3): took longer than 2.5 s");
    ASSERT_EQ(n_takes, 3);
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(InTime, leaves_on_threads_are_tried_again_when_they_have_ended) {
  const std::string text = R"(
leaf be_told_once(integer n) to (integer m) timeout 0.02 retries 1
leaf be_told(integer n) to (integer m) timeout 0.02 retries 2
integer a b
when { } then {a} from {be_told_once 4}
print("a", a)
when {a} then {b} from {be_told a}
print("b", b)
)";
  n_told = 0;
  may_end = true;
  FlowResult result;
  testing::internal::CaptureStdout();
  global::run_here(2, [&] { result = run_script(text, "test.tic", {}); });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a 4\n");
  EXPECT_EQ(n_told, 4);
  ASSERT_EQ(result.n_failures, 1U) << result.text();
  EXPECT_EQ(result.failures[0],
            "task 'be_told' of test.tic:7:1: be_told(4): took longer than 0.02 s");
}

TEST(InTime, a_leaf_of_a_team_has_none) {
  const Ran ran = run_text(1, R"(
leaf by_a_team(integer n) to (integer m) timeout 2
integer a
when { } then {a} from {by_a_team 4}
print(a)
)");
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(contains(ran.result.text(), "runs on a team of cores: expected no timeout"))
      << ran.result.text();
}

TEST(InTime, what_a_journal_has_was_done_in_time) {
  const program_testing::TempFolder folder;
  const std::string text = R"(
leaf be_told(integer n) to (integer m) timeout 0.02
integer a
when { } then {a} from {be_told 3}
)";
  may_end = true;
  const auto n_done = [&](bool resume) {
    RunOptions options;
    options.journal.folder = folder / "journal";
    options.journal.resume = resume;
    FlowResult result;
    global::run_here(1, [&] { result = run_script(text, "test.tic", {}, options); });
    EXPECT_EQ(result.n_failures, 1U);
    return result.journal.n_done;
  };
  EXPECT_EQ(n_done(false), 0U);
  EXPECT_EQ(n_done(true), 0U);
}

TEST(InTime, seconds_are_written_as_people_do) {
  EXPECT_EQ(seconds_text(kSecond), "1 s");
  EXPECT_EQ(seconds_text(50 * kMillisecond), "0.05 s");
  EXPECT_EQ(seconds_text(90 * kSecond), "90 s");
}

}  // namespace
}  // namespace rubato::flow

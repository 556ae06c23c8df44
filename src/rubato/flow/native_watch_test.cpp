// What the watchdog says of the native work of flows: on real threads.

#include <atomic>
#include <thread>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/in_time.hpp"
#include "rubato/flow/program/detail/testing.hpp"
#include "rubato/global/watched_run_test.hpp"

namespace rubato::flow {
namespace {

using global::EmptyPipe;
using global::watched_run;
using program_testing::contains;

EmptyPipe* pipe_of_test = nullptr;

// Where it was asked for in Rubato says nothing to those who wrote the task.
TEST(NativeWatchOfFlow, a_native_task_is_told_by_its_name_and_place_alone) {
  EmptyPipe pipe;
  pipe_of_test = &pipe;
  FlowResult result;
  int line = 0;
  const auto main = [&] {
    result = run([&] {
      line = __LINE__ + 1;
      async([] { pipe_of_test->read(); }, {.name = "a reader", .native = true})();
    });
  };
  const auto lines =
      watched_run(50 * kMillisecond, main, [&](const std::string&) { pipe.let_go(); });
  EXPECT_EQ(result.text(), "");
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines[0].starts_with("native work of task 'a reader' spawned at ")) << lines[0];
  EXPECT_TRUE(contains(lines[0], "native_watch_test.cpp:" + std::to_string(line) + " has run for"))
      << lines[0];
}

// in_time_test.cpp has what is said of it.
TEST(NativeWatchOfFlow, a_task_that_is_late_is_told_by_the_flow_alone) {
  static std::atomic<bool> may_end;
  may_end = false;
  FlowResult result;
  const auto main = [&] {
    result = run([] {
      async(
          [] {
            while (!may_end)
              std::this_thread::yield();
          },
          {.timeout = 20 * kMillisecond})();
      // The same, and told as late at the end of its time, when the other one may end.
      async(
          [] {
            while (!time_is_up())
              std::this_thread::yield();
            may_end = true;
          },
          {.timeout = 500 * kMillisecond})();
    });
  };
  EXPECT_EQ(watched_run(100 * kMillisecond, main), std::vector<std::string>());
  EXPECT_EQ(result.n_failures, 2U) << result.text();
}

}  // namespace
}  // namespace rubato::flow

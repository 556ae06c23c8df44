// What others wait for at a core of which a team computes for long.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/global/delegate.hpp"

namespace rubato::flow {
namespace {

constexpr Nanos kComputes = kSecond / 2;  // between two calls of its team

std::atomic<int> n_computing = 0;

void compute() {
  ++n_computing;
  // A thread that is held is as good as one that computes, and leaves the machine to others.
  std::promise<void> never;
  never.get_future().wait_for(std::chrono::nanoseconds(kComputes));
  --n_computing;
}
std::int64_t sum_of_ranks(const global::Team& team) {
  compute();
  const std::int64_t sum = team.allreduce(std::int64_t{team.rank()}, std::plus<>{});
  compute();
  team.barrier();
  return sum;
}
[[maybe_unused]] const bool kLeaf = register_leaf("sum_of_ranks", &sum_of_ranks);

struct Waits {
  Nanos longest = 0;
  std::uint64_t n_meanwhile = 0;  // while both members computed
};

// Asks each core in turn, until `is_over`.
Waits ask_all_cores(const std::function<void(CoreId)>& ask, const bool& is_over) {
  Waits waits;
  for (CoreId i = 0; !is_over; ++i) {
    const bool was_computing = n_computing == 2;
    const Nanos begin = CoreContext::here().clock();
    ask(i % 2);
    waits.longest = std::max(waits.longest, CoreContext::here().clock() - begin);
    if (was_computing && n_computing == 2) ++waits.n_meanwhile;
    CoreContext::here().yield();
  }
  return waits;
}

// A task there, and its result from there.
void run_task_on(CoreId core) {
  EXPECT_EQ(async([](CoreId x) { return x; }, {.core = core})(core).get(), core);
}
void call_delegate_on(CoreId core) {
  const global::GlobalPtr<std::byte> there(core, global::Place::at_offset(0));
  const auto of = [](std::byte& /*unused*/) { return CoreContext::here().core(); };
  EXPECT_EQ(global::call(there, of), core);
}

// One of three, since the machine may be taken away for a while.
void expect_short_waits(const std::function<Waits()>& run) {
  Waits waits;
  for (int i = 0; i < 3; ++i) {
    waits = run();
    if (waits.longest < kComputes / 2 && waits.n_meanwhile >= 20) return;
  }
  EXPECT_LT(waits.longest, kComputes / 2);
  EXPECT_GE(waits.n_meanwhile, 20U);
}

Waits beside_task() {
  Waits waits;
  const FlowResult result = run_flow_here(2, [&] {
    bool is_over = false;
    const auto sum = async_team(2, [](const global::Team& team) { return sum_of_ranks(team); })();
    global::spawn([&] {
      EXPECT_EQ(sum.get(), 1);
      is_over = true;
    });
    waits = ask_all_cores(&run_task_on, is_over);
  });
  EXPECT_EQ(result.text(), "");
  return waits;
}

TEST(TeamService, cores_run_what_is_theirs_while_a_team_of_them_computes) {
  expect_short_waits(&beside_task);
}

Waits beside_script() {
  Waits waits;
  global::run_here(2, [&] {
    bool is_over = false;
    global::spawn([&] {
      const std::string text = R"(
        leaf sum_of_ranks() to (integer sum) parallel 2
        integer sum
        when {} then {sum} from {sum_of_ranks}
        assert(sum == 1, "the sum of 0 and 1")
      )";
      EXPECT_EQ(run_script(text, "team.tic").text(), "");
      is_over = true;
    });
    waits = ask_all_cores(&call_delegate_on, is_over);
  });
  return waits;
}

TEST(TeamService, leaves_of_scripts_are_no_exception) {
  expect_short_waits(&beside_script);
}

}  // namespace
}  // namespace rubato::flow

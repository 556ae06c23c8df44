// Generation follows consumption: whatever makes tasks, a loop, a function that calls itself, one task,
// few of them lie in the pools at a time.

#include <algorithm>
#include <string>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/pool/throttle_test.hpp"
#include "rubato/global/reduce_cores.hpp"

namespace rubato::flow {
namespace {

constexpr std::int64_t kRounds = 3000;

std::int64_t take_a_while(std::int64_t i) {
  made.run();
  CoreContext::here().charge(kMillisecond);
  return i;
}
// Tells that a round has made one.
std::int64_t one_more(std::int64_t i) {
  made.make();
  return i + 1;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("take_a_while", &take_a_while) && register_leaf("one_more", &one_more);

std::uint64_t queued_most() {
  return global::reduce_cores([] { return CoreContext::here().counters().n_queued_max; },
                              [](auto a, auto b) { return std::max(a, b); });
}

// What lies in the pool of a core, of the cores of a seed.
std::uint64_t queued_most_of(std::uint64_t seed, const std::function<FlowResult()>& flow) {
  made = {};
  std::uint64_t n_most = 0;
  const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 3);
  const auto n_cores = static_cast<std::uint32_t>(1 + seed / 3 % 3);
  const auto main = [&] {
    EXPECT_EQ(flow().text(), "");
    n_most = queued_most();
  };
  global::simulate_seed(n_nodes, n_cores, seed, main);
  EXPECT_EQ(made.n_run, kRounds) << "seed " << seed;
  return n_most;
}

void expect_few(const std::string& text) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    const std::uint64_t n_most = queued_most_of(seed, [&] {
      return run_script(text, "test.tic", {{{"n", std::to_string(kRounds)}}, "/tmp"});
    });
    EXPECT_LT(n_most, 100U) << "seed " << seed;
  }
}

TEST(Generation, OfALoopFollowsItsTasks) {
  expect_few(R"(
    leaf take_a_while(integer i) to (integer o)
    integer n = integer(arg("n"))
    integer last
    loop (integer i = 0) while i < n {
      integer o
      when {i} then {o} from {take_a_while i}
      next (i + 1)
    } to (last)
  )");
}

// The state of the next round is the result of a task, which is there at once.
TEST(Generation, OfALoopWithATaskInItsStateFollowsItsTasks) {
  expect_few(R"(
    leaf take_a_while(integer i) to (integer o)
    leaf one_more(integer i) to (integer j)
    integer n = integer(arg("n"))
    integer last
    loop (integer i = 0) while i < n {
      integer j o
      when {i} then {j} from {one_more i}
      when {j} then {o} from {take_a_while j}
      next (j)
    } to (last)
  )");
  EXPECT_LT(made.n_most, 200);
}

TEST(Generation, OfAFunctionThatCallsItselfFollowsItsTasks) {
  expect_few(R"(
    leaf take_a_while(integer i) to (integer o)
    function down(integer i) to (integer o) {
      integer a
      when {i} then {a} from {take_a_while i}
      if i > 1 {
        integer b less = i - 1
        when {less} then {b} from {down less}
        o = a + b
      } else {
        o = a
      }
    }
    integer n = integer(arg("n"))
    integer all
    when {n} then {all} from {down n}
    wait (all) { }
  )");
}

// One source, whose tasks are slower than it is.
TEST(Generation, OfOneTaskFollowsItsTasks) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    const auto all = [] {
      for (std::int64_t i = 0; i < kRounds; ++i)
        static_cast<void>(async([i] { take_a_while(i); })());
    };
    const auto with_arguments = [] {
      const auto task = [](std::int64_t i) { take_a_while(i); };
      for (std::int64_t i = 0; i < kRounds; ++i)
        static_cast<void>(async(task)(i));
    };
    const auto run_few = [&](const std::function<void()>& main) {
      return queued_most_of(seed, [&] {
        global::on_all_cores([] { Flow::here().throttle().set_at_data_most(64); });
        FlowResult result = run(main);
        const auto as_always = [] {
          Flow::here().throttle().set_at_data_most(Throttle::kAtDataMost);
        };
        global::on_all_cores(as_always);
        return result;
      });
    };
    // What a task may make while its core has enough, and some.
    EXPECT_LT(run_few(all), 64U + 1024 + 100) << "seed " << seed;
    EXPECT_LT(run_few(with_arguments), 64U + 1024 + 100) << "seed " << seed;
  }
}

// A task, and the next round as a task: in both orders, with arguments and without.
void make_round(std::int64_t i) {
  if (i == kRounds) return;
  const auto next = [](std::int64_t k) { make_round(k); };
  if (i % 2 == 0) static_cast<void>(async(next)(i + 1));
  static_cast<void>(async([](std::int64_t k) { take_a_while(k); })(i));
  if (i % 2 != 0) static_cast<void>(async(next)(i + 1));
}
void make_ready_round(std::int64_t i) {
  if (i == kRounds) return;
  const auto next = [i] { make_ready_round(i + 1); };
  if (i % 2 == 0) static_cast<void>(async(next)());
  static_cast<void>(async([i] { take_a_while(i); })());
  if (i % 2 != 0) static_cast<void>(async(next)());
}
// A tree with a task at each of its nodes [first, last).
void make_tree(std::int64_t first, std::int64_t last) {
  if (first == last) return;
  const std::int64_t middle = first + 1 + (last - first - 1) / 2;
  const auto part = [](std::int64_t a, std::int64_t b) { make_tree(a, b); };
  static_cast<void>(async([](std::int64_t k) { take_a_while(k); })(first));
  static_cast<void>(async(part)(first + 1, middle));
  static_cast<void>(async(part)(middle, last));
}

TEST(Generation, OfTasksThatMakeTheNextOneFollowsTheOthers) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    for (void (*const begin)() :
         {+[] { make_round(0); }, +[] { make_ready_round(0); }, +[] { make_tree(0, kRounds); }}) {
      EXPECT_LT(queued_most_of(seed, [&] { return run(begin); }), 100U) << "seed " << seed;
    }
  }
}

// Its tasks need what it would make last: it goes on when nothing else does.
TEST(Generation, GoesOnWhereTheTasksWaitForWhatIsMadeLast) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    static_cast<void>(queued_most_of(seed, [] {
      global::on_all_cores([] { Flow::here().throttle().set_at_data_most(64); });
      FlowResult result = run([] {
        static core::FullEmpty<int> last;
        const auto task = [](std::int64_t i) {
          static_cast<void>(last.read_ff());
          take_a_while(i);
        };
        // All on this core, as the cell is.
        for (std::int64_t i = 0; i < kRounds; ++i)
          static_cast<void>(async(task, {.core = CoreContext::here().core()})(i));
        last.write_xf(1);
      });
      const auto as_always = [] {
        Flow::here().throttle().set_at_data_most(Throttle::kAtDataMost);
      };
      global::on_all_cores(as_always);
      return result;
    }));
  }
}

}  // namespace
}  // namespace rubato::flow

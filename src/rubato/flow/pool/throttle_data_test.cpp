// Loops whose bodies wait for data that is not set yet: what waits is bounded, and all of it runs.

#include <algorithm>
#include <atomic>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/pool/throttle_test.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow {
namespace {

constexpr std::int64_t kAtData = 64;
constexpr std::int64_t kTasks = 8000;

void set_most(std::size_t n) {
  global::on_all_cores([n] { Flow::here().throttle().set_at_data_most(n); });
}

std::uint32_t n_nodes_of(std::uint64_t seed) {
  return static_cast<std::uint32_t>(1 + seed % 3);
}
std::uint32_t n_cores_of(std::uint64_t seed) {
  return static_cast<std::uint32_t>(1 + seed / 3 % 3);
}

FlowResult run_seed(std::uint64_t seed, const std::function<void()>& main) {
  made = {};
  FlowResult result;
  global::simulate_seed(
      n_nodes_of(seed), n_cores_of(seed), seed,
      [&] {
        set_most(kAtData);
        result = run(main);
        set_most(Throttle::kAtDataMost);
      },
      global::windows_of(seed));
  return result;
}

// What takes 40 ms, while its core does other work as well.
void take_long() {
  for (int i = 0; i < 4000; ++i) {
    CoreContext::here().charge(10 * kMicrosecond);
    CoreContext::here().yield();
  }
}

// A task for each iteration, which needs table[key_of(i)] and sets table[i].
template <class F>
void make_all(NewContainer<std::int64_t, std::int64_t>& table, F key_of) {
  const auto body = [key_of](std::int64_t i, const Container<std::int64_t>& from,
                             Inserter<std::int64_t>& to) {
    made.make();
    const auto task = [i](std::int64_t value, Inserter<std::int64_t> out) {
      made.run();
      out.insert(i, value + 1);
    };
    async(task)(from[key_of(i)], to);
  };
  async_for(0, kTasks, body, {.grain = 16})(table.container, table.inserter);
}

// What is made until the last core has heard of it.
void expect_bounded(std::uint64_t seed) {
  const std::int64_t n_cores = std::int64_t{n_nodes_of(seed)} * n_cores_of(seed);
  EXPECT_LE(made.n_most, kAtData + n_cores * 500) << "seed " << seed;
}

TEST(ThrottleOfData, bounds_what_waits_for_a_slow_task) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    const FlowResult result = run_seed(seed, [] {
      auto table = make_container<std::int64_t>();
      const auto slow = [](Inserter<std::int64_t> out) {
        take_long();
        out.insert(-1, 0);
      };
      async(slow)(table.inserter);
      make_all(table, [](std::int64_t) { return std::int64_t{-1}; });
    });
    EXPECT_EQ(result.text(), "") << "seed " << seed;
    EXPECT_EQ(result.n_data_held, 0U) << "seed " << seed;
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed);
  }
}

// Each iteration needs that after it, or that before it: what is put aside is what others wait for.
// Data that is there, on one core, to which all tasks go: others have to take them from it.
TEST(ThrottleOfData, bounds_what_goes_to_data_of_one_core) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    const FlowResult result = run_seed(seed, [] {
      auto table = make_container<std::int64_t>();
      table.inserter.insert(-1, 0);
      make_all(table, [](std::int64_t) { return std::int64_t{-1}; });
    });
    EXPECT_EQ(result.text(), "") << "seed " << seed;
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed);
  }
}

TEST(ThrottleOfData, goes_on_where_a_loop_waits_for_itself) {
  for (std::uint64_t seed = 0; seed < n_seeds(18); ++seed) {
    const FlowResult result = run_seed(seed, [seed] {
      auto table = make_container<std::int64_t>();
      if (seed % 2 == 0) {
        table.inserter.insert(kTasks, 0);
        make_all(table, [](std::int64_t i) { return i + 1; });
      } else {
        table.inserter.insert(-1, 0);
        make_all(table, [](std::int64_t i) { return i - 1; });
      }
    });
    EXPECT_EQ(result.text(), "") << "seed " << seed;
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    EXPECT_EQ(made.n_open, 0) << "seed " << seed;
  }
}

// What is never set does not keep the rest from being made, nor the run from its end.
TEST(ThrottleOfData, ends_where_all_wait_for_ever) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    const FlowResult result = run_seed(seed, [] {
      auto table = make_container<std::int64_t>();
      make_all(table, [](std::int64_t) { return std::int64_t{-1}; });
    });
    EXPECT_EQ(result.n_waiting, static_cast<std::uint64_t>(kTasks)) << "seed " << seed;
    EXPECT_EQ(made.n_open, kTasks) << "seed " << seed;
    EXPECT_EQ(made.n_run, 0) << "seed " << seed;
  }
}

// The most that waited on a core when a loop of n iterations needs what is set late.
std::size_t most_on_real_cores(std::int64_t n) {
  static std::atomic<std::size_t> n_most;
  static std::atomic<std::int64_t> n_made;
  static std::atomic<std::int64_t> n_run;
  n_most = 0;
  n_made = 0;
  n_run = 0;
  global::run_here(2, [n] {
    set_most(1000);
    const auto main = [n] {
      auto table = make_container<std::int64_t>();
      // Until no more are made.
      const auto slow = [](Inserter<std::int64_t> out) {
        for (std::int64_t before = -1; before != n_made || before < 1000;) {
          before = n_made;
          for (int i = 0; i < 10'000; ++i)
            CoreContext::here().yield();
        }
        out.insert(0, 1);
      };
      async(slow)(table.inserter);
      const auto body = [](std::int64_t i, const Container<std::int64_t>& from) {
        ++n_made;
        async([](std::int64_t, std::int64_t) { ++n_run; })(from[0], i);
      };
      async_for(0, n, body)(table.container).get();
      global::on_all_cores([] {
        const std::size_t mine = Flow::here().throttle().n_at_data_max();
        if (mine > n_most) n_most = mine;
      });
    };
    EXPECT_EQ(run(main).text(), "");
  });
  EXPECT_EQ(n_run, n);
  EXPECT_GT(n_most, 1000U);
  return n_most;
}

// What is made until the other core hears of it: 2,000 to 3,700. More if the machine takes that core
// away meanwhile (1 run in 100), which does not happen three times in a row.
TEST(ThrottleOfData, bounds_what_waits_on_real_cores) {
  std::size_t n_least = SIZE_MAX;
  for (int i = 0; i < 3 && n_least >= 5000; ++i)
    n_least = std::min(n_least, most_on_real_cores(100'000));
  EXPECT_LT(n_least, 5000U);
}

// Threads find out by themselves that all are quiet.
TEST(ThrottleOfData, goes_on_on_real_cores_where_a_loop_waits_for_itself) {
  static std::atomic<std::int64_t> n_run;
  n_run = 0;
  global::run_here(2, [] {
    set_most(1000);
    const auto main = [] {
      auto table = make_container<std::int64_t>();
      table.inserter.insert(kTasks, 0);
      const auto body = [](std::int64_t i, const Container<std::int64_t>& from,
                           Inserter<std::int64_t>& to) {
        const auto task = [i](std::int64_t value, Inserter<std::int64_t> out) {
          ++n_run;
          out.insert(i, value + 1);
        };
        async(task)(from[i + 1], to);
      };
      async_for(0, kTasks, body)(table.container, table.inserter);
    };
    EXPECT_EQ(run(main).text(), "");
  });
  EXPECT_EQ(n_run, kTasks);
}

}  // namespace
}  // namespace rubato::flow

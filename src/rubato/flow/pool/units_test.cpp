// Units that tasks put and get by themselves.

#include <algorithm>
#include <array>
#include <numeric>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/pool/unit_kind.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow {
namespace {

struct Cut {
  std::int64_t begin;
  std::int64_t end;
  auto operator<=>(const Cut&) const = default;
};
// NOLINTBEGIN(cert-err58-cpp): before main, like all actions
const UnitKind<Cut> kCuts("cut");
const UnitKind<std::string> kNames("name");
const UnitKind<std::int64_t> kNumbers("number");
// NOLINTEND(cert-err58-cpp)

// Workers that cut ranges in halves, and put the one half back; what each has added up.
std::int64_t sum_of_cuts() {
  std::int64_t sum = 0;
  while (const auto unit = kCuts.get()) {
    Cut cut = *unit;
    while (cut.end - cut.begin > 3) {
      const std::int64_t middle = (cut.begin + cut.end) / 2;
      kCuts.put({middle, cut.end}, {.priority = static_cast<std::int32_t>(middle % 5)});
      cut.end = middle;
    }
    CoreContext::here().charge(kMicrosecond);
    for (std::int64_t i = cut.begin; i < cut.end; ++i)
      sum += i;
  }
  return sum;
}

TEST(Units, are_got_once_until_there_are_no_more) {
  constexpr std::int64_t kN = 400;
  expect_good(
      [] {
        std::vector<Future<std::int64_t>> sums;
        for (CoreId core = 0; core < global::n_cores(); ++core) {
          sums.push_back(async([] { return sum_of_cuts(); }, {.core = core})());
          sums.push_back(async([] { return sum_of_cuts(); }, {.core = core})());
        }
        kCuts.put({0, kN});
        kCuts.put({kN, 2 * kN}, {.core = static_cast<CoreId>(global::n_cores() - 1)});
        std::int64_t sum = 0;
        for (const auto& each : sums)
          sum += each.get();
        EXPECT_EQ(sum, (2 * kN - 1) * kN);
      },
      60);
}

// What tasks of a run count together; virtual nodes are one process and one thread.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see above
std::vector<std::int64_t> taken;
std::uint64_t n_begun = 0;
std::uint64_t n_ended = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// Units lie where they were put, tasks that get them are on one node only, some nodes away.
TEST(Units, come_from_far_by_way_of_nodes_that_want_none) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    constexpr std::int64_t kEach = 50;
    taken.clear();
    const FlowResult result = simulate_flow(seed, [] {
      const auto n_cores = static_cast<CoreId>(global::n_cores());
      for (CoreId core = 0; core < n_cores; ++core) {
        async(
            [core] {
              for (std::int64_t i = 0; i < kEach; ++i)
                kNumbers.put(core * kEach + i);
            },
            {.core = core})();
      }
      const auto take = [] {
        while (const auto number = kNumbers.get())
          taken.push_back(*number);
      };
      async(take, {.core = n_cores - 1})();
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    std::ranges::sort(taken);
    std::vector<std::int64_t> all(taken.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(taken, all);
    EXPECT_EQ(taken.size() % kEach, 0U);
    EXPECT_GE(taken.size(), static_cast<std::size_t>(kEach)) << "seed " << seed;
  }
}

TEST(Units, go_to_the_core_or_the_node_that_is_named) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      const core::JobShape& shape = CoreContext::here().shape();
      for (CoreId core = 0; core < shape.n_cores_total(); ++core) {
        const auto take = [] {
          const core::JobShape& here = CoreContext::here().shape();
          int n = 0;
          for (; const auto name = kNames.get(); ++n) {
            const CoreId me = CoreContext::here().core();
            const bool is_mine = *name == "core" + std::to_string(me) ||
                                 *name == "node" + std::to_string(here.node) || *name == "anyone";
            EXPECT_TRUE(is_mine) << *name << " on core " << me;
          }
          return n;
        };
        async(take, {.core = core})();
      }
      for (std::uint64_t i = 0; i < 100; ++i) {
        const auto core = static_cast<CoreId>(i * i % shape.n_cores_total());
        const NodeId node = shape.node_of(core);
        kNames.put("core" + std::to_string(core), {.core = core});
        kNames.put("node" + std::to_string(node), {.node = node});
        kNames.put("anyone", {.core = core, .may_move = true});
      }
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
  }
}

TEST(Units, come_by_priority) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    global::simulate_seed(1, 2, seed, [] {
      run([] {
        for (std::int64_t i = 0; i < 50; ++i)
          kNumbers.put(i * 7 % 50, {.priority = static_cast<std::int32_t>(i * 7 % 50)});
        std::vector<std::int64_t> got;
        for (int i = 0; i < 50; ++i)
          got.push_back(kNumbers.get().value_or(-1));
        EXPECT_TRUE(std::ranges::is_sorted(got, std::greater<>()));
        EXPECT_EQ(got.back(), 0);
        EXPECT_EQ(kNumbers.get(), std::nullopt);  // main is all that there is
      }).check();
    });
  }
}

// What goes on after the last unit is waited for, too: tasks may start tasks.
TEST(Units, are_not_the_end_of_what_gets_them) {
  expect_good([] {
    auto counted = make_datum<int>();
    async([](Promise<int> result) {
      int n = 0;
      while (kNumbers.get())
        ++n;
      async([](int k, Promise<int> out) { out.set(k); })(n, std::move(result));
    })(std::move(counted.promise));
    for (int i = 0; i < 10; ++i)
      kNumbers.put(i);
    async([](int n) { EXPECT_EQ(n, 10); })(counted.future);
  });
}

// Whoever has heard that there are no more puts one: nobody gets it, on whatever core it is kept.
TEST(Units, of_those_who_have_heard_of_the_end_are_nobody_s) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 3);
    const auto n_cores = static_cast<std::uint32_t>(1 + seed / 3 % 4);
    static int n_got;
    n_got = 0;
    FlowResult result;
    const auto get_and_put = [] {
      while (kNumbers.get())
        ++n_got;
      kNumbers.put(1);
    };
    global::simulate_seed(n_nodes, n_cores, seed, [&] {
      result = run([&] {
        for (CoreId core = 0; core < global::n_cores(); ++core)
          async(get_and_put, {.core = core})();
        kNumbers.put(0);
      });
    });
    EXPECT_EQ(n_got, 1) << "seed " << seed;
    EXPECT_EQ(result.n_failures, 0U) << "seed " << seed;
    EXPECT_FALSE(result.waiting.empty()) << "seed " << seed;
  }
}

// What another node is given is of all priorities.
TEST(Units, of_the_best_priorities_are_not_all_given_away) {
  static std::array<std::vector<std::int64_t>, 2> got;  // by cores
  const auto get_all = [] {
    while (const auto number = kNumbers.get()) {
      CoreContext& here = CoreContext::here();
      got.at(here.core()).push_back(*number);
      here.charge(kMillisecond);
      here.yield();
    }
  };
  global::simulate_seed(2, 1, 1, [&] {
    const FlowResult result = run([&] {
      for (std::int32_t i = 1; i <= 100; ++i)
        kNumbers.put(i, {.priority = i});
      for (CoreId core = 0; core < 2; ++core)
        async(get_all, {.core = core})();
    });
    EXPECT_EQ(result.text(), "");
  });
  for (const auto& of_core : got) {
    ASSERT_GT(of_core.size(), 20U);
    // A fifth in, none is among the lowest fifth.
    EXPECT_GT(*std::min_element(of_core.begin(), of_core.begin() + 20), 20);
  }
}

// For anybody, for a core, for a node, and for one if it may be; texts and numbers.
TEST(Units, are_put_in_batches) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    taken.clear();
    static std::size_t n_names;
    n_names = 0;
    const FlowResult result = simulate_flow(seed, [] {
      const auto n_cores = static_cast<CoreId>(global::n_cores());
      const core::JobShape& shape = CoreContext::here().shape();
      for (CoreId core = 0; core < n_cores; ++core) {
        async(
            [] {
              while (const auto number = kNumbers.get())
                taken.push_back(*number);
            },
            {.core = core})();
        async(
            [] {
              while (const auto name = kNames.get())
                n_names += name->size();
            },
            {.core = core})();
      }
      std::vector<std::int64_t> numbers(600);
      std::iota(numbers.begin(), numbers.end(), 0);
      const auto put = [&](const UnitOptions& options) { kNumbers.put_all(numbers, options); };
      put({});
      put({.priority = 3, .core = n_cores - 1});
      put({.node = shape.n_nodes - 1});
      put({.core = n_cores / 2, .may_move = true});
      kNames.put_all(std::vector<std::string>{"ab", std::string(70, 'c'), ""});
      kNames.put_all({});
      EXPECT_THROW(kNumbers.put_all(numbers, {.core = n_cores}), Error);
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(taken.size(), 2400U) << "seed " << seed;
    std::ranges::sort(taken);
    for (std::size_t i = 0; i < taken.size(); ++i)
      ASSERT_EQ(taken[i], static_cast<std::int64_t>(i / 4)) << "seed " << seed;
    ASSERT_EQ(n_names, 72U) << "seed " << seed;
  }
}

TEST(Units, that_nobody_gets_are_said) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      kNames.put("a");
      kNames.put("b");
      kNumbers.put(1, {.core = static_cast<CoreId>(global::n_cores() - 1)});
    });
    ASSERT_EQ(result.waiting.size(), 2U) << result.text();
    const std::string text = result.text();
    EXPECT_NE(text.find("a unit of kind 'name' of "), std::string::npos) << text;
    EXPECT_NE(text.find("units_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("and 1 more wait"), std::string::npos) << text;
    EXPECT_NE(text.find("a task that gets it on core"), std::string::npos) << text;
  }
}

// What is put there, and data that are set there, wake tasks that are outside.
TEST(Units, are_put_within_finish_scopes_of_tasks) {
  expect_good(
      [] {
        std::vector<Future<int>> counts;
        for (CoreId core = 0; core < global::n_cores(); ++core) {
          counts.push_back(async(
              [] {
                int n = 0;
                while (kNumbers.get())
                  ++n;
                return n;
              },
              {.core = core})());
        }
        auto set = make_datum<int>();
        async(
            [](Promise<int> promise) {
              global::finish([&] {
                for (CoreId core = 0; core < global::n_cores(); ++core)
                  global::spawn_on(core, [] { kNumbers.put(1); });
                promise.set(5);
              });
            },
            {.core = static_cast<CoreId>(global::n_cores() / 2)})(std::move(set.promise));
        for (int i = 0; i < set.future.get(); ++i)
          kNumbers.put(i);
        int n = 0;
        for (const auto& count : counts)
          n += count.get();
        EXPECT_EQ(n, 5 + static_cast<int>(global::n_cores()));
      },
      60);
}

// When there are no more, tasks may still have scopes of their own, in which they wake others that
// have waited since before; the run waits for these.
TEST(Units, are_over_before_tasks_that_wait_are_woken_from_other_scopes) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    n_begun = n_ended = 0;
    const FlowResult result = simulate_flow(seed, [] {
      n_begun = global::n_cores();
      for (CoreId core = 0; core < global::n_cores(); ++core) {
        auto set = make_datum<int>();
        async(
            [](Promise<int> promise) {
              EXPECT_FALSE(kNumbers.get());
              global::finish([&] { promise.set(5); });
            },
            {.core = core})(std::move(set.promise));
        const CoreId other = (core + 1) % static_cast<CoreId>(global::n_cores());
        async(
            [](const Future<int>& future) {
              int sum = future.get();
              for (int i = 0; i < 20; ++i) {
                CoreContext::here().charge(kMillisecond);
                CoreContext::here().yield();
                sum += async([] { return 1; })().get();
              }
              EXPECT_EQ(sum, 25);
              ++n_ended;
            },
            {.core = other})(later(set.future));
      }
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(n_ended, n_begun) << "seed " << seed;
  }
}

TEST(Units, are_not_got_within_a_finish_scope_of_a_task) {
  const FlowResult result = simulate_flow(4, [] {
    global::finish([] { EXPECT_THROW(static_cast<void>(kNumbers.get()), Error); });
    EXPECT_THROW(kNumbers.put(1, {.core = 1000}), Error);
    EXPECT_THROW(kNumbers.put(1, {.node = 1000}), Error);
    EXPECT_THROW(kNumbers.put(1, {.core = 0, .node = 0}), Error);
  });
  EXPECT_EQ(result.text(), "");
}

}  // namespace
}  // namespace rubato::flow

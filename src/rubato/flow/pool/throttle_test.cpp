// Generation follows consumption: what waits for workers, teams, cores and programs is bounded.

#include "rubato/flow/pool/throttle_test.hpp"

#include <algorithm>
#include <atomic>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow {
namespace {

constexpr std::int64_t kQueued = 64;
constexpr std::int64_t kTasks = 8000;

void set_most(std::size_t n) {
  global::on_all_cores([n] { Flow::here().throttle().set_most(n); });
}

struct Shape {
  std::uint32_t n_nodes;
  std::uint32_t n_cores;

  explicit Shape(std::uint64_t seed)
      : n_nodes(static_cast<std::uint32_t>(1 + seed % 3)),
        n_cores(static_cast<std::uint32_t>(1 + seed / 3 % 3)) {}
  [[nodiscard]] std::int64_t n_all() const { return std::int64_t{n_nodes} * n_cores; }
};

void expect_done(std::uint64_t seed, const std::vector<std::string>& workers,
                 const std::function<void()>& main) {
  made = {};
  const Shape shape(seed);
  FlowResult result;
  global::simulate_seed(
      shape.n_nodes, shape.n_cores, seed,
      [&] {
        set_most(kQueued);
        result = run(main, {Workers::parse(workers)});
        set_most(0);
      },
      global::windows_of(seed));
  EXPECT_EQ(result.text(), "") << "seed " << seed;
  EXPECT_EQ(result.n_data_held, 0U) << "seed " << seed;
}

// A task that is slower than what makes it.
void work() {
  made.run();
  CoreContext::here().charge(4 * kMicrosecond);
  CoreContext::here().yield();
}

WorkType gpu() {
  return Flow::here().typed_pool().workers().type("gpu");
}

// A loop that makes tasks of that type.
void flood() {
  const auto body = [](std::int64_t i) {
    made.make();
    async([](std::int64_t) { work(); }, {.type = gpu()})(i);
  };
  async_for(0, kTasks, body, {.grain = 16})();
}

// `n_keepers` queues, and what each core makes until it has heard that they are full.
void expect_bounded(std::uint64_t seed, std::int64_t n_keepers, std::int64_t n_a_core) {
  const Shape shape(seed);
  EXPECT_LE(made.n_most, n_keepers * kQueued + shape.n_all() * n_a_core) << "seed " << seed;
}

TEST(Throttle, bounds_what_waits_for_workers_of_a_type) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1/node"}, [] { flood(); });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, Shape(seed).n_nodes, 300);
  }
}

// All on the node that has such workers; it takes a while until other nodes have heard.
TEST(Throttle, tells_the_nodes_that_work_comes_from) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1"}, [] { flood(); });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, 1, 800);
  }
}

TEST(Throttle, bounds_what_is_bound_to_a_core) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {}, [] {
      const auto body = [](std::int64_t i) {
        made.make();
        async([](std::int64_t) { work(); }, {.core = 0})(i);
      };
      async_for(0, kTasks, body, {.grain = 16})();
    });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, 1, 800);
  }
}

TEST(Throttle, bounds_teams) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {}, [] {
      const auto body = [](std::int64_t i) {
        made.make();
        async_team(1, [](const global::Team&, std::int64_t) { work(); })(i);
      };
      async_for(0, 1000, body, {.grain = 16})();
    });
    EXPECT_EQ(made.n_run, 1000) << "seed " << seed;
    expect_bounded(seed, 1, 300);
  }
}

// One task that makes all, and the main program itself.
TEST(Throttle, lets_a_single_task_wait) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    static const auto make_all = [] {
      for (std::int64_t i = 0; i < kTasks / 2; ++i) {
        made.make();
        async([](std::int64_t) { work(); }, {.type = gpu()})(i);
      }
    };
    expect_done(seed, {"gpu=1"}, [] {
      async([] { make_all(); })();
      make_all();
    });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, 1, 300);
  }
}

// Tasks become ready by what others set, or are made by tasks that a loop makes.
TEST(Throttle, bounds_what_loops_make_by_way_of_others) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1/node"}, [] {
      const auto body = [](std::int64_t i) {
        const Future<std::int64_t> x = async([](std::int64_t j) { return 2 * j; })(i);
        async([](std::int64_t y) {
          made.make();
          async([](std::int64_t) { work(); }, {.type = gpu()})(y);
        })(x);
        made.make();
        async([](std::int64_t) { work(); }, {.type = gpu()})(x);
      };
      async_for(0, kTasks / 2, body, {.grain = 16})();
    });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, Shape(seed).n_nodes, 600);
  }
}

// A tree that is no loop.
void grow(std::int64_t depth) {
  if (depth == 0) {
    made.make();
    async([](std::int64_t) { work(); }, {.type = gpu()})(depth);
    return;
  }
  for (int branch = 0; branch < 2; ++branch)
    async([](std::int64_t d) { grow(d); })(depth - 1);
}

TEST(Throttle, bounds_what_trees_make) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1/node"}, [] { grow(13); });
    EXPECT_EQ(made.n_run, 1 << 13) << "seed " << seed;
    expect_bounded(seed, Shape(seed).n_nodes, 600);
  }
}

// Two stages: tasks of workers make tasks for others, which are slower, and never wait themselves.
TEST(Throttle, bounds_the_second_stage_by_the_loop_as_well) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"cpu=2/node", "gpu=1/node"}, [] {
      const auto body = [](std::int64_t i) {
        const WorkType cpu = Flow::here().typed_pool().workers().type("cpu");
        const auto x = async([](std::int64_t j) { return j + 1; }, {.type = cpu})(i);
        made.make();
        async([](std::int64_t) { work(); }, {.type = gpu()})(x);
      };
      async_for(0, kTasks, body, {.grain = 16})();
    });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, 2 * Shape(seed).n_nodes, 300);
  }
}

// Other loops are not put aside: the only worker waits for one of them.
TEST(Throttle, lets_other_loops_go_on) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1"}, [] {
      auto late = make_container<std::int64_t>();
      async([](const Container<std::int64_t>& all) { static_cast<void>(all.get(kTasks - 1)); },
            {.type = gpu()})(late.container);
      flood();
      const auto fill = [](std::int64_t i, Inserter<std::int64_t>& all) { all.insert(i, i); };
      async_for(0, kTasks, fill, {.grain = 16})(late.inserter);
    });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
  }
}

// What the workers wait for is set by the loop that has filled their queue.
TEST(Throttle, goes_on_where_all_workers_wait_for_what_is_not_made_yet) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1/node"}, [] {
      auto late = make_container<std::int64_t>();
      const auto wait = [](const Container<std::int64_t>& all) {
        static_cast<void>(all.get(kTasks - 1));
        made.run();
      };
      for (int i = 0; i < 3; ++i)
        async(wait, {.type = gpu()})(late.container);
      async_for(0, kTasks,
                [](std::int64_t i, Inserter<std::int64_t>& all) {
                  made.make();
                  async([](std::int64_t) { work(); }, {.type = gpu()})(i);
                  all.insert(i, i);
                },
                {.grain = 16})(late.inserter);
    });
    EXPECT_EQ(made.n_run, kTasks + 3) << "seed " << seed;
  }
}

// The only worker waits for a loop that fills the queue of teams of its type; and a team with all
// workers for one that fills the queue of single tasks.
TEST(Throttle, goes_on_where_singles_and_teams_wait_for_each_other) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1"}, [] {
      auto late = make_container<std::int64_t>();
      async(
          [](const Container<std::int64_t>& all) {
            static_cast<void>(all.get(999));
            made.run();
          },
          {.type = gpu()})(late.container);
      async_for(0, 1000,
                [](std::int64_t i, Inserter<std::int64_t>& all) {
                  made.make();
                  async_team(1, [](const global::Team&, std::int64_t) { work(); },
                             {.type = gpu()})(i);
                  all.insert(i, i);
                },
                {.grain = 16})(late.inserter);
    });
    EXPECT_EQ(made.n_run, 1001) << "seed " << seed;
    expect_done(seed, {"gpu=1"}, [] {
      auto late = make_container<std::int64_t>();
      async_team(1,
                 [](const global::Team&, const Container<std::int64_t>& all) {
                   static_cast<void>(all.get(999));
                   made.run();
                 },
                 {.type = gpu()})(late.container);
      async_for(0, 1000,
                [](std::int64_t i, Inserter<std::int64_t>& all) {
                  made.make();
                  async([](std::int64_t) { work(); }, {.type = gpu()})(i);
                  all.insert(i, i);
                },
                {.grain = 16})(late.inserter);
    });
    EXPECT_EQ(made.n_run, 1001) << "seed " << seed;
  }
}

// What a worker makes is not put aside with all else: it waits for it.
TEST(Throttle, does_not_hold_what_workers_make) {
  static void (*task)();
  const auto make_all = [] {
    const auto make = [](std::int64_t) {
      for (int k = 0; k < 3; ++k) {
        made.make();
        async([](std::int64_t) { task(); }, {.type = gpu()})(k);
      }
    };
    for (std::int64_t i = 0; i < kTasks / 2; ++i)
      async(make)(i);
  };
  const auto in_a_scope = [] {
    CoreContext::here().finish([] {
      async([](std::int64_t) { CoreContext::here().charge(kMicrosecond); })(1);
      async([] { CoreContext::here().charge(kMicrosecond); })();
    });
    work();
  };
  const auto by_results = [] {
    const auto twice = [](std::int64_t i) {
      CoreContext::here().charge(kMicrosecond);
      return 2 * i;
    };
    EXPECT_EQ(async(twice)(1).get(), 2);
    EXPECT_EQ(async([] { return 3; })().get(), 3);
    work();
  };
  for (void (*const each)() : std::initializer_list<void (*)()>{in_a_scope, by_results}) {
    task = each;
    for (std::uint64_t seed = 0; seed < n_seeds(3); ++seed) {
      expect_done(3 * seed, {"gpu=1"}, make_all);
      EXPECT_EQ(made.n_run, kTasks / 2 * 3) << "seed " << seed;
      expect_bounded(3 * seed, 1, 800);
    }
  }
}

// Rules go to their inputs first: who made them is known where they are queued, however far it is.
TEST(Throttle, knows_makers_of_rules_that_have_moved) {
  static std::int64_t n_tasks;
  for (std::uint64_t seed = 2; seed < 2 + 3 * n_seeds(2); seed += 3) {  // 3 nodes
    std::int64_t n_most[2];
    for (const bool is_long : {false, true}) {
      n_tasks = is_long ? 4 * kTasks : kTasks;
      expect_done(seed, {"gpu=1"}, [] {
        const CoreId n_cores = CoreContext::here().shape().n_cores;
        auto near = make_container<std::int64_t>(Spread::here);
        near.inserter.insert(0, 1);
        async(
            [](const Container<std::int64_t>& x, std::int64_t) {
              auto far = make_container<std::int64_t>(Spread::here);
              far.inserter.insert(0, 2);
              const auto body = [](std::int64_t, const Container<std::int64_t>& p,
                                   const Container<std::int64_t>& q) {
                made.make();
                async([](std::int64_t, std::int64_t) { work(); }, {.type = gpu()})(q[0], p[0]);
              };
              async_for(0, n_tasks, body, {.grain = 16})(x, far.container);
            },
            {.core = 2 * n_cores})(near.container, 1);
      });
      EXPECT_EQ(made.n_run, n_tasks) << "seed " << seed;
      n_most[is_long ? 1 : 0] = made.n_most;
    }
    EXPECT_LT(n_most[1], 2 * n_most[0]) << "seed " << seed;
  }
}

TEST(Throttle, lets_a_single_task_wait_whose_rules_move) {
  for (std::uint64_t seed = 0; seed < n_seeds(9); ++seed) {
    expect_done(seed, {"gpu=1"}, [] {
      const auto last = static_cast<CoreId>(CoreContext::here().shape().n_cores_total() - 1);
      const auto make = [] {
        auto there = make_container<std::int64_t>(Spread::here);
        there.inserter.insert(0, 1);
        return std::move(there.container);
      };
      const Container<std::int64_t> there = async(make, {.core = last})().get();
      for (std::int64_t i = 0; i < kTasks; ++i) {
        made.make();
        async([](std::int64_t) { work(); }, {.type = gpu()})(there[0]);
      }
    });
    EXPECT_EQ(made.n_run, kTasks) << "seed " << seed;
    expect_bounded(seed, 1, 800);
  }
}

// What goes to other nodes leaves room: who waits for it does not wait for the worker that is busy here.
TEST(Throttle, lets_who_makes_go_on_when_others_were_given_some) {
  static Nanos last;
  last = 0;
  core::MessageOptions messages;
  messages.clock = nullptr;  // virtual time alone
  FlowResult result;
  Nanos begin = 0;
  global::simulate_seed(
      2, 1, 1,
      [&] {
        set_most(kQueued);
        begin = CoreContext::here().clock();
        const auto main = [] {
          const auto busy = [] {
            for (int i = 0; i < 1000; ++i) {
              CoreContext::here().charge(100 * kMicrosecond);
              CoreContext::here().yield();
            }
          };
          async(busy, {.core = 0, .type = gpu()})();
          const auto brief = [] {
            CoreContext::here().charge(100 * kMicrosecond);
            last = CoreContext::here().clock();
          };
          for (int i = 0; i < 300; ++i)
            async(brief, {.type = gpu()})();
        };
        result = run(main, {Workers::parse({"gpu=1/node"})});
      },
      messages);
  EXPECT_EQ(result.text(), "");
  EXPECT_LT(last - begin, 80 * kMillisecond);
}

// The same on real cores.
TEST(Throttle, bounds_tasks_on_real_cores) {
  static std::atomic<std::int64_t> n_run;
  static std::atomic<std::size_t> n_queued_most;
  n_run = 0;
  n_queued_most = 0;
  constexpr std::int64_t kMany = 10'000;
  global::run_here(2, [&] {
    set_most(256);
    const auto make_all = [] {
      const auto body = [](std::int64_t i) {
        // Slower than what makes it.
        const auto task = [](std::int64_t) {
          const Nanos begin = CoreContext::here().clock();
          while (CoreContext::here().clock() - begin < 20 * kMicrosecond) {
          }
          ++n_run;
        };
        async(task, {.type = gpu()})(i);
      };
      async_for(0, kMany, body)().get();
      global::on_all_cores([] {
        const std::size_t mine = Flow::here().throttle().n_queued_max();
        if (mine > n_queued_most) n_queued_most = mine;
      });
    };
    EXPECT_EQ(run(make_all, {Workers::parse({"gpu=1"})}).text(), "");
  });
  EXPECT_EQ(n_run, kMany);
  EXPECT_GT(n_queued_most, 256U);
  EXPECT_LT(n_queued_most, 5000U);
}

}  // namespace
}  // namespace rubato::flow

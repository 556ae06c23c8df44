// Types of work: no more at a time than there are workers, on all nodes that have some.

#include <array>
#include <atomic>
#include <numeric>
#include <set>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow {
namespace {

// What tasks of a test have seen; virtual nodes are one process and one thread.
struct Seen {
  std::array<std::uint32_t, 8> now{};  // tasks under way on each node
  std::array<std::uint32_t, 8> most{};
  std::array<std::uint32_t, 8> n_run{};
  std::vector<std::int64_t> order;
  std::set<CoreId> cores;
};
Seen seen;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the test that runs

constexpr std::uint32_t kNodes = 4;

FlowResult simulate(std::uint64_t seed, std::uint32_t n_cores,
                    const std::vector<std::string>& workers, const std::function<void()>& main) {
  seen = {};
  FlowResult result;
  global::simulate_seed(
      kNodes, n_cores, seed, [&] { result = run(main, {Workers::parse(workers)}); },
      global::windows_of(seed));
  return result;
}

// A task that takes a while, in which others run.
std::int64_t work(std::int64_t i) {
  CoreContext& here = CoreContext::here();
  const NodeId node = here.shape().node;
  seen.most[node] = std::max(seen.most[node], ++seen.now[node]);
  for (int turn = 0; turn < 5; ++turn) {
    here.charge(20 * kMicrosecond);
    here.yield();
  }
  --seen.now[node];
  ++seen.n_run[node];
  return i * i;
}

TEST(Workers, are_read_as_people_write_them) {
  const Workers workers = Workers::parse({"gpu=2/node", "licence=5"});
  core::JobShape shape{0, 3, 4};
  EXPECT_EQ(workers.n_on(workers.type("gpu"), 2, shape), 2U);
  EXPECT_EQ(workers.n_in_all(workers.type("gpu"), shape), 6U);
  EXPECT_EQ(workers.n_on(workers.type("licence"), 0, shape), 2U);
  EXPECT_EQ(workers.n_on(workers.type("licence"), 2, shape), 1U);
  EXPECT_EQ(workers.n_in_all(workers.type("licence"), shape), 5U);
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message([&] {
              static_cast<void>(workers.type("licences"));
            }).find("did you mean \"licence\"?"),
            std::string::npos);
  for (const char* wrong : {"gpu", "gpu=", "gpu=x", "=3", "gpu=0", "gpu=1/core", "gpu=-1"})
    EXPECT_NE(message([&] { static_cast<void>(Workers::parse({wrong})); }), "") << wrong;
  EXPECT_NE(message([&] { static_cast<void>(Workers::parse({"a=1", "a=2"})); }), "");
}

TEST(TypedPool, runs_as_many_tasks_at_a_time_as_there_are_workers) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    const FlowResult result =
        simulate(seed, static_cast<std::uint32_t>(1 + seed % 3), {"gpu=1/node", "tape=2"}, [] {
          std::vector<Future<std::int64_t>> squares;
          for (std::int64_t i = 0; i < 40; ++i) {
            squares.push_back(
                async([](std::int64_t x) { return work(x); }, {.type = work_type("gpu")})(i));
          }
          for (std::int64_t i = 0; i < 40; ++i)
            EXPECT_EQ(squares[static_cast<std::size_t>(i)].get(), i * i);
          EXPECT_LE(*std::ranges::max_element(seen.most), 1U);
          seen = {};
          squares.clear();
          for (std::int64_t i = 0; i < 20; ++i) {
            squares.push_back(
                async([](std::int64_t x) { return work(x); }, {.type = work_type("tape")})(i));
          }
          for (auto& square : squares)
            static_cast<void>(square.get());
          EXPECT_EQ(seen.n_run[0] + seen.n_run[1], 20U);
        });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
    ASSERT_EQ(result.counters.n_run, 60U) << "seed " << seed;
  }
}

// Of one run that is a matter of chance: where messages are late enough, a node hears of work when all of
// it is done.
TEST(TypedPool, gives_work_to_workers_of_other_nodes) {
  constexpr std::int64_t kTasks = 60;
  const std::uint64_t n = n_seeds(40);
  std::array<std::uint64_t, kNodes> n_run{};
  for (std::uint64_t seed = 0; seed < n; ++seed) {
    const FlowResult result = simulate(seed, 2, {"gpu=1/node"}, [] {
      for (std::int64_t i = 0; i < kTasks; ++i)
        async([](std::int64_t x) { return work(x); }, {.type = work_type("gpu")})(i);
    });
    ASSERT_EQ(result.text(), "");
    for (NodeId node = 0; node < kNodes; ++node)
      n_run[node] += seen.n_run[node];
  }
  for (NodeId node = 0; node < kNodes; ++node)
    EXPECT_GE(n_run[node], n * kTasks / kNodes / 2) << "node " << node;
}

// All workers but one wait for what the last one does, wherever that is: of the same node as others, or of
// one whose neighbours have no free workers themselves.
TEST(TypedPool, gives_work_to_the_one_worker_that_is_free) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(2 + seed % 7);
    const auto n_workers = static_cast<std::uint32_t>(1 + seed / 7 % 4);
    const std::int64_t n_holders = std::int64_t{n_nodes} * n_workers - 1;
    global::SimulateOptions options = global::options_of(
        n_nodes, static_cast<std::uint32_t>(1 + seed % 2), seed, global::windows_of(seed));
    options.profile =
        seed % 3 == 0 ? "const,base=100" : "distribution=lognormal, median=80, sigma=1.5";
    FlowResult result;
    const auto main = [&] {
      auto made = make_datum<std::int64_t>();
      const auto hold = [](const Future<std::int64_t>& x) { static_cast<void>(x.get()); };
      for (std::int64_t i = 0; i < n_holders; ++i) {
        async(hold, {.type = work_type("gpu")})(later(made.future));
        for (std::uint64_t pause = 0; pause < seed % 5 * 4; ++pause) {
          CoreContext::here().charge(50 * kMicrosecond);
          CoreContext::here().yield();
        }
      }
      async([](Promise<std::int64_t> x) { x.set(1); },
            {.type = work_type("gpu")})(std::move(made.promise));
    };
    const std::string workers = "gpu=" + std::to_string(n_workers) + "/node";
    global::simulate([&] { result = run(main, {Workers::parse({workers})}); }, options);
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.unset_text(), "") << "seed " << seed;
  }
}

TEST(TypedPool, runs_the_largest_priority_first) {
  for (std::uint64_t seed = 0; seed < n_seeds(10); ++seed) {
    const FlowResult result = simulate(seed, 2, {"one=1"}, [] {
      auto gate = make_datum<int>();
      // The worker is busy until all others wait.
      async([](Future<int> opened) { static_cast<void>(opened.get()); },
            {.type = work_type("one")})(later(gate.future));
      for (std::int32_t i = 0; i < 12; ++i) {
        async([](std::int64_t x) { seen.order.push_back(x); },
              {.priority = i * 7 % 12, .type = work_type("one")})(i * 7 % 12);
      }
      gate.promise.set(1);
    });
    ASSERT_EQ(result.n_failures, 0U) << result.text();
    ASSERT_EQ(seen.order.size(), 12U);
    std::vector<std::int64_t> sorted = seen.order;
    std::ranges::sort(sorted, std::greater<>());
    EXPECT_EQ(seen.order, sorted) << "seed " << seed;
  }
}

TEST(TypedPool, keeps_what_is_bound_where_it_is_bound) {
  const FlowResult result = simulate(3, 2, {"tape=1", "gpu=1/node"}, [] {
    const CoreId on_node_2 = 2 * CoreContext::here().shape().n_cores + 1;
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto at = async([] { return CoreContext::here().core(); },
                            {.core = on_node_2, .type = work_type("gpu")})();
      EXPECT_EQ(at.get(), on_node_2);
    }
    // Where there is none it cannot be; a wish can.
    const auto wish = async([] { return CoreContext::here().shape().node; },
                            {.core = on_node_2, .may_move = true, .type = work_type("tape")})();
    EXPECT_EQ(wish.get(), 0U);
    const auto never =
        async([] { return 1; }, {.name = "bound", .core = on_node_2, .type = work_type("tape")})();
    EXPECT_THROW(static_cast<void>(never.get()), Error);
    EXPECT_THROW(static_cast<void>(work_type("gpus")), Error);
  });
  EXPECT_EQ(result.n_failures, 1U);
  EXPECT_NE(result.text().find("bound to node 2, which has no workers of type tape"),
            std::string::npos)
      << result.text();
}

TEST(Priorities, are_of_tasks_that_others_may_take) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate(seed, static_cast<std::uint32_t>(1 + seed % 2), {}, [] {
      for (std::int64_t i = 0; i < 64; ++i) {
        async(
            [](std::int64_t x) {
              seen.cores.insert(CoreContext::here().core());
              return work(x);
            },
            {.priority = static_cast<std::int32_t>(1 + i % 3)})(i);
      }
    });
    ASSERT_EQ(result.text(), "");
    ASSERT_EQ(result.counters.n_run, 64U);
    EXPECT_GE(seen.cores.size(), 3U) << "seed " << seed;
  }
}

TEST(Priorities, do_not_mix_what_is_waited_for) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    const FlowResult result = simulate(seed, 2, {"gpu=1/node"}, [] {
      const auto start = [](std::int32_t priority, WorkType type) {
        for (int i = 0; i < 10; ++i) {
          async([](int x) { return work(x); }, {.priority = priority, .type = type})(i);
          async([](int x) { return work(x); },
                {.core = CoreContext::here().core(), .priority = priority})(i);
        }
      };
      const auto n_run = [] { return std::accumulate(seen.n_run.begin(), seen.n_run.end(), 0U); };
      start(5, {});
      CoreContext::here().finish([&] { start(1, {}); });
      EXPECT_GE(n_run(), 20U);
      const std::uint32_t before = n_run();
      CoreContext::here().finish([&] { start(9, work_type("gpu")); });
      EXPECT_GE(n_run(), before + 20U);
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.counters.n_run, 60U) << "seed " << seed;
  }
}

TEST(Priorities, are_of_tasks_on_real_cores_too) {
  FlowResult result;
  global::run_here(2, [&] {
    result = run(
        [] {
          std::vector<Future<std::int64_t>> all;
          for (std::int64_t i = 0; i < 2000; ++i) {
            all.push_back(async([](std::int64_t x) { return x * x; },
                                {.priority = static_cast<std::int32_t>(i % 5),
                                 .type = i % 3 == 0 ? work_type("gpu") : WorkType{}})(i));
          }
          for (std::int64_t i = 0; i < 2000; ++i)
            EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i * i);
        },
        {Workers::parse({"gpu=2"})});
  });
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.n_data_held, 0U);
  EXPECT_EQ(result.counters.n_run, 2000U);
}

// Each core finds the next rule and worker itself, and waits for no room to say so. The keeper runs one
// rule that is for it, and looks at nothing else before all others have run, or ten seconds have passed.
void expect_no_keeper_needed(std::size_t n_queued_most) {
  constexpr int kOthers = 400;
  static std::atomic<int> n_done;
  n_done = 0;
  static bool is_late;
  is_late = false;
  FlowResult result;
  global::run_here(2, [&] {
    global::on_all_cores([n_queued_most] { Flow::here().throttle().set_most(n_queued_most); });
    result = run(
        [] {
          const WorkType gpu = work_type("gpu");
          const CoreId keeper = gpu.number % 2;
          async(
              [] {
                const Nanos begin = CoreContext::here().clock();
                while (n_done < kOthers && !is_late)
                  is_late = CoreContext::here().clock() - begin > 10 * kSecond;
              },
              {.core = keeper, .priority = 1, .type = gpu})();
          const auto other = [] {
            const Nanos begin = CoreContext::here().clock();
            while (CoreContext::here().clock() - begin < 200 * kMicrosecond) {
            }
            ++n_done;
          };
          for (int i = 0; i < kOthers; ++i)
            async(other, {.core = i == 0 ? 1 - keeper : kAnyCore, .type = gpu})();
        },
        {Workers::parse({"gpu=2"})});
  });
  EXPECT_EQ(result.text(), "");
  EXPECT_FALSE(is_late) << n_done << " of " << kOthers << " have run";
}

TEST(TypedPool, needs_no_keeper_that_is_busy) {
  expect_no_keeper_needed(4096);
}
// Who puts them waits for room, and finds by itself that there is some.
TEST(TypedPool, needs_no_keeper_that_is_busy_for_room) {
  expect_no_keeper_needed(16);
}

// A turn that takes long puts a rule at its end; a worker on another core is free again before that.
TEST(TypedPool, runs_what_is_put_while_others_end) {
  for (const std::uint32_t n_cores : {1U, 2U, 3U}) {
    for (CoreId core = 0; core < n_cores; ++core) {
      core::MessageOptions messages;
      messages.clock = nullptr;  // virtual time alone
      FlowResult result;
      const auto main = [core] {
        const auto task = [](std::int64_t time) {
          CoreContext::here().charge(time);
          return time;
        };
        const RuleOptions there{.core = core, .type = work_type("gpu")};
        const auto first = async(task, there)(kMillisecond);
        CoreContext::here().charge(10 * kMillisecond);
        EXPECT_EQ(async(task, there)(2 * kMillisecond).get(), 2 * kMillisecond);
        EXPECT_EQ(first.get(), kMillisecond);
      };
      global::simulate_seed(
          1, n_cores, 1, [&] { result = run(main, {Workers::parse({"gpu=1"})}); }, messages);
      ASSERT_EQ(result.text(), "") << n_cores << " cores, core " << core;
    }
  }
}

}  // namespace
}  // namespace rubato::flow

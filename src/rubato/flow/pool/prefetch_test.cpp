// Workers of a type, and tasks that get units, on nodes whose messages take long.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/pool/unit_kind.hpp"

namespace rubato::flow {
namespace prefetch_test {
namespace {

// Of the run; virtual nodes are one process and one thread.
struct Seen {
  Nanos begun = 0;
  Nanos last = 0;  // a task ended
  Nanos done = 0;  // by tasks
};
Seen seen;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the test that runs

void work(std::int64_t time) {
  CoreContext& here = CoreContext::here();
  here.charge(time);
  seen.done += time;
  seen.last = std::max(seen.last, here.clock());
}
// 0.1 to 1.9 times the mean.
Nanos uneven(std::uint64_t value, Nanos mean) {
  return mean * static_cast<Nanos>(10 + value % 181) / 100;
}

// How many for each core, about, and how long they take.
struct Size {
  Nanos mean;
  std::uint64_t n_nodes;
  std::uint64_t i;
  std::uint64_t n_cores = 1;  // of a node
  [[nodiscard]] std::uint64_t n_all() const { return n_nodes * n_cores; }
};

Future<std::int64_t> put(Nanos time) {
  const auto task = [](std::int64_t t) {
    work(t);
    return t;
  };
  return async(task, {.type = work_type("worker")})(time);
}
void bag(const Size& size) {
  for (std::uint64_t j = 0; j < 100 * size.n_all() + size.i; ++j)
    static_cast<void>(put(uneven(hash_words(size.i, j), size.mean)));
}
// The next one when all of one is done.
void waves(const Size& size) {
  for (std::uint64_t wave = 0; wave < 12; ++wave) {
    std::vector<Future<std::int64_t>> all;
    for (std::uint64_t j = 0; j < 15 * size.n_all() + size.i; ++j)
      all.push_back(put(size.mean));
    for (const auto& one : all)
      static_cast<void>(one.get());
  }
}

// A tree that nobody knows before it is walked [Olivier et al., "UTS", LCPC 2006].
std::int64_t child_of(std::int64_t value, std::int64_t i) {
  const auto word = hash_words(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(i));
  return static_cast<std::int64_t>(word >> 1U);
}
std::int64_t n_children_of(std::int64_t value) {
  return value % 100 < 24 ? 4 : 0;
}
void branch(std::int64_t value, std::int64_t mean, std::int64_t n_children) {
  work(uneven(static_cast<std::uint64_t>(value), mean));
  const auto task = [](std::int64_t v, std::int64_t m, std::int64_t n) { branch(v, m, n); };
  for (std::int64_t i = 0; i < n_children; ++i) {
    const std::int64_t child = child_of(value, i);
    async(task, {.type = work_type("worker")})(child, mean, n_children_of(child));
  }
}
void tree(const Size& size) {
  branch(static_cast<std::int64_t>(size.i), size.mean,
         static_cast<std::int64_t>(15 * size.n_all()));
}
// Whose iterations put the tasks, each on its node.
void loop(const Size& size) {
  const auto first = static_cast<std::int64_t>(1000 * size.i);
  const auto n = static_cast<std::int64_t>(100 * size.n_all());
  async_for(first, first + n, [](std::int64_t j, std::int64_t mean) {
    static_cast<void>(put(uneven(static_cast<std::uint64_t>(child_of(j, 0)), mean)));
  })(size.mean);
}

struct Unit {
  std::int64_t value;
  std::int64_t mean;
  std::int64_t n_children;
};
// NOLINTNEXTLINE(cert-err58-cpp): before main, like all actions
const UnitKind<Unit> kUnits("unit");

constexpr std::int64_t kPlaced = std::int64_t{1} << 40U;  // and the node, for `value`
std::uint32_t placed_elsewhere = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

constexpr std::int64_t kAll = std::int64_t{1} << 40U;

void run_units(std::int64_t n_most = kAll) {
  const NodeId node = CoreContext::here().shape().node;
  for (std::int64_t n = 0; n < n_most; ++n) {
    const auto unit = kUnits.get();
    if (!unit) return;
    const bool is_placed = unit->value >= kPlaced && unit->value < kPlaced + 4;
    placed_elsewhere += is_placed && unit->value - kPlaced != node ? 1U : 0U;
    work(uneven(static_cast<std::uint64_t>(unit->value), unit->mean));
    for (std::int64_t i = 0; i < unit->n_children; ++i) {
      const std::int64_t child = child_of(unit->value, i);
      kUnits.put({child, unit->mean, n_children_of(child)});
    }
  }
}
// For which others run.
void pause(Nanos time = 100 * kMicrosecond) {
  CoreContext::here().charge(time);
  CoreContext::here().yield();
}
void begin_workers(const Size& size) {
  for (CoreId core = 0; core < size.n_all(); ++core)
    async([] { run_units(); }, {.core = core})();
}
void unit_bag(const Size& size) {
  begin_workers(size);
  for (std::uint64_t j = 0; j < 100 * size.n_all() + size.i; ++j)
    kUnits.put(
        {child_of(static_cast<std::int64_t>(size.i), static_cast<std::int64_t>(j)), size.mean, 0});
}
void unit_tree(const Size& size) {
  begin_workers(size);
  kUnits.put(
      {static_cast<std::int64_t>(size.i), size.mean, static_cast<std::int64_t>(15 * size.n_all())});
}

Nanos time_of_tree(std::int64_t value, Nanos mean, std::int64_t n_children) {
  Nanos time = uneven(static_cast<std::uint64_t>(value), mean);
  for (std::int64_t i = 0; i < n_children; ++i) {
    const std::int64_t child = child_of(value, i);
    time += time_of_tree(child, mean, n_children_of(child));
  }
  return time;
}

struct Job {
  const char* name;
  void (*main)(const Size& size);
  double gain;  // at least, where messages take half a millisecond
  double least;
};
constexpr Job kJobs[] = {{"bag", &bag, 0.02, 0.9},
                         {"waves", &waves, 0.02, 0.65},
                         {"tree", &tree, 0.02, 0.9},
                         {"loop", &loop, -0.01, 0.9},
                         {"units: bag", &unit_bag, 0.01, 0.85},
                         {"units: tree", &unit_tree, 0.01, 0.82}};

struct Outcome {
  double efficiency = 0;  // the part of the cores' time in which they have run tasks
  Nanos done = 0;
};

Outcome run_one(const Job& job, const Size& size, const std::string& base, Nanos ask_ahead) {
  core::MessageOptions messages;
  messages.ask_ahead = ask_ahead;
  messages.clock = nullptr;  // virtual time alone: the same run each time
  global::SimulateOptions options;
  options.n_nodes = static_cast<std::uint32_t>(size.n_nodes);
  options.n_cores = static_cast<std::uint32_t>(size.n_cores);
  options.profile = "const,base=" + base;
  options.program = {messages, global::kTestBytesACore};
  FlowResult result;
  seen = {};
  const auto main = [&] {
    seen.begun = CoreContext::here().clock();
    job.main(size);
  };
  const std::string workers = "worker=" + std::to_string(size.n_cores) + "/node";
  global::simulate([&] { result = run(main, {Workers::parse({workers})}); }, options);
  EXPECT_EQ(result.text(), "") << job.name;
  EXPECT_EQ(result.unset_text(), "") << job.name;
  const auto time = static_cast<double>(seen.last - seen.begun);
  return {static_cast<double>(seen.done) / time / static_cast<double>(size.n_all()), seen.done};
}

// How tasks go round is a matter of chance: of some sizes.
Outcome average(const Job& job, Size size, const std::string& base, Nanos ask_ahead) {
  constexpr std::uint64_t kSizes = 8;
  Outcome all;
  for (size.i = 0; size.i < kSizes; ++size.i) {
    const Outcome one = run_one(job, size, base, ask_ahead);
    all.efficiency += one.efficiency / static_cast<double>(kSizes);
    all.done += one.done;
  }
  return all;
}

}  // namespace

TEST(Prefetch, hides_the_way) {
  constexpr Size kSize{kMillisecond, 16, 0};
  std::printf(
      "messages of 500 us, 16 nodes of a core: the part of the time in which they run tasks\n");
  for (const Job& job : kJobs) {
    const Outcome at_the_end = average(job, kSize, "500", 0);
    const Outcome ahead = average(job, kSize, "500", core::MessageOptions().ask_ahead);
    std::printf("  %-12s  when there are none %.3f  ahead %.3f\n", job.name, at_the_end.efficiency,
                ahead.efficiency);
    EXPECT_GT(ahead.efficiency, at_the_end.efficiency + job.gain) << job.name;
    EXPECT_GT(ahead.efficiency, job.least) << job.name;
    EXPECT_EQ(ahead.done, at_the_end.done) << job.name;
  }
}

TEST(Prefetch, costs_nothing_where_messages_take_no_time) {
  constexpr Size kSize{kMillisecond, 4, 0};
  for (const Job& job : kJobs) {
    const Outcome at_the_end = average(job, kSize, "1", 0);
    const Outcome ahead = average(job, kSize, "1", core::MessageOptions().ask_ahead);
    EXPECT_GT(ahead.efficiency, at_the_end.efficiency - 0.002) << job.name;
    EXPECT_EQ(ahead.done, at_the_end.done) << job.name;
  }
}

// Cores of a node take from one queue, whatever the others do.
TEST(Prefetch, waits_for_no_other_core_of_the_node) {
  constexpr Size kSize{kMillisecond, 4, 0, 4};
  std::printf("messages of 100 us, 4 nodes of 4 cores\n");
  for (const Job& job : kJobs) {
    const Outcome ahead = average(job, kSize, "100", core::MessageOptions().ask_ahead);
    std::printf("  %-12s  %.3f\n", job.name, ahead.efficiency);
    EXPECT_GT(ahead.efficiency, 0.75) << job.name;
  }
}

// Each node has units of its own; those of node 0 may be got elsewhere, but nobody else has nothing to do
// before it.
TEST(Prefetch, leaves_what_is_for_a_node_there) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    placed_elsewhere = 0;
    core::MessageOptions messages;
    messages.clock = nullptr;
    global::SimulateOptions options = global::options_of(4, 1, seed, messages);
    options.profile = "const,base=300";
    FlowResult result;
    const auto main = [] {
      const Size size{200 * kMicrosecond, 4, 0};
      begin_workers(size);
      // Of these they learn how long an answer takes.
      for (std::int64_t j = 0; j < 24; ++j)
        kUnits.put({j, size.mean, 0});
      for (int turn = 0; turn < 30; ++turn)
        pause();
      for (NodeId node = 1; node < 4; ++node) {
        for (std::int64_t j = 0; j < 80; ++j)
          kUnits.put({kPlaced + node, size.mean, 0}, {.node = node});
      }
      for (int turn = 0; turn < 30; ++turn)
        pause();
      for (std::int64_t j = 0; j < 20; ++j)
        kUnits.put({kPlaced, size.mean, 0}, {.node = 0, .may_move = true});
    };
    global::simulate([&] { result = run(main); }, options);
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(placed_elsewhere, 0U) << "seed " << seed;
  }
}

// With windows of all sizes; size.i is the seed.
FlowResult simulate_late(const Size& size, const std::function<void()>& main) {
  core::MessageOptions messages = global::windows_of(size.i);
  messages.clock = nullptr;
  global::SimulateOptions options =
      global::options_of(static_cast<std::uint32_t>(size.n_nodes),
                         static_cast<std::uint32_t>(size.n_cores), size.i, messages);
  options.profile = "distribution=lognormal, median=200, sigma=1.5";
  FlowResult result;
  seen = {};
  global::simulate([&] { result = run(main); }, options);
  return result;
}

// Questions ahead of need, and those of who waits, cross each other and what is given in all ways.
TEST(Prefetch, of_units_loses_none_however_late_messages_are) {
  for (std::uint64_t seed = 0; seed < n_seeds(100); ++seed) {
    const Size size{static_cast<Nanos>(50 + 50 * (seed % 7)) * kMicrosecond, 2 + seed % 5, seed,
                    1 + seed / 5 % 3};
    const FlowResult result = simulate_late(size, [&] { unit_tree(size); });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(seen.done, time_of_tree(static_cast<std::int64_t>(seed), size.mean,
                                      static_cast<std::int64_t>(15 * size.n_all())))
        << "seed " << seed;
  }
}

// Where nobody gets any, or not any more, others do.
TEST(Prefetch, of_units_leaves_nobody_waiting_for_the_last_ones) {
  for (std::uint64_t seed = 0; seed < n_seeds(100); ++seed) {
    const Size size{static_cast<Nanos>(20 + 30 * (seed % 7)) * kMicrosecond, 2 + seed % 5, seed,
                    1 + seed / 5 % 3};
    Nanos all = 0;
    const auto main = [&] {
      for (CoreId core = 1; core < size.n_all(); ++core) {
        async([](std::int64_t n_most) { run_units(n_most); },
              {.core = core})(core % 2 == 0 ? 7 : kAll);
      }
      for (std::int64_t j = 0; j < 200; ++j) {
        const std::int64_t value = child_of(static_cast<std::int64_t>(seed), j);
        all += uneven(static_cast<std::uint64_t>(value), size.mean);
        kUnits.put({value, size.mean, 0},
                   {.node = static_cast<NodeId>(value % 7 % size.n_nodes), .may_move = true});
        pause(value % 300 * kMicrosecond);
      }
    };
    const FlowResult result = simulate_late(size, main);
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(seen.done, all) << "seed " << seed;
  }
}

}  // namespace prefetch_test
}  // namespace rubato::flow

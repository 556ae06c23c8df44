// Pooled tasks of jobs whose messages take long.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/core/message/message_engine.hpp"
#include "rubato/core/sim_host.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/net/sim.hpp"

namespace rubato::core {
namespace ahead_test {
namespace {

// Virtual time that the tasks of a core have taken.
struct Done {
  Nanos time = 0;
};

void work(CoreContext& here, Nanos time) {
  here.charge(time);
  here.local<Done>().time += time;
}

// 20 to 380 us.
Nanos uneven(std::uint64_t value) {
  return static_cast<Nanos>(20 + value % 361) * kMicrosecond;
}

struct Task {
  Nanos time;
  void run(CoreContext& here) const { work(here, time); }
};

// Tasks, and who makes the next ones when there are none.
struct Wave {
  static constexpr bool kMakesMore = true;
  std::uint64_t n_left;
  std::uint64_t n;
  void run(CoreContext& here) const {
    for (std::uint64_t i = 0; i < n; ++i)
      here.spawn_pooled(Task{100 * kMicrosecond});
    if (n_left > 0) here.spawn_pooled(Wave{n_left - 1, n});
  }
};

// A tree that nobody knows before it is walked [Olivier et al., "UTS", LCPC 2006].
struct Branch {
  static constexpr bool kMakesMore = true;
  std::uint64_t value;
  std::uint64_t n_children;
  Nanos time;  // 0: 1 to 19 ms
  void run(CoreContext& here) const {
    work(here, time != 0 ? time : 50 * uneven(value));
    for (std::uint64_t i = 0; i < n_children; ++i) {
      const std::uint64_t child = hash_words(value, i);
      here.spawn_pooled(Branch{child, child % 100 < 24 ? 4U : 0U, time});
    }
  }
};

// An iteration for each task.
struct Iterations {
  std::uint64_t begin;
  std::uint64_t end;
  void run(CoreContext& here) const {
    Iterations mine = *this;
    while (mine.end - mine.begin > 1) {
      Iterations upper = mine;
      upper.begin = mine.end = mine.begin + (mine.end - mine.begin) / 2;
      here.spawn_pooled(upper);
    }
    work(here, uneven(hash_words(mine.begin)));
  }
};

struct Node {
  Node(const JobShape& shape, const MessageOptions& options) : engine(shape, options) {
    engine.core(0).set_local(done);
  }
  Done done;
  MessageEngine engine;
};

struct Outcome {
  double efficiency = 0;  // the part of all cores' time in which they have run tasks
  Nanos done = 0;         // by all tasks
};

// On n_nodes nodes of one core. Their messages take `base` microseconds.
template <class F>
Outcome run(std::uint32_t n_nodes, const std::string& base, Nanos ask_ahead, F&& main) {
  net::SimOptions network_options;
  network_options.n_nodes = n_nodes;
  network_options.profile = net::parse_profile("const,base=" + base);
  net::SimNetwork network(network_options);
  MessageOptions options;
  options.ask_ahead = ask_ahead;
  options.clock = nullptr;  // virtual time alone: the same run each time
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < n_nodes; ++node) {
    nodes.push_back(std::make_unique<Node>(JobShape{node, n_nodes, 1}, options));
    engines.push_back(&nodes.back()->engine);
  }
  nodes[0]->engine.set_on_start([&](CoreContext& here) {
    if (here.core() == 0) here.finish([&] { main(here); });
  });
  SimHost host(network, {.n_cores = 1});
  const Nanos wall = host.run(engines).wall;
  Nanos done = 0;
  for (const auto& node : nodes)
    done += node->done.time;
  return {static_cast<double>(done) / static_cast<double>(wall) / n_nodes, done};
}

// How tasks go round is a matter of chance: of eight sizes.
template <class F>
Outcome average(std::uint32_t n_nodes, const std::string& base, Nanos ask_ahead, F&& main) {
  constexpr std::uint64_t kSizes = 8;
  Outcome all;
  for (std::uint64_t i = 0; i < kSizes; ++i) {
    const Outcome one = run(n_nodes, base, ask_ahead, [&](CoreContext& here) { main(here, i); });
    all.efficiency += one.efficiency / static_cast<double>(kSizes);
    all.done += one.done;
  }
  return all;
}

void few_waves(CoreContext& here, std::uint64_t i) {
  here.spawn_pooled(Wave{50, 28 + i});
}
void large_waves(CoreContext& here, std::uint64_t i) {
  here.spawn_pooled(Wave{50, 128 + i});
}
void tree(CoreContext& here, std::uint64_t i) {
  here.spawn_pooled(Branch{i, 100, 100 * kMicrosecond});
}
void bag(CoreContext& here, std::uint64_t i) {
  for (std::uint64_t j = 0; j < 250 * here.shape().n_nodes + i; ++j)
    here.spawn_pooled(Task{uneven(hash_words(i, j))});
}
void long_bag(CoreContext& here, std::uint64_t i) {
  for (std::uint64_t j = 0; j < 60 * here.shape().n_nodes + i; ++j)
    here.spawn_pooled(Task{50 * uneven(hash_words(i, j))});
}
void long_tree(CoreContext& here, std::uint64_t i) {
  here.spawn_pooled(Branch{i, 100, 0});
}
void loop(CoreContext& here, std::uint64_t i) {
  here.spawn_pooled(Iterations{1000 * i, 1000 * i + 250 * here.shape().n_nodes});
}

struct Job {
  const char* name;
  void (*main)(CoreContext& here, std::uint64_t i);
  double gain;  // at least, where messages take half a millisecond
  Nanos done;   // by its tasks, of all sizes; 0: only the run knows
};
// 51 waves of each size, of 28 to 35 tasks and 100 more.
constexpr Nanos kFewDone = 51 * (28 + 35) * 4 * 100 * kMicrosecond;
constexpr Nanos kLargeDone = kFewDone + 51 * 100 * 8 * 100 * kMicrosecond;
constexpr Job kJobs[] = {{"waves of 32", &few_waves, 0.04, kFewDone},
                         {"waves of 132", &large_waves, 0.03, kLargeDone},
                         {"tree", &tree, 0.01, 0},
                         {"bag", &bag, 0.04, 0},
                         {"loop", &loop, 0.02, 0},
                         {"long bag", &long_bag, 0.003, 0},
                         {"long tree", &long_tree, 0.003, 0}};

}  // namespace
}  // namespace ahead_test

using ahead_test::average;
using ahead_test::Outcome;

TEST(PooledTasks, ThatAreAskedForAheadHideTheWay) {
  std::printf(
      "messages of 500 us, 4 nodes of a core: the part of the time in which they run tasks\n");
  for (const ahead_test::Job& job : ahead_test::kJobs) {
    const Outcome at_the_end = average(4, "500", 0, job.main);
    const Outcome ahead = average(4, "500", MessageOptions().ask_ahead, job.main);
    std::printf("  %-12s  when there are none %.3f  ahead %.3f\n", job.name, at_the_end.efficiency,
                ahead.efficiency);
    EXPECT_GT(ahead.efficiency, at_the_end.efficiency + job.gain) << job.name;
    EXPECT_EQ(ahead.done, at_the_end.done) << job.name;
    if (job.done > 0) {
      EXPECT_EQ(ahead.done, job.done) << job.name;
    }
  }
}

TEST(PooledTasks, ThatAreAskedForAheadCostNothingWhereMessagesTakeNoTime) {
  for (const ahead_test::Job& job : ahead_test::kJobs) {
    const Outcome at_the_end = average(4, "1", 0, job.main);
    const Outcome ahead = average(4, "1", MessageOptions().ask_ahead, job.main);
    EXPECT_GT(ahead.efficiency, at_the_end.efficiency - 0.002) << job.name;
    EXPECT_EQ(ahead.done, at_the_end.done) << job.name;
  }
}

}  // namespace rubato::core

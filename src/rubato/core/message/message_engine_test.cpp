#include "rubato/core/message/message_engine.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/core/node_host.hpp"
#include "rubato/core/sim_host.hpp"
#include "rubato/core/thread_fabric_test.hpp"

namespace rubato::core {
namespace message_test {

constexpr std::uint64_t kToPush = 2'000;

// What each core of the tests keeps.
struct Tally {
  std::uint64_t sum = 0;
  std::uint64_t n_wrong_order = 0;
  std::map<CoreId, std::uint64_t> next_from;
};

// A walk of `left` hops over the cores: each hop's place and value follow from the one before.
void hop(CoreContext& here, std::uint64_t value, std::uint32_t left) {
  here.local<Tally>().sum += value;
  if (left == 0) return;
  const std::uint64_t next = hash_words(value, left);
  here.send<&hop>(static_cast<CoreId>(next % here.shape().n_cores_total()), next, left - 1);
}

void numbered(CoreContext& here, CoreId from, std::uint64_t number, ByteView payload) {
  auto& tally = here.local<Tally>();
  if (tally.next_from[from]++ != number || payload.size() != number % 50) ++tally.n_wrong_order;
  tally.sum += number;
}

// Of a task, which waits where there is no room.
void push_all(CoreContext& here) {
  const CoreId to = (here.core() + 1) % static_cast<CoreId>(here.shape().n_cores_total());
  for (std::uint64_t number = 0; number < kToPush; ++number) {
    const Bytes payload(number % 50);
    here.send<&numbered>(to, here.core(), number, payload);
  }
}

// A core with a long inbox says something to another one, and counts what it works off until that
// heard it. Both nodes of a simulated job look at the same object.
struct Backlog {
  bool heard = false;
  std::uint64_t n_before = 0;
};
void hear(CoreContext& here) {
  here.local<Backlog>().heard = true;
}
void work_off(CoreContext& here) {
  auto& backlog = here.local<Backlog>();
  if (backlog.heard) return;
  if (backlog.n_before++ == 0) here.send<&hear>(1);
}

void nothing(CoreContext& here) noexcept {
  ++here.local<Tally>().sum;
}

}  // namespace message_test

namespace {

using message_test::Tally;
using testing::ThreadHub;

constexpr std::uint32_t kWalks = 5;
constexpr std::uint32_t kHops = 60;

// A node's engine with what its cores keep.
struct Node {
  Node(const JobShape& shape, const MessageOptions& options)
      : tallies(shape.n_cores), engine(shape, options) {
    for (std::uint32_t i = 0; i < shape.n_cores; ++i)
      engine.core(i).set_local(tallies[i]);
  }
  std::vector<Tally> tallies;
  MessageEngine engine;
};

// Walks start on every core.
void start_walks(CoreContext& here) {
  for (std::uint32_t walk = 0; walk < kWalks; ++walk) {
    here.send<&message_test::hop>(here.core(), hash_words(here.core(), walk), kHops);
  }
}

std::vector<std::uint64_t> expected_sums(std::uint64_t n_cores) {
  std::vector<std::uint64_t> sums(n_cores, 0);
  for (std::uint64_t start = 0; start < n_cores; ++start) {
    for (std::uint32_t walk = 0; walk < kWalks; ++walk) {
      std::uint64_t value = hash_words(start, walk);
      std::uint64_t at = start;
      for (std::uint32_t left = kHops; left > 0; --left) {
        sums[at] += value;
        value = hash_words(value, left);
        at = value % n_cores;
      }
      sums[at] += value;
    }
  }
  return sums;
}

// Runs one engine a node in the simulator, with a profile and orders drawn from the seed.
template <class Setup>
std::vector<std::unique_ptr<Node>> simulate(std::uint32_t n_nodes, std::uint32_t n_cores,
                                            std::uint64_t seed, const MessageOptions& options,
                                            Setup setup) {
  net::SimOptions network_options;
  network_options.n_nodes = n_nodes;
  network_options.seed = seed;
  network_options.profile = net::parse_profile(seed % 3 == 0 ? "ec2-large" : "const");
  network_options.shuffle_ties = true;
  net::SimNetwork network(network_options);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < n_nodes; ++node) {
    nodes.push_back(std::make_unique<Node>(JobShape{node, n_nodes, n_cores}, options));
    setup(*nodes.back());
    engines.push_back(&nodes.back()->engine);
  }
  SimHost host(network,
               {.n_cores = n_cores, .shuffle = true, .seed = seed, .extra_delay_max = 5'000});
  host.run(engines);
  return nodes;
}

TEST(Messages, WalksOverAllCoresEndWhereTheyDoInOneLoop) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto n_nodes = 1 + static_cast<std::uint32_t>(seed % 5);
    const auto n_cores = 1 + static_cast<std::uint32_t>(seed % 3);
    const auto nodes =
        simulate(n_nodes, n_cores, seed,
                 {.block_bytes = 200 + 50 * (seed % 40), .buffer_bytes = 200 + 100 * (seed % 40)},
                 [](Node& n) { n.engine.set_on_start(start_walks); });
    const auto sums = expected_sums(std::uint64_t{n_nodes} * n_cores);
    std::uint64_t n_applied = 0;
    for (NodeId node = 0; node < n_nodes; ++node) {
      n_applied += nodes[node]->engine.counters().n_applied;
      for (std::uint32_t i = 0; i < n_cores; ++i) {
        EXPECT_EQ(nodes[node]->tallies[i].sum, sums[node * n_cores + i]);
      }
    }
    EXPECT_EQ(n_applied, std::uint64_t{n_nodes} * n_cores * kWalks * (kHops + 1));
  }
}

TEST(Messages, WalksRunOnRealCoresAsWell) {
  const auto sums = expected_sums(6);
  ThreadHub hub(3);
  std::atomic<int> n_right{0};
  hub.run([&](NodeId id) {
    NodeHostOptions options;
    options.n_cores = 2;
    options.owns_process = false;
    NodeHost host(hub.fabric(id), options);
    Node node(host.shape(), {});
    node.engine.set_on_start(start_walks);
    host.run(node.engine);
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (node.tallies[i].sum == sums[id * 2 + i]) ++n_right;
    }
  });
  EXPECT_EQ(n_right, 6);
}

TEST(Messages, KeepTheOrderOfEachPairAndWaitForTheWindow) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto n_nodes = 1 + static_cast<std::uint32_t>(seed % 4);
    const auto n_cores = 1 + static_cast<std::uint32_t>(seed % 3);
    const auto nodes = simulate(
        n_nodes, n_cores, seed,
        {.block_bytes = 1'000, .window_blocks = 2, .buffer_bytes = 1'000, .window_bytes = 3'000},
        [](Node& n) { n.engine.set_on_start(message_test::push_all); });
    for (const auto& node : nodes) {
      for (const auto& tally : node->tallies) {
        EXPECT_EQ(tally.n_wrong_order, 0U);
        EXPECT_EQ(tally.sum, message_test::kToPush * (message_test::kToPush - 1) / 2);
      }
      // 2,000 messages of 60 bytes and more do not fit 3,000 bytes at once.
      EXPECT_GT(node->engine.counters().n_room_waits, 20U);
    }
  }
}

TEST(Messages, ToOneNodeShareBuffersAndRuns) {
  const auto nodes = simulate(2, 1, 2, {}, [](Node& n) {
    n.engine.set_on_start([](CoreContext& here) {
      for (int i = 0; i < 20'000; ++i)
        here.send<&message_test::nothing>(1 - here.core());
    });
  });
  for (const auto& node : nodes) {
    EXPECT_EQ(node->tallies[0].sum, 20'000U);
    const CoreCounters counters = node->engine.counters();
    EXPECT_EQ(counters.n_posted, 20'000U);
    EXPECT_EQ(counters.n_applied, 20'000U);
    // 8 bytes each, in blocks of 16 KiB with a head, four and a bit of them a buffer of 64 KiB.
    EXPECT_EQ(counters.n_runs, 10U);
    EXPECT_EQ(counters.n_blocks, 10U);
    EXPECT_EQ(counters.n_buffers, 3U);
    // All but the last were full, and so were the buffers: behind the fourth block, and the eighth.
    EXPECT_EQ(counters.n_full_blocks, 9U);
    EXPECT_EQ(counters.n_full_buffers, 2U);
    EXPECT_EQ(counters.n_hurried_buffers + counters.n_late_buffers, 0U);
    // With a head of 24 for each run, and one of 16 for each block.
    EXPECT_EQ(counters.n_bytes, 20'000U * 8 + 10 * (24 + 16));
  }
}

TEST(Messages, ABufferLeavesAtOnceWhereItsCoreHasNothingElseToDo) {
  MessageOptions options;
  options.deadline = 3'600 * kSecond;
  const auto nodes = simulate(2, 1, 1, options, [](Node& n) {
    n.engine.set_on_start([](CoreContext& here) {
      if (here.core() == 0) here.send<&message_test::nothing>(1);
    });
  });
  EXPECT_EQ(nodes[1]->tallies[0].sum, 1U);
  const CoreCounters counters = nodes[0]->engine.counters();
  EXPECT_EQ(counters.n_buffers, 1U);
  EXPECT_EQ(counters.n_full_buffers + counters.n_hurried_buffers + counters.n_late_buffers, 0U);
}

TEST(Messages, ABufferLeavesAtItsDeadlineThoughItsCoreIsBusy) {
  net::SimOptions network_options;
  network_options.n_nodes = 2;
  net::SimNetwork network(network_options);
  message_test::Backlog backlog;
  std::vector<std::unique_ptr<MessageEngine>> owned;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < 2; ++node) {
    owned.push_back(
        std::make_unique<MessageEngine>(JobShape{node, 2, 1}, MessageOptions{.apply_cost = 1'000}));
    owned[node]->core(0).set_local(backlog);
    engines.push_back(owned[node].get());
  }
  owned[0]->set_on_start([](CoreContext& here) {
    for (int i = 0; i < 5'000; ++i)
      here.send<&message_test::work_off>(0);
  });
  SimHost host(network, {});
  host.run(engines);
  // Without the deadline the word would leave with the last of the 5,000; at once, with the
  // first 17.
  EXPECT_TRUE(backlog.heard);
  EXPECT_LT(backlog.n_before, 1'000U);
  EXPECT_GT(backlog.n_before, 50U);
  const CoreCounters counters = owned[0]->counters();
  EXPECT_EQ(counters.n_buffers, 1U);
  EXPECT_EQ(counters.n_late_buffers, 1U);
  EXPECT_EQ(counters.n_full_buffers + counters.n_hurried_buffers, 0U);
}

// So many readers of a cell that nobody fills: five on core 0, the others on core 1.
std::string text_of_deadlock(int n_readers) {
  FullEmpty<int> never;
  try {
    simulate(1, 2, 1, {}, [&](Node& n) {
      n.engine.set_on_start([&never, n_readers](CoreContext& here) {
        const int n_here = here.core() == 0 ? std::min(n_readers, 5) : std::max(n_readers - 5, 0);
        for (int i = 0; i < n_here; ++i)
          here.spawn([&never] { static_cast<void>(never.read_ff()); }, {"reader"});
      });
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "no deadlock";
}

std::size_t n_times(const std::string& part, const std::string& text) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

TEST(Messages, ADeadlockNamesEightTasksOfANodeAndCountsTheOthers) {
  const std::string few = text_of_deadlock(8);
  EXPECT_EQ(n_times("task 'reader' of core 0, spawned at ", few), 5U) << few;
  EXPECT_EQ(n_times("task 'reader' of core 1, spawned at ", few), 3U) << few;
  EXPECT_EQ(n_times("for a cell to be full", few), 8U) << few;
  EXPECT_EQ(n_times("more task", few), 0U) << few;
  const std::string many = text_of_deadlock(20);
  EXPECT_EQ(n_times("task 'reader' of core 0, spawned at ", many), 5U) << many;
  EXPECT_EQ(n_times("task 'reader' of core 1, spawned at ", many), 3U) << many;
  EXPECT_EQ(n_times("; and 12 more tasks", many), 1U) << many;
}

// A frame of 512 KiB in a task, eight times as much as its stack has otherwise.
[[gnu::noinline]] std::uint64_t sum_of_a_wide_frame() {
  volatile char frame[512 << 10];
  for (std::size_t at = 0; at < sizeof frame; at += 1024)
    frame[at] = 1;
  CoreContext::here().yield();
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < sizeof frame; at += 1024)
    sum += static_cast<std::uint64_t>(frame[at]);
  return sum;
}

TEST(Messages, TasksOfACoreHaveStacksOfTheSizeThatWasAskedFor) {
  MessageOptions options;
  options.tasks.stacks.guarded_bytes = std::size_t{1} << 20;
  const auto nodes = simulate(1, 2, 1, options, [](Node& n) {
    n.engine.set_on_start([](CoreContext& here) {
      for (int i = 0; i < 3; ++i)
        here.spawn([&here] { here.local<Tally>().sum += sum_of_a_wide_frame(); });
    });
  });
  for (const Tally& tally : nodes[0]->tallies)
    EXPECT_EQ(tally.sum, 3U * 512);
  options.tasks.stacks.guarded_bytes = 2'047;
  EXPECT_THROW(MessageEngine(JobShape{}, options), Error);
}

TEST(Messages, HandlersHaveIdsAndNames) {
  ASSERT_GE(n_handlers(), 3U);
  EXPECT_NE(handler_name(0), handler_name(1));
  EXPECT_NE(handler_table_hash(), 0U);
  EXPECT_THROW((void)detail::handler_at(n_handlers()), Error);
}

}  // namespace
}  // namespace rubato::core

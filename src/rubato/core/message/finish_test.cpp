#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/core/message/message_engine.hpp"
#include "rubato/core/node_host.hpp"
#include "rubato/core/sim_host.hpp"
#include "rubato/core/thread_fabric_test.hpp"

namespace rubato::core {
namespace finish_test {

// What each core of the tests keeps.
struct Tally {
  std::uint64_t n_done = 0;     // of the scope under way
  std::uint64_t n_missing = 0;  // things that had not ended when a scope had
  std::uint64_t n_scopes = 0;
};

// A tree of things to do whose shape follows from its root: messages, tasks that yield, tasks with
// scopes of their own, in a random mixture. Every node of it counts once, on some core.
std::uint64_t n_below(std::uint64_t value, std::uint32_t depth) {
  if (depth == 0) return 1;
  std::uint64_t n = 1;
  const std::uint64_t n_children = hash_words(value, 1) % 4;
  for (std::uint64_t child = 0; child < n_children; ++child)
    n += n_below(hash_words(value, child, 2), depth - 1);
  return n;
}

void grow(CoreContext& here, std::uint64_t value, std::uint32_t depth);

struct GrowTask {
  std::uint64_t value;
  std::uint32_t depth;
  bool waits;
  void run(CoreContext& here) const {
    if (waits) here.yield();
    here.charge(20 * kMicrosecond);
    grow(here, value, depth);
  }
};

void grow_child(CoreContext& here, std::uint64_t child, std::uint32_t depth) {
  const auto in_task = [child, depth] { grow(CoreContext::here(), child, depth); };
  switch (hash_words(child, 3) % 5) {
    case 0:
      here.send<&grow>(static_cast<CoreId>(hash_words(child, 4) % here.shape().n_cores_total()),
                       child, depth);
      return;
    case 1:
      here.spawn([in_task] {
        CoreContext::here().yield();
        in_task();
      });
      return;
    case 2:
      here.spawn_pooled(GrowTask{child, depth, hash_words(child, 6) % 3 == 0});
      return;
    case 3:
      here.spawn_bound(GrowTask{child, depth, false});
      return;
    default:
      here.spawn([in_task] { CoreContext::here().finish(in_task); });
  }
}

void grow_children(CoreContext& here, std::uint64_t value, std::uint32_t depth) {
  if (depth == 0) return;
  const std::uint64_t n_children = hash_words(value, 1) % 4;
  for (std::uint64_t i = 0; i < n_children; ++i)
    grow_child(here, hash_words(value, i, 2), depth - 1);
}

void grow(CoreContext& here, std::uint64_t value, std::uint32_t depth) {
  ++here.local<Tally>().n_done;
  grow_children(here, value, depth);
}

struct Pause {
  void run(CoreContext& here) const {
    ++here.local<Tally>().n_done;
    here.charge(100 * kMicrosecond);
  }
};

void add_up(CoreContext& here, std::uint64_t n) {
  here.local<Tally>().n_missing += n;
}
void tell(CoreContext& here, CoreId to) {
  here.send<&add_up>(to, here.local<Tally>().n_done);
}

void look_at_ends(CoreContext& here, ByteView payload) {
  auto& tally = here.local<Tally>();
  tally.n_done += payload.size();
  if (payload.front() != std::byte{7} || payload.back() != std::byte{7}) ++tally.n_missing;
}

// As what is applied, which is never made to wait.
void post_all(CoreContext& here, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    here.send<&add_up>(1, i);
}

struct Count {
  void run(CoreContext& here) const { ++here.local<Tally>().n_done; }
};
// Of all cores of a simulated job.
std::uint64_t n_counted = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
struct CountAll {
  void run(CoreContext& /*here*/) const { ++n_counted; }
};
void wait_until_all(CoreContext& here, std::uint64_t n) {
  while (n_counted < n)
    here.yield();
}
void wait_for(CoreContext& here, std::uint64_t n) {
  here.spawn([&here, n] { wait_until_all(here, n); });
}

void spawn_all(CoreContext& here, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i)
    here.spawn_pooled(Count{});
  // None has run: this is applied.
  here.local<Tally>().n_missing = n - here.local<Tally>().n_done;
}

void fill(CoreContext& here, std::uint64_t seed, ByteView payload) {
  auto& tally = here.local<Tally>();
  for (std::size_t i = 0; i < payload.size(); ++i) {
    if (payload[i] != static_cast<std::byte>(seed + i)) ++tally.n_missing;
  }
  tally.n_done += payload.size();
}

}  // namespace finish_test

namespace {

using finish_test::Tally;
using testing::ThreadHub;

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

// The main task of core 0: trees within scopes, after each of which all of the tree must be there.
void grow_trees(CoreContext& here, std::uint64_t seed, std::uint32_t n_trees) {
  std::uint64_t n_expected = 0;
  for (std::uint32_t tree = 0; tree < n_trees; ++tree) {
    const std::uint64_t root = hash_words(seed, tree, 5);
    n_expected += finish_test::n_below(root, 9);
    here.finish([&] { finish_test::grow(here, root, 9); });
    auto& tally = here.local<Tally>();
    tally.n_missing = 0;
    here.finish([&] {
      for (CoreId core = 0; core < here.shape().n_cores_total(); ++core)
        here.send<&finish_test::tell>(core, here.core());
    });
    if (tally.n_missing == n_expected) ++tally.n_scopes;
  }
}

template <class F>
void simulate(std::uint32_t n_nodes, std::uint32_t n_cores, std::uint64_t seed,
              const MessageOptions& options, F main, std::vector<std::unique_ptr<Node>>& nodes) {
  net::SimOptions network_options;
  network_options.n_nodes = n_nodes;
  network_options.seed = seed;
  network_options.profile = net::parse_profile(seed % 3 == 0 ? "ec2-large" : "const");
  network_options.shuffle_ties = true;
  net::SimNetwork network(network_options);
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < n_nodes; ++node) {
    nodes.push_back(std::make_unique<Node>(JobShape{node, n_nodes, n_cores}, options));
    engines.push_back(&nodes.back()->engine);
  }
  nodes[0]->engine.set_on_start([main](CoreContext& here) {
    if (here.core() == 0) main(here);
  });
  SimHost host(network, {.n_cores = n_cores,
                         .shuffle = true,
                         .seed = seed,
                         .extra_delay_max = 5'000,
                         .time_max = 100 * kSecond});
  host.run(engines);
}

TEST(Finish, WaitsForAllThatWasStartedInItOnAllCores) {
  CoreCounters moved;
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto n_nodes = 1 + static_cast<std::uint32_t>(seed % 4);
    const auto n_cores = 1 + static_cast<std::uint32_t>(seed % 3);
    std::vector<std::unique_ptr<Node>> nodes;
    simulate(
        n_nodes, n_cores, seed,
        {.block_bytes = 200 + 20 * (seed % 60),
         .window_blocks = 2,
         .buffer_bytes = 200 + 30 * (seed % 60),
         .window_bytes = 1'000 + 100 * (seed % 60)},
        [seed](CoreContext& here) { grow_trees(here, seed, 4); }, nodes);
    EXPECT_EQ(nodes[0]->tallies[0].n_scopes, 4U);
    for (const auto& node : nodes)
      moved.add(node->engine.counters());
  }
  // The test is of something: pooled tasks did move.
  EXPECT_GT(moved.n_stolen, 100U);
  EXPECT_GT(moved.n_given, 100U);
}

// One of two nodes of two cores each; the scopes that core 0 has found complete.
std::uint64_t n_complete_scopes(net::Fabric& fabric, std::uint64_t seed) {
  NodeHostOptions options;
  options.n_cores = 2;
  options.owns_process = false;
  NodeHost host(fabric, options);
  Node node(host.shape(), {.block_bytes = 300, .buffer_bytes = 500});
  node.engine.set_on_start([seed](CoreContext& here) {
    if (here.core() == 0) grow_trees(here, seed, 20);
  });
  host.run(node.engine);
  return node.tallies[0].n_scopes;
}

TEST(Finish, WaitsOnRealCoresAsWell) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    ThreadHub hub(2);
    std::atomic<std::uint64_t> n_scopes{0};
    hub.run([&](NodeId id) { n_scopes += n_complete_scopes(hub.fabric(id), seed); });
    EXPECT_EQ(n_scopes, 20U) << "seed " << seed;
  }
}

TEST(PooledTasks, WorkOfOneCoreIsSpreadOverAllNodes) {
  // A loop of 4,000 tasks of 100 us on one core of four nodes with two each: 50 ms at the best.
  net::SimOptions network_options;
  network_options.n_nodes = 4;
  network_options.profile = net::parse_profile("const");
  net::SimNetwork network(network_options);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < 4; ++node) {
    nodes.push_back(std::make_unique<Node>(JobShape{node, 4, 2}, MessageOptions{}));
    engines.push_back(&nodes.back()->engine);
  }
  nodes[0]->engine.set_on_start([](CoreContext& here) {
    if (here.core() != 0) return;
    here.finish([&] {
      for (int i = 0; i < 4'000; ++i)
        here.spawn_pooled(finish_test::Pause{});
    });
  });
  SimHost host(network, {.n_cores = 2});
  EXPECT_LT(host.run(engines).wall, 60 * kMillisecond);
  for (const auto& node : nodes) {
    for (const Tally& tally : node->tallies)
      EXPECT_GT(tally.n_done, 350U);
  }
}

// A node that has nothing and one that has far too much: half of it would be some megabytes.
TEST(PooledTasks, AreGivenAwayInBoundedMessages) {
  constexpr std::uint64_t kTasks = 60'000;
  constexpr std::uint64_t kGivenMost = 2'048;
  std::vector<std::unique_ptr<Node>> nodes;
  simulate(
      2, 1, 1, {},
      [](CoreContext& here) {
        here.finish([&] {
          for (std::uint64_t i = 0; i < kTasks; ++i)
            here.spawn_pooled(finish_test::Pause{});
        });
      },
      nodes);
  const CoreCounters giver = nodes[0]->engine.counters();
  const CoreCounters other = nodes[1]->engine.counters();
  EXPECT_GT(giver.n_given, kTasks / 3);
  EXPECT_LE(giver.n_given, other.n_begs * kGivenMost);
}

TEST(Finish, NumbersOfScopesComeAgainButNotThatOfOneWhoIsThere) {
  constexpr std::uint64_t kNumbers = std::uint64_t{1} << 24;
  detail::FinishTable table(3);
  const FinishId kept = table.open(0);
  std::uint64_t n_equal = 0;
  for (std::uint64_t i = 0; i < kNumbers; ++i) {
    const FinishId id = table.open(0);
    n_equal += id == kept ? 1 : 0;
    table.close(id);
  }
  EXPECT_EQ(n_equal, 0U);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.open(0), kept + 2);  // they have come again
}

// A task of its core, that many from the last.
struct Bound {
  std::uint64_t n_left;
  void run(CoreContext& here) const {
    here.charge(100 * kMicrosecond);
    if (n_left > 0) return;
    EXPECT_EQ(here.local<Tally>().n_done, 0U) << "others' tasks before its own";
  }
};

TEST(PooledTasks, OfOthersAreNotAskedForBeforeACoreHasDoneWhatIsBoundToIt) {
  net::SimOptions network_options;
  network_options.n_nodes = 2;
  network_options.profile = net::parse_profile("const");
  net::SimNetwork network(network_options);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < 2; ++node) {
    nodes.push_back(std::make_unique<Node>(JobShape{node, 2, 1}, MessageOptions{}));
    engines.push_back(&nodes.back()->engine);
    nodes.back()->engine.set_on_start([](CoreContext& here) {
      here.finish([&] {
        for (std::uint64_t i = 0; i < 1'000; ++i) {
          if (here.core() == 0) {
            here.spawn_pooled(finish_test::Pause{});
          } else {
            here.spawn_bound(Bound{i});  // the newest first
          }
        }
      });
    });
  }
  SimHost host(network, {.n_cores = 1});
  host.run(engines);
  EXPECT_EQ(nodes[0]->tallies[0].n_done + nodes[1]->tallies[0].n_done, 1'000U);
}

// Of all cores of a simulated job: what has not begun is in a pool, or counts as lent.
struct InPools {
  std::vector<CoreContext*> cores;
  std::int64_t n_made = 0;
  std::int64_t n_begun = 0;
  std::int64_t n_nowhere_most = 0;

  void look() {
    std::int64_t n = 0;
    for (const CoreContext* core : cores)
      n += static_cast<std::int64_t>(core->n_pooled() + core->n_lent());
    n_nowhere_most = std::max(n_nowhere_most, n_made - n_begun - n);
  }
};
InPools
    in_pools;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): records know no more

struct Counted {
  std::uint64_t unused = 0;
  void run(CoreContext& here) const {
    ++in_pools.n_begun;
    in_pools.look();
    here.charge(20 * kMicrosecond);
  }
};

TEST(PooledTasks, ThatGoElsewhereCountWhereTheyWereUntilTheyAreThere) {
  net::SimOptions network_options;
  network_options.n_nodes = 3;
  network_options.profile = net::parse_profile("const");
  net::SimNetwork network(network_options);
  in_pools = {};
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < 3; ++node) {
    nodes.push_back(std::make_unique<Node>(JobShape{node, 3, 2}, MessageOptions{}));
    engines.push_back(&nodes.back()->engine);
    nodes.back()->engine.set_on_start([](CoreContext& here) {
      in_pools.cores.push_back(&here);
      if (here.core() != 0) return;
      here.finish([&] {
        for (int i = 0; i < 4'000; ++i) {
          ++in_pools.n_made;
          here.spawn_pooled(Counted{});
        }
      });
    });
  }
  SimHost host(network, {.n_cores = 2});
  host.run(engines);
  EXPECT_EQ(in_pools.cores.size(), 6U);
  EXPECT_EQ(in_pools.n_begun, 4'000);
  EXPECT_EQ(in_pools.n_nowhere_most, 0);
  EXPECT_GT(nodes[0]->engine.counters().n_given, 500U);
  EXPECT_GT(nodes[0]->engine.counters().n_stolen, 100U);
  std::size_t n_lent = 0;
  for (const CoreContext* core : in_pools.cores)
    n_lent += core->n_lent();
  EXPECT_EQ(n_lent, 0U);
}

// Two cores of a node, one of which has nothing to do when the other has two pooled tasks, and gets a
// task that waits for these before it has looked.
TEST(PooledTasks, ThatNobodyHasTakenAreRunBesideATaskThatWaitsForThemAndYields) {
  finish_test::n_counted = 0;
  std::vector<std::unique_ptr<Node>> nodes;
  simulate(
      1, 2, 1, {},
      [](CoreContext& here) {
        here.send<&finish_test::wait_for>(1, 4);
        for (int i = 0; i < 4; ++i)
          here.spawn_pooled(finish_test::CountAll{});
        finish_test::wait_until_all(here, 4);
      },
      nodes);
  EXPECT_EQ(finish_test::n_counted, 4U);
}

// How many of ten tasks have ended when an error leaves their scope.
std::uint64_t n_ended_before_error(CoreContext& here) {
  std::uint64_t n = 0;
  const auto count_later = [&] {
    here.yield();
    ++n;
  };
  const auto fail = [&] {
    for (int i = 0; i < 10; ++i)
      here.spawn(count_later);
    throw Error("no");
  };
  try {
    here.finish(fail);
  } catch (const Error&) {
    return n;
  }
  return 0;
}

TEST(Finish, WaitsBeforeItThrowsOn) {
  std::vector<std::unique_ptr<Node>> nodes;
  std::uint64_t n_seen = 0;
  simulate(
      1, 1, 1, {}, [&](CoreContext& here) { n_seen = n_ended_before_error(here); }, nodes);
  EXPECT_EQ(n_seen, 10U);
}

TEST(Messages, TakePayloadsOfAnySizeInTheirOrder) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 2; ++n_nodes) {
    std::vector<std::unique_ptr<Node>> nodes;
    std::uint64_t n_sent = 0;
    simulate(
        n_nodes, 2, 1, {},
        [&](CoreContext& here) {
          const auto last = static_cast<CoreId>(here.shape().n_cores_total() - 1);
          for (std::uint64_t n = 0; n < 5'000'000; n = 2 * n + 1) {
            Bytes payload(n);
            for (std::size_t i = 0; i < n; ++i)
              payload[i] = static_cast<std::byte>(n + i);
            n_sent += n;
            here.send<&finish_test::fill>(last, n, payload);
          }
        },
        nodes);
    const Tally& tally = nodes.back()->tallies.back();
    EXPECT_EQ(tally.n_done, n_sent);
    EXPECT_EQ(tally.n_missing, 0U);
  }
}

TEST(Messages, TakeAPayloadOfAGibibyte) {
  constexpr std::size_t kGibibyte = std::size_t{1} << 30;
  for (std::uint32_t n_nodes = 1; n_nodes <= 2; ++n_nodes) {
    std::vector<std::unique_ptr<Node>> nodes;
    simulate(
        n_nodes, 2 / n_nodes, 1, {},
        [&](CoreContext& here) {
          Bytes payload(kGibibyte);
          payload.front() = payload.back() = std::byte{7};
          here.finish([&] {
            here.send<&finish_test::look_at_ends>(1, payload);
            here.send<&finish_test::look_at_ends>(1, ByteView(payload).first(1));
          });
        },
        nodes);
    EXPECT_EQ(nodes.back()->tallies.back().n_done, kGibibyte + 1);
    EXPECT_EQ(nodes.back()->tallies.back().n_missing, 0U);
  }
}

// Far more blocks than the ring has entries, none of which may wait.
TEST(Messages, WhatIsPostedByWhatIsAppliedIsAlwaysTaken) {
  std::vector<std::unique_ptr<Node>> nodes;
  constexpr std::uint64_t kPosts = 20'000;
  simulate(
      1, 2, 1, {.block_bytes = 200, .window_blocks = 2},
      [&](CoreContext& here) { here.send<&finish_test::post_all>(0, kPosts); }, nodes);
  EXPECT_EQ(nodes[0]->tallies[1].n_missing, kPosts * (kPosts - 1) / 2);
  EXPECT_GT(nodes[0]->engine.counters().n_blocks, 10 * detail::BlockRing::kEntries);
}

TEST(BlockRing, RefusesWhatItHasNoRoomForUntilItIsReclaimed) {
  detail::BlockRing ring;
  for (std::size_t i = 0; i < detail::BlockRing::kEntries; ++i)
    EXPECT_TRUE(ring.try_push({nullptr, i, 0, nullptr, nullptr}));
  EXPECT_FALSE(ring.try_push({}));
  EXPECT_EQ(ring.front()->n_bytes, 0U);
  ring.pop();
  EXPECT_FALSE(ring.try_push({}));  // the entry is read, and not taken back
  std::size_t n_reclaimed = 0;
  ring.reclaim([&](const auto& entry) { n_reclaimed += entry.n_bytes + 1; });
  EXPECT_EQ(n_reclaimed, 1U);
  EXPECT_TRUE(ring.try_push({}));
}

TEST(PooledTasks, TenMillionOfThemWaitAndAllRun) {
  constexpr std::uint64_t kTasks = 10'000'000;
  std::vector<std::unique_ptr<Node>> nodes;
  simulate(
      1, 1, 1, {},
      [&](CoreContext& here) {
        here.finish([&] { here.send<&finish_test::spawn_all>(0, kTasks); });
      },
      nodes);
  EXPECT_EQ(nodes[0]->tallies[0].n_missing, kTasks);
  EXPECT_EQ(nodes[0]->tallies[0].n_done, kTasks);
}

// What a run says in which a task waits for a cell that nobody fills, and another one for that
// task.
std::string text_of_deadlock() {
  std::vector<std::unique_ptr<Node>> nodes;
  FullEmpty<int> never;
  const auto read_never = [&] { static_cast<void>(never.read_ff()); };
  try {
    simulate(
        2, 2, 1, {},
        [&](CoreContext& here) { here.finish([&] { here.spawn(read_never, {"reader"}); }); },
        nodes);
  } catch (const Error& error) {
    return error.what();
  }
  return "no deadlock";
}

TEST(Finish, AScopeThatCannotEndIsADeadlockWithTheNameOfWhoWaits) {
  const std::string text = text_of_deadlock();
  for (const char* const part : {"deadlock", "'reader'", "finish_test.cpp:",
                                 "for a cell to be full", "the end of a finish scope"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

// All stacks are those of tasks that wait for one that has none.
std::string text_without_stacks(StackClass of_class) {
  MessageOptions options;
  options.tasks.stacks.n_guarded_max = of_class == StackClass::guarded ? 3 : 100;
  options.tasks.stacks.n_small_max = 3;
  options.tasks.stacks.small_bytes = std::size_t{32} << 10;  // for sanitizers as well
  std::vector<std::unique_ptr<Node>> nodes;
  static std::array<FullEmpty<int>, 2> cells;  // whoever waits is left there
  FullEmpty<int>* const cell = &cells.at(static_cast<std::size_t>(of_class));
  std::string text = "no deadlock";
  try {
    simulate(
        1, 1, 1, options,
        [of_class, cell](CoreContext& here) {
          here.finish([&] {
            for (int i = 0; i < 5; ++i)
              here.spawn([cell] { static_cast<void>(cell->read_ff()); }, {"reader", of_class});
            here.spawn([cell] { cell->write_ef(1); }, {"writer", of_class});
          });
        },
        nodes);
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  return text;
}

TEST(Finish, TasksThatWaitForStacksAreToldInADeadlock) {
  for (const auto& [of_class, name] :
       {std::pair{StackClass::guarded, "guarded"}, std::pair{StackClass::small, "small"}}) {
    const std::string text = text_without_stacks(of_class);
    EXPECT_NE(text.find("tasks of core 0 cannot begin: all 3 " + std::string(name) +
                        " stacks are those of tasks that wait"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace rubato::core

// What the counters of cores say of runs in which it is known: buffers, bytes, reasons why buffers
// leave, switches, queues.

#include "rubato/core/message/counters.hpp"

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/core/message/message_engine.hpp"
#include "rubato/core/sim_host.hpp"

namespace rubato::core {
namespace counters_test {

void nothing(CoreContext& /*here*/) noexcept {}
void take(CoreContext& /*here*/, std::uint64_t /*number*/, std::uint32_t /*other*/,
          ByteView /*payload*/) noexcept {}
struct Word {
  std::uint64_t n;
  void apply(CoreContext& /*here*/) const noexcept {}
};

}  // namespace counters_test

namespace {

using Main = std::function<void(CoreContext&)>;
using Engines = std::vector<std::unique_ptr<MessageEngine>>;

constexpr std::uint64_t kPartHead = 16;  // of a block that goes to another node
constexpr std::uint64_t kRunHead = 24;
constexpr std::uint64_t kCall = 8;  // a call of nothing()

// The nodes after a run in virtual time in which each core begins with `main`.
Engines run_cores(const JobShape& shape, const Main& main, MessageOptions options = {}) {
  options.clock = nullptr;
  net::SimOptions network_options;
  network_options.n_nodes = shape.n_nodes;
  net::SimNetwork network(network_options);
  Engines nodes;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < shape.n_nodes; ++node) {
    nodes.push_back(
        std::make_unique<MessageEngine>(JobShape{node, shape.n_nodes, shape.n_cores}, options));
    nodes[node]->set_on_start(main);
    engines.push_back(nodes[node].get());
  }
  SimHost host(network, {.n_cores = shape.n_cores});
  host.run(engines);
  return nodes;
}

// So do all cores of node 0: a word for each core of node 1.
void send_to_all_of_node_1(CoreContext& here) {
  if (here.shape().node != 0) return;
  for (CoreId to = here.shape().n_cores; to < here.shape().n_cores_total(); ++to)
    here.send<&counters_test::nothing>(to);
}

TEST(Counters, RecordsForAllCoresOfANodeLeaveInOneBuffer) {
  const Engines nodes = run_cores({.n_nodes = 2, .n_cores = 3}, [](CoreContext& here) {
    if (here.core() == 0) send_to_all_of_node_1(here);
  });
  const CoreCounters sent = nodes[0]->counters();
  EXPECT_EQ(sent.n_posted, 3U);
  EXPECT_EQ(sent.n_runs, 3U);
  EXPECT_EQ(sent.n_blocks, 3U);
  EXPECT_EQ(sent.n_buffers, 1U);
  EXPECT_EQ(sent.n_bytes, 3 * (kPartHead + kRunHead + kCall));
  // One core of node 1 brings the three blocks to their cores, which nobody counts again.
  for (std::uint32_t core = 0; core < 3; ++core)
    EXPECT_EQ(nodes[1]->core(core).counters().n_applied, 1U) << core;
  const CoreCounters taken = nodes[1]->counters();
  EXPECT_EQ(taken.n_posted + taken.n_runs + taken.n_blocks + taken.n_buffers + taken.n_bytes, 0U);
}

TEST(Counters, EachCoreHasABufferOfItsOwnForANode) {
  const Engines nodes = run_cores({.n_nodes = 2, .n_cores = 3}, send_to_all_of_node_1);
  EXPECT_EQ(nodes[0]->counters().n_blocks, 9U);
  EXPECT_EQ(nodes[0]->counters().n_buffers, 3U);
  EXPECT_EQ(nodes[1]->counters().n_applied, 9U);
}

// Two runs, of calls and of payloads; and a payload with a block of its own.
void send_of_all_kinds(CoreContext& here) {
  if (here.core() != 0) return;
  for (int i = 0; i < 10; ++i)
    here.send<&counters_test::nothing>(1);
  for (const std::size_t n : {0U, 13U, 16U, 10'001U})
    here.send<&counters_test::take>(1, 7U, 8U, Bytes(n));
}

TEST(Counters, BytesAreThoseOfRecordsWithTheirHeads) {
  constexpr std::uint64_t kOfCalls = kRunHead + 10 * kCall;
  // Each has its size, and arguments of 12 bytes: rounded up, as the end of the payload is.
  constexpr std::uint64_t kOfPayloads = kRunHead + 3 * std::uint64_t{8 + 16} + 0 + 16 + 16;
  constexpr std::uint64_t kOfLarge = kRunHead + 8 + 16 + 10'001;
  const CoreCounters within = run_cores({.n_cores = 2}, send_of_all_kinds)[0]->counters();
  EXPECT_EQ(within.n_runs, 3U);
  EXPECT_EQ(within.n_blocks, 2U);
  EXPECT_EQ(within.n_bytes, kOfCalls + kOfPayloads + kOfLarge);
  EXPECT_EQ(within.n_buffers, 0U);
  // A block to another node ends at a multiple of 8.
  const CoreCounters between = run_cores({.n_nodes = 2}, send_of_all_kinds)[0]->counters();
  EXPECT_EQ(between.n_runs, 3U);
  EXPECT_EQ(between.n_blocks, 2U);
  EXPECT_EQ(between.n_bytes, kOfCalls + kOfPayloads + kOfLarge + 7 + 2 * kPartHead);
  EXPECT_EQ(between.n_buffers, 1U);
}

// What has gathered, and a payload that has no room beside it.
TEST(Counters, ABufferThatAPayloadHasNoRoomInIsAFullOneAndSoIsThatOfThePayload) {
  const Engines nodes = run_cores({.n_nodes = 2}, [](CoreContext& here) {
    if (here.core() != 0) return;
    here.send<&counters_test::nothing>(1);
    here.send<&counters_test::take>(1, 7U, 8U, Bytes(100'000));
  });
  const CoreCounters counters = nodes[0]->counters();
  EXPECT_EQ(counters.n_buffers, 2U);
  EXPECT_EQ(counters.n_full_buffers, 2U);
  EXPECT_EQ(counters.n_full_blocks, 0U);
  EXPECT_EQ(counters.n_hurried_buffers + counters.n_late_buffers, 0U);
}

// As many calls as a block between cores of a node has room for, and one more.
TEST(Counters, ABlockIsAFullOneWhenAnotherRecordHasNoRoomInIt) {
  MessageOptions options;
  options.block_bytes = 1'024;
  const std::uint64_t n_in_block = (options.block_bytes - kRunHead) / kCall;
  for (const std::uint64_t n_more : {0U, 1U}) {
    const Engines nodes = run_cores(
        {.n_cores = 2},
        [&](CoreContext& here) {
          for (std::uint64_t i = 0; here.core() == 0 && i < n_in_block + n_more; ++i)
            here.send<&counters_test::nothing>(1);
        },
        options);
    EXPECT_EQ(nodes[0]->counters().n_full_blocks, n_more);
    EXPECT_EQ(nodes[0]->counters().n_blocks, 1 + n_more);
  }
}

// The first of four cores hands it on to the others before it does anything else.
TEST(Counters, BuffersOfWhatIsHandedOnAtOnceAreHurriedOnes) {
  const Engines nodes = run_cores({.n_nodes = 4}, [](CoreContext& here) {
    if (here.core() == 0) here.multicast(0, 4, counters_test::Word{1});
  });
  const CoreCounters first = nodes[0]->counters();
  EXPECT_EQ(first.n_buffers, 3U);
  EXPECT_EQ(first.n_hurried_buffers, 3U);
  EXPECT_EQ(first.n_full_buffers + first.n_late_buffers, 0U);
  for (NodeId node = 1; node < 4; ++node)
    EXPECT_EQ(nodes[node]->counters().n_applied, 1U) << node;
}

// Two tasks with ten yields each, and the one that has spawned them.
TEST(Counters, SwitchesAreYieldsAndEndsOfTasks) {
  const Engines nodes = run_cores({.n_cores = 2}, [](CoreContext& here) {
    for (int i = 0; here.core() == 0 && i < 2; ++i) {
      here.spawn([] {
        for (int k = 0; k < 10; ++k)
          Scheduler::current().yield();
      });
    }
  });
  const CoreCounters first = nodes[0]->core(0).counters();
  EXPECT_EQ(first.n_tasks, 3U);
  EXPECT_EQ(first.n_switches, 3U + 2 * 10);
  const CoreCounters second = nodes[0]->core(1).counters();
  EXPECT_EQ(second.n_tasks, 1U);
  EXPECT_EQ(second.n_switches, 1U);
  EXPECT_EQ(nodes[0]->counters().n_switches, first.n_switches + second.n_switches);
}

// 50 tasks of core 0 and 20 of core 1 wait for a cell of their core, and who has spawned them for
// their end.
TEST(Counters, TheLongestQueueOfTasksThatWaitIsThatOfOneCore) {
  FullEmpty<int> cells[2];
  const Engines nodes = run_cores({.n_cores = 2}, [&cells](CoreContext& here) {
    FullEmpty<int>& cell = cells[here.core()];
    here.spawn_after(kMillisecond, [&cell] { cell.write_ef(1); });
    here.finish([&] {
      for (int i = 0; i < (here.core() == 0 ? 50 : 20); ++i)
        here.spawn([&cell] { static_cast<void>(cell.read_ff()); });
    });
  });
  EXPECT_EQ(nodes[0]->core(0).counters().n_waiting_max, 51U);
  EXPECT_EQ(nodes[0]->core(1).counters().n_waiting_max, 21U);
  EXPECT_EQ(nodes[0]->counters().n_waiting_max, 51U);
}

// Those that the first slice has begun have not waited for it.
TEST(Counters, FewTasksBeginInTheSliceThatHasSpawnedThem) {
  const auto n_queued = [](int n_tasks) {
    const Engines nodes = run_cores({}, [n_tasks](CoreContext& here) {
      here.finish([&] {
        for (int i = 0; i < n_tasks; ++i)
          here.spawn([] {});
      });
    });
    return nodes[0]->counters().n_queued_max;
  };
  EXPECT_EQ(n_queued(4), 0U);
  EXPECT_GT(n_queued(50), 0U);
  EXPECT_LT(n_queued(50), 50U);
}

// Tasks are spawned where the slice ends at once.
TEST(Counters, TheLongestQueueOfTasksThatHaveNotBegunIsThatOfOneCore) {
  const Engines nodes = run_cores({.n_cores = 2}, [](CoreContext& here) {
    for (int i = 0; i < (here.core() == 0 ? 50 : 20); ++i)
      here.spawn([] {});
    here.charge(kSecond);
    here.yield();
  });
  EXPECT_EQ(nodes[0]->core(0).counters().n_queued_max, 50U);
  EXPECT_EQ(nodes[0]->core(1).counters().n_queued_max, 20U);
  EXPECT_EQ(nodes[0]->counters().n_queued_max, 50U);
  EXPECT_EQ(nodes[0]->counters().n_waiting_max, 0U);
}

}  // namespace
}  // namespace rubato::core

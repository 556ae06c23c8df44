#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/core/message/message_engine.hpp"
#include "rubato/core/sim_host.hpp"

namespace rubato::core {
namespace room_test {

// What both nodes of a simulated job have seen.
struct Seen {
  std::uint64_t n_applied = 0;
  std::uint64_t n_run = 0;
  bool has_posted = false;
  Nanos called = 0;
  Nanos fired = 0;
};

void count(CoreContext& here, std::uint64_t /*number*/) {
  ++here.local<Seen>().n_applied;
}

struct Count {
  void run(CoreContext& here) const { ++here.local<Seen>().n_run; }
};

// After an idle time it is the clock of the message that counts, and not that of the last turn.
void call_later(CoreContext& here) {
  auto& seen = here.local<Seen>();
  seen.called = here.clock();
  here.spawn_after(kSecond, [&here, &seen] { seen.fired = here.clock(); });
}

}  // namespace room_test

namespace {

using room_test::Seen;

// Two nodes with a core each, the first of which begins with `main`.
template <class Main>
void run_two(const MessageOptions& options, Seen& seen, Main main) {
  net::SimOptions network_options;
  network_options.n_nodes = 2;
  net::SimNetwork network(network_options);
  std::vector<std::unique_ptr<MessageEngine>> owned;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < 2; ++node) {
    owned.push_back(std::make_unique<MessageEngine>(JobShape{node, 2, 1}, options));
    owned[node]->core(0).set_local(seen);
    engines.push_back(owned[node].get());
  }
  owned[0]->set_on_start(main);
  SimHost host(network, {});
  host.run(engines);
}

// Pooled tasks wait while a task waits for room; another one lets the driver run meanwhile, so that
// at each distance from the end of its 64 turns something else comes first once.
TEST(Room, PooledTasksBeginWhenNobodyWaitsForItAnyMore) {
  MessageOptions options;
  options.block_bytes = options.buffer_bytes = options.window_bytes = 200;
  options.clock = nullptr;
  for (std::uint64_t n_before = 0; n_before < 64; ++n_before) {
    Seen seen;
    ASSERT_NO_THROW(run_two(options, seen, [&seen, n_before](CoreContext& here) {
      for (std::uint64_t i = 0; i < n_before; ++i)
        here.tasks().yield();
      here.finish([&] {
        here.spawn([&here, &seen] {
          for (std::uint64_t i = 0; i < 60; ++i)
            here.send<&room_test::count>(1, i);
          seen.has_posted = true;
        });
        here.spawn([&here, &seen] {
          here.spawn_pooled(room_test::Count{});
          while (!seen.has_posted)
            here.yield();
        });
      });
    })) << n_before;
    EXPECT_EQ(seen.n_applied, 60U) << n_before;
    EXPECT_EQ(seen.n_run, 1U) << n_before;
  }
}

TEST(Room, PooledTasksOfNoScopeAreNotLost) {
  MessageOptions options;
  options.block_bytes = options.buffer_bytes = options.window_bytes = 200;
  options.clock = nullptr;
  for (std::uint64_t n_before = 0; n_before < 64; ++n_before) {
    Seen seen;
    run_two(options, seen, [&seen, n_before](CoreContext& here) {
      for (std::uint64_t i = 0; i < n_before; ++i)
        here.tasks().yield();
      here.spawn([&here, &seen] {
        for (std::uint64_t i = 0; i < 60; ++i)
          here.send<&room_test::count>(1, i);
        seen.has_posted = true;
      });
      here.spawn([&here, &seen] {
        here.spawn_pooled(room_test::Count{});
        while (!seen.has_posted)
          here.yield();
      });
    });
    EXPECT_EQ(seen.n_run, 1U) << n_before;
  }
}

TEST(Messages, ATimeCountsFromTheMessageThatAskedForItThoughTheCoreWasIdle) {
  MessageOptions options;
  options.clock = nullptr;
  Seen seen;
  run_two(options, seen, [](CoreContext& here) {
    here.spawn_after(10 * kSecond, [&here] { here.send<&room_test::call_later>(1); });
  });
  EXPECT_GE(seen.called, 10 * kSecond);
  EXPECT_GE(seen.fired - seen.called, kSecond);
  EXPECT_LT(seen.fired - seen.called, kSecond + 10 * kMillisecond);
}

}  // namespace
}  // namespace rubato::core

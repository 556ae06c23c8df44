#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
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
  std::uint64_t n_to_stop = 1;
};

// Asks the other core, and goes on when it has answered; until somebody says stop.
struct Asker {
  CoreContext& here;
  Seen& seen;
  bool rests;  // before it asks again
  FullEmpty<bool> answer;

  Asker(CoreContext& h, Seen& s, bool r = true) : here(h), seen(s), rests(r) {}
  void run();
};
void answer(CoreContext& /*here*/, std::uint64_t asker) {
  reinterpret_cast<Asker*>(asker)->answer.write_xf(true);
}
void ask(CoreContext& here, std::uint64_t asker) {
  here.send<&answer>(here.source(), asker);
}
void Asker::run() {
  while (seen.n_to_stop > 0) {
    // Both nodes are of this process.
    here.send<&ask>(1 - here.core(), reinterpret_cast<std::uintptr_t>(this));
    static_cast<void>(answer.read_fe());
    if (!rests) continue;
    here.charge(100 * kMicrosecond);
    here.yield();
  }
}
void stop(CoreContext& here) {
  --here.local<Seen>().n_to_stop;
}
struct Tell {
  std::uint64_t what = 0;
  void apply(CoreContext& here) const { ++here.local<Seen>().n_applied; }
};
struct Stop {
  void run(CoreContext& here) const { stop(here); }
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

using Main = std::function<void(CoreContext&)>;

struct Run {
  std::uint32_t n_nodes = 2;
  Nanos time_max = kSecond / 2;  // virtual: what others keep out would never end
  std::uint32_t n_cores = 2;     // in all
};

// Of one record, to each core and node.
MessageOptions room_for_one() {
  MessageOptions options;
  options.block_bytes = options.buffer_bytes = options.window_bytes = 1;
  options.window_blocks = 1;
  options.clock = nullptr;
  return options;
}

// Cores of some nodes or of one, the first of which begins with `main` and the others with `second`.
void run_cores(const MessageOptions& options, Seen& seen, const Main& main, const Main& second = {},
               const Run& run = {}) {
  const std::uint32_t n_cores = run.n_cores / run.n_nodes;  // of each
  net::SimOptions network_options;
  network_options.n_nodes = run.n_nodes;
  net::SimNetwork network(network_options);
  std::vector<std::unique_ptr<MessageEngine>> owned;
  std::vector<Engine*> engines;
  for (NodeId node = 0; node < run.n_nodes; ++node) {
    owned.push_back(std::make_unique<MessageEngine>(JobShape{node, run.n_nodes, n_cores}, options));
    for (std::uint32_t core = 0; core < n_cores; ++core)
      owned[node]->core(core).set_local(seen);
    owned[node]->set_on_start([&](CoreContext& here) {
      if (const Main& mine = here.core() == 0 ? main : second) mine(here);
    });
    engines.push_back(owned[node].get());
  }
  SimHost host(network, {.n_cores = n_cores, .time_max = run.time_max});
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
    ASSERT_NO_THROW(run_cores(options, seen, [&seen, n_before](CoreContext& here) {
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
    run_cores(options, seen, [&seen, n_before](CoreContext& here) {
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

// Room for one message, which others want again as soon as they have had it.
TEST(Room, ATaskThatWaitsForItIsNotOvertakenWithoutEnd) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 2; ++n_nodes) {
    for (std::uint64_t n_posters = 1; n_posters < 4; ++n_posters) {
      for (std::uint64_t n_askers = 1; n_askers < 7; ++n_askers) {
        SCOPED_TRACE(std::to_string(n_nodes) + " nodes, " + std::to_string(n_posters) + " of " +
                     std::to_string(n_askers));
        Seen seen;
        seen.n_to_stop = n_posters;
        const auto main = [&seen, n_posters, n_askers](CoreContext& here) {
          std::deque<room_test::Asker> askers;
          for (std::uint64_t i = 0; i < n_askers; ++i)
            askers.emplace_back(here, seen);
          here.finish([&] {
            for (auto& asker : askers)
              here.spawn([&asker] { asker.run(); });
            here.tasks().wait_until(kMillisecond);
            for (std::uint64_t i = 0; i < n_posters; ++i)
              here.spawn([&here] { here.send<&room_test::stop>(1); });
          });
        };
        EXPECT_NO_THROW(run_cores(room_for_one(), seen, main, {}, {.n_nodes = n_nodes}));
      }
    }
  }
}

// The other core asks again as soon as it is answered, so that there is an answer on its way whenever
// a task looks.
TEST(Room, AnswersWithoutEndDoNotKeepATaskOut) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 2; ++n_nodes) {
    for (std::uint64_t n_askers = 1; n_askers < 4; ++n_askers) {
      Seen seen;
      const auto ask_on = [&seen, n_askers](CoreContext& here) {
        std::deque<room_test::Asker> askers;
        for (std::uint64_t i = 0; i < n_askers; ++i)
          askers.emplace_back(here, seen, false);
        here.finish([&] {
          for (auto& asker : askers)
            here.spawn([&asker] { asker.run(); });
        });
      };
      const auto main = [](CoreContext& here) {
        here.tasks().wait_until(100 * kMicrosecond);
        for (std::uint64_t i = 0; i < 20; ++i)
          here.send<&room_test::count>(1, i);
        here.send<&room_test::stop>(1);
      };
      EXPECT_NO_THROW(run_cores(room_for_one(), seen, main, ask_on, {n_nodes, 20 * kMillisecond}))
          << n_nodes << " nodes, " << n_askers;
      EXPECT_EQ(seen.n_applied, 20U);
    }
  }
}

// There is always somebody who waits for room, and what would stop them is a pooled task.
TEST(Room, ThoseWhoAlwaysWaitForItDoNotKeepPooledTasksOut) {
  for (std::uint64_t n_askers = 1; n_askers < 6; ++n_askers) {
    Seen seen;
    ASSERT_NO_THROW(run_cores(room_for_one(), seen, [&seen, n_askers](CoreContext& here) {
      std::deque<room_test::Asker> askers;
      for (std::uint64_t i = 0; i < n_askers; ++i)
        askers.emplace_back(here, seen);
      here.finish([&] {
        for (auto& asker : askers)
          here.spawn([&asker] { asker.run(); });
        here.tasks().wait_until(kMillisecond);
        here.spawn_pooled(room_test::Stop{});
      });
    })) << n_askers;
  }
}

// The other cores tell all of something without end, which this one hands on at once.
TEST(Messages, WhatIsHandedOnAtOnceDoesNotKeepTasksOut) {
  MessageOptions options;
  options.clock = nullptr;
  for (const auto& [n_nodes, n_cores] :
       {std::pair{1U, 2U}, std::pair{2U, 2U}, std::pair{2U, 4U}, std::pair{2U, 6U}}) {
    Seen seen;
    const auto main = [&seen](CoreContext& here) {
      for (int i = 0; i < 20; ++i)
        here.yield();
      seen.n_to_stop = 0;
    };
    const auto tell = [&seen, n_cores = n_cores](CoreContext& here) {
      while (seen.n_to_stop > 0)
        here.multicast(0, n_cores, room_test::Tell{});
    };
    EXPECT_NO_THROW(run_cores(options, seen, main, tell, {n_nodes, 100 * kMillisecond, n_cores}))
        << n_nodes << " nodes, " << n_cores;
  }
}

TEST(Messages, ATimeCountsFromTheMessageThatAskedForItThoughTheCoreWasIdle) {
  MessageOptions options;
  options.clock = nullptr;
  Seen seen;
  const auto main = [](CoreContext& here) {
    here.spawn_after(10 * kSecond, [&here] { here.send<&room_test::call_later>(1); });
  };
  run_cores(options, seen, main, {}, {.time_max = 20 * kSecond});
  EXPECT_GE(seen.called, 10 * kSecond);
  EXPECT_GE(seen.fired - seen.called, kSecond);
  EXPECT_LT(seen.fired - seen.called, kSecond + 10 * kMillisecond);
}

}  // namespace
}  // namespace rubato::core

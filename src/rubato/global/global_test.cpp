#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/object.hpp"
#include "rubato/global/reduce.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

constexpr std::uint64_t kWords = 500;  // of the table that coroutines walk through

// Increments of random elements, then each element is compared with a loop over the same numbers.
std::uint64_t n_wrong_after_updates(std::uint64_t n_words, std::uint64_t n_updates,
                                    std::uint64_t block) {
  const auto table = GlobalArray<std::uint64_t>::make(n_words, block);
  forall(0, n_updates, [=](std::uint64_t i) {
    async_call(table[hash_words(i) % n_words], [](std::uint64_t& x) { ++x; });
  });
  std::vector<std::uint64_t> expected(n_words, 0);
  for (std::uint64_t i = 0; i < n_updates; ++i)
    ++expected[hash_words(i) % n_words];
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < n_words; ++i) {
    if (read(table[i]) != expected[i]) ++n_wrong;
  }
  table.free();
  return n_wrong;
}

TEST(Global, UpdatesInALoopAreAllThereAfterIt) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t n_wrong = 1;
    simulate_seed(1 + static_cast<std::uint32_t>(seed % 4),
                  1 + static_cast<std::uint32_t>(seed % 3), seed,
                  [&, seed] { n_wrong = n_wrong_after_updates(100 + seed, 3'000, seed % 5); },
                  {.block_bytes = 300, .buffer_bytes = 400, .window_bytes = 2'000});
    EXPECT_EQ(n_wrong, 0U);
  }
}

TEST(Global, UpdatesInALoopAreAllThereAfterItOnRealCores) {
  for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores) {
    std::uint64_t n_wrong = 1;
    run_here(n_cores, [&] { n_wrong = n_wrong_after_updates(1'000, 200'000, 4); });
    EXPECT_EQ(n_wrong, 0U);
  }
}

// Writes the number of each element at its owner, and reads it from core 0.
std::uint64_t n_wrong_elements(std::uint64_t n, std::uint64_t block) {
  const auto array = GlobalArray<std::uint64_t>::make(n, block);
  forall(array, [](std::uint64_t i, std::uint64_t& x) { x += i + 1; });
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < n; ++i)
    n_wrong += read(array[i]) == i + 1 ? 0 : 1;
  return n_wrong;
}

TEST(Global, EachElementOfAnArrayHasOnePlaceAndOneOwner) {
  for (const std::uint64_t n : {1ULL, 7ULL, 64ULL, 1'000ULL}) {
    for (const std::uint64_t block : {0ULL, 1ULL, 3ULL, 8ULL}) {
      std::uint64_t n_wrong = 1;
      simulate_seed(3, 2, n + block, [&] { n_wrong = n_wrong_elements(n, block); });
      EXPECT_EQ(n_wrong, 0U) << n << " elements, blocks of " << block;
    }
  }
}

TEST(Global, DelegatesOnOneWordAreSerialised) {
  std::uint64_t total = 0;
  std::uint64_t n_locked = 0;
  simulate_seed(3, 2, 7, [&] {
    const auto word = GlobalArray<std::uint64_t>::make(2);
    forall(0, 300, [=](std::uint64_t) { fetch_add(word[1], std::uint64_t{1}); });
    total = read(word[1]);
    // A lock by compare-and-exchange, and a counter that is read and written apart.
    forall(0, 60, [=](std::uint64_t) {
      while (!compare_exchange(word[0], std::uint64_t{0}, std::uint64_t{1}))
        CoreContext::here().yield();
      write(word[1], read(word[1]) + 1);
      write(word[0], std::uint64_t{0});
    });
    n_locked = read(word[1]);
  });
  EXPECT_EQ(total, 300U);
  EXPECT_EQ(n_locked, 360U);
}

TEST(Global, FetchedValuesComeBackToTheCoreThatAskedBeforeTheScopeEnds) {
  std::uint64_t n_right = 0;
  simulate_seed(2, 2, 3, [&] {
    const auto array = GlobalArray<std::uint64_t>::make(1'000);
    forall(array, [](std::uint64_t i, std::uint64_t& x) { x = 3 * i; });
    std::uint64_t sum = 0;
    finish([&] {
      for (std::uint64_t i = 0; i < 1'000; ++i)
        fetch(array[i], [&sum](std::uint64_t value) { sum += value; });
    });
    n_right += sum == 3 * 999 * 1'000 / 2 ? 1 : 0;
    bool found = false;
    finish([&] {
      fetch_call(
          array[5], [](std::uint64_t& x) { return ++x; },
          [&found](std::uint64_t value) { found = value == 16; });
    });
    n_right += found ? 1 : 0;
  });
  EXPECT_EQ(n_right, 2U);
}

TEST(Global, ALocalObjectOfATaskIsReachedThroughItsAddress) {
  std::vector<std::uint64_t> seen;
  simulate_seed(2, 2, 4, [&] {
    std::uint64_t counter = 0;
    const GlobalPtr<std::uint64_t> p = make_global(counter);
    on_all_cores([p] { fetch_add(p, std::uint64_t{this_core() + 1}); });
    seen.push_back(counter);
    EXPECT_TRUE(p.is_local());
  });
  EXPECT_EQ(seen, std::vector<std::uint64_t>{1 + 2 + 3 + 4});
}

TEST(Global, BodiesThatWaitRunSideBySide) {
  // One after the other, 400 reads of 100 us there and back would take 40 ms and more.
  const auto run = simulate([] {
    const auto array = GlobalArray<std::uint64_t>::make(64);
    forall(0, 400, [=](std::uint64_t i) { static_cast<void>(read(array[i % 64])); });
  });
  EXPECT_LT(run.wall, 5 * kMillisecond);
}

#if !defined(__SANITIZE_THREAD__)  // which has areas of its own for each stack
// A core has 20,000 iterations, in tasks of 312: one after the other, their reads would take 82 ms.
TEST(Global, ThousandsOfBodiesOfALoopWaitSideBySide) {
  constexpr std::uint64_t kReads = 40'000;
  const auto time_of = [](bool is_at_the_owner) {
    return simulate([is_at_the_owner] {
             const auto array = GlobalArray<std::uint64_t>::make(kReads);
             const auto read_far = [array](std::uint64_t i) {
               static_cast<void>(read(array[i ^ 1]));  // of the other core, if i is of this one
             };
             if (is_at_the_owner) {
               forall(array, [=](std::uint64_t i, std::uint64_t& /*x*/) { read_far(i); });
             } else {
               forall(0, kReads, read_far);
             }
           })
        .wall;
  };
  EXPECT_LT(time_of(false), 8 * kMillisecond);
  EXPECT_LT(time_of(true), 8 * kMillisecond);
  // Of one core alone: 63 times a millisecond, one after the other, but for this.
  const auto sleeping = [] { forall(0, 4'000, [](std::uint64_t) { sleep_for(kMillisecond); }); };
  EXPECT_LT(simulate(sleeping, {.n_nodes = 1}).wall, 10 * kMillisecond);
}
#endif

// A walk through a table: each word says where to go on.
Coroutine walk(GlobalArray<std::uint64_t> table, std::uint64_t at, std::uint32_t n_steps,
               GlobalPtr<std::uint64_t> sum) {
  for (std::uint32_t i = 0; i < n_steps; ++i)
    at = co_await awaited_read(table[at]);
  co_await awaited_call(sum, [at](std::uint64_t& s) { s += at; });
}

TEST(Global, CoroutinesWalkAndEndBeforeTheirScopeDoes) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    std::uint64_t found = 0;
    simulate_seed(1 + static_cast<std::uint32_t>(seed % 3), 2, seed, [&] {
      const auto table = GlobalArray<std::uint64_t>::make(kWords, 4);
      const auto sum = GlobalArray<std::uint64_t>::make(1);
      forall(table, [](std::uint64_t i, std::uint64_t& x) { x = hash_words(i) % kWords; });
      on_all_cores([=] {
        for (std::uint64_t i = 0; i < 100; ++i)
          start(walk(table, (i * 7 + this_core()) % kWords, 20, sum[0]));
      });
      found = read(sum[0]);
    });
    std::uint64_t expected = 0;
    for (CoreId core = 0; core < 2 * (1 + seed % 3); ++core) {
      for (std::uint64_t i = 0; i < 100; ++i) {
        std::uint64_t at = (i * 7 + core) % kWords;
        for (int step = 0; step < 20; ++step)
          at = hash_words(at) % kWords;
        expected += at;
      }
    }
    EXPECT_EQ(found, expected);
  }
}

// Each counts twice within a delegate, and posts in between, which waits for nobody there.
std::uint64_t n_odd_counts() {
  const auto words = GlobalArray<std::uint64_t>::make(4);
  forall(0, 2'000, [=](std::uint64_t) {
    const std::uint64_t seen = call(words[this_core()], [words](std::uint64_t& x) {
      const std::uint64_t before = x++;
      async_call(words[2 + (this_core() + 1) % 2], [](std::uint64_t& y) { ++y; });
      ++x;
      return before;
    });
    if (seen % 2 != 0) async_call(words[2], [](std::uint64_t& y) { y += 1'000'000; });
  });
  return (read(words[2]) + read(words[3])) / 1'000'000;
}

TEST(Global, DelegatesInPlaceAreAtomicThoughTheyPost) {
  std::uint64_t n_odd = 1;
  simulate_seed(2, 1, 1, [&] { n_odd = n_odd_counts(); },
                {.block_bytes = 100, .window_blocks = 1, .buffer_bytes = 100, .window_bytes = 200});
  EXPECT_EQ(n_odd, 0U);
}

// A list through all cores, whose nodes own what is not plain.
struct ListNode {
  ListNode(std::uint64_t id, GlobalPtr<ListNode> behind) : name(std::to_string(id)), next(behind) {}
  std::string name;
  GlobalPtr<ListNode> next;
};

std::uint64_t n_wrong_in_list(std::uint64_t n) {
  GlobalPtr<ListNode> first;
  for (std::uint64_t i = 0; i < n; ++i)
    first = create<ListNode>(static_cast<CoreId>(i % n_cores()), i, first);
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = n; i-- > 0;) {
    n_wrong += call(first, [i](ListNode& node) { return node.name == std::to_string(i); }) ? 0 : 1;
    const auto next = call(first, [](ListNode& node) { return node.next; });
    i % 2 == 0 ? destroy(first) : async_destroy(first);
    first = next;
  }
  return n_wrong + (first ? 1 : 0);
}

TEST(Global, ObjectsLieOnTheHeapOfACore) {
  std::uint64_t n_wrong = 1;
  simulate_seed(3, 2, 4, [&] { n_wrong = n_wrong_in_list(40); });
  EXPECT_EQ(n_wrong, 0U);
}

// Adds ten to the word of the core that it is on.
struct Noted {
  GlobalArray<std::uint64_t> words;
  void apply(CoreContext& here) const { words[here.core()].local() += 10; }
};

// Adds what its payload says.
struct NotedBytes {
  GlobalArray<std::uint64_t> words;
  void apply(CoreContext& here, ByteView bytes) const {
    for (const std::byte byte : bytes)
      words[here.core()].local() += std::to_integer<std::uint64_t>(byte);
  }
};

// Each core is told by multicasts, gets a task of its own from afar, and tasks go wherever one can.
std::uint64_t n_wrong_placements() {
  const auto seen = GlobalArray<std::uint64_t>::make(n_cores());
  const auto anywhere = GlobalArray<std::uint64_t>::make(1);
  const auto note = [](GlobalPtr<std::uint64_t> p, std::uint64_t n) {
    async_call(p, [n](std::uint64_t& x) { x += n; });
  };
  finish([&] {
    for (CoreId core = 0; core < n_cores(); ++core) {
      spawn_on(core, [=] { note(seen[core], this_core() == core ? 1 : 1'000); });
      CoreContext::here().multicast(core, n_cores(), Noted{seen});
      const Bytes hundreds(core % 3, std::byte{100});
      CoreContext::here().multicast(core, n_cores(), NotedBytes{seen}, hundreds);
    }
    for (std::uint64_t i = 0; i < 100; ++i)
      spawn_anywhere([=] { note(anywhere[0], i); });
  });
  std::uint64_t n_wrong = read(anywhere[0]) == 4'950 ? 0 : 1;
  std::uint64_t n_hundreds = 0;
  for (CoreId core = 0; core < n_cores(); ++core) {
    n_hundreds += core % 3;
    n_wrong += read(seen[core]) == 1 + 10 * (core + 1) + 100 * n_hundreds ? 0 : 1;
  }
  return n_wrong;
}

TEST(Global, TasksAndRecordsGoToTheCoresThatAreNamed) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 5; ++n_nodes) {
    std::uint64_t n_wrong = 1;
    simulate_seed(n_nodes, 3, n_nodes, [&] { n_wrong = n_wrong_placements(); });
    EXPECT_EQ(n_wrong, 0U) << n_nodes << " nodes";
  }
}

// Works that only end when a task of the same core has gone on, for longer than it takes to suspect
// a deadlock.
std::uint64_t n_wrong_native_works() {
  constexpr std::size_t kWorks = 6;
  std::array<std::promise<std::uint64_t>, kWorks> told;
  std::array<std::uint64_t, kWorks> found{};
  const auto listen = [&](std::size_t i) {
    found[i] = CoreContext::here().run_native([&] { return told[i].get_future().get() * 2; });
  };
  const auto tell = [&] {
    CoreContext::here().run_native([] {
      std::promise<void> never;
      never.get_future().wait_for(std::chrono::milliseconds(150));
    });
    for (std::size_t i = 0; i < kWorks; ++i)
      told[i].set_value(i);
  };
  finish([&] {
    for (std::size_t i = 0; i < kWorks; ++i)
      spawn([&, i] { listen(i); });
    spawn(tell);
  });
  std::uint64_t n_wrong = 0;
  for (std::size_t i = 0; i < kWorks; ++i)
    n_wrong += found[i] == 2 * i ? 0 : 1;
  return n_wrong;
}

bool sees_what_native_work_throws() {
  try {
    CoreContext::here().run_native([] { throw Error("from a thread", ExitCode::failed); });
    return false;
  } catch (const Error& error) {
    return std::string(error.what()) == "from a thread";
  }
}

TEST(Global, NativeWorkRunsBesideTheCores) {
  std::uint64_t n_wrong = 1;
  bool sees = false;
  run_here(
      1,
      [&] {
        n_wrong = n_wrong_native_works();
        sees = sees_what_native_work_throws();
      },
      8);
  EXPECT_EQ(n_wrong, 0U);
  EXPECT_TRUE(sees);
  std::uint64_t in_simulation = 0;
  simulate([&] { in_simulation = CoreContext::here().run_native([] { return 7; }); });
  EXPECT_EQ(in_simulation, 7U);
}

TEST(Global, ATaskThatKeepsItsCoreIsSaidToBeBusyByItsName) {
  std::string said;
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = 1;
  options.owns_process = false;
  options.busy_after = 50 * kMillisecond;
  options.report = [&](const std::string& line) { said += line + "\n"; };
  core::NodeHost host(fabric, options);
  run(host, {.bytes_a_core = kTestBytesACore}, [] {
    finish([] {
      spawn(
          [] {
            std::promise<void> never;
            never.get_future().wait_for(std::chrono::milliseconds(200));
          },
          {"a long step"});
    });
  });
  EXPECT_NE(said.find("is busy with task 'a long step' spawned at"), std::string::npos) << said;
  EXPECT_NE(said.find("global_test.cpp:"), std::string::npos) << said;
  EXPECT_EQ(said.find("deadlock"), std::string::npos) << said;
}

TEST(Global, AFailureEndsTheRunThoughNativeWorkGoesOn) {
  const auto fail = [] {
    spawn([] {
      CoreContext::here().run_native([] {
        std::promise<void> never;
        never.get_future().wait_for(std::chrono::milliseconds(100));
      });
    });
    CoreContext::here().yield();
    throw Error("the main task", ExitCode::failed);
  };
  EXPECT_THROW(run_here(2, fail), Error);
}

TEST(Global, SymmetricSpaceIsGivenBackAndIsZeroAgain) {
  std::uint64_t n_wrong = 0;
  run_here(2, [&] {
    for (int round = 0; round < 20; ++round) {
      const auto a = GlobalArray<std::uint64_t>::make(1'000'000);
      const auto b = GlobalArray<std::uint64_t>::make(10);
      for (const std::uint64_t i : {0ULL, 1ULL, 500'000ULL, 999'999ULL})
        n_wrong += read(a[i]) == 0 ? 0 : 1;
      forall(a, [](std::uint64_t& x) { x = 1; });
      a.free();
      b.free();
    }
  });
  EXPECT_EQ(n_wrong, 0U);
}

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
TEST(GlobalDeathTest, ADelegateThatCapturesAnAddressIsToldWithItsPlace) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               std::uint64_t local = 0;
                               call(array[1], [to = &local](std::uint64_t& x) { *to = x; });
                             }),
               "captures an address.*ADelegateThatCapturesAnAddress");
}

TEST(GlobalDeathTest, ADelegateMustNotWait) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               finish([&] {
                                 async_call(array[1],
                                            [array](std::uint64_t& x) { x = read(array[0]); });
                               });
                             }),
               "must not wait.*ADelegateMustNotWait.* at .*global_test.cpp:[0-9]+, 1");
}

TEST(GlobalDeathTest, AnUpsertThatCapturesAnAddressIsTold) {
  EXPECT_DEATH(simulate_seed(2, 1, 1,
                             [] {
                               const auto map = GlobalHashMap<int, int>::make();
                               int local = 0;
                               finish([&] {
                                 map.async_upsert(1, 1, [to = &local](int&, int v) { *to = v; });
                               });
                             }),
               "captures an address.*AnUpsertThatCaptures");
}

TEST(GlobalDeathTest, MemoryThatIsFreedTwiceIsTold) {
  EXPECT_DEATH(simulate_seed(1, 1, 1,
                             [] {
                               const auto array = GlobalArray<std::uint64_t>::make(2);
                               array.free();
                               array.free();
                             }),
               "was it freed before");
}

TEST(GlobalDeathTest, APointerToNothingIsTold) {
  EXPECT_DEATH(simulate_seed(1, 1, 1, [] { static_cast<void>(read(GlobalPtr<int>{})); }),
               "points to nothing");
}
#endif

// Which one it was, and where, whatever it throws.
TEST(Global, AThrowOfADelegateOnAnotherCoreIsToldWithItsNameAndCore) {
  struct Other {};
  const auto told = [](int kind) {
    try {
      simulate_seed(2, 1, 1, [kind] {
        const auto array = GlobalArray<int>::make(2);
        call(array[1], [kind](int& /*x*/) {
          if (kind == 0) throw Error("no such vertex", ExitCode::node_lost);
          if (kind == 1) throw std::out_of_range("no such vertex");
          throw Other();
        });
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), kind == 0 ? ExitCode::node_lost : ExitCode::failed);
      return std::string(error.what());
    }
    return std::string();
  };
  for (const int kind : {0, 1, 2}) {
    const std::string text = told(kind);
    EXPECT_NE(text.find("on core 1, in rubato::global::detail::CallRecord<int"), std::string::npos)
        << text;
    EXPECT_TRUE(text.ends_with(kind < 2 ? ": no such vertex" : ": an exception of unknown type"))
        << text;
  }
}

Coroutine thrower() {
  throw Error("in its first part", ExitCode::failed);
  co_return;
}
TEST(Global, ACoroutineThatThrowsAtOnceIsCaughtAndItsScopeEnds) {
  simulate_seed(2, 1, 1, [] {
    std::string said;
    finish([&] {
      try {
        start(thrower());
      } catch (const Error& error) {
        said = error.what();
      }
    });
    EXPECT_EQ(said, "in its first part");
  });
}

// Literals are of other types than what they are added to.
TEST(Global, OperationsTakeWhatConvertsToTheirType) {
  simulate_seed(2, 1, 1, [] {
    const auto array = GlobalArray<std::uint64_t>::make(2);
    write(array[1], 40);
    EXPECT_EQ(fetch_add(array[1], 2), 40U);
    EXPECT_TRUE(compare_exchange(array[1], 42, 43));
    finish([&] { async_write(array[0], read(array[1])); });
    EXPECT_EQ(read(array[0]), 43U);
    array.free();
  });
}

// What is applied may take long: tasks of the core have their turns meanwhile.
struct LongRecord {
  std::uint64_t unused = 0;
  void apply(core::CoreContext& here) const { here.charge(kMillisecond); }
};
TEST(Global, TasksHaveTheirTurnsBesideRecordsThatTakeLong) {
  static std::vector<Nanos> turns;
  const auto take_turns = [] {
    core::CoreContext& here = core::CoreContext::here();
    for (int i = 0; i < 400; ++i) {
      turns.push_back(here.clock());
      here.charge(10 * kMicrosecond);
      here.yield();
    }
  };
  simulate_seed(1, 2, 1, [&] {
    finish([&] {
      spawn_on(1, take_turns);
      for (int i = 0; i < 3000; ++i)
        core::CoreContext::here().post(1, LongRecord{});
    });
  });
  ASSERT_EQ(turns.size(), 400U);
  Nanos most = 0;
  for (std::size_t i = 1; i < turns.size(); ++i)
    most = std::max(most, turns[i] - turns[i - 1]);
  EXPECT_LT(most, 20 * kMillisecond);
}

}  // namespace
}  // namespace rubato::global

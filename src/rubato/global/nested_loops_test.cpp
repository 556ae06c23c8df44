// Loops within loops whose iterations wait: however many do, the inner ones begin.

#include <string>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/counter.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

// So few iterations of a level may wait that all of them do.
core::MessageOptions few_waiting(std::uint64_t seed) {
  core::MessageOptions options = windows_of(seed);
  options.n_waiting_most = static_cast<std::uint32_t>(1 + seed % 5);
  return options;
}

template <class F>
void for_seeds(std::uint64_t n_usual, const F& f) {
  for (std::uint64_t seed = 0; seed < n_seeds(n_usual); ++seed) {
    SCOPED_TRACE(seed);
    f(seed);
  }
}

template <class F>
void simulate_few(std::uint64_t seed, F main) {
  const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 3);
  const auto n_cores = static_cast<std::uint32_t>(1 + seed / 3 % 3);
  simulate_seed(n_nodes, n_cores, seed, main, few_waiting(seed));
}

void add_below(GlobalCounter seen, std::uint32_t depth) {
  if (depth == 0) return seen.add();
  forall(0, 3, [seen, depth](std::uint64_t) { add_below(seen, depth - 1); }, {1});
}

TEST(NestedLoops, InnerIterationsBeginHoweverManyOuterOnesWait) {
  for_seeds(60, [](std::uint64_t seed) {
    simulate_few(seed, [] {
      const auto seen = GlobalCounter::make();
      forall(0, 200, [seen](std::uint64_t) { forall(0, 2, [seen](std::uint64_t) { seen.add(); }); },
             {1});
      ASSERT_EQ(seen.value(), 400);
      forall(0, 9, [seen](std::uint64_t) { add_below(seen, 4); }, {1});
      ASSERT_EQ(seen.value(), 400 + 9 * 81);
      seen.free();
    });
  });
}

TEST(NestedLoops, LoopsOverContainersAreNestedAsWell) {
  for_seeds(40, [](std::uint64_t seed) {
    simulate_few(seed, [] {
      const auto seen = GlobalCounter::make();
      const auto array = GlobalArray<std::uint64_t>::make(20);
      const auto vector = GlobalVector<std::uint64_t>::make();
      const auto map = GlobalHashMap<std::uint64_t, std::uint64_t>::make();
      forall(0, 20, [=](std::uint64_t i) {
        vector.push(i);
        map.insert(i, i);
      });
      forall(array, [=](std::uint64_t&) { forall(vector, [seen](std::uint64_t&) { seen.add(); }); },
             {1});
      ASSERT_EQ(seen.value(), 400);
      forall(vector, [=](std::uint64_t&) {
        forall(map, [seen](std::uint64_t, std::uint64_t&) { seen.add(); });
      });
      ASSERT_EQ(seen.value(), 800);
      forall(map,
             [=](std::uint64_t, std::uint64_t&) {
               forall(array, [seen](std::uint64_t&) { seen.add(); });
             },
             {1});
      ASSERT_EQ(seen.value(), 1200);
      map.free();
      vector.free();
      array.free();
      seen.free();
    });
  });
}

TEST(NestedLoops, OtherTasksOfABodyBeginToo) {
  for_seeds(60, [](std::uint64_t seed) {
    simulate_few(seed, [] {
      const auto seen = GlobalCounter::make();
      forall(0, 100,
             [seen](std::uint64_t i) {
               finish([&] {
                 spawn_anywhere([seen] { on_all_cores([seen] { seen.add(); }); });
                 spawn_on(static_cast<CoreId>(i % n_cores()),
                          [seen] { finish([&] { spawn_anywhere([seen] { seen.add(); }); }); });
               });
             },
             {1});
      ASSERT_EQ(seen.value(), 100 * (n_cores() + 1));
      seen.free();
    });
  });
}

TEST(NestedLoops, ABodyMakesAndFreesArrays) {
  for_seeds(20, [](std::uint64_t seed) {
    simulate_few(seed, [] {
      const auto seen = GlobalCounter::make();
      forall(0, 40,
             [seen](std::uint64_t i) {
               const auto mine = GlobalArray<std::uint64_t>::make(10);
               forall(mine, [i](std::uint64_t k, std::uint64_t& x) { x = i + k; });
               seen.add(read(mine[9]) - i - 8);
               mine.free();
             },
             {1});
      ASSERT_EQ(seen.value(), 40);
      seen.free();
    });
  });
}

// As they are by default, on real cores: more iterations wait than may.
TEST(NestedLoops, MoreWaitThanMayOnCores) {
  run_here(2, [] {
    const auto seen = GlobalCounter::make();
    forall(0, 50'000,
           [seen](std::uint64_t) { forall(0, 2, [seen](std::uint64_t) { seen.add(); }); }, {1});
    ASSERT_EQ(seen.value(), 100'000);
    seen.free();
  });
}

// Of one level no more begin: what they wait for must not be of it.
TEST(NestedLoops, WaitingForTheSameLevelIsADeadlockThatSaysSo) {
  std::string text;
  try {
    simulate_seed(
        1, 1, 1,
        [] {
          static core::FullEmpty<int> cell;
          finish([] {
            spawn_anywhere([] { cell.write_xf(1); });
            for (int i = 0; i < 3; ++i)
              spawn_anywhere([] { static_cast<void>(cell.read_ff()); });
          });
        },
        few_waiting(1));
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("no more of their level may"), std::string::npos) << text;
}

}  // namespace
}  // namespace rubato::global

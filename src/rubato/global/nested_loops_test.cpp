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

void simulate_seeds(std::uint64_t n_usual, void (*main)()) {
  for_seeds(n_usual, [main](std::uint64_t seed) { simulate_few(seed, main); });
}

TEST(NestedLoops, InnerIterationsBeginHoweverManyOuterOnesWait) {
  simulate_seeds(60, [] {
    const auto seen = GlobalCounter::make();
    const auto inner = [seen](std::uint64_t) { seen.add(); };
    forall(0, 200, [inner](std::uint64_t) { forall(0, 2, inner); }, {1});
    ASSERT_EQ(seen.value(), 400U);
    forall(0, 9, [seen](std::uint64_t) { add_below(seen, 4); }, {1});
    ASSERT_EQ(seen.value(), 400U + 9 * 81);
    seen.free();
  });
}

TEST(NestedLoops, LoopsOverContainersAreNestedAsWell) {
  simulate_seeds(40, [] {
    const auto seen = GlobalCounter::make();
    const auto array = GlobalArray<std::uint64_t>::make(20);
    const auto vector = GlobalVector<std::uint64_t>::make();
    const auto map = GlobalHashMap<std::uint64_t, std::uint64_t>::make();
    const auto fill = [=](std::uint64_t i) {
      vector.push(i);
      map.insert(i, i);
    };
    forall(0, 20, fill);
    const auto one = [seen](std::uint64_t&) { seen.add(); };
    const auto pair = [seen](std::uint64_t, std::uint64_t&) { seen.add(); };
    forall(array, [=](std::uint64_t&) { forall(vector, one); }, {1});
    ASSERT_EQ(seen.value(), 400U);
    forall(vector, [=](std::uint64_t&) { forall(map, pair); });
    ASSERT_EQ(seen.value(), 800U);
    forall(map, [=](std::uint64_t, std::uint64_t&) { forall(array, one); }, {1});
    ASSERT_EQ(seen.value(), 1200U);
    map.free();
    vector.free();
    array.free();
    seen.free();
  });
}

// Each counts on all cores, by way of some core, and once more.
void spawn_both(GlobalCounter seen, std::uint64_t i) {
  const auto add = [seen] { seen.add(); };
  finish([&] {
    spawn_anywhere([add] { on_all_cores(add); });
    spawn_on(static_cast<CoreId>(i % n_cores()), [add] { finish([&] { spawn_anywhere(add); }); });
  });
}

TEST(NestedLoops, OtherTasksOfABodyBeginToo) {
  simulate_seeds(60, [] {
    const auto seen = GlobalCounter::make();
    forall(0, 100, [seen](std::uint64_t i) { spawn_both(seen, i); }, {1});
    ASSERT_EQ(seen.value(), 100U * (n_cores() + 1));
    seen.free();
  });
}

void make_and_free(GlobalCounter seen, std::uint64_t i) {
  const auto mine = GlobalArray<std::uint64_t>::make(10);
  forall(mine, [i](std::uint64_t k, std::uint64_t& x) { x = i + k; });
  seen.add(read(mine[9]) - i - 8);
  mine.free();
}

TEST(NestedLoops, ABodyMakesAndFreesArrays) {
  simulate_seeds(20, [] {
    const auto seen = GlobalCounter::make();
    forall(0, 40, [seen](std::uint64_t i) { make_and_free(seen, i); }, {1});
    ASSERT_EQ(seen.value(), 40U);
    seen.free();
  });
}

// As they are by default, on real cores: more iterations wait than may.
TEST(NestedLoops, MoreWaitThanMayOnCores) {
  run_here(2, [] {
    const auto seen = GlobalCounter::make();
    forall(0, 50'000,
           [seen](std::uint64_t) { forall(0, 2, [seen](std::uint64_t) { seen.add(); }); }, {1});
    ASSERT_EQ(seen.value(), 100'000U);
    seen.free();
  });
}

void wait_for_the_last() {
  static core::FullEmpty<int> cell;
  finish([] {
    spawn_anywhere([] { cell.write_xf(1); });
    for (int i = 0; i < 3; ++i)
      spawn_anywhere([] { static_cast<void>(cell.read_ff()); });
  });
}

// Of one level no more begin: what they wait for must not be of it.
TEST(NestedLoops, WaitingForTheSameLevelIsADeadlockThatSaysSo) {
  std::string text;
  try {
    simulate_seed(1, 1, 1, wait_for_the_last, few_waiting(1));
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("no more of their level may"), std::string::npos) << text;
}

}  // namespace
}  // namespace rubato::global

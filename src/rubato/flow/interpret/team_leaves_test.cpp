// Leaves on a team of cores that use global memory: arrays, and loops over them.

#include <numeric>

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/bulk.hpp"

namespace rubato::flow {
namespace {

using core::CoreContext;
using global::GlobalArray;
using Word = std::uint64_t;

struct Share {
  Word begin;
  Word end;
};
Share share_of(const global::Team& team, Word n) {
  return {n * team.rank() / team.size(), n * (team.rank() + 1) / team.size()};
}

Word next_of(Word i, Word step, Word n) {
  return (i * 7 + step) % n;
}

// Each step every element adds itself to another one, by loops of all members over their parts.
std::int64_t scatter(const global::Team& team, std::int64_t n_elements, std::int64_t n_steps) {
  const auto n = static_cast<Word>(n_elements);
  GlobalArray<Word> now;
  GlobalArray<Word> next;
  if (team.rank() == 0) {
    now = GlobalArray<Word>::make(n, 3);
    next = GlobalArray<Word>::make(n, 0);
    // At the owners, who need not be of the team.
    global::forall(now, [](Word i, Word& x) { x = i + 1; });
  }
  now = team.broadcast(now);
  next = team.broadcast(next);
  const Share mine = share_of(team, n);
  std::vector<Word> part(mine.end - mine.begin);
  for (Word step = 0; step < static_cast<Word>(n_steps); ++step) {
    global::get(now, mine.begin, std::span<Word>(part));
    global::put(part, next, mine.begin);
    team.barrier();
    global::forall(mine.begin, mine.end, [now, next, step, n](Word i) {
      CoreContext::here().charge(kMicrosecond);
      const Word x = global::read(now[i]);
      global::call(next[next_of(i, step, n)], [x](Word& sum) { sum += x; });
    });
    team.barrier();
    std::swap(now, next);
  }
  // And by tasks on the cores of the team alone.
  Word sum = 0;
  global::finish([&] {
    const auto sums = global::make_global(sum);
    global::spawn_on(team.core((team.rank() + 1) % team.size()), [now, mine, sums] {
      for (Word i = mine.begin; i < mine.end; ++i)
        global::async_add(sums, (i + 1) * global::read(now[i]));
    });
  });
  sum = team.allreduce(sum, std::plus<>{});
  if (team.rank() == 0) {
    now.free();
    next.free();
  }
  return static_cast<std::int64_t>(sum);
}

std::int64_t serial_scatter(Word n, Word n_steps) {
  std::vector<Word> now(n);
  std::iota(now.begin(), now.end(), 1);
  for (Word step = 0; step < n_steps; ++step) {
    std::vector<Word> next = now;
    for (Word i = 0; i < n; ++i)
      next[next_of(i, step, n)] += now[i];
    now = next;
  }
  Word sum = 0;
  for (Word i = 0; i < n; ++i)
    sum += (i + 1) * now[i];
  return static_cast<std::int64_t>(sum);
}

[[maybe_unused]] const bool kLeaves = register_leaf("scatter", &scatter);

// Several teams at a time, whose loops have tasks on the cores of the others, too.
TEST(TeamLeaves, run_loops_over_global_arrays) {
  const std::string text = R"(
    leaf scatter(integer n, integer steps) to (integer sum) parallel 3
    integer a b c d
    when {} then {a} from {scatter 40 5}
    when {} then {b} from {scatter 17 3} parallel 4
    when {} then {c} from {scatter 23 4} parallel 1
    when {a} then {d} from {scatter 11 2} parallel 2
    print("a", a)
    print("b", b)
    print("c", c)
    print("d", d)
  )";
  std::string expected;
  expected += "a " + std::to_string(serial_scatter(40, 5)) + "\n";
  expected += "b " + std::to_string(serial_scatter(17, 3)) + "\n";
  expected += "c " + std::to_string(serial_scatter(23, 4)) + "\n";
  expected += "d " + std::to_string(serial_scatter(11, 2)) + "\n";
  for (std::uint64_t i = 0; i < n_seeds(20); ++i) {
    const std::uint64_t seed = 4 * i + 3;  // 4 nodes of 1 to 3 cores
    const Ran ran = run_text(seed, text);
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, expected) << "seed " << seed;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(TeamLeaves, run_loops_over_global_arrays_on_real_cores) {
  for (int round = 0; round < 5; ++round) {
    const FlowResult result = run_flow_here(3, [&] {
      std::vector<Future<std::int64_t>> all;
      for (std::uint32_t n_cores = 1; n_cores <= 3; ++n_cores)
        all.push_back(async_team(n_cores, [](const global::Team& team, std::int64_t n) {
          return scatter(team, n, 5);
        })(std::int64_t{200}));
      for (const auto& sum : all)
        EXPECT_EQ(sum.get(), serial_scatter(200, 5));
    });
    ASSERT_EQ(result.text(), "");
    ASSERT_EQ(result.n_data_held, 0U);
  }
}

}  // namespace
}  // namespace rubato::flow

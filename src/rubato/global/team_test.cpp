#include "rubato/global/team.hpp"

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/reduce.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

// Not commutative: words of base 31, of which the second goes behind the first.
struct Word {
  std::uint64_t value = 0;
  std::uint64_t weight = 1;
  bool operator==(const Word&) const = default;
};
Word word_of(Rank rank) {
  return {rank + 7, 31};
}
constexpr auto kJoin = [](const Word& a, const Word& b) {
  return Word{a.value * b.weight + b.value, a.weight * b.weight};
};
// Of the ranks [0, n).
Word joined(Rank n) {
  Word all;
  for (Rank rank = 0; rank < n; ++rank)
    all = kJoin(all, word_of(rank));
  return all;
}

// What one member finds wrong in all collectives of a team.
std::uint64_t n_wrong_in(const Team& team, std::uint64_t seed) {
  const Rank n = team.size();
  const Rank rank = team.rank();
  const auto root = static_cast<Rank>(seed % n);
  std::uint64_t n_wrong = 0;
  const auto check = [&](bool is_right) { n_wrong += is_right ? 0 : 1; };

  check(team.allreduce(word_of(rank), kJoin) == joined(n));
  const Word reduced = team.reduce(word_of(rank), kJoin, root);
  check(rank != root || reduced == joined(n));
  check(team.inclusive_scan(word_of(rank), kJoin) == joined(rank + 1));
  check(team.exclusive_scan(word_of(rank), kJoin, Word{}) == joined(rank));
  team.barrier();
  check(team.broadcast(seed + rank, root) == seed + root);
  const std::vector<std::uint16_t> text(rank == root ? 1'000 : rank, 5);
  check(team.broadcast(text, root) == std::vector<std::uint16_t>(1'000, 5));

  const std::vector<std::uint64_t> sums =
      team.allreduce(std::vector<std::uint64_t>{rank, 1, 2}, std::plus<>{});
  check(sums ==
        std::vector<std::uint64_t>{std::uint64_t{n} * (n - 1) / 2, n, 2 * std::uint64_t{n}});

  std::vector<Rank> everybody(n);
  std::iota(everybody.begin(), everybody.end(), 0);
  check(team.allgather(rank) == everybody);
  check(team.gather(rank, root) == (rank == root ? everybody : std::vector<Rank>{}));

  std::vector<std::vector<std::uint32_t>> out(n);
  for (Rank to = 0; to < n; ++to)
    out[to].assign((rank + 2 * to) % 5, rank * 1'000 + to);
  const auto in = team.all_to_all(out);
  for (Rank from = 0; from < n; ++from)
    check(in[from] == std::vector<std::uint32_t>((from + 2 * rank) % 5, from * 1'000 + rank));
  return n_wrong;
}

// On the team of the job, on parts of it side by side, and on parts of parts.
std::uint64_t n_wrong_in_all_teams(std::uint64_t seed) {
  return reduce_cores(
      [seed] {
        const Team job = Team::job();
        std::uint64_t n_wrong = n_wrong_in(job, seed);
        const Team part = job.split(static_cast<std::uint32_t>(hash_words(seed, this_core()) % 3));
        n_wrong += n_wrong_in(part, seed);
        const Team pair = part.split(part.rank() / 2);
        n_wrong += n_wrong_in(pair, seed);
        n_wrong += pair.core(pair.rank()) == this_core() ? 0 : 1;
        pair.free();
        n_wrong += n_wrong_in(part, seed);
        part.free();
        return n_wrong + n_wrong_in(job, seed);
      },
      std::plus<>{});
}

TEST(Team, CollectivesAreThoseOfALoopOverTheRanks) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 7), 1 + static_cast<std::uint32_t>(seed % 3), seed,
        [&, seed] { n_wrong = n_wrong_in_all_teams(seed); },
        seed % 2 == 0 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U);
  }
}

// One member of each team has all of them count, while those of the others do, too; what those start
// is waited for as well.
std::uint64_t n_wrong_on_members(const Team& team) {
  std::uint64_t n = 0;
  std::uint64_t sum = 0;
  if (team.rank() == team.size() / 2) {
    const GlobalPtr<std::uint64_t> count = make_global(n);
    const GlobalPtr<std::uint64_t> cores = make_global(sum);
    team.on_all_cores([team, count, cores] {
      const auto mine = team.core(team.rank()) == this_core() ? this_core() : 1'000'000;
      async_call(cores, [mine](std::uint64_t& x) { x += mine; });
      spawn([count] { fetch_add(count, std::uint64_t{1}); });
    });
    for (Rank rank = 0; rank < team.size(); ++rank)
      sum -= team.core(rank);
  } else {
    n = team.size();
  }
  team.barrier();
  return (n == team.size() ? 0 : 1) + (sum == 0 ? 0 : 1);
}

TEST(Team, TasksOnAllCoresAreThoseOfItsMembers) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t n_wrong = 1;
    simulate_seed(
        1 + static_cast<std::uint32_t>(seed % 5), 1 + static_cast<std::uint32_t>(seed % 3), seed,
        [&, seed] {
          n_wrong = reduce_cores(
              [seed] {
                const Team job = Team::job();
                std::uint64_t n = n_wrong_on_members(job);
                const Team part =
                    job.split(static_cast<std::uint32_t>(hash_words(seed, this_core()) % 3));
                part.barrier();  // all members know of it
                n += n_wrong_on_members(part);
                part.free();
                return n;
              },
              std::plus<>{});
        },
        seed % 2 == 0 ? tiny_windows() : core::MessageOptions{});
    EXPECT_EQ(n_wrong, 0U);
  }
}

TEST(Team, CollectivesAreTheSameOnRealCores) {
  for (std::uint32_t n_cores = 1; n_cores <= 5; ++n_cores) {
    std::uint64_t n_wrong = 1;
    run_here(n_cores, [&] { n_wrong = n_wrong_in_all_teams(n_cores); });
    EXPECT_EQ(n_wrong, 0U);
  }
}

// The cores that it has heard of, in their order.
struct Heard {
  std::string text;
  void put(Writer& out) const { out.put_string(text); }
  static Heard get(Reader& in) { return {in.get_string()}; }
};

TEST(Team, ReducesWhatPutsItselfInTheOrderOfTheRanks) {
  for (std::uint32_t n_nodes = 1; n_nodes <= 9; n_nodes += 2) {
    Heard all;
    std::string wanted;
    for (core::CoreId core = 0; core < 2 * n_nodes; ++core)
      wanted += std::to_string(core) + ' ';
    simulate_seed(n_nodes, 2, n_nodes, [&] {
      const auto join = [](Heard lower, const Heard& higher) {
        return Heard{lower.text + higher.text};
      };
      all = reduce_cores([] { return Heard{std::to_string(this_core()) + ' '}; }, join);
    });
    EXPECT_EQ(all.text, wanted);
  }
}

// What all say, by rank, in each collective; a value is of its rank and of any length.
std::uint64_t n_wrong_texts() {
  const Team team = Team::job();
  const auto text_of = [](Rank rank) {
    return std::string(rank * 13 % 40, 'x') + std::to_string(rank);
  };
  const std::string mine = text_of(team.rank());
  const auto join = [](const std::string& a, const std::string& b) { return a + b; };
  std::string below;
  std::string all;
  std::vector<std::string> list;
  std::vector<std::vector<std::string>> to(team.size());
  for (Rank rank = 0; rank < team.size(); ++rank) {
    if (rank < team.rank()) below += text_of(rank);
    all += text_of(rank);
    list.push_back(text_of(rank));
    to[rank].assign(rank % 3, mine);
  }
  const Rank root = team.size() - 1;
  std::uint64_t n_wrong = team.broadcast(mine, root) == text_of(root) ? 0 : 1;
  n_wrong += team.allreduce(mine, join) == all ? 0 : 1;
  n_wrong += team.reduce(mine, join, root) == (team.rank() == root ? all : mine) ? 0 : 1;
  n_wrong += team.inclusive_scan(mine, join) == below + mine ? 0 : 1;
  n_wrong += team.exclusive_scan(mine, join, std::string()) == below ? 0 : 1;
  n_wrong += team.allgather(mine) == list ? 0 : 1;
  n_wrong +=
      team.gather(mine, root) == (team.rank() == root ? list : std::vector<std::string>{}) ? 0 : 1;
  const auto came = team.all_to_all(to);
  for (Rank rank = 0; rank < team.size(); ++rank)
    n_wrong += came[rank] == std::vector<std::string>(team.rank() % 3, text_of(rank)) ? 0 : 1;
  return n_wrong;
}

TEST(Team, CollectivesTakeStringsOfAnyLength) {
  expect_right([](std::uint64_t /*seed*/) {
    std::uint64_t n_wrong = 0;
    on_all_cores([to = make_global(n_wrong)] {
      const std::uint64_t mine = n_wrong_texts();
      async_call(to, [mine](std::uint64_t& n) { n += mine; });
    });
    return n_wrong;
  });
}

// Sums of doubles, whose bits depend on the order: combined in that of the ranks on any number of
// nodes.
TEST(Team, SumsHaveTheSameBitsOnAnyNumberOfNodes) {
  std::vector<double> sums;
  for (const std::uint32_t n_nodes : {1U, 2U, 3U, 4U, 6U, 12U}) {
    double sum_of_all = 0;
    simulate_seed(n_nodes, 12 / n_nodes, n_nodes, [&] {
      sum_of_all = reduce_cores([] { return 1.0 / (3.0 + this_core() * 1e3); }, std::plus<>{});
    });
    sums.push_back(sum_of_all);
  }
  EXPECT_EQ(sums, std::vector<double>(sums.size(), sums[0]));
}

TEST(Reduce, ASumOfAnArrayHasTheSameBitsOnAnyNumberOfCores) {
  constexpr std::uint64_t kElements = 5'000;
  const auto element = [](std::uint64_t i) {
    return (hash_words(i) % 2 == 0 ? 1e12 : -1e12) / static_cast<double>(1 + hash_words(i) % 977);
  };
  ExactSum expected;
  double largest = -1e300;
  for (std::uint64_t i = 0; i < kElements; ++i) {
    expected.add(element(i));
    largest = std::max(largest, element(i));
  }
  for (const std::uint32_t n_cores : {1U, 2U, 5U}) {
    double total = 0;
    double found_largest = 0;
    simulate_seed(2, n_cores, n_cores, [&] {
      const auto array = GlobalArray<double>::make(kElements, 16);
      forall(array, [element](std::uint64_t i, double& x) { x = element(i); });
      total = sum(array);
      found_largest = reduce(array, -1e300, [](double a, double b) { return std::max(a, b); });
    });
    EXPECT_EQ(total, expected.value());
    EXPECT_EQ(found_largest, largest);
  }
}

// Two tasks reduce at the same time, each with a team of its own.
std::uint64_t digits_of_two_tasks() {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  finish([&] {
    spawn([&] { first = reduce_cores([] { return std::uint64_t{1}; }, std::plus<>{}); });
    spawn([&] { second = reduce_cores([] { return std::uint64_t{2}; }, std::plus<>{}); });
  });
  return first * 100 + second;
}

TEST(Reduce, ReductionsOfDifferentTasksDoNotMix) {
  std::uint64_t digits = 0;
  simulate_seed(3, 2, 5, [&] { digits = digits_of_two_tasks(); });
  EXPECT_EQ(digits, 612U);
}

// What the run ends with if the cores make different calls.
std::string failure_of(const std::function<void()>& on_each_core) {
  try {
    simulate_seed(2, 1, 1, [&] {
      on_all_cores([f = make_global(on_each_core)] {
        (*reinterpret_cast<const std::function<void()>*>(f.place().resolve(CoreContext::here())))();
      });
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Team, CallsOfDifferentKindsAreSaidWithBothNames) {
  const std::string kinds = failure_of([] {
    if (this_core() == 0) {
      static_cast<void>(Team::job().allreduce(1, std::plus<>{}));
    } else {
      Team::job().barrier();
    }
  });
  EXPECT_NE(kinds.find("core 0 is in an allreduce, and core 1 in a barrier"), std::string::npos)
      << kinds;
}

TEST(Team, ValuesOfDifferentSizesAreSaidWithBoth) {
  const std::string sizes = failure_of([] {
    static_cast<void>(Team::job().allreduce(std::vector<int>(1 + this_core(), 1), std::plus<>{}));
  });
  EXPECT_NE(sizes.find("core 1 has sent 8 bytes where core 0 has values of 4"), std::string::npos)
      << sizes;
}

TEST(Team, AMemberThatNeverCallsIsSaidToBeWaitedFor) {
  const std::string missing = failure_of([] {
    if (this_core() == 0) Team::job().barrier();
  });
  EXPECT_NE(missing.find("others of its team in a barrier"), std::string::npos) << missing;
}

}  // namespace
}  // namespace rubato::global

// Tasks that several cores run together.

#include "rubato/flow/pool/team_pool.hpp"

#include <array>
#include <set>

#include "rubato/flow/async.hpp"
#include "rubato/flow/flow_test.hpp"

namespace rubato::flow {
namespace {

constexpr std::uint32_t kNodes = 3;

// Tasks under way on each core; virtual nodes are one process and one thread.
std::array<int, 32> now;   // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::array<int, 32> most;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

FlowResult simulate(std::uint64_t seed, std::uint32_t n_cores,
                    const std::vector<std::string>& workers, const std::function<void()>& main) {
  now = {};
  most = {};
  FlowResult result;
  global::simulate_seed(
      kNodes, n_cores, seed, [&] { result = run(main, {Workers::parse(workers)}); },
      global::windows_of(seed));
  return result;
}

std::uint64_t sum_of_ranks(const global::Team& team) {
  const CoreId core = CoreContext::here().core();
  most[core] = std::max(most[core], ++now[core]);
  std::uint64_t sum = 0;
  for (int round = 0; round < 3; ++round) {
    CoreContext::here().charge(10 * kMicrosecond);
    sum += team.allreduce(std::uint64_t{team.rank()}, std::plus<>{});
    team.barrier();
  }
  --now[core];
  return sum;
}

TEST(AsyncTeam, runs_on_that_many_cores_at_the_same_time) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    const std::uint32_t n_cores = 1 + static_cast<std::uint32_t>(seed % 3);
    const FlowResult result = simulate(seed, n_cores, {"gpu=2/node"}, [&] {
      std::vector<std::pair<std::uint32_t, Future<std::uint64_t>>> sums;
      for (std::uint32_t i = 0; i < 30; ++i) {
        const std::uint32_t n = 1 + i % (kNodes * n_cores);
        sums.emplace_back(n, async_team(n, [](const global::Team& team, std::uint32_t size) {
                            EXPECT_EQ(team.size(), size);
                            EXPECT_EQ(team.core(team.rank()), CoreContext::here().core());
                            return sum_of_ranks(team);
                          })(n));
      }
      for (const auto& [n, sum] : sums)
        EXPECT_EQ(sum.get(), std::uint64_t{n} * (n - 1) / 2 * 3);
      // A core is in one team at a time.
      EXPECT_EQ(*std::ranges::max_element(most), 1);
      sums.clear();
      for (std::uint32_t i = 0; i < 10; ++i) {
        const std::uint32_t n = 1 + i % (kNodes * std::min(n_cores, 2U));
        sums.emplace_back(
            n,
            async_team(n, [](const global::Team& team) { return sum_of_ranks(team); },
                       {.priority = static_cast<std::int32_t>(i % 3), .type = work_type("gpu")})());
        // Beside single tasks of the type.
        async([] { CoreContext::here().charge(kMicrosecond); }, {.type = work_type("gpu")})();
      }
      for (const auto& [n, sum] : sums)
        EXPECT_EQ(sum.get(), std::uint64_t{n} * (n - 1) / 2 * 3);
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
    ASSERT_EQ(result.counters.n_run, 50U) << "seed " << seed;
  }
}

TEST(AsyncTeam, shares_its_arguments) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate(seed, 2, {}, [] {
      auto [squares, insert] = make_container<std::uint64_t>();
      const auto start = async([] { return std::int64_t{10}; })();
      const auto done =
          async_team(4, [](const global::Team& team, std::int64_t begin, const std::string& text,
                           const Inserter<std::uint64_t>& out) {
            EXPECT_EQ(text, "text of some length, longer than a word");
            out.insert(begin + team.rank(), std::uint64_t{team.rank()} * team.rank());
          })(start, std::string("text of some length, longer than a word"), std::move(insert));
      const auto sum =
          async_team(3, [](const global::Team& team, const Container<std::uint64_t>& all,
                           std::int64_t n_members) {
            EXPECT_EQ(n_members, 4);
            return team.allreduce(all.get(10 + team.rank()), std::plus<>{});
          })(squares, squares.size());
      EXPECT_EQ(sum.get(), 0U + 1U + 4U);
      EXPECT_EQ(squares.size().get(), 4);
      done.get();
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(AsyncTeam, fails_when_a_member_does) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    const auto who = static_cast<std::uint32_t>(seed % 4);
    const FlowResult result = simulate(seed, 2, {}, [&] {
      const auto failed = async_team(4,
                                     [](const global::Team& team, std::uint32_t unlucky) {
                                       team.barrier();
                                       if (team.rank() == unlucky) throw Error("no luck");
                                       team.barrier();  // which cannot end
                                       return 1;
                                     },
                                     {.name = "unlucky"})(who);
      const auto needs = async([](int x) { return x; })(failed);
      EXPECT_THROW(static_cast<void>(needs.get()), Error);
      // The cores are free again, and calls of teams work.
      EXPECT_EQ(async_team(6, [](const global::Team& team) { return sum_of_ranks(team); })().get(),
                45U);
    });
    ASSERT_EQ(result.n_failures, 1U) << "seed " << seed << result.text();
    EXPECT_NE(result.text().find("task 'unlucky' of "), std::string::npos) << result.text();
    EXPECT_NE(result.text().find("no luck"), std::string::npos) << result.text();
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(AsyncTeam, fails_when_a_member_does_beside_a_part_of_the_team) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate(seed, 2, {}, [&] {
      const auto failed = async_team(5, [](const global::Team& team) {
        if (team.rank() == 4) throw Error("no luck");
        const global::Team half = team.split(0);  // which cannot end
        half.barrier();
        half.free();
        return 1;
      })();
      EXPECT_THROW(static_cast<void>(failed.get()), Error);
      const auto later = async_team(4, [](const global::Team& team) {
        const global::Team half = team.split(team.rank() / 2);
        if (team.rank() == 1) throw Error("no luck");
        if (team.rank() == 0) team.barrier();
        half.barrier();
        return 1;
      })();
      EXPECT_THROW(static_cast<void>(later.get()), Error);
    });
    ASSERT_EQ(result.n_failures, 2U) << "seed " << seed << result.text();
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(AsyncTeam, says_when_there_are_not_so_many_cores) {
  const FlowResult result = simulate(1, 2, {"gpu=1/node"}, [] {
    const auto many = async_team(7, [](const global::Team& /*team*/) { return 1; })();
    EXPECT_THROW(static_cast<void>(many.get()), Error);
    const auto typed =
        async_team(4, [](const global::Team& /*team*/) { return 1; }, {.type = work_type("gpu")})();
    EXPECT_THROW(static_cast<void>(typed.get()), Error);
    const auto alone = async([] { return 1; }, {.n_cores = 3})();
    EXPECT_THROW(static_cast<void>(alone.get()), Error);
    EXPECT_EQ(async([] { return 1; }, {.n_cores = 2})().get(), 1);
  });
  const std::string text = result.text();
  EXPECT_EQ(result.n_failures, 3U);
  for (const char* part : {"7 cores at a time, expected 1 to 6, all there are",
                           "4 workers of type gpu at a time, expected 1 to 3",
                           "3 cores at a time, expected 1 to 2, the most of one node"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(AsyncTeam, runs_on_real_cores) {
  const auto main = [] {
    std::vector<Future<std::uint64_t>> sums;
    for (int i = 0; i < 50; ++i) {
      sums.push_back(async_team(2, [](const global::Team& team) {
        return team.allreduce(std::uint64_t{team.rank() + 1}, std::plus<>{});
      })());
    }
    for (const auto& sum : sums)
      EXPECT_EQ(sum.get(), 3U);
  };
  const FlowResult result = run_flow_here(2, main);
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.n_data_held, 0U);
}

}  // namespace
}  // namespace rubato::flow

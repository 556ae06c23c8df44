// Tasks that leave their cores to compute, and come back.

#include "rubato/core/message/beside.hpp"

#include <atomic>
#include <chrono>
#include <future>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/team.hpp"

namespace rubato::global {
namespace {

using core::Beside;
using core::CoreContext;

// What std::this_thread says is declared to be always the same, and compilers believe it.
pid_t thread() {
  return ::gettid();
}

void hold(Nanos time) {
  std::promise<void> never;
  never.get_future().wait_for(std::chrono::nanoseconds(time));
}

// False if `condition` does not come true within a minute.
template <class F>
bool comes_true(const F& condition) {
  for (int i = 0; i < 60'000 && !condition(); ++i)
    hold(kMillisecond);
  return condition();
}

TEST(Beside, a_task_is_on_another_thread_until_it_calls_the_runtime) {
  run_here(1, [] {
    const pid_t home = thread();
    Nanos away = 0;
    Beside beside(nullptr, [&](Nanos begin, Nanos end) { away += end - begin; });
    beside.run([&] {
      EXPECT_NE(thread(), home);
      EXPECT_NE(Beside::away(), nullptr);
      hold(5 * kMillisecond);
      EXPECT_EQ(CoreContext::here().core(), 0U);
      EXPECT_EQ(thread(), home);
      EXPECT_EQ(Beside::away(), nullptr);
    });
    EXPECT_EQ(thread(), home);
    EXPECT_GE(away, 5 * kMillisecond);
    // Once more, without any call.
    pid_t other = home;
    Beside again;
    again.run([&] { other = thread(); });
    EXPECT_NE(other, home);
    EXPECT_EQ(thread(), home);
  });
}

void count_to(std::atomic<int>& n, int end) {
  for (int i = 0; i < end; ++i) {
    ++n;
    CoreContext::here().yield();
  }
}

TEST(Beside, its_core_goes_on) {
  run_here(1, [] {
    std::atomic<int> n = 0;
    bool is_told = false;
    finish([&] {
      spawn([&] { count_to(n, 100); });
      Beside beside;
      beside.run([&] { is_told = comes_true([&] { return n == 100; }); });
    });
    EXPECT_TRUE(is_told);
  });
}

void wait_for_ten(std::atomic<int>& n) {
  Beside beside;
  beside.run([&n] {
    ++n;
    EXPECT_TRUE(comes_true([&n] { return n == 10; }));
  });
}

TEST(Beside, more_tasks_may_be_away_than_there_are_threads_for_native_work) {
  const auto main = [] {
    std::atomic<int> n = 0;
    const auto start_five = [counter = &n] {
      for (int i = 0; i < 5; ++i)
        spawn([counter] { wait_for_ten(*counter); });
    };
    finish([&] { on_all_cores(start_five); });
    EXPECT_EQ(n, 10);
  };
  run_here(2, main, 1);
}

struct CallsInTheEnd {
  pid_t home;
  ~CallsInTheEnd() {
    EXPECT_NE(thread(), home);
    static_cast<void>(CoreContext::here());
    EXPECT_EQ(thread(), home);
  }
};

TEST(Beside, exceptions_come_home_with_their_task) {
  run_here(2, [] {
    const pid_t home = thread();
    const auto thrown_by = [&](const std::function<void()>& f) -> std::string {
      try {
        Beside beside;
        beside.run(f);
      } catch (const Error& error) {
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(thread(), home);
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(thrown_by([] { throw Error("away"); }), "away");
    EXPECT_EQ(thrown_by([] {
                static_cast<void>(CoreContext::here());
                throw Error("at home");
              }),
              "at home");
    EXPECT_EQ(thrown_by([&] {
                const CallsInTheEnd call{home};
                throw Error("on the way");
              }),
              "on the way");
    EXPECT_EQ(thrown_by([&] {
                try {
                  throw Error("again");
                } catch (const Error&) {
                  CoreContext::here().yield();
                  EXPECT_EQ(thread(), home);
                  throw;
                }
              }),
              "again");
  });
}

// What members of a team compute in turn with calls of the team, long and short, beside other tasks.
std::uint64_t rounds(const Team& team, std::uint64_t seed, std::uint64_t n_rounds, Nanos longest) {
  return team.run_beside([&] {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n_rounds; ++i) {
      const std::uint64_t random = random_words(seed, i, team.rank())[0];
      if (random % 4 == 0 && longest > 0) hold(static_cast<Nanos>(random) % longest);
      if (random % 64 == 1) {
        try {
          throw Error("nothing");
        } catch (const Error&) {
          team.barrier();
        }
      } else {
        team.barrier();
      }
      sum += team.allreduce(random + sum % 7, std::plus<>{});
      if (team.rank() == (i % team.size())) sum += team.core(team.rank());
      sum = team.broadcast(sum, static_cast<Rank>(i % team.size()));
    }
    return sum;
  });
}
std::uint64_t serial_rounds(std::uint64_t n_members, std::uint64_t seed, std::uint64_t n_rounds) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < n_rounds; ++i) {
    std::uint64_t all = 0;
    for (std::uint64_t rank = 0; rank < n_members; ++rank)
      all += random_words(seed, i, rank)[0] + sum % 7;
    sum += all + i % n_members;
  }
  return sum;
}

TEST(Beside, a_team_computes_as_one_task_would) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(1 + seed % 3);
    const auto member = [=] {
      EXPECT_EQ(rounds(Team::job(), seed, 20, 0), serial_rounds(n_nodes * 2, seed, 20))
          << "seed " << seed;
    };
    simulate_seed(n_nodes, 2, seed, [=] { on_all_cores(member); });
  }
}

TEST(Beside, a_team_computes_as_one_task_would_beside_others) {
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    const Nanos longest = seed % 2 == 0 ? 0 : 6 * kMillisecond;
    std::atomic<int> n_others = 0;
    const auto member = [seed, longest, others = &n_others] {
      for (int i = 0; i < 10; ++i)
        spawn([others] { count_to(*others, 100); });
      EXPECT_EQ(rounds(Team::job(), seed, 60, longest), serial_rounds(3, seed, 60))
          << "seed " << seed;
    };
    run_here(3, [&] { finish([&] { on_all_cores(member); }); });
    EXPECT_EQ(n_others, 3000);
  }
}

// Which is told by the first call that is none of the team.
void stay_when_it_says_so(const Team& team, pid_t home) {
  for (int i = 0; i < 3; ++i) {
    hold(3 * kMillisecond);
    team.barrier();
    EXPECT_NE(thread(), home);
  }
  // With short ways it seems to be away only, sooner or later: the machine makes some long.
  Rank n_seem = 0;
  for (int i = 0; i < 100'000 && n_seem < team.size(); ++i) {
    const bool seems = thread() == home && Beside::away() != nullptr;
    n_seem = team.allreduce(Rank{seems}, std::plus<>{});
  }
  EXPECT_EQ(n_seem, team.size());
  static_cast<void>(CoreContext::here());
  EXPECT_EQ(Beside::away(), nullptr);
  EXPECT_EQ(thread(), home);
  hold(3 * kMillisecond);
  team.barrier();
  EXPECT_EQ(Beside::away(), nullptr);
  EXPECT_EQ(thread(), home);
  // Until it says that it is done with it.
  team.run_beside([&] {
    EXPECT_NE(thread(), home);
    team.barrier();
  });
  EXPECT_EQ(thread(), home);
}

TEST(Beside, a_member_that_uses_memory_of_cores_stays_on_its_own) {
  const auto member = [] {
    const pid_t home = thread();
    const Team team = Team::job();
    team.run_beside([&] { stay_when_it_says_so(team, home); });
  };
  run_here(2, [&] { on_all_cores(member); });
}

}  // namespace
}  // namespace rubato::global

// The litmus tests of the memory model in README.md: what may be seen, and that what may not never
// is.

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

constexpr std::uint64_t kInstances = 60;
constexpr std::uint32_t kRoles = 4;
constexpr std::uint64_t kRoundsMost = 500;  // on real cores

enum class Litmus : std::uint8_t {
  message_passing,
  store_buffering,
  independent_reads,
  one_word,
  // Which may go wrong.
  asynchronous_passing,
  asynchronous_buffering,
  asynchronous_reads,
  reads_the_wrong_way_round,
};

// Two words an instance, which lie on different cores, and what its four tasks have read.
struct Instance {
  GlobalArray<std::uint64_t> words;
  GlobalArray<std::uint64_t> seen;
  std::uint64_t i;
  [[nodiscard]] GlobalPtr<std::uint64_t> x() const { return words[2 * i]; }
  [[nodiscard]] GlobalPtr<std::uint64_t> y() const { return words[2 * i + 1]; }
  void saw(std::uint32_t role, std::uint64_t first, std::uint64_t second) const {
    write(seen[i * kRoles + role], first * 10 + second);
  }
};

void write_then_read(const Instance& in, std::uint32_t role) {
  const auto mine = role == 0 ? in.x() : in.y();
  const auto other = role == 0 ? in.y() : in.x();
  write(mine, std::uint64_t{1});
  in.saw(role, 1, read(other));
}

void write_and_read_at_once(const Instance& in, std::uint32_t role) {
  const auto mine = role == 0 ? in.x() : in.y();
  const auto other = role == 0 ? in.y() : in.x();
  async_write(mine, std::uint64_t{1});
  in.saw(role, 1, read(other));
}

void read_both_at_once(const Instance& in, GlobalPtr<std::uint64_t> first,
                       GlobalPtr<std::uint64_t> second, std::uint32_t role) {
  Future<std::uint64_t> a = future_read(first);
  Future<std::uint64_t> b = future_read(second);
  in.saw(role, a.get(), b.get());
}

void read_both(const Instance& in, GlobalPtr<std::uint64_t> first, GlobalPtr<std::uint64_t> second,
               std::uint32_t role) {
  const std::uint64_t a = read(first);
  in.saw(role, a, read(second));
}

void play(Litmus litmus, const Instance& in, std::uint32_t role) {
  switch (litmus) {
    case Litmus::message_passing:
      if (role == 0) {
        write(in.x(), std::uint64_t{1});
        write(in.y(), std::uint64_t{1});
      } else {
        read_both(in, in.y(), in.x(), role);
      }
      return;
    case Litmus::asynchronous_passing:
      if (role == 0) {
        async_write(in.x(), std::uint64_t{1});
        async_write(in.y(), std::uint64_t{1});
      } else {
        read_both(in, in.y(), in.x(), role);
      }
      return;
    case Litmus::store_buffering:
      if (role < 2) write_then_read(in, role);
      return;
    case Litmus::asynchronous_buffering:
      if (role < 2) write_and_read_at_once(in, role);
      return;
    case Litmus::asynchronous_reads:
      if (role < 2) {
        write(role == 0 ? in.x() : in.y(), std::uint64_t{1});
      } else if (role == 2) {
        read_both_at_once(in, in.x(), in.y(), role);
      } else {
        read_both_at_once(in, in.y(), in.x(), role);
      }
      return;
    case Litmus::independent_reads:
      if (role < 2) {
        write(role == 0 ? in.x() : in.y(), std::uint64_t{1});
      } else if (role == 2) {
        read_both(in, in.x(), in.y(), role);
      } else {
        read_both(in, in.y(), in.x(), role);
      }
      return;
    case Litmus::one_word:
    case Litmus::reads_the_wrong_way_round:
      if (role < 2) {
        write(in.x(), std::uint64_t{role + 1});
      } else {
        const std::uint64_t first = read(in.x());
        const std::uint64_t second = read(in.x());
        const bool is_turned = litmus == Litmus::reads_the_wrong_way_round && role == 3;
        in.saw(role, is_turned ? second : first, is_turned ? first : second);
      }
  }
}

// What must not be: by the values that the four tasks have seen.
bool is_forbidden(Litmus litmus, const std::array<std::uint64_t, kRoles>& seen) {
  switch (litmus) {
    case Litmus::message_passing:
    case Litmus::asynchronous_passing:
      return seen[1] == 10 || seen[2] == 10 ||
             seen[3] == 10;  // y, and not what was written before it
    case Litmus::store_buffering:
    case Litmus::asynchronous_buffering:
      return seen[0] == 10 && seen[1] == 10;  // neither saw the other's
    case Litmus::independent_reads:
    case Litmus::asynchronous_reads:
      return seen[2] == 10 && seen[3] == 10;  // in different orders
    case Litmus::one_word:
    case Litmus::reads_the_wrong_way_round:
      // Back to nothing, or two readers that disagree about which write was first.
      return seen[2] == 10 || seen[2] == 20 || seen[3] == 10 || seen[3] == 20 ||
             (seen[2] == 12 && seen[3] == 21) || (seen[2] == 21 && seen[3] == 12);
  }
  return false;
}

struct Verdict {
  std::uint64_t n_forbidden = 0;
  std::uint64_t n_interesting = 0;  // instances in which somebody saw something half done
};

// A task of an instance, on a core and after a time that follow from `seed`.
struct Player {
  Litmus litmus;
  Instance in;
  std::uint64_t seed;
  std::uint32_t role;

  [[nodiscard]] CoreId core() const {
    return static_cast<CoreId>(hash_words(seed, in.i, role) % n_cores());
  }
  void operator()() const {
    CoreContext& here = CoreContext::here();
    for (std::uint64_t n = hash_words(seed, in.i, role + 10) % 8; n > 0; --n) {
      here.charge(static_cast<Nanos>(hash_words(seed, in.i, n) % 20'000));
      here.yield();
    }
    finish([&] { play(litmus, in, role); });
  }
};

// The main task: all instances at once.
Verdict play_all(Litmus litmus, std::uint64_t seed) {
  const auto words = GlobalArray<std::uint64_t>::make(2 * kInstances);
  const auto seen = GlobalArray<std::uint64_t>::make(kRoles * kInstances);
  on_all_cores([=] {
    for (std::uint64_t n = 0; n < kRoles * kInstances; ++n) {
      const Player player{
          litmus, {words, seen, n / kRoles}, seed, static_cast<std::uint32_t>(n % kRoles)};
      if (player.core() == this_core()) spawn(player);
    }
  });
  Verdict verdict;
  for (std::uint64_t i = 0; i < kInstances; ++i) {
    std::array<std::uint64_t, kRoles> values{};
    for (std::uint32_t role = 0; role < kRoles; ++role)
      values[role] = read(seen[i * kRoles + role]);
    if (is_forbidden(litmus, values)) ++verdict.n_forbidden;
    const auto is_interesting = [](std::uint64_t value) {
      return value == 1 || value == 10 || value == 12 || value == 21;
    };
    if (std::ranges::any_of(values, is_interesting)) ++verdict.n_interesting;
  }
  return verdict;
}

Verdict simulate_litmus(Litmus litmus, std::uint64_t seed) {
  Verdict verdict;
  simulate([&] { verdict = play_all(litmus, seed); },
           {.n_nodes = 3,
            .n_cores = 2,
            .profile = seed % 2 == 0 ? "ec2-large" : "const,base=30",
            .seed = seed,
            .shuffle = true,
            .extra_delay_max = 20'000,
            .program = {{}, kTestBytesACore}});
  return verdict;
}

void expect_never(Litmus litmus) {
  std::uint64_t n_interesting = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    const Verdict verdict = simulate_litmus(litmus, seed);
    EXPECT_EQ(verdict.n_forbidden, 0U) << "seed " << seed;
    n_interesting += verdict.n_interesting;
  }
  EXPECT_GT(n_interesting, 20U);
  // How often tasks meet half-way on real cores is up to the system: as many rounds as that takes.
  std::uint64_t n_interesting_there = 0;
  for (std::uint64_t seed = 0; seed < 10 || (n_interesting_there <= 20 && seed < kRoundsMost);
       ++seed) {
    Verdict verdict;
    run_here(3, [&] { verdict = play_all(litmus, seed); });
    EXPECT_EQ(verdict.n_forbidden, 0U) << "real cores, seed " << seed;
    n_interesting_there += verdict.n_interesting;
  }
  EXPECT_GT(n_interesting_there, 20U) << "real cores";
}

TEST(MemoryModel, WhoSeesTheLaterWriteSeesTheEarlierOne) {
  expect_never(Litmus::message_passing);
}
TEST(MemoryModel, OfTwoWhoWriteAndReadOneSeesTheOther) {
  expect_never(Litmus::store_buffering);
}
TEST(MemoryModel, AllSeeIndependentWritesInOneOrder) {
  expect_never(Litmus::independent_reads);
}
TEST(MemoryModel, AllSeeTheWritesOfOneWordInOneOrder) {
  expect_never(Litmus::one_word);
}
// That the tests above could fail, and that asynchronous writes and reads are what their descriptions say.
void expect_once(Litmus litmus) {
  std::uint64_t n_forbidden = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed)
    n_forbidden += simulate_litmus(litmus, seed).n_forbidden;
  EXPECT_GT(n_forbidden, 0U);
}
TEST(MemoryModel, AsynchronousWritesOfOneTaskMayBeSeenInAnyOrder) {
  expect_once(Litmus::asynchronous_passing);
}
TEST(MemoryModel, AnAsynchronousWriteMayComeBehindALaterRead) {
  expect_once(Litmus::asynchronous_buffering);
}
TEST(MemoryModel, AsynchronousReadsMaySeeIndependentWritesInDifferentOrders) {
  expect_once(Litmus::asynchronous_reads);
}
TEST(MemoryModel, WhoToldItsReadsOfOneWordTheWrongWayRoundWouldBeNoticed) {
  expect_once(Litmus::reads_the_wrong_way_round);
}

}  // namespace
}  // namespace rubato::global

// What has a bound so that nobody's memory fills up: how much there is of it at a time.

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/core/observer.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/bulk.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {
namespace {

// Of values that one core pushes: those that have come to their owners are read there.
struct Pushes {
  std::uint64_t n_begun = 0;
  std::uint64_t n_come = 0;
  std::uint64_t n_held_most = 0;
};
Pushes pushes;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

struct Pushed {
  std::uint64_t number;
  void put(Writer& out) const { out.put(number); }
  static Pushed get(Reader& in) {
    ++pushes.n_come;
    return {in.get<std::uint64_t>()};
  }
};

// 16 batches of 4,096 that wait for their tickets or are on their way, and one that fills.
TEST(GlobalVector, HoldsBackABoundedNumberOfPushes) {
  constexpr std::uint64_t kBatch = 4'096;
  constexpr std::uint64_t kPushes = 60 * kBatch;
  pushes = {};
  const auto push_all = [] {
    const auto vector = GlobalVector<Pushed>::make();
    // By both, of which one is far from the keeper of the tickets.
    for (CoreId core = 0; core < 2; ++core) {
      finish([=] {
        spawn_on(core, [=] {
          for (std::uint64_t i = 0; i < kPushes; ++i) {
            ++pushes.n_begun;
            vector.async_push(Pushed{i});
            pushes.n_held_most = std::max(pushes.n_held_most, pushes.n_begun - pushes.n_come);
          }
        });
      });
    }
    EXPECT_EQ(vector.size(), 2 * kPushes);
    vector.free();
  };
  simulate_seed(2, 1, 1, push_all, tiny_windows());
  EXPECT_LE(pushes.n_held_most, 17 * kBatch);
  EXPECT_GT(pushes.n_held_most, 15 * kBatch);  // it is met
}

// Values of 256 KiB: what is held back is bounded by bytes as well.
std::uint64_t n_large_put = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
struct Large {
  std::uint64_t number;
  void put(Writer& out) const {
    ++n_large_put;
    static const std::vector<std::byte> kFilling(std::size_t{256} << 10);
    out.put(number);
    out.put_span(std::span<const std::byte>(kFilling));
  }
  static Large get(Reader& in) {
    const Large large{in.get<std::uint64_t>()};
    static_cast<void>(in.get_view(std::size_t{256} << 10));
    return large;
  }
};
// A batch of a MiB, for the value that does not fit in it any more, has four of them.
TEST(GlobalVector, HoldsBackABoundedNumberOfBytes) {
  std::uint64_t n_asked_before_the_end = 0;
  simulate_seed(2, 1, 1, [&] {
    const auto vector = GlobalVector<Large>::make();
    finish([&] {
      for (std::uint64_t i = 0; i < 90; ++i)
        vector.async_push(Large{i});
      n_asked_before_the_end = vector.size();
    });
    EXPECT_EQ(vector.size(), 90U);
    EXPECT_EQ(vector.get(88)->number, 88U);
    vector.free();
  });
  EXPECT_GE(n_asked_before_the_end, 90U - 17 * 4);
  EXPECT_LT(n_asked_before_the_end, 90U);
}

// And of keys whose values are combined: those of a MiB leave together. Each is written to be measured, and again
// when it leaves.
TEST(GlobalHashMap, HoldsBackABoundedNumberOfBytesToCombine) {
  static constexpr std::uint64_t kKeys = 20;
  simulate_seed(2, 1, 1, [] {
    const auto map = GlobalHashMap<std::uint64_t, Large>::make();
    n_large_put = 0;
    finish([&] {
      for (std::uint64_t i = 0; i < kKeys; ++i)
        map.async_combine(i, Large{i}, [](Large& /*is there*/, const Large& /*more*/) {});
      EXPECT_EQ(n_large_put, kKeys + kKeys - 4);
    });
    EXPECT_EQ(map.size(), kKeys);
    map.free();
  });
}

// A bag gives a MiB of them, and the one that makes it so many.
TEST(GlobalBag, GivesABoundedNumberOfBytesAtATime) {
  simulate_seed(2, 1, 1, [] {
    const auto bag = GlobalBag<Large>::make();
    for (std::uint64_t i = 0; i < 40; ++i)
      bag.put(Large{i});
    finish([=] {
      spawn_on(1, [=] {
        EXPECT_TRUE(bag.take().has_value());
        EXPECT_EQ(bag.local().size(), 3U);
      });
    });
    EXPECT_EQ(bag.local().size(), 36U);
    bag.free();
  });
}

// Half of what a core has goes to one that has nothing, but no more than that.
TEST(GlobalBag, GivesABoundedNumberAtATime) {
  constexpr std::uint64_t kGivenMost = 4'096;
  for (const std::uint64_t n : {std::uint64_t{2'000}, 10 * kGivenMost}) {
    std::uint64_t n_left = 0;
    std::uint64_t n_given = 0;
    simulate_seed(2, 1, 1, [&] {
      const auto bag = GlobalBag<std::uint64_t>::make();
      bag.put_range(std::vector<std::uint64_t>(n, 7));
      finish([=, given = make_global(n_given)] {
        spawn_on(1, [=] {
          EXPECT_EQ(bag.take(), 7U);
          write(given, 1 + bag.local().size());
        });
      });
      n_left = bag.local().size();
      bag.free();
    });
    EXPECT_EQ(n_given, std::min(n / 2, kGivenMost));
    EXPECT_EQ(n_left, n - n_given);
  }
}

// The most bytes that are on their way to node 0 at a time.
class OnWay final : public core::Observer {
 public:
  void on_work(core::NodeId, std::uint32_t, const core::Work&, Nanos, Nanos) noexcept override {}
  void on_sent(core::NodeId, core::NodeId peer, std::size_t n_bytes, Nanos) noexcept override {
    if (peer == 0) most_ = std::max(most_, now_ += n_bytes);
  }
  void on_taken(core::NodeId node, core::NodeId, std::size_t n_bytes, Nanos) noexcept override {
    if (node == 0) now_ -= n_bytes;
  }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  std::size_t now_ = 0;
  std::size_t most_ = 0;
};

// While node 0 gets `n_bytes` from each of so many others, which would send as much at once.
std::size_t bytes_on_way_of_get(std::uint32_t n_owners, std::uint64_t n_bytes) {
  const std::uint64_t n_words = n_bytes / sizeof(std::uint64_t);
  OnWay on_way;
  SimulateOptions options;
  options.n_nodes = n_owners + 1;
  options.observer = &on_way;
  options.program.messages.window_bytes = std::size_t{1} << 30;
  options.program.bytes_a_core = kTestBytesACore;
  simulate(
      [&] {
        const auto array = GlobalArray<std::uint64_t>::make(n_words * (n_owners + 1), n_words);
        std::vector<std::uint64_t> found(n_words * n_owners);
        get(array, n_words, found);
        array.free();
      },
      options);
  return on_way.most();
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Four pieces of 256 KiB.
TEST(Bulk, AGetHasABoundedNumberOfBytesOfAnOwnerOnTheWay) {
  const std::size_t n_bytes = bytes_on_way_of_get(1, 10 * kMiB);
  EXPECT_LE(n_bytes, kMiB + kMiB / 8);  // and heads
  EXPECT_GT(n_bytes, kMiB / 2);
}
TEST(Bulk, AGetHasABoundedNumberOfBytesOfAllOwnersOnTheWay) {
  const std::size_t n_bytes = bytes_on_way_of_get(32, kMiB);
  EXPECT_LE(n_bytes, 9 * kMiB);
  EXPECT_GT(n_bytes, 4 * kMiB);
}

}  // namespace
}  // namespace rubato::global

// Space in global memory: which offsets are handed out, and how many addresses there are.

#include "rubato/global/heap.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "rubato/base/memory.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

TEST(SymmetricHeap, JoinsWhatIsGivenBack) {
  SymmetricHeap heap(std::uint64_t{1} << 20);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t n = 1; n <= 100; ++n)
    offsets.push_back(heap.allocate(n * 10));
  EXPECT_EQ(heap.allocate(std::uint64_t{1} << 20), SymmetricHeap::kNone);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    heap.deallocate(offsets[(i * 37) % 100]);
  EXPECT_EQ(heap.n_used(), 0U);
  EXPECT_EQ(heap.allocate((std::uint64_t{1} << 20) - SymmetricHeap::kFirst), SymmetricHeap::kFirst);
}
TEST(SymmetricHeap, HandsOutNothingAboveItsLimit) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  SymmetricHeap heap(100 * kMebi);
  const std::uint64_t first = heap.allocate(10 * kMebi);
  EXPECT_TRUE(heap.is_sure(first + 10 * kMebi));
  const std::uint64_t second = heap.allocate(10 * kMebi);
  EXPECT_FALSE(heap.is_sure(second + 10 * kMebi));
  heap.limit(40 * kMebi);
  EXPECT_TRUE(heap.is_sure(second + 10 * kMebi));
  EXPECT_EQ(heap.allocate(20 * kMebi), SymmetricHeap::kNone);
  const std::uint64_t third = heap.allocate(19 * kMebi);
  EXPECT_LE(third + 19 * kMebi, 40 * kMebi);
  heap.deallocate(first);
  heap.deallocate(second);
  heap.deallocate(third);
  EXPECT_EQ(heap.allocate(40 * kMebi - SymmetricHeap::kFirst), SymmetricHeap::kFirst);
  // A limit below all that is free.
  SymmetricHeap full(100 * kMebi);
  static_cast<void>(full.allocate(50 * kMebi));
  full.limit(40 * kMebi);
  EXPECT_EQ(full.allocate(64), SymmetricHeap::kNone);
}

// As a batch system limits it.
TEST(NodeMemory, IsHalfOfTheAddressesThatAreLeft) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const auto limit_to = [&](std::uint64_t n_bytes) {
    const rlimit most{n_bytes, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &most), 0);
  };
  constexpr std::uint64_t kAll = std::uint64_t{1} << 46;
  limit_to(kAll);
  const std::uint64_t n_used = kAll - addresses_left();
  const auto bytes_with = [&](std::uint64_t n_left) {
    limit_to(n_used + n_left);
    std::string text;
    try {
      text = std::to_string(NodeMemory::default_bytes_a_core(2) >> 20);
    } catch (const Error& error) {
      text = error.what();
    }
    setrlimit(RLIMIT_AS, &before);
    return text;
  };
  constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;
  const std::string of_two = bytes_with(2 * kGibi);  // some of it went to this test
  EXPECT_GE(std::stoi(of_two), 500) << of_two;
  EXPECT_LE(std::stoi(of_two), 512) << of_two;
  const std::string of_few = bytes_with(kGibi / 20);
  EXPECT_NE(of_few.find("MiB more of addresses (ulimit -v), and 2 cores need more than 64"),
            std::string::npos)
      << of_few;
}

// Nodes of machines with more memory and less: an array that one of them has no addresses for is refused,
// and smaller ones are not.
TEST(SymmetricHeap, IsAsLargeAsThatOfTheLeastCore) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  SimulateOptions options = options_of(3, 1, 1);
  options.on_engine = [](core::MessageEngine& engine, const core::JobShape& shape) {
    if (shape.node == 1) engine.core(0).local_or_make<detail::RegionBytes>().n_bytes = 24 * kMebi;
  };
  std::vector<std::string> errors;
  std::uint64_t n_words = 0;
  simulate(
      [&] {
        for (const std::uint64_t n_mebi : {30, 20, 30, 6, 3}) {
          try {
            const auto words = GlobalArray<std::uint64_t>::make(3 * n_mebi * kMebi / 8);
            n_words += words.size();
            errors.emplace_back();
            if (n_mebi == 6) words.free();
          } catch (const Error& error) {
            errors.emplace_back(error.what());
          }
        }
      },
      options);
  ASSERT_EQ(errors.size(), 5U);
  for (const std::size_t refused : {0U, 2U, 3U})
    EXPECT_NE(errors[refused].find("core 1 has addresses for 24 MiB"), std::string::npos)
        << errors[refused];
  EXPECT_EQ(errors[1], "");
  EXPECT_EQ(errors[4], "");
  EXPECT_EQ(n_words, 3 * 23 * kMebi / 8);
}

// One that is refused keeps nobody else out meanwhile.
TEST(SymmetricHeap, WhatIsRefusedIsRoomForOthers) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimulateOptions options = options_of(2, 2, seed);
    options.on_engine = [](core::MessageEngine& engine, const core::JobShape& shape) {
      if (shape.node == 1) engine.core(0).local_or_make<detail::RegionBytes>().n_bytes = 24 * kMebi;
    };
    std::vector<std::uint64_t> refused;
    const auto ask = [&](std::uint64_t n_mebi) {
      try {
        static_cast<void>(allocate_symmetric(n_mebi * kMebi));
      } catch (const Error&) {
        refused.push_back(n_mebi);
      }
    };
    simulate(
        [&] {
          finish([&] {
            for (const std::uint64_t n_mebi : {40, 10, 8})
              spawn([&, n_mebi] { ask(n_mebi); });
          });
        },
        options);
    EXPECT_EQ(refused, std::vector<std::uint64_t>{40}) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato::global

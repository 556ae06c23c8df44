// Each delegate in its three forms, and addresses on one core.

#include "rubato/global/delegate.hpp"

#include <span>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/bulk.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/program.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

// One task, on all words in turn: what a plain word does.
std::uint64_t n_wrong_forms(std::uint64_t seed) {
  const auto words = GlobalArray<std::uint64_t>::make(std::uint64_t{n_cores()} * 2);
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    const auto p = words[i];
    std::uint64_t word = 0;
    for (std::uint64_t step = 0; step < 30; ++step) {
      const std::uint64_t choice = hash_words(seed, i, step);
      const std::uint64_t form = choice / 8 % 3;
      const std::uint64_t expected = choice % 2 == 0 ? word : word + 1;
      switch (choice % 8 / 2) {
        case 0:
          if (form == 0) write(p, step);
          if (form == 1) finish([&] { async_write(p, step); });
          if (form == 2) future_write(p, step).get();
          word = step;
          break;
        case 1:
          if (form == 0) n_wrong += fetch_add(p, 3) == word ? 0 : 1;
          if (form == 1) finish([&] { async_fetch_add(p, 3); });
          if (form == 2) n_wrong += future_fetch_add(p, 3).get() == word ? 0 : 1;
          word += 3;
          break;
        case 2: {
          const bool does = expected == word;
          if (form == 0) n_wrong += compare_exchange(p, expected, 50) == does ? 0 : 1;
          if (form == 1) finish([&] { async_compare_exchange(p, expected, 50); });
          if (form == 2) n_wrong += future_compare_exchange(p, expected, 50).get() == does ? 0 : 1;
          if (does) word = 50;
          break;
        }
        default: {
          std::uint64_t found = 0;
          if (form == 0) found = read(p);
          if (form == 1) finish([&] { fetch(p, [to = &found](std::uint64_t x) { *to = x; }); });
          if (form == 2) found = future_read(p).get();
          n_wrong += found == word ? 0 : 1;
        }
      }
    }
    n_wrong += read(p) == word ? 0 : 1;
  }
  words.free();
  return n_wrong;
}

TEST(Delegates, DoTheSameWaitedForAsynchronousAndAsAFuture) {
  expect_right(n_wrong_forms);
}

// In symmetric memory, and on a stack.
TEST(GlobalPtr, MovesOverTheElementsOfACore) {
  simulate_seed(2, 1, 1, [] {
    const auto array = GlobalArray<std::uint32_t>::make(20, 10);
    std::uint32_t local[10];
    for (std::uint32_t i = 0; i < 10; ++i)
      local[i] = i;
    put(std::span<const std::uint32_t>(local), array[10]);
    for (const auto& first : {array[10], make_global(local[0])}) {
      auto p = first;
      EXPECT_EQ(read(p[7]), 7U);
      p += 6;
      p -= 2;
      ++p;
      EXPECT_EQ(p - first, 5);
      EXPECT_EQ(first - p, -5);
      EXPECT_EQ(read(p), 5U);
      EXPECT_EQ(read(p - 3), 2U);
      --p;
      EXPECT_EQ(read(p), 4U);
      EXPECT_EQ(p, first + 4);
    }
    array.free();
  });
}

}  // namespace
}  // namespace rubato::global

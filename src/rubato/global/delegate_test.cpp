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

// A word of some core beside a plain one, to which the same is done: waited for, asynchronously, or
// as a future.
struct Word {
  GlobalPtr<std::uint64_t> p;
  std::uint64_t expected = 0;
  std::uint64_t n_wrong = 0;

  void check(bool is_right) { n_wrong += is_right ? 0 : 1; }
  void set(std::uint64_t form, std::uint64_t value) {
    if (form == 0) write(p, value);
    if (form == 1) finish([&] { async_write(p, value); });
    if (form == 2) future_write(p, value).get();
    expected = value;
  }
  void add(std::uint64_t form) {
    if (form == 0) check(fetch_add(p, 3) == expected);
    if (form == 1) finish([&] { async_fetch_add(p, 3); });
    if (form == 2) check(future_fetch_add(p, 3).get() == expected);
    expected += 3;
  }
  void exchange(std::uint64_t form, std::uint64_t old) {
    const bool does = old == expected;
    if (form == 0) check(compare_exchange(p, old, 50) == does);
    if (form == 1) finish([&] { async_compare_exchange(p, old, 50); });
    if (form == 2) check(future_compare_exchange(p, old, 50).get() == does);
    if (does) expected = 50;
  }
  void look(std::uint64_t form) {
    std::uint64_t found = 0;
    if (form == 0) found = read(p);
    if (form == 1) finish([&] { fetch(p, [to = &found](std::uint64_t x) { *to = x; }); });
    if (form == 2) found = future_read(p).get();
    check(found == expected);
  }
};

std::uint64_t n_wrong_forms(std::uint64_t seed) {
  const auto words = GlobalArray<std::uint64_t>::make(std::uint64_t{n_cores()} * 2);
  std::uint64_t n_wrong = 0;
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    Word word{words[i]};
    for (std::uint64_t step = 0; step < 10; ++step) {
      const std::uint64_t choice = hash_words(seed, i, step);
      const std::uint64_t form = choice / 8 % 3;
      if (choice % 4 == 0) word.set(form, step);
      if (choice % 4 == 1) word.add(form);
      if (choice % 4 == 2) word.exchange(form, word.expected + choice / 4 % 2);
      word.look(form);
    }
    n_wrong += word.n_wrong;
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

// Linear addresses.

#include "rubato/global/array.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/add.hpp"
#include "rubato/global/bulk.hpp"
#include "rubato/global/program.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

static_assert(std::random_access_iterator<ArrayPtr<int>>);

// Arithmetic of addresses is that of indices, across blocks and cores.
std::uint64_t n_wrong_steps(std::uint64_t seed) {
  const std::uint64_t n = 1 + hash_words(seed) % 300;
  const auto array = GlobalArray<std::uint64_t>::make(n, seed % 5);
  forall(array, [](std::uint64_t i, std::uint64_t& x) { x = i * 3; });
  const auto begin = array.begin();
  const auto size = static_cast<std::ptrdiff_t>(n);
  std::uint64_t n_wrong = array.end() - begin == size ? 0 : 1;
  auto p = begin;
  for (std::uint64_t step = 0; step < 60; ++step) {
    const auto to = static_cast<std::ptrdiff_t>(hash_words(seed, step) % n);
    const auto q = step % 2 == 0 ? p + (to - p.index()) : p - (p.index() - to);
    n_wrong += read(*q) == static_cast<std::uint64_t>(to) * 3 &&
                       *q == array[static_cast<std::uint64_t>(to)]
                   ? 0
                   : 1;
    n_wrong += read(begin[to]) == read(p[to - p.index()]) ? 0 : 1;
    n_wrong +=
        q - p == to - p.index() && (q < p) == (to < p.index()) && (q == p) == (to == p.index()) ? 0
                                                                                                : 1;
    p = q;
  }
  // It travels: another core steps on from it.
  std::uint64_t sum = 0;
  on_all_cores([=, to = make_global(sum)] {
    std::uint64_t mine = 0;
    for (auto at = array.begin() + this_core(); at < array.end(); at += n_cores())
      mine += read(*at);
    async_add(to, mine);
  });
  n_wrong += sum == n * (n - 1) / 2 * 3 ? 0 : 1;
  array.free();
  return n_wrong;
}

TEST(ArrayPtr, MovesAsAnIndexDoes) {
  expect_right(n_wrong_steps);
}

// A part of an array: each element of it once, by its index, at its owner.
std::uint64_t n_wrong_parts(std::uint64_t seed) {
  const std::uint64_t n = 1 + hash_words(seed) % 300;
  const auto array = GlobalArray<std::uint64_t>::make(n, seed % 5);
  std::vector<std::uint64_t> expected(n, 0);
  for (std::uint64_t round = 0; round < 8; ++round) {
    auto first = hash_words(seed, round, 1) % (n + 1);
    auto last = round == 0 ? first : hash_words(seed, round, 2) % (n + 1);
    if (first > last) std::swap(first, last);
    const auto from = array.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to = array.begin() + static_cast<std::ptrdiff_t>(last);
    forall(from, to, [round](std::uint64_t i, std::uint64_t& x) { x += i + round; });
    for (std::uint64_t i = first; i < last; ++i)
      expected[i] += i + round;
  }
  std::vector<std::uint64_t> found(n);
  get(array.begin(), found);
  std::uint64_t n_wrong = found == expected ? 0 : 1;
  const std::uint64_t middle = n / 3;
  std::vector<std::uint64_t> part(n - middle);
  get(array.begin() + static_cast<std::ptrdiff_t>(middle), part);
  n_wrong +=
      std::equal(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(middle))
          ? 0
          : 1;
  std::ranges::reverse(part);
  put(part, array.begin() + static_cast<std::ptrdiff_t>(middle));
  for (std::uint64_t i = middle; i < n; ++i)
    n_wrong += read(array[i]) == part[i - middle] ? 0 : 1;
  array.free();
  return n_wrong;
}

TEST(ArrayPtr, BoundsLoopsAndCopiesOfAPart) {
  expect_right(n_wrong_parts);
}

}  // namespace
}  // namespace rubato::global

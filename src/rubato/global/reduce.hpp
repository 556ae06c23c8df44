#pragma once
// Reductions that one task asks for: over what all cores say, and over the elements of an array.
//
//   const std::uint64_t n = reduce_cores([=] { return table.local().size(); }, std::plus<>{});
//   const double total = sum(array);      the same bits on any number of cores
//
// All wait. What is called on other cores captures plain values. (SPMD code has Team.)

#include <concepts>
#include <functional>

#include "rubato/base/exact_sum.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/reduce_cores.hpp"

namespace rubato::global {

// op over all elements from `identity` on. Elements are combined by core, so op is associative and
// commutative to the bit: sums of integers, smallest and largest; for sums of doubles there is
// sum().
template <class T, class Op>
[[nodiscard]] T reduce(const GlobalArray<T>& array, const T& identity, const Op& op,
                       SourcePlace at = SourcePlace::here()) {
  return reduce_cores(
      [array, identity, op] {
        const T* const mine = array.local();
        const std::uint64_t n = array.n_of(CoreContext::here().core());
        T all = identity;
        for (std::uint64_t k = 0; k < n; ++k)
          all = op(all, mine[k]);
        return all;
      },
      op, at);
}

// Integers: modulo 2^bits. double: without rounding but for the last step (ExactSum); float: of the sum as a
// double. So the bits do not depend on the number of cores.
template <class T>
[[nodiscard]] T sum(const GlobalArray<T>& array, SourcePlace at = SourcePlace::here()) {
  static_assert(
      !std::same_as<T, long double>,
      "sums are exact of float and double: reduce() has others, in the order of the cores");
  if constexpr (std::floating_point<T>) {
    const ExactSum all = reduce_cores(
        [array] {
          ExactSum mine;
          const std::uint64_t n = array.n_of(CoreContext::here().core());
          for (std::uint64_t k = 0; k < n; ++k)
            mine.add(static_cast<double>(array.local()[k]));
          return mine;
        },
        [](ExactSum a, const ExactSum& b) {
          a.add(b);
          return a;
        },
        at);
    return static_cast<T>(all.value());
  } else {
    return reduce(array, T{}, std::plus<>{}, at);
  }
}

}  // namespace rubato::global

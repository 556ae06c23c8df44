#pragma once
// Sixteen numbers at once, for sums whose order is part of the result.
//
// A sum over n values adds value i to lane i % 16 and adds up the lanes in a fixed tree, whatever
// the machine's vectors are wide: the compiler splits Lanes into what there is, and IEEE arithmetic
// without contraction gives the same bits on all of them.

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cmath>

// Lanes are passed between inlined functions only; their ABI is nobody's business.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace rubato::tick::points {

inline constexpr std::size_t kLanes = 16;

namespace detail {

template <class T>
struct LanesOf;
template <>
struct LanesOf<float> {
  using Type __attribute__((vector_size(kLanes * sizeof(float)))) = float;
};
template <>
struct LanesOf<double> {
  using Type __attribute__((vector_size(kLanes * sizeof(double)))) = double;
};

}  // namespace detail

// + - * / and comparisons act lane by lane; `mask ? a : b` takes lanes of a where the mask holds.
template <class T>
using Lanes = typename detail::LanesOf<T>::Type;

template <class T>
[[nodiscard]] inline Lanes<T> load(const T* from) noexcept {
  Lanes<T> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <class T>
inline void store(T* to, const Lanes<T>& lanes) noexcept {
  std::memcpy(to, &lanes, sizeof lanes);
}

template <class T>
[[nodiscard]] inline Lanes<T> all(T value) noexcept {
  return Lanes<T>{} + value;
}

// The square root of each lane, rounded correctly.
[[nodiscard]] inline Lanes<float> sqrt(const Lanes<float>& v) noexcept {
#ifdef __AVX512F__
  // The form with a mask, since GCC 12 warns about the plain one's unused operand.
  return (Lanes<float>)_mm512_maskz_sqrt_ps(0xffff, (__m512)v);
#else
  Lanes<float> root;
  for (std::size_t i = 0; i < kLanes; ++i)
    root[i] = std::sqrt(v[i]);
  return root;
#endif
}
[[nodiscard]] inline Lanes<double> sqrt(const Lanes<double>& v) noexcept {
  Lanes<double> root;
  for (std::size_t i = 0; i < kLanes; ++i)
    root[i] = std::sqrt(v[i]);
  return root;
}

// The lanes added up: 8 + 8, 4 + 4, 2 + 2, 1 + 1.
template <class T>
[[nodiscard]] inline T sum(const Lanes<T>& v) noexcept {
  const auto by_8 = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto by_4 = __builtin_shufflevector(by_8, by_8, 0, 1, 2, 3) +
                    __builtin_shufflevector(by_8, by_8, 4, 5, 6, 7);
  const auto by_2 =
      __builtin_shufflevector(by_4, by_4, 0, 1) + __builtin_shufflevector(by_4, by_4, 2, 3);
  return by_2[0] + by_2[1];
}

// Whether a mask, what a comparison of lanes gives, holds anywhere.
template <class Mask>
[[nodiscard]] inline bool any(const Mask& mask) noexcept {
#ifdef __AVX512F__
  if constexpr (sizeof mask == 64) {
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
  }
#endif
  bool found = false;
  for (std::size_t i = 0; i < kLanes; ++i)
    found = found || mask[i] != 0;
  return found;
}

}  // namespace rubato::tick::points

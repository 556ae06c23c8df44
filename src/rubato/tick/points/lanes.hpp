#pragma once
// Sixteen numbers at once, for sums whose order is part of the result.
//
// A sum over n values adds value i to lane i % 16 and adds up the lanes in a fixed tree, whatever
// the machine's vectors are wide: the compiler splits Lanes into what there is, and IEEE arithmetic
// without contraction gives the same bits on all of them [design 6: same bits].

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
  return (Lanes<float>)_mm512_sqrt_ps((__m512)v);
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
[[nodiscard]] inline T sum(const Lanes<T>& lanes) noexcept {
#ifdef __AVX512F__
  if constexpr (sizeof(T) == sizeof(float)) {
    const __m512 v = (__m512)lanes;
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
    const __m256 by_8 = _mm256_add_ps(_mm512_castps512_ps256(v), high);
    const __m128 by_4 = _mm_add_ps(_mm256_castps256_ps128(by_8), _mm256_extractf128_ps(by_8, 1));
    const __m128 by_2 = _mm_add_ps(by_4, _mm_movehl_ps(by_4, by_4));
    return _mm_cvtss_f32(_mm_add_ss(by_2, _mm_movehdup_ps(by_2)));
  }
#endif
  T part[kLanes];
  std::memcpy(part, &lanes, sizeof part);
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i)
      part[i] += part[i + width];
  }
  return part[0];
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

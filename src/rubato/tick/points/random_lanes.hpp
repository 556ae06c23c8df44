#pragma once
// random_words() of base/random.hpp for sixteen ids at once: the same numbers, four times as fast.

#include <array>
#include <cstddef>
#include <cstdint>

#include "rubato/tick/points/lanes.hpp"

namespace rubato::tick::points {

using WordLanes __attribute__((vector_size(kLanes * sizeof(std::uint32_t)))) = std::uint32_t;

namespace detail {

using LongLanes __attribute__((vector_size(kLanes * sizeof(std::uint64_t)))) = std::uint64_t;

// 64-bit products of 32-bit lanes, as their halves.
struct Products {
  WordLanes high;
  WordLanes low;
};
[[nodiscard]] inline Products multiply(const WordLanes& a, std::uint32_t b) noexcept {
#ifdef __AVX512F__
  // Even and odd lanes by the instruction that multiplies 32-bit halves; the generic form below
  // becomes full 64-bit products, three times as slow.
  const __m512i by = _mm512_set1_epi32(static_cast<int>(b));
  const __m512i even = _mm512_mul_epu32((__m512i)a, by);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), by);
  const __m512i high = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
  const __m512i low = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
  return {(WordLanes)high, (WordLanes)low};
#else
  const LongLanes product = __builtin_convertvector(a, LongLanes) * std::uint64_t{b};
  return {__builtin_convertvector(product >> 32, WordLanes),
          __builtin_convertvector(product, WordLanes)};
#endif
}

}  // namespace detail

// Lane i of word w is random_words(seed, ids[i], tick)[w].
[[nodiscard]] inline std::array<WordLanes, 4> random_words_lanes(
    std::uint64_t seed, const std::array<std::uint64_t, kLanes>& ids, std::uint64_t tick) noexcept {
  // Philox4x32-10, as Random123 has it.
  std::array<WordLanes, 4> c;
  for (std::size_t i = 0; i < kLanes; ++i) {
    c[0][i] = static_cast<std::uint32_t>(ids[i]);
    c[1][i] = static_cast<std::uint32_t>(ids[i] >> 32);
  }
  c[2] = WordLanes{} + static_cast<std::uint32_t>(tick);
  c[3] = WordLanes{} + static_cast<std::uint32_t>(tick >> 32);
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const detail::Products a = detail::multiply(c[0], 0xD2511F53U);
    const detail::Products b = detail::multiply(c[2], 0xCD9E8D57U);
    c = {b.high ^ c[1] ^ key0, b.low, a.high ^ c[3] ^ key1, a.low};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return c;
}

}  // namespace rubato::tick::points

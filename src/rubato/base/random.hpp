#pragma once
// Counter-based random numbers: a value is a pure function of (seed, id, tick, draw), so that a
// replica, a restart and any number of nodes draw the same bits in any order. Philox4x32-10 (Salmon
// et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) from the Random123 library.

#include <array>
#include <cstdint>

// Not its wrappers of vectors, nor what needs them (who wants <Random123/ars.h> includes it before this):
// no header of intrinsics where words are drawn.
#ifndef R123_USE_SSE
#define R123_USE_SSE 0
#endif
#ifndef R123_USE_AES_NI
#define R123_USE_AES_NI 0
#endif
#ifndef R123_USE_X86INTRIN_H
#define R123_USE_X86INTRIN_H 0
#endif
#include <Random123/philox.h>

namespace rubato {

// Four independent 32-bit words for one (seed, id, tick).
[[nodiscard]] inline std::array<std::uint32_t, 4> random_words(std::uint64_t seed, std::uint64_t id,
                                                               std::uint64_t tick) noexcept {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
       static_cast<std::uint32_t>(tick), static_cast<std::uint32_t>(tick >> 32)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto out = r123::Philox4x32{}(counter, key);
  return {out[0], out[1], out[2], out[3]};
}

// Uniform in [0, 1) with all bits of the type's precision used, never 1.
[[nodiscard]] inline double unit_double(std::uint32_t high, std::uint32_t low) noexcept {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1.0p-53;
}
[[nodiscard]] inline float unit_float(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1.0p-24F;
}

// A well-mixed 64-bit hash of up to three words: ids of born tuples, seeds of links.
[[nodiscard]] inline std::uint64_t hash_words(std::uint64_t a, std::uint64_t b = 0,
                                              std::uint64_t c = 0) noexcept {
  const auto words = random_words(a, b, c);
  return std::uint64_t{words[0]} << 32 | words[1];
}

// A sequential generator over one stream, for tests and set-up code. Meets
// UniformRandomBitGenerator.
class RandomStream {
 public:
  using result_type = std::uint64_t;

  explicit RandomStream(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : seed_(seed), stream_(stream) {}

  [[nodiscard]] static constexpr std::uint64_t min() noexcept { return 0; }
  [[nodiscard]] static constexpr std::uint64_t max() noexcept { return ~std::uint64_t{0}; }
  std::uint64_t operator()() noexcept { return hash_words(seed_, stream_, n_drawn_++); }

  // Uniform in [0, 1).
  [[nodiscard]] double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  // Uniform in [low, high], both included. REQUIRES: low <= high.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    // Unsigned, since the width of the whole range does not fit a signed number.
    const auto first = static_cast<std::uint64_t>(low);
    const std::uint64_t width = static_cast<std::uint64_t>(high) - first + 1;
    return static_cast<std::int64_t>(first + (width == 0 ? (*this)() : (*this)() % width));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t n_drawn_ = 0;
};

}  // namespace rubato

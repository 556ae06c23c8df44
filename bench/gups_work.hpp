#pragma once
// The updates of `gups`, and the limit beside them: what two threads reach that do nothing else.

#include <cstdint>

namespace rubato::bench {

// The word that update i increments: all bits of i in all bits of the result.
[[gnu::always_inline]] inline std::uint64_t gups_word(std::uint64_t i,
                                                      std::uint64_t mask) noexcept {
  std::uint64_t x = i * 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  x ^= x >> 32;
  return x & mask;
}

// Million updates a second of a table of 2^log2_words words by two threads: each owns half of the
// words, sends updates of the other half in blocks of 32 KiB through a ring, and prefetches what it
// applies. Blocks; checks that all updates are there.
[[nodiscard]] double gups_owner_computes(std::uint32_t log2_words, std::uint64_t n_updates);

// Million random reads a second by two threads that read one table in place, without owners or
// messages, and prefetch: what gather is held against. Blocks; checks the sum.
[[nodiscard]] double gather_in_place(std::uint32_t log2_words, std::uint64_t n_reads);

}  // namespace rubato::bench

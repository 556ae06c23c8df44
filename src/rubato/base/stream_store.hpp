#pragma once
// Stores past the caches: for what another core will read and this one will not. A usual store asks for the
// line first, which that core still has from the last time it read there, and gets it across the chip or, where the
// two have no cache in common, across chips; these go to memory, a whole line at a time. A processor
// gathers few lines so: eight streams that are written by turns cost what usual stores do, twelve
// twice as much (AMD Zen 4, decision 0036).
//
// Seen by others in any order: whoever hands on what was written so calls stream_fence() before.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rubato {

// Sanitizers would not see them.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kHasStreamStores = true;
#else
inline constexpr bool kHasStreamStores = false;
#endif

// REQUIRES: `at` is a multiple of 8.
template <class T>
requires(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0)
    [[gnu::always_inline]] inline void stream_store(std::byte* at, const T& value) noexcept {
  constexpr std::size_t kWords = sizeof(T) / 8;
  std::uint64_t words[kWords];
  std::memcpy(words, &value, sizeof value);
#if defined(__x86_64__)
  for (std::size_t i = 0; i < kWords; ++i)
    __builtin_ia32_movnti64(reinterpret_cast<long long*>(at) + i, static_cast<long long>(words[i]));
#else
  std::memcpy(at, words, sizeof words);
#endif
}

[[gnu::always_inline]] inline void stream_fence() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace rubato

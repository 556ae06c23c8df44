#pragma once
// Prefetching: asks for a cache line and does not wait for it; of an address that is not mapped, nothing
// happens.
//
// The first-level cache can wait for few lines at a time (24 on Zen 4), the second-level cache for more.
// What lies in memory is so had at twice to three times the rate into the second one (measured by
// `rubato bench yield` and `bench gups`, docs/benchmarks.md), if it is asked for long enough ahead.
//
// Always inline: of a function that does nothing else GCC finds that it has no effect, and drops the call.

namespace rubato {

// Of one among many lines all over memory, used in a hundred steps or so: into the second-level cache.
[[gnu::always_inline]] inline void prefetch_from_memory(const void* address) noexcept {
  __builtin_prefetch(address, 0, 2);
}

// To be written soon: into the first-level cache, and from other cores' caches.
[[gnu::always_inline]] inline void prefetch_for_write(const void* address) noexcept {
  __builtin_prefetch(address, 1, 3);
}

}  // namespace rubato

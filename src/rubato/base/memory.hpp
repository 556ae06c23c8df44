#pragma once
// What this machine has of memory, so that what can never fit is refused before it is tried, and what is
// meant to stay in a cache is cut to its size.

#include <cstdint>

namespace rubato {

// Bytes of all of it, whoever uses them.
[[nodiscard]] std::uint64_t physical_memory() noexcept;

// Bytes of addresses that this process may still ask for (ulimit -v), UINT64_MAX if nothing limits them.
[[nodiscard]] std::uint64_t addresses_left() noexcept;

// Bytes of the second-level cache of the processor that asks; 0 if the system does not say.
[[nodiscard]] std::uint64_t second_level_cache() noexcept;

// From now on the process keeps what it frees, up to 64 MiB a thread, for what it allocates next: a buffer of
// some 64 KiB that comes from the system and goes back to it each time costs more in page faults than a
// copy of it. These are the values that glibc's own adaptation ends at; other libraries are left alone.
void keep_freed_memory() noexcept;

}  // namespace rubato

#pragma once
// What this machine has of memory, so that what can never fit is refused before it is tried.

#include <cstdint>

namespace rubato {

// Bytes of all of it, whoever uses them.
[[nodiscard]] std::uint64_t physical_memory() noexcept;

}  // namespace rubato

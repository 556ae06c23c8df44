#pragma once
// What a core may do in a slice, in records that it applies: what it did in one says how much it may
// do in the next.

#include <cstdint>

namespace rubato::core::detail {

inline constexpr std::uint64_t kBudgetLeast = 8;
inline constexpr std::uint64_t kBudgetMost = 1 << 16;

}  // namespace rubato::core::detail

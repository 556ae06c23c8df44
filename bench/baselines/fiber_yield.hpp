#pragma once
// The baseline of `yield`: the same tasks as fibers of Boost.Fiber, round robin. Built where
// Boost.Fiber is installed.

#include <cstddef>
#include <cstdint>

namespace rubato::bench {

// ns a yield of `n` fibers, each of which yields `n_yields` times; their stacks lie in random
// order. Blocks; takes 8 KiB a fiber.
[[nodiscard]] double fiber_yield_ns(std::size_t n, std::uint64_t n_yields, std::uint64_t seed);

}  // namespace rubato::bench

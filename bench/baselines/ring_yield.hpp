#pragma once
// What a switch between stacks costs at the least: tasks in a ring whose order never changes, without
// a scheduler. What a switch needs is nowhere on the stacks; stacks, switches and what is asked for ahead
// are those of tasks.

#include <cstddef>
#include <cstdint>

namespace rubato::bench {

// ns a yield of `n` stacks in random order, each of which yields `n_yields` times. Blocks; takes
// 4 KiB a stack.
[[nodiscard]] double ring_yield_ns(std::size_t n, std::uint64_t n_yields, std::uint64_t seed);

}  // namespace rubato::bench

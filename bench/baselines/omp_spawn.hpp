#pragma once
// The baseline of `spawn`: empty tasks of OpenMP.

#include <cstdint>

namespace rubato::bench {

// Million tasks a second that one thread makes and `n_threads` run. Blocks; checks their number.
[[nodiscard]] double omp_spawn_rate(std::uint32_t n_threads, std::uint64_t n_tasks);

}  // namespace rubato::bench

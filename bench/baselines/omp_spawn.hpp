#pragma once
// The baseline of `spawn` and of flows: empty tasks of OpenMP.

#include <cstdint>

namespace rubato::bench {

// Million tasks a second that one thread makes and `n_threads` run. Blocks; checks their number.
[[nodiscard]] double omp_spawn_rate(std::uint32_t n_threads, std::uint64_t n_tasks);

// The same, when each thread makes its share of them.
[[nodiscard]] double omp_spawn_rate_of_all(std::uint32_t n_threads, std::uint64_t n_tasks);
// Million tasks a second, each of which depends on the one before.
[[nodiscard]] double omp_chain_rate(std::uint32_t n_threads, std::uint64_t n_tasks);

}  // namespace rubato::bench

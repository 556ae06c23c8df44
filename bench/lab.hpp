#pragma once
// Programs in the lab, for benchmarks: real processes on emulated hosts with a late network.

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::bench {

// Ticks a second of a program on `n_hosts` lab hosts; it prints a line of JSON with
// "ticks_per_second". `profile` are words of `rubato lab`. Blocks; throws Error if there is no such
// line, e.g. since the lab needs root.
[[nodiscard]] double in_lab(int n_hosts, const std::vector<std::string>& profile,
                            std::uint64_t seed, const std::vector<std::string>& program);

}  // namespace rubato::bench

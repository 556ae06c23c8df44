#pragma once
// The baseline of `flow-app` and `flow-start`: programs that are started by hand.

#include <cstdint>
#include <string>

#include "rubato/base/time.hpp"

namespace rubato::bench {

// Programs a second that `n_threads` threads start and wait for, one after the other each, from a
// process that does nothing else. Blocks. Throws Error if one does not end with 0.
[[nodiscard]] double spawn_rate(const std::string& path, std::uint32_t n_threads,
                                std::uint64_t n_programs);

// How long the program takes, from its start to its end as its parent sees it. What it says is
// discarded. Blocks. Throws Error if it does not end with 0.
[[nodiscard]] Nanos spawn_time(const std::string& path);

}  // namespace rubato::bench

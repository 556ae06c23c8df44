#pragma once
// The baseline of `flow-workers`: what one writes by hand, a queue under a lock and threads that take from it.

#include <cstdint>

#include "rubato/base/time.hpp"

namespace rubato::bench {

// Million tasks a second that one thread puts and `n_workers` others run, each for that time. Blocks; checks
// their number.
[[nodiscard]] double worker_queue_rate(std::uint32_t n_workers, std::uint64_t n_tasks, Nanos each);

}  // namespace rubato::bench

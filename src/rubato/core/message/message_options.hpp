#pragma once
// How the cores of a node exchange messages, and run tasks.

#include <cstddef>
#include <cstdint>

#include "rubato/base/time.hpp"
#include "rubato/core/message/native_pool.hpp"
#include "rubato/core/task/scheduler.hpp"

namespace rubato::core {

struct MessageOptions {
  std::size_t block_bytes = std::size_t{32} << 10;   // between cores of a node
  std::uint32_t window_blocks = 8;                   // to each of them
  std::size_t buffer_bytes = std::size_t{64} << 10;  // a buffer to another node leaves with so much
  std::size_t window_bytes = std::size_t{4} << 20;   // of a core, to each node
  // And with the slice in which it has that age; where there are many, later (by 1 for 8 of them,
  // at most 16 times as late).
  Nanos deadline = 100 * kMicrosecond;
  Nanos combining_age = 5 * kMillisecond;  // what is held back leaves in a slice after that
  Nanos slice = 50 * kMicrosecond;         // what a core does at a stretch, if its tasks let it
  Scheduler::Options tasks{};
  // Of the iterations of loops and other pooled tasks of a core: so many may wait, for each level of
  // scopes within each other (runner_levels.hpp). No more begin before one of them goes on.
  std::uint32_t n_waiting_most = 4096;
  // A core asks other nodes for pooled tasks when it has so few left that it would wait for the answer,
  // so that some are there when it has none [Turbine 3: ADLB's gets]. How long an answer takes it
  // measures; it asks this long ahead at most. 0: when it has none.
  Nanos ask_ahead = 4 * kMillisecond;
  // Of a node, for run_native(); 0: it runs on the core itself.
  std::uint32_t n_native_threads = native_threads_of_process();
  // For figures of what happens within a turn; null: virtual time, which only the host moves.
  Nanos (*clock)() noexcept = &steady_now;
  // Virtual costs: of a record that is applied, a turn of a task, a buffer that is sent or taken.
  Nanos apply_cost = 20;
  Nanos turn_cost = 20;
  Nanos buffer_cost = 2 * kMicrosecond;
};

}  // namespace rubato::core

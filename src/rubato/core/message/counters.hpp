#pragma once
// CoreCounters: what a core has done since the start. Counted by block, run and slice, never by
// record.

#include <cstdint>

#include "rubato/base/bytes.hpp"

namespace rubato::core {

struct CoreCounters {
  // Messages.
  std::uint64_t n_posted = 0;  // records
  std::uint64_t n_applied = 0;
  std::uint64_t n_runs = 0;
  std::uint64_t n_blocks = 0;           // that left, to cores of the node and to others
  std::uint64_t n_full_blocks = 0;      // because they were full
  std::uint64_t n_bytes = 0;            // in blocks
  std::uint64_t n_buffers = 0;          // to other nodes
  std::uint64_t n_full_buffers = 0;     // because they were full,
  std::uint64_t n_hurried_buffers = 0;  // because somebody waits for what was hurried,
  std::uint64_t n_late_buffers = 0;  // because of the deadline; the others since the core was idle
  std::uint64_t n_room_waits = 0;    // of tasks, for room to send
  std::uint64_t n_combined = 0;      // operations that were added to one that was held back
  // Tasks.
  std::uint64_t n_tasks = 0;       // with a stack of their own, that were spawned
  std::uint64_t n_switches = 0;    // to such tasks
  std::uint64_t n_pooled = 0;      // pooled tasks, when they entered a pool
  std::uint64_t n_pooled_run = 0;  // those that this core ran
  std::uint64_t n_stolen = 0;      // of those of other cores of the node
  std::uint64_t n_given = 0;       // of those to other nodes
  std::uint64_t n_begs = 0;        // questions for tasks to other nodes
  std::uint64_t n_slices = 0;      // turns of the core
  // The most at the end of a slice; of several cores, of any of them.
  std::uint64_t n_waiting_max = 0;  // tasks that waited for something
  std::uint64_t n_queued_max = 0;   // tasks that had not begun

  void add(const CoreCounters& other) noexcept;
  bool operator==(const CoreCounters&) const = default;
};

// As bytes for other nodes; docs/formats.md has them.
void put(Writer& out, const CoreCounters& counters);
[[nodiscard]] CoreCounters get_core_counters(Reader& in);

}  // namespace rubato::core

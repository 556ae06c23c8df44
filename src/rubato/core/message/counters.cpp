#include "rubato/core/message/counters.hpp"

#include <algorithm>

namespace rubato::core {
namespace {

using Member = std::uint64_t CoreCounters::*;

constexpr Member kSums[] = {
    &CoreCounters::n_posted,       &CoreCounters::n_applied,      &CoreCounters::n_runs,
    &CoreCounters::n_blocks,       &CoreCounters::n_full_blocks,  &CoreCounters::n_bytes,
    &CoreCounters::n_buffers,      &CoreCounters::n_full_buffers, &CoreCounters::n_hurried_buffers,
    &CoreCounters::n_late_buffers, &CoreCounters::n_room_waits,   &CoreCounters::n_combined,
    &CoreCounters::n_tasks,        &CoreCounters::n_switches,     &CoreCounters::n_pooled,
    &CoreCounters::n_pooled_run,   &CoreCounters::n_stolen,       &CoreCounters::n_given,
    &CoreCounters::n_begs,         &CoreCounters::n_slices,
};
constexpr Member kMaxima[] = {&CoreCounters::n_waiting_max, &CoreCounters::n_queued_max};

static_assert(sizeof(CoreCounters) ==
              sizeof(std::uint64_t) * (std::size(kSums) + std::size(kMaxima)));

}  // namespace

void CoreCounters::add(const CoreCounters& other) noexcept {
  for (const Member sum : kSums)
    this->*sum += other.*sum;
  for (const Member maximum : kMaxima)
    this->*maximum = std::max(this->*maximum, other.*maximum);
}

void put(Writer& out, const CoreCounters& counters) {
  for (const Member sum : kSums)
    out.put(counters.*sum);
  for (const Member maximum : kMaxima)
    out.put(counters.*maximum);
}

CoreCounters get_core_counters(Reader& in) {
  CoreCounters counters;
  for (const Member sum : kSums)
    counters.*sum = in.get<std::uint64_t>();
  for (const Member maximum : kMaxima)
    counters.*maximum = in.get<std::uint64_t>();
  return counters;
}

}  // namespace rubato::core

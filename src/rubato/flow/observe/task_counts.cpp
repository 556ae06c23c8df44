#include "rubato/flow/observe/task_counts.hpp"

namespace rubato::flow {

void TaskCounts::add(const TaskCounts& other) noexcept {
  made += other.made;
  gone += other.gone;
  begun += other.begun;
  ended += other.ended;
  failed += other.failed;
  asked += other.asked;
  served += other.served;
}

void LiveTaskCounts::write(const TaskCounts& counts) noexcept {
  const auto write = [](Count& n, std::uint64_t value) {
    n.store(value, std::memory_order_relaxed);
  };
  write(made, counts.made);
  write(gone, counts.gone);
  write(begun, counts.begun);
  write(ended, counts.ended);
  write(failed, counts.failed);
  write(asked, counts.asked);
  write(served, counts.served);
}

TaskCounts LiveTaskCounts::read() const noexcept {
  const auto read = [](const Count& n) { return n.load(std::memory_order_relaxed); };
  // What ends first is read first, so that nothing seems to end before it begins.
  TaskCounts counts;
  counts.failed = read(failed);
  counts.ended = read(ended);
  counts.served = read(served);
  counts.asked = read(asked);
  counts.begun = read(begun);
  counts.gone = read(gone);
  counts.made = read(made);
  return counts;
}

}  // namespace rubato::flow

#pragma once
// TaskCounts: how far tasks are. LiveTaskCounts: the same, of one that writes them while others read.

#include <atomic>
#include <cstdint>

namespace rubato::flow {

// Of the tasks of a core, or of several. A task that moves is made on one core and begins on another:
// only sums over all cores mean something by themselves.
struct TaskCounts {
  std::uint64_t made = 0;  // rules
  std::uint64_t gone = 0;  // of them: that are no tasks, and those that did not run
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;  // of those that ended
  // How often those that had begun wanted a thread beside the cores, and got it.
  std::uint64_t asked = 0;
  std::uint64_t served = 0;

  // For input, or for their turn: that of a core, or of a thread beside the cores.
  [[nodiscard]] std::uint64_t waiting() const noexcept {
    return less(made, gone + begun) + for_thread();
  }
  [[nodiscard]] std::uint64_t running() const noexcept { return less(begun, ended + for_thread()); }
  [[nodiscard]] std::uint64_t for_thread() const noexcept { return less(asked, served); }
  [[nodiscard]] std::uint64_t done() const noexcept { return less(ended, failed); }
  void add(const TaskCounts& other) noexcept;
  bool operator==(const TaskCounts&) const = default;

 private:
  // Counts that other cores write meanwhile may not agree.
  [[nodiscard]] static std::uint64_t less(std::uint64_t a, std::uint64_t b) noexcept {
    return a > b ? a - b : 0;
  }
};

// Written by one thread, but for what says so; read by any.
struct LiveTaskCounts {
  using Count = std::atomic<std::uint64_t>;
  Count made{0}, gone{0}, begun{0}, ended{0}, failed{0}, asked{0};
  Count served{0};  // count_shared()

  // One more. By the thread that writes.
  static void count(Count& n) noexcept {
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // The same, by any thread.
  static void count_shared(Count& n) noexcept { n.fetch_add(1, std::memory_order_relaxed); }
  // All of them. By the thread that writes.
  void write(const TaskCounts& counts) noexcept;
  [[nodiscard]] TaskCounts read() const noexcept;
};

}  // namespace rubato::flow

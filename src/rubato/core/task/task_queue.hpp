#pragma once
// TaskQueue: closures that wait for a worker, first in, first out, back to back in blocks of
// memory. A closure takes its own size and 32 bytes; nothing is allocated for one but a block for
// hundreds.
//
// Not for several threads at once. Closures that are still there when the queue ends are destroyed
// and not run.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/base/source_place.hpp"

namespace rubato::core::detail {

// What people are told of a task.
struct TaskLabel {
  const char* name = "";  // lives as long as the program: a literal
  SourcePlace spawned;

  // For a label that other threads look at now and then (load()), who may see half of the change.
  void store(const TaskLabel& other) noexcept {
    std::atomic_ref(name).store(other.name, std::memory_order_relaxed);
    std::atomic_ref(spawned.file).store(other.spawned.file, std::memory_order_relaxed);
    std::atomic_ref(spawned.line).store(other.spawned.line, std::memory_order_relaxed);
  }
  [[nodiscard]] TaskLabel load() noexcept {
    return {std::atomic_ref(name).load(std::memory_order_relaxed),
            {std::atomic_ref(spawned.file).load(std::memory_order_relaxed),
             std::atomic_ref(spawned.line).load(std::memory_order_relaxed)}};
  }
};

class TaskQueue {
 public:
  TaskQueue() = default;
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  [[nodiscard]] bool empty() const noexcept { return n_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }

  template <class F>
  void push(F&& f, TaskLabel label) {
    using Closure = std::remove_cvref_t<F>;
    static_assert(std::is_invocable_v<Closure&>, "a task is something to call without arguments");
    static_assert(
        std::is_nothrow_move_constructible_v<Closure>,
        "the closure of a task must be moved without exceptions: it goes from its queue to "
        "the stack that it runs on");
    static_assert(sizeof(Closure) <= kClosureMost && alignof(Closure) <= kAlign,
                  "the closure of a task is larger than 4 KiB or has an alignment above 16: let it "
                  "own its data by pointer");
    Record* record = allocate(sizeof(Record) + sizeof(Closure));
    record->run = &run_closure<Closure>;
    record->label = label;
    ::new (static_cast<void*>(record + 1)) Closure(std::forward<F>(f));
    ++n_;
  }

  // Takes the oldest closure off and runs it, on the stack of the caller. `begin` is told of its
  // label before. REQUIRES: !empty().
  template <class Begin>
  void run_oldest(Begin&& begin) {
    Record* record = oldest();
    begin(record->label);
    record->run(record + 1, Run::call);
  }

 private:
  static constexpr std::size_t kAlign = 16;
  static constexpr std::size_t kClosureMost = 4096;
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

  enum class Run : std::uint8_t { call, drop };

  struct alignas(kAlign) Record {
    void (*run)(void* closure, Run what) = nullptr;
    std::size_t n_bytes = 0;  // with the closure
    TaskLabel label;
  };
  struct Block {
    Block* next = nullptr;
    std::size_t begin = 0;  // of what is not taken, in bytes
    std::size_t end = 0;    // of what was put in
    alignas(kAlign) std::byte bytes[kBlockBytes];
  };

  // Moves the closure off first: when it runs, its record may be gone.
  template <class Closure>
  static void run_closure(void* at, Run what) {
    auto* closure = static_cast<Closure*>(at);
    if (what == Run::drop) {
      closure->~Closure();
      return;
    }
    Closure mine(std::move(*closure));
    closure->~Closure();
    static_cast<void>(mine());
  }

  [[nodiscard]] Record* allocate(std::size_t n_bytes) {
    n_bytes = (n_bytes + kAlign - 1) / kAlign * kAlign;
    if (last_ == nullptr || kBlockBytes - last_->end < n_bytes) [[unlikely]]
      add_block();
    auto* record = ::new (static_cast<void*>(last_->bytes + last_->end)) Record;
    record->n_bytes = n_bytes;
    last_->end += n_bytes;
    return record;
  }
  // The record stays readable until the next call.
  [[nodiscard]] Record* oldest() {
    RUBATO_DASSERT(n_ > 0);
    if (first_->begin == first_->end) [[unlikely]]
      drop_block();
    auto* record = std::launder(reinterpret_cast<Record*>(first_->bytes + first_->begin));
    first_->begin += record->n_bytes;
    --n_;
    return record;
  }
  void add_block();
  void drop_block();

  Block* first_ = nullptr;
  Block* last_ = nullptr;
  std::unique_ptr<Block> spare_;  // the one that was emptied last
  std::size_t n_ = 0;
};

}  // namespace rubato::core::detail

#pragma once
// Blocks: memory that one core fills with records for another, and the ring that takes them there.
//
// A block is a sequence of runs, each of records of one kind: a head, then the records. So a kind
// is looked up once a run, and its records are applied in a loop that the compiler has seen whole.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rubato/core/job_shape.hpp"
#include "rubato/core/message/handlers.hpp"

namespace rubato::core {

// Names a finish scope everywhere (finish_table.hpp); 0 is no scope. From the upper end: 32 bits of
// the core that opened it, 8 of its level, 24 of a number.
using FinishId = std::uint64_t;

[[nodiscard]] constexpr CoreId home_of(FinishId finish) noexcept {
  return static_cast<CoreId>(finish >> 32);
}

namespace detail {

// Scopes within each other, of which those that lie deeper count as the last.
constexpr std::uint32_t kScopeLevels = 255;
constexpr std::uint32_t kScopeNumberBits = 24;
// 0 outside all scopes.
[[nodiscard]] constexpr std::uint32_t level_of(FinishId finish) noexcept {
  return static_cast<std::uint32_t>(finish >> kScopeNumberBits) & kScopeLevels;
}

// In front of the records of a run. Blocks stay in the memory of the executable that wrote them, or
// go to another process that runs the same one.
struct RunHead {
  HandlerId handler = 0;
  std::uint32_t n_records = 0;
  std::uint64_t n_bytes =
      0;  // of the records, with a payload; the next run begins at a multiple of 8
  FinishId finish = 0;
};
static_assert(sizeof(RunHead) == 24);

struct Block {
  explicit Block(std::size_t n) : capacity(n), bytes(new std::byte[n]) {}
  std::size_t capacity;
  std::size_t n_bytes = 0;
  std::unique_ptr<std::byte[]> bytes;
};

// What came from another node in one piece; whoever brought it to its cores has it until they are
// done.
struct Parcel {
  Bytes bytes;
  CoreId from = 0;
  std::uint32_t n_open = 0;  // parts that are in rings
};

// From one core to another of its node: one pushes and reclaims, one takes. Bounded; no locks.
class BlockRing {
 public:
  static constexpr std::uint64_t kEntries = 64;

  struct Entry {
    const std::byte* runs = nullptr;
    std::size_t n_bytes = 0;
    CoreId from = 0;  // who filled it
    // Who lent it; one of them.
    Block* block = nullptr;
    Parcel* parcel = nullptr;
  };

  // Of the pushing core. False if the ring is full.
  [[nodiscard]] bool try_push(const Entry& entry) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - n_reclaimed_ == kEntries) return false;
    entries_[head % kEntries] = entry;
    head_.store(head + 1, std::memory_order_release);  // with front()
    return true;
  }
  // Calls f(entry) for those that the other core is done with, in their order.
  template <class F>
  void reclaim(F&& f) {
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);  // with pop()
    for (; n_reclaimed_ != tail; ++n_reclaimed_)
      f(entries_[n_reclaimed_ % kEntries]);
  }

  // When both have stopped: the same for all that is there.
  template <class F>
  void drop(F&& f) {
    for (; n_reclaimed_ != head_; ++n_reclaimed_)
      f(entries_[n_reclaimed_ % kEntries]);
  }

  // Of the taking core: the oldest entry, or null.
  [[nodiscard]] const Entry* front() const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == tail) return nullptr;
    return &entries_[tail % kEntries];
  }
  void pop() noexcept {
    tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t n_reclaimed_ = 0;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) Entry entries_[kEntries];
};

}  // namespace detail
}  // namespace rubato::core

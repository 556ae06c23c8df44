#pragma once
// TaskPool: tasks of a core that any core may run instead [Grappa 3.2, the public queue], and such
// as are bound to it but as small.
//
// A pooled task is a record, a plain struct with run(CoreContext&), 8 to some hundred bytes that
// may travel. Records of one kind and one scope lie back to back in chunks; the newest is run
// first, so that a tree is walked in depth, and the oldest are given away, which are the largest
// parts of what is split in halves.
//
// Nothing is shared before somebody asks: a core that has nothing to do counts itself as hungry,
// and whoever has more than it can run at once publishes half of its chunks under a lock. Others
// pay a look at one counter, in a line that nobody writes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "rubato/core/message/block.hpp"

namespace rubato::core {

class CoreContext;

template <class R>
concept PooledTask = std::is_trivially_copyable_v<R> && alignof(R) <= 8 &&
                     requires(const R& record, CoreContext& here) {
  record.run(here);
};

namespace detail {

// A pooled task may own something of its node: with send(here, to) it says how it goes to another
// one, in a message that hands it to CoreContext::take_given() there. Cores of the node take it as
// it is.
template <class R>
concept SendsItself = requires(const R& record, CoreContext& here, CoreId to) {
  record.send(here, to);
};

// What can be done with a record without knowing its type.
struct PooledKind {
  void (*run)(CoreContext& here, const std::byte* record) = nullptr;
  // Posts `n` records to another core, whose pool they enter.
  void (*send)(CoreContext& here, CoreId to, const std::byte* records, std::size_t n) = nullptr;
  std::size_t stride = 0;
};

// Records of one kind and one scope.
struct TaskChunk {
  static constexpr std::size_t kBytes = 2048;

  const PooledKind* kind = nullptr;
  FinishId finish = 0;
  std::size_t n = 0;
  alignas(8) std::byte bytes[kBytes];
};
using TaskChunkPtr = std::unique_ptr<TaskChunk>;

// What the cores of a node know of each other; each counter in a line of its own.
struct NodeHunger {
  alignas(64) std::atomic<std::uint32_t> n_hungry{0};  // cores that have nothing to do
  alignas(64) std::atomic<std::uint32_t> n_shared{
      0};  // chunks that have been published and not taken
};

// Of one core; only take_from() is called by others.
class TaskPool {
 public:
  explicit TaskPool(NodeHunger& hunger) noexcept : hunger_(hunger) {}

  [[nodiscard]] bool empty() const noexcept { return n_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }
  [[nodiscard]] std::size_t n_chunks() const noexcept { return chunks_.size(); }
  // Of this core, where others may take it.
  [[nodiscard]] bool has_shared() const noexcept {
    return n_shared_.load(std::memory_order_relaxed) > 0;
  }

  // Room for the next record; true if a chunk was begun for it.
  bool begin_push(const PooledKind& kind, FinishId finish, std::byte*& at) {
    TaskChunk* top = chunks_.empty() ? nullptr : chunks_.back().get();
    bool is_new = false;
    if (top == nullptr || top->kind != &kind || top->finish != finish ||
        (top->n + 1) * kind.stride > TaskChunk::kBytes) [[unlikely]] {
      top = &add_chunk(kind, finish);
      is_new = true;
    }
    at = top->bytes + top->n * kind.stride;
    ++top->n;
    ++n_;
    return is_new;
  }
  // The chunk of the newest record. REQUIRES: !empty().
  [[nodiscard]] TaskChunk& top() noexcept { return *chunks_.back(); }
  // The newest record has been read.
  void pop() noexcept {
    --n_;
    if (--chunks_.back()->n == 0) [[unlikely]]
      drop_top();
  }

  // Half of the records, the oldest, some thousand at most, for whoever comes. REQUIRES: size() > 1.
  void share_half();
  // Half of the records, the oldest, `n_most` at most; at least one. REQUIRES: size() > 1.
  [[nodiscard]] std::vector<TaskChunkPtr> take_half(std::size_t n_most);
  // What nobody has taken is this core's again. False if all is gone.
  bool take_back();
  // Moves half of what `victim` has shared here, at least a chunk. Calls taken(chunk) for each.
  // False if there was nothing.
  template <class F>
  bool take_from(TaskPool& victim, F&& taken) {
    std::vector<TaskChunkPtr> chunks = victim.give(true);
    for (TaskChunkPtr& chunk : chunks) {
      taken(*chunk);
      append(std::move(chunk));
    }
    return !chunks.empty();
  }

 private:
  TaskChunk& add_chunk(const PooledKind& kind, FinishId finish);
  void drop_top() noexcept;
  void append(TaskChunkPtr chunk);
  [[nodiscard]] std::vector<TaskChunkPtr> give(bool half);

  NodeHunger& hunger_;
  std::size_t n_ = 0;
  std::deque<TaskChunkPtr> chunks_;  // the oldest first
  std::vector<TaskChunkPtr> spare_;
  alignas(64) std::mutex shared_mutex_;
  std::deque<TaskChunkPtr> shared_;  // under it
  std::atomic<std::uint32_t> n_shared_{0};
};

}  // namespace detail
}  // namespace rubato::core

#pragma once
// TaskPool: tasks of a core that any core may run instead [Grappa 3.2, the public queue], and such
// as are bound to it but as small.
//
// A pooled task is a record, a plain struct with run(CoreContext&), 8 to some hundred bytes that
// may travel. Records of one kind and one scope lie back to back in chunks. Those of the deepest
// scope are run first; of them such as make others last (MakesMore), so that nobody makes what lies
// unused; and of these the newest, so that a tree is walked in depth. From the other end they are
// given away: the oldest are the largest parts of what is split in halves.
//
// Nothing is shared before somebody asks: a core that has nothing to do counts itself as hungry,
// and whoever has more than it can run at once publishes half of its chunks under a lock: between two
// tasks, or when one makes more (is_offer_due). Others pay a look at one counter,
// in a line that nobody writes.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/message/block.hpp"

namespace rubato::core {

class CoreContext;

template <class R>
concept PooledTask = std::is_trivially_copyable_v<R> && alignof(R) <= 8 &&
                     requires(const R& record, CoreContext& here) {
  record.run(here);
};

// Of a pooled task.
constexpr std::size_t kPooledBytesMost = 512;

namespace detail {

// A pooled task may own something of its node: with send(here, to) it says how it goes to another
// one, in a message that hands it to CoreContext::take_given() there. Cores of the node take it as
// it is.
template <class R>
concept SendsItself = requires(const R& record, CoreContext& here, CoreId to) {
  record.send(here, to);
};

// A pooled task whose work is to make others says so: static constexpr bool kMakesMore = true.
template <class R>
concept MakesMore = requires {
  requires R::kMakesMore;
};

// What can be done with a record without knowing its type.
struct PooledKind {
  void (*run)(CoreContext& here, const std::byte* record) = nullptr;
  // Posts `n` records to another core, whose pool they enter.
  void (*send)(CoreContext& here, CoreId to, const std::byte* records, std::size_t n) = nullptr;
  std::size_t stride = 0;
  bool makes_more = false;
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
  // Records that it has shared or that went to other nodes, until it is told that another core has
  // them.
  [[nodiscard]] std::size_t n_lent() const noexcept { return n_lent_; }
  void note_sent(std::size_t n) noexcept { n_lent_ += n; }
  void note_gone(std::size_t n) noexcept { n_lent_ -= n; }
  // Of the records that are run next. REQUIRES: !empty().
  [[nodiscard]] std::uint32_t level() const noexcept { return level_of(top_->finish); }
  // Of this core, where others may take it: some of that level, or a deeper one.
  [[nodiscard]] bool has_shared(std::uint32_t least) const noexcept {
    return n_shared_levels_.load(std::memory_order_relaxed) > least;
  }

  // Room for the next record; true if a chunk was begun for it.
  bool begin_push(const PooledKind& kind, FinishId finish, std::byte*& at) {
    TaskChunk* chunk = top_;
    bool is_new = false;
    if (chunk == nullptr || !is_for(*chunk, kind, finish)) [[unlikely]]
      chunk = &chunk_for(kind, finish, is_new);
    at = chunk->bytes + chunk->n * kind.stride;
    ++chunk->n;
    ++n_;
    return is_new;
  }
  // Whether there are some, and those that are run next are of that scope.
  [[nodiscard]] bool is_next_of(FinishId finish) const noexcept {
    return top_ != nullptr && top_->finish == finish;
  }
  // The chunk of the record that is next, its last one. REQUIRES: !empty().
  [[nodiscard]] TaskChunk& top() noexcept { return *top_; }
  // That record has been read.
  void pop() noexcept {
    --n_;
    if (--top_->n == 0) [[unlikely]]
      drop_top();
  }

  // Whether a core of the node has nothing to do, and finds nothing that was shared.
  [[nodiscard]] bool is_wanted() const noexcept {
    return hunger_.n_hungry.load(std::memory_order_relaxed) >
           hunger_.n_shared.load(std::memory_order_relaxed);
  }
  // Whether a task has let its core share what it had made, and few were made since.
  [[nodiscard]] bool is_offering() const noexcept { return is_offering_; }
  // After a push, while somebody is hungry or this is_offering(). True: the task that made it lets its core
  // share now, which wakes whoever is idle. That is at once if few are made, which may be long ones, and
  // so may be what the task does then; of many short ones together: `clock()` is asked for the first that
  // somebody wants, the second, the fourth and so on. Of those that are made after an offer, while nobody
  // wants any, half lies ready for who will soon.
  template <class Clock>
  [[nodiscard]] bool is_offer_due(Clock clock) {
    if (empty()) return false;
    if (is_wanted()) {
      if (!std::has_single_bit(++n_wanted_)) return false;
      const Nanos now = clock();
      if (now < next_offer_) return false;
      next_offer_ = now + kBetweenOffers;
      n_wanted_ = n_made_ = 0;
      return is_offering_ = true;
    }
    n_wanted_ = 0;
    if (!is_offering_ || !std::has_single_bit(++n_made_)) return false;
    is_offering_ = n_made_ < kFew;
    if (is_offering_) share_half();
    return false;
  }
  // Its core has looked who wants some.
  void note_look() noexcept { n_wanted_ = 0; }
  // Half of the records, the oldest, some thousand at most, for whoever comes; at least one. REQUIRES:
  // !empty().
  void share_half();
  // Half of the records, the oldest, `n_most` at most; at least one. REQUIRES: !empty().
  [[nodiscard]] std::vector<TaskChunkPtr> take_half(std::size_t n_most);
  // What nobody has taken, of that level or a deeper one, is this core's again. False if there is
  // nothing.
  bool take_back(std::uint32_t least);
  // Moves half of what `victim` has shared here, at least a chunk. Calls taken(chunk) for each.
  // False if there was nothing.
  template <class F>
  bool take_from(TaskPool& victim, F&& taken) {
    std::vector<TaskChunkPtr> chunks = victim.give_half();
    for (TaskChunkPtr& chunk : chunks) {
      taken(*chunk);
      append(std::move(chunk));
    }
    return !chunks.empty();
  }

 private:
  [[nodiscard]] static bool is_for(const TaskChunk& chunk, const PooledKind& kind,
                                   FinishId finish) noexcept {
    return chunk.kind == &kind && chunk.finish == finish &&
           (chunk.n + 1) * kind.stride <= TaskChunk::kBytes;
  }
  // What is run first has the highest.
  [[nodiscard]] static std::uint32_t rank_of(const PooledKind& kind, FinishId finish) noexcept {
    return 2 * level_of(finish) + (kind.makes_more ? 0 : 1);
  }
  [[nodiscard]] static std::uint32_t rank_of(const TaskChunk& chunk) noexcept {
    return rank_of(*chunk.kind, chunk.finish);
  }
  // Null if there is none.
  [[nodiscard]] TaskChunk* newest_of(std::uint32_t rank) noexcept {
    return rank < ranks_.size() && !ranks_[rank].empty() ? ranks_[rank].back().get() : nullptr;
  }
  [[nodiscard]] std::deque<TaskChunkPtr>& chunks_of(std::uint32_t rank) {
    if (rank >= ranks_.size()) ranks_.resize(rank + 1);
    return ranks_[rank];
  }
  // With room for one; if it is a new one, `is_new` says so.
  TaskChunk& chunk_for(const PooledKind& kind, FinishId finish, bool& is_new);
  TaskChunk& add_chunk(const PooledKind& kind, FinishId finish);
  void drop_top() noexcept;
  void find_top() noexcept;
  void append(TaskChunkPtr chunk);
  [[nodiscard]] std::vector<TaskChunkPtr> give_half();
  void count_shared(const std::vector<TaskChunkPtr>& chunks, bool are_given);

  static constexpr Nanos kBetweenOffers = 20 * kMicrosecond;  // about what waking a core takes
  static constexpr std::uint32_t kFew = 1024;

  NodeHunger& hunger_;
  std::uint32_t n_wanted_ = 0;  // pushes that somebody wanted, since the last look
  std::uint32_t n_made_ = 0;    // since the last offer, that nobody did
  bool is_offering_ = false;
  Nanos next_offer_ = 0;
  std::size_t n_ = 0;
  std::size_t n_lent_ = 0;
  std::size_t n_chunks_ = 0;
  TaskChunk* top_ = nullptr;                     // the newest of the highest rank
  std::vector<std::deque<TaskChunkPtr>> ranks_;  // the oldest first
  std::vector<TaskChunkPtr> spare_;
  alignas(64) std::mutex shared_mutex_;
  std::deque<TaskChunkPtr> shared_;  // under it, with the next one
  std::vector<std::uint32_t> n_shared_of_level_;
  std::atomic<std::uint32_t> n_shared_levels_{0};  // the deepest that it has, and one
};

}  // namespace detail
}  // namespace rubato::core

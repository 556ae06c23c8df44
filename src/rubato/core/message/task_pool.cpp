#include "rubato/core/message/task_pool.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "rubato/base/error.hpp"

namespace rubato::core::detail {
namespace {

constexpr std::size_t kSpareMost = 64;
// Tasks that are published at a time: enough for some hundred microseconds of whoever takes them.
// More would go to and fro where one core makes tasks faster than all run them.
constexpr std::size_t kSharedMost = 8192;

}  // namespace

TaskChunk& TaskPool::chunk_for(const PooledKind& kind, FinishId finish, bool& is_new) {
  TaskChunk* const newest = newest_of(rank_of(kind, finish));
  is_new = newest == nullptr || !is_for(*newest, kind, finish);
  return is_new ? add_chunk(kind, finish) : *newest;
}

TaskChunk& TaskPool::add_chunk(const PooledKind& kind, FinishId finish) {
  TaskChunkPtr chunk;
  if (spare_.empty()) {
    chunk.reset(new TaskChunk);  // its bytes as they are
  } else {
    chunk = std::move(spare_.back());
    spare_.pop_back();
  }
  chunk->kind = &kind;
  chunk->finish = finish;
  chunk->n = 0;
  const std::uint32_t rank = rank_of(kind, finish);
  TaskChunk& added = *chunks_of(rank).emplace_back(std::move(chunk));
  ++n_chunks_;
  if (top_ == nullptr || rank >= rank_of(*top_)) top_ = &added;
  return added;
}

void TaskPool::drop_top() noexcept {
  std::deque<TaskChunkPtr>& chunks = ranks_[rank_of(*top_)];
  if (spare_.size() < kSpareMost) spare_.push_back(std::move(chunks.back()));
  chunks.pop_back();
  --n_chunks_;
  find_top();
}

void TaskPool::find_top() noexcept {
  top_ = nullptr;
  for (std::size_t rank = ranks_.size(); rank-- > 0 && top_ == nullptr;)
    top_ = newest_of(static_cast<std::uint32_t>(rank));
}

// As the oldest of its rank: what this core has begun comes first.
void TaskPool::append(TaskChunkPtr chunk) {
  n_ += chunk->n;
  ++n_chunks_;
  std::deque<TaskChunkPtr>& chunks = chunks_of(rank_of(*chunk));
  chunks.push_front(std::move(chunk));
  find_top();
}

std::vector<TaskChunkPtr> TaskPool::take_half(std::size_t n_most) {
  RUBATO_REQUIRE(n_ > 0, n_);
  std::vector<TaskChunkPtr> taken;
  std::size_t n_taken = 0;
  const std::size_t n_chunks = n_ == 1 ? 1 : n_chunks_ / 2;
  for (std::deque<TaskChunkPtr>& chunks : ranks_) {
    while (!chunks.empty() && taken.size() < n_chunks &&
           (taken.empty() || n_taken + chunks.front()->n <= n_most)) {
      n_taken += chunks.front()->n;
      taken.push_back(std::move(chunks.front()));
      chunks.pop_front();
    }
    // Or there are enough.
    if (!chunks.empty()) break;
  }
  n_chunks_ -= taken.size();
  if (taken.empty()) {
    // All of them lie in one chunk, which is cut.
    TaskChunk& all = *top_;
    n_taken = all.n / 2;
    taken.push_back(TaskChunkPtr(new TaskChunk));
    TaskChunk& oldest = *taken.back();
    oldest.kind = all.kind;
    oldest.finish = all.finish;
    oldest.n = n_taken;
    const std::size_t n_bytes = n_taken * all.kind->stride;
    std::memcpy(oldest.bytes, all.bytes, n_bytes);
    all.n -= n_taken;
    std::memmove(all.bytes, all.bytes + n_bytes, all.n * all.kind->stride);
  }
  n_ -= n_taken;
  find_top();
  return taken;
}

void TaskPool::share_half() {
  const std::size_t n_before = n_;
  std::vector<TaskChunkPtr> chunks = take_half(kSharedMost);
  n_lent_ += n_before - n_;
  const std::lock_guard lock(shared_mutex_);
  count_shared(chunks, false);
  std::ranges::move(chunks, std::back_inserter(shared_));
}

// Under the lock: they come, or go.
void TaskPool::count_shared(const std::vector<TaskChunkPtr>& chunks, bool are_given) {
  const std::uint32_t one = are_given ? UINT32_MAX : 1;
  for (const TaskChunkPtr& chunk : chunks) {
    const std::uint32_t level = level_of(chunk->finish);
    if (level >= n_shared_of_level_.size()) n_shared_of_level_.resize(level + 1);
    n_shared_of_level_[level] += one;
  }
  auto n_levels = static_cast<std::uint32_t>(n_shared_of_level_.size());
  while (n_levels > 0 && n_shared_of_level_[n_levels - 1] == 0)
    --n_levels;
  n_shared_levels_.store(n_levels);
  hunger_.n_shared.fetch_add(static_cast<std::uint32_t>(chunks.size()) * one);
}

std::vector<TaskChunkPtr> TaskPool::give_half() {
  std::vector<TaskChunkPtr> chunks;
  if (!has_shared(0)) return chunks;
  const std::lock_guard lock(shared_mutex_);
  const std::size_t n = (shared_.size() + 1) / 2;
  for (std::size_t i = 0; i < n; ++i) {
    chunks.push_back(std::move(shared_.front()));
    shared_.pop_front();
  }
  count_shared(chunks, true);
  return chunks;
}

bool TaskPool::take_back(std::uint32_t least) {
  if (!has_shared(least)) return false;
  std::vector<TaskChunkPtr> chunks;
  {
    const std::lock_guard lock(shared_mutex_);
    const auto mine = std::stable_partition(
        shared_.begin(), shared_.end(),
        [least](const TaskChunkPtr& chunk) { return level_of(chunk->finish) < least; });
    std::move(mine, shared_.end(), std::back_inserter(chunks));
    shared_.erase(mine, shared_.end());
    count_shared(chunks, true);
  }
  // The oldest of them is to be the oldest again.
  const std::size_t n_before = n_;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
    append(std::move(*chunk));
  n_lent_ -= n_ - n_before;
  return !chunks.empty();
}

}  // namespace rubato::core::detail

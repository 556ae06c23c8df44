#include "rubato/core/message/task_pool.hpp"

#include <cstring>
#include <utility>

#include "rubato/base/error.hpp"

namespace rubato::core::detail {
namespace {

constexpr std::size_t kSpareMost = 64;
// Tasks that are published at a time: enough for some hundred microseconds of whoever takes them.
// More would go to and fro where one core makes tasks faster than all run them.
constexpr std::size_t kSharedMost = 8192;

}  // namespace

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
  chunks_.push_back(std::move(chunk));
  return *chunks_.back();
}

void TaskPool::drop_top() noexcept {
  if (spare_.size() < kSpareMost) spare_.push_back(std::move(chunks_.back()));
  chunks_.pop_back();
}

// As the oldest: what this core has begun comes first.
void TaskPool::append(TaskChunkPtr chunk) {
  n_ += chunk->n;
  chunks_.push_front(std::move(chunk));
}

std::vector<TaskChunkPtr> TaskPool::take_half(std::size_t n_most) {
  RUBATO_REQUIRE(n_ > 1, n_);
  std::vector<TaskChunkPtr> taken;
  std::size_t n_taken = 0;
  const std::size_t n_chunks = chunks_.size() / 2;
  while (taken.size() < n_chunks && (taken.empty() || n_taken + chunks_.front()->n <= n_most)) {
    n_taken += chunks_.front()->n;
    taken.push_back(std::move(chunks_.front()));
    chunks_.pop_front();
  }
  if (taken.empty()) {
    // All of them lie in one chunk, which is cut.
    TaskChunk& all = *chunks_.front();
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
  return taken;
}

void TaskPool::share_half() {
  std::vector<TaskChunkPtr> chunks = take_half(kSharedMost);
  const auto n = static_cast<std::uint32_t>(chunks.size());
  const std::lock_guard lock(shared_mutex_);
  for (TaskChunkPtr& chunk : chunks)
    shared_.push_back(std::move(chunk));
  n_shared_.fetch_add(n);
  hunger_.n_shared.fetch_add(n);
}

std::vector<TaskChunkPtr> TaskPool::give(bool half) {
  std::vector<TaskChunkPtr> chunks;
  if (!has_shared()) return chunks;
  const std::lock_guard lock(shared_mutex_);
  const std::size_t n = half ? (shared_.size() + 1) / 2 : shared_.size();
  for (std::size_t i = 0; i < n; ++i) {
    chunks.push_back(std::move(shared_.front()));
    shared_.pop_front();
  }
  n_shared_.fetch_sub(static_cast<std::uint32_t>(n));
  hunger_.n_shared.fetch_sub(static_cast<std::uint32_t>(n));
  return chunks;
}

bool TaskPool::take_back() {
  std::vector<TaskChunkPtr> chunks = give(false);
  // The oldest of them is to be the oldest again.
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
    append(std::move(*chunk));
  return !chunks.empty();
}

}  // namespace rubato::core::detail

#include "rubato/global/coroutine.hpp"

namespace rubato::global {

void CoroutineEvent::set() {
  is_set_ = true;
  while (first_ != nullptr) {
    Awaiter& next = *std::exchange(first_, first_->next_);
    CoreContext& here = CoreContext::here();
    const auto waiter = next.waiter_;
    const CoreContext::RunningScope inside(here, waiter.promise().scope);
    waiter.resume();
  }
}

namespace detail {

thread_local FramePool FramePool::pool;

FramePool::~FramePool() {
  while (blocks_ != nullptr)
    ::operator delete(std::exchange(blocks_, blocks_->next));
}

void* FramePool::allocate(std::size_t n_bytes) {
  const std::size_t of_class = (n_bytes + kStep - 1) / kStep;
  if (of_class >= kClasses) return ::operator new(n_bytes);
  FramePool& mine = pool;
  Free*& free = mine.free_[of_class];
  if (free != nullptr) return std::exchange(free, free->next);
  const std::size_t n = of_class * kStep;
  if (static_cast<std::size_t>(mine.end_ - mine.next_) < n) {
    auto* const block = static_cast<std::byte*>(::operator new(kBlockBytes));
    mine.blocks_ = ::new (block) Free{mine.blocks_};
    mine.next_ = block + kStep;
    mine.end_ = block + kBlockBytes;
  }
  return std::exchange(mine.next_, mine.next_ + n);
}

void FramePool::deallocate(void* frame, std::size_t n_bytes) noexcept {
  const std::size_t of_class = (n_bytes + kStep - 1) / kStep;
  if (of_class >= kClasses) {
    ::operator delete(frame);
    return;
  }
  Free*& free = pool.free_[of_class];
  free = ::new (frame) Free{free};
}

}  // namespace detail
}  // namespace rubato::global

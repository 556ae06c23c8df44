#include "rubato/core/message/frame_pool.hpp"

#include <new>
#include <utility>

#include "rubato/base/prefetch.hpp"

namespace rubato::core::detail {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

FramePool::~FramePool() {
  while (blocks_ != nullptr)
    ::operator delete(std::exchange(blocks_, blocks_->next));
}

void* FramePool::allocate(std::size_t n_bytes) {
  const std::size_t of_class = (n_bytes + kStep - 1) / kStep;
  if (of_class >= kClasses) return ::operator new(n_bytes);
  Free*& free = free_[of_class];
  const std::size_t n = of_class * kStep;
  if (free != nullptr) {
    Free* const frame = std::exchange(free, free->next);
    // Where very many were in use, the next one lies in memory, and is asked for now.
    if (const auto* next = reinterpret_cast<const std::byte*>(free); next != nullptr) {
      for (std::size_t at = 0; at < n; at += kLine)
        prefetch_for_write(next + at);
    }
    return frame;
  }
  if (static_cast<std::size_t>(end_ - next_) < n) {
    auto* const block = static_cast<std::byte*>(::operator new(kBlockBytes));
    blocks_ = ::new (block) Free{blocks_};
    next_ = block + kStep;
    end_ = block + kBlockBytes;
  }
  return std::exchange(next_, next_ + n);
}

void FramePool::deallocate(void* frame, std::size_t n_bytes) noexcept {
  const std::size_t of_class = (n_bytes + kStep - 1) / kStep;
  if (of_class >= kClasses) {
    ::operator delete(frame);
    return;
  }
  Free*& free = free_[of_class];
  free = ::new (frame) Free{free};
}

}  // namespace rubato::core::detail

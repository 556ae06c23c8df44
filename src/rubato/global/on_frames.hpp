#pragma once
// OnFrames: for what `new` puts among the frames of coroutines of its core.

#include <cstddef>
#include <new>

#include "rubato/core/message/core_context.hpp"
#include "rubato/core/message/frame_pool.hpp"

namespace rubato::global::detail {

// What lies among the frames of the core that makes it (frame_pool.hpp).
struct OnFrames {
  // In front of it stands the pool that it is of: it may end when no core runs.
  static void* operator new(std::size_t n_bytes) {
    core::detail::FramePool& pool = core::CoreContext::here().frames();
    auto* const frame = static_cast<std::byte*>(pool.allocate(n_bytes + kPrefix));
    ::new (static_cast<void*>(frame)) core::detail::FramePool*(&pool);
    return frame + kPrefix;
  }
  static void operator delete(void* at, std::size_t n_bytes) noexcept {
    std::byte* const frame = static_cast<std::byte*>(at) - kPrefix;
    (*std::launder(reinterpret_cast<core::detail::FramePool**>(frame)))
        ->deallocate(frame, n_bytes + kPrefix);
  }
  // What is aligned for more lies on the heap.
  static void* operator new(std::size_t n_bytes, std::align_val_t alignment) {
    return ::operator new(n_bytes, alignment);
  }
  static void operator delete(void* at, std::size_t /*n_bytes*/,
                              std::align_val_t alignment) noexcept {
    ::operator delete(at, alignment);
  }

 private:
  static constexpr std::size_t kPrefix = 16;
};

}  // namespace rubato::global::detail

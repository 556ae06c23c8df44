#pragma once
// FramePool: memory for the frames of coroutines of one core, from lists by size, without a lock.

#include <array>
#include <cstddef>

namespace rubato::core::detail {

class FramePool {
 public:
  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  // Frees all frames that came from its blocks.
  ~FramePool();

  [[nodiscard]] void* allocate(std::size_t n_bytes);
  // REQUIRES: of allocate(n_bytes) of this pool.
  void deallocate(void* frame, std::size_t n_bytes) noexcept;

 private:
  static constexpr std::size_t kStep = 32;
  static constexpr std::size_t kClasses = 32;  // up to 1 KiB
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
  struct Free {
    Free* next;
  };

  std::array<Free*, kClasses> free_{};
  std::byte* next_ = nullptr;  // in the newest block
  std::byte* end_ = nullptr;
  Free* blocks_ = nullptr;  // linked through their first word
};

}  // namespace rubato::core::detail

#pragma once
// A zeroed array straight from the kernel: huge pages where it is large, resident only where
// touched.

#include <cstddef>
#include <utility>

namespace rubato::tick::detail {

class Pages {
 public:
  Pages() = default;
  // Throws Error if the machine has no room.
  explicit Pages(std::size_t n_bytes);
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), n_bytes_(std::exchange(other.n_bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(n_bytes_, other.n_bytes_);
    return *this;
  }
  ~Pages();

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return n_bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t n_bytes_ = 0;
};

}  // namespace rubato::tick::detail

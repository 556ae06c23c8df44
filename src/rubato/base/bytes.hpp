#pragma once
// Reading and writing of plain bytes: what messages, checkpoints and fragments are made of.
//
// Little-endian, unaligned, nothing between values: the same bytes on every node. A Reader is bounds-checked,
// since bytes may come from a file or from another build: it throws Error and never reads past its
// end.

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato {

static_assert(std::endian::native == std::endian::little, "values are written as they lie");

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

// What may be copied byte by byte. Pointers are trivially copyable too, and never meant.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

namespace detail {

// Not a constant expression if T has padding bytes, whose values would be anybody's.
template <class T>
constexpr bool read_all_bytes() {
  const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(T)>>(T{});
  unsigned sum = 0;
  for (const unsigned char byte : bytes)
    sum += byte;
  return sum < UINT32_MAX;
}

}  // namespace detail

// What has the same bytes whenever it has the same value.
template <class T>
concept Unpadded = Plain<T> && std::default_initializable<T> && requires {
  typename std::bool_constant<detail::read_all_bytes<T>()>;
};

class Writer {
 public:
  Writer() = default;
  // Begins empty, in the memory of `used`.
  explicit Writer(Bytes used) noexcept : bytes_(std::move(used)) { bytes_.clear(); }

  template <Plain T>
  void put(const T& value) {
    append(&value, sizeof value);
  }
  // The elements without their count.
  template <Plain T>
  void put_span(std::span<const T> values) {
    append(values.data(), values.size_bytes());
  }
  // Count (64 bits) and elements.
  template <Plain T>
  void put_vector(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    put_span(std::span<const T>(values));
  }
  void put_string(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    append(text.data(), text.size());
  }
  void append(const void* data, std::size_t n_bytes) {
    if (n_bytes == 0) return;
    const std::size_t needed = bytes_.size() + n_bytes;
    // With room for the few bytes that layers below add to a message: no copy of it for them.
    if (needed > bytes_.capacity()) {
      bytes_.reserve(std::max(2 * bytes_.capacity(), needed + kRoomBehind));
    }
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + n_bytes);
  }
  void append_zeros(std::size_t n_bytes) { bytes_.resize(bytes_.size() + n_bytes); }
  void reserve(std::size_t n_bytes) { bytes_.reserve(n_bytes); }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] ByteView view() const noexcept { return bytes_; }
  [[nodiscard]] Bytes take() noexcept { return std::move(bytes_); }

 private:
  static constexpr std::size_t kRoomBehind = 32;

  Bytes bytes_;
};

class Reader {
 public:
  // `bytes` must outlive the reader.
  explicit Reader(ByteView bytes) noexcept : bytes_(bytes) {}

  template <Plain T>
  [[nodiscard]] T get() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <Plain T>
  void get_span(std::span<T> out) {
    copy(out.data(), out.size_bytes());
  }
  template <Plain T>
  [[nodiscard]] std::vector<T> get_vector() {
    std::vector<T> values(checked_count(get<std::uint64_t>(), sizeof(T)));
    get_span(std::span<T>(values));
    return values;
  }
  [[nodiscard]] std::string get_string() {
    std::string text(checked_count(get<std::uint64_t>(), 1), '\0');
    copy(text.data(), text.size());
    return text;
  }
  // The next `n_bytes`, in place.
  [[nodiscard]] ByteView get_view(std::size_t n_bytes) {
    need(n_bytes);
    const ByteView view = bytes_.subspan(at_, n_bytes);
    at_ += n_bytes;
    return view;
  }

  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }
  [[nodiscard]] bool at_end() const noexcept { return left() == 0; }

 private:
  void need(std::size_t n_bytes) const {
    if (n_bytes > left()) {
      throw Error("truncated data: expected " + std::to_string(n_bytes) + " more bytes at offset " +
                  std::to_string(at_) + ", found " + std::to_string(left()));
    }
  }
  [[nodiscard]] std::size_t checked_count(std::uint64_t count, std::size_t item_bytes) const {
    // Divides, so that a hostile count cannot overflow the product.
    if (count > left() / item_bytes) {
      throw Error("truncated data: expected " + std::to_string(count) + " items of " +
                  std::to_string(item_bytes) + " bytes at offset " + std::to_string(at_) +
                  ", found " + std::to_string(left()) + " bytes");
    }
    return static_cast<std::size_t>(count);
  }
  void copy(void* to, std::size_t n_bytes) {
    need(n_bytes);
    if (n_bytes != 0) std::memcpy(to, bytes_.data() + at_, n_bytes);
    at_ += n_bytes;
  }

  ByteView bytes_;
  std::size_t at_ = 0;
};

}  // namespace rubato

#pragma once
// GlobalArray: elements over all cores, block by block in turn [Grappa 3.1.1, linear addresses].
//
//   auto a = GlobalArray<std::uint64_t>::make(n);
//   forall(0, n, [=](std::uint64_t i) { async_call(a[i], [](std::uint64_t& x) { ++x; }); });
//   forall(a, [](std::uint64_t i, std::uint64_t& x) { x = i; });       at the owners, in place
//   ArrayPtr<std::uint64_t> p = a.begin() + 10;                        an address in it
//   read(p[5]);  forall(p, a.end(), [](std::uint64_t& x) { x = 0; });
//   a.free();
//
// A handle: copied and sent as it is; the elements live until free(). Elements are plain values,
// and 0 at first.

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "rubato/global/heap.hpp"
#include "rubato/global/loop.hpp"
#include "rubato/global/pointer.hpp"

namespace rubato::global {

template <class T>
class ArrayPtr;

template <class T>
class GlobalArray {
  static_assert(std::is_trivially_copyable_v<T>, "elements of a global array are plain values");
  static_assert(alignof(T) <= 64);

 public:
  GlobalArray() = default;

  // `n` elements, `block` of them at a time on a core, which is fastest if it is a power of two (0:
  // a core's share in one piece). Called by a task; waits. Throws Error if there is no room.
  [[nodiscard]] static GlobalArray make(std::uint64_t n, std::uint64_t block = 1);
  // Called by a task when nobody uses it any more; waits.
  void free() const { deallocate_symmetric(offset_); }

  [[nodiscard]] std::uint64_t size() const noexcept { return n_; }
  [[nodiscard]] std::uint64_t block() const noexcept { return block_; }

  // REQUIRES: i < size().
  [[nodiscard]] GlobalPtr<T> operator[](std::uint64_t i) const noexcept {
    RUBATO_DASSERT(i < n_, i, n_);
    const bool has_shift = shift_ != kNoShift;
    const std::uint64_t block = has_shift ? i >> shift_ : i / block_;
    std::uint64_t row = 0;
    std::uint64_t core = 0;
    if (cores_shift_ != kNoShift) [[likely]] {
      row = block >> cores_shift_;
      core = block & ((std::uint64_t{1} << cores_shift_) - 1);
    } else {
      row = block / n_cores_;
      core = block % n_cores_;
    }
    const std::uint64_t within = has_shift ? i & ((std::uint64_t{1} << shift_) - 1) : i % block_;
    const std::uint64_t at = (has_shift ? row << shift_ : row * block_) + within;
    return {static_cast<CoreId>(core), Place::at_offset(offset_ + at * sizeof(T))};
  }

  // Addresses of the first one, and behind the last.
  [[nodiscard]] ArrayPtr<T> begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] ArrayPtr<T> end() const noexcept {
    return {*this, static_cast<std::ptrdiff_t>(n_)};
  }

  // Elements of `core`, in its memory one after the other: the k-th of them has the index
  // index_of(core, k).
  [[nodiscard]] std::uint64_t n_of(CoreId core) const noexcept { return n_before(core, n_); }
  // Those of them that have an index below `i`, which is at most size().
  [[nodiscard]] std::uint64_t n_before(CoreId core, std::uint64_t i) const noexcept {
    const std::uint64_t n_blocks = i / block_;
    const std::uint64_t rest = i % block_;
    const std::uint64_t n_rows = n_blocks / n_cores_ + (core < n_blocks % n_cores_ ? 1 : 0);
    return n_rows * block_ + (n_blocks % n_cores_ == core ? rest : 0);
  }
  [[nodiscard]] std::uint64_t index_of(CoreId core, std::uint64_t k) const noexcept {
    const std::uint64_t row = shift_ != kNoShift ? k >> shift_ : k / block_;
    return (row * n_cores_ + core) * block_ + (k - row * block_);
  }
  // Those of the calling core.
  [[nodiscard]] std::span<T> local_elements() const noexcept {
    return {local(), static_cast<std::size_t>(n_of(CoreContext::here().core()))};
  }
  [[nodiscard]] T* local() const noexcept {
    return reinterpret_cast<T*>(CoreContext::here().memory() + offset_);
  }

  bool operator==(const GlobalArray&) const = default;

 private:
  static constexpr std::uint8_t kNoShift = UINT8_MAX;

  std::uint64_t offset_ = 0;
  std::uint64_t n_ = 0;
  std::uint64_t block_ = 1;
  std::uint32_t n_cores_ = 1;
  std::uint8_t shift_ = 0;               // if block_ is a power of two
  std::uint8_t cores_shift_ = kNoShift;  // if n_cores_ is a power of two
};

// A linear address: of an element of an array, whoever owns it [Grappa 3.1.1]. Arithmetic, difference
// and order are those of indices; *p is where the element is. Differs from
// the paper, whose linear addresses are a word and need the runtime's constants: it holds the handle
// of its array, so it may travel as that does, and is worth no place in a large table, where an
// index does.
template <class T>
class ArrayPtr {
 public:
  // As the standard names them for iterators.
  // NOLINTNEXTLINE(readability-identifier-naming)
  using iterator_concept = std::random_access_iterator_tag;
  using value_type = GlobalPtr<T>;
  using difference_type = std::ptrdiff_t;

  ArrayPtr() = default;
  ArrayPtr(const GlobalArray<T>& array, std::ptrdiff_t index) noexcept
      : array_(array), index_(index) {}

  [[nodiscard]] const GlobalArray<T>& array() const noexcept { return array_; }
  [[nodiscard]] std::ptrdiff_t index() const noexcept { return index_; }

  // REQUIRES: it is of an element.
  [[nodiscard]] GlobalPtr<T> operator*() const noexcept {
    return array_[static_cast<std::uint64_t>(index_)];
  }
  // REQUIRES: there is one, `n` further on.
  [[nodiscard]] GlobalPtr<T> operator[](std::ptrdiff_t n) const noexcept { return *(*this + n); }

  ArrayPtr& operator+=(std::ptrdiff_t n) noexcept {
    index_ += n;
    return *this;
  }
  ArrayPtr& operator-=(std::ptrdiff_t n) noexcept { return *this += -n; }
  ArrayPtr& operator++() noexcept { return *this += 1; }
  ArrayPtr& operator--() noexcept { return *this -= 1; }
  ArrayPtr operator++(int) noexcept { return std::exchange(*this, *this + 1); }
  ArrayPtr operator--(int) noexcept { return std::exchange(*this, *this - 1); }
  friend ArrayPtr operator+(ArrayPtr p, std::ptrdiff_t n) noexcept { return p += n; }
  friend ArrayPtr operator+(std::ptrdiff_t n, ArrayPtr p) noexcept { return p += n; }
  friend ArrayPtr operator-(ArrayPtr p, std::ptrdiff_t n) noexcept { return p -= n; }
  // REQUIRES for these: of one array.
  friend std::ptrdiff_t operator-(const ArrayPtr& a, const ArrayPtr& b) noexcept {
    RUBATO_DASSERT(a.array_ == b.array_ && "addresses in two arrays have no difference");
    return a.index_ - b.index_;
  }
  friend std::strong_ordering operator<=>(const ArrayPtr& a, const ArrayPtr& b) noexcept {
    RUBATO_DASSERT(a.array_ == b.array_ && "addresses in two arrays have no order");
    return a.index_ <=> b.index_;
  }
  // Those in two arrays are different.
  bool operator==(const ArrayPtr&) const = default;

 private:
  GlobalArray<T> array_;
  std::ptrdiff_t index_ = 0;
};

template <class T>
GlobalArray<T> GlobalArray<T>::make(std::uint64_t n, std::uint64_t block) {
  const auto n_cores = static_cast<std::uint32_t>(CoreContext::here().shape().n_cores_total());
  if (block == 0) block = n / n_cores + (n % n_cores != 0 ? 1 : 0);
  block = std::min(block, std::uint64_t{1} << 62);
  GlobalArray array;
  array.n_ = n;
  array.n_cores_ = n_cores;
  array.block_ = std::max<std::uint64_t>(block, 1);
  array.shift_ = std::has_single_bit(array.block_)
                     ? static_cast<std::uint8_t>(std::bit_width(array.block_) - 1)
                     : kNoShift;
  if (std::has_single_bit(n_cores)) {
    array.cores_shift_ = static_cast<std::uint8_t>(std::bit_width(n_cores) - 1);
  }
  // Core 0 has the most.
  const std::uint64_t n_most = array.n_of(0);
  array.offset_ =
      allocate_symmetric(n_most > UINT64_MAX / 2 / sizeof(T) ? UINT64_MAX : n_most * sizeof(T));
  return array;
}

namespace detail {

template <class T, class Body>
struct OwnerLoop {
  GlobalArray<T> array;
  CoreId core;
  T* elements;
  [[no_unique_address]] Body body;
  decltype(auto) operator()(std::uint64_t k) const {
    if constexpr (std::is_invocable_v<const Body&, std::uint64_t, T&>) {
      return body(array.index_of(core, k), elements[k]);
    } else {
      return body(elements[k]);
    }
  }
};

}  // namespace detail

// Calls body(element) or body(index, element) for each element of [first, last), on the core that
// owns it. The surrounding finish() waits. REQUIRES: both are of one array, and it has them.
template <class T, class Body>
void async_forall(const ArrayPtr<T>& first, const ArrayPtr<T>& last, const Body& body,
                  LoopOptions options = {}, SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "the body of a loop is copied to all cores by its bytes: it must capture plain values");
  const GlobalArray<T> array = first.array();
  RUBATO_REQUIRE(
      array == last.array() && first.index() >= 0 && first <= last && last <= array.end(),
      first.index(), last.index(), array.size());
  const auto begin = static_cast<std::uint64_t>(first.index());
  const auto end = static_cast<std::uint64_t>(last.index());
  const auto loop_here = [array, begin, end, body, options, place = PortablePlace(at)] {
    CoreContext& here = CoreContext::here();
    detail::start_range<true>(
        here, array.n_before(here.core(), begin), array.n_before(here.core(), end),
        detail::OwnerLoop<T, Body>{array, here.core(), array.local(), body}, options, place);
  };
  const auto n_cores = CoreContext::here().shape().n_cores_total();
  if (begin == end) return;
  const std::uint64_t n_blocks = (end - 1) / array.block() - begin / array.block() + 1;
  if (n_blocks >= n_cores) return async_on_all_cores(loop_here, at);
  for (std::uint64_t block = begin / array.block(); block <= (end - 1) / array.block(); ++block)
    spawn_on(static_cast<CoreId>(block % n_cores), loop_here, at);
}
// The same, and waits.
template <class T, class Body>
void forall(const ArrayPtr<T>& first, const ArrayPtr<T>& last, const Body& body,
            LoopOptions options = {}, SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(first, last, body, options, at); });
}
// For all of its elements.
template <class T, class Body>
void async_forall(const GlobalArray<T>& array, const Body& body, LoopOptions options = {},
                  SourcePlace at = SourcePlace::here()) {
  async_forall(array.begin(), array.end(), body, options, at);
}
template <class T, class Body>
void forall(const GlobalArray<T>& array, const Body& body, LoopOptions options = {},
            SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(array, body, options, at); });
}

}  // namespace rubato::global

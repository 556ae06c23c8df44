#pragma once
// Caches: copies of remote ranges that a task works on here (the caches of Grappa's library, on the
// memory model of [Grappa 3.1.3]).
//
//   ReadOnlyCache<double> row(matrix, i * n, n);      begins to fetch
//   ...                                               other work
//   for (double x : row) ..                           waits once, then reads memory
//
//   WriteBackCache<double> row(matrix, i * n, n);
//   row.acquire();                                    fetches
//   row[3] += 1;
//   row.release();                                    writes back, and waits until it is written
//
// Incoherent: between acquire and release nobody tells the holder what others write, and others do
// not see what the holder writes. acquire() sees all that was written before it; what release()
// wrote is seen by all that comes after it. So programs whose conflicting accesses are kept apart,
// by a scope's end, a lock or a message, see what they expect; others may lose updates, since a
// whole range is written back.
//
// A range that lies wholly on the calling core is used in place, without a copy: what the holder
// writes is seen at once then. Otherwise it is copied: up to 256 bytes into the cache object
// itself, more into the heap.
//
// Made, used and ended by one task; not movable, since the range comes to its address. Its messages
// belong to the scope of whoever acquires or releases. The array outlives it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "rubato/global/bulk.hpp"

namespace rubato::global {

// What a WriteBackCache fetches: the range, or nothing: then elements are unspecified until they
// are written, and the holder writes all of them.
enum class CacheMode : std::uint8_t { read_write, write_only };

namespace detail {

inline constexpr std::size_t kInlineCacheBytes = 256;

// The elements of a range, here: in place, or a copy of them.
template <class T>
class CachedRange {
 public:
  CachedRange(const ByteRange& range, bool is_fetched)
      : range_(range), at_(range.local(CoreContext::here())), is_fetched_(is_fetched) {
    is_in_place_ = at_ != nullptr;
    if (is_in_place_) return;
    at_ = inline_;
    if (range.n_bytes > sizeof inline_) {
      heap_.reset(static_cast<std::byte*>(::operator new(range.n_bytes, kAlign)));
      at_ = heap_.get();
    }
  }
  CachedRange(const CachedRange&) = delete;
  CachedRange& operator=(const CachedRange&) = delete;
  ~CachedRange() { get_.wait(); }

  [[nodiscard]] std::uint64_t size() const noexcept { return range_.n_bytes / sizeof(T); }
  [[nodiscard]] bool is_in_place() const noexcept { return is_in_place_; }

  void async_acquire() {
    if (state_ != State::released) return;
    state_ = State::fetching;
    if (is_fetched_ && !is_in_place_) get_.start(range_, at_);
  }
  void acquire() {
    if (state_ == State::held) [[likely]]
      return;
    async_acquire();
    get_.wait();
    state_ = State::held;
  }
  void release() {
    get_.wait();
    state_ = State::released;
  }
  void write_back() {
    if (!is_in_place_) put_range(at_, range_);
  }
  // Waits for them if need be.
  [[nodiscard]] T* elements() {
    acquire();
    return std::launder(reinterpret_cast<T*>(at_));
  }

 private:
  enum class State : std::uint8_t { released, fetching, held };
  static constexpr std::align_val_t kAlign{alignof(T)};
  struct Free {
    void operator()(std::byte* at) const noexcept { ::operator delete(at, kAlign); }
  };

  ByteRange range_;
  std::byte* at_;
  bool is_in_place_ = false;
  bool is_fetched_;
  State state_ = State::released;
  RangeGet get_;
  std::unique_ptr<std::byte, Free> heap_;
  alignas(T) std::byte inline_[kInlineCacheBytes];
};

}  // namespace detail

template <class T>
class ReadOnlyCache {
  static_assert(!std::is_const_v<T>, "ReadOnlyCache<T> takes a GlobalPtr<const T>, too");

 public:
  // `n` elements from `from` on, which are fetched from now on. A task may wait here for room to
  // send.
  ReadOnlyCache(GlobalPtr<T> from, std::uint64_t n, SourcePlace at = SourcePlace::here())
      : ReadOnlyCache(detail::range_of(from, n, at)) {}
  ReadOnlyCache(GlobalPtr<const T> from, std::uint64_t n, SourcePlace at = SourcePlace::here())
      : ReadOnlyCache(detail::range_of(from, n, at)) {}
  // The elements [first, first + n). REQUIRES: the array has them.
  ReadOnlyCache(const GlobalArray<T>& array, std::uint64_t first, std::uint64_t n,
                SourcePlace at = SourcePlace::here())
      : ReadOnlyCache(detail::range_of(array, first, n, at)) {}
  ReadOnlyCache(const ReadOnlyCache&) = delete;
  ReadOnlyCache& operator=(const ReadOnlyCache&) = delete;
  // Waits for what is on its way.
  ~ReadOnlyCache() = default;

  [[nodiscard]] std::uint64_t size() const noexcept { return range_.size(); }
  [[nodiscard]] bool is_in_place() const noexcept { return range_.is_in_place(); }

  // Begins to fetch, after a release().
  void async_acquire() { range_.async_acquire(); }
  // Waits until the elements are here; the first access does, too. Called by a task.
  void acquire() const { range_.acquire(); }
  // The elements are used no more; the next acquire() fetches them again.
  void release() { range_.release(); }

  // REQUIRES: i < size().
  [[nodiscard]] const T& operator[](std::uint64_t i) const {
    RUBATO_DASSERT(i < size(), i, size());
    return range_.elements()[i];
  }
  [[nodiscard]] const T* begin() const { return range_.elements(); }
  [[nodiscard]] const T* end() const { return range_.elements() + size(); }

 private:
  explicit ReadOnlyCache(const detail::ByteRange& range) : range_(range, true) {
    range_.async_acquire();
  }

  mutable detail::CachedRange<T> range_;  // to wait is no change
};

template <class T>
class WriteBackCache {
  static_assert(!std::is_const_v<T>);

 public:
  // `n` elements from `to` on. Fetches nothing yet.
  WriteBackCache(GlobalPtr<T> to, std::uint64_t n, CacheMode mode = CacheMode::read_write,
                 SourcePlace at = SourcePlace::here())
      : range_(detail::range_of(to, n, at), mode == CacheMode::read_write) {}
  // The elements [first, first + n). REQUIRES: the array has them.
  WriteBackCache(const GlobalArray<T>& array, std::uint64_t first, std::uint64_t n,
                 CacheMode mode = CacheMode::read_write, SourcePlace at = SourcePlace::here())
      : range_(detail::range_of(array, first, n, at), mode == CacheMode::read_write) {}
  WriteBackCache(const WriteBackCache&) = delete;
  WriteBackCache& operator=(const WriteBackCache&) = delete;
  ~WriteBackCache() { release(); }

  [[nodiscard]] std::uint64_t size() const noexcept { return range_.size(); }
  [[nodiscard]] bool is_in_place() const noexcept { return range_.is_in_place(); }

  // Begins to fetch.
  void async_acquire() { range_.async_acquire(); }
  // Waits until the elements are here; the first access does, too. Called by a task.
  void acquire() { range_.acquire(); }
  // Writes all elements back if one may have been changed, and waits until they are written. The
  // next acquire() fetches them again.
  void release() {
    range_.release();
    if (std::exchange(is_changed_, false)) range_.write_back();
  }

  // To be changed: the range is written back, even if nothing is. REQUIRES: i < size().
  [[nodiscard]] T& operator[](std::uint64_t i) {
    RUBATO_DASSERT(i < size(), i, size());
    is_changed_ = true;
    return range_.elements()[i];
  }
  [[nodiscard]] T* begin() {
    is_changed_ = true;
    return range_.elements();
  }
  [[nodiscard]] T* end() { return begin() + size(); }
  // To be read: the view holds until release().
  [[nodiscard]] std::span<const T> view() { return {range_.elements(), size()}; }

 private:
  detail::CachedRange<T> range_;
  bool is_changed_ = false;
};

template <class T>
ReadOnlyCache(GlobalPtr<T>, std::uint64_t) -> ReadOnlyCache<std::remove_const_t<T>>;

}  // namespace rubato::global

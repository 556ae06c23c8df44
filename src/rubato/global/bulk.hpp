#pragma once
// Bulk copies: ranges of elements between here and their owners, as delegates that carry many at a
// time [Grappa 3.1.2].
//
//   get(p, into);  put(from, p);                      consecutive elements of one core
//   get(array, first, into);  put(from, array, first);   elements of an array, whoever owns them
//   get(p, into);  put(from, p);                      the same from an ArrayPtr on
//       wait until all has been copied; the task is suspended, its core goes on with others
//   async_get(..), async_put(..)
//       do not wait: the surrounding finish() does
//   co_await awaited_get(..), co_await awaited_put(..)      of coroutines (coroutine_bulk.hpp)
//
// A range of an array is cut by owner, and all owners are asked at once: a message for each,
// whatever the size of the array's blocks, since the elements of one core lie one after the other
// there. What lies on the calling core is copied at the call, by the asynchronous forms too.
//
// Bounds: what goes to or comes from one owner travels in pieces of at most 256 KiB, less if there
// are more than 8 owners, down to 4 KiB. A copy that is waited for has 4 pieces of each owner under way: at
// most 1 MiB lie ready at an owner, and on the way are 8 MiB, or 16 KiB for each owner if that is more. So
// has an async_get(). An async_put() by a task is held up as all that it posts, by the windows of
// MessageOptions; one by a delegate or a coroutine, which must not wait, is posted as a whole.
//
// Each piece is one delegate of whole elements, so it is atomic; a range of several pieces is not.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "rubato/global/array.hpp"
#include "rubato/global/pointer.hpp"
#include "rubato/global/travel.hpp"

namespace rubato::global {

namespace detail {

// A piece of a range that one core has.
struct RangePart {
  CoreId core = 0;
  Place place;  // there, its bytes one after the other
  std::uint64_t n_bytes = 0;
  // In the range, its bytes come block by block: the first block lacks its first `lead` bytes.
  std::uint64_t start = 0;
  std::uint64_t lead = 0;
  std::uint64_t block_bytes = 1;
  std::uint64_t stride_bytes = 0;  // from block to block
};

// Bytes [first, first + n_bytes) of what lies on the cores [first_core, first_core + n_cores),
// block by block in turn, from the same place on.
struct ByteRange {
  Place base;
  CoreId first_core = 0;
  std::uint32_t n_cores = 1;
  std::uint64_t block_bytes = 1;
  std::uint64_t first = 0;
  std::uint64_t n_bytes = 0;
  std::uint64_t element_bytes = 1;  // which no piece cuts

  // How many cores have a part.
  [[nodiscard]] std::uint32_t n_parts() const noexcept;
  // REQUIRES: i < n_parts().
  [[nodiscard]] RangePart part(std::uint32_t i) const noexcept;
  // The whole of it if it lies on the calling core; otherwise null, and if it is empty.
  [[nodiscard]] std::byte* local(CoreContext& here) const noexcept;
};

template <class T>
[[nodiscard]] ByteRange range_of(GlobalPtr<T> p, std::uint64_t n, SourcePlace at) {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied by their bytes");
  RUBATO_DASSERT((n == 0 || p) && "a GlobalPtr that points to nothing", at.text());
  const std::uint64_t n_bytes = n * sizeof(T);
  if (n != 0) check_allocated(CoreContext::here(), p.place(), n_bytes, at);
  return {p.place(), p.core(), 1, std::max<std::uint64_t>(n_bytes, 1), 0, n_bytes, sizeof(T)};
}
// REQUIRES: the array has these elements.
template <class T>
[[nodiscard]] ByteRange range_of(const GlobalArray<T>& array, std::uint64_t first, std::uint64_t n,
                                 SourcePlace at) {
  RUBATO_REQUIRE(first <= array.size() && n <= array.size() - first &&
                     "a range of elements that the array does not have",
                 at.text(), first, n, array.size());
  if (n == 0) return {};
  check_allocated(CoreContext::here(), array[0].place(), sizeof(T), at);
  const auto n_cores = static_cast<std::uint32_t>(CoreContext::here().shape().n_cores_total());
  // Blocks of one core lie one after the other, and are one.
  const std::uint64_t block = n_cores == 1 ? array.size() : std::min(array.block(), array.size());
  return {array[0].place(), 0,        n_cores, block * sizeof(T), first * sizeof(T),
          n * sizeof(T),    sizeof(T)};
}

// A copy under way: bytes of a range that are not here, or not there, yet; and the one that waits for
// them, a task or a coroutine. Lies where it was started until all have come.
class RangeOnWay {
 public:
  RangeOnWay() = default;
  RangeOnWay(const RangeOnWay&) = delete;
  RangeOnWay& operator=(const RangeOnWay&) = delete;

  [[nodiscard]] bool is_done() const noexcept { return n_left_ == 0; }
  // Calls then(of) when it is done. REQUIRES: it is not yet.
  void async_wait(void (*then)(void* of), void* of) noexcept {
    then_ = then;
    then_of_ = of;
  }

 protected:
  ~RangeOnWay() = default;
  void begin(std::uint64_t n_bytes) noexcept { n_left_ = n_bytes; }
  void wait_for(const char* waits_for);
  [[nodiscard]] std::uint64_t n_left() const noexcept { return n_left_; }
  // The last call: what `this` lies in may end in it.
  void take(std::uint64_t n_bytes);

 private:
  std::uint64_t n_left_ = 0;
  core::Worker* waiter_ = nullptr;
  void (*then_)(void* of) = nullptr;
  void* then_of_ = nullptr;
};

class RangeGet : public RangeOnWay {
 public:
  // Asks for the range. REQUIRES: is_done(). `into` has room for it until all has come.
  void start(const ByteRange& from, std::byte* into);
  // Called by a task of the core that started it.
  void wait() { wait_for(kWaitsFor); }
  static constexpr const char* kWaitsFor = "a range of other cores";  // for people

 private:
  friend struct GetReply;
  friend void async_get_range(const ByteRange& from, std::byte* into);

  void ask(CoreContext& here, std::uint32_t i, const RangePart& part, std::uint64_t at);
  void take_piece(CoreContext& here, std::uint32_t i, std::uint64_t at, ByteView piece);

  ByteRange from_;
  std::byte* into_ = nullptr;
  std::uint64_t piece_bytes_ = 0;
  std::unique_ptr<RangeGet> self_;  // if nobody waits
};

class RangePut : public RangeOnWay {
 public:
  // Sends the range. REQUIRES: is_done(). `from` stays as it is until all is written.
  void start(const std::byte* from, const ByteRange& to);
  // Called by a task of the core that started it.
  void wait() { wait_for(kWaitsFor); }
  static constexpr const char* kWaitsFor = "the end of a put";  // for people

 private:
  friend struct PutReply;

  void send(CoreContext& here, std::uint32_t i, const RangePart& part, std::uint64_t at);
  void take_piece(CoreContext& here, std::uint32_t i, std::uint64_t at, std::uint64_t n_bytes);

  const std::byte* from_ = nullptr;
  ByteRange to_;
  std::uint64_t piece_bytes_ = 0;
};

void get_range(const ByteRange& from, std::byte* into);
void async_get_range(const ByteRange& from, std::byte* into);
void put_range(const std::byte* from, const ByteRange& to);
void async_put_range(const std::byte* from, const ByteRange& to);

template <class T>
[[nodiscard]] std::byte* bytes_at(std::span<T> elements) noexcept {
  return std::as_writable_bytes(elements).data();
}
template <class T>
[[nodiscard]] const std::byte* bytes_to_send(std::span<const T> elements) {
  check_all_travel(elements);
  return std::as_bytes(elements).data();
}

}  // namespace detail

// --- elements of one core

// Copies into.size() elements from `from` on. Called by a task; waits until they are here. `into`
// does not overlap what it is copied from. Two messages with that core for each piece. REQUIRES, as
// those below: the elements are there; checked builds say for what they are not, and `at`.
template <class T>
void get(GlobalPtr<T> from, std::span<std::remove_const_t<T>> into,
         SourcePlace at = SourcePlace::here()) {
  detail::get_range(detail::range_of(from, into.size(), at), detail::bytes_at(into));
}
// The same, without waiting: they are here at the end of the caller's scope, and `into` lives until
// then.
template <class T>
void async_get(GlobalPtr<T> from, std::span<std::remove_const_t<T>> into,
               SourcePlace at = SourcePlace::here()) {
  detail::async_get_range(detail::range_of(from, into.size(), at), detail::bytes_at(into));
}
// Copies from.size() elements to `to` and what follows. Called by a task; waits until they are
// written. `from` does not overlap them, and stays as it is until then.
template <class T>
void put(std::type_identity_t<std::span<const T>> from, GlobalPtr<T> to,
         SourcePlace at = SourcePlace::here()) {
  detail::put_range(detail::bytes_to_send(from), detail::range_of(to, from.size(), at));
}
// The same, without waiting: they are written at the end of the caller's scope. `from` is copied at
// the call.
template <class T>
void async_put(std::type_identity_t<std::span<const T>> from, GlobalPtr<T> to,
               SourcePlace at = SourcePlace::here()) {
  detail::async_put_range(detail::bytes_to_send(from), detail::range_of(to, from.size(), at));
}

// --- elements of an array

// Copies the elements [first, first + into.size()). REQUIRES: the array has them. Called by a task;
// waits until they are here. Two messages with each owner for each piece.
template <class T>
void get(const GlobalArray<T>& array, std::uint64_t first, std::type_identity_t<std::span<T>> into,
         SourcePlace at = SourcePlace::here()) {
  detail::get_range(detail::range_of(array, first, into.size(), at), detail::bytes_at(into));
}
// The same, without waiting: they are here at the end of the caller's scope, and `into` lives until
// then.
template <class T>
void async_get(const GlobalArray<T>& array, std::uint64_t first,
               std::type_identity_t<std::span<T>> into, SourcePlace at = SourcePlace::here()) {
  detail::async_get_range(detail::range_of(array, first, into.size(), at), detail::bytes_at(into));
}
// Copies to the elements [first, first + from.size()). REQUIRES: the array has them. Called by a
// task; waits until they are written. `from` does not overlap them, and stays as it is until then.
template <class T>
void put(std::type_identity_t<std::span<const T>> from, const GlobalArray<T>& array,
         std::uint64_t first, SourcePlace at = SourcePlace::here()) {
  detail::put_range(detail::bytes_to_send(from), detail::range_of(array, first, from.size(), at));
}
// The same, without waiting: they are written at the end of the caller's scope. `from` is copied at
// the call.
template <class T>
void async_put(std::type_identity_t<std::span<const T>> from, const GlobalArray<T>& array,
               std::uint64_t first, SourcePlace at = SourcePlace::here()) {
  detail::async_put_range(detail::bytes_to_send(from),
                          detail::range_of(array, first, from.size(), at));
}

// --- the same from a linear address on

template <class T>
void get(const ArrayPtr<T>& from, std::type_identity_t<std::span<T>> into,
         SourcePlace at = SourcePlace::here()) {
  get(from.array(), static_cast<std::uint64_t>(from.index()), into, at);
}
template <class T>
void async_get(const ArrayPtr<T>& from, std::type_identity_t<std::span<T>> into,
               SourcePlace at = SourcePlace::here()) {
  async_get(from.array(), static_cast<std::uint64_t>(from.index()), into, at);
}
template <class T>
void put(std::type_identity_t<std::span<const T>> from, const ArrayPtr<T>& to,
         SourcePlace at = SourcePlace::here()) {
  put(from, to.array(), static_cast<std::uint64_t>(to.index()), at);
}
template <class T>
void async_put(std::type_identity_t<std::span<const T>> from, const ArrayPtr<T>& to,
               SourcePlace at = SourcePlace::here()) {
  async_put(from, to.array(), static_cast<std::uint64_t>(to.index()), at);
}

}  // namespace rubato::global

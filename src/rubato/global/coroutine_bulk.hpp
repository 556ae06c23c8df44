#pragma once
// Bulk copies that coroutines wait for: what bulk.hpp has for tasks.
//
//   co_await awaited_get(array, first, into);   co_await awaited_put(from, array, first);
//   co_await awaited_get(p, into);              co_await awaited_put(from, p);
//
// `into` is written, and `from` and the range are read, from the co_await on until it is over; `from` and `into`
// live as long. What lies on this core is copied at once, and a range that lies there wholly is not waited
// for. The bounds are those of bulk.hpp.

#include <cstdint>
#include <span>
#include <type_traits>

#include "rubato/global/bulk.hpp"
#include "rubato/global/coroutine.hpp"

namespace rubato::global {

namespace detail {

// Of a RangeGet or a RangePut, which lies in the frame of the coroutine.
template <class Copy, class To, class From>
class CopyAwaiter {
 public:
  // As Copy::start() takes them.
  CopyAwaiter(From from, To to) noexcept : from_(from), to_(to) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] bool await_suspend(CoroutineHandle waiter) {
    copy_.start(from_, to_);
    if (copy_.is_done()) return false;
    waiter_ = waiter;
    ++waiter.promise().of_place->n_asking;
    n_waiting_ = &waiter.promise().of_place->answers[Copy::kWaitsFor];
    ++*n_waiting_;
    copy_.async_wait(
        [](void* me) {
          auto& waiting = *static_cast<CopyAwaiter*>(me);
          --*waiting.n_waiting_;
          go_on_after_asking(CoreContext::here(), waiting.waiter_);
        },
        this);
    return true;
  }
  void await_resume() const noexcept {}

 private:
  From from_;
  To to_;
  Copy copy_;
  CoroutineHandle waiter_;
  std::uint64_t* n_waiting_ = nullptr;
};
using GetAwaiter = CopyAwaiter<RangeGet, std::byte*, ByteRange>;
using PutAwaiter = CopyAwaiter<RangePut, ByteRange, const std::byte*>;

}  // namespace detail

// --- elements of one core

template <class T>
[[nodiscard]] auto awaited_get(GlobalPtr<T> from, std::span<std::remove_const_t<T>> into,
                               SourcePlace at = SourcePlace::here()) {
  return detail::GetAwaiter(detail::range_of(from, into.size(), at), detail::bytes_at(into));
}
template <class T>
[[nodiscard]] auto awaited_put(std::type_identity_t<std::span<const T>> from, GlobalPtr<T> to,
                               SourcePlace at = SourcePlace::here()) {
  return detail::PutAwaiter(detail::bytes_to_send(from), detail::range_of(to, from.size(), at));
}

// --- elements of an array, from one on

template <class T>
[[nodiscard]] auto awaited_get(const GlobalArray<T>& array, std::uint64_t first,
                               std::type_identity_t<std::span<T>> into,
                               SourcePlace at = SourcePlace::here()) {
  return detail::GetAwaiter(detail::range_of(array, first, into.size(), at),
                            detail::bytes_at(into));
}
template <class T>
[[nodiscard]] auto awaited_put(std::type_identity_t<std::span<const T>> from,
                               const GlobalArray<T>& array, std::uint64_t first,
                               SourcePlace at = SourcePlace::here()) {
  return detail::PutAwaiter(detail::bytes_to_send(from),
                            detail::range_of(array, first, from.size(), at));
}
template <class T>
[[nodiscard]] auto awaited_get(const ArrayPtr<T>& from, std::type_identity_t<std::span<T>> into,
                               SourcePlace at = SourcePlace::here()) {
  return awaited_get(from.array(), static_cast<std::uint64_t>(from.index()), into, at);
}
template <class T>
[[nodiscard]] auto awaited_put(std::type_identity_t<std::span<const T>> from, const ArrayPtr<T>& to,
                               SourcePlace at = SourcePlace::here()) {
  return awaited_put(from, to.array(), static_cast<std::uint64_t>(to.index()), at);
}

}  // namespace rubato::global

#pragma once
// Future: the result of a delegate that is asked for now and waited for later [Grappa 3.1.2].
//
//   Future<int> f = future_call(p, [](Vertex& v) { return v.degree; });
//   ...                                        other work, other futures
//   use(f.get());                              waits if the result has not come
//   use(co_await f);                           in a coroutine (coroutine.hpp)
//
// As with delegates that wait, the message belongs to the scope of the caller, and an operation on
// the calling core's own memory runs at once, in place. Futures of one task to one core run in the
// order of the calls; those to different cores in any order.

#include <concepts>
#include <type_traits>
#include <utility>

#include "rubato/global/delegate.hpp"
#include "rubato/global/on_frames.hpp"

namespace rubato::global {

namespace detail {

// What future_call(p, f) is a future of.
template <class T, class F>
using FutureResult =
    std::conditional_t<std::is_void_v<std::invoke_result_t<const F&, T&>>, void, ResultOf<F, T>>;

// Where it comes to; a task waits for it, or a coroutine, which then goes on within take().
template <class R>
struct FutureReply : Reply<R>, OnFrames {
  void* coroutine = nullptr;
  void (*resume)(CoreContext& here, void* coroutine) = nullptr;
  bool is_left = false;  // its future is no more; of one that lies on the frames

  [[nodiscard]] bool is_waited_for() const noexcept {
    return this->waiter != nullptr || coroutine != nullptr;
  }
  void take(CoreContext& here, R result) {
    if (is_left) {
      delete this;
      return;
    }
    Reply<R>::take(here, std::move(result));
    if (coroutine != nullptr) resume(here, std::exchange(coroutine, nullptr));
  }
};
template <class R>
class FutureAwaiter;

}  // namespace detail

// Stays where it was made, since the result comes to its address: on a stack, in a deque, in an
// object. Used by tasks and coroutines of the core that made it; one of them at a time waits. Of one that
// was made where its maker must not wait, in a coroutine or a delegate, the result lies with the core: it does
// not outlive the run, and no task waits where it dies.
template <class R>
class Future {
 public:
  // Asks for f(object). A task may wait here for room to send.
  template <class T, class F>
  requires std::same_as<R, detail::FutureResult<T, F>> Future(GlobalPtr<T> p, const F& f) {
    static_assert(detail::Travels<F>, "a delegate must be trivially copyable: its bytes travel");
    static_assert(detail::check_result<Value>());
    CoreContext& here = CoreContext::here();
    RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
    if (p.core() == here.core()) {
      const detail::DelegateInPlace<F> inside(here);
      reply_->value.emplace(detail::result_of(f, p.local()));
      return;
    }
    detail::check_travels(here, f);
    if (!here.may_wait()) reply_ = new Reply;
    here.post(p.core(), detail::CallRecord<T, F, detail::FutureReply>{
                            p.place(), Place::at_address(reply_), f});
  }
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;
  // Of a task it waits, if nobody did. What must not wait, as a coroutine where it ends or throws, leaves
  // the result to nobody; its scope waits for the delegate all the same.
  ~Future() {
    if (reply_ == &own_) {
      wait();
    } else if (is_ready()) {
      delete reply_;
    } else {
      RUBATO_REQUIRE(!reply_->is_waited_for() && "another one waits for this future");
      reply_->is_left = true;
    }
  }

  // True if get() would not wait.
  [[nodiscard]] bool is_ready() const noexcept { return reply_->value.has_value(); }
  // Suspends the calling task until the result is here.
  void wait() {
    if (is_ready()) return;
    CoreContext& here = CoreContext::here();
    here.check_may_block();
    RUBATO_REQUIRE(!reply_->is_waited_for() && "another task waits for this future", here.core());
    reply_->wait_for(here);
  }
  // The result, however often; waits for it first.
  R get() {
    wait();
    if constexpr (!std::is_void_v<R>) return *reply_->value;
  }

 private:
  friend class detail::FutureAwaiter<R>;
  using Value = std::conditional_t<std::is_void_v<R>, detail::Unit, R>;
  using Reply = detail::FutureReply<Value>;

  Reply own_;
  Reply* reply_ = &own_;  // or one on the frames, which may outlive this
};

// Asks for f(object) of the core that owns it, and goes on. f is what call() takes.
template <class T, class F>
[[nodiscard]] Future<detail::FutureResult<T, F>> future_call(GlobalPtr<T> p, const F& f) {
  return Future<detail::FutureResult<T, F>>(p, f);
}
template <class T>
[[nodiscard]] Future<std::remove_const_t<T>> future_read(GlobalPtr<T> p) {
  return future_call(p, detail::Read<T>{});
}
template <class T>
[[nodiscard]] Future<void> future_write(GlobalPtr<T> p, const std::type_identity_t<T>& value) {
  return future_call(p, detail::Write<T>{value});
}
// Of the value before.
template <class T>
[[nodiscard]] Future<T> future_fetch_add(GlobalPtr<T> p, const std::type_identity_t<T>& increment) {
  return future_call(p, detail::FetchAdd<T>{increment});
}
// Whether it did.
template <class T>
[[nodiscard]] Future<bool> future_compare_exchange(GlobalPtr<T> p,
                                                   const std::type_identity_t<T>& expected,
                                                   const std::type_identity_t<T>& desired) {
  return future_call(p, detail::CompareExchange<T>{expected, desired});
}

}  // namespace rubato::global

#pragma once
// Future: the result of a delegate that is asked for now and waited for later [Grappa 3.1.2].
//
//   Future<int> f = future_call(p, [](Vertex& v) { return v.degree; });
//   ...                                        other work, other futures
//   use(f.get());                              waits if the result has not come
//   use(co_await f);                           in a coroutine (coroutine.hpp)
//
//   std::vector<Future<int>> all;              futures can be moved
//   all.push_back(future_read(p));
//
// As with delegates that wait, the message belongs to the scope of the caller, and an operation on
// the calling core's own memory runs at once, in place. Futures of one task to one core run in the
// order of the calls; those to different cores in any order.

#include <concepts>
#include <memory>
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
  bool is_left = false;  // its future is no more

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

// Used by tasks and coroutines of the core that made it; one of them at a time waits. The result comes to memory
// of that core, so that a future can be moved, and does not outlive the run. Where one dies before its result has
// come, a task waits for it, if a task has made it; else, and in a coroutine or a delegate, which must not wait, it
// is left to nobody.
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
    waits_ = here.may_wait();
    if (p.core() == here.core()) {
      const detail::DelegateInPlace<F> inside(here);
      reply_->value.emplace(detail::result_of(f, p.local()));
      return;
    }
    detail::check_travels(here, f);
    here.post(p.core(), detail::CallRecord<T, F, detail::FutureReply>{
                            p.place(), Place::at_address(reply_.get()), f});
  }
  // The other one has no result then, and is only assigned to or destroyed.
  Future(Future&& other) noexcept = default;
  Future& operator=(Future&& other) noexcept {
    Future mine(std::move(other));
    std::swap(reply_, mine.reply_);
    std::swap(waits_, mine.waits_);
    return *this;
  }
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;
  ~Future() {
    if (reply_ == nullptr) return;
    if (!is_ready() && !(waits_ && CoreContext::here().may_wait())) {
      RUBATO_REQUIRE(!reply_->is_waited_for() && "another one waits for this future");
      reply_.release()->is_left = true;  // its scope waits for the delegate all the same
      return;
    }
    wait();
  }

  // True if get() would not wait.
  [[nodiscard]] bool is_ready() const noexcept {
    RUBATO_DASSERT(reply_ != nullptr && "this future was moved to another one");
    return reply_->value.has_value();
  }
  // Suspends the calling task until the result is here.
  void wait() {
    if (is_ready()) return;
    CoreContext& here = CoreContext::here();
    here.check_may_block();
    RUBATO_REQUIRE(!reply_->is_waited_for() && "another task waits for this future", here.core());
    reply_->wait_for(here);
  }
  // The result, however often; waits for it first. The future may be moved meanwhile.
  R get() {
    [[maybe_unused]] Reply& reply = *reply_;
    wait();
    if constexpr (!std::is_void_v<R>) return *reply.value;
  }

 private:
  friend class detail::FutureAwaiter<R>;
  using Value = std::conditional_t<std::is_void_v<R>, detail::Unit, R>;
  using Reply = detail::FutureReply<Value>;

  std::unique_ptr<Reply> reply_{new Reply};  // on the frames, not by make_unique
  bool waits_ = false;                       // where it dies
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

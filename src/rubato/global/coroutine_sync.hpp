#pragma once
// What coroutines wait for besides delegates: cells, locks and events of any core.
//
//   Coroutine move(GlobalPtr<core::FullEmpty<Edge>> from, GlobalPtr<core::FullEmpty<Edge>> to) {
//     const Edge edge = co_await awaited_read_fe(from);
//     co_await awaited_write_ef(to, edge);
//   }
//   Coroutine add(GlobalPtr<core::Mutex> mutex, GlobalPtr<long> sum, long x) {
//     const AsyncUnlock held = co_await awaited_lock_guard(mutex);
//     co_await awaited_write(sum, co_await awaited_read(sum) + x);
//   }
//
// awaited_x(p) is what x(p) is for tasks (sync.hpp), with the same objects, in the same lines: tasks
// and coroutines wait there in the order of arrival. Two messages for each answer that is waited for, also
// where the object is on this core: coroutines of one core take turns at each co_await.

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "rubato/global/coroutine.hpp"
#include "rubato/global/sync.hpp"

namespace rubato::global {

namespace detail {

template <class R, class T, class Begin>
class AskAwaiter : public AnswerAwaiter<R> {
 public:
  AskAwaiter(GlobalPtr<T> p, Begin begin) noexcept : p_(p), begin_(begin) {}
  void await_suspend(CoroutineHandle waiter) {
    CoroutineReply<R>& reply = this->expect(waiter, p_.is_local() ? Begin::kHere : Begin::kThere);
    CoreContext::here().post(p_.core(), AskRecord<T, R, Begin, CoroutineReply>{
                                            p_.place(), Place::at_address(&reply), begin_});
  }

 private:
  GlobalPtr<T> p_;
  [[no_unique_address]] Begin begin_;
};
template <class R, class T, class Begin>
[[nodiscard]] AskAwaiter<R, T, Begin> awaited_ask(GlobalPtr<T> p, Begin begin) {
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  return {p, begin};
}

template <class T>
class WriteAwaiter : public AnswerAwaiter<Unit> {
 public:
  WriteAwaiter(GlobalPtr<core::FullEmpty<T>> p, T value, bool waits)
      : p_(p), value_(std::move(value)), waits_(waits) {}
  void await_suspend(CoroutineHandle waiter) {
    using Record = WriteRecord<T, CoroutineReply>;
    const char* const waits_for = p_.is_local() ? Record::kHere : Record::kThere;
    CoroutineReply<Unit>& reply = this->expect(waiter, waits_ ? waits_for : kAnyCell);
    post_write(CoreContext::here(), p_, value_, waits_, reply);
  }
  void await_resume() { AnswerAwaiter<Unit>::await_resume(); }

 private:
  GlobalPtr<core::FullEmpty<T>> p_;
  T value_;
  bool waits_;
};

}  // namespace detail

// --- cells: the letters say what is waited for and what is left (core::FullEmpty)

// co_await gives a copy of the value, which stays.
template <class T>
[[nodiscard]] auto awaited_read_ff(GlobalPtr<core::FullEmpty<T>> p) {
  return detail::awaited_ask<T>(p, detail::ReadFf{});
}
template <class T>
[[nodiscard]] auto awaited_read_fe(GlobalPtr<core::FullEmpty<T>> p) {
  return detail::awaited_ask<T>(p, detail::ReadFe{});
}
template <class T>
[[nodiscard]] auto awaited_write_ef(GlobalPtr<core::FullEmpty<T>> p,
                                    std::type_identity_t<T> value) {
  return detail::WriteAwaiter<T>(p, std::move(value), true);
}
// Whatever it was.
template <class T>
[[nodiscard]] auto awaited_write_xf(GlobalPtr<core::FullEmpty<T>> p,
                                    std::type_identity_t<T> value) {
  return detail::WriteAwaiter<T>(p, std::move(value), false);
}

// --- the others

[[nodiscard]] inline auto awaited_lock(GlobalPtr<core::Mutex> p) {
  return detail::awaited_ask<detail::Unit>(p, detail::Lock{});
}
// REQUIRES: it is locked. Or, without waiting, async_unlock(p).
[[nodiscard]] inline auto awaited_unlock(GlobalPtr<core::Mutex> p) {
  return awaited_call(p, [](core::Mutex& mutex) { mutex.unlock(); });
}
[[nodiscard]] inline auto awaited_acquire(GlobalPtr<core::Semaphore> p) {
  return detail::awaited_ask<detail::Unit>(p, detail::Acquire{});
}
[[nodiscard]] inline auto awaited_release(GlobalPtr<core::Semaphore> p, std::uint64_t n = 1) {
  return awaited_call(p, [n](core::Semaphore& semaphore) { semaphore.release(n); });
}
// Until all that was announced is done.
[[nodiscard]] inline auto awaited_wait(GlobalPtr<core::Completion> p) {
  return detail::awaited_ask<detail::Unit>(p, detail::WaitDone{});
}
// co_await gives true to the last one.
[[nodiscard]] inline auto awaited_arrive_and_wait(GlobalPtr<core::Barrier> p) {
  return detail::awaited_ask<bool>(p, detail::Arrive{});
}
// Unlocks the mutex, waits to be notified and locks it again; wakes for no other reason. REQUIRES: the
// caller has locked it.
inline Coroutine awaited_wait(GlobalPtr<core::Condition> p, GlobalPtr<core::Mutex> mutex) {
  co_await detail::awaited_ask<detail::Unit>(p, detail::WaitNotified{mutex});
  co_await awaited_lock(mutex);
}
[[nodiscard]] inline auto awaited_notify_one(GlobalPtr<core::Condition> p) {
  return awaited_call(p, [](core::Condition& condition) { condition.notify_one(); });
}
[[nodiscard]] inline auto awaited_notify_all(GlobalPtr<core::Condition> p) {
  return awaited_call(p, [](core::Condition& condition) { condition.notify_all(); });
}
// f(), which may be a coroutine, by the first that comes, task or coroutine, on its own core; the others
// wait until it has ended. If f throws, the next one calls it.
template <class F>
Coroutine awaited_call_once(GlobalPtr<core::Once> p, F f) {
  const bool is_mine = co_await detail::awaited_ask<bool>(p, detail::BeginOnce{});
  if (!is_mine) co_return;
  std::exception_ptr error;
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<F&>, Coroutine>) {
      co_await f();
    } else {
      f();
    }
  } catch (...) {
    error = std::current_exception();
  }
  co_await awaited_call(p, [done = error == nullptr](core::Once& once) { once.end(done); });
  if (error) std::rethrow_exception(error);
}

// Unlocks a mutex at its end, without waiting: some time before the end of the scope.
class [[nodiscard]] AsyncUnlock {
 public:
  explicit AsyncUnlock(GlobalPtr<core::Mutex> mutex) noexcept : mutex_(mutex) {}
  AsyncUnlock(AsyncUnlock&& other) noexcept : mutex_(std::exchange(other.mutex_, {})) {}
  AsyncUnlock& operator=(AsyncUnlock&&) = delete;
  ~AsyncUnlock() {
    if (mutex_) async_unlock(mutex_);
  }

 private:
  GlobalPtr<core::Mutex> mutex_;
};

namespace detail {

class LockGuardAwaiter : public AskAwaiter<Unit, core::Mutex, Lock> {
 public:
  explicit LockGuardAwaiter(GlobalPtr<core::Mutex> p) noexcept : AskAwaiter(p, {}), mutex_(p) {}
  AsyncUnlock await_resume() {
    AskAwaiter::await_resume();
    return AsyncUnlock(mutex_);
  }

 private:
  GlobalPtr<core::Mutex> mutex_;
};

}  // namespace detail

// co_await gives what unlocks it at the end of its block.
[[nodiscard]] inline auto awaited_lock_guard(GlobalPtr<core::Mutex> p) {
  return detail::LockGuardAwaiter(p);
}

}  // namespace rubato::global

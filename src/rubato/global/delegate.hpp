#pragma once
// Delegates: operations that run on the core that owns what they touch [Grappa 3.1.2].
//
//   read(p), write(p, v), fetch_add(p, 1), compare_exchange(p, old, v), call(p, [](T& x) { .. })
//       wait for the result; the task is suspended, its core goes on with others
//   async_call(p, [](T& x) { .. }), async_write(p, v), async_fetch_add(p, 1), async_compare_exchange(..)
//       do not wait: the surrounding finish() does
//   fetch(p, [](const T& value) { .. }), fetch_call(p, [](T& x) { return ..; }, [](R result) { .. })
//       the value comes back to this core, and is handed to the last function here; finish() waits
//
// An operation runs on the owner's core between two others, so that all operations on one address
// are in one order. It must not block. It may start others (async_call, spawn), which belong to the
// same scope. What it captures travels as it is: plain values and GlobalPtrs, no addresses. What
// handles a result of fetch() stays on this core and may capture what outlives the scope. A result
// is a value, too, a string or any other that has a codec (codec.hpp) among them: pointers and views
// are refused by the compiler, addresses within it by checked builds.
//
// Operations on the calling core's own memory: those that wait run at once, in place, or when there
// is room again for what such operations have posted; asynchronous ones are queued as all others, so
// that one that waits may run before an asynchronous one that was called before it. What an operation
// throws on another core ends the run; in place, it comes out of the call.

#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/base/prefetch.hpp"
#include "rubato/global/body.hpp"
#include "rubato/global/pointer.hpp"
#include "rubato/global/travel.hpp"

namespace rubato::global {

namespace detail {

template <class F>
concept Travels = std::is_trivially_copyable_v<F>;

// Where the result of an operation is waited for, or will be; lies on the stack of the waiting task.
template <class R>
struct Reply {
  core::Worker* waiter = nullptr;
  std::optional<R> value;

  // Until it is here; then it is still to be had.
  void wait_for(CoreContext& here, const char* waits_for = "the result of a delegate") {
    waiter = &here.tasks().running();
    while (!value)
      here.tasks().suspend(waits_for);
  }
  R wait(CoreContext& here, const char* waits_for = "the result of a delegate") {
    wait_for(here, waits_for);
    return std::move(*value);
  }
  void take(CoreContext& here, R result) {
    value.emplace(std::move(result));
    if (waiter != nullptr) here.tasks().wake(*waiter);
  }
};

// Takes a result to whoever waits for it, with a To<R>.
template <class R, template <class> class To = Reply>
struct ReplyRecord {
  Place reply;
  Carried<R> value;
  const void* touches(CoreContext& here) const {
    const std::byte* const at = reply.resolve(here);
    // Of one that lies in a frame, the beginning of that, too.
    if constexpr (requires { To<R>::kLinesBelow; }) {
      for (std::ptrdiff_t line = 1; line <= To<R>::kLinesBelow; ++line)
        prefetch_from_memory(at - 64 * line);
    }
    return at;
  }
  void apply(CoreContext& here) const {
    reinterpret_cast<To<R>*>(reply.resolve(here))->take(here, value.get());
  }
};
template <class R, template <class> class To>
requires(!TravelsWhole<R>) struct ReplyRecord<R, To> {
  Place reply;
  void apply(CoreContext& here, ByteView bytes) const {
    reinterpret_cast<To<R>*>(reply.resolve(here))->take(here, Codec<R>::make(bytes));
  }
};
template <template <class> class To = Reply, class R>
void post_reply(CoreContext& here, CoreId to, Place reply, const R& result) {
  if constexpr (TravelsWhole<R>) {
    check_travels(here, result);
    here.post(to, ReplyRecord<R, To>{reply, result});
  } else {
    here.post(to, ReplyRecord<R, To>{reply}, Codec<R>::bytes(result));
  }
}

// Nothing, as something that can be sent.
struct Unit {};

template <class F, class T>
auto result_of(const F& f, T& x) {
  if constexpr (std::is_void_v<std::invoke_result_t<const F&, T&>>) {
    f(x);
    return Unit{};
  } else {
    return f(x);
  }
}
template <class F, class T>
using ResultOf = decltype(result_of(std::declval<const F&>(), std::declval<T&>()));

// Whoever waits does so with a To<R>.
template <class T, class F, template <class> class To = Reply>
struct CallRecord {
  Place place;
  Place reply;
  [[no_unique_address]] Carried<F> f;
  const void* touches(CoreContext& here) const { return place.resolve(here); }
  void apply(CoreContext& here) const {
    const ResultOf<F, T> result = result_of(f.get(), *reinterpret_cast<T*>(place.resolve(here)));
    post_reply<To>(here, here.source(), reply, result);
  }
};

template <class T, class F>
struct AsyncRecord {
  static_assert(!kReturnsCoroutine<std::invoke_result_t<const F&, T&>>,
                "this delegate returns a coroutine, which nobody would start: call start(walk(x)) "
                "in it, walk being a function, or a lambda that captures nothing");
  Place place;
  [[no_unique_address]] Carried<F> f;
  const void* touches(CoreContext& here) const { return place.resolve(here); }
  void apply(CoreContext& here) const { f.get()(*reinterpret_cast<T*>(place.resolve(here))); }
};

template <class Result>
consteval bool check_then() {
  static_assert(!kReturnsCoroutine<Result>,
                "what handles a result returns a coroutine, which nobody would start: call "
                "start(walk(x)) in it, walk being a function, or a lambda that captures nothing");
  return true;
}
template <class R, class Then>
struct ThenRecord {
  Carried<R> value;
  [[no_unique_address]] Carried<Then> then;
  void apply(CoreContext& /*here*/) const {
    static_assert(check_then<decltype(then.get()(value.get()))>());
    then.get()(value.get());
  }
};
template <class R, class Then>
requires(!TravelsWhole<R>) struct ThenRecord<R, Then> {
  [[no_unique_address]] Carried<Then> then;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    static_assert(check_then<decltype(then.get()(Codec<R>::make(bytes)))>());
    then.get()(Codec<R>::make(bytes));
  }
};

template <class T, class F, class Then>
struct FetchRecord {
  Place place;
  [[no_unique_address]] Carried<F> f;
  [[no_unique_address]] Carried<Then> then;
  const void* touches(CoreContext& here) const { return place.resolve(here); }
  void apply(CoreContext& here) const {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, T&>>;
    const R result = f.get()(*reinterpret_cast<T*>(place.resolve(here)));
    if constexpr (TravelsWhole<R>) {
      check_travels(here, result);
      here.post(here.source(), ThenRecord<R, Then>{result, then.get()});
    } else {
      here.post(here.source(), ThenRecord<R, Then>{then.get()}, Codec<R>::bytes(result));
    }
  }
};

template <class T>
struct Read {
  const T& operator()(const T& x) const noexcept { return x; }
};
template <class T>
struct Write {
  T value;
  void operator()(T& x) const noexcept { x = value; }
};
template <class T>
struct FetchAdd {
  T increment;
  T operator()(T& x) const { return std::exchange(x, static_cast<T>(x + increment)); }
};
template <class T>
struct CompareExchange {
  T expected;
  T desired;
  bool operator()(T& x) const {
    if (!(x == expected)) return false;
    x = desired;
    return true;
  }
};

}  // namespace detail

// f(object) on the core that owns it; waits, and returns what f returned. Called by a task: who else calls
// it ends the job, which says `at`.
template <class T, class F>
auto call(GlobalPtr<T> p, const F& f, SourcePlace at = SourcePlace::here()) {
  static_assert(detail::Travels<F>, "a delegate must be trivially copyable: its bytes travel");
  using R = detail::ResultOf<F, T>;
  static_assert(detail::check_result<R>());
  CoreContext& here = CoreContext::here();
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  detail::check_might_wait(here, at);
  if (p.core() == here.core()) {
    const detail::DelegateInPlace<F> inside(here);
    return f(p.local());
  }
  detail::check_travels(here, f);
  detail::Reply<R> reply;
  here.check_may_block(at);
  here.post(p.core(), detail::CallRecord<T, F>{p.place(), Place::at_address(&reply), f});
  if constexpr (std::is_void_v<std::invoke_result_t<const F&, T&>>) {
    reply.wait(here);
  } else {
    return reply.wait(here);
  }
}

// The same, without waiting: in the scope of the caller.
template <class T, class F>
[[gnu::always_inline]] inline void async_call(GlobalPtr<T> p, const F& f) {
  static_assert(detail::Travels<F>, "a delegate must be trivially copyable: its bytes travel");
  CoreContext& here = CoreContext::here();
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  detail::check_travels(here, f);
  here.post(p.core(), detail::AsyncRecord<T, F>{p.place(), f});
}

// f(object) on the core that owns it, then then(its result) on this one, without waiting.
template <class T, class F, class Then>
[[gnu::always_inline]] inline void fetch_call(GlobalPtr<T> p, const F& f, const Then& then) {
  static_assert(detail::Travels<F> && detail::Travels<Then>,
                "a delegate and what handles its result must be trivially copyable");
  static_assert(detail::check_result<std::remove_cvref_t<std::invoke_result_t<const F&, T&>>>());
  CoreContext& here = CoreContext::here();
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  detail::check_travels(here, f);
  here.post(p.core(), detail::FetchRecord<T, F, Then>{p.place(), f, then});
}
template <class T, class Then>
[[gnu::always_inline]] inline void fetch(GlobalPtr<T> p, const Then& then) {
  fetch_call(p, detail::Read<T>{}, then);
}

// A copy of the object, and a new value for it; both wait, and are called by a task.
template <class T>
[[nodiscard]] std::remove_const_t<T> read(GlobalPtr<T> p, SourcePlace at = SourcePlace::here()) {
  return call(p, detail::Read<std::remove_const_t<T>>{}, at);
}
template <class T>
void write(GlobalPtr<T> p, const std::type_identity_t<T>& value,
           SourcePlace at = SourcePlace::here()) {
  call(p, detail::Write<T>{value}, at);
}
// Without waiting; the surrounding finish() does.
template <class T>
void async_write(GlobalPtr<T> p, const std::type_identity_t<T>& value) {
  async_call(p, detail::Write<T>{value});
}
// Not combined, as async_add() is (add.hpp): for T whose sums are not those of numbers, too.
template <class T>
void async_fetch_add(GlobalPtr<T> p, const std::type_identity_t<T>& increment) {
  async_call(p, [add = detail::FetchAdd<T>{increment}](T& x) { static_cast<void>(add(x)); });
}
// Whether it did is known by who asks for it: fetch_call(), future_compare_exchange().
template <class T>
void async_compare_exchange(GlobalPtr<T> p, const std::type_identity_t<T>& expected,
                            const std::type_identity_t<T>& desired) {
  async_call(p, [exchange = detail::CompareExchange<T>{expected, desired}](T& x) {
    static_cast<void>(exchange(x));
  });
}
// Returns the value before.
template <class T>
T fetch_add(GlobalPtr<T> p, const std::type_identity_t<T>& increment,
            SourcePlace at = SourcePlace::here()) {
  return call(p, detail::FetchAdd<T>{increment}, at);
}
// Writes `desired` if the value is `expected`; true if it did.
template <class T>
[[nodiscard]] bool compare_exchange(GlobalPtr<T> p, const std::type_identity_t<T>& expected,
                                    const std::type_identity_t<T>& desired,
                                    SourcePlace at = SourcePlace::here()) {
  return call(p, detail::CompareExchange<T>{expected, desired}, at);
}

}  // namespace rubato::global

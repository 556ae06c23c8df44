#pragma once
// How what loops and tasks are given is run: it is called; and what it returns is started if that is a
// coroutine (coroutine.hpp has that part).

#include <type_traits>
#include <utility>

#include "rubato/base/source_place.hpp"

namespace rubato::global {

class Coroutine;  // coroutine.hpp
template <class T>
class CoroutineOf;

namespace detail {

template <class R>
struct IsCoroutineOf : std::false_type {};
template <class T>
struct IsCoroutineOf<CoroutineOf<T>> : std::true_type {};
// Of what runs between two others, and starts no coroutine that it returns.
template <class R>
inline constexpr bool kReturnsCoroutine = std::is_same_v<R, Coroutine> || IsCoroutineOf<R>::value;

// Of what a loop or a task is given, which returns an R.
template <class R>
constexpr bool check_is_started() {
  static_assert(!IsCoroutineOf<R>::value,
                "a coroutine with a result, which nobody would wait for: let it return Coroutine");
  return true;
}

// Bodies of one task, one after the other.
template <class Body, class Result>
class Bodies {
  static_assert(check_is_started<Result>());

 public:
  template <class... Args>
  static constexpr bool kTakes = std::is_invocable_v<const Body&, Args...>;

  Bodies(const Body& body, SourcePlace /*at*/) noexcept : body_(body) {}
  template <class... Args>
  void operator()(Args&&... args) const {
    body_(std::forward<Args>(args)...);
  }

 private:
  const Body& body_;
};
// What a lambda has captured lies in the lambda, and its coroutine reads it there: such a body is kept
// until the last of its coroutines has ended.
template <class Body>
class Bodies<Body, Coroutine>;

// What a task was made of, which is not needed any more: run once.
template <class F>
void run_body(F& f, [[maybe_unused]] SourcePlace at) {
  static_assert(check_is_started<std::invoke_result_t<F&>>());
  if constexpr (std::is_same_v<std::invoke_result_t<F&>, Coroutine>) {
    Bodies<F, Coroutine>(std::move(f), at)();
  } else {
    f();
  }
}

template <class Body, class... Args>
using BodiesOf = Bodies<Body, std::invoke_result_t<const Body&, Args...>>;

}  // namespace detail
}  // namespace rubato::global

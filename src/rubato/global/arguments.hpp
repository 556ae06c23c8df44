#pragma once
// Delegates and tasks with arguments of any size and any type that has a codec (codec.hpp), which travel behind
// the record:
//
//   call(table, [](Table& t, const std::string& name, const std::vector<double>& row) { .. }, name, row);
//   async_call(table, [](Table& t, const std::string& name) { t.drop(name); }, name);
//   spawn_on(core, [](const std::string& path) { .. }, path);
//
// A lambda's captures travel as their bytes, so they are plain; arguments need not be. They arrive as values:
// what is called takes them by value or by const reference. Text (std::string_view, a literal) arrives as a
// std::string. On the own core of who calls, call() hands them on as they are.

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rubato/global/codec.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::global {

namespace detail {

// What arrives of an argument.
template <class A>
using Arrived = std::conditional_t<std::is_convertible_v<const A&, std::string_view>, std::string,
                                   std::remove_cvref_t<A>>;
template <class A>
concept Argument = Encoded<Arrived<A>> && !std::same_as<A, SourcePlace>;

// It, in place.
template <class A>
[[nodiscard]] decltype(auto) as_arrived(const A& argument) {
  if constexpr (std::is_same_v<A, Arrived<A>>) {
    return (argument);
  } else {
    return Arrived<A>(argument);
  }
}

template <class... A>
[[nodiscard]] Bytes bytes_of_arguments(CoreContext& here, const A&... arguments) {
  Writer out;
  const auto put = [&](const auto& argument) {
    const auto& value = as_arrived(argument);
    check_travels(here, value);
    put_one<std::remove_cvref_t<decltype(value)>>(out, value);
  };
  (put(arguments), ...);
  return out.take();
}
template <class... A>
[[nodiscard]] std::tuple<A...> arguments_of(ByteView bytes) {
  Reader in(bytes);
  return std::tuple<A...>{get_one<A>(in)...};  // in braces: from left to right
}

// f(object, arguments..), as a function of the object.
template <class F, class... A>
struct Applied {
  const F& f;
  const std::tuple<A...>& arguments;
  template <class T>
  decltype(auto) operator()(T& x) const {
    return std::apply([&](const A&... each) -> decltype(auto) { return f(x, each...); }, arguments);
  }
};
template <class T, class F, class... A>
using ResultWith = ResultOf<Applied<F, A...>, T>;

template <class F, class... Args>
consteval bool check_call() {
  static_assert(Travels<F>, "a delegate must be trivially copyable: its bytes travel");
  static_assert(std::is_invocable_v<const F&, Args...>,
                "a delegate takes the object and the arguments as they arrive: as values, or const "
                "references");
  static_assert(!kReturnsCoroutine<std::invoke_result_t<const F&, Args...>>,
                "this delegate returns a coroutine, which nobody would start");
  return true;
}

template <class T, class F, class... A>
struct CallWithRecord {
  Place place;
  Place reply;
  [[no_unique_address]] Carried<F> f;
  void apply(CoreContext& here, ByteView bytes) const {
    const std::tuple<A...> arguments = arguments_of<A...>(bytes);
    const Applied<F, A...> call{f.get(), arguments};
    const ResultWith<T, F, A...> result =
        result_of(call, *reinterpret_cast<T*>(place.resolve(here)));
    post_reply(here, here.source(), reply, result);
  }
};
template <class T, class F, class... A>
struct AsyncWithRecord {
  Place place;
  [[no_unique_address]] Carried<F> f;
  void apply(CoreContext& here, ByteView bytes) const {
    const std::tuple<A...> arguments = arguments_of<A...>(bytes);
    Applied<F, A...>{f.get(), arguments}(*reinterpret_cast<T*>(place.resolve(here)));
  }
};
template <class F, class... A>
struct SpawnWithRecord {
  PortablePlace at;
  [[no_unique_address]] Carried<F> f;
  void apply(CoreContext& here, ByteView bytes) const {
    here.spawn(
        [call = f.get(), arguments = arguments_of<A...>(bytes)] { std::apply(call, arguments); },
        {"from another core"}, at.place());
  }
};

}  // namespace detail

// f(object, arguments..) on the core that owns the object; waits, and returns what f returned. Called by a task.
template <class T, class F, class... A>
requires(sizeof...(A) > 0 && (detail::Argument<A> && ...)) auto call(GlobalPtr<T> p, const F& f,
                                                                     const A&... arguments) {
  static_assert(detail::check_call<F, T&, const detail::Arrived<A>&...>());
  using R = detail::ResultWith<T, F, detail::Arrived<A>...>;
  static_assert(detail::check_result<R>());
  CoreContext& here = CoreContext::here();
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  detail::check_might_wait(here);
  if (p.core() == here.core()) {
    const detail::DelegateInPlace<F> inside(here);
    return f(p.local(), detail::as_arrived(arguments)...);
  }
  detail::check_travels(here, f);
  detail::Reply<R> reply;
  here.check_may_block();
  here.post(
      p.core(),
      detail::CallWithRecord<T, F, detail::Arrived<A>...>{p.place(), Place::at_address(&reply), f},
      detail::bytes_of_arguments(here, arguments...));
  if constexpr (std::is_void_v<std::invoke_result_t<const F&, T&, const detail::Arrived<A>&...>>) {
    reply.wait(here);
  } else {
    return reply.wait(here);
  }
}
// The same, without waiting: in the scope of the caller.
template <class T, class F, class... A>
requires(sizeof...(A) > 0 && (detail::Argument<A> && ...)) void async_call(GlobalPtr<T> p,
                                                                           const F& f,
                                                                           const A&... arguments) {
  static_assert(detail::check_call<F, T&, const detail::Arrived<A>&...>());
  CoreContext& here = CoreContext::here();
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  detail::check_travels(here, f);
  here.post(p.core(), detail::AsyncWithRecord<T, F, detail::Arrived<A>...>{p.place(), f},
            detail::bytes_of_arguments(here, arguments...));
}
// A core, and who says so.
struct CoreAt {
  CoreId core;
  SourcePlace at;
  CoreAt(CoreId of, SourcePlace by = SourcePlace::here()) noexcept  // NOLINT: from a CoreId
      : core(of), at(by) {}
};
// A task f(arguments..) of core `core`, in the scope of the caller; it may wait.
template <class F, class... A>
requires(sizeof...(A) > 0 && (detail::Argument<A> && ...)) void spawn_on(CoreAt where, const F& f,
                                                                         const A&... arguments) {
  static_assert(detail::check_call<F, const detail::Arrived<A>&...>());
  CoreContext& here = CoreContext::here();
  RUBATO_REQUIRE(where.core < here.shape().n_cores_total(), where.core,
                 here.shape().n_cores_total());
  detail::check_travels(here, f);
  here.post(where.core,
            detail::SpawnWithRecord<F, detail::Arrived<A>...>{PortablePlace(where.at), f},
            detail::bytes_of_arguments(here, arguments...));
}

}  // namespace rubato::global

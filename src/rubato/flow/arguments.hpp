#pragma once
// How the arguments of a task become those of a rule, and what its function gets.
//
//   argument                 waits for                the function gets
//   Future<T>                the value                T        (nothing for Future<void>)
//   later(future)            nothing                  Future<T>
//   container[key]           the member               T
//   Container<T, K>          nothing                  Container<T, K>
//   closed(container)        that it is closed        Container<T, K>
//   Inserter<T, K>, Promise  nothing                  the same
//   anything else            nothing                  a copy, by way of its Codec

#include <tuple>
#include <type_traits>
#include <utility>

#include "rubato/flow/handles.hpp"
#include "rubato/global/travel.hpp"

namespace rubato::flow {

// A future as it is, not waited for.
template <class T>
struct Later {
  Future<T> future;
};
template <class T>
[[nodiscard]] Later<T> later(Future<T> future) {
  return {std::move(future)};
}

namespace detail {

template <class A>
struct Argument {
  static Arg put(const A& value) { return {Arg::Mode::value, {}, Codec<A>::put(value), {}}; }
  static std::tuple<A> get(Arg& arg) { return {Codec<A>::get(arg.value)}; }
};
template <class T>
struct Argument<Future<T>> {
  static Arg put(Future<T> future) { return input_of<T>(future.take()); }
  static std::tuple<T> get(Arg& arg) { return {Codec<T>::get(arg.take_value())}; }
};
template <>
struct Argument<Future<void>> {
  static Arg put(Future<void> future) { return input_of<void>(future.take()); }
  static std::tuple<> get(Arg& /*arg*/) { return {}; }
};
template <class T>
struct Argument<Member<T>> {
  static Arg put(Member<T> member) {
    return member_of<T>(member.container.take(), std::move(member.key));
  }
  static std::tuple<T> get(Arg& arg) { return {Codec<T>::get(arg.take_value())}; }
};
// A handle as it is.
template <class H, Arg::Mode kMode>
struct HandleArgument {
  static Arg put(H handle) { return {kMode, handle.take(), {}, {}}; }
  static std::tuple<H> get(Arg& arg) { return {H(std::exchange(arg.ref, {}))}; }
};
template <class T>
struct Argument<Later<T>> : HandleArgument<Future<T>, Arg::Mode::reader> {
  static Arg put(Later<T> later) { return {Arg::Mode::reader, later.future.take(), {}, {}}; }
};
template <class T, class K>
struct Argument<Container<T, K>> : HandleArgument<Container<T, K>, Arg::Mode::reader> {};
template <class T, class K>
struct Argument<Closed<T, K>> : HandleArgument<Container<T, K>, Arg::Mode::closed> {
  static Arg put(Closed<T, K> closed) {
    return {Arg::Mode::closed, closed.container.take(), {}, {}};
  }
};
template <class T, class K>
struct Argument<Inserter<T, K>> : HandleArgument<Inserter<T, K>, Arg::Mode::writer> {
  // The rule keeps a part, with which it can say that it failed.
  static std::tuple<Inserter<T, K>> get(Arg& arg) {
    return {Inserter<T, K>(Flow::here().share(arg.ref, true))};
  }
};
template <class T>
struct Argument<Promise<T>> : HandleArgument<Promise<T>, Arg::Mode::output> {
  // As an inserter.
  static std::tuple<Promise<T>> get(Arg& arg) {
    return {Promise<T>(Flow::here().share(arg.ref, true))};
  }
};

// What a string literal is kept as.
template <class A>
using Kept = std::conditional_t<std::is_convertible_v<A, const char*> &&
                                    !std::is_same_v<std::decay_t<A>, std::nullptr_t>,
                                std::string, std::remove_cvref_t<A>>;

// The arguments behind the first `kFirst`, as what the function gets.
template <std::size_t kFirst, class... A, std::size_t... I>
[[nodiscard]] auto get_arguments(Rule& rule, std::index_sequence<I...> /*unused*/) {
  return std::tuple_cat(Argument<A>::get(rule.args()[kFirst + I])...);
}
template <std::size_t kFirst, class... A>
void put_arguments(Rule& rule, A&&... arguments) {
  std::size_t at = kFirst;
  ((rule.args()[at++] = Argument<Kept<A>>::put(Kept<A>(std::forward<A>(arguments)))), ...);
}

// A function that travels by its bytes.
template <class F>
concept TaskFunction = std::is_trivially_copyable_v<F> && alignof(F) <= 8;

template <class F>
inline constexpr std::size_t kFunctionBytes = std::is_empty_v<F> ? 0 : (sizeof(F) + 7) / 8 * 8;

template <TaskFunction F>
void put_function(Rule& rule, const F& f, ByteView more = {}) {
  alignas(8) std::byte bytes[kFunctionBytes<F> + 1] = {};
  if constexpr (!std::is_empty_v<F>) std::memcpy(bytes, &f, sizeof f);
  if (more.empty()) return rule.set_closure(bytes, kFunctionBytes<F>);
  Writer all;
  all.append(bytes, kFunctionBytes<F>);
  all.append(more.data(), more.size());
  rule.set_closure(all.view().data(), all.size());
}
// In place: blocks of memory are aligned for it.
template <TaskFunction F>
[[nodiscard]] const F& function_of(const Rule& rule) noexcept {
  return *std::launder(reinterpret_cast<const F*>(rule.closure().data()));
}

template <class R>
struct ResultOf {
  using Type = R;
};
template <class R>
struct ResultOf<Future<R>> {
  using Type = R;
};

}  // namespace detail
}  // namespace rubato::flow

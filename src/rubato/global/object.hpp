#pragma once
// Objects on the heap of a core: made there, reached by GlobalPtr [Grappa 3.1.1, figure 3].
//
//   GlobalPtr<Node> p = create<Node>(core, key, value);      Node(key, value) on that core
//   call(p, [](Node& n) { .. });
//   destroy(p);
//
// A core's own heap is that of its process, and grows as it does. Objects need not be plain: they
// stay where they are. What is to lie on all cores has symmetric memory (heap.hpp, array.hpp).

#include <memory>
#include <tuple>
#include <type_traits>

#include "rubato/global/delegate.hpp"

namespace rubato::global {

namespace detail {

// Makes an object on the core that it comes to; its address goes back.
template <class T, class Arguments>
struct CreateRecord {
  static_assert(std::is_trivially_copyable_v<Arguments>,
                "what an object on another core is made of travels: plain values");
  Place reply;
  Arguments arguments;
  void apply(CoreContext& here) const {
    auto object = std::apply([](const auto&... a) { return std::make_unique<T>(a...); },
                             arguments.as_tuple());
    post_reply(here, here.source(), reply, Place::at_address(object.release()));
  }
};

// Plain values one after the other: a std::tuple is not trivially copyable everywhere.
template <class... A>
struct Arguments {
  [[nodiscard]] std::tuple<> as_tuple() const { return {}; }
};
template <class First, class... Rest>
struct Arguments<First, Rest...> {
  First first;
  [[no_unique_address]] Arguments<Rest...> rest;
  [[nodiscard]] auto as_tuple() const {
    return std::tuple_cat(std::tuple<First>(first), rest.as_tuple());
  }
  static Arguments of(const First& value, const Rest&... more) {
    if constexpr (sizeof...(Rest) == 0) {
      return {value, {}};
    } else {
      return {value, Arguments<Rest...>::of(more...)};
    }
  }
};

}  // namespace detail

// T(arguments..) on the heap of `core`; belongs to whoever destroys it. Called by a task; waits.
// What its constructor throws there ends the run.
template <class T, class... A>
[[nodiscard]] GlobalPtr<T> create(CoreId core, const A&... arguments) {
  CoreContext& here = CoreContext::here();
  RUBATO_REQUIRE(core < here.shape().n_cores_total(), core, here.shape().n_cores_total());
  if (core == here.core()) {
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): destroy() ends it
    return make_global(*std::make_unique<T>(arguments...).release());
  }
  using Travelling = detail::Arguments<A...>;
  Travelling travelling{};
  if constexpr (sizeof...(A) > 0) travelling = Travelling::of(arguments...);
  detail::check_travels(here, travelling);
  detail::Reply<Place> reply;
  here.check_may_block();
  here.post(core, detail::CreateRecord<T, Travelling>{Place::at_address(&reply), travelling});
  return {core, reply.wait(here)};
}
// Ends an object that create() made. Called by a task; waits.
template <class T>
void destroy(GlobalPtr<T> p) {
  call(p, [](T& object) { const std::unique_ptr<T> whole(&object); });
}
// The same, without waiting: the surrounding finish() does.
template <class T>
void async_destroy(GlobalPtr<T> p) {
  async_call(p, [](T& object) { const std::unique_ptr<T> whole(&object); });
}

}  // namespace rubato::global

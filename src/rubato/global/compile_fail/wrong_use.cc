// Each CASE must fail to compile, with the message that CMakeLists.txt names. CASE 0 compiles.
#include <string_view>

#include "rubato/global/array.hpp"
#include "rubato/global/coroutine.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/program.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {

struct Vertex {
  std::uint64_t degree;
  const char* name;
};

struct Padded {
  char a;
  int b;
};

Coroutine walk(GlobalPtr<Vertex> p) {
  static_cast<void>(co_await awaited_read(p.member(&Vertex::degree)));
}

CoroutineOf<std::uint64_t> degree_of(GlobalPtr<Vertex> p) {
  co_return co_await awaited_read(p.member(&Vertex::degree));
}

void use(GlobalPtr<Vertex> p) {
#if CASE == 0
  static_cast<void>(call(p, [](Vertex& v) { return v.degree; }));
  static_cast<void>(read(GlobalPtr<const std::uint64_t>(p.member(&Vertex::degree))));
  forall(0, 1, [p](std::uint64_t) { start(walk(p)); });
  forall(0, 1, [p](std::uint64_t) { return walk(p); });
  async_call(p, [p](Vertex&) { start(walk(p)); });
  forall(0, 1, [p](std::uint64_t) -> Coroutine { static_cast<void>(co_await degree_of(p)); });
#elif CASE == 1
  static_cast<void>(call(p, [](Vertex& v) { return v.name; }));
#elif CASE == 2
  static_cast<void>(future_call(p, [](Vertex& v) { return std::string_view(v.name); }));
#elif CASE == 3
  fetch_call(p, [](Vertex& v) { return &v; }, [](Vertex*) {});
#elif CASE == 4
  async_call(p, [p](Vertex&) { return walk(p); });
#elif CASE == 5
  static_cast<void>(GlobalHashMap<std::uint64_t, const char*>::make());
#elif CASE == 6
  static_cast<void>(GlobalHashMap<Padded, int>::make());
#elif CASE == 7
  static_cast<void>(GlobalVector<std::string_view>::make());
#elif CASE == 8
  forall(0, 1, [p](std::uint64_t) { return degree_of(p); });
#elif CASE == 9
  spawn_on(1, [p] { return degree_of(p); });
#elif CASE == 10
  spawn([p] { return degree_of(p); });
#elif CASE == 11
  fetch_call(p, [](Vertex& v) { return v.degree; }, [p](std::uint64_t) { return walk(p); });
#endif
}

}  // namespace rubato::global

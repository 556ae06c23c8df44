#pragma once
// PerCore: an object of its own for each core, at the same place in the memory of all of them
// [Grappa 3.1.1, symmetric allocation].
//
//   const auto seen = PerCore<std::vector<Edge>>::make();
//   forall(edges, [=](Edge& e) { if (..) seen.here().push_back(e); });
//   async_call(seen.on(core), [](std::vector<Edge>& edges) { .. });
//   const std::uint64_t n = seen.reduce([](auto& edges) { return edges.size(); }, std::plus<>{});
//   seen.free();
//
// A handle: copied and sent as it is; the objects stay where they are and need not be plain.

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "rubato/global/delegate.hpp"
#include "rubato/global/heap.hpp"
#include "rubato/global/loop.hpp"
#include "rubato/global/reduce_cores.hpp"

namespace rubato::global {

template <class T>
class PerCore {
 public:
  PerCore() = default;

  // One T(args..) on each core, of plain arguments: PerCore<Semaphore>::make(4). Called by a task; waits.
  // Throws Error if there is no room.
  template <class... Args>
  [[nodiscard]] static PerCore make(const Args&... args) {
    static_assert(alignof(T) <= 64);
    PerCore all;
    all.offset_ = allocate_symmetric(sizeof(T));
    on_all_cores([all, args...] { ::new (CoreContext::here().memory() + all.offset_) T(args...); });
    return all;
  }
  // Ends them. Called by a task when nobody uses them any more; waits.
  void free() const {
    on_all_cores([all = *this] { std::destroy_at(&all.here()); });
    deallocate_symmetric(offset_);
  }

  // That of the calling core.
  [[nodiscard]] T& here() const { return in(CoreContext::here()); }
  [[nodiscard]] T& in(CoreContext& core) const {
    return *std::launder(reinterpret_cast<T*>(core.memory() + offset_));
  }
  [[nodiscard]] GlobalPtr<T> on(CoreId core) const { return {core, Place::at_offset(offset_)}; }

  // op(f(that of core 0), f(that of core 1), ..). Called by a task; waits.
  template <class F, class Op>
  [[nodiscard]] auto reduce(const F& f, const Op& op) const {
    return reduce_cores([all = *this, f] { return f(all.here()); }, op);
  }

  bool operator==(const PerCore&) const = default;

 private:
  std::uint64_t offset_ = 0;
};

}  // namespace rubato::global

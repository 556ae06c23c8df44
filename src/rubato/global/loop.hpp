#pragma once
// Loops and what runs on all cores [Grappa 3.2, expressing parallelism].
//
//   forall(0, n, [=](std::uint64_t i) { ... });   each i once, on some core; waits for the end of all
//   on_all_cores([=] { ... });                    a task on each core; waits
//   spawn_on(core, [=] { ... })                   a task on that core
//   spawn_anywhere([=] { ... })                   a task of whoever has nothing to do
//   async_forall, async_on_all_cores              the same; the surrounding finish() waits
//
// What they capture is copied to all cores, so it is plain: values, GlobalPtrs, arrays; no
// references.
//
// Each core gets its share of the iterations, and halves it until a task has `threshold` of them;
// cores that have nothing left take from others. Without a threshold a task whose iterations take long
// leaves the rest to whoever has time. A body may wait in each iteration: meanwhile its core runs the
// next ones. One that is a coroutine (coroutine.hpp) takes no stack while it waits, and may capture.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "rubato/global/body.hpp"
#include "rubato/global/pointer.hpp"
#include "rubato/global/travel.hpp"

namespace rubato::global {

// How the iterations of a loop are cut: tasks of `threshold` iterations, or 0: as many as suit
// their number.
struct LoopOptions {
  std::uint64_t threshold = 0;
};

namespace detail {

// A task that has run for so long lets others have of what is left.
constexpr Nanos kTaskLong = 200 * kMicrosecond;
// A task looks after a part of its iterations, and when it has run so many times as many.
constexpr std::uint64_t kFirstLook = 64;
constexpr std::uint64_t kLooks = 8;
// Iterations, none of which has waited, between two looks at whether there was nothing to do while one did; and
// the tasks that the rest becomes then: from 64 tasks on, thousands wait side by side after three round trips.
constexpr std::uint64_t kBlockMost = 256;
constexpr std::uint64_t kTasksOfIdle = 4;

// Iterations that one task runs one after the other, in halves until they are few [Grappa 3.2].
template <class Body, bool kBound>
struct RangeTask {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t chunk;
  std::uint64_t is_given;  // 1: somebody said how large tasks are
  PortablePlace at;
  [[no_unique_address]] Body body;

  void run(CoreContext& here) const {
    RangeTask mine = *this;
    while (mine.end - mine.begin > mine.chunk) {
      RangeTask upper = mine;
      upper.begin = mine.end = mine.begin + (mine.end - mine.begin) / 2;
      upper.spawn(here);
    }
    here.tasks().label_running("forall", at.place());
    const BodiesOf<Body, std::uint64_t> bodies(mine.body, at.place());
    if (mine.is_given == 0 && mine.end - mine.begin > 1) return mine.run_in_turn(here, bodies);
    for (std::uint64_t i = mine.begin; i < mine.end; ++i)
      bodies(i);
  }
  // Until that takes long, if others may have the rest, or nothing else was left to do while a body waited: the
  // rest are tasks again. Others get none of a task that runs, and nobody is answered meanwhile; but while
  // a body waits.
  void run_in_turn(CoreContext& here, const BodiesOf<Body, std::uint64_t>& bodies) const {
    const std::uint64_t n_idle = here.n_idle();
    const Nanos from = kBound ? 0 : here.clock();
    std::uint64_t look =
        kBound ? end : begin + std::max<std::uint64_t>((end - begin) / kFirstLook, 1);
    std::uint64_t n_tasks = 2;
    std::uint64_t i = begin;
    std::uint64_t n = 1;
    while (true) {
      const std::uint64_t n_turns = here.tasks().n_turns();
      for (const std::uint64_t stop = i + std::min(end - i, n); i < stop; ++i)
        bodies(i);
      if (i == end) return;
      const bool has_waited = here.tasks().n_turns() != n_turns;
      if (has_waited && here.n_idle() != n_idle) {
        n_tasks = kTasksOfIdle;
        break;
      }
      n = has_waited ? 1 : std::min(2 * n, kBlockMost);
      if (i < look) continue;
      look = i + (i - begin) * (kLooks - 1);
      if (here.clock() - std::max(from, here.now()) >= kTaskLong) break;
    }
    RangeTask rest = *this;
    rest.begin = i;
    rest.chunk = (end - i + n_tasks - 1) / n_tasks;
    rest.spawn(here);
  }
  void spawn(CoreContext& here) const {
    if constexpr (kBound) {
      here.spawn_bound(*this);
    } else {
      here.spawn_pooled(*this);
    }
  }
};

// A task that any core may run, or the one that it was sent to.
template <class F, bool kBound>
struct PooledCall {
  PortablePlace at;
  [[no_unique_address]] F f;
  void run(CoreContext& here) const {
    here.tasks().label_running(kBound ? "from another core" : "task of any core", at.place());
    BodiesOf<F>(f, at.place())();
  }
};

constexpr std::uint64_t kChunkMost = 1024;
constexpr std::uint64_t kChunksLeast = 64;  // of a core's part

// Starts the iterations of a loop on this core, in the scope of the caller.
template <bool kBound, class Body>
void start_range(CoreContext& here, std::uint64_t begin, std::uint64_t end, const Body& body,
                 LoopOptions options, PortablePlace at) {
  if (begin >= end) return;
  std::uint64_t chunk = options.threshold;
  if (chunk == 0) chunk = std::clamp<std::uint64_t>((end - begin) / kChunksLeast, 1, kChunkMost);
  RangeTask<Body, kBound>{begin, end, chunk, options.threshold != 0 ? 1U : 0U, at, body}.spawn(
      here);
}

template <class Body>
struct LoopRecord {
  std::uint64_t begin;
  std::uint64_t end;
  CoreId base;   // which began the loop: cores are counted from it
  CoreId first;  // the range is of the cores [first, last)
  CoreId last;
  std::uint64_t threshold;
  PortablePlace at;
  [[no_unique_address]] Body body;

  // Half of the cores to the first of them, and so on: as many steps as the logarithm of their
  // number.
  void apply(CoreContext& here) const {
    const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
    LoopRecord mine = *this;
    while (mine.last - mine.first > 1) {
      LoopRecord other = mine;
      other.first = mine.last = mine.first + (mine.last - mine.first + 1) / 2;
      other.begin = mine.end = begin + share(end - begin, other.first - first);
      here.post((base + other.first) % n_cores, other);
    }
    start_range<false>(here, mine.begin, mine.end, body, {threshold}, at);
  }
  // What the first `n_cores` of these cores get of n iterations.
  [[nodiscard]] std::uint64_t share(std::uint64_t n, CoreId n_cores) const noexcept {
    const std::uint64_t n_all = last - first;
    return n / n_all * n_cores + std::min<std::uint64_t>(n % n_all, n_cores);
  }
};

// A task on the core that it comes to.
template <class F>
struct SpawnRecord {
  PortablePlace at;
  [[no_unique_address]] F f;
  void apply(CoreContext& here) const {
    if constexpr (sizeof(PooledCall<F, true>) <= core::kPooledBytesMost) {
      here.spawn_sent(PooledCall<F, true>{at, f});
    } else {
      here.spawn([call = f, place = at] { BodiesOf<F>(call, place.place())(); },
                 {"from another core"}, at.place());
    }
  }
};

}  // namespace detail

// Calls body(i) for each i of [begin, end), once and on some core; the surrounding finish() waits. Does not wait
// itself, but for room to send. An empty range is none.
template <class Body>
void async_forall(std::uint64_t begin, std::uint64_t end, const Body& body,
                  LoopOptions options = {}, SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "the body of a loop is copied to all cores by its bytes: it must capture plain values");
  if (begin >= end) return;
  CoreContext& here = CoreContext::here();
  detail::check_travels(here, body);
  // From this core on, so that loops that many cores begin do not all pass through one.
  const std::uint64_t n_parts = std::min<std::uint64_t>(here.shape().n_cores_total(), end - begin);
  detail::LoopRecord<Body>{begin,
                           end,
                           here.core(),
                           0,
                           static_cast<CoreId>(n_parts),
                           options.threshold,
                           PortablePlace(at),
                           body}
      .apply(here);
}
// The same, and waits until all that the bodies have started has ended, too. Called by a task.
template <class Body>
void forall(std::uint64_t begin, std::uint64_t end, const Body& body, LoopOptions options = {},
            SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(begin, end, body, options, at); });
}

// Starts a task f() on each core of the job, this one among them; the surrounding finish() waits. They may
// wait, and for each other.
template <class F>
void async_on_all_cores(const F& f, SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<F>,
      "what runs on all cores is copied there by its bytes: it must capture plain values");
  CoreContext& here = CoreContext::here();
  detail::check_travels(here, f);
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.multicast(0, n_cores, detail::SpawnRecord<F>{PortablePlace(at), f});
}
// The same, and waits for them. Called by a task.
template <class F>
void on_all_cores(const F& f, SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_on_all_cores(f, at); });
}

// A task of core `core`, in the scope of the caller; nobody else runs it.
template <class F>
void spawn_on(CoreId core, const F& f, SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<F>,
      "a task of another core is copied there by its bytes: it must capture plain values");
  CoreContext& here = CoreContext::here();
  RUBATO_REQUIRE(core < here.shape().n_cores_total(), core, here.shape().n_cores_total());
  detail::check_travels(here, f);
  here.post(core, detail::SpawnRecord<F>{PortablePlace(at), f});
}
// A task that whichever core has nothing to do may run, in the scope of the caller. At most 512
// bytes.
template <class F>
void spawn_anywhere(const F& f, SourcePlace at = SourcePlace::here()) {
  static_assert(std::is_trivially_copyable_v<F>,
                "a task of any core is copied there by its bytes: it must capture plain values");
  CoreContext& here = CoreContext::here();
  detail::check_travels(here, f);
  here.spawn_pooled(detail::PooledCall<F, false>{PortablePlace(at), f});
}

}  // namespace rubato::global

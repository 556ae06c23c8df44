#pragma once
// Loops and what runs on all cores [Grappa 3.2, expressing parallelism].
//
//   forall(0, n, [=](std::uint64_t i) { ... });   each i once, on some core; waits for the end of all
//   on_all_cores([=] { ... });                    a task on each core; waits
//   async_forall, async_on_all_cores              the same; the surrounding finish() waits
//
// What they capture is copied to all cores, so it is plain: values, GlobalPtrs, arrays; no references.
//
// A core takes the iterations of its part in chunks. While a chunk waits for something the next one begins, in
// a task of its own, up to kLoopTasksMost of them: a body may block in each iteration, and one that never does
// runs in one task. Differs from the paper, which splits ranges recursively down to a threshold.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "rubato/global/pointer.hpp"

namespace rubato::global {

inline constexpr std::uint32_t kLoopTasksMost = 4096;

// How the iterations of a loop are cut: tasks of `threshold` iterations, or 0: as many as suit their number.
struct LoopOptions {
  std::uint64_t threshold = 0;
};

namespace detail {

// The part of a loop that belongs to one core, and its tasks there.
template <class Body>
struct LoopPart {
  std::uint64_t next;
  std::uint64_t end;
  std::uint64_t chunk;
  Body body;
  std::uint32_t n_tasks = 0;
  bool has_queued = false;  // the next task is queued and has not begun
  SourcePlace at{};

  // A task of its own for each chunk that waits: it queues the one after it, which begins when this core
  // has nothing else to run.
  static void run(const std::shared_ptr<LoopPart>& part) {
    CoreContext& here = CoreContext::here();
    part->has_queued = false;
    ++part->n_tasks;
    while (part->next < part->end) {
      const std::uint64_t begin = part->next;
      const std::uint64_t end = std::min(part->end, begin + part->chunk);
      part->next = end;
      queue_next(here, part);
      for (std::uint64_t i = begin; i < end; ++i)
        part->body(i);
      here.yield();
    }
    --part->n_tasks;
  }
  static void queue_next(CoreContext& here, const std::shared_ptr<LoopPart>& part) {
    if (part->has_queued || part->next == part->end || part->n_tasks >= kLoopTasksMost ||
        here.n_waiting_for_room() > 0) {
      return;
    }
    part->has_queued = true;
    here.spawn([part] { run(part); }, {"forall"}, part->at);
  }
};

constexpr std::uint64_t kChunkMost = 1024;
constexpr std::uint64_t kChunksLeast = 64;  // of a core's part

// Starts the tasks of this core's part of a loop, in the scope of the caller.
template <class Body>
void run_part(CoreContext& here, std::uint64_t begin, std::uint64_t end, const Body& body,
              LoopOptions options, SourcePlace at) {
  if (begin >= end) return;
  std::uint64_t chunk = options.threshold;
  if (chunk == 0) chunk = std::clamp<std::uint64_t>((end - begin) / kChunksLeast, 1, kChunkMost);
  auto part = std::make_shared<LoopPart<Body>>(
      LoopPart<Body>{begin, end, chunk, body, 0, true, at});
  here.spawn([part] { LoopPart<Body>::run(part); }, {"forall"}, at);
}

template <class Body>
struct LoopRecord {
  std::uint64_t begin;
  std::uint64_t end;
  CoreId first;  // the range is of the cores [first, last)
  CoreId last;
  std::uint64_t threshold;
  PortablePlace at;
  [[no_unique_address]] Body body;

  // Half of the cores to the first of them, and so on: as many steps as the logarithm of their number.
  void apply(CoreContext& here) const {
    LoopRecord mine = *this;
    while (mine.last - mine.first > 1) {
      LoopRecord other = mine;
      other.first = mine.last = mine.first + (mine.last - mine.first + 1) / 2;
      other.begin = mine.end = begin + share(end - begin, other.first - first);
      here.post(other.first, other);
    }
    run_part(here, mine.begin, mine.end, body, {threshold}, at.place());
  }
  // What the first `n_cores` of these cores get of n iterations.
  [[nodiscard]] std::uint64_t share(std::uint64_t n, CoreId n_cores) const noexcept {
    const std::uint64_t n_all = last - first;
    return n / n_all * n_cores + std::min<std::uint64_t>(n % n_all, n_cores);
  }
};

template <class F>
struct EverywhereRecord {
  CoreId first;
  CoreId last;
  PortablePlace at;
  [[no_unique_address]] F f;

  void apply(CoreContext& here) const {
    EverywhereRecord mine = *this;
    while (mine.last - mine.first > 1) {
      EverywhereRecord other = mine;
      other.first = mine.last = mine.first + (mine.last - mine.first + 1) / 2;
      here.post(other.first, other);
    }
    here.spawn([call = f] { call(); }, {"on all cores"}, at.place());
  }
};

}  // namespace detail

template <class Body>
void async_forall(std::uint64_t begin, std::uint64_t end, const Body& body, LoopOptions options = {},
                  SourcePlace at = SourcePlace::here()) {
  static_assert(std::is_trivially_copyable_v<Body>,
                "the body of a loop is copied to all cores by its bytes: it must capture plain values");
  if (begin >= end) return;
  CoreContext& here = CoreContext::here();
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.post(0, detail::LoopRecord<Body>{begin, end, 0, n_cores, options.threshold, PortablePlace(at), body});
}
template <class Body>
void forall(std::uint64_t begin, std::uint64_t end, const Body& body, LoopOptions options = {},
            SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(begin, end, body, options, at); });
}

template <class F>
void async_on_all_cores(const F& f, SourcePlace at = SourcePlace::here()) {
  static_assert(std::is_trivially_copyable_v<F>,
                "what runs on all cores is copied there by its bytes: it must capture plain values");
  CoreContext& here = CoreContext::here();
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.post(0, detail::EverywhereRecord<F>{0, n_cores, PortablePlace(at), f});
}
template <class F>
void on_all_cores(const F& f, SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_on_all_cores(f, at); });
}

}  // namespace rubato::global

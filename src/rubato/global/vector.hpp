#pragma once
// GlobalVector: a growing sequence over all cores: vector, stack and queue [Grappa 3.1.1; Holt et
// al., "Flat combining synchronized global data structures", PGAS 2013].
//
//   const auto found = GlobalVector<Edge>::make();
//   forall(edges, [=](Edge& e) { if (..) found.async_push(e); });
//   forall(found, [](std::uint64_t i, Edge& e) { .. });       i: which one it is
//   found.pop();                                              the last one;  pop_front(): the first
//
// A push takes a ticket from one core, the keeper, and the value goes to the core that the ticket
// says. A core takes tickets for many pushes at once. The keeper knows which tickets are in the
// sequence, as ranges, so a sequence that is pushed, and popped from its ends, costs it some words;
// one whose end is pushed and popped by turns costs it a range for each turn.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/per_core.hpp"
#include "rubato/global/team.hpp"

namespace rubato::global {

namespace detail {

// Consecutive tickets in the sequence.
struct TicketRange {
  std::uint64_t first;
  std::uint64_t n;
};

// Which tickets are in the sequence, and in which order; at the keeper.
class TicketList {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::deque<TicketRange>& ranges() const noexcept { return ranges_; }
  // The first of `n` new ones, at the end.
  std::uint64_t push(std::uint64_t n);
  // Of the last, and of the first one; kNone if there is none.
  std::uint64_t pop_back();
  std::uint64_t pop_front();
  // Of the i-th one, or kNone.
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const;
  void clear() noexcept {
    ranges_.clear();
    size_ = 0;
  }

 private:
  std::deque<TicketRange> ranges_;
  std::uint64_t next_ = 0;
  std::uint64_t size_ = 0;
};

template <class T>
class VectorSink;  // file.hpp

// Where tickets stand in the sequence: for loops at the owners.
class TicketPositions {
 public:
  explicit TicketPositions(const std::vector<TicketRange>& ranges);
  // REQUIRES: the ticket is in the sequence.
  [[nodiscard]] std::uint64_t of(std::uint64_t ticket) const;

 private:
  std::map<std::uint64_t, std::uint64_t> by_first_;  // position of a range's first ticket
};

// The values of one core, by ticket: in chunks, which go when all their values have gone.
template <class T>
class TicketStore {
 public:
  static constexpr std::uint64_t kChunk = 64;
  struct Chunk {
    std::uint64_t first = 0;  // of this core's places
    std::uint64_t there = 0;  // a bit a value
    alignas(T) std::byte bytes[kChunk * sizeof(T)];

    Chunk() = default;
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;
    ~Chunk() {
      for (std::uint64_t i = 0; i < kChunk; ++i)
        if ((there >> i & 1) != 0) std::destroy_at(&value(i));
    }
    [[nodiscard]] T& value(std::uint64_t i) noexcept {
      return *std::launder(reinterpret_cast<T*>(bytes + i * sizeof(T)));
    }
  };

  [[nodiscard]] T* find(std::uint64_t place) noexcept {
    const auto found = chunks_.find(place / kChunk);
    if (found == chunks_.end() || (found->second->there >> place % kChunk & 1) == 0) return nullptr;
    return &found->second->value(place % kChunk);
  }
  void put(std::uint64_t place, T value) {
    std::unique_ptr<Chunk>& chunk = chunks_[place / kChunk];
    if (chunk == nullptr) {
      chunk.reset(new Chunk);  // whose bytes are not written first
      chunk->first = place / kChunk * kChunk;
    }
    ::new (static_cast<void*>(chunk->bytes + place % kChunk * sizeof(T))) T(std::move(value));
    chunk->there |= std::uint64_t{1} << place % kChunk;
  }
  // REQUIRES: it is there.
  void erase(std::uint64_t place) {
    const auto found = chunks_.find(place / kChunk);
    Chunk& chunk = *found->second;
    std::destroy_at(&chunk.value(place % kChunk));
    chunk.there &= ~(std::uint64_t{1} << place % kChunk);
    if (chunk.there == 0) chunks_.erase(found);
  }
  [[nodiscard]] std::vector<Chunk*> chunks() const {
    std::vector<Chunk*> all;
    all.reserve(chunks_.size());
    // order: sorted below
    for (const auto& chunk : chunks_)
      all.push_back(chunk.second.get());
    std::ranges::sort(all, {}, &Chunk::first);
    return all;
  }

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<Chunk>> chunks_;
};

}  // namespace detail

// A handle: copied and sent as it is. Values are plain, strings, or of any type that has a codec.
template <class T>
class GlobalVector {
  static_assert(
      Encoded<T>,
      "a value of a global vector is a string, a plain value, or has a codec (codec.hpp)");

 public:
  GlobalVector() = default;

  // An empty one. Called by a task; waits.
  [[nodiscard]] static GlobalVector make();
  // Called by a task when nobody uses it any more; waits.
  void free() const { shards_.free(); }

  // Appends the value some time before the surrounding finish() ends. Pushes of one task are in the
  // order of its calls, with those of other cores in between.
  void async_push(const T& value) const {
    append(1, [&](std::size_t) -> const T& { return value; });
  }
  // The same for all of them, which stand one after the other in the sequence. One question to the
  // keeper and a message for each owner, however many there are.
  void async_push(std::span<const T> values) const {
    append(values.size(), [&](std::size_t i) -> const T& { return values[i]; });
  }

  // The calls below are made by a task, and wait.
  void push(const T& value) const {
    CoreContext::here().finish([&] { async_push(value); });
  }
  void push(std::span<const T> values) const {
    CoreContext::here().finish([&] { async_push(values); });
  }
  // Takes the last one, or the first one, out; nothing if there is none.
  [[nodiscard]] std::optional<T> pop() const { return answer_to(Which::last); }
  [[nodiscard]] std::optional<T> pop_front() const { return answer_to(Which::first); }
  // The i-th one, or nothing if there are not so many.
  [[nodiscard]] std::optional<T> get(std::uint64_t i) const { return answer_to(Which::at, i); }
  // The same for coroutines: co_await vector.awaited_pop().
  [[nodiscard]] auto awaited_pop() const { return Awaiter(*this, Which::last); }
  [[nodiscard]] auto awaited_pop_front() const { return Awaiter(*this, Which::first); }
  [[nodiscard]] auto awaited_get(std::uint64_t i) const { return Awaiter(*this, Which::at, i); }
  // All of them out; while nobody uses the vector.
  void clear() const;
  // All that have a place in the sequence: those of pushes whose scope has ended, and maybe others.
  [[nodiscard]] std::uint64_t size() const {
    return call(keeper(), [](Shard& shard) { return shard.tickets.size(); });
  }
  // All of them here, in their order, while nobody pushes or pops. They are made by T() first.
  [[nodiscard]] std::vector<T> values() const;

  template <class U, class Body>
  friend void async_forall(const GlobalVector<U>& vector, const Body& body, LoopOptions options,
                           SourcePlace at);
  friend class detail::VectorSink<T>;

 private:
  using Store = detail::TicketStore<T>;
  using Chunk = typename Store::Chunk;
  static constexpr std::size_t kHeldMost = 4096;
  static constexpr std::uint64_t kBytesHeldMost = std::uint64_t{1} << 20;
  // Batches of a core that wait for their tickets, or are on their way to the owners, if they are not small.
  static constexpr std::uint32_t kAskedMost = 16;
  static constexpr std::uint64_t kBytesSmall = 1024;

  // Values that are pushed, end to end as they travel.
  struct Batch {
    core::FinishId scope = 0;
    std::uint64_t n = 0;
    Writer values;
    std::vector<std::size_t> ends;  // of values of several lengths
    std::uint64_t n_on_way = 0;     // parts, to the owners; those of a small one are not told of

    void put(const T& value) {
      detail::put_one<T>(values, value);
      if constexpr (detail::bytes_of_each<T>() == 0) ends.push_back(values.size());
      ++n;
    }
    [[nodiscard]] ByteView bytes_of(std::uint64_t i) const {
      constexpr std::uint64_t kEach = detail::bytes_of_each<T>();
      if constexpr (kEach != 0) return values.view().subspan(i * kEach, kEach);
      const std::size_t begin = i == 0 ? 0 : ends[i - 1];
      return values.view().subspan(begin, ends[i] - begin);
    }
  };
  using Found = detail::Found<T>;
  // Which value somebody asks for: the ends are taken out, the i-th one is looked at.
  enum class Which : std::uint8_t { last, first, at };
  // Who asks; waits at the owner where the value is still on its way.
  struct Asker {
    Place reply;
    CoreId core;
    bool takes;
    bool is_coroutine;
    void answer(CoreContext& here, const Found& found) const {
      if (is_coroutine) {
        detail::post_reply<detail::CoroutineReply>(here, core, reply, found);
      } else if (core == here.core()) {
        reinterpret_cast<detail::Reply<Found>*>(reply.resolve(here))->take(here, found);
      } else {
        detail::post_reply(here, core, reply, found);
      }
    }
  };
  // A core's part.
  struct Shard final : core::Combiner {
    detail::TicketList tickets;  // at the keeper alone
    Store store;
    std::unordered_map<std::uint64_t, std::vector<Asker>>
        askers;  // came before the value, by place
    GlobalVector vector;
    Batch held;
    std::uint32_t n_asked = 0;
    core::detail::WaitList room;

    void flush(CoreContext& here) override { vector.ask(here, *this); }
  };

  struct Reserve {
    GlobalVector vector;
    std::uint64_t n;
    Place batch;
    void apply(CoreContext& here) const {
      here.post(here.source(), Reserved{vector, vector.local().tickets.push(n), batch});
    }
  };
  struct Reserved {
    GlobalVector vector;
    std::uint64_t first;
    Place batch;
    void apply(CoreContext& here) const {
      Batch& values = *reinterpret_cast<Batch*>(batch.resolve(here));
      const bool is_small = values.values.size() < kBytesSmall;
      vector.send(here, first, values, is_small ? Place() : batch);
      here.end_in_scope(values.scope);
      if (is_small) return vector.forget(values);
      values.n_on_way = std::min(values.n, vector.n_cores_);
      values.values = {};
      values.ends = {};
    }
  };
  // A part of a batch has come to its owner.
  struct Came {
    GlobalVector vector;
    Place batch;
    void apply(CoreContext& here) const {
      Batch& values = *reinterpret_cast<Batch*>(batch.resolve(here));
      if (--values.n_on_way == 0) vector.forget(values);
    }
  };
  struct Put {
    GlobalVector vector;
    std::uint64_t place;
    Place told;  // the batch, if its core is to hear of it
    void apply(CoreContext& here, ByteView values) const {
      Reader in(values);
      std::uint64_t end = place;
      for (; !in.at_end(); ++end)
        vector.local().store.put(end, detail::get_one<T>(in));
      vector.serve_askers(here, place, end - place);
      if (told != Place()) here.post(here.source(), Came{vector, told});
    }
  };
  // The keeper knows the ticket, and hands the question on to the owner. All that it hands on to one
  // core comes there in this order: what is looked at before it is taken is there, or will be.
  struct Ask {
    GlobalVector vector;
    std::uint64_t i;
    Place reply;
    Which which;
    bool is_coroutine;
    void apply(CoreContext& here) const {
      vector.hand_on(here, which, i, {reply, here.source(), which != Which::at, is_coroutine});
    }
  };
  struct Serve {
    GlobalVector vector;
    std::uint64_t place;
    Asker asker;
    void apply(CoreContext& here) const { vector.serve(here, place, asker); }
  };
  class Awaiter : public detail::AnswerAwaiter<Found> {
   public:
    Awaiter(const GlobalVector& vector, Which which, std::uint64_t i = 0) noexcept
        : vector_(vector), i_(i), which_(which) {}
    void await_suspend(detail::CoroutineHandle waiter) {
      auto& reply = this->expect(waiter, "a value of a vector");
      vector_.post_question(which_, i_, Place::at_address(&reply), true);
    }
    std::optional<T> await_resume() { return detail::AnswerAwaiter<Found>::await_resume().take(); }

   private:
    GlobalVector vector_;
    std::uint64_t i_;
    Which which_;
  };

  [[nodiscard]] Shard& local() const { return shards_.here(); }
  [[nodiscard]] GlobalPtr<Shard> keeper() const { return shards_.on(keeper_); }
  [[nodiscard]] CoreId owner(std::uint64_t ticket) const noexcept {
    return static_cast<CoreId>(ticket % n_cores_);
  }

  template <class ValueAt>
  void append(std::uint64_t n, const ValueAt& value_at) const;
  void ask(CoreContext& here, Shard& shard) const;
  void send(CoreContext& here, std::uint64_t first, const Batch& batch, Place told = {}) const;
  void forget(Batch& batch) const;
  void post_question(Which which, std::uint64_t i, Place reply, bool is_coroutine) const;
  [[nodiscard]] std::optional<T> answer_to(Which which, std::uint64_t i = 0) const;
  void hand_on(CoreContext& here, Which which, std::uint64_t i, const Asker& asker) const;
  void serve(CoreContext& here, std::uint64_t place, const Asker& asker) const;
  void serve_askers(CoreContext& here, std::uint64_t place, std::uint64_t n) const;
  template <class Body>
  void loop_here(const Body& body, LoopOptions options, Team team, PortablePlace at) const;

  PerCore<Shard> shards_;
  std::uint64_t n_cores_ = 1;
  CoreId keeper_ = 0;
};

template <class T>
GlobalVector<T> GlobalVector<T>::make() {
  GlobalVector vector;
  vector.shards_ = PerCore<Shard>::make();
  vector.n_cores_ = CoreContext::here().shape().n_cores_total();
  // Not all of them on one core.
  vector.keeper_ =
      static_cast<CoreId>(vector.shards_.on(0).place().offset() / 64 % vector.n_cores_);
  on_all_cores([vector] { vector.local().vector = vector; });
  return vector;
}

// What is pushed together is of one batch, which has consecutive tickets.
template <class T>
template <class ValueAt>
void GlobalVector<T>::append(std::uint64_t n, const ValueAt& value_at) const {
  if (n == 0) return;
  CoreContext& here = CoreContext::here();
  Shard& shard = local();
  // What delegates push is always taken, as all that they post.
  while (shard.n_asked >= kAskedMost && here.may_wait())
    shard.room.wait("tickets of a vector to which it pushes");
  if (shard.held.scope != here.scope() || shard.held.n + n > kHeldMost ||
      shard.held.values.size() >= kBytesHeldMost) {
    ask(here, shard);
    shard.held.scope = here.scope();
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    detail::check_travels(here, value_at(i));
    shard.held.put(value_at(i));
    if (shard.held.n > 1) continue;
    here.begin_in_scope(shard.held.scope);
    here.hold_back(shard);
  }
}

// Asks the keeper for the tickets of what is held.
template <class T>
void GlobalVector<T>::ask(CoreContext& here, Shard& shard) const {
  if (shard.held.n == 0) return;
  auto batch = std::make_unique<Batch>(std::exchange(shard.held, {}));
  ++shard.n_asked;
  const CoreContext::RunningScope inside(here, batch->scope);
  const CoreContext::InPlace at_once(here);  // in the order of the pushes
  const std::uint64_t n = batch->n;
  here.post(keeper_, Reserve{*this, n, Place::at_address(batch.release())});
}

// Each owner its values, end to end.
template <class T>
void GlobalVector<T>::send(CoreContext& here, std::uint64_t first, const Batch& batch,
                           Place told) const {
  const std::uint64_t n = batch.n;
  Writer part;
  for (std::uint64_t begin = 0; begin < std::min(n, n_cores_); ++begin) {
    part = Writer(part.take());
    for (std::uint64_t i = begin; i < n; i += n_cores_)
      part.put_span(batch.bytes_of(i));
    here.post(owner(first + begin), Put{*this, (first + begin) / n_cores_, told}, part.view());
  }
}

template <class T>
void GlobalVector<T>::forget(Batch& batch) const {
  delete &batch;
  Shard& shard = local();
  --shard.n_asked;
  shard.room.wake_all();
}

template <class T>
void GlobalVector<T>::post_question(Which which, std::uint64_t i, Place reply,
                                    bool is_coroutine) const {
  CoreContext& here = CoreContext::here();
  if (keeper_ != here.core()) return here.post(keeper_, Ask{*this, i, reply, which, is_coroutine});
  const CoreContext::InPlace at_once(here);  // nothing comes between the ticket and handing it on
  hand_on(here, which, i, {reply, keeper_, which != Which::at, is_coroutine});
}

template <class T>
std::optional<T> GlobalVector<T>::answer_to(Which which, std::uint64_t i) const {
  CoreContext& here = CoreContext::here();
  here.check_may_block();
  detail::Reply<Found> reply;
  post_question(which, i, Place::at_address(&reply), false);
  return reply.wait(here, "a value of a vector").take();
}

// By the keeper.
template <class T>
void GlobalVector<T>::hand_on(CoreContext& here, Which which, std::uint64_t i,
                              const Asker& asker) const {
  detail::TicketList& tickets = local().tickets;
  const std::uint64_t ticket = which == Which::last    ? tickets.pop_back()
                               : which == Which::first ? tickets.pop_front()
                                                       : tickets.at(i);
  if (ticket == detail::TicketList::kNone) {
    asker.answer(here, Found{});
  } else if (const std::uint64_t place = ticket / n_cores_; owner(ticket) == here.core()) {
    serve(here, place, asker);
  } else {
    here.post(owner(ticket), Serve{*this, place, asker});
  }
}

// By the owner.
template <class T>
void GlobalVector<T>::serve(CoreContext& here, std::uint64_t place, const Asker& asker) const {
  Shard& shard = local();
  T* const value = shard.store.find(place);
  if (value == nullptr) {
    shard.askers[place].push_back(asker);
    return;
  }
  asker.answer(here, Found::of(value));
  if (asker.takes) shard.store.erase(place);
}

template <class T>
void GlobalVector<T>::serve_askers(CoreContext& here, std::uint64_t place, std::uint64_t n) const {
  Shard& shard = local();
  for (std::uint64_t i = place; i < place + n && !shard.askers.empty(); ++i) {
    const auto waiting = shard.askers.extract(i);
    if (waiting.empty()) continue;
    for (const Asker& asker : waiting.mapped())
      serve(here, i, asker);
  }
}

namespace detail {

// Bodies that take a value, or its index and it.
template <class Body, class T>
using BodiesOverVector =
    Bodies<Body, typename std::conditional_t<std::is_invocable_v<const Body&, std::uint64_t, T&>,
                                             std::invoke_result<const Body&, std::uint64_t, T&>,
                                             std::invoke_result<const Body&, T&>>::type>;

// A loop over the values of this core, by place in its chunks; some have none.
template <class T, class Bodies>
struct ChunkLoop {
  static constexpr std::uint64_t kChunk = TicketStore<T>::kChunk;
  typename TicketStore<T>::Chunk* const* chunks;
  const Bodies* bodies;
  const TicketPositions* positions;
  std::uint64_t n_cores;
  void operator()(std::uint64_t i) const {
    auto& chunk = *chunks[i / kChunk];
    if ((chunk.there >> i % kChunk & 1) == 0) return;
    if constexpr (Bodies::template kTakes<std::uint64_t, T&>) {
      const std::uint64_t ticket =
          (chunk.first + i % kChunk) * n_cores + CoreContext::here().core();
      (*bodies)(positions->of(ticket), chunk.value(i % kChunk));
    } else {
      (*bodies)(chunk.value(i % kChunk));
    }
  }
};

// One of values(), for its place among them.
template <class T>
struct ValueRecord {
  Place all;
  std::uint64_t i;
  void apply(CoreContext& here, ByteView value) const {
    (*reinterpret_cast<std::vector<T>*>(all.resolve(here)))[i] = Codec<T>::make(value);
  }
};

}  // namespace detail

// This core's part of a loop; waits for its tasks, since they use what lies here.
template <class T>
template <class Body>
void GlobalVector<T>::loop_here(const Body& body, LoopOptions options, Team team,
                                PortablePlace at) const {
  Shard& shard = local();
  std::vector<detail::TicketRange> ranges;
  if constexpr (std::is_invocable_v<const Body&, std::uint64_t, T&>) {
    ranges.assign(shard.tickets.ranges().begin(), shard.tickets.ranges().end());
    ranges = team.broadcast(ranges, keeper_);
  }
  team.free();
  const detail::TicketPositions positions(ranges);
  CoreContext& here = CoreContext::here();
  const std::vector<Chunk*> chunks = shard.store.chunks();
  const detail::BodiesOverVector<Body, T> bodies(body, at.place());
  const detail::ChunkLoop<T, decltype(bodies)> one{chunks.data(), &bodies, &positions, n_cores_};
  here.finish(
      [&] { detail::start_range<true>(here, 0, chunks.size() * Store::kChunk, one, options, at); });
}

// Calls body(value) or body(index, value) for each, on the core that has it, while nobody pushes or
// pops. The surrounding finish() waits.
template <class T, class Body>
void async_forall(const GlobalVector<T>& vector, const Body& body, LoopOptions options = {},
                  SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "the body of a loop is copied to all cores by its bytes: it must capture plain values");
  async_on_all_cores([vector, body, options, team = Team::private_job(),
                      place = PortablePlace(at)] { vector.loop_here(body, options, team, place); },
                     at);
}
// The same, and waits.
template <class T, class Body>
void forall(const GlobalVector<T>& vector, const Body& body, LoopOptions options = {},
            SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(vector, body, options, at); });
}

template <class T>
void GlobalVector<T>::clear() const {
  on_all_cores([vector = *this] {
    Shard& shard = vector.local();
    shard.tickets.clear();
    shard.store = {};
  });
}

template <class T>
std::vector<T> GlobalVector<T>::values() const {
  std::vector<T> all(size());
  if (all.empty()) return all;
  const auto to = make_global(all);
  forall(*this, [to](std::uint64_t i, const T& value) {
    CoreContext::here().post(to.core(), detail::ValueRecord<T>{to.place(), i},
                             Codec<T>::bytes(value));
  });
  return all;
}

}  // namespace rubato::global

#pragma once
// Cells, locks and events of other cores: what core/task/sync.hpp has for tasks of one core, for all.
//
//   const auto cells = PerCore<core::FullEmpty<Edge>>::make();
//   write_ef(cells.on(to), edge);              waits until that cell is empty, and fills it
//   const Edge e = read_fe(cells.on(from));    waits until it is full, and empties it
//
//   const auto locks = PerCore<core::Mutex>::make();
//   const GlobalLock lock(locks.on(owner));    until the end of its block
//
//   const auto changed = PerCore<core::Condition>::make();
//   wait(changed.on(a), locks.on(b), [=] { return read(n) > 0; });      and notify_one, notify_all
//   call_once(onces.on(core), [=] { ... });    by one task of all
//
// Each is one delegate of the core that has the object [Grappa 3.1.2, synchronization operations].
// The task that calls is suspended; at the owner nobody is, nor has a stack: who cannot go on yet
// stands in the line of the object, with the tasks of that core, in the order of arrival, and is
// answered by whoever lets it. So millions may wait. Two messages a call; in place where the object
// is of the calling core.
//
// Coroutines wait for the same with co_await (coroutine_sync.hpp).
//
// Called by tasks, and all but those marked wait. Writing without waiting, announce() and done() are
// delegates as any other: async_call(p, [](core::Completion& c) { c.done(); }).

#include <cstdint>
#include <type_traits>
#include <utility>

#include "rubato/core/task/sync.hpp"
#include "rubato/global/delegate.hpp"

namespace rubato::global {

namespace detail {

// Tells who waits on another core, with a To<R>, that it may go on, with a result.
template <class R, template <class> class To = Reply>
struct Answer {
  CoreId to;
  Place reply;
  void operator()(const R& result) const {
    CoreContext& here = CoreContext::here();
    // Whoever lets it go on does not wait for room.
    const CoreContext::InPlace at_once(here);
    post_reply<To>(here, to, reply, result);
  }
  void operator()() const requires std::is_same_v<R, Unit> { (*this)(Unit{}); }
};

// begin(object, answer) at the owner, which lets somebody answer.
template <class T, class R, class Begin, template <class> class To = Reply>
struct AskRecord {
  Place place;
  Place reply;
  [[no_unique_address]] Carried<Begin> begin;
  void apply(CoreContext& here) const {
    begin.get()(*reinterpret_cast<T*>(place.resolve(here)), Answer<R, To>{here.source(), reply});
  }
};
// By a task, of an object of another core.
template <class R, class T, class Begin>
R ask(GlobalPtr<T> p, const Begin& begin) {
  CoreContext& here = CoreContext::here();
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  Reply<R> reply;
  here.check_may_block();
  here.post(p.core(), AskRecord<T, R, Begin>{p.place(), Place::at_address(&reply), begin});
  return reply.wait(here, Begin::kThere);
}

// What begins there, and what is waited for meanwhile, on the core of the object and elsewhere.
struct ReadFf {
  static constexpr const char* kHere = "a cell to be full";
  static constexpr const char* kThere = "a cell of another core to be full";
  template <class T, class A>
  void operator()(core::FullEmpty<T>& cell, const A& answer) const {
    cell.async_read_ff(answer);
  }
};
struct ReadFe {
  static constexpr const char* kHere = ReadFf::kHere;
  static constexpr const char* kThere = ReadFf::kThere;
  template <class T, class A>
  void operator()(core::FullEmpty<T>& cell, const A& answer) const {
    cell.async_read_fe(answer);
  }
};
struct Lock {
  static constexpr const char* kHere = "a mutex";
  static constexpr const char* kThere = "a mutex of another core";
  void operator()(core::Mutex& mutex, const auto& answer) const { mutex.async_lock(answer); }
};
struct Acquire {
  static constexpr const char* kHere = "a semaphore";
  static constexpr const char* kThere = "a semaphore of another core";
  void operator()(core::Semaphore& semaphore, const auto& answer) const {
    semaphore.async_acquire(answer);
  }
};
struct WaitDone {
  static constexpr const char* kHere = "what was announced to be done";
  static constexpr const char* kThere = "what was announced on another core to be done";
  void operator()(core::Completion& completion, const auto& answer) const {
    completion.async_wait(answer);
  }
};
struct Arrive {
  static constexpr const char* kHere = "a barrier";
  static constexpr const char* kThere = "a barrier of another core";
  void operator()(core::Barrier& barrier, const auto& answer) const {
    barrier.async_arrive(answer);
  }
};
// The mutex is unlocked from there, when who asks stands in the line: whoever changes something
// afterwards notifies it.
struct WaitNotified {
  static constexpr const char* kHere = "a condition";
  static constexpr const char* kThere = "a condition of another core";
  GlobalPtr<core::Mutex> mutex;
  void operator()(core::Condition& condition, const auto& answer) const {
    condition.async_wait(answer);
    async_call(mutex, [](core::Mutex& m) { m.unlock(); });
  }
};
struct BeginOnce {
  static constexpr const char* kHere = "what another task does once";
  static constexpr const char* kThere = kHere;
  void operator()(core::Once& once, const auto& answer) const { once.async_begin(answer); }
};

// A value for a cell, in the payload.
template <class T, template <class> class To = Reply>
struct WriteRecord {
  Place place;
  Place reply;
  bool waits;
  void apply(CoreContext& here, ByteView value) const {
    auto& cell = *reinterpret_cast<core::FullEmpty<T>*>(place.resolve(here));
    const Answer<Unit, To> answer{here.source(), reply};
    if (waits) return cell.async_write_ef(Codec<T>::make(value), answer);
    cell.write_xf(Codec<T>::make(value));
    answer();
  }
  static constexpr const char* kHere = "a cell to be empty";
  static constexpr const char* kThere = "a cell of another core to be empty";
};
inline constexpr const char* kAnyCell = "a cell of another core";  // that is written, full or empty
// Sends it; the answer comes to `reply`, which lies on this core.
template <class T, template <class> class To>
void post_write(CoreContext& here, GlobalPtr<core::FullEmpty<T>> p, const T& value, bool waits,
                To<Unit>& reply) {
  static_assert(Encoded<T>,
                "what a cell of another core holds travels: it is a string, a plain "
                "value, or has a codec (codec.hpp)");
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  check_travels(here, value);
  here.post(p.core(), WriteRecord<T, To>{p.place(), Place::at_address(&reply), waits},
            Codec<T>::bytes(value));
}
template <class T>
void write_there(GlobalPtr<core::FullEmpty<T>> p, const T& value, bool waits) {
  CoreContext& here = CoreContext::here();
  Reply<Unit> reply;
  here.check_may_block();
  post_write(here, p, value, waits, reply);
  reply.wait(here, waits ? WriteRecord<T>::kThere : kAnyCell);
}

// Of the task that does it.
struct OnceEnd {
  explicit OnceEnd(GlobalPtr<core::Once> p) noexcept : once(p) {}
  OnceEnd(const OnceEnd&) = delete;
  OnceEnd& operator=(const OnceEnd&) = delete;
  ~OnceEnd() {
    call(once, [done = is_done](core::Once& o) { o.end(done); });
  }
  GlobalPtr<core::Once> once;
  bool is_done = false;
};

// Of what may wait for `p`: whether it can be done in place. Checked builds refuse who must not wait, wherever
// it is today and whether it would wait or not.
template <class T>
[[nodiscard]] bool is_here(GlobalPtr<T> p) {
  check_might_wait(CoreContext::here());
  return p.is_local();
}

}  // namespace detail

// --- cells: the letters say what a call waits for and what it leaves (core::FullEmpty)

// A copy of the value, which stays.
template <class T>
[[nodiscard]] T read_ff(GlobalPtr<core::FullEmpty<T>> p) {
  if (detail::is_here(p)) return p.local().read_ff();
  return detail::ask<T>(p, detail::ReadFf{});
}
// Waits until it is full, takes the value out and leaves it empty.
template <class T>
[[nodiscard]] T read_fe(GlobalPtr<core::FullEmpty<T>> p) {
  if (detail::is_here(p)) return p.local().read_fe();
  return detail::ask<T>(p, detail::ReadFe{});
}
// Waits until it is empty, and leaves the value in it.
template <class T>
void write_ef(GlobalPtr<core::FullEmpty<T>> p, const std::type_identity_t<T>& value) {
  if (detail::is_here(p)) return p.local().write_ef(value);
  detail::write_there(p, value, true);
}
// Whatever it was.
template <class T>
void write_xf(GlobalPtr<core::FullEmpty<T>> p, const std::type_identity_t<T>& value) {
  if (detail::is_here(p)) return p.local().write_xf(value);
  detail::write_there(p, value, false);
}

// --- the others, as those of one core

// Waits until nobody has it, in the order of arrival.
inline void lock(GlobalPtr<core::Mutex> p) {
  if (detail::is_here(p)) return p.local().lock();
  detail::ask<detail::Unit>(p, detail::Lock{});
}
// REQUIRES: it is locked.
inline void unlock(GlobalPtr<core::Mutex> p) {
  call(p, [](core::Mutex& mutex) { mutex.unlock(); });
}
// The same, some time before the end of the caller's scope.
inline void async_unlock(GlobalPtr<core::Mutex> p) {
  async_call(p, [](core::Mutex& mutex) { mutex.unlock(); });
}

// Waits for one of its units, and takes it; release() gives back n of them, and waits for that alone.
inline void acquire(GlobalPtr<core::Semaphore> p) {
  if (detail::is_here(p)) return p.local().acquire();
  detail::ask<detail::Unit>(p, detail::Acquire{});
}
inline void release(GlobalPtr<core::Semaphore> p, std::uint64_t n = 1) {
  call(p, [n](core::Semaphore& semaphore) { semaphore.release(n); });
}

// Until all that was announced is done.
inline void wait(GlobalPtr<core::Completion> p) {
  if (detail::is_here(p)) return p.local().wait();
  detail::ask<detail::Unit>(p, detail::WaitDone{});
}

// True for the last one.
inline bool arrive_and_wait(GlobalPtr<core::Barrier> p) {
  if (detail::is_here(p)) return p.local().arrive_and_wait();
  return detail::ask<bool>(p, detail::Arrive{});
}

// Unlocks the mutex, of whatever core, waits to be notified and locks it again. Two messages, and those
// of unlocking and locking. REQUIRES: the caller has locked it.
inline void wait(GlobalPtr<core::Condition> p, GlobalPtr<core::Mutex> mutex) {
  if (detail::is_here(p) && mutex.is_local()) return p.local().wait(mutex.local());
  detail::ask<detail::Unit>(p, detail::WaitNotified{mutex});
  lock(mutex);
}
// Until is_true(), which is asked with the mutex locked, here, before the first wait and behind each.
template <class Predicate>
void wait(GlobalPtr<core::Condition> p, GlobalPtr<core::Mutex> mutex, Predicate is_true) {
  while (!is_true())
    wait(p, mutex);
}
// The first of those that wait goes on, or all of them; waits for that alone.
inline void notify_one(GlobalPtr<core::Condition> p) {
  call(p, [](core::Condition& condition) { condition.notify_one(); });
}
inline void notify_all(GlobalPtr<core::Condition> p) {
  call(p, [](core::Condition& condition) { condition.notify_all(); });
}

// f() by the first task that comes, on its own core; others wait until it has ended. If f throws, the
// next one calls it. What f does elsewhere is seen by the others if f has waited for it.
template <class F>
void call_once(GlobalPtr<core::Once> p, F&& f) {
  if (detail::is_here(p)) return p.local().call(std::forward<F>(f));
  const bool is_mine = detail::ask<bool>(p, detail::BeginOnce{});
  if (!is_mine) return;
  detail::OnceEnd end(p);
  std::forward<F>(f)();
  end.is_done = true;
}

// Holds a mutex, whosever it is. Made and ended by one task; both wait.
class GlobalLock {
 public:
  explicit GlobalLock(GlobalPtr<core::Mutex> mutex) : mutex_(mutex) { lock(mutex_); }
  GlobalLock(const GlobalLock&) = delete;
  GlobalLock& operator=(const GlobalLock&) = delete;
  ~GlobalLock() { unlock(mutex_); }

 private:
  GlobalPtr<core::Mutex> mutex_;
};

}  // namespace rubato::global

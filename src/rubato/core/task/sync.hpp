#pragma once
// What tasks of one core wait for each other with. Whoever waits is suspended; its core goes on
// with other tasks. No locks and no atomics: tasks of a core never run at the same time, and lose
// it only where they yield or wait.
//
//   FullEmpty<T>   a cell with a value or without one; readers wait until it is full (a future), or
//                  take the value out and leave it empty
//   Completion     waits until all that was announced is done
//   Mutex, Condition, Semaphore, Barrier, Once   as in the standard library
//
// All wake in the order of arrival, and pass what they guard on to whom they wake: nobody who comes
// later is faster, so nobody starves. Calls that may suspend are made by a task
// (Scheduler::current); all others by tasks of the same core or by its driver. What is waited for
// outlives those who wait.
//
// async_x(then) is for who has no task, a message from another core (global/sync.hpp): then(..) is
// called when x() would return, at once or by whoever makes that possible. It stands in the same
// line, and does not wait.

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/core/task/scheduler.hpp"

namespace rubato::core {

namespace detail {

// Somebody who waits: a task that is suspended, on whose stack this lies, or what is to be called.
struct Waiter {
  Waiter* next = nullptr;
  Worker* task = nullptr;
  void (*go)(Waiter&) = nullptr;  // if it is no task; ends the waiter
};

template <class F>
struct CalledWaiter : Waiter {
  F f;
  explicit CalledWaiter(F then) : f(std::move(then)) {
    go = [](Waiter& me) {
      const std::unique_ptr<CalledWaiter> ends(static_cast<CalledWaiter*>(&me));
      ends->f();
    };
  }
};

// Those who wait, in the order of arrival.
class WaitList {
 public:
  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  // Whether the next one to be woken is a task. REQUIRES: !empty().
  [[nodiscard]] bool is_task_next() const noexcept { return first_->go == nullptr; }

  // Suspends the calling task until somebody wakes it.
  void wait(const char* waits_for) {
    Scheduler& here = Scheduler::current();
    Waiter me;
    me.task = &here.running();
    append(me);
    here.suspend(waits_for);
  }
  // Calls f() when it is its turn.
  template <class F>
  void add(F f) {
    append(*std::make_unique<CalledWaiter<F>>(std::move(f)).release());
  }
  // False if nobody waits.
  bool wake_one() {
    if (first_ == nullptr) return false;
    Waiter& waiter = *std::exchange(first_, first_->next);
    if (waiter.go != nullptr) {
      waiter.go(waiter);
    } else {
      waiter.task->home().wake(*waiter.task);
    }
    return true;
  }
  void wake_all() {
    while (wake_one()) {
    }
  }

 private:
  void append(Waiter& waiter) noexcept {
    (first_ == nullptr ? first_ : last_->next) = &waiter;
    last_ = &waiter;
  }

  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace detail

// A cell that is full or empty [Grappa 3.1.2, after the MTA]. The letters say what a call waits for
// and what it leaves: read_fe() waits for full and leaves empty.
template <class T>
class FullEmpty {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "the value of a cell is moved to whom it is read by");

 public:
  FullEmpty() = default;  // empty
  explicit FullEmpty(T value) : value_(std::move(value)) {}

  [[nodiscard]] bool is_full() const noexcept { return value_.has_value(); }

  // Waits until the cell is full; the value stays. The reference holds until the cell is emptied.
  // Waits on if somebody takes the value out before this task runs again.
  [[nodiscard]] const T& read_ff() {
    while (!value_)
      readers_.wait("a cell to be full");
    return *value_;
  }
  // Waits until the cell is full and takes the value out.
  [[nodiscard]] T read_fe() {
    if (!value_ || kept_for_ == KeptFor::taker) {
      takers_.wait("a cell to be full");
      RUBATO_ASSERT(value_.has_value() && kept_for_ == KeptFor::taker);
      kept_for_ = KeptFor::anybody;
    }
    T value = take_out();
    pass_on();
    return value;
  }
  // Fills the cell, whatever it was, and wakes who waits for that.
  void write_xf(T value) {
    value_.emplace(std::move(value));
    pass_on();
  }
  // Waits until the cell is empty and fills it.
  void write_ef(T value) {
    bool waits = value_.has_value() || kept_for_ == KeptFor::writer;
    while (waits) {
      writers_.wait("a cell to be empty");
      if (kept_for_ == KeptFor::writer) kept_for_ = KeptFor::anybody;
      waits = value_.has_value();  // by write_xf(), which waits for nobody
    }
    write_xf(std::move(value));
  }
  // Fills the cell if it is empty; false if it is full.
  [[nodiscard]] bool try_write(T value) {
    if (value_ || kept_for_ == KeptFor::writer) return false;
    write_xf(std::move(value));
    return true;
  }

  // then(value), then(value), then().
  template <class F>
  void async_read_ff(F then) {
    if (value_) return then(std::as_const(*value_));
    readers_.add([this, then = std::move(then)] { then(std::as_const(*value_)); });
  }
  template <class F>
  void async_read_fe(F then) {
    const bool waits = !value_ || kept_for_ == KeptFor::taker;
    takers_.add([this, then = std::move(then)] { then(take_out()); });
    if (!waits) pass_on();
  }
  template <class F>
  void async_write_ef(T value, F then) {
    const bool waits = value_.has_value() || kept_for_ == KeptFor::writer;
    writers_.add([this, value = std::move(value), then = std::move(then)]() mutable {
      value_.emplace(std::move(value));
      then();
    });
    if (!waits) pass_on();
  }

 private:
  // Who has been woken for what the cell is now, and has not run yet: nobody overtakes it.
  enum class KeptFor : std::uint8_t { anybody, taker, writer };

  [[nodiscard]] T take_out() {
    T value = std::move(*value_);
    value_.reset();
    return value;
  }
  // What the cell is now, to whom waits for it: until that is a task, which comes later, or nobody.
  void pass_on() {
    for (;;) {
      if (value_) readers_.wake_all();
      const KeptFor next = value_ ? KeptFor::taker : KeptFor::writer;
      detail::WaitList& waiting = value_ ? takers_ : writers_;
      if (kept_for_ == next || waiting.empty()) return;
      const bool is_task = waiting.is_task_next();
      if (is_task) kept_for_ = next;
      waiting.wake_one();
      if (is_task) return;
    }
  }

  std::optional<T> value_;
  KeptFor kept_for_ = KeptFor::anybody;
  detail::WaitList readers_;
  detail::WaitList takers_;
  detail::WaitList writers_;
};

// Counts what has been announced and not done, and can be used again once all is done.
class Completion {
 public:
  void announce(std::uint64_t n = 1) noexcept { n_open_ += n; }
  // REQUIRES: as many were announced.
  void done(std::uint64_t n = 1) {
    RUBATO_REQUIRE(n <= n_open_, n, n_open_);
    n_open_ -= n;
    if (n_open_ == 0) waiters_.wake_all();
  }
  // Waits until all that was announced is done; returns at once if nothing is open.
  void wait() {
    while (n_open_ != 0)
      waiters_.wait("what was announced to be done");
  }
  template <class F>
  void async_wait(F then) {
    if (n_open_ == 0) return then();
    waiters_.add(std::move(then));
  }
  [[nodiscard]] std::uint64_t n_open() const noexcept { return n_open_; }

 private:
  std::uint64_t n_open_ = 0;
  detail::WaitList waiters_;
};

// For std::lock_guard and std::unique_lock.
class Mutex {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names of the standard's Lockable
  void lock() {
    if (try_lock()) return;
    waiters_.wait("a mutex");  // who unlocks it leaves it locked, for this task
  }
  [[nodiscard]] bool try_lock() noexcept {
    if (locked_) return false;
    locked_ = true;
    return true;
  }
  // REQUIRES: it is locked.
  void unlock() {
    RUBATO_REQUIRE(locked_);
    if (!waiters_.wake_one()) locked_ = false;
  }
  // NOLINTEND
  template <class F>
  void async_lock(F then) {
    if (try_lock()) return then();
    waiters_.add(std::move(then));
  }

 private:
  bool locked_ = false;
  detail::WaitList waiters_;
};

class Condition {
 public:
  // Unlocks the mutex, waits to be notified and locks it again. Wakes for no other reason.
  // REQUIRES: the caller has locked it.
  void wait(Mutex& mutex) {
    mutex.unlock();
    waiters_.wait("a condition");
    mutex.lock();
  }
  template <class Predicate>
  void wait(Mutex& mutex, Predicate is_true) {
    while (!is_true())
      wait(mutex);
  }
  // then() when it is notified, with nothing locked: who calls unlocks the mutex behind this.
  template <class F>
  void async_wait(F then) {
    waiters_.add(std::move(then));
  }
  void notify_one() { waiters_.wake_one(); }
  void notify_all() { waiters_.wake_all(); }

 private:
  detail::WaitList waiters_;
};

class Semaphore {
 public:
  explicit Semaphore(std::uint64_t n) : n_(n) {}

  void acquire() {
    if (!try_acquire()) waiters_.wait("a semaphore");  // who releases it keeps one back
  }
  [[nodiscard]] bool try_acquire() noexcept {
    if (n_ == 0) return false;
    --n_;
    return true;
  }
  void release(std::uint64_t n = 1) {
    for (; n > 0; --n)
      if (!waiters_.wake_one()) ++n_;
  }
  template <class F>
  void async_acquire(F then) {
    if (try_acquire()) return then();
    waiters_.add(std::move(then));
  }

 private:
  std::uint64_t n_;
  detail::WaitList waiters_;
};

// For a fixed number of tasks, again and again.
class Barrier {
 public:
  // REQUIRES: n_tasks > 0.
  explicit Barrier(std::uint64_t n_tasks) : n_tasks_(n_tasks) { RUBATO_REQUIRE(n_tasks > 0); }

  // Waits until n_tasks tasks have arrived; true for the last of them.
  bool arrive_and_wait() {
    if (++n_arrived_ == n_tasks_) {
      n_arrived_ = 0;
      waiters_.wake_all();
      return true;
    }
    waiters_.wait("a barrier");
    return false;
  }
  // then(whether it was the last).
  template <class F>
  void async_arrive(F then) {
    if (++n_arrived_ != n_tasks_) return waiters_.add([then = std::move(then)] { then(false); });
    n_arrived_ = 0;
    waiters_.wake_all();
    then(true);
  }

 private:
  std::uint64_t n_tasks_;
  std::uint64_t n_arrived_ = 0;
  detail::WaitList waiters_;
};

class Once {
 public:
  // Calls f if nobody has; waits if somebody is in it. If f throws, the next one calls it.
  template <class F>
  void call(F&& f) {
    if (!begin()) return;
    End end(*this);
    std::forward<F>(f)();
    end.is_done = true;
  }
  [[nodiscard]] bool is_done() const noexcept { return done_; }

  // then(true) if it is up to the caller, who says end() afterwards; then(false) when it has been done.
  template <class F>
  void async_begin(F then) {
    if (!done_ && busy_) return waiters_.add([this, then = std::move(then)] { then(!done_); });
    const bool is_mine = !done_;
    busy_ = is_mine;
    then(is_mine);
  }
  // REQUIRES: somebody has begun.
  void end(bool is_done) {
    RUBATO_REQUIRE(busy_);
    done_ = is_done;
    if (!is_done && waiters_.wake_one()) return;  // it is up to that one now
    busy_ = false;
    if (is_done) waiters_.wake_all();
  }

 private:
  struct End {
    explicit End(Once& o) noexcept : once(o) {}
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ~End() { once.end(is_done); }
    Once& once;
    bool is_done = false;
  };
  [[nodiscard]] bool begin() {
    if (!done_ && busy_) {
      waiters_.wait("what another task does once");
      return !done_;
    }
    busy_ = !done_;
    return busy_;
  }

  bool done_ = false;
  bool busy_ = false;  // somebody is in it, or has been woken for it
  detail::WaitList waiters_;
};

}  // namespace rubato::core

#pragma once
// NativePool: threads beside the cores of a node, for long work that nobody can cut: a library's
// call, a read of a file, a program that is waited for. Cores go on with messages and tasks
// meanwhile.
//
// Threads begin with the first work. Whoever asked is told at its own core: it finds what is done
// in take_news(). What is not done for long people hear of by the watchdog, which looks at what runs.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <sched.h>

#include "rubato/base/source_place.hpp"
#include "rubato/base/time.hpp"

namespace rubato::core {

class CoreContext;
class Worker;

// How long native work may take. What is brief, a look at a file, does not wait for what is not.
enum class NativeTime : std::uint8_t { any, brief };

// Which of the works that wait for a thread has the next one: what is brief, then the largest
// priority, then the oldest.
struct NativeTurn {
  NativeTime time = NativeTime::any;
  std::int32_t priority = 0;
};

// As many as the process has processors, for programs that compute; 4 at least, for some that wait.
[[nodiscard]] std::uint32_t native_threads_of_process();

namespace detail {

class NativePool;

// Lives with the task that waits for it.
struct NativeWork {
  std::function<void()> call;
  Worker* waiter = nullptr;
  std::uint32_t local = 0;           // core of the waiter
  const NativePool* pool = nullptr;  // that has it
  std::exception_ptr error = nullptr;
  bool is_brief = false;
  std::int32_t priority = 0;
  bool is_task = false;               // a task that has left its core (beside.hpp)
  SourcePlace at{};                   // where it was asked for; no file: that tells nobody anything
  Nanos timeout = kNever;             // from its begin
  std::atomic<bool> is_late = false;  // which is over; set by its core, read by the work
  // Its task will be told of it at a time that is still to come; set by its core, read by the watchdog.
  std::atomic<bool> is_timed = false;
  Nanos since = kNever;  // on its thread, by the pool's clock; under the pool's lock

  // Of its core alone.
  const CoreContext* in_place = nullptr;  // which runs it, and no thread
  Nanos patience = kNever;                // of the waiter, from the end of this turn on
  Nanos due = kNever;                     // when it is to be told
  bool is_due = false;
  bool is_done = false;
  bool is_waited_for = false;  // the waiter is suspended for it

  explicit NativeWork(std::function<void()> f) : call(std::move(f)) {}
  void run() noexcept;
  // That of this thread; null if it runs none.
  [[nodiscard]] static const NativeWork* running() noexcept;
};

// Of one core: the native work that it has asked for.
struct CoreNative {
  std::uint32_t n = 0;               // works that run beside it
  std::vector<NativeWork*> leaving;  // tasks that a thread is to have, once they have left
  std::vector<NativeWork*> begun;    // that wait for the end of this turn
  std::vector<NativeWork*> timed;    // and that are due at a time
  Nanos due = kNever;                // the first of these
};

class NativePool {
 public:
  // `clock` tells when work has begun; null, in virtual time: that is not known.
  NativePool(std::uint32_t n_threads, std::uint32_t n_cores, Nanos (*clock)() noexcept);
  NativePool(const NativePool&) = delete;
  NativePool& operator=(const NativePool&) = delete;
  // Blocks until all work that was begun has ended.
  ~NativePool();

  // f is called when the run fails or is told to end, before close() waits: it ends what would not
  // end by itself, at once. From any thread; f lives as long as the run.
  void on_close(std::function<void()> f);
  // Begins nothing more, and waits at most `grace` for what was begun; false if some of it goes on.
  [[nodiscard]] bool close(Nanos grace);

  // False: work runs on the core that has it, whatever is allowed.
  [[nodiscard]] bool has_threads() const noexcept { return n_usual_ > 0; }
  // From now on, n_more run at the same time beside the usual ones. From any thread.
  void allow(std::uint32_t n_more);
  // Called by any core. `work` lives until take_news() has said that it is done. Throws std::system_error
  // if there is no thread and none can be made; then it has not been added.
  void add(NativeWork& work);
  // True if take_news() would find something; without a lock.
  [[nodiscard]] bool any_news(std::uint32_t local) const noexcept {
    return of_cores_[local].any.load(std::memory_order_acquire);  // with run()
  }
  // What has begun, of work that has a time, and what has ended for a core since the last call.
  struct News {
    std::vector<NativeWork*> begun;
    std::vector<NativeWork*> done;
  };
  [[nodiscard]] News take_news(std::uint32_t local);
  // Calls f, which is brief, with all that has begun and has not ended; nothing ends meanwhile. From
  // any thread.
  void look_at_running(const std::function<void(const NativeWork&)>& f) const;
  // All work is to end; from any thread.
  [[nodiscard]] bool is_closing() const noexcept { return closes_.load(std::memory_order_relaxed); }

 private:
  struct OfCore {
    std::atomic<bool> any{false};
    News news;
  };

  void run();
  // A thread that is free finds something to begin; under the lock.
  [[nodiscard]] bool may_begin() const noexcept {
    return !brief_.empty() || !tasks_.empty() || (!waiting_.empty() && n_long_ < n_most_);
  }
  [[nodiscard]] std::deque<NativeWork*>& queue_of(const NativeWork& work) noexcept {
    return work.is_brief ? brief_ : work.is_task ? tasks_ : waiting_;
  }
  // Behind all of its priority.
  static void insert(std::deque<NativeWork*>& queue, NativeWork& work);
  [[nodiscard]] NativeWork& take_next();
  void drop_waiting();

  cpu_set_t processors_;  // of the process, before its cores were pinned
  const std::uint32_t n_usual_;
  Nanos (*const clock_)() noexcept;
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable ended_;
  std::uint32_t n_most_;  // that run, of those that are not brief
  std::uint32_t n_long_ = 0;
  std::deque<NativeWork*> waiting_;  // the next one first, as all three
  std::deque<NativeWork*> brief_;
  std::deque<NativeWork*> tasks_;  // one of a core at most, so that they need not wait for others
  std::uint32_t n_tasks_ = 0;      // those, and such that run
  std::uint32_t n_idle_ = 0;
  std::vector<const NativeWork*> running_;
  bool ends_ = false;
  std::vector<std::function<void()>> on_close_;
  std::atomic<bool> closes_{false};
  std::vector<OfCore> of_cores_;  // [n_cores]
  std::vector<std::thread> threads_;
};

}  // namespace detail
}  // namespace rubato::core

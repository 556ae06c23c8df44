#pragma once
// Scheduler: the tasks of one core [Grappa 3.2].
//
// A task is a closure. It waits in a queue until a worker, which is a stack, takes it; on that
// worker it runs until it ends, and may block anywhere. Workers switch to each other in user space,
// without a system call and without going through the scheduler's own stack.
//
//   Scheduler tasks({});
//   tasks.spawn([&] { ...; Scheduler::current().yield(); ... }, "search");
//   while (tasks.run_some(10'000, now).more) look_for_messages();
//
// It is driven: run_some() runs what is ready and comes back; it reads no clock and never sleeps.
// The driver, a thread or a simulator, owns time.
//
// Ready workers stand in a ring. With many of them, what a worker needs is in no cache when its
// turn comes; so the ring is looked at ahead of time: `prefetch_distance` switches before a worker
// runs, the lines at the end of its stack are asked for. The paper's three stages
// (ready-unscheduled, -scheduled, -resident) are the places in the ring beyond that distance,
// within it, and the first. Differs from the paper: the ring holds the stack pointers themselves,
// so that no line of a worker's own data is touched at a switch.
//
// A scheduler is used by one thread at a time, and so are its tasks: but for those that leave it for
// another thread, on their own stacks, and come back (beside.hpp). A task that keeps the processor
// keeps its core.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/base/prefetch.hpp"
#include "rubato/base/source_place.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/task/context.hpp"
#include "rubato/core/task/stack_pool.hpp"
#include "rubato/core/task/task_queue.hpp"

namespace rubato::core {

using detail::StackClass;

class Scheduler;

// A stack and the task on it. Made and owned by its scheduler; lies at the upper end of the stack.
class Worker {
 public:
  [[nodiscard]] Scheduler& home() const noexcept { return *home_; }

  // For whoever keeps this worker while it is suspended, e.g. in a list of those that wait.
  Worker* next = nullptr;
  // For whoever drives the scheduler, kept with the task.
  std::uint64_t scope = 0;
  // For whoever runs something in the task: lies on its stack, and is null again afterwards.
  void* frame = nullptr;

 private:
  friend class Scheduler;

  enum class State : std::uint8_t { idle, active, waiting };

  void* left_at_ = nullptr;  // where it was left, unless it stands in the ring
  Scheduler* home_ = nullptr;
  mutable detail::TaskLabel label_;  // mutable: it is looked at by atomic_ref
  detail::Stack stack_;
  State state_ = State::idle;
  const char* waits_for_ = "";
  [[no_unique_address]] detail::StackMarks marks_;
};

namespace detail {

// Of a thread that runs the stack of a task which has left its scheduler.
struct Visit {
  bool is_entered = false;  // the task is there, and not at home
  void* left_at = nullptr;  // the thread's own stack
  StackMarks marks;
};

}  // namespace detail

// What a task is, for people, and on which stack it runs.
struct TaskOptions {
  const char* name = "";  // a literal
  StackClass stack = StackClass::guarded;
};

// A task that waits, for the watchdog.
struct WaitingTask {
  std::string name;       // "" if it was given none
  std::string spawned;    // "file:line"
  std::string waits_for;  // as suspend() was told
};

class Scheduler {
 public:
  struct Options {
    detail::StackPoolOptions stacks;
    // Switches before a worker runs that its stack is asked for; 0: it is not. As long as memory may
    // take at a few ns a switch. Where so few are ready that the second cache has their stacks, it is
    // shorter, so that the first cache holds what was asked for.
    std::uint32_t prefetch_distance = 32;
  };
  // Of everything since the start. Counting costs nothing at a switch.
  struct Figures {
    std::uint64_t n_spawned = 0;
    std::uint64_t n_ended = 0;
    std::uint64_t n_turns = 0;      // yields, suspensions and ends of tasks
    std::uint64_t n_suspended = 0;  // but to wait for a time
    std::uint64_t n_workers = 0;
    std::uint64_t n_waiting = 0;  // workers that are suspended now
    std::uint64_t n_queued = 0;   // tasks that wait for a worker now
  };
  struct Progress {
    bool more = false;    // something is ready
    Nanos wake = kNever;  // nothing will be before that time, unless somebody wakes it
  };

  explicit Scheduler(const Options& options);
  // Tasks that have not ended are dropped: what is on their stacks is not destroyed.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The scheduler of the task that calls. REQUIRES: called by a task.
  [[nodiscard]] static Scheduler& current() {
    if (current_ == nullptr) [[unlikely]]
      refuse_to_wait();
    return *current_;
  }
  [[nodiscard]] static bool is_task() noexcept { return current_ != nullptr; }

  // Queues f; from a task or from the driver. Closures are moved onto the stack, and at most 4 KiB, or a
  // quarter of a small one. A task that waits for a stack of a class of which all are in use waits until one is
  // free.
  template <class F>
  void spawn(F&& f, TaskOptions options = {}, SourcePlace at = SourcePlace::here()) {
    if constexpr (sizeof(std::decay_t<F>) > detail::StackPool::kLeast / 4)
      check_fits(sizeof(std::decay_t<F>), options, at);
    queues_[static_cast<std::size_t>(options.stack)].push(std::forward<F>(f), {options.name, at});
    ++figures_.n_spawned;
  }
  template <class F>
  void spawn(F&& f, const char* name, SourcePlace at = SourcePlace::here()) {
    spawn(std::forward<F>(f), TaskOptions{name}, at);
  }
  // Queues f when run_some() is told of a time not before `when`.
  void spawn_at(Nanos when, std::function<void()> f, TaskOptions options = {},
                SourcePlace at = SourcePlace::here());

  // The calls from here to wake() are made by a task of this scheduler.

  // Lets every worker that is ready run first, or a new task where none is.
  void yield() {
#ifndef NDEBUG
    check_may_wait();
#endif
    RUBATO_DASSERT(!detail::kReadsThreadAnew || current_ == this);
    // Not through `this`, which the caller has on its stack: who is next would be known only once that
    // stack has come, and the processor could not be at several switches at a time.
    Scheduler& here = detail::kReadsThreadAnew ? *current_ : *this;
    here.rotate<IfNone::new_task>();
  }
  // Sleeps until somebody wakes this worker; `waits_for`, a literal, is for people.
  void suspend(const char* waits_for);
  // Suspends the task until run_some() is told of a time not before `when`.
  void wait_until(Nanos when);
  [[nodiscard]] Worker& running() noexcept {
    return *running_;
  }
  // What people are told of the running task from now on.
  void label_running(const char* name, SourcePlace at) noexcept {
    running_->label_.store({name, at});
  }
  // Lets the driver run first: run_some() returns.
  void yield_to_driver();
  // Lets every worker that is ready run first and, where none is, or when the budget of run_some() is used
  // up, the driver: who asks again and again keeps nothing out. As yield(), checked in checked builds alone.
  void yield_to_any() {
#ifndef NDEBUG
    check_may_wait();
#endif
    RUBATO_DASSERT(!detail::kReadsThreadAnew || current_ == this);
    Scheduler& here = detail::kReadsThreadAnew ? *current_ : *this;
    here.rotate<IfNone::driver>();
  }
  // The same for the task that runs on this thread; false if there is none, or it must not wait.
  [[nodiscard, gnu::always_inline]] static bool try_yield_to_any() {
    if constexpr (!detail::kReadsThreadAnew) return false;
    Scheduler* const here = current_;
    if (here == nullptr || here->must_not_wait_) [[unlikely]]
      return false;
    here->rotate<IfNone::driver>();
    return true;
  }
  // While one lives, no task runs on this thread: a driver does, which may be one of a simulator in a task.
  class NoTask {
   public:
    NoTask() noexcept : outer_(std::exchange(current_, nullptr)) {}
    NoTask(const NoTask&) = delete;
    NoTask& operator=(const NoTask&) = delete;
    ~NoTask() { current_ = outer_; }

   private:
    Scheduler* outer_;
  };

  // From now on, what runs must not wait: it is something between two others. Returns what held
  // before. Waiting then ends the job, as it does where no task runs; yield() is checked in checked
  // builds alone.
  bool set_must_not_wait(bool must_not) noexcept {
    return std::exchange(must_not_wait_, must_not);
  }
  [[nodiscard]] bool must_not_wait() const noexcept {
    return must_not_wait_;
  }
  class MustNotWait {
   public:
    explicit MustNotWait(Scheduler& tasks) noexcept
        : tasks_(tasks), outer_(tasks.set_must_not_wait(true)) {}
    MustNotWait(const MustNotWait&) = delete;
    MustNotWait& operator=(const MustNotWait&) = delete;
    ~MustNotWait() { tasks_.set_must_not_wait(outer_); }

   private:
    Scheduler& tasks_;
    bool outer_;
  };
  // Ends the job, and tells people of what waits. Set before any task runs, by those who know more of
  // it than that no task runs.
  static void set_refusal(void (*refuse)()) noexcept {
    refusal_.store(refuse);
  }

  // Null if the driver runs.
  [[nodiscard]] const Worker* running_or_null() const noexcept {
    return running_;
  }
  // "task 'name' spawned at file:line", or "" if none runs. Called by any thread; a look at what may
  // have changed meanwhile.
  [[nodiscard]] std::string running_name() const;
  // The same of the task that `worker` has, which is one that has run.
  [[nodiscard]] static std::string name_of(const Worker& worker);
  // Whether a task that has begun may go on.
  [[nodiscard]] bool has_ready_worker() const noexcept {
    return n_ready_ != 0;
  }
  // True if run_some() would run something.
  [[nodiscard]] bool is_ready() const noexcept {
    return n_ready_ != 0 || (!queues_[1].empty() && has_small_stack()) ||
           (!queues_[0].empty() && has_stack());
  }
  // A guarded one for another task.
  [[nodiscard]] bool has_stack() const noexcept {
    return idle_[0] != nullptr || stacks_.has_guarded();
  }
  [[nodiscard]] bool has_small_stack() const noexcept {
    return idle_[1] != nullptr || stacks_.has_small();
  }
  [[nodiscard]] std::size_t n_guarded_stacks() const noexcept {
    return stacks_.n_guarded();
  }
  [[nodiscard]] std::size_t n_small_stacks() const noexcept {
    return stacks_.n_small();
  }
  // Those that it may have if all schedulers of the process have equally many.
  [[nodiscard]] std::size_t n_stacks_share() const noexcept {
    return stacks_.n_guarded_share();
  }
  [[nodiscard]] std::uint64_t n_turns() const noexcept {
    return figures_.n_turns + slice_ - n_turns_left();
  }
  // All but yields, and waits for a time.
  [[nodiscard]] std::uint64_t n_done() const noexcept {
    return figures_.n_spawned + figures_.n_ended + figures_.n_suspended;
  }
  // When something that waits for a time is due; kNever if nothing does.
  [[nodiscard]] Nanos next_time() const noexcept {
    return timed_.empty() ? kNever : timed_.top().when;
  }

  // The running task leaves for another thread; as suspended, until somebody wakes it. The driver
  // runs next, and when it does the stack may be entered. Returns there, or here if nobody did that
  // before the task was woken: `visit` says which.
  void leave_for_thread(detail::Visit& visit);
  // By that thread: runs the worker until it has left for home. It is to be woken there then.
  static void receive(Worker& worker, detail::Visit& visit);
  // By the worker, on that thread; returns at home.
  static void leave_for_home(Worker& worker, detail::Visit& visit);

  // Makes a suspended worker of this scheduler ready; from a task or from the driver.
  void wake(Worker& worker);

  // Runs what is ready, `budget` turns or somewhat more (a turn ends with a yield, a suspension or
  // the end of a task). `now` is the driver's time. Throws what the first task that failed threw,
  // as an Error with the task's name; the other tasks can be run on. Not called by a task.
  Progress run_some(std::uint64_t budget, Nanos now = 0);

  [[nodiscard]] Figures figures() const noexcept;
  // If `address` lies in what is guarded below the stack of the task that runs on this thread: says which
  // task it is, and ends the job. For the handler of faults (overflow.hpp).
  static void report_overflow(const void* address) noexcept;
  // At most `n_most` of the tasks that are suspended.
  [[nodiscard]] std::vector<WaitingTask> waiting(std::size_t n_most) const;

 private:
  friend class Beside;

  // A worker in the ring, and where it was left.
  struct Ready {
    Worker* worker = nullptr;
    void* left_at = nullptr;
  };
  struct Timed {
    Nanos when = 0;
    std::uint64_t number = 0;  // equal times: in the order of the calls
    Worker* worker = nullptr;  // or
    std::function<void()> task{};
    TaskOptions options{};
    SourcePlace at{};
    bool operator<(const Timed& other) const noexcept {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  // The head of the C++ runtime's list of exceptions that a thread handles (Itanium ABI 2.2.2).
  struct Exceptions {
    void* caught = nullptr;
    unsigned int n_uncaught = 0;
    [[nodiscard]] bool any() const noexcept {
      return (reinterpret_cast<std::uintptr_t>(caught) | n_uncaught) != 0;
    }
  };

  // Turns after which new tasks, the budget and one stack are looked at, or one less.
  static constexpr std::uint32_t kSlice = 64;
  // Lines of a stack from where it was left upwards, which is where the frame that left ends.
  static constexpr std::ptrdiff_t kLine = 64;
  static constexpr std::ptrdiff_t kLinesAskedFor = 5;
  static constexpr std::uint64_t kFewReady = 2048;
  static constexpr std::uint64_t kDistanceOfFew = 12;

  // The entry, whose left_at the caller sets, or the switch.
  [[gnu::always_inline]] Ready& push(Worker* worker) noexcept {
    Ready& entry = ring_[(head_ + n_ready_++) & mask_];
    entry.worker = worker;
    return entry;
  }
  // The stacks of many lie in memory, those of few in the second-level cache.
  [[gnu::always_inline]] void ask_for(const char* stack) const noexcept {
    if (are_many_) {
      for (std::ptrdiff_t line = 0; line < kLinesAskedFor; ++line)
        prefetch_from_memory(stack + line * kLine);
    } else {
      asm volatile("" : "+r"(stack));  // else GCC keeps a register for each address of both loops
      for (std::ptrdiff_t line = 0; line < kLinesAskedFor; ++line)
        prefetch_for_write(stack + line * kLine);
    }
  }
  // Of `n` from `head` on, the one that is to run so much later.
  [[gnu::always_inline]] void ask_ahead(std::uint64_t head, std::uint64_t n) const noexcept {
    const std::uint64_t distance = prefetch_distance_;
    if (n > distance) ask_for(static_cast<const char*>(ring_[(head + distance) & mask_].left_at));
  }
  // No turn by itself.
  [[gnu::always_inline]] Ready pop() noexcept {
    const Ready next = ring_[head_ & mask_];
    ++head_;
    ++slice_end_;
    --n_ready_;
    ask_ahead(head_, n_ready_);
    return next;
  }
  // Whether one may begin is looked at later.
  [[nodiscard]] bool has_new_task() const noexcept {
    return !queues_[0].empty() || !queues_[1].empty();
  }
  // Who is next where no worker is ready.
  enum class IfNone : std::uint8_t { new_task, driver };

  // A turn: the running worker goes to the end of the ring, and the first one on.
  template <IfNone kIfNone>
  [[gnu::always_inline]] void rotate() {
    const std::uint64_t head = head_;
    if (head == slice_end_) [[unlikely]] {
      begin_slice();
      if ((budget_ <= 0 || has_new_task()) && !keep_turn(kIfNone)) return;
      ++slice_end_;  // this turn was of the slice before
    }
    const std::uint64_t n = n_ready_;
    if (n == 0) [[unlikely]] {
      if constexpr (kIfNone == IfNone::driver) return yield_to_driver();
      --slice_end_;
      yield_to_new_task();
      return;
    }
    Ready& mine = ring_[(head + n) & mask_];
    mine.worker = running_;
    const Ready next = ring_[head & mask_];
    head_ = head + 1;
    ask_ahead(head + 1, n);
    go(next.worker, &mine.left_at, next.left_at);
  }
  // Leaves this stack for that of `to`, or of the driver if there is none.
  [[gnu::always_inline]] void go(Worker* to, void** save, void* left_at) noexcept {
    Worker* const me = running_;
    RUBATO_DASSERT(me == nullptr || detail::StackPool::is_whole(me->stack_), name_of(*me));
    std::atomic_ref(running_).store(to, std::memory_order_release);  // with running_name()
    if (exceptions_->any()) [[unlikely]] {
      go_with_exceptions(me, to, save, left_at);
      return;
    }
    detail::leave_stack(marks_of(me), marks_of(to));
    detail::switch_stacks(save, left_at);
    detail::enter_stack(marks_of(me), &driver_marks_);
  }
  [[nodiscard]] detail::StackMarks& marks_of(Worker* worker) noexcept {
    return worker == nullptr ? driver_marks_ : worker->marks_;
  }
  void go_with_exceptions(Worker* me, Worker* to, void** save, void* left_at) noexcept;

  void check_may_wait() const {
    if (must_not_wait_ || running_ == nullptr) [[unlikely]]
      refuse_to_wait();
  }
  [[noreturn]] static void refuse_to_wait();
  void check_fits(std::size_t n_bytes, const TaskOptions& options, SourcePlace at) const;

  // The next turn may be the last of its slice.
  [[nodiscard]] std::uint64_t n_turns_left() const noexcept {
    return slice_end_ - head_ + 1;
  }
  void set_slice(std::uint32_t n_turns) noexcept {
    slice_ = n_turns;
    slice_end_ = head_ + n_turns - 1;
  }
  void count_slice() noexcept {
    budget_ -= slice_;
    figures_.n_turns += slice_;
    set_slice(next_slice_);
    // By chance, the same in each run: ends of slices that were all as far apart would always fall on
    // the same tasks of a ring, and look at the stacks of no others.
    dice_ = 1664525 * dice_ + 1013904223;
    next_slice_ = kSlice - (dice_ >> 31);
  }
  // Looks at the running worker's stack, and how many are ready. In place: a call would write below where
  // the stack is left, on lines that nobody has asked for, and take as long as 20 switches.
  [[gnu::always_inline]] void begin_slice() noexcept {
    count_slice();
    check_stack(*running_);
    are_many_ = n_ready_ >= kFewReady;
    prefetch_distance_ = are_many_ ? distance_of_many_ : distance_of_few_;
    // What is checked at the next ends of slices, if the ring stays as it is, is far away where there
    // are many tasks: the worker is asked for two slices ahead, the end of its stack one ahead.
    if (const std::uint64_t n = slice_ + next_slice_ - 1; n_ready_ > n)
      prefetch_from_memory(&ring_[(head_ + n) & mask_].worker->stack_);
    if (const std::uint64_t n = slice_ - 1; n_ready_ > n)
      prefetch_from_memory(ring_[(head_ + n) & mask_].worker->stack_.low);
  }
  void end_turn() noexcept {
    if (head_ != slice_end_) {
      --slice_end_;
      return;
    }
    count_slice();
    new_task_first_ = true;
  }
  [[nodiscard]] bool keep_turn(IfNone if_none);
  bool yield_to_new_task();
  void leave(void** save);
  void leave_for_driver(void** save);
  [[nodiscard]] static Exceptions take_exceptions() noexcept;
  static void put_exceptions(const Exceptions& mine) noexcept;
  static void worker_main();
  void run_tasks(Worker& me);
  void run_task(Worker& me, detail::TaskQueue& queue);
  [[nodiscard]] Worker* worker_for_task();
  [[nodiscard]] Worker* new_worker(StackClass of_class);
  void take_due(Nanos now);
  static void check_stack(const Worker& worker) {
    if (!detail::StackPool::is_whole(worker.stack_)) [[unlikely]]
      refuse_stack(worker);
  }
  static void refuse_stack(const Worker& worker);

  [[gnu::tls_model("initial-exec")]]                                   // message/beside.hpp
  inline static thread_local constinit Scheduler* current_ = nullptr;  // NOLINT: private
  // Who is on this thread, of those that have left a scheduler, or seem to.
  // NOLINTNEXTLINE(readability-identifier-naming): private
  inline static thread_local constinit const Worker* away_ = nullptr;
  // NOLINTNEXTLINE(readability-identifier-naming): private
  inline static constinit std::atomic<void (*)()> refusal_{nullptr};

  // What a yield touches.
  Worker* running_ = nullptr;
  Ready* ring_ = nullptr;
  std::uint64_t head_ = 0;
  std::uint64_t n_ready_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t slice_end_ = kSlice - 1;  // head_ at the last turn of this slice, if all rotate
  bool are_many_ = true;                  // that are ready
  bool must_not_wait_ = false;
  std::uint64_t prefetch_distance_;   // UINT64_MAX: never
  Exceptions* exceptions_ = nullptr;  // of the thread that drives

  std::uint32_t slice_ = kSlice;  // turns
  std::uint32_t next_slice_ = kSlice;
  std::uint32_t dice_ = 0;
  detail::TaskQueue queues_[2];  // by stack class
  Worker* idle_[2] = {};         // by stack class
  std::size_t next_class_ = 0;   // by turns, so that neither keeps the other out
  std::uint64_t distance_of_many_;
  std::uint64_t distance_of_few_;
  std::int64_t budget_ = 0;
  // The last 64 turns have ended where no new task could begin: those keep new tasks out, too.
  bool new_task_first_ = false;
  void* driver_left_at_ = nullptr;
  detail::StackMarks driver_marks_;
  std::unique_ptr<Ready[]> ring_memory_;
  detail::StackPool stacks_;
  std::vector<Worker*> workers_;
  std::priority_queue<Timed> timed_;
  std::uint64_t n_timed_ = 0;
  std::exception_ptr failure_;
  Figures figures_;
};

}  // namespace rubato::core

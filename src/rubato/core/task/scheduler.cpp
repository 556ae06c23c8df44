#include "rubato/core/task/scheduler.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <cxxabi.h>

#include "rubato/base/error.hpp"
#include "rubato/base/signal_text.hpp"
#include "rubato/core/task/overflow.hpp"

namespace rubato::core {
namespace {

constexpr std::size_t kAlign = 64;

}  // namespace

Scheduler::Scheduler(const Options& options)
    : prefetch_distance_(options.prefetch_distance == 0 ? UINT64_MAX : options.prefetch_distance),
      distance_of_many_(prefetch_distance_),
      distance_of_few_(options.prefetch_distance == 0
                           ? UINT64_MAX
                           : std::min<std::uint64_t>(options.prefetch_distance, kDistanceOfFew)),
      stacks_(options.stacks) {
  ring_memory_ = std::make_unique<Ready[]>(kSlice);
  ring_ = ring_memory_.get();
  mask_ = kSlice - 1;
}

Scheduler::~Scheduler() {
  RUBATO_REQUIRE(running_ == nullptr);
  for (Worker* worker : workers_) {
    if (worker->state_ != Worker::State::idle) stacks_.abandon();
    worker->marks_.end();
    worker->~Worker();
  }
}

void Scheduler::spawn_at(Nanos when, std::function<void()> f, TaskOptions options, SourcePlace at) {
  timed_.push({when, n_timed_++, nullptr, std::move(f), options, at});
}

void Scheduler::refuse_to_wait() {
  if (void (*const refuse)() = refusal_.load(); refuse != nullptr) refuse();
  RUBATO_REQUIRE(!"what waits must be a task");
  std::abort();
}

void Scheduler::check_fits(std::size_t n_bytes, const TaskOptions& options, SourcePlace at) const {
  const std::size_t n_most = stacks_.options().small_bytes / 4;
  if (options.stack != StackClass::small || n_bytes <= n_most) return;
  const std::string spawned = at.text();
  RUBATO_REQUIRE(!"the closure of a task is larger than a quarter of its small stack: let it own its data by "
                  "pointer, or give the task a guarded stack",
                 options.name, spawned, n_bytes, n_most);
}

void Scheduler::suspend(const char* waits_for) {
  check_may_wait();
  Worker& me = *running_;
  check_stack(me);
  me.waits_for_ = waits_for;
  me.state_ = Worker::State::waiting;
  ++figures_.n_waiting;
  ++figures_.n_suspended;
  end_turn();
  leave(&me.left_at_);
}

void Scheduler::wait_until(Nanos when) {
  timed_.push({when, n_timed_++, running_});
  --figures_.n_suspended;
  suspend("a time");
}

void Scheduler::wake(Worker& worker) {
  RUBATO_REQUIRE(worker.home_ == this && worker.state_ == Worker::State::waiting, name_of(worker));
  RUBATO_DASSERT(running_ == nullptr || current_ == this, name_of(worker));
  worker.state_ = Worker::State::active;
  --figures_.n_waiting;
  push(&worker).left_at = worker.left_at_;
}

// Goes on with whoever is next: a ready worker, or one for a new task, or the driver.
void Scheduler::leave(void** save) {
  const bool any_ready = n_ready_ != 0 && budget_ > 0;
  if (any_ready && !std::exchange(new_task_first_, false)) [[likely]] {
    const Ready next = pop();
    go(next.worker, save, next.left_at);
    return;
  }
  Worker* worker = budget_ > 0 ? worker_for_task() : nullptr;
  if (worker != nullptr) {
    go(worker, save, worker->left_at_);
  } else if (any_ready && budget_ > 0) {
    const Ready next = pop();
    go(next.worker, save, next.left_at);
  } else {
    leave_for_driver(save);
  }
}

void Scheduler::leave_for_driver(void** save) {
  go(nullptr, save, driver_left_at_);
}

void Scheduler::yield_to_driver() {
  check_may_wait();
  Worker& me = *running_;
  check_stack(me);
  end_turn();
  budget_ = 0;
  leave_for_driver(&push(&me).left_at);
}

// At the end of a slice: is the budget used up? Do tasks wait that those who yield to each other would
// keep out for ever? True if the running worker has still to take its turn.
bool Scheduler::keep_turn(IfNone if_none) {
  if (budget_ > 0) return !yield_to_new_task() && (n_ready_ != 0 || if_none == IfNone::driver);
  new_task_first_ = true;
  leave_for_driver(&push(running_).left_at);
  return false;
}

// False if no new task can begin.
bool Scheduler::yield_to_new_task() {
  Worker* worker = worker_for_task();
  if (worker == nullptr) return false;
  go(worker, &push(running_).left_at, worker->left_at_);
  return true;
}

// While a task handles an exception, the list of those that the thread handles is its own.
void Scheduler::go_with_exceptions(Worker* me, Worker* to, void** save, void* left_at) noexcept {
  Exceptions* const here = exceptions_;
  const Exceptions mine = *here;
  *here = {};
  detail::leave_stack(marks_of(me), marks_of(to));
  detail::switch_stacks(save, left_at);
  detail::enter_stack(marks_of(me), &driver_marks_);
  *exceptions_ = mine;
}

// The list of exceptions of the thread that calls, which must be asked for again after a switch: its
// address is declared to be always the same.
[[gnu::noinline]] Scheduler::Exceptions Scheduler::take_exceptions() noexcept {
  return std::exchange(*reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()), {});
}
[[gnu::noinline]] void Scheduler::put_exceptions(const Exceptions& mine) noexcept {
  *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()) = mine;
}

void Scheduler::leave_for_thread(detail::Visit& visit) {
  check_may_wait();
  Worker& me = *running_;
  check_stack(me);
  me.waits_for_ = "its work beside the core";
  me.state_ = Worker::State::waiting;
  ++figures_.n_waiting;
  ++figures_.n_suspended;
  end_turn();
  budget_ = 0;
  visit.is_entered = false;
  const Exceptions mine = take_exceptions();
  std::atomic_ref(running_).store(nullptr, std::memory_order_relaxed);  // with running_name()
  detail::leave_stack(me.marks_, driver_marks_);
  detail::switch_stacks(&me.left_at_, driver_left_at_);
  detail::enter_stack(me.marks_, visit.is_entered ? &visit.marks : &driver_marks_);
  put_exceptions(mine);
}

void Scheduler::receive(Worker& worker, detail::Visit& visit) {
  detail::watch_for_overflow();
  visit.is_entered = true;
  visit.marks.begin_thread();
  detail::leave_stack(visit.marks, worker.marks_);
  detail::switch_stacks(&visit.left_at, worker.left_at_);
  detail::enter_stack(visit.marks, nullptr);
}

void Scheduler::leave_for_home(Worker& worker, detail::Visit& visit) {
  Scheduler& home = *worker.home_;
  home.check_stack(worker);
  const Exceptions mine = take_exceptions();
  detail::leave_stack(worker.marks_, visit.marks);
  detail::switch_stacks(&worker.left_at_, visit.left_at);
  detail::enter_stack(worker.marks_, &home.driver_marks_);
  put_exceptions(mine);
}

// An idle worker, or a new one, if a task waits that it could run.
Worker* Scheduler::worker_for_task() {
  for (const std::size_t i : {next_class_, 1 - next_class_}) {
    if (queues_[i].empty()) continue;
    const auto of_class = static_cast<StackClass>(i);
    Worker* worker = idle_[i];
    if (worker != nullptr) {
      idle_[i] = worker->next;
    } else if (of_class == StackClass::small ? stacks_.has_small() : stacks_.has_guarded()) {
      worker = new_worker(of_class);
    }
    if (worker == nullptr) continue;
    next_class_ = 1 - i;
    worker->state_ = Worker::State::active;
    return worker;
  }
  return nullptr;
}

// Null if another core has taken the last stack meanwhile, and if the machine has no memory for one, which
// then ends the run.
Worker* Scheduler::new_worker(StackClass of_class) {
  detail::Stack stack;
  try {
    stack = stacks_.make(of_class);
  } catch (const Error&) {
    if (!failure_) failure_ = std::current_exception();
    budget_ = 0;
    return nullptr;
  }
  if (stack.low == nullptr) return nullptr;
  static_assert(alignof(Worker) <= kAlign);
  const std::size_t n_bytes = (sizeof(Worker) + kAlign - 1) / kAlign * kAlign;
  char* const top = stack.top() - n_bytes;
  auto* worker = ::new (static_cast<void*>(top)) Worker;
  worker->home_ = this;
  worker->stack_ = stack;
  worker->marks_.begin(stack.low, stack.n_bytes - n_bytes);
  worker->left_at_ = detail::new_context<&worker_main>(top, stack.n_bytes - n_bytes);
  workers_.push_back(worker);
  if (workers_.size() <= mask_) return worker;
  // The ring has room for all workers, so that push() need not ask.
  auto larger = std::make_unique<Ready[]>(2 * (mask_ + 1));
  const std::uint64_t mask = 2 * mask_ + 1;
  for (std::uint64_t i = head_; i != head_ + n_ready_; ++i)
    larger[i & mask] = ring_[i & mask_];
  ring_memory_ = std::move(larger);
  ring_ = ring_memory_.get();
  mask_ = mask;
  return worker;
}

// The first and last function on a worker's stack.
void Scheduler::worker_main() {
  Scheduler& home = *current_;
  Worker& me = *home.running_;
  detail::enter_stack(me.marks_, &home.driver_marks_);
  for (;;) {
    home.run_tasks(me);
    auto& idle = home.idle_[static_cast<std::size_t>(me.stack_.of_class)];
    me.state_ = Worker::State::idle;
    me.label_.store({});
    me.next = std::exchange(idle, &me);
    home.leave(&me.left_at_);
  }
}

// Until there are no more for this class of stack, or somebody has been waiting for this core.
void Scheduler::run_tasks(Worker& me) {
  detail::TaskQueue& queue = queues_[static_cast<std::size_t>(me.stack_.of_class)];
  while (!queue.empty()) {
    run_task(me, queue);
    end_turn();
    if (budget_ <= 0) return;
    // With a task left in the queue it would be this worker that leave() finds for it.
    if (n_ready_ != 0 && (queue.empty() || !std::exchange(new_task_first_, false))) return;
  }
}

void Scheduler::run_task(Worker& me, detail::TaskQueue& queue) {
  try {
    queue.run_oldest([&](const detail::TaskLabel& label) { me.label_.store(label); });
  } catch (const Error& error) {
    // What somebody has asked for is wrong, and no task is.
    const bool is_usage = error.code() == ExitCode::usage;
    if (!failure_) failure_ = std::make_exception_ptr(is_usage ? error : error.in(name_of(me)));
  } catch (const std::exception& error) {
    if (!failure_) {
      failure_ = std::make_exception_ptr(Error(error.what(), ExitCode::failed).in(name_of(me)));
    }
  } catch (...) {
    if (!failure_) {
      failure_ = std::make_exception_ptr(
          Error("an exception of unknown type", ExitCode::failed).in(name_of(me)));
    }
  }
  ++figures_.n_ended;
  if (failure_) budget_ = 0;
  check_stack(me);
}

void Scheduler::take_due(Nanos now) {
  while (!timed_.empty() && timed_.top().when <= now) {
    Timed timed = timed_.top();
    timed_.pop();
    if (timed.worker != nullptr) {
      wake(*timed.worker);
    } else {
      spawn(std::move(timed.task), timed.options, timed.at);
    }
  }
}

Scheduler::Progress Scheduler::run_some(std::uint64_t budget, Nanos now) {
  RUBATO_REQUIRE(running_ == nullptr);
  take_due(now);
  Scheduler* const outer = std::exchange(current_, this);
  exceptions_ = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  driver_marks_.begin_thread();
  detail::watch_for_overflow();
  budget_ = static_cast<std::int64_t>(std::min<std::uint64_t>(budget, INT64_MAX));
  // Of long turns there are few until others are looked at.
  if (budget < n_turns_left() && budget > 0) {
    figures_.n_turns += slice_ - n_turns_left();
    set_slice(static_cast<std::uint32_t>(budget));
  }
  while (budget_ > 0) {
    if (n_ready_ != 0 && !std::exchange(new_task_first_, false)) {
      const Ready next = pop();
      go(next.worker, &driver_left_at_, next.left_at);
    } else if (Worker* worker = worker_for_task(); worker != nullptr) {
      go(worker, &driver_left_at_, worker->left_at_);
    } else if (n_ready_ == 0) {
      break;  // nothing is ready, or all tasks that are wait for stacks that are in use
    }
  }
  current_ = outer;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return {is_ready(), next_time()};
}

void Scheduler::refuse_stack(const Worker& worker) {
  RUBATO_REQUIRE(!"the stack of a task overflowed: give the task a guarded stack, or make small "
                  "ones larger (StackPoolOptions)",
                 name_of(worker), worker.stack_.n_bytes);
}

void Scheduler::report_overflow(const void* address) noexcept {
  const Worker* const running = current_ != nullptr ? current_->running_ : away_;
  if (running == nullptr) return;
  const Worker& worker = *running;
  if (worker.stack_.of_class != StackClass::guarded) return;
  const char* const low = worker.stack_.low;
  const auto* const at = static_cast<const char*>(address);
  if (at >= low || at < low - worker.home_->stacks_.guard_bytes()) return;
  const detail::TaskLabel& label = worker.label_;
  SignalText text;
  text.add(
      "rubato: the stack of a task overflowed: make guarded stacks larger "
      "(StackPoolOptions::guarded_bytes), or let the task keep less on its stack [task ");
  if (*label.name != '\0') text.add("'").add(label.name).add("' ");
  text.add("spawned at ").add(label.spawned.file).add(":");
  text.add(static_cast<std::uint64_t>(label.spawned.line)).add(", ");
  text.add(worker.stack_.n_bytes).add(" bytes]");
  text.add_fatal_place();
  text.write();
  std::abort();
}

std::string Scheduler::name_of(const Worker& worker) {
  const detail::TaskLabel label = worker.label_.load();
  std::string text = "task ";
  if (*label.name != '\0') text.append("'").append(label.name).append("' ");
  return text.append("spawned at ").append(label.spawned.text());
}

Scheduler::Figures Scheduler::figures() const noexcept {
  Figures figures = figures_;
  figures.n_turns = n_turns();
  figures.n_workers = workers_.size();
  figures.n_queued = queues_[0].size() + queues_[1].size();
  return figures;
}

std::string Scheduler::running_name() const {
  const Worker* const worker =
      std::atomic_ref(const_cast<Worker*&>(running_)).load(std::memory_order_acquire);
  return worker == nullptr ? "" : name_of(*worker);
}

std::vector<WaitingTask> Scheduler::waiting(std::size_t n_most) const {
  std::vector<WaitingTask> tasks;
  for (const Worker* worker : workers_) {
    if (tasks.size() == n_most) break;
    if (worker->state_ != Worker::State::waiting) continue;
    tasks.push_back({worker->label_.name, worker->label_.spawned.text(), worker->waits_for_});
  }
  return tasks;
}

}  // namespace rubato::core

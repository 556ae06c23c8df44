#pragma once
// Coroutines and tasks with a stack wait for each other, and coroutines for a time.
//
//   const int n = wait_for(depth(root));                        a task for a coroutine, and its result
//   co_await awaited_task([&] { forall(..); norm = team.allreduce(norm, plus); });    the other way
//   co_await awaited_sleep_for(5 * kMillisecond);
//
// What only a task can do, collectives of a team, a finish() scope, a loop that waits, files, a coroutine has
// done by one: awaited_task().

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/global/coroutine.hpp"
#include "rubato/global/program.hpp"

namespace rubato::global {

namespace detail {

// What a task waits for; lies on its stack.
template <class T>
struct WaitForEnd {
  core::Worker* waiter = nullptr;
  std::optional<T> value{};
  std::exception_ptr error{};
  bool is_done = false;

  void end() noexcept {
    is_done = true;
    if (waiter != nullptr) waiter->home().wake(*std::exchange(waiter, nullptr));
  }
  [[nodiscard]] T get() {
    core::Scheduler& tasks = CoreContext::here().tasks();
    while (!is_done) {
      waiter = &tasks.running();
      tasks.suspend("the end of a coroutine");
    }
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <class T>
Coroutine run_for(CoroutineOf<T> coroutine, WaitForEnd<T>& to) {
  try {
    to.value.emplace(co_await std::move(coroutine));
  } catch (...) {
    to.error = std::current_exception();
  }
  to.end();
}
inline Coroutine run_for(Coroutine coroutine, WaitForEnd<Unit>& to) {
  try {
    co_await std::move(coroutine);
    to.value.emplace();
  } catch (...) {
    to.error = std::current_exception();
  }
  to.end();
}

template <class F>
class TaskAwaiter {
 public:
  using R = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<R>, "what is waited for is a value");

  TaskAwaiter(F&& f, core::TaskOptions options, SourcePlace at)
      : f_(std::move(f)), options_(options), at_(at) {
    RUBATO_REQUIRE(options.stack == core::StackClass::guarded &&
                       "the coroutine goes on on the stack of its task: a small one is too small",
                   at.text());
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(CoroutineHandle waiter) {
    n_waiting_ = &waiter.promise().of_place->answers["a task of its own"];
    ++*n_waiting_;
    ++waiter.promise().of_place->n_asking;
    CoreContext::here().spawn([this, waiter] { run(waiter); }, options_, at_);
  }
  R await_resume() {
    --*n_waiting_;
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<R>) return std::move(*value_);
  }

 private:
  // Where there is no result, one that nobody looks at.
  using Value = std::conditional_t<std::is_void_v<R>, Unit, R>;

  // In the task, on whose stack the coroutine then goes on until it waits again.
  void run(CoroutineHandle waiter) {
    try {
      if constexpr (std::is_void_v<R>) {
        f_();
      } else {
        value_.emplace(f_());
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    CoreContext& here = CoreContext::here();
    const BetweenWaits running(here);
    go_on_after_asking(here, waiter);
  }

  F f_;
  core::TaskOptions options_;
  SourcePlace at_;
  std::optional<Value> value_;
  std::exception_ptr error_;
  std::uint64_t* n_waiting_ = nullptr;
};

class SleepAwaiter : public AnswerAwaiter<Unit> {
 public:
  SleepAwaiter(Nanos duration, SourcePlace at) noexcept : duration_(duration), at_(at) {}
  void await_suspend(CoroutineHandle waiter) {
    CoroutineReply<Unit>& reply = expect(waiter, "a time");
    CoreContext& here = CoreContext::here();
    here.tasks().spawn_at(
        after(here.clock(), duration_),
        [&here, &reply] {
          const BetweenWaits running(here);
          reply.take(here, Unit{});
        },
        {"after a time"}, at_);
  }
  void await_resume() { AnswerAwaiter::await_resume(); }

 private:
  Nanos duration_;
  SourcePlace at_;
};

}  // namespace detail

// Starts the coroutine, as start() does, and suspends the calling task until its end. Gives its result,
// or throws what it threw.
template <class T>
T wait_for(CoroutineOf<T> coroutine, SourcePlace at = SourcePlace::here()) {
  CoreContext::here().check_may_block(at);
  detail::WaitForEnd<T> end;
  start(detail::run_for(std::move(coroutine), end), at);
  return end.get();
}
inline void wait_for(Coroutine coroutine, SourcePlace at = SourcePlace::here()) {
  CoreContext::here().check_may_block(at);
  detail::WaitForEnd<detail::Unit> end;
  start(detail::run_for(std::move(coroutine), end), at);
  static_cast<void>(end.get());
}

// For coroutines: co_await runs f(), which may wait wherever tasks do, as a task of this core, on a stack
// while it lasts, in the scope of the coroutine; gives what it returns, or throws what it throws.
template <class F>
[[nodiscard]] auto awaited_task(F f, core::TaskOptions options = {"of a coroutine"},
                                SourcePlace at = SourcePlace::here()) {
  static_assert(!std::is_same_v<std::invoke_result_t<F&>, Coroutine> &&
                    detail::check_is_started<std::invoke_result_t<F&>>(),
                "a coroutine waits for another one by itself: co_await f()");
  return detail::TaskAwaiter<F>(std::move(f), options, at);
}

// For coroutines: co_await waits for so long (ns), as sleep_for() does.
[[nodiscard]] inline auto awaited_sleep_for(Nanos duration, SourcePlace at = SourcePlace::here()) {
  return detail::SleepAwaiter(duration, at);
}

}  // namespace rubato::global

#pragma once
// NativeCall: native work of a task that has to end within a time.
//
// A thread cannot be ended from outside. So the task is told when the time of its work is up, and
// then waits on; the work can ask (native_time_is_up()) and end by itself.
//
//   NativeCall call([&] { y = solve(x); }, 2 * kSecond);
//   if (!call.wait_in_time()) give_up();        the work goes on, and uses x and y
//   call.wait();
//
// Its time begins when its core sees that a thread has taken it, and is told by the engine, which
// looks every some 100 us, unless a task keeps the core longer. With no threads, as in the
// simulator, the work has run at once, and took what its core was charged with.

#include <cstdint>
#include <functional>

#include "rubato/core/message/core_context.hpp"

namespace rubato::core {

class NativeCall {
 public:
  // Begins f, as CoreContext::run_native() does with that priority. Called by a task.
  NativeCall(std::function<void()> f, Nanos timeout, std::int32_t priority = 0,
             SourcePlace at = SourcePlace::here());
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;
  // Waits until f has ended.
  ~NativeCall();

  // Waits until f has ended or its time is up: false.
  [[nodiscard]] bool wait_in_time();
  // Waits until f has ended, but no longer than `patience`: false. REQUIRES: its time is up.
  [[nodiscard]] bool wait_for(Nanos patience);
  void wait();
  // Throws what f threw. REQUIRES: it has ended.
  void rethrow() const;

 private:
  void run_here();

  CoreContext& core_;
  detail::NativeWork work_;
};

// Asked by native work: whether it should end, since its time is up, or the run is told to end.
// False where none runs. From any thread, at next to no cost.
[[nodiscard]] bool native_time_is_up() noexcept;

}  // namespace rubato::core

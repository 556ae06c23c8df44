#pragma once
// Beside: a task that computes for long leaves its core, which goes on with messages and other tasks.
//
//   Beside beside;
//   beside.run([&] { x = solve(y); });    on a thread beside the cores, on the task's own stack
//
// The runtime belongs to cores, so a task that calls it comes back first: CoreContext::here() sees to
// that. From then on it stays, since it may have learnt what its core alone may touch. Calls that
// learn nothing of the kind, those of a team, come home for themselves and leave again.
//
// To leave takes some 100 us. A task whose ways are short, from one such call to the next, only seems
// to leave: it is on its core, and treated as if it were not, so that its first call of something
// else is still seen.
//
// So what runs in such a task may be on another thread after a call, and must read anew what belongs
// to a thread. Compilers believe that its address stays: the runtime's own two (here_, current_) are
// of a kind that is read by way of a register of the thread (on x86-64 alone a yield relies on it,
// kReadsThreadAnew in context.hpp); errno after such a call, a std::mutex
// that is held over it, and thread_local variables of users are theirs to mind.
//
// Differs from native work (native_pool.hpp), which is another function on another stack and may not
// use the runtime at all: this is the task itself. What it does beside its core runs at the same
// time as the other tasks of that core: what these share without a lock, core/task/sync.hpp too, is
// not for it. Within the simulator, and where there are no threads, tasks always only seem to leave.

#include <cstdint>
#include <functional>

#include "rubato/core/message/core_context.hpp"

namespace rubato::core {

class Beside {
 public:
  // When the task was on another thread, and until when: said on its core.
  using Told = std::function<void(Nanos begin, Nanos end)>;

  // `about` is for those who ask away(), and lives as long; `at` is for people. Called by a task.
  explicit Beside(const void* about = nullptr, Told told = {},
                  SourcePlace at = SourcePlace::here());
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() = default;

  // f() beside the core, until it calls the runtime. It asks for its core anew then: a CoreContext that
  // it has from before would be used behind the core's back. Throws what f throws. Called by the task
  // that made this; suspends it.
  void run(const std::function<void()>& f);

  // That of the task that runs on this thread and has left its core, or seems to; null of others.
  [[nodiscard]] static Beside* away() noexcept;
  [[nodiscard]] const void* about() const noexcept { return about_; }
  // The task is on its core from now on. REQUIRES: this is away().
  CoreContext& stay_home() noexcept;

  // A call for which a task comes home, and leaves again behind it; nothing for one that is there.
  class HomeForCall {
   public:
    HomeForCall() noexcept;
    HomeForCall(const HomeForCall&) = delete;
    HomeForCall& operator=(const HomeForCall&) = delete;
    // Not if the call has failed.
    ~HomeForCall();

   private:
    Beside* task_;
    int n_uncaught_;
  };

 private:
  enum class Place : std::uint8_t { home, seems_away, thread };

  static void set_away(Beside* task) noexcept;
  void leave() noexcept;
  [[nodiscard]] bool leave_for_thread();
  void come_home() noexcept;

  CoreContext& core_;
  Worker& worker_;
  const void* about_;
  Told told_;
  detail::NativeWork work_;
  detail::Visit visit_;
  Place place_ = Place::home;
  bool stays_ = false;
  std::uint32_t n_short_ = 0;  // ways since the last one that was long
  Nanos began_ = 0;            // the way that it is on
};

}  // namespace rubato::core

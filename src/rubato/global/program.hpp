#pragma once
// Program: a main task on core 0, and all cores of the job for what it starts.
//
//   Program program(host.shape(), {});
//   program.set_main([] { ... forall(...); ... });
//   host.run(program.engine());
//
// Made on all nodes, with the same main. Tasks, scopes and messages are those of core/message,
// which is what drives it; CoreContext::here() is the core that the caller runs on.

#include <memory>
#include <utility>

#include "rubato/core/message/message_engine.hpp"
#include "rubato/core/node_host.hpp"
#include "rubato/global/body.hpp"
#include "rubato/global/heap.hpp"
#include "rubato/global/travel.hpp"

namespace rubato::global {

struct ProgramOptions {
  core::MessageOptions messages{};
  std::size_t bytes_a_core = 0;  // of addresses; 0: NodeMemory::default_bytes_a_core()
  bool huge_pages = true;        // asked for; the first use of a core's memory takes 2 MiB then
};

class Program {
 public:
  // Throws Error if the system refuses the addresses.
  Program(const core::JobShape& shape, const ProgramOptions& options);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  // Runs as a task of core 0; only node 0 keeps it. What it throws ends the run.
  template <class F>
  void set_main(F&& f, SourcePlace at = SourcePlace::here()) {
    if (shape_.node == 0) engine_.core(0).spawn(std::forward<F>(f), {"main"}, at);
  }
  [[nodiscard]] core::MessageEngine& engine() noexcept { return engine_; }

 private:
  core::JobShape shape_;
  NodeMemory memory_;
  core::MessageEngine engine_;
  SymmetricHeap* heap_ = nullptr;  // on node 0
};

// Collective: runs main as a program of this job, and blocks until it and all that it started has
// ended.
template <class F>
core::NodeFigures run(core::NodeHost& host, const ProgramOptions& options, F&& main,
                      SourcePlace at = SourcePlace::here()) {
  Program program(host.shape(), options);
  program.set_main(std::forward<F>(main), at);
  return host.run(program.engine());
}

// For programs: waits for all that was started in f, everywhere (CoreContext::finish).
template <class F>
void finish(F&& f) {
  CoreContext::here().finish(std::forward<F>(f));
}
// A task of this core, in the scope of the caller; nobody else runs it, so that it may capture anything. It has
// a stack, of the class and with the name that `options` say, and may wait. Does not wait for it.
template <class F>
void spawn(F&& f, core::TaskOptions options = {}, SourcePlace at = SourcePlace::here()) {
  static_assert(detail::check_is_started<std::invoke_result_t<F&>>());
  if constexpr (std::is_same_v<std::invoke_result_t<F&>, Coroutine>) {
    auto run = [call = std::remove_cvref_t<F>(std::forward<F>(f)), at]() mutable {
      detail::run_body(call, at);
    };
    CoreContext::here().spawn(std::move(run), options, at);
  } else {
    CoreContext::here().spawn(std::forward<F>(f), options, at);
  }
}
namespace detail {
// kNever is never.
inline Nanos after(Nanos now, Nanos delay) noexcept {
  return delay < kNever - now ? now + delay : kNever;
}
}  // namespace detail
// A task of this core, in the scope of the caller, when that time has passed (ns). f can be copied.
template <class F>
void spawn_after(Nanos delay, F&& f, SourcePlace at = SourcePlace::here()) {
  CoreContext& here = CoreContext::here();
  const core::FinishId scope = here.scope();
  here.begin_in_scope(scope);
  here.tasks().spawn_at(
      detail::after(here.clock(), delay),
      [&here, scope, call = std::remove_cvref_t<F>(std::forward<F>(f)), at]() mutable {
        const CoreContext::TaskScope inside(here, scope);
        detail::run_body(call, at);
      },
      {"after a time"}, at);
}
namespace detail {

// Of a task that has left its core, and comes back; and of who must not wait, which ends the job.
void yield_elsewhere(SourcePlace at);

}  // namespace detail

// Others of this core that are ready go on before the calling task does; where none is, and when its tasks
// have run for about a slice (MessageOptions::slice), the core looks for messages, too: who yields until
// something has come sees it come.
[[gnu::always_inline]] inline void yield(SourcePlace at = SourcePlace::here()) {
  if (!core::Scheduler::try_yield_to_any()) [[unlikely]]
    detail::yield_elsewhere(at);
}
// The calling task waits for so long (ns); others of its core go on.
inline void sleep_for(Nanos duration, SourcePlace at = SourcePlace::here()) {
  CoreContext& here = CoreContext::here();
  here.check_may_block(at);
  here.tasks().wait_until(detail::after(here.clock(), duration));
}
// The core that the caller runs on, and how many the job has, of all nodes. Called by what runs on a core.
[[nodiscard]] inline CoreId this_core() {
  return CoreContext::here().core();
}
[[nodiscard]] inline CoreId n_cores() {
  return static_cast<CoreId>(CoreContext::here().shape().n_cores_total());
}

}  // namespace rubato::global

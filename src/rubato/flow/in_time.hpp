#pragma once
// Native work of tasks that has to end within a time, as programs have it [Turbine 5.2, leaves].
//
// A thread cannot be ended from outside. So a task that takes longer fails at once, with all that
// it was to set, and keeps its thread, its worker and its place in the run until its function has
// ended; what that returns or throws is dropped. The run waits for it, and says so. A container that
// it has a part of the right to write to is open until then: it may still insert. A function that
// asks time_is_up() can end by itself.

#include <functional>
#include <string>

#include "rubato/core/message/native_call.hpp"
#include "rubato/flow/flow.hpp"

namespace rubato::flow {

// Asked by leaves and tasks with a time-out, and by all native work: whether to end, since the
// time-out is over or the run is told to end. False elsewhere. Costs next to nothing.
[[nodiscard]] inline bool time_is_up() noexcept {
  return core::native_time_is_up();
}

// How native work has ended.
enum class EndedIn : std::uint8_t {
  time,      // as it should
  patience,  // later; nobody was told
  nothing,   // later than that: `fail` was called
};

struct TimeLimit {
  Nanos timeout;              // from its begin on a thread
  Nanos patience = 0;         // behind that, for work that ends when it is told to
  std::int32_t priority = 0;  // among what waits for a thread
};

// f() on a thread beside the cores. When its time is over, fail(why) is called, by the task, which
// then waits on until f has ended; `who` is told to people meanwhile. Throws what f throws, in time.
[[nodiscard]] EndedIn run_in_time(Flow& flow, const TimeLimit& limit, const std::string& who,
                                  const std::function<void()>& f,
                                  const std::function<void(const std::string& why)>& fail);
// The same of a task, which fails as a task that throws; false if it did.
[[nodiscard]] bool run_in_time(Flow& flow, Rule& rule, const std::function<void()>& f);
// Throws Error if there is one: of tasks that need the cores.
void check_no_timeout(const RuleOptions& options);

// "2.5 s"
[[nodiscard]] std::string seconds_text(Nanos span);

}  // namespace rubato::flow

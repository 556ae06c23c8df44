#include "rubato/core/message/beside.hpp"

#include <exception>
#include <system_error>

namespace rubato::core {
namespace {

// What holds others up. Ways that are shorter end on the core, if several were: to leave costs some
// 100 us, to come back what idle cores take to look (MessageEngine's kNativePoll).
constexpr Nanos kLongWay = 2 * kMillisecond;
constexpr std::uint32_t kShortWays = 8;

thread_local constinit Beside* away_here = nullptr;

}  // namespace

// Out of line, like all that depends on the thread: a caller that changes it must not keep addresses.
[[gnu::noinline]] Beside* Beside::away() noexcept {
  return away_here;
}
[[gnu::noinline]] void Beside::set_away(Beside* task) noexcept {
  away_here = task;
  Scheduler::away_ = task != nullptr ? &task->worker_ : nullptr;
}

[[gnu::noinline]] CoreContext& CoreContext::come_home() noexcept {
  if (here_ != nullptr) return *here_;
  Beside* const task = Beside::away();
  RUBATO_REQUIRE(task != nullptr && "what uses the runtime is a task, or called by a message");
  return task->stay_home();
}

Beside::Beside(const void* about, Told told, SourcePlace at)
    : core_(CoreContext::here()),
      worker_(core_.tasks().running()),
      about_(about),
      told_(std::move(told)),
      work_([this] { Scheduler::receive(worker_, visit_); }) {
  core_.check_may_block();
  work_.is_task = true;
  work_.at = at;
  work_.waiter = &worker_;
  work_.local = core_.shape().local_of(core_.core());
}

void Beside::run(const std::function<void()>& f) {
  std::exception_ptr error;
  leave();
  try {
    f();
  } catch (...) {
    error = std::current_exception();
  }
  if (place_ != Place::home) come_home();
  stays_ = true;
  if (error) std::rethrow_exception(error);
}

CoreContext& Beside::stay_home() noexcept {
  stays_ = true;
  come_home();
  return core_;
}

void Beside::leave() noexcept {
  if (stays_) return;
  const bool is_short = n_short_ >= kShortWays;
  place_ = !is_short && leave_for_thread() ? Place::thread : Place::seems_away;
  if (place_ == Place::seems_away) {
    CoreContext::here_ = nullptr;
    Scheduler::current_ = nullptr;
  }
  set_away(this);
  began_ = core_.clock();
}

// False if it is still on its core.
bool Beside::leave_for_thread() {
  if (!core_.native_.has_threads()) return false;
  work_.is_done = false;
  work_.is_waited_for = true;
  core_.natives_.leaving.push_back(&work_);
  core_.tasks_.leave_for_thread(visit_);
  return visit_.is_entered;
}

void Beside::come_home() noexcept {
  const Nanos end = core_.clock();
  set_away(nullptr);
  if (place_ == Place::thread) {
    Scheduler::leave_for_home(worker_, visit_);
    if (told_) told_(began_, end);
  } else {
    CoreContext::here_ = &core_;
    Scheduler::current_ = &core_.tasks_;
  }
  place_ = Place::home;
  n_short_ = end - began_ < kLongWay ? n_short_ + 1 : 0;
}

Beside::HomeForCall::HomeForCall() noexcept
    : task_(Beside::away()), n_uncaught_(std::uncaught_exceptions()) {
  if (task_ != nullptr) task_->come_home();
}

Beside::HomeForCall::~HomeForCall() {
  if (task_ == nullptr) return;
  if (std::uncaught_exceptions() > n_uncaught_) {
    task_->stays_ = true;
  } else {
    task_->leave();
  }
}

}  // namespace rubato::core

#include "rubato/core/message/native_call.hpp"

namespace rubato::core {

NativeCall::NativeCall(std::function<void()> f, Nanos timeout, std::int32_t priority,
                       SourcePlace at)
    : core_(CoreContext::here()), work_(std::move(f)) {
  core_.check_may_block();
  work_.at = at;
  work_.timeout = timeout;
  work_.is_timed = timeout != kNever;
  work_.priority = priority;
  if (!core_.native_.has_threads()) {
    run_here();
  } else {
    core_.begin_native(work_);
  }
}

void NativeCall::run_here() {
  const Nanos begin = core_.clock();
  work_.due = work_.timeout < kNever - begin ? begin + work_.timeout : kNever;
  work_.in_place = &core_;
  work_.run();
  work_.is_late = core_.clock() > work_.due;
  work_.is_done = true;
}

NativeCall::~NativeCall() {
  wait();
}

bool NativeCall::wait_in_time() {
  if (!work_.is_done && !work_.is_late) core_.wait_for_native(work_);
  work_.is_due = false;  // it may have become late while the task waited for something else
  return !work_.is_late;
}

bool NativeCall::wait_for(Nanos patience) {
  if (work_.is_done) return true;
  work_.is_due = false;
  core_.time_native(work_, patience);
  core_.wait_for_native(work_);
  return work_.is_done;
}

void NativeCall::wait() {
  work_.is_timed.store(false, std::memory_order_relaxed);  // nobody looks again
  while (!work_.is_done)
    core_.wait_for_native(work_);
}

void NativeCall::rethrow() const {
  RUBATO_REQUIRE(work_.is_done);
  if (work_.error) std::rethrow_exception(work_.error);
}

bool native_time_is_up() noexcept {
  const detail::NativeWork* const work = detail::NativeWork::running();
  if (work == nullptr) return false;
  if (work->in_place != nullptr) return work->in_place->clock() > work->due;
  return work->is_late.load(std::memory_order_relaxed) || work->pool->is_closing();
}

}  // namespace rubato::core

#include "rubato/global/coroutine.hpp"

namespace rubato::global {

void CoroutineEvent::set() {
  is_set_ = true;
  while (first_ != nullptr) {
    Awaiter& next = *std::exchange(first_, first_->next_);
    CoreContext& here = CoreContext::here();
    const auto waiter = next.waiter_;
    const detail::BetweenWaits running(here);
    const CoreContext::RunningScope inside(here, waiter.promise().scope);
    waiter.resume();
  }
}

}  // namespace rubato::global

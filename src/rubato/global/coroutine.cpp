#include "rubato/global/coroutine.hpp"

#include <string>

namespace rubato::global {

namespace detail {

void throw_on(const core::detail::StacklessTasks::OfPlace& started) {
  const auto told = [&](const Error& error) { return error.in(started.text); };
  try {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::usage) throw;  // what somebody has asked for is wrong
    throw told(error);
  } catch (const std::exception& error) {
    throw told(Error(error.what(), ExitCode::failed));
  } catch (...) {
    throw told(Error("an exception of unknown type", ExitCode::failed));
  }
}

}  // namespace detail

void CoroutineEvent::set() {
  is_set_ = true;
  while (first_ != nullptr) {
    CoreContext& here = CoreContext::here();
    Awaiter& next = *std::exchange(first_, first_->next_);
    here.post(here.core(), detail::GoOn{next.waiter_.address()});
  }
}

}  // namespace rubato::global

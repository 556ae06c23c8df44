#include "rubato/core/task/overflow.hpp"

#include <cstddef>
#include <memory>
#include <mutex>

#include <signal.h>

#include "rubato/core/task/scheduler.hpp"

namespace rubato::core::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void watch_for_overflow() {}

#else

namespace {

// Large enough for the report and for telling the other nodes.
constexpr std::size_t kHandlerBytes = std::size_t{64} << 10;

struct sigaction previous;  // NOLINT: set once, before the handler can run

void on_fault(int number, siginfo_t* info, void* context) {
  Scheduler::report_overflow(info->si_addr);
  // Not ours: as it would have been without us.
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
  } else {
    signal(number, SIG_DFL);  // the instruction is tried again, and ends the process
  }
}

void install() {
  struct sigaction mine {};
  mine.sa_sigaction = on_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&mine.sa_mask);
  sigaction(SIGSEGV, &mine, &previous);
}

class HandlerStack {
 public:
  HandlerStack() : bytes_(new std::byte[kHandlerBytes]) {
    static std::once_flag once;
    std::call_once(once, install);
    stack_t mine{};
    mine.ss_sp = bytes_.get();
    mine.ss_size = kHandlerBytes;
    is_set_ = sigaltstack(nullptr, &before_) == 0 && (before_.ss_flags & SS_DISABLE) != 0 &&
              sigaltstack(&mine, nullptr) == 0;
  }
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;
  ~HandlerStack() {
    if (is_set_) sigaltstack(&before_, nullptr);
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  stack_t before_{};
  bool is_set_ = false;
};

}  // namespace

void watch_for_overflow() {
  static thread_local HandlerStack stack;
  static_cast<void>(stack);
}

#endif

}  // namespace rubato::core::detail

#include "rubato/flow/interpret/leaf_crash.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::flow {
namespace {

struct Handled {
  int number;
  const char* name;
  struct sigaction before;
};
// Set once, before a leaf runs.
std::array<Handled, 5> handled{{{SIGSEGV, "SIGSEGV", {}},
                                {SIGBUS, "SIGBUS", {}},
                                {SIGFPE, "SIGFPE", {}},
                                {SIGILL, "SIGILL", {}},
                                {SIGABRT, "SIGABRT", {}}}};

thread_local const std::string* running = nullptr;

// Of what a handler may call [signal-safety(7)]: write(), sigaction(), raise().
void say(const char* text, std::size_t n) {
  [[maybe_unused]] const ssize_t n_written = ::write(STDERR_FILENO, text, n);
}

void on_crash(int number, siginfo_t* info, void* /*context*/) {
  for (const Handled& each : handled) {
    if (each.number != number) continue;
    if (running != nullptr) {
      constexpr const char* kBegin = "\nrubato: ";
      say(kBegin, std::strlen(kBegin));
      say(each.name, std::strlen(each.name));
      say(" in ", 4);
      say(running->data(), running->size());
      say("\n", 1);
    }
    ::sigaction(number, &each.before, nullptr);
  }
  // An instruction is tried again, and meets who handled that before; what was sent is sent again.
  if (info->si_code <= 0) ::raise(number);
}

// A leaf has called exit(), on this thread: nobody would learn that the rest of the run is gone.
void on_exit() {
  if (running == nullptr) return;
  constexpr const char* kBegin = "\nrubato: exit() in ";
  say(kBegin, std::strlen(kBegin));
  say(running->data(), running->size());
  constexpr const char* kEnd = ": a leaf returns, or fails; the run ends here\n";
  say(kEnd, std::strlen(kEnd));
  ::_exit(static_cast<int>(ExitCode::failed));
}

void install() {
  static_cast<void>(std::atexit(on_exit));
  for (Handled& each : handled) {
    struct sigaction mine {};
    mine.sa_sigaction = on_crash;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&mine.sa_mask);
    ::sigaction(each.number, nullptr, &each.before);
    // Who ignores one goes on ignoring it.
    if (each.before.sa_handler != SIG_IGN) ::sigaction(each.number, &mine, nullptr);
  }
}

}  // namespace

LeafInCrash::LeafInCrash(const std::string& who) : before_(std::exchange(running, &who)) {
  static std::once_flag once;
  std::call_once(once, install);
}

LeafInCrash::~LeafInCrash() {
  running = before_;
}

}  // namespace rubato::flow

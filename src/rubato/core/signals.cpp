#include "rubato/core/signals.hpp"

#include <atomic>
#include <mutex>

#include <signal.h>

namespace rubato::core {
namespace {

std::atomic<int> signal_received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not lock");

std::mutex scope_mutex;
int n_scopes = 0;
struct sigaction former_int;
struct sigaction former_term;
struct sigaction former_hup;
struct sigaction former_usr1;

struct sigaction usr1_before_early;

std::atomic<int> checkpoint_signal{0};
std::atomic<bool> keeps_early{false};
std::atomic<bool> term_is_checkpoint{false};

void on_signal(int number) {
  // A terminal that is gone says so more than once: by its shell, and by the kernel.
  if (number == SIGHUP && (checkpoint_signal.load(std::memory_order_relaxed) == SIGHUP ||
                           signal_received.load(std::memory_order_relaxed) == SIGHUP)) {
    return;
  }
  if (number == SIGUSR1 || (number != SIGINT && term_is_checkpoint.exchange(false))) {
    checkpoint_signal.store(number, std::memory_order_relaxed);
    return;
  }
  signal_received.store(number, std::memory_order_relaxed);
  // Only async-signal-safe calls here: sigaction is one.
  if (number != SIGHUP) sigaction(number, number == SIGINT ? &former_int : &former_term, nullptr);
}

void take_usr1(struct sigaction& former) noexcept {
  struct sigaction ours = {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &ours, &former);
}

}  // namespace

SignalScope::SignalScope() noexcept {
  const std::lock_guard lock(scope_mutex);
  if (n_scopes++ > 0) return;
  signal_received.store(0, std::memory_order_relaxed);
  struct sigaction ours = {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;
  sigaction(SIGINT, nullptr, &former_int);
  sigaction(SIGTERM, nullptr, &former_term);
  sigaction(SIGHUP, nullptr, &former_hup);
  // Whoever ignores SIGINT (a background job of a shell) or SIGHUP (nohup) goes on ignoring it.
  if (former_int.sa_handler != SIG_IGN) sigaction(SIGINT, &ours, nullptr);
  if (former_hup.sa_handler != SIG_IGN) sigaction(SIGHUP, &ours, nullptr);
  sigaction(SIGTERM, &ours, nullptr);
}

SignalScope::~SignalScope() {
  const std::lock_guard lock(scope_mutex);
  if (--n_scopes > 0) return;
  sigaction(SIGINT, &former_int, nullptr);
  sigaction(SIGTERM, &former_term, nullptr);
  sigaction(SIGHUP, &former_hup, nullptr);
  signal_received.store(0, std::memory_order_relaxed);
}

int SignalScope::received() noexcept {
  return signal_received.load(std::memory_order_relaxed);
}

CheckpointSignals::CheckpointSignals() noexcept {
  if (!keeps_early.load()) checkpoint_signal.store(0, std::memory_order_relaxed);
  take_usr1(former_usr1);
  term_is_checkpoint.store(true);
}

CheckpointSignals::~CheckpointSignals() {
  term_is_checkpoint.store(false);
  sigaction(SIGUSR1, &former_usr1, nullptr);
  checkpoint_signal.store(0, std::memory_order_relaxed);
}

int CheckpointSignals::received() noexcept {
  return checkpoint_signal.load(std::memory_order_relaxed);
}

EarlyCheckpointSignal::EarlyCheckpointSignal() noexcept {
  checkpoint_signal.store(0, std::memory_order_relaxed);
  keeps_early.store(true);
  take_usr1(usr1_before_early);
}

// Who asks for a checkpoint of what has just ended asks for nothing, and is no reason to die.
EarlyCheckpointSignal::~EarlyCheckpointSignal() {
  if (usr1_before_early.sa_handler == SIG_DFL) usr1_before_early.sa_handler = SIG_IGN;
  sigaction(SIGUSR1, &usr1_before_early, nullptr);
  keeps_early.store(false);
}

Error error_of_signal(int number) {
  return number == SIGINT ? Error("interrupted", ExitCode::interrupted)
                          : Error("terminated", ExitCode::terminated);
}

void throw_if_signalled() {
  if (const int number = SignalScope::received(); number != 0) throw error_of_signal(number);
}

}  // namespace rubato::core

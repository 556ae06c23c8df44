#pragma once
// Signals: SIGINT, SIGTERM and SIGHUP become a number that hosts look at, while a scope of this kind
// lives. SIGHUP, of a terminal that is gone, counts as SIGTERM, and each further one
// as the first.
//
// The first signal asks all nodes to stop in order; a second one meets the former handler, which by
// default ends the process at once. Process-wide state, so only a host that owns its process makes
// a scope.

#include "rubato/base/error.hpp"

namespace rubato::core {

class SignalScope {
 public:
  SignalScope() noexcept;
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  ~SignalScope();

  // The signal that came since the outermost scope began, or 0; 0 outside of scopes.
  [[nodiscard]] static int received() noexcept;
};

// While it lives, SIGUSR1, SIGHUP and the first SIGTERM ask for a checkpoint with which the run ends,
// in place of its end; a second SIGTERM does what it does without this.
class CheckpointSignals {
 public:
  CheckpointSignals() noexcept;
  CheckpointSignals(const CheckpointSignals&) = delete;
  CheckpointSignals& operator=(const CheckpointSignals&) = delete;
  ~CheckpointSignals();

  // The signal that has asked, or 0.
  [[nodiscard]] static int received() noexcept;

 private:
  SignalScope scope_;
};

// Of a process that can save: from its start SIGUSR1 is kept for its CheckpointSignals, and SIGTERM does
// what it does without this. Behind it SIGUSR1 is ignored, if the process would have died of it.
class EarlyCheckpointSignal {
 public:
  EarlyCheckpointSignal() noexcept;
  EarlyCheckpointSignal(const EarlyCheckpointSignal&) = delete;
  EarlyCheckpointSignal& operator=(const EarlyCheckpointSignal&) = delete;
  ~EarlyCheckpointSignal();
};

// What a run ends with after that signal, on whatever host.
[[nodiscard]] Error error_of_signal(int number);

// For work outside of a host's run that may take long: throws that Error if a signal has come.
void throw_if_signalled();

}  // namespace rubato::core

#pragma once
// Signals: SIGINT and SIGTERM become a number that hosts look at, while a scope of this kind lives.
//
// The first signal asks all nodes to stop in order; a second one meets the former handler, which by
// default ends the process at once. Process-wide state, so only a host that owns its process makes
// a scope.

namespace rubato::core {

class SignalScope {
 public:
  SignalScope() noexcept;
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  ~SignalScope();

  // The signal that came since the outermost scope began, or 0.
  [[nodiscard]] static int received() noexcept;
};

}  // namespace rubato::core

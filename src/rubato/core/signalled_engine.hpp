#pragma once
// SignalledEngine: another engine that ends with an Error once SIGINT or SIGTERM has come, for
// hosts that do not look at signals themselves: those in virtual time.

#include <signal.h>

#include "rubato/core/signals.hpp"
#include "rubato/core/wrapped_engine.hpp"

namespace rubato::core {

// What a run ends with after that signal, on whatever host.
[[nodiscard]] inline Error error_of_signal(int number) {
  return number == SIGINT ? Error("interrupted", ExitCode::interrupted)
                          : Error("terminated", ExitCode::terminated);
}

class SignalledEngine final : public WrappedEngine {
 public:
  // REQUIRES: a SignalScope lives during the run.
  using WrappedEngine::WrappedEngine;

  void run(const Work& work, std::uint32_t core) override {
    if (const int number = SignalScope::received(); number != 0) throw error_of_signal(number);
    WrappedEngine::run(work, core);
  }
};

}  // namespace rubato::core

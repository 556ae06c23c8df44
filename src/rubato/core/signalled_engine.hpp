#pragma once
// SignalledEngine: another engine that ends with an Error once SIGINT, SIGTERM or SIGHUP has come, for
// hosts that do not look at signals themselves: those in virtual time.

#include "rubato/core/signals.hpp"
#include "rubato/core/wrapped_engine.hpp"

namespace rubato::core {

class SignalledEngine final : public WrappedEngine {
 public:
  // REQUIRES: a SignalScope lives during the run.
  using WrappedEngine::WrappedEngine;

  void run(const Work& work, std::uint32_t core) override {
    throw_if_signalled();
    WrappedEngine::run(work, core);
  }
};

}  // namespace rubato::core

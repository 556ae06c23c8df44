// Signals that ask for a checkpoint before there is a run to be saved.

#include "rubato/core/signals.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace rubato::core {
namespace {

TEST(EarlyCheckpointSignal, keeps_what_comes_before_a_run_for_its_checkpoints) {
  {
    const EarlyCheckpointSignal early;
    std::raise(SIGUSR1);
    {
      const CheckpointSignals of_run;
      EXPECT_EQ(CheckpointSignals::received(), SIGUSR1);
    }
    EXPECT_EQ(CheckpointSignals::received(), 0);
    std::raise(SIGUSR1);  // the process lives on though the run is over
  }
  std::raise(SIGUSR1);  // and while it ends
}

TEST(CheckpointSignals, hear_nothing_of_what_came_to_a_run_before) {
  {
    const CheckpointSignals of_run;
    std::raise(SIGUSR1);
    EXPECT_EQ(CheckpointSignals::received(), SIGUSR1);
  }
  const CheckpointSignals of_run;
  EXPECT_EQ(CheckpointSignals::received(), 0);
}

TEST(SignalScope, takes_the_end_of_a_terminal_as_the_end_of_the_run) {
  const auto ignored = std::signal(SIGHUP, SIG_DFL);  // tests may run under nohup
  {
    const SignalScope scope;
    std::raise(SIGHUP);
    std::raise(SIGHUP);  // the shell says it, and the kernel
    EXPECT_EQ(SignalScope::received(), SIGHUP);
    EXPECT_EQ(error_of_signal(SIGHUP).code(), ExitCode::terminated);
  }
  {
    const SignalScope scope;
    const CheckpointSignals of_run;
    std::raise(SIGHUP);
    std::raise(SIGHUP);
    EXPECT_EQ(SignalScope::received(), 0);
    EXPECT_EQ(CheckpointSignals::received(), SIGHUP);
  }
  std::signal(SIGHUP, SIG_IGN);
  {
    const SignalScope scope;
    std::raise(SIGHUP);
    EXPECT_EQ(SignalScope::received(), 0) << "nohup";
  }
  std::signal(SIGHUP, ignored);
}

}  // namespace
}  // namespace rubato::core

// Signals that ask for a checkpoint before there is a run to be saved.

#include "rubato/core/signals.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace rubato::core {
namespace {

TEST(EarlyCheckpointSignal, keeps_what_comes_before_a_run_for_its_checkpoints) {
  const EarlyCheckpointSignal early;
  std::raise(SIGUSR1);
  {
    const CheckpointSignals of_run;
    EXPECT_EQ(CheckpointSignals::received(), SIGUSR1);
  }
  EXPECT_EQ(CheckpointSignals::received(), 0);
  std::raise(SIGUSR1);  // the process lives on though the run is over
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

}  // namespace
}  // namespace rubato::core

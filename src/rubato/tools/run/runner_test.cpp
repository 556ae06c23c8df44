// What people see of a run before its first tick.

#include "rubato/tools/run/runner.hpp"

#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/base/time.hpp"
#include "rubato/models/app_heat.hpp"
#include "rubato/tools/run/watched_problem.hpp"

namespace rubato::tools {
namespace {

// heat on few cells, after reading for a while.
class SlowToRead final : public tick::App {
 public:
  SlowToRead() { heat_->declare(parameters_); }
  [[nodiscard]] std::string name() const override { return "slow"; }
  [[nodiscard]] std::string summary() const override { return "Takes its time to read"; }
  void declare(tick::Parameters& /*parameters*/) override {}
  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    parameters_.set("width", "20");
    parameters_.set("height", "20");
    nap(2300 * kMillisecond);
    return heat_->build();
  }

 private:
  std::unique_ptr<tick::App> heat_ = models::make_heat_app();
  tick::Parameters parameters_;
};

// Standard error is a terminal as long as it lives.
class TerminalAsStandardError {
 public:
  TerminalAsStandardError() : terminal_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (terminal_ >= 0) ::dup2(terminal_, STDERR_FILENO);
  }
  ~TerminalAsStandardError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(terminal_);
  }
  [[nodiscard]] bool is_there() const { return terminal_ >= 0; }

 private:
  int before_ = ::dup(STDERR_FILENO);
  int terminal_;
};

std::string said_on_a_terminal(std::uint32_t n_simulated) {
  SlowToRead app;
  RunRequest request;
  request.ticks = 3;
  request.policy = tick::Policy::parse("local");
  request.n_simulated = n_simulated;
  request.inputs = "numbers.csv";
  std::ostringstream err;
  const RunOutcome outcome = run_model(app, request, err);
  EXPECT_EQ(outcome.result.ticks, 3);
  return err.str();
}

TEST(Runner, a_long_start_is_told_while_it_lasts) {
  const TerminalAsStandardError terminal;
  if (!terminal.is_there()) GTEST_SKIP() << "no pseudo-terminal here";
  for (const std::uint32_t n_simulated : {0U, 2U}) {
    const std::string said = said_on_a_terminal(n_simulated);
    EXPECT_NE(said.find("slow local: 2 s so far, reading numbers.csv"), std::string::npos) << said;
    EXPECT_TRUE(said.ends_with("\r\033[K")) << "the line goes: " << said;
  }
}

TEST(WatchedProblem, tells_what_begins_and_hands_everything_on) {
  const auto heat = models::make_heat_app();
  tick::Parameters parameters;
  heat->declare(parameters);
  parameters.set("width", "6");
  const auto problem = heat->build();
  std::string told;
  const WatchedProblem watched(
      *problem,
      {.on_cut = [&](std::uint32_t n_nodes) { told += "cut " + std::to_string(n_nodes) + ","; },
       .on_node = [&](tick::NodeId node) { told += "node " + std::to_string(node) + ","; },
       .on_check = [&] { told += "check"; }});
  const auto parts = watched.partition(3);
  const auto node = parts->make_node(2, tick::Policy::parse("local"), {5, 1}, nullptr);
  EXPECT_EQ(node->plan().self, 2U);
  EXPECT_EQ(watched.tuple_name(7), problem->tuple_name(7));
  EXPECT_EQ(told, "cut 3,node 2,");
}

}  // namespace
}  // namespace rubato::tools

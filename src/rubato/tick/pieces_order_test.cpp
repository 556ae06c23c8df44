// The order in which policy pieces steps what is ready, and what a run is without it.

#include <gtest/gtest.h>

#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {
namespace {

using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

// How often a step is of an earlier tick than the one before it on its node.
class Returns final : public core::Observer {
 public:
  explicit Returns(std::uint32_t n_nodes) : last_(n_nodes, 0) {}

  void on_work(NodeId node, std::uint32_t /*core*/, const core::Work& work, Nanos /*begin*/,
               Nanos /*end*/) noexcept override {
    if (work.kind != step_own) return;
    n_ += work.tick < last_[node] ? 1 : 0;
    last_[node] = work.tick;
  }
  void on_sent(NodeId, NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(NodeId, NodeId, std::size_t, Nanos) noexcept override {}

  [[nodiscard]] int n() const { return n_; }

 private:
  std::vector<Tick> last_;
  int n_ = 0;
};

struct Outcome {
  int n_returns = 0;
  std::uint64_t checksum = 0;
};

Outcome run_bugs(bool as_they_come, Tick epoch) {
  points::testing::SwarmOptions bugs;
  bugs.high = {20, 20, 0};
  bugs.n_bugs = 600;
  bugs.crowd = true;
  const BugProblem problem{PointsModel(Bugs(bugs))};
  Returns returns(4);
  SimulationOptions simulation;
  simulation.n_nodes = 4;
  simulation.profile = net::parse_profile("ec2-large");
  simulation.observer = &returns;
  simulation.sharing = System::parse("asytick-plb").sharing;
  simulation.sharing.n_pieces = 64;
  simulation.sharing.epoch = epoch;
  simulation.as_they_come = as_they_come;
  const RunResult result = simulate(problem, Policy::parse("pieces(6)"), 20, simulation);
  return {returns.n(), result.checksum};
}

TEST(PiecesOrder, without_it_steps_come_in_another_order_and_the_state_is_the_same) {
  for (const Tick epoch : {Tick{0}, Tick{6}}) {
    SCOPED_TRACE(epoch);
    const Outcome ordered = run_bugs(false, epoch);
    const Outcome as_they_come = run_bugs(true, epoch);
    EXPECT_EQ(as_they_come.checksum, ordered.checksum);
    EXPECT_NE(as_they_come.n_returns, ordered.n_returns);
  }
}

}  // namespace
}  // namespace rubato::tick

#pragma once
// A whole run with epochs over virtual nodes in a random order: like property.hpp, in segments,
// with the moves between them under the same ShuffleDriver.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rubato/tick/problem.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::tick::testing {

template <class State>
struct EpochOutcome {
  State state;  // the union of what the nodes own at the end
  Tick end = 0;
  std::int64_t n_epochs = 0;
};

// `P` is a ProblemOf a model that can be cut again. Throws Error on a deadlock, and when nodes do
// not agree on where a segment or the run ends.
template <class P>
[[nodiscard]] EpochOutcome<typename P::State> run_epochs(const P& problem, const RunCase& c,
                                                         Tick epoch, std::uint64_t seed) {
  const auto drive = [&](const auto& list) {
    std::vector<core::Engine*> engines;
    for (const auto& each : list)
      engines.push_back(&each->engine());
    ShuffleDriver(engines, c.n_cores, seed++).run();
  };
  Dataflow::Options segment{c.ticks, c.n_cores, 0, epoch};
  std::vector<std::unique_ptr<NodeRun>> nodes;
  const auto partition = problem.partition(c.n_nodes);
  for (NodeId node = 0; node < c.n_nodes; ++node)
    nodes.push_back(partition->make_node(node, c.policy, segment, nullptr));
  EpochOutcome<typename P::State> outcome;
  while (true) {
    drive(nodes);
    const Dataflow& first = nodes.front()->engine();
    for (const auto& node : nodes) {
      const Dataflow& flow = node->engine();
      if (flow.end() == first.end() && flow.run_end() == first.run_end()) continue;
      throw Error("a node ended at tick " + std::to_string(flow.end()) + " of " +
                      std::to_string(flow.run_end()) + ", node 0 at tick " +
                      std::to_string(first.end()) + " of " + std::to_string(first.run_end()),
                  ExitCode::failed);
    }
    outcome.end = first.end();
    if (first.end() == first.run_end()) break;
    ++outcome.n_epochs;
    segment.begin = first.end();
    segment.until = first.end() + epoch;
    segment.ticks = first.run_end();
    std::vector<std::unique_ptr<NodeMove>> moves;
    for (const auto& node : nodes)
      moves.push_back(node->leave());
    drive(moves);
    for (NodeId node = 0; node < c.n_nodes; ++node)
      nodes[node] = moves[node]->arrive(segment);
  }
  for (const auto& node : nodes) {
    auto& typed = dynamic_cast<typename P::Node&>(*node);
    problem.model().merge(outcome.state, typed.store().own_state(outcome.end));
  }
  return outcome;
}

template <class P>
void expect_equal_epochs(const P& problem, const RunCase& c, Tick epoch, std::uint64_t seed,
                         const ReferenceRun<typename P::State>& reference) {
  SCOPED_TRACE("an epoch each " + std::to_string(epoch) + " ticks");
  EpochOutcome<typename P::State> outcome;
  ASSERT_NO_THROW((outcome = run_epochs(problem, c, epoch, seed)));
  EXPECT_EQ(outcome.end, reference.ticks);
  EXPECT_TRUE(outcome.state == reference.state);
  EXPECT_EQ(outcome.n_epochs, reference.ticks > 0 ? (reference.ticks - 1) / epoch : 0);
}

}  // namespace rubato::tick::testing

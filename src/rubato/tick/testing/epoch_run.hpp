#pragma once
// A whole run with epochs over virtual nodes in a random order: like property.hpp, with an
// EpochEngine on each node.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "rubato/tick/epoch/epoch_engine.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/random_sharing.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::tick::testing {

template <class State>
struct EpochOutcome {
  State state;  // the union of what the nodes own at the end
  Tick end = 0;
  std::int64_t n_epochs = 0;     // at which something moved; the same on every node
  std::int64_t n_pieces = 0;     // that moved
  std::int64_t bytes_moved = 0;  // of tuples, between nodes
  std::int64_t steps_lent = 0;   // of the last segment
};

// `P` is a ProblemOf a model that can be shared anew so. Throws Error on a deadlock, and when nodes do
// not agree on where the run ends.
template <class P>
[[nodiscard]] EpochOutcome<typename P::State> run_epochs(const P& problem, const RunCase& c,
                                                         const SharingOptions& sharing,
                                                         std::uint64_t seed) {
  Dataflow::Options flow{c.ticks, c.n_cores};
  flow.hands_over = true;
  flow.lending = sharing.lending;
  std::vector<std::unique_ptr<EpochEngine>> nodes;
  std::vector<core::Engine*> engines;
  SharingOptions known = sharing;
  std::shared_ptr<const Partition> partition;
  if constexpr (std::is_base_of_v<Problem, P>) {
    partition = first_partition(problem, c.n_nodes, known);
  } else {
    partition = problem.partition(c.n_nodes, sharing.n_pieces);
    known.grains_of_piece.clear();
  }
  for (NodeId node = 0; node < c.n_nodes; ++node) {
    nodes.push_back(std::make_unique<EpochEngine>(
        partition, partition->make_node(node, c.policy, flow, nullptr),
        epoch_options(c.policy, known), flow, nullptr));
    engines.push_back(nodes.back().get());
  }
  ShuffleDriver(engines, c.n_cores, seed).run();
  EpochOutcome<typename P::State> outcome;
  outcome.n_epochs = nodes.front()->moved().n_epochs;
  outcome.n_pieces = nodes.front()->moved().n_pieces;
  outcome.end = nodes.front()->run_end();
  for (const auto& node : nodes) {
    if (node->node().engine().end() != outcome.end) {
      throw Error("a node ended at tick " + std::to_string(node->node().engine().end()) +
                      ", expected " + std::to_string(outcome.end),
                  ExitCode::failed);
    }
    auto& typed = dynamic_cast<typename P::Node&>(node->node());
    problem.model().merge(outcome.state, typed.store().own_state(outcome.end));
    outcome.bytes_moved += node->moved().bytes_sent;
    outcome.steps_lent += node->node().engine().figures().steps_lent;
  }
  return outcome;
}

template <class P>
EpochOutcome<typename P::State> expect_equal_epochs(
    const P& problem, const RunCase& c, const SharingOptions& sharing, std::uint64_t seed,
    const ReferenceRun<typename P::State>& reference) {
  SCOPED_TRACE(std::string(name_of(sharing.balance)) + " each " + std::to_string(sharing.epoch) +
               " ticks, " + std::to_string(sharing.n_pieces) + " pieces");
  EpochOutcome<typename P::State> outcome;
  EXPECT_NO_THROW((outcome = run_epochs(problem, c, sharing, seed)));
  EXPECT_EQ(outcome.end, reference.ticks);
  EXPECT_TRUE(outcome.state == reference.state);
  const Tick n_epochs = reference.ticks > 0 ? (reference.ticks - 1) / sharing.epoch : 0;
  using M = std::remove_cvref_t<decltype(problem.model())>;
  if (sharing.balance == Balance::repartition && HasStateSamples<M> && !sharing.tune) {
    EXPECT_EQ(outcome.n_epochs, n_epochs);
  } else {
    EXPECT_LE(outcome.n_epochs, n_epochs);
  }
  return outcome;
}

// A run of policy auto; returns at how many epochs something changed. `P` is a ProblemOf that tunes.
template <class P>
std::int64_t expect_equal_auto(const P& problem, RandomStream& random, std::uint64_t seed) {
  RunCase c = random_run(random);
  c.n_nodes += 1;
  SharingOptions sharing;
  sharing.balance = Balance::none;
  sharing.lending = {problem.lends() && seed % 2 == 0, Nanos{0}};
  if (problem.has_pieces() && random.between(0, 2) != 0) {
    sharing.balance = Balance::persistence;
    sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 25));
  } else if (problem.repartitions() && random.between(0, 1) != 0) {
    sharing.balance = Balance::repartition;
  }
  make_auto(sharing, c, random);
  while (c.n_nodes > 1 && !can_be_cut(problem, c, sharing))
    --c.n_nodes;
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(c) + ", " + describe(sharing));
  const auto& model = problem.model();
  return expect_equal_epochs(problem, c, sharing, seed,
                             run_reference(model, model.everything(), c.ticks))
      .n_epochs;
}

}  // namespace rubato::tick::testing

#pragma once
// A whole run in the simulator, in virtual time, on a network that is late in a way drawn from the
// seed: delays, spikes, stalls, a slow wire, hosts of different speed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "rubato/net/profile.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/random_sharing.hpp"

namespace rubato::tick::testing {

// In the text form. Times are those of small states, whose ticks cost some microseconds.
inline std::string random_profile(RandomStream& random) {
  constexpr std::array kDelays = {"none",
                                  "const,base=40",
                                  "lognormal,median=30,sigma=1.2",
                                  "pareto,median=10,alpha=1.1,cap=3000",
                                  "ec2-large,base=5,median=20",
                                  "ec2-small"};
  std::string text = kDelays[static_cast<std::size_t>(random.between(0, kDelays.size() - 1))];
  if (random.between(0, 1) != 0) text += ",spike-prob=0.2,spike-lo=50,spike-hi=2000";
  if (random.between(0, 2) == 0) text += ",stall=0:0:0.5:0.2";
  if (random.between(0, 2) == 0) text += ",host-stall=1:1:0.4";
  if (random.between(0, 1) != 0) text += ",rate=" + std::to_string(random.between(10, 2000));
  constexpr std::array kUnits = {"message", "packet", "time"};
  text += std::string(",unit=") + kUnits[static_cast<std::size_t>(random.between(0, 2))];
  return text + ",packet-bytes=600,span=100";
}

// Of all runs of a test so far.
struct LateCounts {
  std::int64_t n_epochs = 0;  // at which something moved
  std::int64_t pieces_moved = 0;
  std::int64_t steps_lent = 0;
  std::int64_t epochs_of_auto = 0;  // at which its policy or who owns what changed

  // Of a model that can be cut into pieces, and has auto.
  void expect_all_in(std::uint64_t n_runs) const {
    if (::testing::Test::HasFailure()) return;
    const auto n = static_cast<std::int64_t>(n_runs);
    EXPECT_GT(n_epochs, n / 4);
    EXPECT_GT(pieces_moved, n / 4);
    EXPECT_GT(epochs_of_auto, n / 8);
  }
};

// The state of all nodes at the end equals the reference, bit for bit, with epochs, pieces, balance
// and policy auto at random, as far as the model has them. `P` is a ProblemOf.
template <class P>
void expect_equal_when_late(const P& problem, RunCase c, std::uint64_t seed,
                            const ReferenceRun<typename P::State>& reference, LateCounts& counts) {
  RandomStream random(seed, 21);
  const std::string profile = random_profile(random);
  const SharingOptions sharing = random_sharing(problem, c, random);
  while (c.n_nodes > 1 && !can_be_cut(problem, c, sharing))
    --c.n_nodes;
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(c) + ", " + describe(sharing) +
               ", " + profile);
  SimulationOptions options;
  options.n_nodes = c.n_nodes;
  options.n_cores = c.n_cores;
  options.profile = net::parse_profile(profile);
  options.seed = seed;
  options.sharing = sharing;
  for (std::uint32_t node = 0; node < c.n_nodes; ++node)
    options.slowdowns.push_back(1 + 3 * random.unit());
  typename P::State state;
  options.at_end = [&](net::NodeId, NodeRun& node) {
    auto& typed = dynamic_cast<typename P::Node&>(node);
    problem.model().merge(state, typed.store().own_state(typed.engine().end()));
  };
  RunResult result;
  ASSERT_NO_THROW((result = simulate(problem, c.policy, c.ticks, options)));
  EXPECT_EQ(result.ticks, reference.ticks);
  EXPECT_TRUE(state == reference.state);
  counts.n_epochs += result.n_epochs();
  counts.pieces_moved += result.pieces_moved();
  for (const NodeResult& node : result.nodes)
    counts.steps_lent += node.work.steps_lent;
  counts.epochs_of_auto += result.tuned ? result.n_epochs() : 0;
}

}  // namespace rubato::tick::testing

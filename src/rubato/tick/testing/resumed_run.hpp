#pragma once
// A run that is saved at some tick while it goes on, and a second one that begins with what was
// saved: on other numbers of nodes, with another policy, in another order, with epochs in between.
// The second must end as the first, and as the reference.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/shuffle_driver.hpp"

namespace rubato::tick::testing {

class SavedPieces final : public StateSource {
 public:
  explicit SavedPieces(Tick tick) : tick_(tick) {}

  void add(Bytes piece) { pieces_.push_back(std::move(piece)); }
  [[nodiscard]] std::size_t n_pieces() const noexcept { return pieces_.size(); }
  [[nodiscard]] Tick tick() const override { return tick_; }
  void for_each(const std::function<void(ByteView)>& f) const override {
    for (const Bytes& piece : pieces_)
      f(piece);
  }

 private:
  Tick tick_;
  std::vector<Bytes> pieces_;
};

// One segment over virtual nodes; what the own regions have at the tick of `saved` goes there.
template <class P>
[[nodiscard]] Outcome<typename P::State> run_from(const P& problem, const RunCase& c,
                                                  const StateSource* start, SavedPieces* saved,
                                                  std::uint64_t seed) {
  Dataflow::Options options{c.ticks, c.n_cores, start == nullptr ? 0 : start->tick()};
  const auto partition = problem.partition(c.n_nodes);
  std::vector<std::unique_ptr<NodeRun>> nodes;
  std::vector<core::Engine*> engines;
  std::size_t n_own = 0;
  for (NodeId node = 0; node < c.n_nodes; ++node) {
    nodes.push_back(partition->make_node(node, c.policy, options, start));
    engines.push_back(&nodes.back()->engine());
    n_own += nodes.back()->plan().n_own;
    if (saved == nullptr) continue;
    NodeRun& run = *nodes.back();
    const auto wants = [saved](Tick t) { return t == saved->tick(); };
    run.engine().on_own_step(wants, [&run, saved](RegionId region, Tick t) {
      Writer out;
      run.save(region, t, out);
      saved->add(out.take());
    });
  }
  ShuffleDriver(engines, c.n_cores, seed).run();
  Outcome<typename P::State> outcome;
  outcome.end = nodes.front()->engine().end();
  for (const auto& node : nodes) {
    EXPECT_EQ(node->engine().end(), outcome.end);
    auto& typed = dynamic_cast<typename P::Node&>(*node);
    problem.model().merge(outcome.state, typed.store().own_state(outcome.end));
  }
  if (saved != nullptr && saved->tick() <= outcome.end) {
    EXPECT_EQ(saved->n_pieces(), n_own);
  }
  return outcome;
}

// A model that cannot be cut for c.n_nodes is run on one node.
template <class P>
[[nodiscard]] RunCase that_can_be_cut(const P& problem, RunCase c) {
  try {
    (void)problem.partition(c.n_nodes);
  } catch (const Error&) {
    c.n_nodes = 1;
  }
  return c;
}

// `P` is a ProblemOf, `stop_lag` that of the model. The tick to begin again with, the number of nodes
// and the policy of the second run are drawn from `random`.
template <class P>
void expect_equal_when_resumed(const P& problem, RunCase c, Tick stop_lag, RandomStream& random,
                               const ReferenceRun<typename P::State>& reference) {
  if (reference.ticks == 0) return;
  c = that_can_be_cut(problem, c);
  const std::uint64_t seed = random();
  SavedPieces saved(random.between(1, reference.ticks));
  RunCase again = that_can_be_cut(problem, random_run(random));
  // A test of which the decision was made before ends the run after it, too: who saves says so.
  const bool decided = reference.ticks < c.ticks && reference.ticks - stop_lag <= saved.tick();
  again.ticks = decided ? reference.ticks : c.ticks;
  SCOPED_TRACE("saved at tick " + std::to_string(saved.tick()) + " by " + describe(c) +
               ", resumed with " + describe(again));
  Outcome<typename P::State> first;
  ASSERT_NO_THROW((first = run_from(problem, c, nullptr, &saved, seed)));
  EXPECT_EQ(first.end, reference.ticks);
  EXPECT_TRUE(first.state == reference.state);
  Outcome<typename P::State> second;
  ASSERT_NO_THROW((second = run_from(problem, again, &saved, nullptr, seed + 1)));
  EXPECT_EQ(second.end, reference.ticks);
  EXPECT_TRUE(second.state == reference.state);
}

}  // namespace rubato::tick::testing

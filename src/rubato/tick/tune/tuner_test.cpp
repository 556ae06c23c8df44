// Forecasts against simulated runs of the real engine, and what the tuner makes of them.

#include "rubato/tick/tune/tuner.hpp"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/net/latency.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {
namespace {

using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

constexpr std::uint32_t kNodes = 4;

// A tick takes about 1 ms on each of four nodes.
BugProblem evenly_spread(bool crowd = false) {
  points::testing::SwarmOptions world;
  world.high = {80, 80, 0};
  world.n_bugs = 200;
  world.death_in = world.birth_in = 0;
  world.crowd = crowd;
  PointsCosts costs;
  costs.tuple = 20'000;
  costs.pair = 0;
  return BugProblem(PointsModel(Bugs(world)), costs);
}

SimulationOptions on(const char* profile) {
  SimulationOptions options;
  options.n_nodes = kNodes;
  options.profile = net::parse_profile(profile);
  return options;
}

RunResult run(const BugProblem& problem, const System& system, Tick ticks, const char* profile) {
  SimulationOptions options = on(profile);
  options.sharing = system.sharing;
  return simulate(problem, system.policy, ticks, options);
}

System tuned(Tick epoch, std::uint32_t n_pieces = 0) {
  System system = System::parse("auto");
  system.sharing.epoch = epoch;
  system.sharing.n_pieces = n_pieces;
  system.sharing.balance_is_default = false;
  if (n_pieces == 0) system.sharing.balance = Balance::none;
  return system;
}

TEST(NodeShape, layers_and_links_are_those_of_the_cut) {
  const BugProblem problem = evenly_spread();
  const auto partition = problem.partition(kNodes);
  const NodeShape shape = partition->shape(0, {2, 3});
  EXPECT_GT(shape.size, 0);
  ASSERT_FALSE(shape.inside.empty());
  double last = shape.size;
  for (const double inside : shape.inside) {
    EXPECT_LT(inside, last);
    last = inside;
  }
  EXPECT_EQ(shape.links.size(), kNodes - 1);
  for (const LinkShape& link : shape.links) {
    EXPECT_NE(link.node, 0U);
    ASSERT_EQ(link.layers.size(), static_cast<std::size_t>(shape.layers) + 1);
    for (const double layer : link.layers)
      EXPECT_GT(layer, 0);
  }
  Writer out;
  shape.put(out);
  const Bytes bytes = out.take();
  Reader in(bytes);
  const NodeShape copy = NodeShape::get(in);
  EXPECT_EQ(copy.inside, shape.inside);
  EXPECT_EQ(copy.links.back().layers, shape.links.back().layers);
  EXPECT_EQ(copy.links.back().with, shape.links.back().with);
}

// What the delays are is told, not measured: the arithmetic alone.
TEST(Forecast, is_near_what_the_engine_takes) {
  const BugProblem problem = evenly_spread();
  const auto partition = problem.partition(kNodes);
  const net::Profile profile = net::parse_profile("ec2-large");
  ForecastInput input;
  for (NodeId node = 0; node < kNodes; ++node) {
    input.loads.push_back({.step = 1e6});
    input.shapes.push_back(partition->shape(node, {3, 11}));
    for (const LinkShape& link : input.shapes.back().links) {
      DelayLog log;
      const net::LinkSampler sampler(profile, 1, link.node, node);
      for (std::uint64_t n = 0; n < DelayLog::kMost; ++n)
        log.add(sampler.delay(n));
      input.delays.push_back({link.node, node, log.delays()});
    }
  }
  const Forecast forecast(input);
  double local = 0;
  for (const char* text : {"local", "schedule(6)", "k1m1d6", "pieces(6)"}) {
    const Policy policy = Policy::parse(text);
    ASSERT_TRUE(forecast.can(policy));
    double simulated = 0;
    constexpr Tick kTicks = 400;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      SimulationOptions options = on("ec2-large");
      options.seed = seed;
      simulated +=
          static_cast<double>(simulate(problem, policy, kTicks, options).wall) / kTicks / 2;
    }
    const double ratio = forecast.tick_time(policy, {}) / simulated;
    RecordProperty(text, std::to_string(ratio));
    EXPECT_GT(ratio, 0.6) << text;
    EXPECT_LT(ratio, 1.4) << text;
    if (local == 0) local = forecast.tick_time(policy, {});
    EXPECT_LE(forecast.tick_time(policy, {}), local) << text;
  }
}

TEST(Forecast, shared_evenly_a_slow_node_costs_what_it_adds_to_the_mean) {
  ForecastInput input;
  const auto problem = evenly_spread();
  const auto partition = problem.partition(kNodes);
  for (NodeId node = 0; node < kNodes; ++node) {
    input.loads.push_back({.step = node == 2 ? 3e6 : 1e6, .indivisible = 1e5});
    input.shapes.push_back(evenly_spread().partition(kNodes)->shape(node, {1, 2}));
  }
  const Forecast forecast(input);
  EXPECT_NEAR(forecast.tick_time(Policy{}, {}), 3e6, 1e4);
  EXPECT_NEAR(forecast.tick_time(Policy{}, {.anew = true}), 1.5e6, 1e4);
}

// One core has a piece for all of its step: pieces that move make nothing shorter than the costliest,
// and cores that share a node's leave it the costliest one.
TEST(Forecast, no_tick_is_shorter_than_the_costliest_piece) {
  ForecastInput input;
  for (NodeId node = 0; node < kNodes; ++node) {
    PieceSpread pieces;
    for (int i = 0; i < 10; ++i)
      pieces.add(1e5);
    if (node == 2) pieces.add(2e6);
    // Two cores.
    input.loads.push_back({.step = pieces.sum / 2, .pieces = pieces});
    input.shapes.push_back(evenly_spread().partition(kNodes)->shape(node, {1, 2}));
  }
  const Forecast cut_anew(input);
  EXPECT_NEAR(cut_anew.tick_time(Policy{}, {}), 2e6, 1e4);
  EXPECT_NEAR(cut_anew.tick_time(Policy{}, {.anew = true}), 0.75e6, 1e4);
  for (TickCosts& load : input.loads)
    load.indivisible = load.pieces.largest;
  const Forecast moved(input);
  EXPECT_NEAR(moved.tick_time(Policy{}, {.anew = true}), 2e6, 1e4);
  EXPECT_EQ(moved.pieces().n, 41);
  EXPECT_EQ(moved.pieces().largest, 2e6);
  EXPECT_NEAR(moved.pieces().mean(), 6e6 / 41, 1);
  EXPECT_NEAR(moved.pieces().deviation(), 2.003, 0.001);
}

TEST(Forecast, pieces_that_all_cost_the_same_have_no_spread) {
  PieceSpread none;
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.deviation(), 0);
  PieceSpread alike;
  for (int i = 0; i < 3; ++i)
    alike.add(0.1);
  EXPECT_NEAR(alike.deviation(), 0, 1e-6);
}

// A part that costs four times as much as one of the same size: as a replica it does so too where sizes
// are areas, and where they count it is the node that is slow.
TEST(Forecast, replicas_cost_what_their_own_node_has_measured) {
  ForecastInput input;
  input.loads = {{.step = 4e6}, {.step = 1e6}};
  for (NodeId node = 0; node < 2; ++node) {
    NodeShape shape;
    shape.size = 10;
    shape.layers = 1;
    const double layer = node == 0 ? 2 : 3;
    shape.links.push_back({.node = 1 - node, .layers = {layer, layer}});
    input.shapes.push_back(shape);
  }
  // A layer each second tick, the mean of two nodes.
  const Policy policy = Policy::parse("k2m1");
  EXPECT_NEAR(Forecast(input).tick(policy, {}).replicas, (2 * 4e5 + 3 * 1e5) / 4, 1e4);
  for (NodeShape& shape : input.shapes)
    shape.is_uneven = true;
  EXPECT_NEAR(Forecast(input).tick(policy, {}).replicas, (2 * 1e5 + 3 * 4e5) / 4, 1e4);
  input.replica_cost = 1.5;
  Forecast dearer(input);
  EXPECT_NEAR(dearer.tick(policy, {}).replicas, 1.5 * (2 * 1e5 + 3 * 4e5) / 4, 1e4);
  dearer.set_replica_cost(3);
  EXPECT_NEAR(dearer.tick(policy, {}).replicas, 3 * (2 * 1e5 + 3 * 4e5) / 4, 2e4);
  EXPECT_EQ(dearer.tick(Policy{}, {}).replicas, 0);
}

TEST(Tuner, bulk_is_no_candidate) {
  try {
    const Tuner tuner({{Policy{}, Policy::parse("bulk")}, false, 50});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("bulk is no candidate"), std::string::npos);
  }
}

// Each node's cost of a tick as it was measured, on a network that is never late.
std::vector<NodeReport> reports_of(const std::vector<double>& steps, int layers = 1) {
  const auto problem = evenly_spread();
  const auto partition = problem.partition(kNodes);
  std::vector<NodeReport> reports;
  for (NodeId node = 0; node < kNodes; ++node) {
    NodeReport report;
    report.node = node;
    report.load.step = steps[node];
    report.tick_time = *std::ranges::max_element(steps);
    report.ticks = 50;
    report.shape = partition->shape(node, {layers, 2});
    reports.push_back(std::move(report));
  }
  return reports;
}

TEST(Tuner, what_is_balanced_stays_so_while_the_first_cut_would_be_uneven) {
  Tuner tuner({{Policy{}}, true, 50});
  EXPECT_TRUE(tuner.decide(50, reports_of({1e6, 1e6, 3e6, 1e6})).balanced);
  for (Tick epoch = 100; epoch <= 2000; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    EXPECT_TRUE(tuner.decide(epoch, reports_of({1.5e6, 1.5e6, 1.5e6, 1.5e6})).balanced) << epoch;
  }
}

TEST(Tuner, balancing_that_gains_nothing_is_given_up) {
  Tuner tuner({{Policy{}}, true, 50});
  EXPECT_TRUE(tuner.decide(50, reports_of({1e6, 1e6, 2e6, 1e6})).balanced);
  bool balanced = true;
  for (Tick epoch = 100; epoch <= 2000 && balanced; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    auto reports = reports_of({1.25e6, 1.25e6, 1.25e6, 1.25e6});
    for (NodeReport& report : reports)
      report.tick_time = 4e6;  // what moving costs
    balanced = tuner.decide(epoch, std::move(reports)).balanced;
  }
  EXPECT_FALSE(balanced);
}

// What each node costs at an epoch if one of them is slow, each by turns.
std::vector<double> slow_by_turns(Tick epoch, double slow) {
  std::vector<double> steps(kNodes, 1e6);
  steps[static_cast<std::size_t>(epoch / 50) % kNodes] = slow;
  return steps;
}

// Work that moves by itself: sharing it anew leaves it as uneven as it was, and costs. Each node is the slow one
// by turns.
TEST(Tuner, sharing_that_does_not_keep_what_it_promised_is_seldom_tried_again) {
  for (const double slow : {3.0, 5.0, 20.0}) {
    Tuner tuner({{Policy{}}, true, 50});
    constexpr Tick kTicks = 20'000;
    int n_tries = 0;
    bool balanced = false;
    for (Tick epoch = 50; epoch <= kTicks; epoch += 50) {
      if (!tuner.forecasts_at(epoch)) continue;
      auto reports = reports_of(slow_by_turns(epoch, slow * 1e6));
      for (NodeReport& report : reports)
        report.tick_time = (balanced ? 1.2 : 1) * slow * 1e6;
      const bool before = std::exchange(balanced, tuner.decide(epoch, std::move(reports)).balanced);
      n_tries += balanced && !before ? 1 : 0;
    }
    EXPECT_GE(n_tries, 1);
    EXPECT_LE(n_tries, kTicks / 800) << slow;
  }
}

// And once it keeps its promise again, that is found out.
TEST(Tuner, sharing_that_was_not_worth_it_is_tried_again_when_it_would_be) {
  Tuner tuner({{Policy{}}, true, 50});
  bool balanced = false;
  const auto go = [&](Tick begin, Tick end, bool moves) {
    for (Tick epoch = begin; epoch <= end; epoch += 50) {
      if (!tuner.forecasts_at(epoch)) continue;
      std::vector<double> steps(kNodes, 1e6);
      steps[moves ? static_cast<std::size_t>(epoch / 50) % kNodes : 0] = 3e6;
      if (balanced && !moves) steps.assign(kNodes, 1.5e6);
      auto reports = reports_of(steps);
      const double most = *std::ranges::max_element(steps);
      for (NodeReport& report : reports)
        report.tick_time = (balanced ? 1.1 : 1) * most;
      balanced = tuner.decide(epoch, std::move(reports)).balanced;
    }
  };
  go(50, 2000, true);
  go(2050, 12'000, false);
  EXPECT_TRUE(balanced);
}

// Pieces of four, two and one grain: the costliest piece of each node in these.
std::vector<std::vector<double>> costliest(double large) {
  return {{large, 2e5, 2e5, 2e5}, {large / 2, 1e5, 1e5, 1e5}, {large / 4, 5e4, 5e4, 5e4}};
}

// With the costliest of the pieces that each node has.
std::vector<NodeReport> with_pieces(std::vector<NodeReport> reports,
                                    const std::vector<double>& costs) {
  for (NodeReport& report : reports)
    report.load.indivisible = report.load.pieces.largest = costs[report.node];
  return reports;
}

TunerOptions of_grains(std::vector<Policy> candidates) {
  TunerOptions options{std::move(candidates), true, 50};
  options.grains_of_piece = {4, 2, 1};
  options.n_grains = 64;
  return options;
}

// A crowd in one piece: no node can have less than that, so smaller ones are taken.
TEST(Tuner, pieces_become_as_small_as_it_takes_to_share_a_crowd) {
  Tuner tuner(of_grains({Policy{}}));
  const auto decision = tuner.decide(
      50, with_pieces(reports_of({4e6, 1e6, 1e6, 1e6}), costliest(3.4e6)[0]), costliest(3.4e6));
  EXPECT_TRUE(decision.balanced);
  EXPECT_EQ(decision.grains_of_piece, 2U);  // 1.7e6 of 1.75e6 that each is to have
  const Choice& choice = tuner.choices().front();
  EXPECT_EQ(choice.n_pieces, 32U);
  ASSERT_EQ(choice.candidates.size(), 6U);
  EXPECT_EQ(choice.candidates[3].n_pieces, 16U);
  EXPECT_GT(choice.candidates[3].tick_time, 3e6);
}

// The pieces that it is shared in were not looked at before it was, as they lay then: what others promised counts.
TEST(Tuner, sharing_in_smaller_pieces_that_does_not_keep_its_promise_is_seldom_tried_again) {
  Tuner tuner(of_grains({Policy{}}));
  constexpr Tick kTicks = 20'000;
  int n_tries = 0;
  bool balanced = false;
  for (Tick epoch = 50; epoch <= kTicks; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    auto reports = with_pieces(reports_of(slow_by_turns(epoch, 8e6)), costliest(3.6e6)[0]);
    for (NodeReport& report : reports)
      report.tick_time = (balanced ? 1.2 : 1) * 8e6;
    const auto decision = tuner.decide(epoch, std::move(reports), costliest(3.6e6));
    const bool tries = decision.balanced && !balanced;
    if (tries && n_tries == 0) {
      EXPECT_EQ(decision.grains_of_piece, 2U);
    }
    n_tries += tries ? 1 : 0;
    balanced = decision.balanced;
  }
  EXPECT_GE(n_tries, 1);
  EXPECT_LE(n_tries, kTicks / 800);
}

// Where all can share with those that the run began with, they stay as they are.
TEST(Tuner, pieces_stay_as_they_are_where_nothing_is_gained) {
  Tuner tuner(of_grains({Policy{}}));
  EXPECT_EQ(tuner.decide(50, reports_of({4e6, 1e6, 1e6, 1e6}), costliest(4e5)).grains_of_piece, 4U);
  for (Tick epoch = 100; epoch <= 1000; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    const auto decision =
        tuner.decide(epoch, reports_of({1.8e6, 1.7e6, 1.75e6, 1.75e6}), costliest(4e5));
    EXPECT_TRUE(decision.balanced);
    EXPECT_EQ(decision.grains_of_piece, 4U);
  }
}

// Pieces move already, and what is left uneven is one that is too large.
TEST(Tuner, a_piece_that_grows_while_work_is_shared_is_cut) {
  Tuner tuner(of_grains({Policy{}}));
  EXPECT_EQ(tuner.decide(50, reports_of({4e6, 1e6, 1e6, 1e6}), costliest(4e5)).grains_of_piece, 4U);
  std::uint32_t n = 4;
  for (Tick epoch = 100; epoch <= 1000 && n == 4; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    auto reports = reports_of({3e6, 1.3e6, 1.3e6, 1.3e6});
    for (NodeReport& report : reports)
      report.load.indivisible = report.node == 0 ? 3e6 : 2e5;
    n = tuner.decide(epoch, std::move(reports), costliest(3e6)).grains_of_piece;
  }
  EXPECT_EQ(n, 2U);
}

// One grain has all of a crowd: that it is in smaller pieces makes nothing more even, which is found out once
// and not tried with smaller ones still.
TEST(Tuner, a_crowd_in_one_grain_is_not_cut_again_and_again) {
  for (const bool is_spread : {false, true}) {
    Tuner tuner(of_grains({Policy{}}));
    std::vector<double> steps{8e6, 1e6, 1e6, 1e6};
    double n = 4;
    int n_cuts = 0;
    for (Tick epoch = 50; epoch <= 1000; epoch += 50) {
      if (!tuner.forecasts_at(epoch)) continue;
      // A piece's cost is shared evenly among its grains.
      const double crowd = is_spread ? 1.25e6 * n : 5e6;
      std::vector<std::vector<double>> costs;
      for (const double of : {4.0, 2.0, 1.0})
        costs.push_back({crowd * std::min(1.0, of / n), 2e5, 2e5, 2e5});
      const auto decision =
          tuner.decide(epoch, with_pieces(reports_of(steps), {crowd, 2e5, 2e5, 2e5}), costs);
      n_cuts += decision.grains_of_piece < n ? 1 : 0;
      n = decision.grains_of_piece;
      ASSERT_TRUE(decision.balanced);
      const double most = std::max(2.75e6, is_spread ? 1.25e6 * n : 5e6);
      const double rest = (11e6 - most) / 3;
      steps = {most, rest, rest, rest};
    }
    EXPECT_EQ(n_cuts, 1) << is_spread;
    EXPECT_EQ(n, 2);
  }
}

// Whatever stands before it in the list, each policy that may be good is looked at in each size of pieces; and
// what the run began with, always.
TEST(Tuner, what_is_good_in_some_pieces_keeps_nothing_else_out) {
  const std::vector<Policy> all{Policy{}, Policy::parse("schedule(2)"), Policy::parse("pieces(2)")};
  Tuner tuner(of_grains(all));
  tuner.decide(50, with_pieces(reports_of({9e6, 1e6, 1e6, 1e6}), costliest(8e6)[0]),
               costliest(8e6));
  const Choice& choice = tuner.choices().back();
  EXPECT_NE(choice.n_pieces, 16U);
  ASSERT_EQ(choice.candidates.size(), 18U);
  for (std::size_t i = 9; i < 18; ++i)
    EXPECT_GT(choice.candidates[i].tick_time, 0) << i;
  EXPECT_GT(choice.first, 0);
  for (Tick epoch = 100; epoch <= 400; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    tuner.decide(epoch, reports_of({3e6, 3e6, 3e6, 3e6}), costliest(1e6));
    EXPECT_GT(tuner.choices().back().first, 0);
  }
}

// Where balancing cuts the model again nothing of it is of pieces.
TEST(Tuner, what_is_cut_again_is_told_without_pieces) {
  TunerOptions options{{Policy{}}, true, 50};
  options.n_grains = 30;
  options.cuts_again = true;
  Tuner tuner(options);
  EXPECT_TRUE(tuner.decide(50, reports_of({4e6, 1e6, 1e6, 1e6})).balanced);
  EXPECT_EQ(tuner.choices().front().n_pieces, 0U);
  EXPECT_EQ(tuner.choices().front().candidates.front().n_pieces, 30U);
}

// Of each link that comes there, always the same.
void add_delays(NodeReport& report, Nanos delay) {
  for (const LinkShape& link : report.shape.links) {
    DelayLog log;
    for (int i = 0; i < 200; ++i)
      log.add(delay);
    report.delays.emplace_back(link.node, log.delays());
  }
}

// With replicas that turn out to be far dearer than was thought, fewer of them are taken.
TEST(Tuner, what_replicas_have_cost_corrects_those_of_all) {
  const std::vector<Policy> few{Policy::parse("k8m7d10"), Policy::parse("k2m1d10")};
  const auto reports = [](double replicas) {
    std::vector<NodeReport> all = reports_of({1e5, 1e5, 1e5, 1e5}, 7);
    for (NodeReport& report : all) {
      report.load.replicas = replicas;
      report.tick_time = 1e5 + replicas;
      add_delays(report, 1'000'000);
    }
    return all;
  };
  // What a tick should take with many layers, over what it should with one.
  const auto ratio_of = [&](double replicas) {
    Tuner tuner({few, false, 50});
    tuner.decide(50, reports(replicas));
    const std::vector<Expected>& expected = tuner.choices().front().candidates;
    return expected[0].tick_time / expected[1].tick_time;
  };
  const double as_thought = ratio_of(0);
  EXPECT_GT(as_thought, 0);
  EXPECT_GT(ratio_of(2e6), 1.5 * as_thought);
}

// The cut of now has no layers to tell of replicas by: that the first one had some is no reason to go back.
TEST(Tuner, what_cannot_be_told_of_the_cut_that_runs_is_no_reason_to_leave_it) {
  const std::vector<Policy> all{Policy{}, Policy::parse("k2m1d10")};
  Tuner tuner({all, true, 50});
  const auto late = [](std::vector<double> steps, int layers) {
    std::vector<NodeReport> reports = reports_of(steps, layers);
    for (NodeReport& report : reports) {
      add_delays(report, 2'000'000);
    }
    return reports;
  };
  EXPECT_TRUE(tuner.decide(50, late({1e6, 1e6, 6e6, 1e6}, 1)).balanced);
  int n_decisions = 0;
  for (Tick epoch = 100; epoch <= 1000; epoch += 50) {
    if (!tuner.forecasts_at(epoch)) continue;
    EXPECT_TRUE(tuner.decide(epoch, late({2.25e6, 2.25e6, 2.25e6, 2.25e6}, 0)).balanced) << epoch;
    ++n_decisions;
  }
  EXPECT_GT(n_decisions, 0);
}

TEST(Tuner, a_late_network_brings_replicas_and_the_same_bits) {
  const BugProblem problem = evenly_spread();
  constexpr Tick kTicks = 300;
  const RunResult local = run(problem, System::parse("local"), kTicks, "ec2-large");
  const RunResult result = run(problem, tuned(20), kTicks, "ec2-large");
  EXPECT_EQ(result.checksum, local.checksum);
  ASSERT_FALSE(result.choices.empty());
  EXPECT_GT(result.choices.front().policy.depth, 0);
  EXPECT_LT(result.choices.front().tick_time, result.choices.front().first);
  EXPECT_EQ(result.choices.front().candidates.size(), tuned_policies().size());
  EXPECT_LT(static_cast<double>(result.wall), 0.8 * static_cast<double>(local.wall));
}

TEST(Tuner, an_idle_network_keeps_what_is_simple) {
  const BugProblem problem = evenly_spread();
  const RunResult local = run(problem, System::parse("local"), 200, "none");
  const RunResult result = run(problem, tuned(20), 200, "none");
  EXPECT_EQ(result.checksum, local.checksum);
  ASSERT_FALSE(result.choices.empty());
  EXPECT_EQ(result.choices.back().policy.replica_layers, 0);
  EXPECT_LT(static_cast<double>(result.wall), 1.03 * static_cast<double>(local.wall));
}

TEST(Tuner, a_crowd_has_its_pieces_moved) {
  const BugProblem problem = evenly_spread(true);
  constexpr Tick kTicks = 200;
  System still = System::parse("local");
  still.sharing.n_pieces = 64;
  const RunResult local = run(problem, still, kTicks, "none");
  const RunResult result = run(problem, tuned(20, 64), kTicks, "none");
  EXPECT_EQ(result.checksum, local.checksum);
  ASSERT_FALSE(result.choices.empty());
  EXPECT_TRUE(result.choices.front().balanced);
  EXPECT_GT(result.pieces_moved(), 0);
  EXPECT_LT(static_cast<double>(result.wall), 0.8 * static_cast<double>(local.wall));
}

// The same crowd, in two pieces a node at first: as few as that leave it to one node.
TEST(Tuner, a_run_finds_how_many_pieces_its_crowd_needs) {
  const BugProblem problem = evenly_spread(true);
  constexpr Tick kTicks = 600;
  const auto run_of = [&](std::vector<std::uint32_t> grains) {
    System system = tuned(20, 64 / grains.front());
    system.sharing.grains_of_piece = std::move(grains);
    return run(problem, system, kTicks, "none");
  };
  const RunResult large = run_of({8});
  const RunResult result = run_of({8, 4, 2, 1});
  EXPECT_EQ(result.checksum, large.checksum);
  EXPECT_EQ(result.n_pieces, 8U);
  ASSERT_FALSE(result.choices.empty());
  EXPECT_GT(result.choices.back().n_pieces, 8U);
  EXPECT_LT(static_cast<double>(result.wall), 0.8 * static_cast<double>(large.wall));
}

// Sharing anew costs: who need not do that is not to lose by it, whatever the forecast hopes for.
TEST(Tuner, loses_little_by_sharing_what_is_even) {
  const BugProblem problem = evenly_spread();
  constexpr Tick kTicks = 800;
  const RunResult still = run(problem, tuned(50), kTicks, "ec2-large");
  const RunResult result = run(problem, System::parse("auto"), kTicks, "ec2-large");
  EXPECT_EQ(result.checksum, still.checksum);
  EXPECT_EQ(result.pieces_moved(), 0);  // it is cut again, if at all
  EXPECT_LT(static_cast<double>(result.wall), 1.1 * static_cast<double>(still.wall));
}

}  // namespace
}  // namespace rubato::tick

#include "rubato/core/sim_host.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/core/toy_engines_test.hpp"

namespace rubato::core {
namespace {

using testing::AllToAllEngine;
using testing::GraphEngine;
using testing::RingEngine;

template <class E>
struct Cluster {
  template <class Make>
  Cluster(std::uint32_t n_nodes, Make make) {
    for (NodeId node = 0; node < n_nodes; ++node) {
      owned.push_back(make(node));
      engines.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<E>> owned;
  std::vector<Engine*> engines;
};

Cluster<RingEngine> ring(std::uint32_t n_nodes, std::uint32_t n_rounds) {
  return {n_nodes,
          [&](NodeId node) { return std::make_unique<RingEngine>(node, n_nodes, n_rounds); }};
}

net::SimOptions network_options(std::uint32_t n_nodes, std::uint64_t seed,
                                const std::string& profile = "none") {
  net::SimOptions options;
  options.n_nodes = n_nodes;
  options.seed = seed;
  options.profile = net::parse_profile(profile);
  options.shuffle_ties = seed % 2 == 1;
  return options;
}

SimHostOptions host_options(std::uint32_t n_cores, std::uint64_t seed) {
  SimHostOptions options;
  options.n_cores = n_cores;
  options.shuffle = seed % 2 == 1;
  options.seed = seed;
  options.extra_delay_max = 30 * kMicrosecond;
  return options;
}

const char* profile_of(std::uint64_t seed) {
  constexpr std::array kProfiles = {"none", "const", "lognormal", "ec2-large", "pareto"};
  return kProfiles[seed % kProfiles.size()];
}

TEST(SimHost, ARingTakesExactlyWhatItsWorkAndMessagesCost) {
  net::SimNetwork network(network_options(4, 2));
  auto nodes = ring(4, 5);
  SimHost host(network, {.n_cores = 2});
  const SimReport report = host.run(nodes.engines);
  EXPECT_EQ(nodes.owned[3]->token(), RingEngine::expected(4, 5));
  // 20 pieces of work of 10 us; 19 messages of 8 bytes cost 1008 ns at both ends.
  EXPECT_EQ(report.wall, 20 * 10'000 + 19 * 2 * 1'008);
  EXPECT_EQ(report.nodes[0].total().busy, (std::vector<Nanos>{0, 0, 0, 5 * 10'000}));
  EXPECT_EQ(report.nodes[0].total().sending, 9 * 1'008);
  EXPECT_EQ(report.nodes[0].total().own(), 0);
  EXPECT_EQ(report.nodes[0].n_sent, 5U);
  EXPECT_EQ(report.nodes[0].n_received, 4U);
  EXPECT_EQ(report.nodes[1].bytes_received, 40U);
}

// Node 0 sends a message at once; node 1 has work meanwhile, of a millisecond.
class BusyEngine final : public Engine {
 public:
  explicit BusyEngine(NodeId node) : node_(node), n_left_(node), n_messages_left_(node) {}
  void start(Port& port) override {
    if (node_ == 0) port.send(1, Bytes(8));
  }
  void on_message(Port& port, NodeId /*from*/, Bytes /*bytes*/) override {
    --n_messages_left_;
    came = port.came();
    taken = port.now();
  }
  void on_finished(Port& /*port*/, const Work& /*work*/) override {}
  bool next_work(std::uint32_t /*core*/, Work& work) override {
    work = {};
    return std::exchange(n_left_, 0U) > 0;
  }
  void run(const Work& /*work*/, std::uint32_t /*core*/) override {}
  [[nodiscard]] Nanos cost(const Work& /*work*/) const override { return kMillisecond; }
  [[nodiscard]] bool finished() const override { return n_messages_left_ == 0; }
  [[nodiscard]] std::string waiting_for() const override { return ""; }

  Port::Came came;
  Nanos taken = 0;

 private:
  NodeId node_;
  std::uint32_t n_left_;
  std::uint32_t n_messages_left_;
};

TEST(SimHost, ABusyNodeKnowsWhenAMessageCameThatItTakesLater) {
  const auto came_of = [](std::uint32_t n_cores) {
    net::SimNetwork network(network_options(2, 2, "const, base=100"));
    Cluster<BusyEngine> nodes(2, [](NodeId node) { return std::make_unique<BusyEngine>(node); });
    SimHost(network, {.n_cores = n_cores}).run(nodes.engines);
    EXPECT_EQ(nodes.owned[1]->came.earliest, nodes.owned[1]->came.latest);
    EXPECT_EQ(nodes.owned[1]->taken >= kMillisecond, n_cores == 1);
    return nodes.owned[1]->came.latest;
  };
  EXPECT_GE(came_of(1), 100 * kMicrosecond);
  EXPECT_LT(came_of(1), 110 * kMicrosecond);
  EXPECT_EQ(came_of(1), came_of(2));
}

TEST(SimHost, ASlowNodeTakesLongerByItsFactor) {
  net::SimNetwork network(network_options(2, 2));
  network.set_slowdown(1, 3.0);
  auto nodes = ring(2, 1);
  SimHost host(network, {});
  EXPECT_EQ(host.run(nodes.engines).wall, 10'000 + 1'008 + 3 * 1'008 + 3 * 10'000);
}

TEST(SimHost, EveryMessageArrivesOnceAndInOrderOnAnyNumberOfCores) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto n_nodes = 1 + static_cast<std::uint32_t>(seed % 6);
    net::SimNetwork network(network_options(n_nodes, seed, profile_of(seed)));
    Cluster<AllToAllEngine> nodes(
        n_nodes, [&](NodeId node) { return std::make_unique<AllToAllEngine>(node, n_nodes, 25); });
    SimHost host(network, host_options(1 + static_cast<std::uint32_t>(seed % 4), seed));
    const SimReport report = host.run(nodes.engines);
    for (NodeId node = 0; node < n_nodes; ++node) {
      EXPECT_EQ(nodes.owned[node]->sum(), AllToAllEngine::expected(node, n_nodes, 25));
      EXPECT_EQ(nodes.owned[node]->n_wrong_order(), 0U);
      EXPECT_EQ(report.nodes[node].n_sent, 25U * n_nodes);
      EXPECT_EQ(report.nodes[node].n_received, 25U * n_nodes);
    }
  }
}

TEST(SimHost, AFullLinkHoldsMessagesBackAndLosesNone) {
  auto options = network_options(3, 4, "const");
  options.pair_bytes_max = 1'000;
  net::SimNetwork network(options);
  Cluster<AllToAllEngine> nodes(
      3, [&](NodeId node) { return std::make_unique<AllToAllEngine>(node, 3, 40); });
  SimHost host(network, {.n_cores = 2});
  host.run(nodes.engines);
  EXPECT_GT(network.counts().n_refused, 0U);
  for (NodeId node = 0; node < 3; ++node) {
    EXPECT_EQ(nodes.owned[node]->sum(), AllToAllEngine::expected(node, 3, 40));
    EXPECT_EQ(nodes.owned[node]->n_wrong_order(), 0U);
  }
}

std::map<std::uint32_t, std::uint64_t> run_graph(const GraphEngine::Shape& shape,
                                                 std::uint64_t seed, SimReport& report) {
  net::SimNetwork network(network_options(shape.n_nodes, seed, profile_of(seed)));
  Cluster<GraphEngine> nodes(
      shape.n_nodes, [&](NodeId node) { return std::make_unique<GraphEngine>(node, shape); });
  SimHost host(network, host_options(1 + static_cast<std::uint32_t>(seed % 3), seed));
  report = host.run(nodes.engines);
  std::map<std::uint32_t, std::uint64_t> all;
  for (auto& node : nodes.owned)
    all.insert(node->values().begin(), node->values().end());
  return all;
}

TEST(SimHost, AGraphOfTasksHasTheSameValuesForEveryProfileNodeCountAndOrder) {
  for (std::uint64_t seed = 0; seed < n_seeds(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphEngine::Shape shape{seed / 4, 1 + static_cast<std::uint32_t>(seed % 7), 8, 12};
    const auto expected = GraphEngine::expected(shape);
    SimReport report;
    const auto values = run_graph(shape, seed, report);
    ASSERT_EQ(values.size(), expected.size());
    for (const auto& [task, value] : values)
      ASSERT_EQ(value, expected[task]) << "task " << task;
  }
}

TEST(SimHost, TheSameSeedGivesTheSameRunAndAnotherSeedAnother) {
  const GraphEngine::Shape shape{5, 6, 10, 16};
  SimReport a;
  SimReport b;
  SimReport c;
  run_graph(shape, 3, a);
  run_graph(shape, 3, b);
  run_graph(shape, 13, c);
  EXPECT_EQ(a.wall, b.wall);
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_NE(a.wall, c.wall);
}

std::string error_of(SimHost& host, const std::vector<Engine*>& engines, ExitCode code) {
  try {
    host.run(engines);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(SimHost, ADeadlockNamesEveryNodeThatWaitsAndWhatFor) {
  net::SimNetwork network(network_options(3, 2));
  auto nodes = ring(3, 4);
  // This node wants more rounds than the others play.
  nodes.owned[1] = std::make_unique<RingEngine>(1, 3, 6);
  nodes.engines[1] = nodes.owned[1].get();
  SimHost host(network, {});
  const std::string error = error_of(host, nodes.engines, ExitCode::failed);
  EXPECT_NE(error.find("deadlock at"), std::string::npos) << error;
  EXPECT_NE(error.find("1 of 3 nodes wait:\n  node 1 (host-2) waits for the token of round 2"),
            std::string::npos)
      << error;
  EXPECT_EQ(nodes.owned[0]->failure(), error);
}

TEST(SimHost, AKilledNodeEndsTheRunAndIsNamedAndTheSurvivorsAreTold) {
  net::SimNetwork network(network_options(4, 2, "const"));
  auto nodes = ring(4, 50);
  SimHost host(network, {});
  host.kill(2, 300 * kMicrosecond);
  const std::string error = error_of(host, nodes.engines, ExitCode::node_lost);
  EXPECT_EQ(error, "node 2 (host-3) was lost at 0.000300 s of virtual time");
  for (const NodeId survivor : {0, 1, 3}) {
    EXPECT_EQ(nodes.owned[survivor]->failure(), error);
  }
  EXPECT_EQ(nodes.owned[2]->failure(), "");
}

TEST(SimHost, AnErrorInWorkEndsTheRunOnEveryNodeWithItsCode) {
  net::SimNetwork network(network_options(3, 2));
  auto nodes = ring(3, 3);
  nodes.owned[1]->throws = true;
  SimHost host(network, {});
  const std::string error = error_of(host, nodes.engines, ExitCode::bad_input);
  EXPECT_EQ(error, "node 1 (host-2): the token broke");
  EXPECT_EQ(nodes.owned[0]->failure(), error);
}

TEST(SimHost, ARunBeyondItsTimeLimitEndsWithAnError) {
  net::SimNetwork network(network_options(3, 2));
  auto nodes = ring(3, 1'000);
  SimHost host(network, {.time_max = kMillisecond});
  const std::string error = error_of(host, nodes.engines, ExitCode::failed);
  EXPECT_NE(error.find("longer than the 0.001"), std::string::npos) << error;
}

TEST(SimHost, AThousandNodesRunInOneThread) {
  net::SimNetwork network(network_options(1'000, 2, "ec2-large"));
  auto nodes = ring(1'000, 2);
  SimHost host(network, {.n_cores = 2});
  host.run(nodes.engines);
  EXPECT_EQ(nodes.owned[999]->token(), RingEngine::expected(1'000, 2));
}

}  // namespace
}  // namespace rubato::core

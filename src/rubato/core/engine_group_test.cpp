#include "rubato/core/engine_group.hpp"

#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/core/node_host.hpp"
#include "rubato/core/sim_host.hpp"
#include "rubato/core/thread_fabric_test.hpp"
#include "rubato/core/toy_engines_test.hpp"

namespace rubato::core {
namespace {

using testing::AllToAllEngine;
using testing::GraphEngine;
using testing::RingEngine;

// Three engines of one node, as one.
struct Mixed {
  Mixed(NodeId id, const GraphEngine::Shape& s)
      : node(id),
        shape(s),
        ring(id, s.n_nodes, 6),
        all(id, s.n_nodes, 15),
        graph(id, s),
        group({&ring, &all, &graph}) {}

  // Counts into `n_tasks`, and says whether the rest is right.
  [[nodiscard]] bool right(std::size_t& n_tasks) const {
    const auto expected = GraphEngine::expected(shape);
    for (const auto& [task, value] : graph.values()) {
      if (value == expected[task]) ++n_tasks;
    }
    const bool ring_right =
        node + 1 != shape.n_nodes || ring.token() == RingEngine::expected(shape.n_nodes, 6);
    return ring_right && all.n_wrong_order() == 0 &&
           all.sum() == AllToAllEngine::expected(node, shape.n_nodes, 15);
  }

  NodeId node;
  GraphEngine::Shape shape;
  RingEngine ring;
  AllToAllEngine all;
  GraphEngine graph;
  EngineGroup group;
};

TEST(EngineGroup, EnginesThatShareCoresAndFabricComputeWhatTheyDoAlone) {
  for (std::uint64_t seed = 0; seed < n_seeds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphEngine::Shape shape{seed, 1 + static_cast<std::uint32_t>(seed % 5), 6, 10};
    net::SimOptions options;
    options.n_nodes = shape.n_nodes;
    options.seed = seed;
    options.profile = net::parse_profile("ec2-large");
    net::SimNetwork network(options);
    std::vector<std::unique_ptr<Mixed>> nodes;
    std::vector<Engine*> engines;
    for (NodeId node = 0; node < shape.n_nodes; ++node) {
      nodes.push_back(std::make_unique<Mixed>(node, shape));
      engines.push_back(&nodes.back()->group);
    }
    SimHost host(network, {.n_cores = 2, .shuffle = true, .seed = seed});
    const SimReport report = host.run(engines);
    std::size_t n_tasks = 0;
    for (const auto& node : nodes)
      EXPECT_TRUE(node->right(n_tasks));
    EXPECT_EQ(n_tasks, std::size_t{shape.n_layers} * shape.width);
    // Kind 3 of engine 0: the ring's work.
    const auto busy = report.nodes[0].total().busy;
    EXPECT_EQ(busy[nodes[0]->group.kind_of(0, 3)], 6 * 10 * kMicrosecond);
  }
}

TEST(EngineGroup, RunsOnRealCoresAsWell) {
  const GraphEngine::Shape shape{5, 3, 12, 10};
  testing::ThreadHub hub(shape.n_nodes);
  std::atomic<std::size_t> n_tasks{0};
  std::atomic<int> n_right{0};
  hub.run([&](NodeId node) {
    NodeHostOptions options;
    options.n_cores = 2;
    options.owns_process = false;
    NodeHost host(hub.fabric(node), options);
    Mixed mixed(node, shape);
    host.run(mixed.group);
    std::size_t mine = 0;
    if (mixed.right(mine)) ++n_right;
    n_tasks += mine;
  });
  EXPECT_EQ(n_right, 3);
  EXPECT_EQ(n_tasks, 120U);
}

TEST(EngineGroup, AFailureOfOneEngineIsToldToAll) {
  net::SimNetwork network({});
  RingEngine done(0, 1, 3);
  RingEngine throwing(0, 1, 3);
  EngineGroup group({&done, &throwing});
  throwing.throws = true;
  SimHost host(network, {});
  std::vector<Engine*> engines = {&group};
  EXPECT_THROW(host.run(engines), Error);
  EXPECT_EQ(done.failure(), "node 0 (host-1): the token broke");
  EXPECT_EQ(throwing.failure(), done.failure());
}

}  // namespace
}  // namespace rubato::core

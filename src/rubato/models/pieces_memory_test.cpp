// Policy pieces holds little more of the state than bulk does, though its regions are at ticks that
// are further apart: versions go with their last reader. State is counted while virtual nodes run, at
// its most; with epochs that is where two segments are alive.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/models/apps.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/peak_of_state.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"

namespace rubato::models {
namespace {

constexpr double kMost = 1.3;  // of the peak under bulk
constexpr std::uint32_t kNodes = 4;

struct Instance {
  std::string model;
  std::vector<std::pair<std::string, std::string>> parameters;
};

bool is_swarm(const Instance& instance) {
  return instance.model.starts_with("swarm");
}

std::unique_ptr<tick::Problem> build(const Instance& instance) {
  // General models, of which nothing is known but their functions; one steps in two parts.
  if (is_swarm(instance)) {
    using tick::testing::PieceSwarm;
    using tick::testing::PieceSwarmInParts;
    tick::testing::SwarmModel::Options world;
    world.width = world.height = 80;
    world.n_agents = 1500;
    world.visibility = world.reachability = 1;
    world.death_in = world.birth_in = 0;
    if (instance.model == "swarm") {
      return std::make_unique<tick::ProblemOf<PieceSwarm, tick::FragmentStore<PieceSwarm>>>(
          PieceSwarm(world));
    }
    return std::make_unique<
        tick::ProblemOf<PieceSwarmInParts, tick::FragmentStore<PieceSwarmInParts>>>(
        PieceSwarmInParts(world));
  }
  for (const tick::AppMaker& make : built_in_apps()) {
    const std::unique_ptr<tick::App> app = make();
    if (app->name() != instance.model) continue;
    tick::Parameters parameters;
    app->declare(parameters);
    for (const auto& [name, text] : instance.parameters)
      parameters.set(name, text);
    return app->build();
  }
  throw Error("no model " + instance.model);
}

struct Peak {
  double bytes = 0;  // the most that one node held at once
  tick::RunResult result;
};

Peak peak_of(const Instance& instance, const tick::System& system, tick::Tick ticks) {
  const auto problem = build(instance);
  tick::testing::PeakOfState peak(is_swarm(instance) ? 256 : 16);
  tick::SimulationOptions options;
  options.n_nodes = kNodes;
  options.profile = net::parse_profile("ec2-large");
  options.observer = &peak;
  options.sharing = system.sharing;
  // So that there is something to balance.
  if (system.sharing.moves()) options.slowdowns = {1, 1.5, 1, 1};
  options.wrap = [&](net::NodeId, tick::TickEngine& engine) { return peak.follow(engine); };
  Peak found;
  found.result = tick::simulate(*problem, system.policy, ticks, options);
  found.bytes = peak.most();
  return found;
}

class PiecesMemory : public ::testing::TestWithParam<Instance> {};

TEST_P(PiecesMemory, is_little_more_than_that_of_bulk) {
  const Peak bulk = peak_of(GetParam(), tick::System::parse("bulk"), 48);
  EXPECT_GT(bulk.bytes, 1e5);
  for (const char* policy : {"pieces(1)", "pieces(2)", "pieces(8)", "pieces(32)"}) {
    const Peak pieces = peak_of(GetParam(), tick::System::parse(policy), 48);
    const std::string ratio = std::to_string(pieces.bytes / bulk.bytes);
    RecordProperty(policy, ratio);
    EXPECT_LE(pieces.bytes, kMost * bulk.bytes) << policy << " " << ratio;
    EXPECT_EQ(pieces.result.checksum, bulk.result.checksum);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PiecesMemory,
                         ::testing::Values(Instance{"fish", {{"fish", "10000"}}},
                                           Instance{"nbody", {{"bodies", "10000"}}},
                                           Instance{"heat", {{"width", "400"}, {"height", "400"}}},
                                           Instance{"pagerank", {{"vertices", "5000"}}}),
                         [](const auto& instance) { return instance.param.model; });

// The systems of [AsyTick 5]: bulk and pieces(8), whose pieces move alike.
class SystemsMemory : public ::testing::TestWithParam<Instance> {};

TEST_P(SystemsMemory, of_asytick_plb_is_little_more_than_that_of_comtick) {
  const auto run = [&](const char* name) {
    tick::System system = tick::System::parse(name);
    // Plans of general models take a while in a build for tests.
    system.sharing.n_pieces = is_swarm(GetParam()) ? 96 : 256;
    system.sharing.epoch = 10;
    return peak_of(GetParam(), system, 25);
  };
  const Peak comtick = run("comtick");
  const Peak asytick = run("asytick-plb");
  const std::string ratio = std::to_string(asytick.bytes / comtick.bytes);
  RecordProperty("comtick_bytes", std::to_string(comtick.bytes));
  RecordProperty("ratio", ratio);
  EXPECT_GT(comtick.bytes, 1e4);
  EXPECT_LE(asytick.bytes, kMost * comtick.bytes) << ratio;
  EXPECT_EQ(asytick.result.checksum, comtick.result.checksum);
  EXPECT_GT(comtick.result.pieces_moved(), 0);
  EXPECT_GT(asytick.result.pieces_moved(), 0);
}

// Whatever the steps take.
TEST(LendingMemory, of_asytick_lend_is_little_more_than_that_of_comtick) {
  for (const Instance& instance :
       {Instance{"fish", {{"fish", "10000"}}}, Instance{"nbody", {{"bodies", "10000"}}}}) {
    const auto run = [&](const char* name) {
      tick::System system = tick::System::parse(name);
      system.sharing.n_pieces = 96;
      system.sharing.epoch = 10;
      system.sharing.lending.takes = 0;
      return peak_of(instance, system, 25);
    };
    const Peak comtick = run("comtick");
    const Peak lends = run("asytick-lend");
    std::int64_t n_lent = 0;
    for (const tick::NodeResult& node : lends.result.nodes)
      n_lent += node.work.steps_lent;
    EXPECT_GT(n_lent, 10) << instance.model;
    EXPECT_LE(lends.bytes, kMost * comtick.bytes)
        << instance.model << " " << lends.bytes / comtick.bytes;
    EXPECT_EQ(lends.result.checksum, comtick.result.checksum);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, SystemsMemory,
    ::testing::Values(Instance{"fish", {{"fish", "10000"}}},
                      Instance{"nbody", {{"bodies", "10000"}}},
                      Instance{"heat", {{"width", "400"}, {"height", "400"}}},
                      Instance{"pagerank", {{"vertices", "5000"}, {"tolerance", "0"}}},
                      Instance{"jacobi", {{"rows", "5000"}, {"tolerance", "0"}}},
                      Instance{"swarm", {}}, Instance{"swarm_in_parts", {}}),
    [](const auto& instance) { return instance.param.model; });

}  // namespace
}  // namespace rubato::models

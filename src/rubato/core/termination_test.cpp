#include "rubato/core/termination.hpp"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "rubato/base/seeds_test.hpp"
#include "rubato/core/channel.hpp"
#include "rubato/core/post_office_test.hpp"

namespace rubato::core {
namespace {

constexpr std::uint32_t kWaves = 0;
constexpr std::uint32_t kBalls = 1;

// Nodes throw balls at each other; a ball has a number of throws left.
struct Node {
  explicit Node(const JobShape& shape) : teams(shape), termination(teams.job()) {}
  Teams teams;
  Termination termination;
  Termination::Local local;
  int n_held = 0;  // balls that it throws when all are quiet; it has finished when it has none
};

struct BallGame {
  BallGame(std::uint32_t n_nodes, std::uint32_t n_cores, std::uint64_t seed)
      : office(n_nodes, seed), random(seed, 1) {
    for (NodeId id = 0; id < n_nodes; ++id) {
      nodes.push_back(std::make_unique<Node>(JobShape{id, n_nodes, n_cores}));
      nodes[id]->local.passive = true;
      nodes[id]->local.finished = true;
      office.receive(id, [this, id](Port& port, NodeId from, Bytes bytes) {
        Node& node = *nodes[id];
        if (take_tag(bytes) == kWaves) {
          TaggedPort waves(port, kWaves);
          node.teams.on_message(waves, from, bytes);
        } else {
          // Termination while a ball is on its way would be wrong.
          EXPECT_EQ(node.termination.state(), Termination::State::running);
          ++node.local.n_received;
          const int left = Reader(bytes).get<int>();
          --n_flying;
          if (left > 0) throw_ball(id, left - 1);
        }
        update(id);
      });
    }
  }
  void throw_ball(NodeId from, int left) {
    const auto to = static_cast<NodeId>(random.between(0, std::ssize(nodes) - 1));
    Writer out;
    out.put(left);
    TaggedPort balls(office.port(from), kBalls);
    balls.send(to, out.take());
    ++nodes[from]->local.n_sent;
    ++n_flying;
  }
  void update(NodeId id) {
    TaggedPort waves(office.port(id), kWaves);
    const auto before = nodes[id]->termination.state();
    const auto state = nodes[id]->termination.update(waves, nodes[id]->local);
    if (before == Termination::State::running && state != before) {
      EXPECT_EQ(n_flying, 0);
    }
    if (state == Termination::State::quiet) on_quiet(id);
  }
  void on_quiet(NodeId id) {
    Node& node = *nodes[id];
    node.termination.resume();
    if (node.n_held > 0) {
      ++node.local.n_let_go;
      node.local.finished = --node.n_held == 0;
      throw_ball(id, 7);
    }
    update(id);
  }
  void update_all() {
    for (NodeId id = 0; id < nodes.size(); ++id)
      update(id);
  }

  testing::PostOffice office;
  RandomStream random;
  std::vector<std::unique_ptr<Node>> nodes;
  int n_flying = 0;
};

bool all_are(const BallGame& game, Termination::State state) {
  return std::all_of(game.nodes.begin(), game.nodes.end(),
                     [&](const auto& node) { return node->termination.state() == state; });
}

TEST(Termination, IsFoundAfterTheLastMessageAndNeverBefore) {
  for (std::uint64_t seed = 0; seed < n_seeds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    BallGame game(1 + static_cast<std::uint32_t>(seed % 6),
                  1 + static_cast<std::uint32_t>(seed % 3), seed);
    for (int ball = 0; ball < 3; ++ball) {
      game.throw_ball(static_cast<NodeId>(seed % game.nodes.size()), 12);
    }
    game.update_all();
    game.office.deliver_all();
    EXPECT_EQ(game.n_flying, 0);
    EXPECT_TRUE(all_are(game, Termination::State::terminated));
  }
}

TEST(Termination, ANodeThatWaitsForNothingThatComesIsADeadlock) {
  for (std::uint64_t seed = 0; seed < n_seeds(50); ++seed) {
    BallGame game(4, 1, seed);
    game.throw_ball(1, 9);
    game.nodes[2]->local.finished = false;
    game.update_all();
    game.office.deliver_all();
    EXPECT_TRUE(all_are(game, Termination::State::deadlocked)) << "seed " << seed;
  }
}

TEST(Termination, WhatIsHeldBackGoesOnWhenAllAreQuiet) {
  for (std::uint64_t seed = 0; seed < n_seeds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto n_nodes = 1 + static_cast<std::uint32_t>(seed % 5);
    BallGame game(n_nodes, 1, seed);
    // One of three games has a node that never finishes.
    const bool is_stuck = seed % 3 == 0;
    for (NodeId id = 0; id < n_nodes; ++id) {
      Node& node = *game.nodes[id];
      node.n_held = static_cast<int>(id + seed % 4);
      node.local.finished = node.n_held == 0 && !(is_stuck && id == 0);
    }
    if (is_stuck) game.nodes[0]->n_held = 0;
    game.throw_ball(0, 9);
    game.update_all();
    game.office.deliver_all();
    EXPECT_TRUE(
        all_are(game, is_stuck ? Termination::State::deadlocked : Termination::State::terminated));
    for (const auto& node : game.nodes)
      EXPECT_EQ(node->n_held, 0);
  }
}

TEST(Termination, WavesWaitForABusyNodeInsteadOfGoingRound) {
  BallGame game(4, 1, 3);
  game.nodes[3]->local.passive = false;
  game.update_all();
  game.office.deliver_all();
  EXPECT_TRUE(all_are(game, Termination::State::running));
  EXPECT_LE(game.office.n_sent(), 2U);
  game.nodes[3]->local.passive = true;
  game.update(3);
  game.office.deliver_all();
  EXPECT_TRUE(all_are(game, Termination::State::terminated));
}

TEST(Termination, CanBeRestartedForTheNextRun) {
  BallGame game(3, 2, 8);
  for (int run = 0; run < 3; ++run) {
    game.throw_ball(0, 5);
    game.update_all();
    game.office.deliver_all();
    ASSERT_TRUE(all_are(game, Termination::State::terminated));
    for (auto& node : game.nodes)
      node->termination.restart();
  }
}

}  // namespace
}  // namespace rubato::core

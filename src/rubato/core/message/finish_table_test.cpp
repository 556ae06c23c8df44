// Scopes within each other, deeper than there are levels: those beyond the last count as of that.

#include "rubato/core/message/finish_table.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/core/message/message_engine.hpp"
#include "rubato/core/message/runner_levels.hpp"
#include "rubato/core/sim_host.hpp"

namespace rubato::core {
namespace finish_table_test {

// A pooled task with a scope for another one, and so on.
struct Nest {
  std::uint32_t n_below;
  void run(CoreContext& here) const {
    here.finish([&] {
      if (n_below > 0) here.spawn_pooled(Nest{n_below - 1});
    });
    ++here.local<std::uint64_t>();
  }
};

}  // namespace finish_table_test

namespace {

using detail::FinishTable;
using detail::kScopeLevels;
using detail::RunnerLevels;

TEST(FinishTable, ScopesBelowTheLastLevelAreOfThatAndOfTheirCore) {
  for (const CoreId core : {0U, 6U}) {
    FinishTable table(core);
    std::set<FinishId> ids;
    FinishId scope = 0;
    for (std::uint32_t depth = 1; depth <= 2 * kScopeLevels; ++depth) {
      scope = table.open(scope);
      EXPECT_EQ(detail::level_of(scope), std::min(depth, kScopeLevels));
      EXPECT_EQ(home_of(scope), core);
      EXPECT_TRUE(ids.insert(scope).second) << depth;
    }
    EXPECT_EQ(table.size(), 2 * kScopeLevels);
    for (const FinishId id : ids)
      table.close(id);
    EXPECT_EQ(table.size(), 0U);
  }
}

// All others have deeper ones below them, so that they may be as many as was said.
TEST(RunnerLevels, TheLastLevelIsNeverFull) {
  RunnerLevels levels(1);
  levels.enter({.level = kScopeLevels - 1});
  EXPECT_FALSE(levels.has_room({.level = kScopeLevels - 1}));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(levels.has_room({.level = kScopeLevels}));
    levels.enter({.level = kScopeLevels});
  }
  EXPECT_FALSE(levels.has_room({.level = kScopeLevels - 1}));
}

// Of each level one pooled task may wait.
TEST(Finish, ScopesMayLieDeeperInEachOtherThanThereAreLevels) {
  constexpr std::uint32_t kDepth = 3 * kScopeLevels;
  for (const std::uint32_t n_nodes : {1U, 2U}) {
    MessageOptions options;
    options.n_waiting_most = 1;
    options.clock = nullptr;
    net::SimOptions network_options;
    network_options.n_nodes = n_nodes;
    net::SimNetwork network(network_options);
    std::uint64_t n_ended = 0;  // of all nodes
    std::vector<std::unique_ptr<MessageEngine>> nodes;
    std::vector<Engine*> engines;
    for (NodeId node = 0; node < n_nodes; ++node) {
      nodes.push_back(std::make_unique<MessageEngine>(JobShape{node, n_nodes, 1}, options));
      nodes[node]->core(0).set_local(n_ended);
      engines.push_back(nodes[node].get());
    }
    nodes[0]->set_on_start([](CoreContext& here) {
      here.finish([&] { here.spawn_pooled(finish_table_test::Nest{kDepth - 1}); });
    });
    SimHost host(network, {});
    host.run(engines);
    EXPECT_EQ(n_ended, kDepth) << n_nodes;
  }
}

}  // namespace
}  // namespace rubato::core

// The named systems, and what of sharing is refused.

#include <string>

#include <gtest/gtest.h>

#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/hops.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::Hops;

using Bugs = points::testing::Swarm<double, 2>;
using BugProblem = ProblemOf<PointsModel<Bugs>, PointsStore<Bugs>, PointsCosts>;

TEST(Sharing, the_systems_have_the_same_pieces_and_differ_in_policy_balance_and_lending) {
  for (const char* name : {"oritick", "comtick", "asytick", "asytick-plb", "asytick-lend"}) {
    const System system = System::parse(name);
    EXPECT_EQ(system.sharing.n_pieces, kGoodPieces) << name;
    EXPECT_EQ(system.policy.pieces, std::string(name).starts_with("asytick")) << name;
    EXPECT_EQ(system.policy.barrier, !system.policy.pieces) << name;
    EXPECT_EQ(system.sharing.moves(),
              std::string(name) == "comtick" || std::string(name).starts_with("asytick-"))
        << name;
    EXPECT_EQ(system.sharing.lending.on, std::string(name) == "asytick-lend") << name;
    EXPECT_FALSE(system.sharing.sizes_pieces) << name;
  }
  EXPECT_EQ(System::parse("k2m3d4").policy, Policy::parse("k2m3d4"));
  EXPECT_EQ(System::parse("k2m3d4").sharing.n_pieces, 0U);
  EXPECT_TRUE(System::parse("pieces(8)").sharing.sizes_pieces);
  EXPECT_TRUE(System::parse("auto").sharing.sizes_pieces);
}

std::string usage_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(Sharing, an_unknown_balance_is_refused_with_the_nearest_one) {
  EXPECT_EQ(parse_balance("repartition"), Balance::repartition);
  EXPECT_STREQ(name_of(Balance::persistence), "persistence");
  const std::string what = usage_error_of([] { (void)parse_balance("persistance"); });
  EXPECT_NE(what.find("found 'persistance'; did you mean persistence?"), std::string::npos) << what;
}

TEST(Sharing, lending_is_refused_where_steps_cannot_be_run_elsewhere) {
  const auto graph = std::make_shared<const Digraph>(
      2, std::vector<VertexId>{0}, std::vector<VertexId>{1}, std::vector<double>{1.0});
  const ProblemOf<GraphModel<Hops>, GraphStore<Hops>, GraphStoreOptions> hops{
      GraphModel<Hops>(graph, Hops{})};
  const std::string what = usage_error_of(
      [&] { (void)chosen_sharing(hops, System::parse("asytick-lend").sharing, 2, 1); });
  EXPECT_NE(what.find("policy asytick-lend: the steps of this model cannot be run by other nodes"),
            std::string::npos)
      << what;
  EXPECT_NE(what.find("expected asytick-plb"), std::string::npos) << what;
}

SimulationOptions of(const SharingOptions& sharing) {
  SimulationOptions options;
  options.n_nodes = 4;
  options.profile = net::parse_profile("none");
  options.sharing = sharing;
  return options;
}

TEST(Sharing, pieces_of_a_model_that_has_none_are_refused) {
  using testing::SwarmModel;
  const ProblemOf<SwarmModel, FragmentStore<SwarmModel>> problem{SwarmModel({})};
  const std::string what = usage_error_of([&] {
    (void)simulate(problem, Policy::parse("bulk"), 9, of(System::parse("oritick").sharing));
  });
  EXPECT_NE(what.find("cannot be cut into pieces"), std::string::npos) << what;
}

TEST(Sharing, what_nobody_has_counted_suits_the_model_and_its_workers) {
  points::testing::SwarmOptions world;
  world.high = {400, 400, 0};
  world.n_bugs = 20'000;
  const BugProblem large{PointsModel(Bugs(world))};
  const SharingOptions asked = System::parse("asytick").sharing;
  const auto chosen = [&](const Problem& problem, std::uint32_t n_nodes, std::uint32_t n_cores) {
    return chosen_sharing(problem, asked, n_nodes, n_cores).n_pieces;
  };
  EXPECT_EQ(chosen(large, 2, 4), chosen(large, 8, 1));
  EXPECT_EQ(chosen(large, 4, 1), 4 * n_pieces_of_core());
  const SharingOptions once = chosen_sharing(large, asked, 4, 1);
  EXPECT_EQ(chosen_sharing(large, once, 4, 1).n_pieces, once.n_pieces);
  SharingOptions said = asked;
  said.n_pieces = 1024;
  EXPECT_EQ(chosen_sharing(large, said, 4, 1).n_pieces, 1024U);

  // 16 would be 5 wide, where a bug sees 1 and moves.
  world.high = {80, 10, 0};
  world.n_bugs = 500;
  const BugProblem small{PointsModel(Bugs(world))};
  EXPECT_EQ(chosen(small, 4, 1), 8U);
  const RunResult run = simulate(small, Policy::parse("pieces"), 9, of(asked));
  EXPECT_EQ(run.n_pieces, chosen(small, 4, 1));
  EXPECT_EQ(run.checksum, simulate(small, Policy::parse("local"), 9, of({})).checksum);
}

TEST(Sharing, fewer_pieces_than_nodes_and_persistence_without_pieces_are_refused) {
  const BugProblem problem{PointsModel(Bugs(points::testing::SwarmOptions{}))};
  SharingOptions sharing;
  sharing.n_pieces = 2;
  std::string what =
      usage_error_of([&] { (void)simulate(problem, Policy::parse("local"), 9, of(sharing)); });
  EXPECT_NE(what.find("at least one a node, found 2 in all"), std::string::npos) << what;
  sharing = {};
  sharing.epoch = 3;
  sharing.balance = Balance::persistence;
  what = usage_error_of([&] { (void)simulate(problem, Policy::parse("local"), 9, of(sharing)); });
  EXPECT_NE(what.find("a number of pieces to move, found 0"), std::string::npos) << what;
}

TEST(Sharing, what_cannot_be_cut_again_has_its_pieces_moved_unless_people_asked_for_the_cut) {
  constexpr VertexId kVertices = 400;
  std::vector<VertexId> from(kVertices);
  std::vector<VertexId> to(kVertices);
  for (VertexId v = 0; v < kVertices; ++v) {
    from[v] = v;
    to[v] = (v + 1) % kVertices;
  }
  const auto graph =
      std::make_shared<const Digraph>(kVertices, from, to, std::vector<double>(kVertices, 1.0));
  GraphStoreOptions cost;
  cost.ns_per_vertex = 10'000;
  const ProblemOf<GraphModel<Hops>, GraphStore<Hops>, GraphStoreOptions> problem{
      GraphModel<Hops>(graph, Hops{}), cost};
  SharingOptions sharing;
  sharing.epoch = 5;
  SimulationOptions options = of(sharing);
  EXPECT_EQ(simulate(problem, Policy::parse("local"), 30, options).pieces_moved(), 0);
  options.sharing.n_pieces = 64;
  options.slowdowns = {1, 3, 1, 1};
  EXPECT_GT(simulate(problem, Policy::parse("pieces(4)"), 30, options).pieces_moved(), 0);
  options.sharing.balance_is_default = false;
  const std::string what =
      usage_error_of([&] { (void)simulate(problem, Policy::parse("pieces(4)"), 30, options); });
  EXPECT_NE(what.find("balance repartition: this model cannot be cut again"), std::string::npos)
      << what;
}

// 16 pieces go on 5 nodes, 5 boxes do not go into 3 x 4 cells: told before the run, not at its epoch.
TEST(Sharing, a_model_that_epochs_could_not_cut_again_is_refused_at_the_start) {
  using Cells = testing::MixingGrid<2, 1, 1, true>;
  Cells user;
  user.grid.extent = {3, 4};
  const ProblemOf<GridModel<Cells>, GridStore<Cells>, GridStoreOptions> problem{
      GridModel<Cells>(user)};
  SharingOptions sharing;
  sharing.epoch = 3;
  sharing.n_pieces = 16;
  sharing.balance = Balance::repartition;
  sharing.balance_is_default = false;
  SimulationOptions options = of(sharing);
  options.n_nodes = 5;
  Tick first = -1;
  options.at_start = [&](NodeId, NodeRun& run) { first = run.engine().end(); };
  const std::string what =
      usage_error_of([&] { (void)simulate(problem, Policy::parse("local"), 9, options); });
  EXPECT_NE(
      what.find("balance repartition: an epoch cuts the model into one part a node, and a grid "
                "of 3 x 4 cells cannot be cut into 5 boxes"),
      std::string::npos)
      << what;
  EXPECT_EQ(first, -1);
  // Nobody has asked for the cut: pieces move.
  options.sharing.balance_is_default = true;
  EXPECT_EQ(simulate(problem, Policy::parse("local"), 9, options).ticks, 9);
  // Or nothing is cut before the run ends.
  options.sharing.balance_is_default = false;
  options.sharing.epoch = 9;
  EXPECT_EQ(simulate(problem, Policy::parse("local"), 9, options).ticks, 9);
}

// Nodes of one process that find the same owners have one cut of them, as long as any of them has it.
TEST(Sharing, the_same_owners_are_one_partition_while_somebody_has_it) {
  using Cells = testing::MixingGrid<2, 1, 1, true>;
  Cells user;
  user.grid.extent = {16, 16};
  const ProblemOf<GridModel<Cells>, GridStore<Cells>, GridStoreOptions> problem{
      GridModel<Cells>(user)};
  const auto first = problem.partition(2, 4);
  ASSERT_EQ(first->owners().size(), 4U);
  const std::vector<NodeId> moved{0, 1, 1, 1};
  const std::vector<NodeId> back{0, 0, 0, 1};
  std::shared_ptr<const Partition> one = first->with_owners(moved, 1);
  EXPECT_EQ(one->owners(), moved);
  EXPECT_EQ(first->with_owners(moved, 1), one);
  const std::shared_ptr<const Partition> other = first->with_owners(back, 1);
  EXPECT_NE(other, one);
  EXPECT_EQ(other->owners(), back);
  EXPECT_EQ(one->owners(), moved);
  // Those that are gone are cut again.
  const std::weak_ptr<const Partition> seen = one;
  one = nullptr;
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(first->with_owners(moved, 1)->owners(), moved);
}

// Three of four bugs start in a corner; pieces of it go to other nodes, and the slowest node has less
// to do than where they stay.
TEST(Sharing, persistence_makes_a_crowded_run_faster_with_the_same_bits) {
  points::testing::SwarmOptions world;
  world.high = {40, 40, 0};
  world.n_bugs = 500;
  world.death_in = world.birth_in = 0;
  world.crowd = true;
  PointsCosts costs;
  costs.tuple = 10'000;
  const BugProblem problem{PointsModel(Bugs(world)), costs};
  const RunResult whole = simulate(problem, Policy::parse("local"), 30, of({}));
  for (const auto& [still, moving] :
       {std::pair{"oritick", "comtick"}, {"asytick", "asytick-plb"}}) {
    System system = System::parse(still);
    system.sharing.n_pieces = 64;
    const RunResult before = simulate(problem, system.policy, 30, of(system.sharing));
    system = System::parse(moving);
    system.sharing.n_pieces = 64;
    system.sharing.epoch = 6;
    const RunResult after = simulate(problem, system.policy, 30, of(system.sharing));
    EXPECT_EQ(before.checksum, whole.checksum) << still;
    EXPECT_EQ(after.checksum, whole.checksum) << moving;
    EXPECT_GT(after.pieces_moved(), 0) << moving;
    EXPECT_LT(static_cast<double>(after.wall), 0.8 * static_cast<double>(before.wall)) << moving;
  }
}

}  // namespace
}  // namespace rubato::tick

// The rules of pieces: kept by each kind of model, and broken by models that cut or join wrongly.

#include "rubato/tick/check/piece_rules.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "rubato/tick/check/checker.hpp"
#include "rubato/tick/check/runs.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/hops.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/points/testing/swarm.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/piece_swarm.hpp"

namespace rubato::tick {
namespace {

using testing::Hops;

using testing::Agent;
using testing::AgentBox;
using testing::SwarmModel;

constexpr const char* kRules[] = {
    "pieces-cover",  "pieces-disjoint",   "pieces-again", "join",       "join-init",
    "join-disjoint", "join-dependencies", "join-held",    "pieces-step"};

// What a Flock does wrong.
enum class Wrong {
  nothing,
  leaves_out,
  leaves_out_of_one,
  leaves_out_of_many,
  none_at_all,
  twice,
  other_cut_when_called_again,
  other_number_when_called_again,
  throws_for_one,
  join_loses_one,
  join_takes_what_lies_between,
  join_of_one_is_all,
  select_by_boxes,
  disjoint_by_first_box,
  init_of_first_box,
  reads_of_first_box,
  reads_lose_boxes,
  writes_of_first_box,
  read_exclusive_of_first_box,
  write_exclusive_of_first_box,
  two_boxes_read_more,
  pieces_read_too_little,
};

// What people write who let a swarm be cut into pieces: a list of boxes is what any of them selects.
struct Boxes {
  std::vector<AgentBox> list;
  bool is_piece = false;

  [[nodiscard]] bool contains(const Agent& agent) const {
    return std::ranges::any_of(list, [&](const AgentBox& box) { return box.contains(agent); });
  }
};

// A swarm in pieces, with one mistake.
class Flock : public SwarmModel {
 public:
  using Query = Boxes;

  Flock(const Options& options, Wrong wrong) : SwarmModel(options), o_(options), wrong_(wrong) {}

  [[nodiscard]] std::vector<Boxes> part(std::uint32_t n) const {
    return boxes_of(SwarmModel::part(n));
  }
  [[nodiscard]] std::vector<Boxes> pieces(std::uint32_t n) const {
    ++n_calls_;
    if (n == 1 && wrong_ == Wrong::throws_for_one) throw Error("one is too few");
    if (n > 3 && wrong_ == Wrong::none_at_all) return {};
    if (wrong_ == Wrong::other_number_when_called_again) n += n_calls_ % 2;
    const bool other_cut = wrong_ == Wrong::other_cut_when_called_again;
    auto boxes = SwarmModel::part(n, Samples{n, other_cut ? n_calls_ : 5});
    if (n > 1 && wrong_ == Wrong::twice) boxes.back() = boxes.back().grown(1);
    if (n > 1 && wrong_ == Wrong::leaves_out) boxes[n / 2].x0 += 1;
    if (n == 1 && wrong_ == Wrong::leaves_out_of_one) boxes.front().x1 /= 2;
    if (n > 100 && wrong_ == Wrong::leaves_out_of_many) boxes.resize(100);
    auto list = boxes_of(boxes);
    for (Boxes& piece : list)
      piece.is_piece = true;
    return list;
  }
  [[nodiscard]] Query join(std::span<const Query> queries) const {
    Query all;
    if (queries.size() == 1 && wrong_ == Wrong::join_of_one_is_all) return {{everything()}};
    for (const Query& query : queries)
      all.list.insert(all.list.end(), query.list.begin(), query.list.end());
    if (all.list.size() > 2 && wrong_ == Wrong::join_loses_one)
      all.list.erase(all.list.begin() + 1);
    if (wrong_ == Wrong::join_takes_what_lies_between) {
      AgentBox bounds = all.list.front();
      for (const AgentBox& box : all.list) {
        bounds = {std::min(bounds.x0, box.x0), std::max(bounds.x1, box.x1),
                  std::min(bounds.y0, box.y0), std::max(bounds.y1, box.y1)};
      }
      all.list = {bounds};
    }
    return all;
  }

  [[nodiscard]] State init(const Query& q) const {
    if (wrong_ == Wrong::init_of_first_box) return SwarmModel::init(q.list.front());
    return select(SwarmModel::init(everything()), q);
  }
  [[nodiscard]] Query read_dependencies(const Query& q) const {
    if (wrong_ == Wrong::pieces_read_too_little && q.is_piece) return q;
    Query read = grown(q, o_.visibility, wrong_ == Wrong::reads_of_first_box);
    if (wrong_ == Wrong::two_boxes_read_more && q.list.size() == 2)
      return grown(q, 2 * o_.visibility, false);
    if (wrong_ == Wrong::reads_lose_boxes && read.list.size() > 2) read.list.resize(2);
    return read;
  }
  [[nodiscard]] Query read_exclusive(const Query& q) const {
    return grown(q, -o_.visibility, wrong_ == Wrong::read_exclusive_of_first_box);
  }
  [[nodiscard]] Query write_dependencies(const Query& q) const {
    return grown(q, o_.reachability, wrong_ == Wrong::writes_of_first_box);
  }
  [[nodiscard]] Query write_exclusive(const Query& q) const {
    return grown(q, -o_.reachability, wrong_ == Wrong::write_exclusive_of_first_box);
  }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const {
    if (wrong_ == Wrong::disjoint_by_first_box)
      return SwarmModel::disjoint(a.list.front(), b.list.front());
    return std::ranges::all_of(a.list, [&](const AgentBox& box) {
      return std::ranges::all_of(
          b.list, [&](const AgentBox& other) { return SwarmModel::disjoint(box, other); });
    });
  }
  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result;
    if (wrong_ == Wrong::select_by_boxes) {
      for (const AgentBox& box : q.list)
        std::ranges::copy(SwarmModel::select(state, box), std::back_inserter(result));
    } else {
      std::ranges::copy_if(state, std::back_inserter(result),
                           [&](const Agent& agent) { return q.contains(agent); });
    }
    return result;
  }

 private:
  [[nodiscard]] static std::vector<Boxes> boxes_of(const std::vector<AgentBox>& boxes) {
    std::vector<Boxes> list;
    for (const AgentBox& box : boxes)
      list.push_back({{box}});
    return list;
  }
  [[nodiscard]] static Query grown(Query q, std::int32_t by, bool first_alone) {
    for (AgentBox& box : q.list) {
      box = box.grown(by);
      if (first_alone) break;
    }
    q.is_piece = false;
    return q;
  }

  Options o_;
  Wrong wrong_;
  mutable std::uint32_t n_calls_ = 0;
};

SwarmModel::Options swarm_options() {
  SwarmModel::Options options;
  options.n_agents = 300;
  options.width = 60;
  options.height = 50;
  return options;
}

CheckOptions check_options() {
  CheckOptions options;
  options.ticks = 6;
  options.n_states = 3;
  return options;
}

void expect_kept(const CheckReport& report) {
  EXPECT_TRUE(report.ok()) << describe(report);
  for (const char* name : kRules) {
    const RuleResult* rule = report.find(name);
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_GT(rule->n_cases, 0U) << name;
  }
}

TEST(PieceRules, are_kept_by_general_models) {
  expect_kept(check_model(Flock(swarm_options(), Wrong::nothing), check_options()));
  expect_kept(check_model(testing::PieceSwarm(swarm_options()), check_options()));
}

TEST(PieceRules, are_kept_by_a_step_in_two_parts) {
  expect_kept(check_model(testing::PieceSwarmInParts(swarm_options()), check_options()));
}

TEST(PieceRules, are_not_asked_of_models_without_pieces) {
  const CheckReport report = check_model(SwarmModel(swarm_options()), check_options());
  EXPECT_TRUE(report.ok()) << describe(report);
  for (const char* name : kRules)
    EXPECT_EQ(report.find(name), nullptr) << name;
}

template <int D>
GridModel<testing::MixingGrid<D, 1, 1>> grid(Index<D> extent, std::array<bool, D> periodic) {
  testing::MixingGrid<D, 1, 1> user;
  user.grid.extent = extent;
  user.grid.periodic = periodic;
  return GridModel(user, 40);
}

TEST(PieceRules, are_kept_by_grids) {
  expect_kept(check_model(grid<1>({50}, {true}), check_options()));
  expect_kept(check_model(grid<2>({17, 13}, {false, true}), check_options()));
  expect_kept(check_model(grid<3>({5, 6, 7}, {false, true, false}), check_options()));
  testing::MixingGrid<2, 1, 1, true> star;
  star.grid.extent = {23, 19};
  star.grid.periodic = {true, false};
  expect_kept(check_model(GridModel(star, 40), check_options()));
  // So small that each cell is a piece of its own when it is stepped.
  expect_kept(check_model(grid<2>({5, 4}, {false, true}), check_options()));
}

TEST(PieceRules, are_kept_by_points) {
  using Bugs = points::testing::Swarm<double, 2>;
  points::testing::SwarmOptions world;
  world.high = {40, 40, 0};
  world.n_bugs = 200;
  expect_kept(check_model(PointsModel(Bugs(world)), check_options()));
}

TEST(PieceRules, are_kept_by_graphs) {
  const auto graph = testing::ring(150, {1, 7});
  expect_kept(check_model(GraphModel<Hops>(graph, Hops{}), check_options()));
}

// A model that loses what is in the last part of each piece that it splits.
struct LossySplit : GraphModel<Hops> {
  using GraphModel<Hops>::GraphModel;
  [[nodiscard]] std::vector<std::vector<VertexQuery>> split(std::span<const VertexQuery> pieces,
                                                            std::uint32_t n) const {
    std::vector<std::vector<VertexQuery>> all = GraphModel<Hops>::split(pieces, n);
    for (std::vector<VertexQuery>& parts : all)
      parts.pop_back();
    return all;
  }
};

TEST(PieceRules, tell_what_a_piece_loses_when_it_is_split) {
  const auto graph = testing::ring(150, {1, 7});
  const CheckReport report = check_model(LossySplit(graph, Hops{}), check_options());
  const RuleResult* broken = report.first_failure();
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->name, "pieces-cover") << describe(report);
  EXPECT_NE(broken->failure->find("is in none of split(each of pieces("), std::string::npos)
      << *broken->failure;
}

struct WrongCase {
  Wrong wrong;
  const char* rule;                   // the first that must break
  std::vector<std::string> contains;  // in its message
};

class WrongPieces : public ::testing::TestWithParam<WrongCase> {};

TEST_P(WrongPieces, are_caught_and_named) {
  const CheckReport report = check_model(Flock(swarm_options(), GetParam().wrong), check_options());
  const RuleResult* broken = report.first_failure();
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->name, GetParam().rule) << describe(report);
  for (const std::string& text : GetParam().contains)
    EXPECT_NE(broken->failure->find(text), std::string::npos) << *broken->failure;
  EXPECT_EQ(broken->source.front(), '[');
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongPieces,
    ::testing::Values(
        WrongCase{Wrong::leaves_out, "pieces-cover", {" at tick 0 is in none of pieces("}},
        WrongCase{
            Wrong::leaves_out_of_one, "pieces-cover", {"is in none of pieces(1), which are 1"}},
        WrongCase{Wrong::leaves_out_of_many, "pieces-cover", {"is in none of pieces(601)"}},
        WrongCase{Wrong::none_at_all, "pieces-cover", {"pieces(7) is empty, expected about 7"}},
        WrongCase{Wrong::throws_for_one, "pieces-cover", {"threw: one is too few"}},
        WrongCase{
            Wrong::twice, "pieces-disjoint", {" at tick ", " is in pieces(", " and in pieces("}},
        WrongCase{
            Wrong::other_cut_when_called_again, "pieces-again", {" of another call at tick 0"}},
        WrongCase{Wrong::other_number_when_called_again,
                  "pieces-again",
                  {" queries, and in another call "}},
        WrongCase{Wrong::join_loses_one,
                  "join",
                  {"join(pieces(3)[0..2]) at tick 0", "is missing, pieces(3)[1] selects it"}},
        WrongCase{Wrong::join_takes_what_lies_between,
                  "join",
                  {"should not be there, none of these pieces selects it"}},
        WrongCase{Wrong::join_of_one_is_all, "join", {"should not be there"}},
        WrongCase{Wrong::select_by_boxes,
                  "join",
                  {" stands before tuple ", "expected the order of the whole state"}},
        WrongCase{Wrong::init_of_first_box,
                  "join-init",
                  {"init(read_dependencies(join(pieces(", "is missing"}},
        WrongCase{
            Wrong::disjoint_by_first_box, "join-disjoint", {"disjoint(", "is true, but tuple "}},
        WrongCase{
            Wrong::reads_of_first_box,
            "join-dependencies",
            {"join(pieces(", "stepped with what read_dependencies selects", "it reads tuple"}},
        WrongCase{Wrong::reads_lose_boxes,
                  "join-dependencies",
                  {"read_dependencies(join(pieces(", "leaves out its own"}},
        WrongCase{Wrong::writes_of_first_box,
                  "join-dependencies",
                  {"write_dependencies(join(pieces(", "is missing"}},
        WrongCase{Wrong::read_exclusive_of_first_box,
                  "join-dependencies",
                  {"read_exclusive(join(pieces(", "it reads tuple"}},
        WrongCase{Wrong::write_exclusive_of_first_box,
                  "join-dependencies",
                  {"write_exclusive(join(pieces(", "is missing"}},
        WrongCase{Wrong::two_boxes_read_more,
                  "join-held",
                  {" is among what join(pieces(", " needs, and not among what a node needs that "}},
        WrongCase{Wrong::pieces_read_too_little,
                  "pieces-step",
                  {"pieces(2)[0] of what read_dependencies(join(pieces(2)[0", "it reads tuple"}}));

// A star of a single box has no corners, one of several boxes has: what is joined may be no piece then.
struct AnyPieceGrid : GridModel<testing::MixingGrid<2, 1, 1, true>> {
  using GridModel::GridModel;
  [[nodiscard]] static bool is_piece(const Query& /*q*/) { return true; }
};

TEST(PieceRules, tell_of_joined_pieces_of_a_grid_that_need_what_their_node_does_not_hold) {
  testing::MixingGrid<2, 1, 1, true> user;
  user.grid.extent = {40, 30};
  const CheckReport report = check_model(AnyPieceGrid(user, 40), check_options());
  const RuleResult* broken = report.first_failure();
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->name, "join-held") << describe(report);
  EXPECT_EQ(broken->failure->find("cell ("), 0U) << *broken->failure;
  EXPECT_NE(broken->failure->find(" needs, and not among what a node needs that has it and "),
            std::string::npos)
      << *broken->failure;
}

// A grid whose seventh piece lost a cell where the world is cut into many.
struct GapGrid : GridModel<testing::MixingGrid<2, 1, 1>> {
  using GridModel::GridModel;
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    auto pieces = GridModel::pieces(n);
    if (pieces.size() > 7) {
      auto box = pieces[6].boxes().front();
      box.low[1] += 1;
      pieces[6] = Query(box);
    }
    return pieces;
  }
};

TEST(PieceRules, name_the_cell_that_pieces_of_a_grid_leave_out) {
  testing::MixingGrid<2, 1, 1> user;
  user.grid.extent = {20, 15};
  const CheckReport report = check_model(GapGrid(user, 40), check_options());
  const RuleResult* broken = report.first_failure();
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->name, "pieces-cover");
  EXPECT_EQ(broken->failure->find("cell ("), 0U) << *broken->failure;
  EXPECT_NE(broken->failure->find(" at tick 0 is in none of pieces(7), which are 9"),
            std::string::npos)
      << *broken->failure;
}

// As part() may: a world too small for so many.
struct FewPieces : testing::PieceSwarm {
  using PieceSwarm::PieceSwarm;
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    if (n > 10) throw Error("expected at most 10 pieces");
    return PieceSwarm::pieces(n);
  }
};

TEST(PieceRules, do_not_ask_for_more_pieces_than_a_model_can_have) {
  expect_kept(check_model(FewPieces(swarm_options()), check_options()));
}

TEST(PieceRules, are_followed_by_whole_runs_in_pieces) {
  using Swarm = testing::PieceSwarm;
  const ProblemOf<Swarm, FragmentStore<Swarm>> problem{Swarm(swarm_options())};
  const CheckReport report = check_problem(problem, check_options());
  EXPECT_TRUE(report.ok()) << describe(report);
  EXPECT_EQ(report.find("same-bits")->n_cases, 8U);
}

// With pieces that no place is in.
struct EmptyPieces : testing::PieceSwarm {
  using PieceSwarm::PieceSwarm;
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    auto pieces = PieceSwarm::pieces(n);
    if (n > 2) pieces.insert(pieces.begin() + 2, Query());
    return pieces;
  }
};

TEST(PieceRules, note_a_piece_that_no_tuple_can_be_in) {
  const CheckReport report = check_model(EmptyPieces(swarm_options()), check_options());
  expect_kept(report);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes.front().find("pieces(3)[2] is disjoint from itself"), 0U)
      << report.notes.front();
}

TEST(PieceRules, are_the_only_ones_to_tell_of_wrong_pieces) {
  const ProblemOf<Flock, FragmentStore<Flock>> problem{Flock(swarm_options(), Wrong::leaves_out)};
  const CheckReport report = check_problem(problem, check_options());
  std::size_t n_broken = 0;
  for (const RuleResult& rule : report.rules)
    n_broken += rule.failure.has_value();
  EXPECT_EQ(n_broken, 1U) << describe(report);
}

TEST(PieceCuts, name_stretches_of_pieces_and_the_first_of_many) {
  using detail::join_name;
  EXPECT_EQ(join_name("pieces(9)", detail::PieceList{4}), "join(pieces(9)[4])");
  EXPECT_EQ(join_name("pieces(9)", detail::PieceList{0, 1, 2, 5, 7, 8}),
            "join(pieces(9)[0..2, 5, 7, 8])");
  EXPECT_EQ(join_name("pieces(9)", detail::PieceList{3, 1, 0}), "join(pieces(9)[3, 1, 0])");
  EXPECT_EQ(join_name("pieces(40)", detail::PieceList{0, 2, 4, 6, 8, 10, 12, 14}),
            "join(pieces(40)[0, 2, 4, 6, 8, 10, and 2 more])");
}

}  // namespace
}  // namespace rubato::tick

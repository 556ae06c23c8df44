// Grids cut into pieces: whoever owns them, wherever they go at epochs, under any policy, each run
// equal to the serial reference bit for bit.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/testing/epoch_run.hpp"
#include "rubato/tick/testing/grid_cases.hpp"
#include "rubato/tick/testing/resumed_run.hpp"
#include "rubato/tick/testing/switching_problem.hpp"

namespace rubato::tick {
namespace {

using testing::MixingGrid;
using testing::MixingGridInParts;
using testing::Stencil;

// Any policy, each third time that of pieces, each sixth one whose rounds are rare.
testing::RunCase random_case(RandomStream& random) {
  const auto kind = random.between(0, 5);
  testing::RunCase c = kind == 0 ? testing::with_rare_rounds(random) : testing::random_run(random);
  if (kind == 1 || kind == 2) c.policy = testing::random_pieces(random);
  return c;
}

template <GridUser U>
std::string describe(const GridModel<U>& model, const testing::RunCase& c, std::size_t n_pieces) {
  std::string text = testing::describe(c) + ", " + std::to_string(n_pieces) + " pieces, extent";
  for (std::size_t d = 0; d < U::kDimensions; ++d) {
    text +=
        " " + std::to_string(model.space().world.high[d]) + (model.space().periodic[d] ? "p" : "");
  }
  return text;
}

// Pieces in a stretch for each node, as a run begins, or thrown to the nodes, as no balancer would.
template <GridUser U>
Cut<typename GridModel<U>::Query> random_cut(const GridModel<U>& model, std::uint32_t n_nodes,
                                             RandomStream& random) {
  auto pieces = model.pieces(n_nodes + static_cast<std::uint32_t>(random.between(0, 40)));
  if (random.between(0, 3) == 0)
    return cut_into_pieces(model, static_cast<std::uint32_t>(pieces.size()), n_nodes);
  std::vector<NodeId> owners;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    owners.push_back(static_cast<NodeId>(
        i < n_nodes ? i : static_cast<std::size_t>(random.between(0, n_nodes - 1))));
  }
  return cut_of_pieces(model, std::move(pieces), std::move(owners), n_nodes);
}

// Returns how many steps were begun before all that they need was there.
template <class User>
std::int64_t check(std::uint64_t seed) {
  RandomStream random(seed, 17);
  const GridModel<User> model(testing::random_grid<User>(random), random.between(1, 60),
                              random.between(1, 5));
  testing::RunCase c = random_case(random);
  c.n_nodes = std::min(c.n_nodes, static_cast<std::uint32_t>(model.pieces(c.n_nodes).size()));
  const auto cut = random_cut(model, c.n_nodes, random);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(User::kDimensions) +
               "D, radius " + std::to_string(User::kRadius) + ", " +
               describe(model, c, cut.pieces.size()));
  const auto reference = run_reference(model, model.everything(), c.ticks);
  const auto run = testing::expect_equal_run<GridStore<User>>(model, cut, c, seed, reference);
  if (seed % 8 == 0)
    testing::expect_equal_run<FragmentStore<GridModel<User>>>(model, cut, c, seed, reference);
  return run.interactions;
}

TEST(GridProperty, pieces_of_any_owner_equal_the_reference_in_one_dimension) {
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed)
    n_interactions +=
        seed % 2 == 0 ? check<MixingGrid<1, 1, 2>>(seed) : check<MixingGrid<1, 2, 1>>(seed);
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds()));
}
TEST(GridProperty, pieces_of_any_owner_equal_the_reference_in_two) {
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed)
    n_interactions +=
        seed % 3 == 0 ? check<MixingGrid<2, 2, 2>>(seed) : check<MixingGrid<2, 1, 1>>(seed);
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds()));
}
// Whose pieces wait for those along the axes alone, while nodes whose pieces are no box together wait
// for those across corners, too.
TEST(GridProperty, pieces_of_a_star_of_any_owner_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    if (seed % 3 == 0) {
      check<MixingGrid<2, 2, 1, true>>(seed);
    } else {
      check<MixingGrid<2, 1, 1, true>>(seed);
    }
  }
}
TEST(GridProperty, pieces_of_any_owner_equal_the_reference_in_three) {
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    if (seed % 4 == 0) {
      check<MixingGrid<3, 1, 1, true>>(seed);
    } else {
      check<MixingGrid<3, 1, 1>>(seed);
    }
  }
}

TEST(GridProperty, pieces_of_any_owner_step_by_cells_of_the_stencil_as_the_reference) {
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    n_interactions += check<MixingGridInParts<2, 1, 1, Stencil::star>>(seed);
    if (seed % 2 == 0) n_interactions += check<MixingGridInParts<2, 1, 2, Stencil::cube>>(seed);
    if (seed % 4 == 0) check<MixingGridInParts<2, 2, 1, Stencil::behind>>(seed);
  }
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds() / 2));
}

// Pieces go to nodes that have time, and each segment may have a policy of its own. Returns how many
// have moved.
template <class User>
std::int64_t check_moves(std::uint64_t seed) {
  using P = ProblemOf<GridModel<User>, GridStore<User>, GridStoreOptions>;
  RandomStream random(seed, 18);
  const P problem(GridModel<User>(testing::random_grid<User>(random), random.between(1, 60),
                                  random.between(1, 5)));
  const auto& model = problem.model();
  testing::RunCase c = random_case(random);
  SharingOptions sharing;
  sharing.epoch = random.between(1, 7);
  sharing.balance = Balance::persistence;
  sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 40));
  const std::size_t n_pieces = model.pieces(sharing.n_pieces).size();
  c.n_nodes = std::min(c.n_nodes, static_cast<std::uint32_t>(n_pieces));
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(User::kDimensions) +
               "D, radius " + std::to_string(User::kRadius) + ", " + describe(model, c, n_pieces));
  const auto reference = run_reference(model, model.everything(), c.ticks);
  if (seed % 2 == 0)
    return testing::expect_equal_epochs(problem, c, sharing, seed, reference).n_pieces;
  std::vector<Policy> policies;
  for (std::int64_t i = random.between(1, 4); i > 0; --i)
    policies.push_back(random_case(random).policy);
  const testing::SwitchingProblem<P> switching(problem, policies);
  return testing::expect_equal_epochs(switching, c, sharing, seed, reference).n_pieces;
}

TEST(GridProperty, pieces_that_move_equal_the_reference) {
  std::int64_t n_moved = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    n_moved += seed % 2 == 0 ? check_moves<MixingGrid<2, 1, 1>>(seed / 2)
                             : check_moves<MixingGrid<1, 1, 2>>(seed / 2);
    if (seed % 4 == 1) n_moved += check_moves<MixingGrid<2, 1, 1, true>>(seed);
    if (seed % 8 == 3) n_moved += check_moves<MixingGrid<3, 1, 1>>(seed);
    if (seed % 4 == 2) n_moved += check_moves<MixingGridInParts<2, 1, 1, Stencil::star>>(seed);
  }
  EXPECT_GT(n_moved, static_cast<std::int64_t>(n_seeds()));
}

// A cut into pieces that is cut again by the model has none any more.
TEST(GridProperty, pieces_that_are_cut_anew_equal_the_reference) {
  using User = MixingGrid<2, 1, 1>;
  using P = ProblemOf<testing::CutAnew<User>, GridStore<User>, GridStoreOptions>;
  for (std::uint64_t seed = 0; seed < n_seeds() / 4 && !HasFailure(); ++seed) {
    RandomStream random(seed, 19);
    const P problem(testing::CutAnew<User>(testing::random_grid<User>(random)));
    const auto& model = problem.model();
    testing::RunCase c = random_case(random);
    c = testing::that_can_be_cut(problem, c);
    SharingOptions sharing;
    sharing.epoch = random.between(1, 7);
    sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 40));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(model, c, sharing.n_pieces));
    const auto reference = run_reference(model, model.everything(), c.ticks);
    testing::expect_equal_epochs(problem, c, sharing, seed, reference);
  }
}

}  // namespace
}  // namespace rubato::tick

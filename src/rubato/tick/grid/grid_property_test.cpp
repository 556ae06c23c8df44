// The kind `grid`: the dense store and the general one, over random shapes, policies, partitions
// and interleavings, each equal to the serial reference bit for bit.

#include <algorithm>

#include <gtest/gtest.h>

#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/testing/grid_cases.hpp"
#include "rubato/tick/testing/late_run.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/resumed_run.hpp"

namespace rubato::tick {
namespace {

using testing::MixingGrid;
using testing::MixingGridInParts;
using testing::random_grid;
using testing::Stencil;
using testing::with_rare_rounds;

testing::RunCase with_pieces(RandomStream& random) {
  testing::RunCase c = testing::random_run(random);
  c.policy = testing::random_pieces(random);
  c.n_nodes = static_cast<std::uint32_t>(random.between(2, 5));
  return c;
}

// Returns how many steps were begun before all that they need was there.
template <class User>
std::int64_t check(std::uint64_t seed,
                   testing::RunCase (*random_case)(RandomStream&) = testing::random_run) {
  RandomStream random(seed, 11);
  auto user = random_grid<User>(random);
  const std::int64_t tile_cells = random.between(1, 60);
  const Tick skew = random.between(1, 5);
  const GridModel<User> model(std::move(user), tile_cells, skew,
                              testing::random_slices<GridModel<User>>(random));
  testing::RunCase c = random_case(random);
  std::string text = "seed " + std::to_string(seed) + ", " + std::to_string(User::kDimensions) +
                     "D, radius " + std::to_string(User::kRadius) + ", " + testing::describe(c) +
                     ", extent";
  for (std::size_t d = 0; d < User::kDimensions; ++d) {
    text +=
        " " + std::to_string(model.space().world.high[d]) + (model.space().periodic[d] ? "p" : "");
  }
  SCOPED_TRACE(text);
  // A shape may not have that many boxes.
  try {
    (void)model.part(c.n_nodes);
  } catch (const Error&) {
    c.n_nodes = 1;
  }
  const auto reference = run_reference(model, model.everything(), c.ticks);
  using Dense = GridStore<User>;
  const auto run = testing::expect_equal_run<Dense>(model, c, seed, reference);
  if (seed % 4 == 0) {
    testing::expect_equal_run<FragmentStore<GridModel<User>>>(model, c, seed, reference);
  }
  return run.interactions;
}

TEST(GridProperty, two_dimensions_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    check<MixingGrid<2, 1, 1>>(seed);
  }
}
TEST(GridProperty, a_star_that_needs_no_corners_equals_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    check<MixingGrid<2, 1, 1, true>>(seed);
  }
}
TEST(GridProperty, two_fields_and_radius_two_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    check<MixingGrid<2, 2, 2>>(seed);
  }
}
TEST(GridProperty, one_dimension_equals_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    check<MixingGrid<1, 1, 2>>(seed);
  }
}
// Cells are written while regions beside them still read the version that they replace.
TEST(GridProperty, steps_in_part_equal_the_reference) {
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    n_interactions += check<MixingGrid<2, 1, 1>>(seed, with_pieces);
    n_interactions += check<MixingGrid<1, 2, 1>>(seed, with_pieces);
  }
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds()));
}
// Cells take up those of their stencils in order, as far as they have come.
TEST(GridProperty, steps_by_cells_of_the_stencil_equal_the_reference_under_every_policy) {
  std::int64_t n_interactions = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    testing::RunCase (*policy)(RandomStream&) = with_pieces;
    if (seed % 3 == 0) policy = testing::random_run;
    n_interactions += check<MixingGridInParts<2, 1, 1, Stencil::star>>(seed, policy);
    n_interactions += check<MixingGridInParts<1, 2, 2, Stencil::cube>>(seed, policy);
    if (seed % 2 == 0) check<MixingGridInParts<2, 2, 1, Stencil::cube>>(seed, policy);
    if (seed % 4 == 1) check<MixingGridInParts<3, 1, 1, Stencil::star>>(seed, policy);
  }
  EXPECT_GT(n_interactions, static_cast<std::int64_t>(n_seeds()));
}
// Those that see a cell are others than those that it sees: it may have all that it needs while they
// still read what it is to replace.
TEST(GridProperty, steps_by_cells_behind_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    check<MixingGridInParts<2, 1, 1, Stencil::behind>>(seed, with_pieces);
    check<MixingGridInParts<1, 2, 1, Stencil::behind>>(seed, with_pieces);
  }
}
// Three kinds share the seeds.
TEST(GridProperty, rare_rounds_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() / 3 && !HasFailure(); ++seed) {
    check<MixingGrid<1, 1, 1>>(seed, with_rare_rounds);
    check<MixingGrid<2, 1, 1>>(seed, with_rare_rounds);
    check<MixingGrid<2, 2, 1, true>>(seed, with_rare_rounds);
  }
}
TEST(GridProperty, three_dimensions_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    check<MixingGrid<3, 1, 1>>(seed);
  }
}

// Rows that are longer than a strip, in tiles of several rows.
TEST(GridProperty, long_rows_equal_the_reference) {
  using User = MixingGrid<2, 1, 1, false>;
  User user;
  user.grid = {{2100, 16}, {true, false}};
  const GridModel<User> model(user);
  const auto reference = run_reference(model, model.everything(), 9);
  for (const std::uint32_t n_nodes : {1U, 2U}) {
    const testing::RunCase c{Policy::parse("k2m2d1"), n_nodes, 2, 9};
    testing::expect_equal_run<GridStore<User>>(model, c, n_nodes, reference);
  }
}

template <class User>
void check_resumed(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomStream random(seed, 13);
  const User user = random_grid<User>(random);
  const ProblemOf<GridModel<User>, GridStore<User>, GridStoreOptions> problem(
      GridModel<User>(user, random.between(1, 60), random.between(1, 5)));
  const testing::RunCase c = seed % 3 == 0 ? with_rare_rounds(random) : testing::random_run(random);
  const auto& model = problem.model();
  testing::expect_equal_when_resumed(problem, c, user.lag, random,
                                     run_reference(model, model.everything(), c.ticks));
}

TEST(GridProperty, runs_that_begin_with_a_saved_state_equal_the_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    check_resumed<MixingGrid<2, 1, 2>>(seed);
    check_resumed<MixingGrid<2, 2, 1, true>>(seed);
    if (seed % 2 == 0) check_resumed<MixingGrid<1, 1, 1>>(seed);
    if (seed % 4 == 0) check_resumed<MixingGrid<3, 1, 1>>(seed);
  }
}

TEST(GridProperty, late_networks_do_not_show_in_the_state) {
  using User = MixingGrid<2, 1, 2, false>;
  using P = ProblemOf<GridModel<User>, GridStore<User>, GridStoreOptions>;
  testing::LateCounts counts;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 12);
    GridStoreOptions options;
    options.strip_cells = random.between(0, 7);
    const P problem(
        GridModel<User>(random_grid<User>(random), random.between(1, 60), random.between(1, 5)),
        options);
    testing::RunCase c = seed % 2 == 0 ? testing::random_run(random) : with_rare_rounds(random);
    c.n_nodes = std::min(c.n_nodes, 4U);
    const auto& model = problem.model();
    testing::expect_equal_when_late(problem, c, seed,
                                    run_reference(model, model.everything(), c.ticks), counts);
  }
  EXPECT_GT(counts.n_epochs, static_cast<std::int64_t>(n_seeds() / 4));
  EXPECT_GT(counts.epochs_of_auto, static_cast<std::int64_t>(n_seeds() / 8));
}

}  // namespace
}  // namespace rubato::tick

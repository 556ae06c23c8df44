// Grids whose runs go on at epochs as others: cut elsewhere, by another policy, or both, each equal
// to the serial reference bit for bit.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/testing/epoch_run.hpp"
#include "rubato/tick/testing/grid_cases.hpp"
#include "rubato/tick/testing/switching_problem.hpp"

namespace rubato::tick {
namespace {

using testing::CutAnew;
using testing::MixingGrid;

// Without fixed fields, of the smallest values.
struct ByteGrid {
  using Value = std::uint8_t;
  static constexpr int kDimensions = 2, kRadius = 1, kFields = 1, kFixed = 0;

  GridShape<2> grid;
  std::uint64_t seed = 1;

  [[nodiscard]] GridShape<2> shape() const { return grid; }
  void init(Index<2> at, std::int64_t n, Value* const* fields, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i, ++at[0])
      fields[0][i] = static_cast<Value>(hash_words(seed, at[0], at[1]));
  }
  void step(const GridSpan<ByteGrid>& in, Value* const* out, Index<2> /*at*/, std::int64_t n,
            Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t sum = t;
      for (std::int64_t y = -1; y <= 1; ++y) {
        for (std::int64_t x = -1; x <= 1; ++x)
          sum = sum * 7 + in.field[0][i + x + y * in.row];
      }
      out[0][i] = static_cast<Value>(sum ^ (sum >> 8));
    }
  }
};

ByteGrid random_bytes(RandomStream& random) {
  return {testing::random_shape<2, 1>(random), random()};
}

// Policies of all kinds, no two neighbours of which are alike by design.
std::vector<Policy> random_policies(RandomStream& random) {
  std::vector<Policy> policies;
  const std::int64_t n = random.between(1, 4);
  for (std::int64_t i = 0; i < n; ++i)
    policies.push_back(random.between(0, 2) == 0 ? testing::with_rare_rounds(random).policy
                                                 : testing::random_run(random).policy);
  return policies;
}

// Returns how many bytes of cells went from node to node.
template <GridUser U>
std::int64_t check_switches(const U& user, RandomStream& random, std::uint64_t seed) {
  using P = ProblemOf<CutAnew<U>, GridStore<U>, GridStoreOptions>;
  const std::int64_t tile_cells = random.between(1, 60);
  const Tick skew = random.between(1, 5);
  const P problem(CutAnew<U>(user, tile_cells, skew, testing::random_slices<GridModel<U>>(random)));
  const testing::SwitchingProblem<P> switching(problem, random_policies(random));
  const auto& model = problem.model();
  testing::RunCase c = testing::random_run(random);
  try {
    (void)model.part(c.n_nodes);
  } catch (const Error&) {
    c.n_nodes = 1;  // a shape may not have that many boxes
  }
  SharingOptions sharing;
  sharing.epoch = random.between(1, 7);
  std::string text = "seed " + std::to_string(seed) + ": " + testing::describe(c) + ", segments by";
  for (const Policy& policy : switching.policies())
    text += " " + policy.to_string();
  text += ", extent";
  for (std::size_t d = 0; d < U::kDimensions; ++d) {
    text +=
        " " + std::to_string(model.space().world.high[d]) + (model.space().periodic[d] ? "p" : "");
  }
  SCOPED_TRACE(text);
  const auto reference = run_reference(model, model.everything(), c.ticks);
  return testing::expect_equal_epochs(switching, c, sharing, seed, reference).bytes_moved;
}

template <class User>
std::int64_t check_mixing(std::uint64_t seed) {
  RandomStream random(seed, 21);
  const auto user = testing::random_grid<User>(random);
  return check_switches(user, random, seed);
}

// A cell is some bytes: as many cells have moved as there are seeds, many times over.
void expect_moves(std::int64_t n_bytes, std::uint64_t n_seeds) {
  EXPECT_GT(n_bytes, static_cast<std::int64_t>(1000 * n_seeds));
}

TEST(GridProperty, runs_that_are_cut_anew_by_other_policies_equal_the_reference_in_one_dimension) {
  std::int64_t n_bytes = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed)
    n_bytes += check_mixing<MixingGrid<1, 1, 2>>(seed);
  expect_moves(n_bytes, n_seeds());
}

TEST(GridProperty, runs_that_are_cut_anew_by_other_policies_equal_the_reference_in_two) {
  std::int64_t n_bytes = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    n_bytes += check_mixing<MixingGrid<2, 1, 1>>(seed);
    if (seed % 4 == 0) n_bytes += check_mixing<MixingGrid<2, 2, 2, true>>(seed);
  }
  expect_moves(n_bytes, n_seeds() / 2);
}

TEST(GridProperty, runs_that_are_cut_anew_by_other_policies_equal_the_reference_in_three) {
  std::int64_t n_bytes = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 4 && !HasFailure(); ++seed)
    n_bytes += check_mixing<MixingGrid<3, 1, 1>>(seed);
  expect_moves(n_bytes, n_seeds() / 4);
}

// Policy auto, mostly with choices at random.
TEST(GridProperty, runs_of_policy_auto_equal_the_reference) {
  using User = MixingGrid<2, 1, 1, false>;
  using P = ProblemOf<CutAnew<User>, GridStore<User>, GridStoreOptions>;
  std::int64_t n_changes = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() && !HasFailure(); ++seed) {
    RandomStream random(seed, 24);
    const P problem(CutAnew<User>(testing::random_grid<User>(random), random.between(1, 60),
                                  random.between(1, 5)));
    n_changes += testing::expect_equal_auto(problem, random, seed);
  }
  EXPECT_GT(n_changes, static_cast<std::int64_t>(n_seeds()));
}

// Under the model's own repartition: some nodes of the driver are much slower than others.
TEST(GridProperty, runs_that_are_cut_anew_by_the_speed_of_nodes_equal_the_reference) {
  using User = MixingGrid<2, 1, 1, false>;
  using P = ProblemOf<GridModel<User>, GridStore<User>, GridStoreOptions>;
  std::int64_t n_epochs = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    RandomStream random(seed, 23);
    const P problem(GridModel<User>(testing::random_grid<User>(random), random.between(1, 60),
                                    random.between(1, 5)));
    const auto& model = problem.model();
    testing::RunCase c =
        seed % 2 == 0 ? testing::random_run(random) : testing::with_rare_rounds(random);
    try {
      (void)model.part(c.n_nodes);
    } catch (const Error&) {
      c.n_nodes = 1;
    }
    SharingOptions sharing;
    sharing.epoch = random.between(1, 7);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + testing::describe(c));
    const auto reference = run_reference(model, model.everything(), c.ticks);
    n_epochs += testing::expect_equal_epochs(problem, c, sharing, seed, reference).n_epochs;
  }
  EXPECT_GT(n_epochs, static_cast<std::int64_t>(n_seeds() / 2));
}

TEST(GridProperty, bytes_without_fixed_fields_that_are_cut_anew_equal_the_reference) {
  std::int64_t n_bytes = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2 && !HasFailure(); ++seed) {
    RandomStream random(seed, 22);
    const ByteGrid user = random_bytes(random);
    n_bytes += check_switches(user, random, seed);
  }
  EXPECT_GT(n_bytes, static_cast<std::int64_t>(50 * n_seeds()));
}

}  // namespace
}  // namespace rubato::tick

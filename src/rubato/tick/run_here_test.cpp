// Runs in place, as a function calls them.

#include "rubato/tick/run_here.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"

namespace rubato::tick {
namespace {

using Grid = testing::MixingGrid<2, 1, 2, false>;
using Grids = ProblemOf<GridModel<Grid>, GridStore<Grid>, GridStoreOptions>;

GridModel<Grid> model_of(std::uint64_t seed) {
  Grid grid;
  grid.grid = {{30, 20}, {true, false}};
  grid.seed = seed;
  return GridModel<Grid>(grid);
}

constexpr Tick kTicks = 12;

TEST(RunHere, is_equal_to_the_reference_with_any_policy) {
  const GridModel<Grid> model = model_of(3);
  const auto reference = run_reference(model, model.everything(), kTicks);
  const Grids problem(model_of(3));
  for (const char* policy : {"bulk", "local", "schedule(3)"}) {
    for (const std::uint32_t n_cores : {1U, 2U}) {
      SCOPED_TRACE(std::string(policy) + " on " + std::to_string(n_cores));
      const RunHere<Grids> run = run_here(problem, Policy::parse(policy), kTicks, n_cores);
      EXPECT_EQ(run.result.ticks, kTicks);
      EXPECT_TRUE(run.state == reference.state);
    }
  }
}

TEST(RunHere, may_be_many_at_a_time) {
  std::vector<std::thread> callers;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    callers.emplace_back([seed] {
      const GridModel<Grid> model = model_of(seed);
      const auto reference = run_reference(model, model.everything(), kTicks);
      const Grids problem(model_of(seed));
      for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(run_here(problem, Policy::parse("local"), kTicks, 2).state == reference.state);
    });
  }
  for (std::thread& caller : callers)
    caller.join();
}

}  // namespace
}  // namespace rubato::tick

// Cells that are not a number end a run with their place, whether or not anybody writes them.

#include <limits>

#include <gtest/gtest.h>

#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tick {
namespace {

// Copies its cells, but for one that breaks at a tick. A later tick heals it, so that only a look
// at the right time sees it.
struct Fragile {
  using Value = double;
  static constexpr int kDimensions = 2, kRadius = 1, kFields = 2, kFixed = 0;
  static constexpr bool kFinite = true;
  double broken = std::numeric_limits<double>::quiet_NaN();
  Tick breaks = 0;
  Tick heals = 1 << 20;
  Tick interval = 0;

  [[nodiscard]] GridShape<2> shape() const { return {{30, 20}, {}}; }
  void init(Index<2> at, std::int64_t n, double* const* fields, double* const*) const {
    fill(at, n, fields, 0);
  }
  void step(const GridSpan<Fragile>&, double* const* out, Index<2> at, std::int64_t n,
            Tick t) const {
    fill(at, n, out, t + 1);
  }
  void fill(Index<2> at, std::int64_t n, double* const* out, Tick t) const {
    for (std::int64_t i = 0; i < n; ++i) {
      out[0][i] = 1;
      const bool here = at[0] + i == 21 && at[1] == 13 && t >= breaks && t < heals;
      out[1][i] = here ? broken : 2;
    }
  }
  using Measure = double;
  void measure(double&, const GridSpan<Fragile>&, const double* const*, std::int64_t) const {}
  void combine(double&, const double&) const {}
  [[nodiscard]] bool stop(const double&, Tick) const { return false; }
  [[nodiscard]] Tick stop_interval() const { return interval; }
  [[nodiscard]] Tick stop_lag() const { return 1; }
};

std::string error_of(const Fragile& user, Tick ticks) {
  const ProblemOf<GridModel<Fragile>, GridStore<Fragile>> problem{GridModel<Fragile>(user, 50)};
  SimulationOptions options;
  options.n_nodes = 3;
  options.profile = net::parse_profile("none");
  try {
    (void)simulate(problem, Policy::parse("local"), ticks, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    return error.what();
  }
  return "";
}

TEST(GridNumbers, a_broken_cell_is_named_at_the_start) {
  EXPECT_NE(error_of({.breaks = 0}, 5)
                .find("cell (21, 13), field 1, seen at tick 0: not a number, expected a finite"),
            std::string::npos);
}
TEST(GridNumbers, a_broken_cell_is_named_at_a_stop_test) {
  EXPECT_NE(error_of({.breaks = 7, .heals = 8, .interval = 7}, 20)
                .find("cell (21, 13), field 1, seen at tick 7: not a number"),
            std::string::npos);
}
TEST(GridNumbers, a_broken_cell_is_named_now_and_then) {
  EXPECT_NE(error_of({.breaks = 200, .heals = 300}, 400)
                .find("cell (21, 13), field 1, seen at tick 256: not a number"),
            std::string::npos);
}
TEST(GridNumbers, a_broken_cell_is_named_at_the_end) {
  EXPECT_NE(error_of({.breaks = 5}, 5).find("cell (21, 13), field 1, seen at tick 5: not a number"),
            std::string::npos);
}
TEST(GridNumbers, an_infinite_cell_is_named_where_cells_are_finite) {
  for (const double sign : {1.0, -1.0}) {
    const Fragile user{.broken = sign * std::numeric_limits<double>::infinity(), .breaks = 5};
    EXPECT_NE(error_of(user, 5).find(
                  "cell (21, 13), field 1, seen at tick 5: infinite, expected a finite number"),
              std::string::npos);
  }
}
TEST(GridNumbers, a_cell_that_is_whole_whenever_it_counts_ends_nothing) {
  EXPECT_EQ(error_of({.breaks = 3, .heals = 4}, 10), "");
}

}  // namespace
}  // namespace rubato::tick

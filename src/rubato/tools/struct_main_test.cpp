// A struct of either kind is a model with its parameters; the program of examples/02_waves is run
// by tools/check_readme.py.

#include "rubato/tools/struct_main.hpp"

#include <gtest/gtest.h>

#include "rubato/tick/run.hpp"

namespace rubato::tools {
namespace {

// Counts ticks in each cell.
struct Count {
  using Value = std::int64_t;
  static constexpr int kDimensions = 1, kRadius = 1, kFields = 1, kFixed = 0;
  static constexpr const char* kSummary = "counts";
  std::int64_t width = 30;
  std::int64_t first = 0;

  [[nodiscard]] GridShape<1> shape() const { return {{width}, {false}}; }
  void init(Index<1> /*at*/, std::int64_t n, Value* const* out, Value* const* /*fixed*/) const {
    for (std::int64_t i = 0; i < n; ++i)
      out[0][i] = first;
  }
  void step(const GridSpan<Count>& in, Value* const* out, Index<1> /*at*/, std::int64_t n,
            Tick /*t*/) const {
    for (std::int64_t i = 0; i < n; ++i)
      out[0][i] = in.field[0][i] + 1;
  }
  void declare(Parameters& parameters) {
    parameters.add("width", width, "cells");
    parameters.add("first", first, "number to count from");
  }
};

struct Dot {
  std::uint64_t id = 0;
  std::array<double, 2> position{};
};

// Dots that lie still.
struct Dots {
  using Tuple = Dot;
  using Scalar = double;
  static constexpr int kDimensions = 2;
  static constexpr std::size_t kSeen = 0;

  [[nodiscard]] tick::points::World<double, 2> world() const {
    tick::points::World<double, 2> world;
    world.box.high = {10, 10};
    world.visibility = 1;
    return world;
  }
  [[nodiscard]] std::array<double, 0> seen(const Dot& /*dot*/) const { return {}; }
  void start(const tick::points::Wanted<double, 2>& wanted, std::vector<Dot>& out) const {
    for (std::uint64_t id = 0; id < 20; ++id) {
      const Dot dot{id, {0.5 * double(id), 5}};
      if (wanted.contains(dot.position)) out.push_back(dot);
    }
  }
  void step(const Dot& dot, const tick::points::NeighboursOf<Dots>& /*near*/, Tick /*t*/,
            tick::points::Offspring<Dot>& out) const {
    out.survive(dot);
  }
};

std::uint64_t checksum_of(tick::App& app, std::uint32_t n_nodes, Tick ticks) {
  tick::SimulationOptions options;
  options.n_nodes = n_nodes;
  options.profile = net::parse_profile("none");
  return tick::simulate(*app.build(), tick::Policy::parse("k2m1"), ticks, options).checksum;
}

TEST(StructApp, a_grid_has_its_members_as_parameters) {
  StructApp<Count> from_0("count");
  EXPECT_EQ(from_0.name(), "count");
  EXPECT_EQ(from_0.summary(), "counts");
  StructApp<Count> from_3("count");
  tick::Parameters parameters;
  from_3.declare(parameters);
  parameters.set("first", "3");
  EXPECT_EQ(checksum_of(from_0, 2, 7), checksum_of(from_3, 3, 4));
  EXPECT_NE(checksum_of(from_0, 2, 7), checksum_of(from_0, 2, 6));
}

TEST(StructApp, points_need_no_parameters) {
  StructApp<Dots> app("dots");
  tick::Parameters parameters;
  app.declare(parameters);
  EXPECT_TRUE(parameters.list().empty());
  EXPECT_EQ(checksum_of(app, 1, 3), checksum_of(app, 3, 3));
}

}  // namespace
}  // namespace rubato::tools

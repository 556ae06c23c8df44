// A state that is not a number ends a run of points and of graphs with its tuple, whether or not
// anybody writes files.

#include <limits>

#include <gtest/gtest.h>

#include "rubato/models/pagerank.hpp"
#include "rubato/tick/points/points_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::models {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// When and where a value breaks, and heals again.
struct Break {
  Tick from = 0;
  Tick until = 1 << 20;
  std::uint64_t id = 0;

  [[nodiscard]] bool at(std::uint64_t tuple, Tick t) const {
    return tuple == id && t >= from && t < until;
  }
};

struct Stone {
  std::uint64_t id = 0;
  std::array<double, 2> position{};
  double weight = 1;
};

// Stones that lie still.
struct Stones {
  using Tuple = Stone;
  using Scalar = double;
  static constexpr int kDimensions = 2;
  static constexpr std::size_t kSeen = 1;
  Break weight{.from = 1 << 20};
  Break place{.from = 1 << 20};

  [[nodiscard]] tick::points::World<double, 2> world() const {
    tick::points::World<double, 2> world;
    world.box.high = {10, 10};
    world.visibility = 1;
    world.reachability = 1;
    return world;
  }
  [[nodiscard]] std::array<double, 1> seen(const Stone& stone) const { return {stone.weight}; }
  void start(const tick::points::Wanted<double, 2>& wanted, std::vector<Stone>& out) const {
    for (std::uint64_t id = 0; id < 50; ++id) {
      const Stone stone{id, {0.2 * double(id), 5}, weight.at(id, 0) ? kNan : 1};
      if (wanted.contains(stone.position)) out.push_back(stone);
    }
  }
  void step(const Stone& stone, const tick::points::NeighboursOf<Stones>& /*near*/, Tick t,
            tick::points::Offspring<Stone>& out) const {
    Stone next = stone;
    next.weight = weight.at(stone.id, t + 1) ? kNan : 1;
    if (place.at(stone.id, t + 1)) next.position[1] = kNan;
    out.survive(next);
  }
};

// A ring whose values stay.
struct Ring {
  using Value = double;
  Break value;

  [[nodiscard]] double init(VertexId v) const { return value.at(v, 0) ? kNan : 1; }
  [[nodiscard]] double step(VertexId v, const double& /*own*/, const tick::InEdges<double>& /*in*/,
                            Tick t) const {
    return value.at(v, t + 1) ? kNan : 1;
  }
};

std::string error_of(const tick::Problem& problem, Tick ticks) {
  tick::SimulationOptions options;
  options.n_nodes = 3;
  options.profile = net::parse_profile("none");
  try {
    (void)tick::simulate(problem, tick::Policy::parse("k2m1"), ticks, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    return error.what();
  }
  return "";
}

std::string error_of(const Stones& stones, Tick ticks) {
  using Model = tick::PointsModel<Stones>;
  return error_of(tick::ProblemOf<Model, tick::PointsStore<Stones>>(Model(stones)), ticks);
}

std::string error_of(const Ring& ring, Tick ticks) {
  using Model = tick::GraphModel<Ring>;
  std::vector<VertexId> from;
  std::vector<VertexId> to;
  for (VertexId v = 0; v < 30; ++v) {
    from.push_back(v);
    to.push_back((v + 1) % 30);
  }
  const auto graph = std::make_shared<const tick::Digraph>(30, from, to);
  return error_of(tick::ProblemOf<Model, tick::GraphStore<Ring>>(Model(graph, ring)), ticks);
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << '"' << text << '"';
}

TEST(PointsNumbers, a_position_that_is_none_ends_the_run_at_once) {
  const std::string error = error_of({.place = {.from = 4, .id = 7}}, 100);
  expect_in(error, "tuple 7");
  expect_in(error, "tick 4");
}
TEST(PointsNumbers, what_others_see_is_looked_at_at_the_start_now_and_then_and_at_the_end) {
  expect_in(error_of({.weight = {.from = 0, .until = 1, .id = 7}}, 9), "tuple 7, tick 0: number 0");
  expect_in(error_of({.weight = {.from = 200, .until = 300, .id = 7}}, 400), "tuple 7, tick 256");
  expect_in(error_of({.weight = {.from = 5, .id = 49}}, 5), "tuple 49, tick 5: number 0");
  EXPECT_EQ(error_of({.weight = {.from = 3, .until = 4, .id = 7}}, 9), "");
}
TEST(GraphNumbers, a_vertex_is_looked_at_at_the_start_now_and_then_and_at_the_end) {
  expect_in(error_of(Ring{{.from = 0, .until = 1, .id = 11}}, 9), "vertex 11, tick 0: not a");
  expect_in(error_of(Ring{{.from = 200, .until = 300, .id = 11}}, 400), "vertex 11, tick 256");
  expect_in(error_of(Ring{{.from = 5, .id = 29}}, 5), "vertex 29, tick 5: not a number");
  EXPECT_EQ(error_of(Ring{{.from = 3, .until = 4, .id = 11}}, 9), "");
}

}  // namespace
}  // namespace rubato::models

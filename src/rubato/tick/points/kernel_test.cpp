// The parts of the fast step, each against its plain form.

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/points/neighbours.hpp"
#include "rubato/tick/points/points_model.hpp"
#include "rubato/tick/points/random_lanes.hpp"
#include "rubato/tick/points/testing/swarm.hpp"

namespace rubato::tick::points {
namespace {

using testing::Swarm;
using testing::SwarmOptions;

struct Seen {};

#ifdef __AVX512F__
template <int D, std::size_t S>
void expect_same_sight(std::uint64_t seed) {
  RandomStream random(seed);
  const auto n = static_cast<std::size_t>(random.between(0, 90));
  std::vector<std::vector<float>> streams(D + S, std::vector<float>(n + kLanes, 0.0F));
  for (auto& stream : streams) {
    for (std::size_t j = 0; j < n; ++j)
      stream[j] = static_cast<float>(random.unit() * 3);
  }
  if (n > 3) streams[0][3] = std::nanf("");
  std::vector<Seen> tuples(n);
  std::vector<const Seen*> pointers;
  for (const Seen& tuple : tuples)
    pointers.push_back(&tuple);
  Candidates<float, D, S, Seen> candidates;
  for (std::size_t i = 0; i < D + S; ++i)
    candidates.stream[i] = streams[i].data();
  candidates.tuples = pointers.data();
  Viewer<float, D> viewer;
  for (std::size_t d = 0; d < D; ++d)
    viewer.position[d] = static_cast<float>(random.unit() * 3);
  viewer.visibility2 = static_cast<float>(random.unit() * 4);
  viewer.self = static_cast<std::size_t>(random.between(0, 120));
  const auto begin = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(n)));
  Neighbours<float, D, S, Seen> plain;
  Neighbours<float, D, S, Seen> fast;
  plain.reserve(n);
  fast.reserve(n);
  plain.finish(look_one_by_one<true, float, D, S, Seen>(candidates, begin, n, viewer, plain, 0));
  fast.finish(look_by_lanes<true, D, S, Seen>(candidates, begin, n, viewer, fast, 0));
  ASSERT_EQ(plain.size(), fast.size()) << "seed " << seed;
  for (std::size_t j = 0; j < (plain.size() + kLanes - 1) / kLanes * kLanes; ++j) {
    for (std::size_t d = 0; d < D; ++d)
      EXPECT_EQ(plain.offset_at(d, j), fast.offset_at(d, j)) << "seed " << seed;
    for (std::size_t i = 0; i < S; ++i)
      EXPECT_EQ(plain.seen_at(i, j), fast.seen_at(i, j)) << "seed " << seed;
    if (j < plain.size()) {
      EXPECT_EQ(&plain.tuple(j), &fast.tuple(j)) << "seed " << seed;
    }
  }
}

TEST(Look, lanes_see_what_one_by_one_sees) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    expect_same_sight<2, 2>(seed);
    expect_same_sight<3, 0>(seed);
    if (::testing::Test::HasFailure()) return;
  }
}
#endif

TEST(Lanes, a_sum_adds_halves) {
  Lanes<float> lanes;
  Lanes<double> wide;
  float values[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    values[i] = 1.0F / static_cast<float>(3 * i + 1);
    lanes[i] = values[i];
    wide[i] = values[i];
  }
  for (std::size_t width = 8; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i)
      values[i] = values[i] + values[i + width];
  }
  EXPECT_EQ(sum<float>(lanes), values[0]);
  EXPECT_NEAR(sum<double>(wide), static_cast<double>(values[0]), 1e-5);
}

TEST(Lanes, roots_are_rounded_correctly_and_masks_are_found) {
  Lanes<float> squares;
  for (std::size_t i = 0; i < kLanes; ++i)
    squares[i] = static_cast<float>(i) * 0.37F;
  const Lanes<float> roots = sqrt(squares);
  for (std::size_t i = 0; i < kLanes; ++i)
    EXPECT_EQ(roots[i], std::sqrt(static_cast<float>(i) * 0.37F));
  EXPECT_TRUE(any(squares > 5.5F));
  EXPECT_FALSE(any(squares > 5.6F));
}

TEST(RandomLanes, sixteen_at_once_are_the_same_numbers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed);
    std::array<std::uint64_t, kLanes> ids;
    for (auto& id : ids)
      id = random();
    const std::uint64_t key = random();
    const std::uint64_t tick = random();
    const auto lanes = random_words_lanes(key, ids, tick);
    for (std::size_t i = 0; i < kLanes; ++i) {
      const auto words = random_words(key, ids[i], tick);
      for (std::size_t w = 0; w < 4; ++w)
        ASSERT_EQ(lanes[w][i], words[w]) << "seed " << seed << ", lane " << i;
    }
  }
}

using Model = PointsModel<Swarm<float, 2>>;

// Bugs of a swarm whose world is too small for what it sees, and so on.
SwarmOptions narrow(double width, bool periodic) {
  SwarmOptions options;
  options.high = {width, 10, 10};
  options.periodic = {periodic, false, false};
  return options;
}

TEST(Lattice, a_periodic_world_of_less_than_three_cells_is_an_error) {
  EXPECT_NO_THROW(Model(Swarm<float, 2>(narrow(3.1, true))));
  EXPECT_NO_THROW(Model(Swarm<float, 2>(narrow(2.9, false))));
  EXPECT_THROW(Model(Swarm<float, 2>(narrow(2.9, true))), Error);
  EXPECT_THROW(Model(Swarm<float, 2>(narrow(0, false))), Error);
  EXPECT_THROW(Model(Swarm<float, 2>(narrow(std::nan(""), false))), Error);
}

TEST(Lattice, who_sees_or_moves_is_within_the_units_of_its_reach) {
  World<float, 2> world;
  world.box = {{-100.0F, 7.0F}, {923.4F, 40.0F}};
  world.periodic = {true, false};
  world.visibility = 1.7F;
  world.reachability = 0.31F;
  const Lattice<float, 2> lattice(world);
  RandomStream random(3);
  for (int i = 0; i < 100'000; ++i) {
    const auto x = static_cast<float>(-100 + random.unit() * 1020);
    // The farthest position that float arithmetic calls visible.
    float other = x + world.visibility;
    while ((other - x) * (other - x) <= world.visibility * world.visibility)
      other = std::nextafter(other, 1e9F);
    other = std::nextafter(other, -1e9F);
    if (other >= world.box.high[0]) continue;
    ASSERT_LE(lattice.unit({other, 10}, 0) - lattice.unit({x, 10}, 0), lattice.visibility()) << x;
    ASSERT_LE(lattice.unit({x + world.reachability, 10}, 0) - lattice.unit({x, 10}, 0),
              lattice.reachability())
        << x;
  }
}

// Moves farther than it says, or to nowhere.
struct Jumper : Swarm<float, 2> {
  using Swarm::Swarm;
  float jump = 0;
  void step(const Tuple& bug, const Near& /*near*/, Tick /*t*/, Offspring<Tuple>& out) const {
    Tuple next = bug;
    next.position[0] += bug.id == 3 ? jump : 0;
    out.survive(next);
  }
};

std::string message_of_jump(float jump) {
  SwarmOptions options;
  options.high = {1000, 1000, 10};
  Jumper jumper(options);
  jumper.jump = jump;
  const PointsModel<Jumper> model(jumper);
  const auto state = model.init(model.everything());
  try {
    (void)model.step(state, state, 0);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PointsModel, a_jump_beyond_the_reachability_names_the_tuple) {
  EXPECT_EQ(message_of_jump(0.25F), "");
  EXPECT_NE(message_of_jump(-40.0F).find("tuple 3"), std::string::npos);
  EXPECT_NE(message_of_jump(std::nanf("")).find("tuple 3"), std::string::npos);
  EXPECT_NE(message_of_jump(2000).find("outside of the world"), std::string::npos);
}

}  // namespace
}  // namespace rubato::tick::points

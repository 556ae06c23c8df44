#include "rubato/tick/grid/partition.hpp"

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/grid/grid_model.hpp"

namespace rubato::tick {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(GridPartition, borders_are_short_where_nothing_is_said) {
  EXPECT_EQ(grid_factors(4, {800, 800}, {0, 0}), (Numbers{2, 2}));
  EXPECT_EQ(grid_factors(4, {100, 10000}, {0, 0}), (Numbers{1, 4}));
  EXPECT_EQ(grid_factors(7, {50, 50, 50}, {0, 0, 0}).size(), 3U);
}

TEST(GridPartition, what_is_wanted_is_kept_and_the_rest_chosen) {
  EXPECT_EQ(grid_factors(4, {800, 800}, {1, 0}), (Numbers{1, 4}));
  EXPECT_EQ(grid_factors(4, {800, 800}, {0, 1}), (Numbers{4, 1}));
  EXPECT_EQ(grid_factors(12, {60, 60, 60}, {3, 0, 2}), (Numbers{3, 2, 2}));
  const Box<std::int64_t, 2> world{{0, 0}, {10, 8}};
  const auto strips = cut_evenly(world, 4, {1, 0});
  ASSERT_EQ(strips.size(), 4U);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(strips[static_cast<std::size_t>(i)],
              (Box<std::int64_t, 2>{{0, 2 * i}, {10, 2 * i + 2}}));
  }
}

double cells_of(const Box<std::int64_t, 2>& box) {
  return static_cast<double>(box.volume());
}

TEST(GridPartition, each_box_has_work_in_proportion_to_its_weight) {
  const Box<std::int64_t, 2> world{{0, 0}, {400, 300}};
  std::vector<double> weights(12, 1.0);
  weights[6] = 0.5;
  const Numbers factors{4, 3};
  const auto boxes = cut_by_weights<2>(world, factors, weights, cells_of);
  ASSERT_EQ(boxes.size(), 12U);
  std::vector<Box<std::int64_t, 2>> left{world};
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(cells_of(boxes[i]), 120000 * weights[i] / 11.5, 150) << i;
    std::vector<Box<std::int64_t, 2>> rest;
    for (const auto& part : left)
      subtract(part, boxes[i], rest);
    left = rest;
  }
  EXPECT_TRUE(left.empty());
  // All others nearly stay: a row of them is less high, and its neighbours come nearer.
  const auto even = cut_evenly(world, 12, {4, 3});
  for (std::size_t i = 0; i < 12; ++i) {
    if (i == 6) continue;
    EXPECT_GT(cells_of(boxes[i].intersect(even[i])), 7500) << i;
  }
}

TEST(GridPartition, equal_weights_cut_evenly) {
  const Box<std::int64_t, 2> world{{0, 0}, {64, 60}};
  const std::vector<double> weights(16, 3.5);
  EXPECT_EQ(cut_by_weights<2>(world, Numbers{4, 4}, weights, cells_of), cut_evenly(world, 16));
}

TEST(GridPartition, no_box_is_thinner_than_a_cell_whatever_the_weights) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    RandomStream random(seed, 61);
    const Numbers factors{random.between(1, 5), random.between(1, 4), random.between(1, 3)};
    Box<std::int64_t, 3> world;
    std::vector<double> weights(static_cast<std::size_t>(factors[0] * factors[1] * factors[2]));
    for (std::size_t d = 0; d < 3; ++d)
      world.high[d] = factors[d] + random.between(0, 6);
    for (double& weight : weights)
      weight = random.between(0, 2) == 0 ? 1e-6 : random.unit() + 1e-3;
    const auto cells = [](const Box<std::int64_t, 3>& box) {
      return static_cast<double>(box.volume());
    };
    const auto boxes = cut_by_weights<3>(world, factors, weights, cells);
    std::int64_t n_cells = 0;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_FALSE(boxes[i].empty()) << seed;
      EXPECT_TRUE(world.contains(boxes[i])) << seed;
      n_cells += boxes[i].volume();
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(boxes[i].meets(boxes[j])) << seed;
    }
    EXPECT_EQ(boxes.size(), weights.size());
    EXPECT_EQ(n_cells, world.volume()) << seed;
  }
}

// A grid of which a node measures what its cells cost, times how slow it is.
struct Costly {
  using Value = float;
  static constexpr int kDimensions = 2, kRadius = 1, kFields = 1, kFixed = 0;
  [[nodiscard]] static GridShape<2> shape() { return {{240, 180}, {}}; }
  static void init(Index<2> /*at*/, std::int64_t /*n*/, Value* const* /*fields*/,
                   Value* const* /*fixed*/) {}
  static void step(const GridSpan<Costly>& /*in*/, Value* const* /*out*/, Index<2> /*at*/,
                   std::int64_t /*n*/, Tick /*t*/) {}
};
// The same, and it says so.
struct CostlyAndSaid : Costly {
  static void step(const GridSpan<CostlyAndSaid>& /*in*/, Value* const* /*out*/, Index<2> /*at*/,
                   std::int64_t /*n*/, Tick /*t*/) {}
  [[nodiscard]] static double work(Index<2> low, Index<2> high) {
    const Box<std::int64_t, 2> box{low, high};
    // Three times as dear in a quarter of the world.
    return cells_of(box) + 2 * cells_of(box.intersect({{0, 0}, {120, 90}}));
  }
};

// The slowest node over what it would be if all had work by their speed, epoch by epoch.
template <class U>
std::vector<double> imbalances(const std::vector<double>& slow, bool dear, int n_epochs) {
  const GridModel<U> model{U{}};
  const auto n = static_cast<std::uint32_t>(slow.size());
  const auto work = [&](const Box<std::int64_t, 2>& box) {
    return dear ? CostlyAndSaid::work(box.low, box.high) : cells_of(box);
  };
  double speed = 0;
  for (const double by : slow)
    speed += 1 / by;
  auto cut = model.part(n);
  std::vector<double> result;
  for (int epoch = 0; epoch <= n_epochs; ++epoch) {
    typename GridModel<U>::Samples loads;
    double slowest = 0;
    for (std::uint32_t node = 0; node < n; ++node) {
      const double took = slow[node] * work(cut[node].boxes().front());
      slowest = std::max(slowest, took);
      model.merge_samples(
          loads, model.sample(NodeLoad<BoxSet<std::int64_t, 2>>{node, cut[node], took, took}));
    }
    result.push_back(slowest * speed / work(model.space().world));
    const auto next = model.part(n, loads);
    if (!next.empty()) cut = next;
  }
  return result;
}

// But for what a cut has to gain to be made, a tenth, and for whole cells.
TEST(GridPartition, nodes_of_any_speed_are_in_balance_after_one_epoch) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 62);
    std::vector<double> slow(static_cast<std::size_t>(random.between(2, 24)));
    for (double& by : slow)
      by = random.between(0, 3) == 0 ? 1 + 3 * random.unit() : 1;
    const auto one = imbalances<Costly>(slow, false, 2);
    EXPECT_LT(one[1], 1.25) << "before: " << one[0];
    EXPECT_EQ(one[2], one[1]);
    EXPECT_LT(imbalances<CostlyAndSaid>(slow, true, 1)[1], 1.25);
  }
}

// Those that have them are taken for slow nodes.
TEST(GridPartition, dear_cells_of_which_nobody_knows_are_in_balance_after_three_epochs) {
  for (const std::uint32_t n : {4U, 7U, 12U, 16U}) {
    std::vector<double> slow(n, 1.0);
    for (const bool one_is_slow : {false, true}) {
      if (one_is_slow) slow[n / 2] = 2;
      const auto each = imbalances<Costly>(slow, true, 8);
      EXPECT_GT(each[0], 1.25) << n;
      EXPECT_LT(each[3], 1.1) << n;
      EXPECT_EQ(each[8], each[3]) << n;
    }
  }
}

TEST(GridPartition, a_cut_stays_where_the_slowest_node_waits_itself) {
  using Query = BoxSet<std::int64_t, 2>;
  const GridModel<Costly> model{Costly{}};
  const auto cut = model.part(3);
  const auto part = [&](double passed) {
    auto loads = model.sample(NodeLoad<Query>{0, cut[0], 10, passed});
    model.merge_samples(loads, model.sample(NodeLoad<Query>{2, cut[2], 20, passed}));
    model.merge_samples(loads, model.sample(NodeLoad<Query>{1, cut[1], 10, passed}));
    return model.part(3, loads);
  };
  EXPECT_EQ(part(21).size(), 3U);
  EXPECT_LT(part(21)[2].volume(), cut[2].volume() * 2 / 3);
  EXPECT_EQ(part(29).size(), 3U);
  EXPECT_TRUE(part(31).empty());
}

TEST(GridPartition, a_cut_that_would_gain_little_stays) {
  EXPECT_EQ(imbalances<Costly>({1, 1, 1.05, 1}, false, 1)[1],
            imbalances<Costly>({1, 1, 1.05, 1}, false, 1)[0]);
  const GridModel<Costly> model{Costly{}};
  EXPECT_TRUE(
      model.part(1, model.sample(NodeLoad<BoxSet<std::int64_t, 2>>{0, model.everything(), 5, 5}))
          .empty());
  // No time was measured.
  const auto cut = model.part(2);
  auto loads = model.sample(NodeLoad<BoxSet<std::int64_t, 2>>{1, cut[1], 0, 7});
  model.merge_samples(loads, model.sample(NodeLoad<BoxSet<std::int64_t, 2>>{0, cut[0], 7, 7}));
  EXPECT_TRUE(model.part(2, loads).empty());
  try {
    (void)model.part(3, loads);
    FAIL() << "two loads for three nodes";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "part(n, samples): expected the loads of 3 nodes, found 2");
  }
}

// What nodes have to know of others, all together, for one node's stretch of pieces each over that
// for boxes.
template <int D>
double borders_of_stretches(const std::array<std::int64_t, D>& extent, std::uint32_t n_pieces,
                            std::uint32_t n_nodes) {
  using Query = BoxSet<std::int64_t, D>;
  Space<std::int64_t, D> space;
  space.world.high = extent;
  const auto outside = [&](const std::vector<Query>& queries) {
    std::int64_t sum = 0;
    std::int64_t own = 0;
    for (const Query& query : queries) {
      sum += space.grown(query, 1).minus(query).volume();
      own += query.volume();
    }
    EXPECT_EQ(own, space.world.volume());
    return static_cast<double>(sum);
  };
  const auto pieces = cut_along_curve<D>(space.world, n_pieces);
  EXPECT_GE(pieces.size(), n_pieces);
  std::vector<Query> stretches(n_nodes);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    stretches[i * n_nodes / pieces.size()].add(pieces[i]);
  const auto boxes = cut_evenly<D>(space.world, n_nodes);
  return outside(stretches) / outside({boxes.begin(), boxes.end()});
}

TEST(GridPartition, stretches_of_pieces_have_borders_nearly_as_short_as_boxes) {
  for (std::uint32_t n = 2; n <= 24; ++n) {
    EXPECT_LT(borders_of_stretches<2>({240, 180}, 256, n), 1.8) << n;
    EXPECT_LT(borders_of_stretches<2>({300, 1000}, 1024, n), 1.8) << n;
    EXPECT_LT(borders_of_stretches<3>({40, 24, 12}, 512, n), 1.8) << n;
  }
  for (const std::uint32_t n : {2U, 4U, 8U, 16U})
    EXPECT_EQ(borders_of_stretches<2>({512, 512}, 1024, n), 1) << n;
}

TEST(GridPartition, a_world_of_fewer_cells_has_fewer_pieces) {
  EXPECT_EQ((cut_along_curve<2>({{0, 0}, {3, 2}}, 100).size()), 6U);
  EXPECT_EQ((cut_along_curve<3>({{0, 0, 0}, {5, 1, 1}}, 4).size()), 4U);
}

TEST(GridPartition, parts_that_do_not_go_into_the_nodes_are_refused) {
  try {
    (void)grid_factors(4, {800, 600}, {3, 0});
    FAIL() << "3 boxes along x for 4 nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_STREQ(error.what(),
                 "a grid of 800 x 600 cells cannot be cut into 4 boxes of whole cells, 3 x 0 of "
                 "them (0: any number); the product has to be 4, the number of nodes; the nearest "
                 "number that goes is 3");
  }
  EXPECT_THROW((void)grid_factors(11, {2, 3}, {0, 0}), Error);
}

TEST(GridPartition, the_nearest_number_of_boxes_that_goes_is_named) {
  const auto refusal = [](std::int64_t n, const Numbers& extent, const Numbers& wanted) {
    try {
      (void)grid_factors(n, extent, wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  const auto ends = [](const std::string& text, const std::string& end) {
    EXPECT_TRUE(text.ends_with(end)) << text;
  };
  ends(refusal(11, {2, 3}, {0, 0}), "; the nearest number that goes is 6");
  ends(refusal(11, {10, 10}, {0, 0}), "; the nearest number that goes is 10");
  ends(refusal(13, {7, 2}, {7, 0}), "; the nearest number that goes is 14");
  ends(refusal(4, {3, 3}, {5, 0}), ", the number of nodes");
}

}  // namespace
}  // namespace rubato::tick

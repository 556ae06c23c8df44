// PART for points and tiles: disjoint, covering, balanced.

#include "rubato/tick/points/partition.hpp"

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/tick/points/points_model.hpp"
#include "rubato/tick/points/testing/swarm.hpp"

namespace rubato::tick::points {
namespace {

template <int D>
void expect_exact_cover(const UnitSet<D>& whole, const std::vector<UnitBox<D>>& parts) {
  std::int64_t volume = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_FALSE(parts[i].empty()) << "part " << i;
    EXPECT_TRUE(UnitSet<D>(parts[i]).minus(whole).empty()) << "part " << i << " sticks out";
    volume += parts[i].volume();
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(parts[i].meets(parts[j])) << "parts " << i << " and " << j;
  }
  // Disjoint, inside and of the same volume: covering.
  EXPECT_EQ(volume, whole.volume());
}

template <int D>
UnitBox<D> random_world(RandomStream& random) {
  UnitBox<D> units;
  for (std::size_t d = 0; d < D; ++d)
    units.high[d] = random.between(1, 12) * kUnitsPerCell;
  return units;
}

template <int D>
CellWeights<D> random_weights(const UnitBox<D>& units, RandomStream& random) {
  Index<D> n_cells;
  for (std::size_t d = 0; d < D; ++d)
    n_cells[d] = units.high[d] / kUnitsPerCell;
  CellWeights<D> weights(n_cells);
  const std::int64_t n = random.between(0, 300);
  for (std::int64_t i = 0; i < n; ++i) {
    Index<D> cell;
    for (std::size_t d = 0; d < D; ++d)
      cell[d] = random.between(0, random.between(0, n_cells[d] - 1));
    weights.add(cell);
  }
  return weights;
}

template <int D>
void expect_parts_cover() {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    const UnitBox<D> units = random_world<D>(random);
    const CellWeights<D> weights = random_weights<D>(units, random);
    for (const std::uint32_t n : {1U, 2U, 3U, 5U, 7U, 16U, 50U}) {
      if (units.volume() / 64 < std::int64_t{n}) continue;
      const UnitSet<D> world(units);
      const auto by_weights = part_by_weights<D>(units, weights, n);
      EXPECT_EQ(by_weights.size(), n);
      expect_exact_cover<D>(world, by_weights);
      const auto by_grid = part_by_grid<D>(units, n);
      EXPECT_EQ(by_grid.size(), n);
      expect_exact_cover<D>(world, by_grid);
    }
  }
}

TEST(Partition, parts_of_2d_worlds_are_disjoint_and_cover) {
  expect_parts_cover<2>();
}
TEST(Partition, parts_of_3d_worlds_are_disjoint_and_cover) {
  expect_parts_cover<3>();
}

TEST(Partition, parts_by_weights_are_of_about_the_same_weight) {
  // Nine tenths of the tuples in one tenth of the world, as schools are.
  const UnitBox<2> units{{0, 0}, {200 * kUnitsPerCell, 100 * kUnitsPerCell}};
  CellWeights<2> weights({200, 100});
  std::vector<Index<2>> cells;
  RandomStream random(7);
  for (int i = 0; i < 100'000; ++i) {
    const bool school = i % 10 != 0;
    cells.push_back({random.between(0, school ? 59 : 199), random.between(0, school ? 33 : 99)});
    weights.add(cells.back());
  }
  for (const std::uint32_t n : {2U, 3U, 5U, 7U, 16U}) {
    for (const auto& part : part_by_weights<2>(units, weights, n)) {
      std::int64_t held = 0;
      for (const auto& cell : cells)
        held += part.contains(Index<2>{cell[0] * kUnitsPerCell, cell[1] * kUnitsPerCell}) ? 1 : 0;
      EXPECT_NEAR(static_cast<double>(held) * n / 100'000, 1.0, 0.1) << n << " parts";
    }
  }
}

TEST(Partition, large_worlds_are_counted_in_blocks) {
  const UnitBox<2> units{{0, 0}, {5000 * kUnitsPerCell, 3000 * kUnitsPerCell}};
  CellWeights<2> weights({5000, 3000});
  weights.add({4999, 2999});
  weights.add({0, 0});
  double total = 0;
  for (const double value : weights.profile(units, 0))
    total += value;
  // The last block sticks out of the world, with a part of its count.
  EXPECT_NEAR(total, 2.0, 0.5);
  expect_exact_cover<2>(UnitSet<2>(units), part_by_weights<2>(units, weights, 7));
}

template <int D>
void expect_weights_travel() {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 4);
    const UnitBox<D> units = random_world<D>(random);
    Index<D> n_cells;
    for (std::size_t d = 0; d < D; ++d)
      n_cells[d] = units.high[d] / kUnitsPerCell;
    CellWeights<D> weights = random_weights<D>(units, random);
    const CellWeights<D> others = random_weights<D>(units, random);
    Writer writer;
    weights.write(writer);
    others.write(writer);
    const Bytes bytes = writer.take();
    Reader reader(bytes);
    for (const CellWeights<D>& written : {weights, others}) {
      CellWeights<D> read(n_cells);
      read.add(reader, 0);
      EXPECT_EQ(read, written);
    }
    EXPECT_TRUE(reader.at_end());
    const std::vector<double> one = weights.profile(units, 0);
    const std::vector<double> two = others.profile(units, 0);
    weights.add(others);
    const std::vector<double> sum = weights.profile(units, 0);
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(sum[i], one[i] + two[i], 1e-9);
  }
}

TEST(Partition, weights_of_2d_worlds_travel_as_bytes_and_add_up) {
  expect_weights_travel<2>();
}
TEST(Partition, weights_of_3d_worlds_travel_as_bytes_and_add_up) {
  expect_weights_travel<3>();
}

TEST(Partition, weights_in_few_cells_travel_in_few_bytes) {
  CellWeights<2> weights({1024, 1024});
  weights.add({17, 1000});
  weights.add({17, 1000});
  weights.add({18, 1000});
  Writer writer;
  weights.write(writer);
  EXPECT_EQ(writer.size(), 3 * sizeof(std::uint32_t) + 2 * sizeof(double));
}

// Samples of two regions, one of which has a ninth of the other's tuples.
TEST(Partition, weights_are_scaled_to_what_tuples_cost) {
  const UnitBox<2> units{{0, 0}, {20 * kUnitsPerCell, 10 * kUnitsPerCell}};
  const auto cut = [&](double left, double right) {
    CellWeights<2> all({20, 10});
    for (const auto& [first, n, cost] : {std::tuple{0, 9, left}, std::tuple{10, 1, right}}) {
      CellWeights<2> region({20, 10});
      for (std::int64_t x = first; x < first + 10; ++x) {
        for (int i = 0; i < n; ++i)
          region.add({x, 5});
      }
      Writer writer;
      region.write(writer);
      const Bytes bytes = writer.take();
      Reader reader(bytes);
      all.add(reader, cost);
    }
    return part_by_weights<2>(units, all, 2)[0].high[0] / kUnitsPerCell;
  };
  EXPECT_EQ(cut(0, 0), 6);  // of 100 tuples 54
  EXPECT_EQ(cut(10, 10), 10);
  EXPECT_EQ(cut(2, 10), 14);
}

// What comes with single ticks may come anywhere: room counts, too.
TEST(Partition, what_is_spread_evenly_counts_by_area) {
  const UnitBox<2> units{{0, 0}, {20 * kUnitsPerCell, 10 * kUnitsPerCell}};
  const auto cut = [&](double anywhere) {
    CellWeights<2> weights({20, 10});
    for (int i = 0; i < 100; ++i)
      weights.add({i % 4, i / 10});
    weights.add_evenly(anywhere);
    return part_by_weights<2>(units, weights, 2)[0].high[0] / kUnitsPerCell;
  };
  EXPECT_EQ(cut(0), 2);
  EXPECT_EQ(cut(100), 3);  // 30 in each of four columns, and 5 in the others
  EXPECT_EQ(cut(1e6), 10);
}

TEST(Partition, weights_that_lie_outside_of_the_world_are_an_error_that_names_them) {
  Writer writer;
  for (const std::uint32_t word : {90U, 20U})
    writer.put(word);
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  try {
    CellWeights<2>({10, 10}).add(reader, 0);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("weights of 100 blocks"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("one of 20 from 90 on"), std::string::npos)
        << error.what();
  }
}

TEST(Partition, more_parts_than_units_is_an_error_with_both_numbers) {
  const UnitBox<2> units{{0, 0}, {kUnitsPerCell, kUnitsPerCell}};
  const CellWeights<2> weights({1, 1});
  try {
    (void)part_by_weights<2>(units, weights, 257);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("257"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("256"), std::string::npos) << error.what();
  }
}

template <int D>
void expect_tiles_cover() {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 3);
    const UnitBox<D> units = random_world<D>(random);
    Space<std::int64_t, D> space{units, {}};
    for (std::size_t d = 0; d < D; ++d)
      space.periodic[d] = units.high[d] >= 3 * kUnitsPerCell && random.between(0, 1) != 0;
    const CellWeights<D> weights = random_weights<D>(units, random);
    Policy policy;
    policy.replica_layers = static_cast<int>(random.between(0, 5));
    policy.depth = static_cast<int>(random.between(0, 5));
    TileOptions options;
    options.edge = random.between(1, 8) * kUnitsPerCell;
    options.ring = random.between(1, 40);
    options.tiles_least = random.between(1, 30);
    for (const auto& part : part_by_weights<D>(units, weights, 3)) {
      const UnitSet<D> own(part);
      expect_exact_cover<D>(own, own_tiles<D>(space, own, policy, options));
    }
  }
}

TEST(Tiles, tiles_of_2d_parts_are_disjoint_and_cover) {
  expect_tiles_cover<2>();
}
TEST(Tiles, tiles_of_3d_parts_are_disjoint_and_cover) {
  expect_tiles_cover<3>();
}

TEST(Tiles, a_lone_node_has_no_border) {
  const Space<std::int64_t, 2> space{{{0, 0}, {640, 640}}, {true, false}};
  Policy policy;
  policy.depth = 3;
  TileOptions options;
  options.edge = 320;
  options.ring = 17;
  EXPECT_EQ(own_tiles<2>(space, UnitSet<2>(space.world), policy, options).size(), 4U);
}

TEST(Tiles, rings_let_the_inside_run_ahead) {
  // A node between two others: all but three rings at each side lies in tiles that nothing from
  // outside can reach within three ticks.
  const Space<std::int64_t, 2> space{{{0, 0}, {3200, 1600}}, {true, false}};
  const UnitSet<2> own(UnitBox<2>{{800, 0}, {1600, 1600}});
  Policy policy;
  policy.depth = 3;
  TileOptions options;
  options.edge = 256;
  options.ring = 17;
  std::int64_t deep = 0;
  for (const auto& tile : own_tiles<2>(space, own, policy, options)) {
    const UnitSet<2> reached = space.grown(UnitSet<2>(tile), 3 * options.ring);
    if (reached.minus(own).empty()) deep += tile.volume();
  }
  EXPECT_EQ(deep, (800 - 2 * 3 * 17) * 1600);
}

TEST(PointsModel, parts_select_each_tuple_once) {
  testing::SwarmOptions options;
  options.n_bugs = 500;
  options.crowd = true;
  options.periodic = {true, false, false};
  const testing::Swarm<float, 2> swarm(options);
  for (const auto partition : {PointsPartition::grid, PointsPartition::quadtree}) {
    const PointsModel<testing::Swarm<float, 2>> model(swarm, {partition});
    for (const std::uint32_t n : {1U, 3U, 7U}) {
      std::size_t held = 0;
      for (const auto& query : model.part(n))
        held += model.init(query).size();
      EXPECT_EQ(held, 500U) << n << " parts";
    }
  }
}

}  // namespace
}  // namespace rubato::tick::points

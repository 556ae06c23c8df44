#include "rubato/tick/balance/persistence.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/tick/balance/persistent_cost.hpp"

namespace rubato::tick {
namespace {

std::vector<double> loads_of(const std::vector<double>& costs, const std::vector<NodeId>& owners,
                             std::uint32_t n_nodes) {
  std::vector<double> loads(n_nodes, 0);
  for (std::size_t piece = 0; piece < costs.size(); ++piece)
    loads[owners[piece]] += costs[piece];
  return loads;
}

TEST(PersistentCost, is_the_mean_of_what_stays) {
  PersistentCost cost;
  EXPECT_EQ(cost.take().stays, 0);
  for (int t = 0; t < 5; ++t)
    cost.add_step(t);  // too few to leave any out
  EXPECT_DOUBLE_EQ(cost.take().stays, 2);
  EXPECT_EQ(cost.take().stays, 0);
}

TEST(PersistentCost, what_came_and_went_is_told_apart) {
  PersistentCost cost;
  for (int t = 0; t < 32; ++t)
    cost.add_step(t == 7 || t == 20 ? 1000 : 3);
  const PersistentCost::Mean mean = cost.take();
  EXPECT_DOUBLE_EQ(mean.stays, 3);
  EXPECT_DOUBLE_EQ(mean.stays + mean.passes, (2 * 1000 + 30 * 3) / 32.0);
  // What comes back every fourth tick stays: of 8 such ticks half are left out with the eighth.
  for (int t = 0; t < 32; ++t)
    cost.add_step(t % 4 == 0 ? 100 : 2);
  EXPECT_NEAR(cost.take().stays, (4 * 100 + 24 * 2) / 28.0, 1e-9);
}

// As of a dense place that drifts into a piece: nobody else knows how much of it there will be.
TEST(PersistentCost, what_grows_steadily_is_expected_to_go_on) {
  PersistentCost cost;
  for (int t = 0; t < 32; ++t)
    cost.add_step(t % 16 == 5 ? 9000 : 100 + t);  // two ticks of each half pass
  const PersistentCost::Mean grows = cost.take();
  EXPECT_NEAR(grows.slope, 1, 0.1);
  EXPECT_NEAR(grows.after(32), 100 + 31 + 32, 5);
  // Twice what was there is all that a piece is trusted to become.
  EXPECT_DOUBLE_EQ(grows.after(1000), 2 * grows.late);
  for (int t = 0; t < 32; ++t)
    cost.add_step(100 - t);
  const PersistentCost::Mean shrinks = cost.take();
  EXPECT_NEAR(shrinks.after(32), 100 - 31 - 32, 5);
  EXPECT_EQ(shrinks.after(1000), 0);
}

TEST(PersistentCost, ticks_that_differ_by_chance_are_no_trend) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    PersistentCost cost;
    for (std::uint64_t t = 0; t < 32; ++t)
      cost.add_step(100 + static_cast<double>(hash_words(seed, t) % 20));
    const PersistentCost::Mean mean = cost.take();
    // One piece of a thousand may look as if.
    EXPECT_NEAR(mean.after(32), mean.stays, 25) << "seed " << seed;
  }
  PersistentCost short_time;
  for (int t = 0; t < 15; ++t)
    short_time.add_step(t);
  const PersistentCost::Mean mean = short_time.take();
  EXPECT_DOUBLE_EQ(mean.after(100), mean.stays);
}

TEST(PersistentCost, parts_of_a_tick_belong_to_its_step) {
  PersistentCost cost;
  for (int t = 0; t < 3; ++t) {
    cost.add(1);
    cost.add(2);
    cost.add_step(4);
  }
  cost.add(100);  // of a step that comes after the report
  EXPECT_DOUBLE_EQ(cost.take().stays, 7);
  cost.add_step(1);
  EXPECT_DOUBLE_EQ(cost.take().stays, 101);
}

TEST(PersistentCost, many_ticks_are_told_by_few_samples) {
  PersistentCost cost;
  constexpr int kTicks = 100'000;
  for (int t = 0; t < kTicks; ++t)
    cost.add_step(t % 2 == 0 ? 1 : 3);
  EXPECT_NEAR(cost.take().stays, 2, 0.01);
  cost.add_step(9);  // and it begins anew
  EXPECT_DOUBLE_EQ(cost.take().stays, 9);
}

TEST(Persistence, what_is_in_balance_stays_where_it_is) {
  const std::vector<double> costs(64, 2.5);
  std::vector<NodeId> owners(64);
  for (std::size_t piece = 0; piece < 64; ++piece)
    owners[piece] = static_cast<NodeId>(piece / 8);
  EXPECT_EQ(balance_by_persistence(costs, owners, 8), owners);
}

TEST(Persistence, one_node_gives_away_what_is_too_much_and_no_more) {
  // Node 2 has 16 of 28 equal pieces on 4 nodes, the mean is 7: it keeps that many.
  const std::vector<double> costs(28, 1.0);
  std::vector<NodeId> owners(28, 2);
  for (std::size_t piece = 0; piece < 12; ++piece)
    owners[piece] = static_cast<NodeId>(piece % 3 == 2 ? 3 : piece % 3);
  const auto balanced = balance_by_persistence(costs, owners, 4);
  EXPECT_EQ(loads_of(costs, balanced, 4), (std::vector<double>{7, 7, 7, 7}));
  for (std::size_t piece = 0; piece < 12; ++piece)
    EXPECT_EQ(balanced[piece], owners[piece]);
}

TEST(Persistence, a_piece_that_cannot_be_cut_keeps_its_node_to_itself) {
  const std::vector<double> costs{100, 1, 1, 1, 1, 1};
  const std::vector<NodeId> owners{0, 0, 0, 0, 0, 0};
  const auto balanced = balance_by_persistence(costs, owners, 3);
  EXPECT_EQ(balanced[0], 0U);
  const auto loads = loads_of(costs, balanced, 3);
  EXPECT_EQ(loads[0], 100.0);
  EXPECT_EQ(loads[1] + loads[2], 5.0);
  EXPECT_GT(std::min(loads[1], loads[2]), 1.0);
}

TEST(Persistence, excess_goes_to_the_nearest_group_that_has_room) {
  // Two groups of two: what node 0 has too much node 1 takes; nothing crosses to 2 and 3.
  std::vector<double> costs(16, 1.0);
  const std::vector<NodeId> owners{0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  const auto balanced = balance_by_persistence(costs, owners, 4, {1.0, 2});
  EXPECT_EQ(loads_of(costs, balanced, 4), (std::vector<double>{4, 4, 4, 4}));
  for (std::size_t piece = 8; piece < 16; ++piece)
    EXPECT_EQ(balanced[piece], owners[piece]);
}

TEST(Persistence, no_node_has_more_than_the_tolerance_and_a_piece) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, 31);
    const auto n_nodes = static_cast<std::uint32_t>(random.between(1, 40));
    const auto n_pieces = static_cast<std::size_t>(random.between(0, 600));
    std::vector<double> costs(n_pieces);
    std::vector<NodeId> owners(n_pieces);
    for (std::size_t piece = 0; piece < n_pieces; ++piece) {
      costs[piece] = random.between(0, 9) == 0 ? 0.0 : random.unit() * random.unit();
      owners[piece] =
          static_cast<NodeId>(random.between(0, 2) == 0 ? random.between(0, n_nodes - 1)
                                                        : random.between(0, (n_nodes - 1) / 4));
    }
    const BalanceOptions options{1.0 + random.unit() / 5,
                                 static_cast<std::uint32_t>(random.between(2, 6))};
    const auto balanced = balance_by_persistence(costs, owners, n_nodes, options);
    const auto before = loads_of(costs, owners, n_nodes);
    const auto after = loads_of(costs, balanced, n_nodes);
    const double mean =
        std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(n_nodes);
    const double dearest = n_pieces == 0 ? 0 : *std::ranges::max_element(costs);
    EXPECT_LE(*std::ranges::max_element(after), mean * options.tolerance + dearest + 1e-9);
    EXPECT_LE(imbalance(after), imbalance(before) + 1e-9);
    // Whoever had no more than the mean keeps what it had.
    for (std::size_t piece = 0; piece < n_pieces; ++piece) {
      if (before[owners[piece]] <= mean) {
        EXPECT_EQ(balanced[piece], owners[piece]);
      }
    }
  }
}

TEST(Persistence, imbalance_is_that_of_equation_2) {
  EXPECT_EQ(imbalance(std::vector<double>{1, 1, 1, 1}), 0.0);
  EXPECT_EQ(imbalance(std::vector<double>{4, 0, 0, 0}), 3.0);
  EXPECT_EQ(imbalance(std::vector<double>{0, 0}), 0.0);
  EXPECT_EQ(imbalance(std::vector<double>{}), 0.0);
}

}  // namespace
}  // namespace rubato::tick

#include "rubato/models/traffic.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/base/seeds_test.hpp"
#include "rubato/models/app_traffic.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/epoch_run.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::models {
namespace {

TrafficOptions random_options(std::uint64_t seed) {
  RandomStream random(seed, 31);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(random.between(low, high));
  };
  TrafficOptions o;
  o.seed = seed;
  o.columns = draw(1, 5);
  o.rows = draw(1, 5);
  o.speed_max = draw(1, 5);
  o.block = draw(std::max(2, o.speed_max + 1), 16);
  o.lanes = draw(1, 3);
  o.detector = draw(1, o.block);
  o.green_min = draw(0, 4);
  o.green_max = draw(o.green_min, 12);
  o.density = draw(0, 300);
  o.inflow = draw(0, 400);
  o.dawdle = draw(0, 300);
  o.turning = draw(0, 600);
  if (random.between(0, 3) == 0) {
    // So few cars that they are gone before the end.
    o.density = 10;
    o.inflow = 0;
    o.stop_when_empty = true;
    o.stop_interval = draw(1, 4);
    o.stop_lag = draw(0, 4);
  }
  return o;
}

TEST(TrafficProperty, every_policy_partition_and_interleaving_equals_the_reference) {
  std::size_t n_stopped = 0;
  std::int64_t n_replica_units = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    tick::testing::RunCase c = tick::testing::random_run(seed);
    const TrafficModel model(random_options(seed));
    c.n_nodes = std::min(
        c.n_nodes, static_cast<std::uint32_t>(model.options().columns * model.options().rows));
    c.ticks += 10;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + tick::testing::describe(c));
    const auto reference = tick::run_reference(model, TrafficModel::everything(), c.ticks);
    const auto run = tick::testing::expect_equal_run<tick::FragmentStore<TrafficModel>>(
        model, c, seed, reference);
    if (HasFailure()) return;
    n_stopped += reference.ticks < c.ticks ? 1 : 0;
    n_replica_units += run.replica_units;
  }
  EXPECT_GT(n_stopped, n_seeds() / 50);
  EXPECT_GT(n_replica_units, static_cast<std::int64_t>(n_seeds()));
}

// Pieces thrown to the nodes, as no balancer would.
TEST(TrafficProperty, pieces_of_any_owner_equal_the_reference) {
  std::int64_t n_replica_units = 0;
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    RandomStream random(seed, 33);
    const TrafficModel model(random_options(seed));
    tick::testing::RunCase c = tick::testing::random_run(random);
    if (seed % 3 == 0) c.policy = tick::testing::random_pieces(random);
    auto pieces = model.pieces(static_cast<std::uint32_t>(random.between(1, 20)));
    c.n_nodes = std::min(c.n_nodes, static_cast<std::uint32_t>(pieces.size()));
    std::vector<tick::NodeId> owners;
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      owners.push_back(i < c.n_nodes ? i
                                     : static_cast<tick::NodeId>(random.between(0, c.n_nodes - 1)));
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + tick::testing::describe(c) + ", " +
                 std::to_string(pieces.size()) + " pieces");
    const auto cut = tick::cut_of_pieces(model, std::move(pieces), std::move(owners), c.n_nodes);
    const auto reference = tick::run_reference(model, TrafficModel::everything(), c.ticks);
    n_replica_units += tick::testing::expect_equal_run<tick::FragmentStore<TrafficModel>>(
                           model, cut, c, seed, reference)
                           .replica_units;
    if (HasFailure()) return;
  }
  EXPECT_GT(n_replica_units, static_cast<std::int64_t>(n_seeds()));
}

TEST(TrafficProperty, pieces_that_move_equal_the_reference) {
  std::int64_t n_moved = 0;
  for (std::uint64_t seed = 0; seed < n_seeds() / 2; ++seed) {
    RandomStream random(seed, 34);
    const TrafficProblem problem{TrafficModel(random_options(seed))};
    const TrafficModel& model = problem.model();
    tick::testing::RunCase c = tick::testing::random_run(random);
    if (seed % 3 == 0) c.policy = tick::testing::random_pieces(random);
    tick::SharingOptions sharing;
    sharing.epoch = random.between(1, 6);
    sharing.balance = tick::Balance::persistence;
    sharing.n_pieces = c.n_nodes + static_cast<std::uint32_t>(random.between(0, 20));
    c.n_nodes =
        std::min(c.n_nodes, static_cast<std::uint32_t>(model.pieces(sharing.n_pieces).size()));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + tick::testing::describe(c));
    const auto reference = tick::run_reference(model, TrafficModel::everything(), c.ticks);
    n_moved += tick::testing::expect_equal_epochs(problem, c, sharing, seed, reference).n_pieces;
    if (HasFailure()) return;
  }
  EXPECT_GT(n_moved, static_cast<std::int64_t>(n_seeds() / 4));
}

TEST(TrafficProperty, streets_that_nobody_enters_are_empty_in_the_end) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    TrafficOptions o;
    o.seed = seed;
    o.columns = 4;
    o.rows = 4;
    o.density = 300;
    o.inflow = 0;
    o.stop_when_empty = true;
    const TrafficModel model(o);
    const auto run = tick::run_reference(model, TrafficModel::everything(), 5000);
    EXPECT_LT(run.ticks, 5000) << seed;
    EXPECT_TRUE(run.state.cars.empty()) << run.state.cars.size() << " cars, seed " << seed;
  }
}

// Areas as partitions and their layers have them, or any other; some are empty.
Areas random_areas(RandomStream& random, const TrafficModel& model) {
  const auto side = [&](std::int32_t length) {
    const auto low = static_cast<std::int32_t>(random.between(-3, length));
    return std::pair(low, low + static_cast<std::int32_t>(random.between(-2, length)));
  };
  Areas areas;
  for (std::int64_t i = random.between(1, 3); i > 0; --i) {
    const auto [x0, x1] = side(model.length(Axis::x));
    const auto [y0, y1] = side(model.length(Axis::y));
    areas.add({{x0, y0}, {x1, y1}});
  }
  return areas;
}

// Definitions 1 and 2 of [Ticks A.1], and that steps of parts add up (Properties 1 and 2).
TEST(TrafficProperty, queries_depend_on_what_they_say) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const TrafficModel model(random_options(seed));
    RandomStream random(seed, 32);
    const auto now =
        tick::run_reference(model, TrafficModel::everything(), random.between(0, 20)).state;
    const auto next = model.step(now, now, 50);
    for (int i = 0; i < 20; ++i) {
      TrafficQuery q{random_areas(random, model), random_areas(random, model)};
      if (random.between(0, 1) != 0) q.signals = q.cars;
      const auto selected = model.select(now, q);

      const auto context = model.select(now, model.read_dependencies(q));
      EXPECT_TRUE(model.difference(selected, context) == TrafficState{}) << "Q in R_D(Q), " << seed;
      EXPECT_TRUE(model.step(selected, context, 50) == model.step(selected, now, 50))
          << "R_D, seed " << seed;

      const auto inner = model.select(now, model.read_exclusive(q));
      EXPECT_TRUE(model.difference(inner, selected) == TrafficState{}) << "R_X(Q) in Q, " << seed;
      EXPECT_TRUE(model.step(inner, selected, 50) == model.step(inner, now, 50))
          << "R_X, seed " << seed;

      const auto writers = model.select(now, model.write_dependencies(q));
      EXPECT_TRUE(model.select(model.step(writers, now, 50), q) == model.select(next, q))
          << "W_D, seed " << seed;

      const auto written = model.write_exclusive(q);
      EXPECT_TRUE(model.select(model.step(selected, now, 50), written) ==
                  model.select(next, written))
          << "W_X, seed " << seed;

      auto whole = model.step(selected, now, 50);
      const auto rest = model.step(model.difference(now, selected), now, 50);
      model.merge(whole, rest);
      EXPECT_TRUE(whole == next) << "Properties 1 and 2, seed " << seed;

      const TrafficQuery other{random_areas(random, model), random_areas(random, model)};
      if (model.disjoint(q, other)) {
        EXPECT_TRUE(model.select(selected, other) == TrafficState{}) << "DISJOINT, seed " << seed;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(TrafficProperty, parts_and_pieces_are_disjoint_and_cover_all_of_both_tables) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const TrafficModel model(random_options(seed));
    const auto whole = model.init(TrafficModel::everything());
    const auto expect_all = [&](const std::vector<TrafficQuery>& queries) {
      TrafficState joined;
      std::size_t n_tuples = 0;
      for (const TrafficQuery& q : queries) {
        const auto part = model.init(q);
        EXPECT_TRUE(part == model.select(whole, q));
        n_tuples += part.cars.size() + part.signals.size();
        model.merge(joined, part);
      }
      EXPECT_TRUE(joined == whole);
      EXPECT_EQ(n_tuples, whole.cars.size() + whole.signals.size());
    };
    const auto n_blocks =
        static_cast<std::uint32_t>(model.options().columns * model.options().rows);
    for (std::uint32_t n = 1; n <= n_blocks; ++n) {
      expect_all(model.part(n));
      const auto pieces = model.pieces(n);
      EXPECT_GE(pieces.size(), n);
      expect_all(pieces);
      EXPECT_TRUE(model.select(whole, model.join(pieces)) == whole);
    }
    EXPECT_EQ(model.pieces(1000).size(), n_blocks);
  }
}

using Cell = std::tuple<Axis, std::int32_t, std::int32_t, std::uint8_t>;

TEST(Traffic, no_two_cars_are_ever_in_one_cell_of_a_lane) {
  for (std::uint64_t seed = 0; seed < n_seeds(); ++seed) {
    const TrafficModel model(random_options(seed));
    auto state = model.init(TrafficModel::everything());
    for (Tick t = 0; t < 40; ++t) {
      std::set<Cell> taken;
      for (const Car& car : state.cars)
        ASSERT_TRUE(taken.emplace(car.axis, car.x, car.y, car.lane).second) << seed << ", " << t;
      state = model.step(state, state, t);
    }
  }
}

// What happened to a car in a tick, told from its two places alone.
TEST(Traffic, cars_cross_on_green_only_and_everything_that_can_happen_happens) {
  TrafficOptions options;
  options.columns = 4;
  options.rows = 3;
  options.inflow = 200;
  options.density = 200;
  const TrafficModel model(options);
  auto state = model.init(TrafficModel::everything());
  std::size_t n_crossings = 0;
  std::size_t n_turns = 0;
  std::size_t n_switches = 0;
  std::size_t n_born = 0;
  std::size_t n_left = 0;
  std::size_t n_waiting = 0;
  for (Tick t = 0; t < 200; ++t) {
    const auto next = model.step(state, state, t);
    std::map<std::uint64_t, Car> after;
    for (const Car& car : next.cars)
      after.emplace(car.id, car);
    std::size_t n_stayed = 0;
    for (const Car& car : state.cars) {
      const auto at = after.find(car.id);
      if (at == after.end()) {
        ++n_left;
        continue;
      }
      ++n_stayed;
      n_waiting += at->second.speed == 0 ? 1 : 0;
      n_turns += at->second.axis != car.axis ? 1 : 0;
      for (const Signal& signal : state.signals) {
        // The lines of a junction lie between its cell and the one before it.
        const bool on_x = car.axis == Axis::x;
        if (signal.kind != Signal::Kind::junction) continue;
        if ((on_x ? signal.y != car.y : signal.x != car.x)) continue;
        const std::int32_t line = on_x ? signal.x : signal.y;
        const bool was_below = (on_x ? car.x : car.y) < line;
        const bool is_below = (on_x ? at->second.x : at->second.y) < line;
        const bool turned_here = at->second.axis != car.axis &&
                                 (on_x ? at->second.x == signal.x : at->second.y == signal.y);
        if (was_below == is_below && !turned_here) continue;
        ++n_crossings;
        EXPECT_EQ(signal.axis, car.axis) << "car " << car.id << " at tick " << t;
      }
    }
    n_born += next.cars.size() - n_stayed;
    for (std::size_t i = 0; i < state.signals.size(); ++i)
      n_switches += state.signals[i].axis != next.signals[i].axis ? 1 : 0;
    state = next;
  }
  std::size_t n_passed = 0;
  for (const Signal& signal : state.signals)
    n_passed += signal.passed;
  EXPECT_EQ(n_born, n_passed);
  EXPECT_GT(n_born, 100U);
  EXPECT_GT(n_left, 100U);
  EXPECT_GT(n_crossings, 500U);
  EXPECT_GT(n_turns, 100U);
  EXPECT_GT(n_switches, 50U);
  EXPECT_GT(n_waiting, 500U);
}

// One street each way, the junction at (5, 5): a car waits at red until the queue turns the signal.
TEST(Traffic, a_queue_gets_green_after_the_least_time) {
  TrafficOptions options;
  options.columns = options.rows = 1;
  options.block = 10;
  options.lanes = 1;
  options.speed_max = 2;
  options.detector = 3;
  options.green_min = 4;
  options.density = options.inflow = options.dawdle = options.turning = 0;
  const TrafficModel model(options);
  auto state = model.init(TrafficModel::everything());
  ASSERT_EQ(state.signals.front().axis, Axis::x);
  Car car;
  car.id = 100;
  car.x = 5;
  car.y = 1;
  car.axis = Axis::y;
  state.cars = {car};
  std::vector<std::int32_t> places;
  for (Tick t = 0; t < 8 && !state.cars.empty(); ++t) {
    state = model.step(state, state, t);
    places.push_back(state.cars.empty() ? -1 : state.cars.front().y);
  }
  // Reaches the line at y = 4; green from tick 4 on; leaves the world at y = 10.
  EXPECT_EQ(places, (std::vector<std::int32_t>{2, 4, 4, 4, 5, 7, 9, -1}));
}

TEST(Traffic, a_state_written_and_read_is_the_same) {
  const TrafficModel model(TrafficOptions{});
  const auto state = tick::run_reference(model, TrafficModel::everything(), 10).state;
  Writer writer;
  model.write(writer, state);
  Reader reader(writer.view());
  EXPECT_TRUE(model.read(reader) == state);
  EXPECT_TRUE(reader.at_end());
  Reader cut(writer.view().first(writer.size() - 1));
  EXPECT_THROW((void)model.read(cut), Error);
}

TEST(Traffic, ids_are_unique_over_both_tables) {
  TrafficOptions options;
  options.inflow = 500;
  const TrafficModel model(options);
  const auto state = tick::run_reference(model, TrafficModel::everything(), 60).state;
  std::set<std::uint64_t> ids;
  std::size_t n = 0;
  model.for_each_tuple(state, [&](std::uint64_t id, ByteView bytes) {
    ids.insert(id);
    ++n;
    EXPECT_FALSE(bytes.empty());
  });
  EXPECT_EQ(ids.size(), n);
  EXPECT_EQ(n, state.cars.size() + state.signals.size());
}

TEST(Traffic, what_makes_no_streets_is_refused_by_name_and_range) {
  const auto refusal = [](auto&& change) {
    TrafficOptions options;
    change(options);
    try {
      (void)TrafficModel(options).part(65);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](TrafficOptions& o) { o.block = 5; }),
            "traffic: block: expected 6 to 1000, found 5");
  EXPECT_EQ(refusal([](TrafficOptions& o) { o.turning = 1001; }),
            "traffic: turning: expected 0 to 1000, found 1001");
  EXPECT_EQ(refusal([](TrafficOptions&) {}),
            "traffic on 8 x 8 blocks in 65 parts: expected 1 to 64, one a block");
}

TEST(Traffic, rows_of_a_file_have_every_tuple) {
  const TrafficModel model(TrafficOptions{});
  const auto state = model.init(TrafficModel::everything());
  tick::OutputRows rows(model.output_columns());
  model.output_rows(state, rows);
  EXPECT_EQ(rows.size(), state.cars.size() + state.signals.size());
  EXPECT_EQ(rows.number(1, 0), state.cars.front().x);
}

TEST(Traffic, a_picture_tells_cars_from_signals_and_green_from_red) {
  const TrafficModel model(TrafficOptions{});
  const auto columns = model.output_columns();
  const auto kind = std::ranges::find(columns, tick::ColumnUse::kind, &tick::OutputColumn::use);
  ASSERT_NE(kind, columns.end());
  tick::OutputRows rows(columns);
  model.output_rows(model.init(TrafficModel::everything()), rows);
  const auto& kinds = std::get<std::vector<std::string>>(
      rows.values()[static_cast<std::size_t>(kind - columns.begin())]);
  const tick::PictureStyle style = model.picture_style();
  EXPECT_EQ(style.tuples, "car");
  std::map<std::string, std::set<io::Mark>> marks;
  for (const tick::PictureKind& each : style.kinds) {
    EXPECT_NE(std::ranges::find(kinds, each.name), kinds.end()) << each.name;
    marks[each.name].insert(each.look.mark);
  }
  EXPECT_FALSE(marks.contains("car"));
  EXPECT_EQ(marks["junction"], (std::set{io::Mark::along, io::Mark::across}));
}

}  // namespace
}  // namespace rubato::models

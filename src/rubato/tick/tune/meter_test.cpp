// What a node measures of itself: a Dataflow of two, stepped by hand on a clock that the test moves.

#include "rubato/tick/tune/meter.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/testing/order_watch.hpp"

namespace rubato::tick {
namespace {

constexpr std::uint32_t kCores = 2;

class Clock final : public core::Port {
 public:
  void send(core::NodeId /*to*/, Bytes /*bytes*/) override {}
  void wake_at(Nanos /*when*/) override {}
  [[nodiscard]] Nanos now() const noexcept override { return time; }

  Nanos time = 0;
};

// What works of a tick take on their cores.
struct Took {
  Nanos step = 0;  // of each of two regions
  Nanos part = 0;
  Nanos pack = 0;
  Nanos unpack = 0;
};

// Two own regions, the second of which reads the other node's, and waits for it at each tick.
class MeterTest : public ::testing::Test {
 protected:
  MeterTest() {
    clock_.time = 5 * kSecond;  // that of a run begins anywhere
    flow_.start(clock_);
    meter_.follow(flow_, plan_.n_own, clock_.time);
  }

  // All that can run now, without the clock.
  void run_all(const Took& took) {
    for (core::Work work; flow_.next_work(0, work); meter_.look(clock_.time)) {
      flow_.run(work, 0);
      work.took = work.kind == step_own       ? took.step
                  : work.kind == interact_own ? took.part
                  : work.kind == pack_round   ? took.pack
                                              : took.unpack;
      n_parts_ += work.kind == interact_own ? 1 : 0;
      meter_.count(work);
      flow_.on_finished(clock_, work);
    }
  }
  // The clock moves on, then the fragment comes that the own tick waits for, after `delay`.
  void tick(Nanos passes, const Took& took, Nanos delay, Meter::MessageCost cost = {}) {
    clock_.time += passes;
    Writer out;
    out.put(detail::MessageHeader{detail::MessageType::pieces, 1, next_});
    out.put(std::uint64_t{0});  // of its first source
    out.put(next_++);
    out.put(std::uint64_t{0});  // without a payload
    meter_.count_message(1, delay, cost);
    flow_.on_message(clock_, 1, out.take());
    run_all(took);
  }
  // Up to the first own tick, from which on the meter counts.
  void begin() {
    run_all({});
    ASSERT_EQ(flow_.own_tick(), 1);
  }

  const Plan plan_ = testing::plan_beside_one(Policy::parse("pieces(1)"), {{0, 1}, {0, 1, 2}}, {1});
  testing::BookStore store_{plan_};
  Dataflow flow_{plan_, store_, {.ticks = 100}};
  Meter meter_{0, kCores};
  Clock clock_;
  Tick next_ = 1;    // of the next fragment
  int n_parts_ = 0;  // asynchronous ones that have run
};

TEST_F(MeterTest, a_tick_takes_what_passes_from_one_own_tick_to_the_next) {
  begin();
  for (int i = 0; i < 5; ++i)
    tick(2 * kMillisecond, {}, 0);
  NodeReport report = meter_.report(clock_.time, {});
  EXPECT_EQ(report.node, 0U);
  EXPECT_EQ(report.ticks, 5);
  EXPECT_DOUBLE_EQ(report.tick_time, 2e6);
  // Of what came after the last report alone.
  for (int i = 0; i < 3; ++i)
    tick(7 * kMillisecond, {}, 0);
  report = meter_.report(clock_.time, {});
  EXPECT_EQ(report.ticks, 3);
  EXPECT_DOUBLE_EQ(report.tick_time, 7e6);
}

TEST_F(MeterTest, what_a_node_is_late_by_before_a_tick_and_in_a_pause_is_in_no_tick) {
  clock_.time += kSecond;  // before it had anything to do
  begin();
  for (int i = 0; i < 4; ++i)
    tick(2 * kMillisecond, {}, 0);
  meter_.pause();
  meter_.count({step_own, 0, 0, nullptr, kSecond});
  tick(kSecond, {.step = 8000}, 0);
  for (int i = 0; i < 6; ++i)
    tick(3 * kMillisecond, {.step = 8000}, 0);
  const NodeReport report = meter_.report(clock_.time, {});
  EXPECT_EQ(report.ticks, 6);
  EXPECT_DOUBLE_EQ(report.tick_time, 3e6);
  EXPECT_DOUBLE_EQ(report.load.step, 2 * 8000 / kCores);
}

TEST_F(MeterTest, the_load_is_that_of_a_tick_over_the_cores) {
  begin();
  (void)meter_.report(clock_.time, {});  // of what costs nothing
  const Took took{.step = 30'000, .part = 500, .pack = 7000, .unpack = 3000};
  n_parts_ = 0;
  for (int i = 0; i < 4; ++i) {
    tick(kMillisecond, took, 0, {2000, 300});
    meter_.count_sent({2000, 100});
  }
  // Those of replicas, and what epochs do, are no own work.
  for (const std::uint32_t kind : {step_replica, move_state})
    meter_.count({kind, 0, 0, nullptr, kSecond});
  PieceSpread pieces;
  pieces.add(1000);
  pieces.add(3000);
  const NodeReport report = meter_.report(clock_.time, pieces);
  ASSERT_EQ(report.ticks, 4);
  EXPECT_DOUBLE_EQ(report.load.step, (2 * 30'000 + n_parts_ * 500 / 4.0) / kCores);
  EXPECT_DOUBLE_EQ(report.load.replicas, 1e9 / 4 / kCores);
  EXPECT_DOUBLE_EQ(report.load.message, (2000 + 2000) / kCores);
  EXPECT_DOUBLE_EQ(report.load.packing, (7000 + 3000 + 300 + 100) / kCores);
  EXPECT_DOUBLE_EQ(report.load.pieces.largest, 3000);
  EXPECT_DOUBLE_EQ(report.load.pieces.mean(), 2000);
  EXPECT_DOUBLE_EQ(report.load.pieces.deviation(), 0.5);
}

TEST_F(MeterTest, in_less_than_a_tick_the_load_is_what_it_was_but_the_spread_of_pieces) {
  begin();
  (void)meter_.report(clock_.time, {});
  tick(kMillisecond, {.step = 30'000, .pack = 4000}, 0, {2000, 0});
  PieceSpread one;
  one.add(10);
  const TickCosts load = meter_.report(clock_.time, one).load;
  EXPECT_DOUBLE_EQ(load.step, 30'000);
  clock_.time += 5 * kMillisecond;
  meter_.count({step_own, 0, 0, nullptr, kSecond});
  PieceSpread other;
  other.add(20);
  const NodeReport report = meter_.report(clock_.time, other);
  EXPECT_EQ(report.ticks, 0);
  EXPECT_DOUBLE_EQ(report.load.step, load.step);
  EXPECT_DOUBLE_EQ(report.load.message, load.message);
  EXPECT_DOUBLE_EQ(report.load.packing, load.packing);
  EXPECT_DOUBLE_EQ(report.load.pieces.largest, 20);
  // The time of a tick that has begun, as far as it goes.
  EXPECT_DOUBLE_EQ(report.tick_time, 5e6);
}

TEST_F(MeterTest, each_link_has_delays_of_its_own_from_the_first_own_tick_on) {
  meter_.count_message(1, kSecond, {});
  begin();
  for (const Nanos delay : {400'000, 100'000, 300'000, 200'000})
    tick(kMillisecond, {}, delay);
  meter_.count_message(7, -900'000, {});  // by a clock that is ahead
  meter_.pause();
  meter_.count_message(7, kSecond, {});
  tick(kMillisecond, {}, kSecond);
  const NodeReport report = meter_.report(clock_.time, {});
  ASSERT_EQ(report.delays.size(), 2U);
  EXPECT_EQ(report.delays[0].first, 1U);
  const Delays& near = report.delays[0].second;
  EXPECT_EQ(near.n, 4U);
  EXPECT_DOUBLE_EQ(near.least, 100'000);
  EXPECT_NEAR(near.draw(0.1), 0, 1);
  EXPECT_NEAR(near.draw(0.9999), 300'000, 1);
  EXPECT_EQ(report.delays[1].first, 7U);
  EXPECT_EQ(report.delays[1].second.n, 1U);
  EXPECT_DOUBLE_EQ(report.delays[1].second.least, -900'000);
}

TEST_F(MeterTest, a_report_is_what_it_was_on_the_other_side) {
  begin();
  for (const Nanos delay : {90'000, 10'000})
    tick(kMillisecond, {.step = 5000, .pack = 600}, delay, {700, 80});
  PieceSpread pieces;
  pieces.add(4321);
  pieces.add(1234);
  NodeReport report = meter_.report(clock_.time, pieces);
  report.load.indivisible = 7;
  report.node = 12;
  report.shape.size = 77;
  report.shape.inside = {50, 20};
  report.shape.inside_of = {{50, 20}, {}, {30}};
  report.shape.layers = 1;
  report.shape.links = {{1, {8, 9}, {0}}};
  Writer out;
  report.put(out);
  const Bytes bytes = out.take();
  Reader in(bytes);
  const NodeReport copy = NodeReport::get(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(copy.node, report.node);
  EXPECT_EQ(copy.ticks, report.ticks);
  EXPECT_EQ(copy.tick_time, report.tick_time);
  EXPECT_EQ(copy.load.step, report.load.step);
  EXPECT_EQ(copy.load.pieces.n, 2);
  EXPECT_EQ(copy.load.pieces.deviation(), report.load.pieces.deviation());
  EXPECT_EQ(copy.load.pieces.largest, report.load.pieces.largest);
  EXPECT_EQ(copy.load.indivisible, 7);
  EXPECT_EQ(copy.load.message, report.load.message);
  EXPECT_EQ(copy.load.packing, report.load.packing);
  ASSERT_EQ(copy.delays.size(), 1U);
  EXPECT_EQ(copy.delays[0].first, 1U);
  EXPECT_EQ(copy.delays[0].second.n, 2U);
  EXPECT_EQ(copy.delays[0].second.least, report.delays[0].second.least);
  EXPECT_EQ(copy.delays[0].second.above, report.delays[0].second.above);
  EXPECT_EQ(copy.shape.inside, report.shape.inside);
  EXPECT_EQ(copy.shape.inside_of, report.shape.inside_of);
  EXPECT_EQ(copy.shape.links.back().layers, report.shape.links.back().layers);
}

}  // namespace
}  // namespace rubato::tick

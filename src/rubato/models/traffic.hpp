#pragma once
// traffic: cars and signals on a grid of one-way streets; the example of a general model, with all
// eight functions of [Ticks Table 1] written by hand, and its pieces. Read tick/model.hpp beside it.
//
// Two tables and a query over both:
//   Car     (id, x, y, axis, lane, speed, turns, entered)   moves, enters, leaves
//   Signal  (id, x, y, kind, axis, timer, passed)           stands; junctions and gates
//   Query   areas of cars and areas of signals, since the tables depend on each other by
//           different distances
//
//   who       reads                                              writes
//   car       cars ahead of it, and signals, within `speed_max`  itself, so far away; or nothing
//   junction  cars within `detector` before its stop lines       itself
//   gate      cars at its own place                              itself, and cars born there
//
// Streets: row j runs along x at y = (j + 1/2) block, eastwards if j is even, else westwards;
// column i along y at x = (i + 1/2) block, northwards if i is even. A street has lanes of cells; a
// lane is left only by a turn into the same lane of the crossing street. A stop line lies between
// two cells: crossing takes no time, so no junction is ever blocked. All numbers are integers, and
// a car is a function of what lies ahead of it, so bits depend on no order.
//
// Cars follow Nagel and Schreckenberg (1992): accelerate by one, keep off the car ahead, brake at
// random. No two cars are ever in one cell of a lane: those ahead only move away, the crossing
// street is stopped while ours has green, and a lane is entered from one side only.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/geometry/box.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/output/schema.hpp"

namespace rubato::models {

using tick::Tick;

enum class Axis : std::uint8_t { x, y };  // the direction that a street runs along
[[nodiscard]] constexpr Axis other(Axis axis) noexcept {
  return axis == Axis::x ? Axis::y : Axis::x;
}

struct Car {
  std::uint64_t id = 0;
  std::int32_t x = 0;
  std::int32_t y = 0;
  Axis axis = Axis::x;  // of the street it is on
  std::uint8_t lane = 0;
  std::uint8_t speed = 0;   // cells of the last tick
  std::uint32_t turns = 0;  // that it has taken
  Tick entered = 0;
  bool operator==(const Car&) const = default;
};

struct Signal {
  enum class Kind : std::uint8_t { junction, gate };
  std::uint64_t id = 0;
  std::int32_t x = 0;
  std::int32_t y = 0;
  Kind kind = Kind::junction;
  Axis axis = Axis::x;       // junction: which street has green; gate: its street
  std::int32_t timer = 0;    // junction: ticks since it changed
  std::uint32_t passed = 0;  // gate: cars let in so far
  bool operator==(const Signal&) const = default;
};

// The global state, or any part of it: both tables by ascending id.
struct TrafficState {
  std::vector<Car> cars;
  std::vector<Signal> signals;
  bool operator==(const TrafficState&) const = default;
};

// Cells, as boxes of them that do not overlap. A node may have pieces that are no box together.
using Area = tick::Box<std::int32_t, 2>;
using Areas = tick::BoxSet<std::int32_t, 2>;

struct TrafficQuery {
  Areas cars;
  Areas signals;
  bool operator==(const TrafficQuery&) const = default;
};

struct TrafficOptions {
  std::uint64_t seed = 1;
  std::int32_t columns = 8;  // streets along y
  std::int32_t rows = 8;     // streets along x
  std::int32_t block = 20;   // cells between two parallel streets
  std::int32_t lanes = 2;    // of each street, 1 to 4
  std::int32_t speed_max = 5;
  std::int32_t detector = 8;   // cells before a stop line in which a junction counts cars
  std::int32_t green_min = 5;  // ticks
  std::int32_t green_max = 40;
  // In 1000: cells that have a car at tick 0; ticks in which a gate has a car for a lane; moves
  // that a driver dawdles in; junctions that a car turns at.
  std::int32_t density = 100;
  std::int32_t inflow = 100;
  std::int32_t dawdle = 150;
  std::int32_t turning = 250;
  // The run ends when no car is left.
  bool stop_when_empty = false;
  Tick stop_interval = 10;
  Tick stop_lag = 10;

  // Throws Error (usage) naming what is out of its range.
  void validate() const;
};

class TrafficModel {
 public:
  using State = TrafficState;
  using Query = TrafficQuery;

  // Throws Error (usage) for options that make no streets.
  explicit TrafficModel(TrafficOptions options);

  // Selects all of both tables.
  [[nodiscard]] static Query everything();

  // --- the eight functions of [Ticks Table 1] ---

  // Rectangles of whole blocks, as equal as they can be. Throws Error for more parts than blocks.
  [[nodiscard]] std::vector<Query> part(std::uint32_t n) const;
  [[nodiscard]] State init(const Query& q) const;
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const;
  // Cars need the cars and signals within speed_max, signals the cars within the detector's reach.
  [[nodiscard]] Query read_dependencies(const Query& q) const;
  [[nodiscard]] Query read_exclusive(const Query& q) const;
  // A car comes from at most speed_max away, or from a gate at its place.
  [[nodiscard]] Query write_dependencies(const Query& q) const;
  [[nodiscard]] Query write_exclusive(const Query& q) const;
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const;

  // --- pieces, which move between nodes (HasPieces in tick/model.hpp) ---

  // Rectangles of whole blocks, as many as there are blocks at most, in an order in which a stretch of
  // them is compact: they depend on n and the streets alone.
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const;
  [[nodiscard]] std::uint32_t good_pieces(std::uint32_t wanted, std::uint32_t least) const;
  // What any of them selects.
  [[nodiscard]] Query join(std::span<const Query> queries) const;

  // --- operations on states ---

  [[nodiscard]] State select(const State& state, const Query& q) const;
  [[nodiscard]] State difference(const State& a, const State& b) const;
  void merge(State& into, const State& from) const;
  void write(Writer& writer, const State& state) const;
  [[nodiscard]] State read(Reader& reader) const;

  // --- optional parts ---

  // For policy auto (HasSize, HasIntersection in tick/tune/node_shape_of.hpp): cells of streets are alike.
  [[nodiscard]] double size(const Query& q) const;
  [[nodiscard]] Query intersection(const Query& a, const Query& b) const;

  // The stop condition: the number of cars left. Counts add up exactly in any order.
  using Measure = std::uint64_t;
  [[nodiscard]] Measure measure(const State& /*before*/, const State& after) const {
    return after.cars.size();
  }
  void combine(Measure& into, const Measure& from) const { into += from; }
  [[nodiscard]] bool stop(const Measure& n_cars, Tick /*t*/) const { return n_cars == 0; }
  [[nodiscard]] Tick stop_interval() const {
    return options_.stop_when_empty ? options_.stop_interval : 0;
  }
  [[nodiscard]] Tick stop_lag() const { return options_.stop_lag; }

  // Nanoseconds in virtual time, linear in what is stepped and read.
  [[nodiscard]] std::int64_t step_cost(const State& to_step, const State& context) const;
  // For checksums and `rubato check`; ids are unique over both tables, and ascend.
  void for_each_tuple(const State& state,
                      const std::function<void(std::uint64_t, ByteView)>& f) const;
  // For `rubato check`, which steps some tuples alone and asks for areas that no run would have:
  // the tuples whose ids `keep` wants, and areas anywhere in the world and a little beyond it.
  [[nodiscard]] State filter(const State& state,
                             const std::function<bool(std::uint64_t)>& keep) const;
  [[nodiscard]] Query sample_query(RandomStream& random) const;
  // For files and pictures (tick/output/schema.hpp).
  [[nodiscard]] std::vector<tick::OutputColumn> output_columns() const;
  [[nodiscard]] tick::PictureStyle picture_style() const;
  void output_rows(const State& state, tick::OutputRows& rows) const;
  [[nodiscard]] std::pair<std::array<double, 3>, std::array<double, 3>> picture_world() const;

  [[nodiscard]] const TrafficOptions& options() const noexcept { return options_; }
  // Cells along an axis.
  [[nodiscard]] std::int32_t length(Axis axis) const noexcept;
  // +1 or -1: the way of the street that runs along `axis` through this place.
  [[nodiscard]] std::int32_t direction(Axis axis, std::int32_t x, std::int32_t y) const noexcept;

 private:
  // True in `per_mille` of 1000 cases.
  [[nodiscard]] static bool happens(std::uint32_t random_word, std::int32_t per_mille) noexcept {
    return random_word % 1000 < static_cast<std::uint32_t>(per_mille);
  }

  class Lanes;      // cars by lane and place
  struct StopLine;  // the next one ahead of a car

  [[nodiscard]] std::int32_t n_streets(Axis axis) const noexcept;
  [[nodiscard]] std::int32_t street_at(std::int32_t index) const noexcept {
    return index * options_.block + options_.block / 2;
  }
  [[nodiscard]] std::uint64_t lane_of(Axis axis, std::int32_t across,
                                      std::int32_t lane) const noexcept;
  void init_street(State& state, const Area& area, Axis axis, std::int32_t street) const;
  [[nodiscard]] std::vector<Signal> all_signals() const;
  void cut(std::vector<Query>& parts, const Area& blocks, std::uint32_t n) const;
  [[nodiscard]] Query cells_of(const Area& blocks) const;

  [[nodiscard]] StopLine stop_line(const Car& car) const;
  [[nodiscard]] bool turns(const Car& car, const StopLine& line) const;
  [[nodiscard]] bool has_green(const Car& car, const StopLine& line, const State& context) const;
  // Moves the car on; false if it left.
  [[nodiscard]] bool drive(Car& car, const State& context, const Lanes& lanes, Tick t) const;
  void switch_if_due(Signal& junction, const Lanes& lanes) const;
  [[nodiscard]] std::int32_t queue(const Signal& junction, Axis axis, const Lanes& lanes) const;
  void let_in(Signal& gate, const Lanes& lanes, Tick t, std::vector<Car>& cars) const;

  TrafficOptions options_;
  tick::Space<std::int32_t, 2> space_;  // all cells: nothing is read or comes in from beyond
};

}  // namespace rubato::models

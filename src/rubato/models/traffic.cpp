#include "rubato/models/traffic.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "rubato/tick/geometry/curve.hpp"
#include "rubato/tick/grid/partition.hpp"

namespace rubato::models {
namespace {

// Ids of the first cars: above those of signals, below those of cars that are born.
constexpr std::uint64_t kFirstCars = std::uint64_t{1} << 62;

constexpr std::uint64_t kInitialDraw = std::uint64_t{1} << 63;  // no tick has this number

template <class Tuple>
std::vector<Tuple> minus(const std::vector<Tuple>& a, const std::vector<Tuple>& b) {
  std::vector<Tuple> result;
  std::ranges::set_difference(a, b, std::back_inserter(result), {}, &Tuple::id, &Tuple::id);
  return result;
}

template <class Tuple>
void unite(std::vector<Tuple>& into, const std::vector<Tuple>& from) {
  std::vector<Tuple> result;
  std::ranges::set_union(into, from, std::back_inserter(result), {}, &Tuple::id, &Tuple::id);
  into = std::move(result);
}

void put(Writer& writer, const Car& car) {
  writer.put(car.id);
  writer.put(car.x);
  writer.put(car.y);
  writer.put(car.axis);
  writer.put(car.lane);
  writer.put(car.speed);
  writer.put(car.turns);
  writer.put(car.entered);
}

void put(Writer& writer, const Signal& signal) {
  writer.put(signal.id);
  writer.put(signal.x);
  writer.put(signal.y);
  writer.put(signal.kind);
  writer.put(signal.axis);
  writer.put(signal.timer);
  writer.put(signal.passed);
}

}  // namespace

void TrafficOptions::validate() const {
  const auto within = [](const char* name, std::int64_t found, std::int64_t least,
                         std::int64_t most) {
    if (found >= least && found <= most) return;
    throw Error(std::string("traffic: ") + name + ": expected " + std::to_string(least) + " to " +
                    std::to_string(most) + ", found " + std::to_string(found),
                ExitCode::usage);
  };
  within("columns", columns, 1, 100'000);
  within("rows", rows, 1, 100'000);
  within("speed-max", speed_max, 1, 100);
  // A move crosses one stop line at most.
  within("block", block, std::max(2, speed_max + 1), 1000);
  within("lanes", lanes, 1, 4);
  within("detector", detector, 1, block);
  within("green-min", green_min, 0, 1'000'000);
  within("green-max", green_max, green_min, 1'000'000);
  for (const auto& [name, value] : {std::pair{"density", density}, std::pair{"inflow", inflow},
                                    std::pair{"dawdle", dawdle}, std::pair{"turning", turning}}) {
    within(name, value, 0, 1000);
  }
  within("stop-interval", stop_interval, 1, 1'000'000);
  within("stop-lag", stop_lag, 0, 1'000'000);
}

TrafficModel::TrafficModel(TrafficOptions options) : options_(options) {
  options_.validate();
  space_.world.high = {length(Axis::x), length(Axis::y)};
}

TrafficQuery TrafficModel::everything() {
  constexpr std::int32_t kFar = 1 << 29;
  const Areas all(Area{{-kFar, -kFar}, {kFar, kFar}});
  return {all, all};
}

std::int32_t TrafficModel::n_streets(Axis axis) const noexcept {
  return axis == Axis::x ? options_.rows : options_.columns;
}

std::int32_t TrafficModel::length(Axis axis) const noexcept {
  return n_streets(other(axis)) * options_.block;
}

std::int32_t TrafficModel::direction(Axis axis, std::int32_t x, std::int32_t y) const noexcept {
  const std::int32_t street = (axis == Axis::x ? y : x) / options_.block;
  return street % 2 == 0 ? 1 : -1;
}

// --- PART and NEW ---

// Blocks are cut along the longer side, in proportion, again and again.
void TrafficModel::cut(std::vector<Query>& parts, const Area& blocks, std::uint32_t n) const {
  if (n == 1) {
    parts.push_back(cells_of(blocks));
    return;
  }
  const std::size_t longer = blocks.width(0) >= blocks.width(1) ? 0 : 1;
  const std::int64_t width = blocks.width(longer);
  const std::int64_t height = blocks.width(1 - longer);
  const std::int64_t first = width / 2;
  const std::int64_t n_first =
      std::clamp(n * first / width, std::max(std::int64_t{1}, n - (width - first) * height),
                 std::min(std::int64_t{n} - 1, first * height));
  Area low = blocks;
  Area high = blocks;
  low.high[longer] = high.low[longer] = blocks.low[longer] + static_cast<std::int32_t>(first);
  cut(parts, low, static_cast<std::uint32_t>(n_first));
  cut(parts, high, n - static_cast<std::uint32_t>(n_first));
}

TrafficQuery TrafficModel::cells_of(const Area& blocks) const {
  Area cells;
  for (std::size_t d = 0; d < 2; ++d) {
    cells.low[d] = blocks.low[d] * options_.block;
    cells.high[d] = blocks.high[d] * options_.block;
  }
  return {Areas(cells), Areas(cells)};
}

std::vector<TrafficQuery> TrafficModel::part(std::uint32_t n) const {
  const std::int64_t n_blocks = std::int64_t{options_.columns} * options_.rows;
  if (n == 0 || n > n_blocks) {
    throw Error("traffic on " + std::to_string(options_.columns) + " x " +
                    std::to_string(options_.rows) + " blocks in " + std::to_string(n) +
                    " parts: expected 1 to " + std::to_string(n_blocks) + ", one a block",
                ExitCode::usage);
  }
  std::vector<Query> parts;
  cut(parts, {{0, 0}, {options_.columns, options_.rows}}, n);
  return parts;
}

std::vector<TrafficQuery> TrafficModel::pieces(std::uint32_t n) const {
  const tick::Box<std::int64_t, 2> all{{0, 0}, {options_.columns, options_.rows}};
  std::vector<Query> pieces;
  for (const auto& blocks : tick::cut_along_curve(all, n)) {
    const auto narrow = [](const std::array<std::int64_t, 2>& at) {
      return std::array{static_cast<std::int32_t>(at[0]), static_cast<std::int32_t>(at[1])};
    };
    pieces.push_back(cells_of({narrow(blocks.low), narrow(blocks.high)}));
  }
  return pieces;
}

// A car sees less than a block ahead.
std::uint32_t TrafficModel::good_pieces(std::uint32_t wanted, std::uint32_t least) const {
  constexpr std::int64_t kBlocksOfPiece = 3;
  const std::array<std::int64_t, 2> blocks{options_.columns, options_.rows};
  return tick::good_piece_count(blocks, kBlocksOfPiece, wanted, least);
}

TrafficQuery TrafficModel::join(std::span<const Query> queries) const {
  std::vector<Area> cars;
  std::vector<Area> signals;
  for (const Query& q : queries) {
    cars.insert(cars.end(), q.cars.boxes().begin(), q.cars.boxes().end());
    signals.insert(signals.end(), q.signals.boxes().begin(), q.signals.boxes().end());
  }
  return {Areas::of_disjoint(std::move(cars)), Areas::of_disjoint(std::move(signals))};
}

// Junctions row by row, then the gates of the rows and of the columns.
std::vector<Signal> TrafficModel::all_signals() const {
  std::vector<Signal> signals;
  for (std::int32_t j = 0; j < options_.rows; ++j) {
    for (std::int32_t i = 0; i < options_.columns; ++i) {
      Signal junction;
      junction.id = signals.size();
      junction.x = street_at(i);
      junction.y = street_at(j);
      junction.axis = (i + j) % 2 == 0 ? Axis::x : Axis::y;
      signals.push_back(junction);
    }
  }
  for (const Axis axis : {Axis::x, Axis::y}) {
    for (std::int32_t street = 0; street < n_streets(axis); ++street) {
      const std::int32_t across = street_at(street);
      const std::int32_t first = direction(axis, across, across) > 0 ? 0 : length(axis) - 1;
      Signal gate;
      gate.id = signals.size();
      gate.kind = Signal::Kind::gate;
      gate.axis = axis;
      gate.x = axis == Axis::x ? first : across;
      gate.y = axis == Axis::x ? across : first;
      signals.push_back(gate);
    }
  }
  return signals;
}

// A number for each lane of each street: rows are even, columns odd.
std::uint64_t TrafficModel::lane_of(Axis axis, std::int32_t across,
                                    std::int32_t lane) const noexcept {
  const auto street = static_cast<std::uint64_t>(across / options_.block);
  return (street * 2 + (axis == Axis::y ? 1 : 0)) * 4 + static_cast<std::uint64_t>(lane);
}

void TrafficModel::init_street(State& state, const Area& area, Axis axis,
                               std::int32_t street) const {
  const std::int32_t across = street_at(street);
  const std::size_t d = axis == Axis::x ? 0 : 1;
  const std::int32_t begin = std::max(0, area.low[d]);
  const std::int32_t end = std::min(length(axis), area.high[d]);
  if (across < area.low[1 - d] || across >= area.high[1 - d]) return;
  for (std::int32_t lane = 0; lane < options_.lanes; ++lane) {
    for (std::int32_t along = begin; along < end; ++along) {
      const std::uint64_t cell =
          lane_of(axis, across, lane) << 32 | static_cast<std::uint32_t>(along);
      if (!happens(random_words(options_.seed, cell, kInitialDraw)[0], options_.density)) continue;
      Car car;
      car.id = kFirstCars | cell;
      car.x = axis == Axis::x ? along : across;
      car.y = axis == Axis::x ? across : along;
      car.axis = axis;
      car.lane = static_cast<std::uint8_t>(lane);
      state.cars.push_back(car);
    }
  }
}

TrafficState TrafficModel::init(const Query& q) const {
  State state;
  for (const Axis axis : {Axis::x, Axis::y}) {
    for (std::int32_t street = 0; street < n_streets(axis); ++street) {
      for (const Area& area : q.cars.boxes())
        init_street(state, area, axis, street);
    }
  }
  std::ranges::sort(state.cars, {}, &Car::id);
  for (const Signal& signal : all_signals()) {
    if (q.signals.contains({signal.x, signal.y})) state.signals.push_back(signal);
  }
  return state;
}

// --- R_D, R_X, W_D, W_X, DISJOINT ---

namespace {

double n_cells_of(const Area& area) {
  return static_cast<double>(area.width(0)) * static_cast<double>(area.width(1));
}

// Both together, in few boxes: layers of layers are made of them. The largest first, so that one that
// lies in another one cuts nothing out of it.
Areas either(const Areas& a, const Areas& b) {
  std::vector<Area> all = a.boxes();
  all.insert(all.end(), b.boxes().begin(), b.boxes().end());
  std::ranges::stable_sort(all, std::ranges::greater(), n_cells_of);
  Areas sum;
  for (const Area& area : all)
    sum.add(area);
  return Areas::of_disjoint(sum.boxes());
}

}  // namespace

TrafficQuery TrafficModel::read_dependencies(const Query& q) const {
  const Areas near_cars = space_.grown(q.cars, options_.speed_max);
  return {either(near_cars, space_.grown(q.signals, options_.detector)),
          either(q.signals, near_cars)};
}

TrafficQuery TrafficModel::read_exclusive(const Query& q) const {
  return {space_.shrunk(q.cars, options_.speed_max)
              .intersect(space_.shrunk(q.signals, options_.speed_max)),
          q.signals.intersect(space_.shrunk(q.cars, options_.detector))};
}

TrafficQuery TrafficModel::write_dependencies(const Query& q) const {
  return {either(space_.grown(q.cars, options_.speed_max), {}), either(q.signals, q.cars)};
}

TrafficQuery TrafficModel::write_exclusive(const Query& q) const {
  return {space_.shrunk(q.cars, options_.speed_max).intersect(q.signals), q.signals};
}

bool TrafficModel::disjoint(const Query& a, const Query& b) const {
  return !a.cars.meets(b.cars) && !a.signals.meets(b.signals);
}

// --- states ---

TrafficState TrafficModel::select(const State& state, const Query& q) const {
  State result;
  std::ranges::copy_if(state.cars, std::back_inserter(result.cars), [&](const Car& car) {
    return q.cars.contains({car.x, car.y});
  });
  std::ranges::copy_if(state.signals, std::back_inserter(result.signals), [&](const Signal& s) {
    return q.signals.contains({s.x, s.y});
  });
  return result;
}

TrafficState TrafficModel::difference(const State& a, const State& b) const {
  return {minus(a.cars, b.cars), minus(a.signals, b.signals)};
}

void TrafficModel::merge(State& into, const State& from) const {
  unite(into.cars, from.cars);
  unite(into.signals, from.signals);
}

void TrafficModel::write(Writer& writer, const State& state) const {
  writer.put(static_cast<std::uint64_t>(state.cars.size()));
  for (const Car& car : state.cars)
    put(writer, car);
  writer.put(static_cast<std::uint64_t>(state.signals.size()));
  for (const Signal& signal : state.signals)
    put(writer, signal);
}

TrafficState TrafficModel::read(Reader& reader) const {
  State state;
  for (auto n = reader.get<std::uint64_t>(); n > 0; --n) {
    Car car;
    car.id = reader.get<std::uint64_t>();
    car.x = reader.get<std::int32_t>();
    car.y = reader.get<std::int32_t>();
    car.axis = reader.get<Axis>();
    car.lane = reader.get<std::uint8_t>();
    car.speed = reader.get<std::uint8_t>();
    car.turns = reader.get<std::uint32_t>();
    car.entered = reader.get<Tick>();
    state.cars.push_back(car);
  }
  for (auto n = reader.get<std::uint64_t>(); n > 0; --n) {
    Signal signal;
    signal.id = reader.get<std::uint64_t>();
    signal.x = reader.get<std::int32_t>();
    signal.y = reader.get<std::int32_t>();
    signal.kind = reader.get<Signal::Kind>();
    signal.axis = reader.get<Axis>();
    signal.timer = reader.get<std::int32_t>();
    signal.passed = reader.get<std::uint32_t>();
    state.signals.push_back(signal);
  }
  return state;
}

// --- optional parts ---

double TrafficModel::size(const Query& q) const {
  double n_cells = 0;
  for (const Area& area : q.cars.boxes())
    n_cells += n_cells_of(area);
  return n_cells;
}

TrafficQuery TrafficModel::intersection(const Query& a, const Query& b) const {
  return {a.cars.intersect(b.cars), a.signals.intersect(b.signals)};
}

std::int64_t TrafficModel::step_cost(const State& to_step, const State& context) const {
  return static_cast<std::int64_t>(150 * to_step.cars.size() + 100 * to_step.signals.size() +
                                   50 * context.cars.size());
}

void TrafficModel::for_each_tuple(const State& state,
                                  const std::function<void(std::uint64_t, ByteView)>& f) const {
  const auto each = [&f](const auto& tuple) {
    Writer writer;
    put(writer, tuple);
    f(tuple.id, writer.view());
  };
  // In the order of ids: those of cars are larger.
  std::ranges::for_each(state.signals, each);
  std::ranges::for_each(state.cars, each);
}

TrafficState TrafficModel::filter(const State& state,
                                  const std::function<bool(std::uint64_t)>& keep) const {
  State result;
  std::ranges::copy_if(state.cars, std::back_inserter(result.cars), keep, &Car::id);
  std::ranges::copy_if(state.signals, std::back_inserter(result.signals), keep, &Signal::id);
  return result;
}

TrafficQuery TrafficModel::sample_query(RandomStream& random) const {
  const auto area = [&] {
    const auto side = [&](Axis axis) {
      const auto at = [&] {
        return static_cast<std::int32_t>(
            random.between(-options_.block, length(axis) + options_.block));
      };
      const std::int32_t one = at();
      const std::int32_t two = at();
      return std::pair(std::min(one, two), std::max(one, two));
    };
    const auto [x0, x1] = side(Axis::x);
    const auto [y0, y1] = side(Axis::y);
    return Areas(Area{{x0, y0}, {x1, y1}});
  };
  const Areas cars = area();
  return {cars, area()};
}

std::vector<tick::OutputColumn> TrafficModel::output_columns() const {
  using tick::ColumnType;
  using tick::ColumnUse;
  return {{"kind", ColumnType::text, ColumnUse::kind},
          {"x", ColumnType::i64, ColumnUse::x},
          {"y", ColumnType::i64, ColumnUse::y},
          {"heading_x", ColumnType::i64, ColumnUse::heading_x},
          {"heading_y", ColumnType::i64, ColumnUse::heading_y},
          {"is_signal", ColumnType::i64},
          {"lane", ColumnType::i64},
          {"speed", ColumnType::i64}};
}

// A junction is two bars, as the streets see its signal; their colours are brighter than those of
// any heading.
tick::PictureStyle TrafficModel::picture_style() const {
  tick::PictureStyle style;
  style.title = "Cars and signals on one-way streets";
  style.tuples = "car";
  style.kinds = {{"junction", {"signal: red for this street", {240, 50, 40}, io::Mark::across}},
                 {"junction", {"signal: green for this street", {60, 220, 70}, io::Mark::along}},
                 {"gate", {"gate: cars come in", {255, 255, 255}, io::Mark::disc}}};
  return style;
}

// A signal's heading is that of the street which has green.
void TrafficModel::output_rows(const State& state, tick::OutputRows& rows) const {
  const auto add = [&](std::string kind, const auto& tuple, bool is_signal) {
    const std::int64_t way = direction(tuple.axis, tuple.x, tuple.y);
    rows.begin(tuple.id)
        .add(std::move(kind))
        .add(std::int64_t{tuple.x})
        .add(std::int64_t{tuple.y})
        .add(tuple.axis == Axis::x ? way : std::int64_t{0})
        .add(tuple.axis == Axis::y ? way : std::int64_t{0})
        .add(std::int64_t{is_signal ? 1 : 0});
  };
  for (const Car& car : state.cars) {
    add("car", car, false);
    rows.add(std::int64_t{car.lane}).add(std::int64_t{car.speed});
  }
  for (const Signal& signal : state.signals) {
    add(signal.kind == Signal::Kind::gate ? "gate" : "junction", signal, true);
    rows.add(std::int64_t{0}).add(std::int64_t{0});
  }
}

std::pair<std::array<double, 3>, std::array<double, 3>> TrafficModel::picture_world() const {
  return {{0, 0, 0},
          {static_cast<double>(length(Axis::x)), static_cast<double>(length(Axis::y)), 1}};
}

}  // namespace rubato::models

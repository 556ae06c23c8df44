// STEP of the model traffic (traffic.hpp): how cars drive, junctions switch and gates let in.

#include <algorithm>
#include <utility>

#include "rubato/base/random.hpp"
#include "rubato/models/traffic.hpp"

namespace rubato::models {
namespace {

constexpr std::uint64_t kBornCars = std::uint64_t{1} << 63;  // ids of cars that came through a gate
constexpr std::uint64_t kTurnDraw = (std::uint64_t{1} << 63) + 1;  // no tick has this number

}  // namespace

class TrafficModel::Lanes {
 public:
  Lanes(const TrafficModel& model, const std::vector<Car>& cars) {
    for (const Car& car : cars) {
      const bool on_x = car.axis == Axis::x;
      places_.emplace_back(model.lane_of(car.axis, on_x ? car.y : car.x, car.lane),
                           on_x ? car.x : car.y);
    }
    std::ranges::sort(places_);
  }

  // Free cells from `along`, itself included, towards `direction`; at most `most`.
  [[nodiscard]] std::int32_t free_from(std::uint64_t lane, std::int32_t along,
                                       std::int32_t direction, std::int32_t most) const {
    const auto from = std::ranges::lower_bound(places_, Place(lane, along));
    if (direction > 0) {
      if (from == places_.end() || from->first != lane) return most;
      return std::min(most, from->second - along);
    }
    if (from != places_.end() && *from == Place(lane, along)) return 0;
    if (from == places_.begin() || std::prev(from)->first != lane) return most;
    return std::min(most, along - std::prev(from)->second);
  }

  // Cars at [low, high] of a lane.
  [[nodiscard]] std::int32_t count(std::uint64_t lane, std::int32_t low, std::int32_t high) const {
    const auto begin = std::ranges::lower_bound(places_, Place(lane, low));
    const auto end = std::ranges::upper_bound(places_, Place(lane, high));
    return static_cast<std::int32_t>(end - begin);
  }

 private:
  using Place = std::pair<std::uint64_t, std::int32_t>;  // lane, cell along it
  std::vector<Place> places_;
};

// The stop line that a car comes to next.
struct TrafficModel::StopLine {
  std::int32_t distance = 0;  // cells that it may still move before it
  std::int32_t street = -1;   // index of the street that crosses there; -1: the way out is free
};

TrafficModel::StopLine TrafficModel::stop_line(const Car& car) const {
  const std::int32_t along = car.axis == Axis::x ? car.x : car.y;
  const std::int32_t half = options_.block / 2;
  // Eastwards the line at street i lies before cell street_at(i), westwards behind it.
  if (direction(car.axis, car.x, car.y) > 0) {
    const std::int32_t street = along < half ? 0 : (along - half) / options_.block + 1;
    if (street >= n_streets(other(car.axis))) return {};
    return {street_at(street) - 1 - along, street};
  }
  if (along < half) return {};
  const std::int32_t street = (along - half) / options_.block;
  return {along - street_at(street), street};
}

// Drawn for car and junction, so that nobody changes his mind at a red light, and for the turns so
// far, so that nobody drives around a block for ever.
bool TrafficModel::turns(const Car& car, const StopLine& line) const {
  const auto junction = static_cast<std::uint64_t>(line.street) << 32 |
                        lane_of(car.axis, car.axis == Axis::x ? car.y : car.x, 0);
  return happens(random_words(options_.seed ^ junction, car.id, kTurnDraw + car.turns)[0],
                 options_.turning);
}

bool TrafficModel::has_green(const Car& car, const StopLine& line, const State& context) const {
  const std::int32_t own_street = (car.axis == Axis::x ? car.y : car.x) / options_.block;
  const std::int32_t i = car.axis == Axis::x ? line.street : own_street;
  const std::int32_t j = car.axis == Axis::x ? own_street : line.street;
  const auto id = static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(options_.columns) +
                  static_cast<std::uint64_t>(i);
  const auto at = std::ranges::lower_bound(context.signals, id, {}, &Signal::id);
  RUBATO_ASSERT(at != context.signals.end() && at->id == id, id, car.id);
  return at->axis == car.axis;
}

bool TrafficModel::drive(Car& car, const State& context, const Lanes& lanes, Tick t) const {
  const bool on_x = car.axis == Axis::x;
  std::int32_t& along = on_x ? car.x : car.y;
  std::int32_t& across = on_x ? car.y : car.x;
  const std::int32_t way = direction(car.axis, car.x, car.y);
  const StopLine line = stop_line(car);
  std::int32_t speed = std::min(car.speed + 1, options_.speed_max);
  std::int32_t room = lanes.free_from(lane_of(car.axis, across, car.lane), along + way, way, speed);

  // Where a turn leads: the first cell behind the line on the crossing street, and its way.
  const Axis turned = other(car.axis);
  const std::int32_t turned_across = line.street < 0 ? 0 : street_at(line.street);
  const std::int32_t turned_way = direction(turned, turned_across, turned_across);
  const std::int32_t turned_first = turned_way > 0 ? across : across - 1;
  const bool turning = line.street >= 0 && turns(car, line);
  if (line.street >= 0 && std::min(speed, room) > line.distance && !has_green(car, line, context)) {
    room = line.distance;
  } else if (turning && speed > line.distance && room >= line.distance &&
             has_green(car, line, context)) {
    // The room straight on does not matter to it, but that up to the line does.
    room = line.distance + lanes.free_from(lane_of(turned, turned_across, car.lane), turned_first,
                                           turned_way, speed - line.distance);
  }
  speed = std::min(speed, room);
  const auto words = random_words(options_.seed, car.id, static_cast<std::uint64_t>(t));
  if (speed > 0 && happens(words[0], options_.dawdle)) --speed;
  car.speed = static_cast<std::uint8_t>(speed);

  if (turning && speed > line.distance) {
    const std::int32_t turned_along = turned_first + turned_way * (speed - line.distance - 1);
    along = turned_across;
    across = turned_along;
    car.axis = turned;
    ++car.turns;
    return turned_along >= 0 && turned_along < length(turned);
  }
  along += way * speed;
  return along >= 0 && along < length(car.axis);
}

// Cars on the last `detector` cells before the stop line of one of the two streets.
std::int32_t TrafficModel::queue(const Signal& junction, Axis axis, const Lanes& lanes) const {
  const std::int32_t line = axis == Axis::x ? junction.x : junction.y;
  const std::int32_t across = axis == Axis::x ? junction.y : junction.x;
  const bool upwards = direction(axis, junction.x, junction.y) > 0;
  const std::int32_t low = upwards ? line - options_.detector : line;
  std::int32_t n = 0;
  for (std::int32_t lane = 0; lane < options_.lanes; ++lane)
    n += lanes.count(lane_of(axis, across, lane), low, low + options_.detector - 1);
  return n;
}

// Green goes where more cars wait, but not before green_min; and somebody waits for green_max at
// most.
void TrafficModel::switch_if_due(Signal& junction, const Lanes& lanes) const {
  ++junction.timer;
  if (junction.timer < options_.green_min) return;
  const std::int32_t served = queue(junction, junction.axis, lanes);
  const std::int32_t waiting = queue(junction, other(junction.axis), lanes);
  if (waiting > served || (waiting > 0 && junction.timer >= options_.green_max)) {
    junction.axis = other(junction.axis);
    junction.timer = 0;
  }
}

// Births: a car's id is a hash of (gate, tick, lane). Nobody else can come to the first cell, and
// who is in it may stay, so it must be free.
void TrafficModel::let_in(Signal& gate, const Lanes& lanes, Tick t, std::vector<Car>& cars) const {
  const auto words = random_words(options_.seed, gate.id, static_cast<std::uint64_t>(t));
  const bool on_x = gate.axis == Axis::x;
  for (std::int32_t lane = 0; lane < options_.lanes; ++lane) {
    if (!happens(words[static_cast<std::size_t>(lane)], options_.inflow)) continue;
    const std::uint64_t at = lane_of(gate.axis, on_x ? gate.y : gate.x, lane);
    if (lanes.free_from(at, on_x ? gate.x : gate.y, 1, 1) == 0) continue;
    Car car;
    car.id = kBornCars |
             hash_words(gate.id, static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(lane));
    car.x = gate.x;
    car.y = gate.y;
    car.axis = gate.axis;
    car.lane = static_cast<std::uint8_t>(lane);
    car.speed = 1;
    car.entered = t + 1;
    cars.push_back(car);
    ++gate.passed;
  }
}

TrafficState TrafficModel::step(const State& to_step, const State& context, Tick t) const {
  const Lanes lanes(*this, context.cars);
  State next;
  for (Car car : to_step.cars) {
    if (drive(car, context, lanes, t)) next.cars.push_back(car);
  }
  for (Signal signal : to_step.signals) {
    if (signal.kind == Signal::Kind::junction) {
      switch_if_due(signal, lanes);
    } else {
      let_in(signal, lanes, t, next.cars);
    }
    next.signals.push_back(signal);
  }
  std::ranges::sort(next.cars, {}, &Car::id);
  return next;
}

}  // namespace rubato::models

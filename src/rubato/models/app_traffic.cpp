#include "rubato/models/app_traffic.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <utility>

namespace rubato::models {
namespace {

class TrafficApp final : public tick::App {
 public:
  [[nodiscard]] std::string name() const override { return "traffic"; }
  [[nodiscard]] std::string summary() const override {
    return "Cars and signals on a grid of one-way streets";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"traffic --columns 20 --rows 20 --ticks 500",
            "traffic --density 300 --inflow 0 --until-empty --ticks 5000",
            "traffic --columns 40 --rows 40 --simulate 16 --profile ec2-large --policy k2m3d4"};
  }

  void declare(tick::Parameters& p) override {
    p.add("seed", options_.seed, "of everything that is drawn");
    add(p, "columns", options_.columns, "streets along y");
    add(p, "rows", options_.rows, "streets along x");
    add(p, "block", options_.block, "cells between two parallel streets");
    add(p, "lanes", options_.lanes, "lanes of a street");
    add(p, "speed-max", options_.speed_max, "cells a tick");
    add(p, "detector", options_.detector, "cells before a stop line in which cars are counted");
    add(p, "green-min", options_.green_min, "ticks that a green lasts at least");
    add(p, "green-max", options_.green_max, "ticks after which others get it");
    add(p, "density", options_.density, "of 1000 cells, those with a car at tick 0");
    add(p, "inflow", options_.inflow, "of 1000 ticks, those in which a car wants in, each lane");
    add(p, "dawdle", options_.dawdle, "of 1000 moves, those that a driver dawdles in");
    add(p, "turning", options_.turning, "of 1000 junctions, those that a car turns at");
    p.add("until-empty", options_.stop_when_empty, "end when no car is left");
    p.begin_advanced();
    p.add("test-interval", options_.stop_interval, "ticks between two counts of cars");
    p.add("test-lag", options_.stop_lag, "ticks from a count to the end that it decides");
    p.may_change({"green-min", "green-max", "inflow", "dawdle", "turning", "until-empty",
                  "test-interval", "test-lag"});
  }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    for (const Number& number : numbers_) {
      // Out of range either way; which range it is, validate() tells.
      *number.target = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(number.value, std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max()));
    }
    return std::make_unique<TrafficProblem>(TrafficModel(options_));
  }

 private:
  struct Number {
    std::int64_t value = 0;
    std::int32_t* target = nullptr;
  };
  void add(tick::Parameters& p, const char* name, std::int32_t& target, const char* help) {
    numbers_.push_back({target, &target});
    p.add(name, numbers_.back().value, help);
  }

  TrafficOptions options_;
  std::deque<Number> numbers_;  // a deque: the parameters point at its items
};

}  // namespace

std::unique_ptr<tick::App> make_traffic_app() {
  return std::make_unique<TrafficApp>();
}

}  // namespace rubato::models

template class rubato::tick::ProblemOf<rubato::models::TrafficModel,
                                       rubato::tick::FragmentStore<rubato::models::TrafficModel>>;

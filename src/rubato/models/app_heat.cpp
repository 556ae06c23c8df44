#include "rubato/models/app_heat.hpp"

#include <string>

namespace rubato::models {
namespace {

void require_at_least(const char* name, std::int64_t found, std::int64_t least) {
  if (found >= least) return;
  throw Error(std::string("--") + name + ": expected " + std::to_string(least) +
                  " or more, found " + std::to_string(found),
              ExitCode::usage);
}

class HeatApp final : public tick::App {
 public:
  [[nodiscard]] std::string name() const override { return "heat"; }
  [[nodiscard]] std::string summary() const override {
    return "Heat conduction on a raster, to the steady state or in time";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"heat --width 1000 --height 1000 --ticks 500", "heat --edge 20 --tolerance 0.001",
            "heat --width 1000 --height 1000 --simulate 16 --profile ec2-large --policy k3m5d10"};
  }

  void declare(tick::Parameters& p) override {
    p.add("width", options_.width, "cells along x");
    p.add("height", options_.height, "cells along y");
    p.add("edge", options_.edge, "temperature beyond the edge");
    p.add("start", options_.start, "temperature of the cells at tick 0");
    p.add("tolerance", options_.tolerance, "end when no cell changes by more in a tick; 0: never");
    p.add("test-interval", options_.test_interval, "ticks between two tests of the tolerance");
    p.add("test-lag", options_.test_lag, "ticks from a test to the end that it decides");
    p.add("ns-per-cell", cost_.ns_per_cell, "nanoseconds a cell and tick in virtual time");
  }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    require_at_least("width", options_.width, 1);
    require_at_least("height", options_.height, 1);
    require_at_least("test-interval", options_.test_interval, 1);
    require_at_least("test-lag", options_.test_lag, 0);
    if (options_.tolerance < 0) {
      throw Error("--tolerance: expected 0 or more, found " + std::to_string(options_.tolerance),
                  ExitCode::usage);
    }
    if (cost_.ns_per_cell < 0) {
      throw Error("--ns-per-cell: expected 0 or more, found " + std::to_string(cost_.ns_per_cell),
                  ExitCode::usage);
    }
    return std::make_unique<HeatProblem>(tick::GridModel(UniformHeat(options_)), cost_);
  }

 private:
  HeatOptions options_;
  tick::GridStoreOptions cost_;
};

}  // namespace

std::unique_ptr<tick::App> make_heat_app() {
  return std::make_unique<HeatApp>();
}

}  // namespace rubato::models

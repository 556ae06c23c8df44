#include "rubato/models/app_heat.hpp"

#include <optional>
#include <string>

#include "rubato/io/number.hpp"
#include "rubato/models/heat_raster.hpp"

namespace rubato::models {
namespace {

void require_at_least(const char* name, std::int64_t found, std::int64_t least) {
  if (found >= least) return;
  throw Error(std::string("--") + name + ": expected " + std::to_string(least) +
                  " or more, found " + std::to_string(found),
              ExitCode::usage);
}

using RasterProblem = tick::ProblemOf<tick::GridModel<RasterHeat>, tick::GridStore<RasterHeat>,
                                      tick::GridStoreOptions>;

class HeatApp final : public tick::App {
 public:
  [[nodiscard]] std::string name() const override { return "heat"; }
  [[nodiscard]] std::string summary() const override {
    return "Heat conduction on a raster, to the steady state or in time";
  }
  [[nodiscard]] std::vector<std::string> examples() const override {
    return {"heat --width 1000 --height 1000 --ticks 500",
            "heat --edge 20 --tolerance 0.001 --ticks 100000 --output plate",
            "heat --walls examples/data/house.png --sources examples/data/stoves.png "
            "--edges insulated --time-step 0.2 --ticks 5000 --output plate",
            "heat --width 1000 --height 1000 --simulate 16 --profile ec2-large --policy k3m5d10"};
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> check_settings() const override {
    if (has_files()) return {};  // they have a size
    return {{"width", "40"}, {"height", "30"}};
  }

  void declare(tick::Parameters& p) override {
    p.add("width", width_, "cells along x; default: 256, or as the files have");
    p.add("height", height_, "cells along y; default: 256, or as the files have");
    p.add("edge", options_.edge, "temperature beyond the edge");
    p.add("start", options_.start, "temperature of the cells at tick 0");
    p.add("tolerance", options_.tolerance, "end when no cell changes by more in a tick; 0: never");
    p.add("conductivity", files_.conductivity,
          "gray PNG or PGM, or a CSV of numbers, a line for each row of cells; 0 is a wall");
    p.add("walls", files_.walls, "the same kinds of file: black, or 0, is a wall");
    p.add("sources", files_.sources,
          "the same: cells that are held at a temperature; black, or an empty field, is free");
    p.add("start-file", files_.start,
          "the same, or what a run has written, such as plate/heat.csv: the temperature at tick 0");
    p.add("conductivity-high", files_.conductivity_high, "of a white pixel");
    p.add("low", files_.source_low, "temperature of a black pixel, of sources of the value 1");
    p.add("high", files_.source_high, "temperature of a white pixel");
    p.add("edges", edges_, {"held", "insulated"}, "held at --edge, or no heat passes them");
    p.add("time-step", time_step_,
          "explicit steps in time, at most 1/4 / conductivity; 0: the "
          "steady state is wanted");
    p.begin_advanced();
    p.add("parts-x", options_.parts[0],
          "boxes along x, one a node; 0: chosen: one, or what has short borders");
    p.add("parts-y", options_.parts[1],
          "boxes along y; few along x make long rows and few neighbours");
    p.add("test-interval", options_.test_interval, "ticks between two tests of the tolerance");
    p.add("test-lag", options_.test_lag, "ticks from a test to the end that it decides");
    p.add("ns-per-cell", cost_.ns_per_cell, "nanoseconds a cell and tick in virtual time");
    p.are_files({"conductivity", "walls", "sources", "start-file"});
    // Not sources: cells that become one, or are none any more, have a temperature in the checkpoint.
    p.may_change({"edge", "tolerance", "conductivity", "walls", "conductivity-high", "edges",
                  "time-step", "test-interval", "test-lag"});
    p.same_bits({"parts-x", "parts-y", "ns-per-cell"});
  }

  void begin_branch(tick::Tick /*begin*/) override { options_.is_branch = true; }

  [[nodiscard]] std::unique_ptr<tick::Problem> build() override {
    options_.width = width_.value_or(HeatOptions{}.width);
    options_.height = height_.value_or(HeatOptions{}.height);
    require_at_least("width", options_.width, 1);
    require_at_least("height", options_.height, 1);
    constexpr std::int64_t kCellsMost = 100'000'000'000;  // 1.6 TB
    if (options_.width > kCellsMost / options_.height) {
      throw Error("--width and --height: expected at most " + std::to_string(kCellsMost) +
                      " cells in all, found " + std::to_string(options_.width) + " x " +
                      std::to_string(options_.height),
                  ExitCode::usage);
    }
    require_at_least("parts-x", options_.parts[0], 0);
    require_at_least("parts-y", options_.parts[1], 0);
    require_at_least("test-interval", options_.test_interval, 1);
    require_at_least("test-lag", options_.test_lag, 0);
    if (options_.tolerance < 0) {
      throw Error("--tolerance: expected 0 or more, found " + io::number_text(options_.tolerance),
                  ExitCode::usage);
    }
    if (cost_.ns_per_cell < 0) {
      throw Error("--ns-per-cell: expected 0 or more, found " + io::number_text(cost_.ns_per_cell),
                  ExitCode::usage);
    }
    if (time_step_ < 0) {
      throw Error("--time-step: expected 0 or more, found " + io::number_text(time_step_),
                  ExitCode::usage);
    }
    if (!has_material() && edges_ == "held" && time_step_ == 0) return build_uniform();
    return build_raster();
  }

 private:
  [[nodiscard]] bool has_material() const {
    return !files_.conductivity.empty() || !files_.walls.empty() || !files_.sources.empty();
  }
  [[nodiscard]] bool has_files() const { return has_material() || !files_.start.empty(); }

  // The files say how large the raster is, so what people say must not be another size.
  void check_size(const std::string& file, std::int64_t file_width,
                  std::int64_t file_height) const {
    const std::int64_t width = width_.value_or(file_width);
    const std::int64_t height = height_.value_or(file_height);
    if (width == file_width && height == file_height) return;
    const auto size = [](std::int64_t x, std::int64_t y) {
      return std::to_string(x) + " x " + std::to_string(y);
    };
    throw Error("--width and --height: " + file + " has " + size(file_width, file_height) +
                    " cells, expected these or no size, found " + size(width, height),
                ExitCode::usage);
  }

  // With the kernel that it would have without a file, so that a run that goes on from another's
  // result ends in the bits of one that was not interrupted.
  [[nodiscard]] std::unique_ptr<tick::Problem> build_uniform() {
    std::shared_ptr<const RasterFile> start;
    if (!files_.start.empty()) {
      start = HeatMaterial::open_start(files_);
      check_size(start->path(), start->width(), start->height());
      options_.width = start->width();
      options_.height = start->height();
    }
    return std::make_unique<HeatProblem>(tick::GridModel(UniformHeat(options_, std::move(start))),
                                         cost_);
  }

  // Without files: the disc of UniformHeat, in one material.
  [[nodiscard]] std::unique_ptr<tick::Problem> build_raster() const {
    RasterHeatOptions raster;
    raster.common = options_;
    raster.edge = edges_ == "held" ? HeatEdge::held : HeatEdge::insulated;
    raster.time_step = time_step_;
    auto material = has_files() ? std::make_shared<const HeatMaterial>(files_)
                                : std::make_shared<const HeatMaterial>(options_);
    if (has_files()) check_size(material->size_from(), material->width(), material->height());
    return std::make_unique<RasterProblem>(tick::GridModel(RasterHeat(std::move(material), raster)),
                                           cost_);
  }

  HeatMaterial::Files files_;
  std::string edges_ = "held";
  double time_step_ = 0;
  HeatOptions options_;
  std::optional<std::int64_t> width_;  // as people want it
  std::optional<std::int64_t> height_;
  tick::GridStoreOptions cost_;
};

}  // namespace

std::unique_ptr<tick::App> make_heat_app() {
  return std::make_unique<HeatApp>();
}

}  // namespace rubato::models

template class rubato::tick::ProblemOf<rubato::tick::GridModel<rubato::models::UniformHeat>,
                                       rubato::tick::GridStore<rubato::models::UniformHeat>,
                                       rubato::tick::GridStoreOptions>;

#pragma once
// heat: heat conduction on a raster, to the steady state (Jacobi iteration) or in time.
//
// The state is one temperature a cell. Each tick a cell takes the mean of its four neighbours,
// weighted by the conductivity of the faces between them; sources keep their temperature, walls
// conduct nothing, and the edge of the raster is insulated or held at a temperature. With equal
// conductivity, no walls and a held edge this is the solver of [Ticks B.1].

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/output/schema.hpp"

namespace rubato::models {

class RasterFile;
struct HeatRange;

// What files call the temperature of a cell.
inline constexpr const char* kHeatField = "temperature";

// What the cells are made of; row by row, y * width + x.
struct HeatRaster {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<float> conductivity;  // >= 0; 0 is a wall; empty: 1 everywhere
  std::vector<float> source;        // NaN: free; else the temperature it is held at; empty: none
  std::vector<float> start;         // temperature at tick 0; empty: that of the options
};

struct HeatOptions {
  std::int64_t width = 256;
  std::int64_t height = 256;
  double edge = 0;       // temperature beyond the edge
  double start = 0;      // temperature of free cells at tick 0
  double tolerance = 0;  // > 0: ends when no cell changes by more in a tick
  tick::Tick test_interval = 50;
  tick::Tick test_lag = 50;
  // It began with the state of a run of other options: these tell no bounds of its temperatures.
  bool is_branch = false;
  // Boxes along x and y, one a node; 0: chosen. Stands here since g++ 12 at -O3 fills it with the
  // width where it follows the height.
  tick::Index<2> parts{};
  static constexpr const char* kPartsOption = "--parts-x and --parts-y";
};

// Of the start that UniformHeat makes up.
[[nodiscard]] HeatRange made_up_range(const HeatOptions& options);

// Uniform material without sources inside: a kernel that is nothing but the mean of four
// neighbours.
class UniformHeat {
 public:
  using Value = double;
  static constexpr int kDimensions = 2;
  static constexpr int kRadius = 1;
  static constexpr int kFields = 1;
  static constexpr int kFixed = 0;
  static constexpr bool kFinite = true;

  // `start`: the temperatures at tick 0, of the options' size; null: made up.
  explicit UniformHeat(HeatOptions options, std::shared_ptr<const RasterFile> start = nullptr)
      : o_(options), start_(std::move(start)) {}

  [[nodiscard]] tick::GridShape<2> shape() const {
    return {{o_.width, o_.height}, {}, o_.parts, HeatOptions::kPartsOption};
  }
  [[nodiscard]] double outside(int /*field*/) const { return o_.edge; }
  [[nodiscard]] std::vector<std::string> field_names() const { return {kHeatField}; }
  // Without bounds if the start is a table, which only a pass over it would tell, or another run's state.
  [[nodiscard]] tick::PictureStyle picture_style() const;
  // A warm disc in the middle and a rough surface, so that every cell matters; or what the file
  // says.
  void init(tick::Index<2> at, std::int64_t n, double* const* fields, double* const* fixed) const;

  // The mean of four neighbours, those along x and those along y added up by themselves. -0 is what
  // adds nothing at all.
  static constexpr std::array<tick::Index<2>, 4> kStencil{{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
  struct Sum {
    double x = -0.0;
    double y = -0.0;
  };
  using Cell = tick::GridCell<UniformHeat>;
  [[nodiscard]] Sum begin(const Cell& /*own*/) const { return {}; }
  void interact(Sum& sum, const Cell& /*own*/, std::size_t k, const Cell& other) const {
    (k < 2 ? sum.x : sum.y) += other[0];
  }
  [[nodiscard]] double finish(const Cell& /*own*/, const Sum& sum) const {
    return 0.25 * (sum.x + sum.y);
  }

  using Measure = double;  // the largest change of a cell
  void measure(double& most, const tick::GridSpan<UniformHeat>& in, const double* const* after,
               std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const double change = after[0][i] - in.field[0][i];
      const double size = change < 0 ? -change : change;
      most = size > most ? size : most;
    }
  }
  void combine(double& into, const double& from) const { into = from > into ? from : into; }
  [[nodiscard]] bool stop(const double& most, tick::Tick /*t*/) const {
    return most <= o_.tolerance;
  }
  [[nodiscard]] tick::Tick stop_interval() const { return o_.tolerance > 0 ? o_.test_interval : 0; }
  [[nodiscard]] tick::Tick stop_lag() const { return o_.test_lag; }

 private:
  HeatOptions o_;
  std::shared_ptr<const RasterFile> start_;
};

}  // namespace rubato::models

#pragma once
// heat on a raster of materials: walls, sources, conductivity, insulated or held edges; the steady
// state by Jacobi iteration or the course in time by explicit steps.
//
// Between two cells of conductivity a and b heat flows through a face of conductance 2ab/(a+b), so
// that a wall (0) lets none through. A cell moves towards each neighbour by a weight of the face:
//   steady state   its share of the cell's conductances: the new value is the neighbours' mean
//   in time        conductance * time step
// Sources and walls have weights of zero and keep their value. The weights are fixed fields, so the
// kernel has no branch.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rubato/models/heat.hpp"
#include "rubato/models/heat_raster_file.hpp"

namespace rubato::models {

enum class HeatEdge : std::uint8_t { held, insulated };

struct RasterHeatOptions {
  HeatOptions common;  // its size is that of the raster
  HeatEdge edge = HeatEdge::held;
  double time_step = 0;  // 0: the steady state is wanted
};

// What the cells are made of. Read-only, used by several threads.
class HeatMaterial {
 public:
  // From memory.
  explicit HeatMaterial(HeatRaster raster);
  // One material, started as UniformHeat is.
  explicit HeatMaterial(const HeatOptions& uniform);
  struct Files {
    std::string conductivity;  // "": 1 everywhere. An image is scaled to [0, conductivity_high]
    std::string walls;         // "": none. Black pixels, or 0 in a CSV, are walls
    std::string sources;       // "": none. Black pixels, or empty fields of a CSV, are free; other
                               // pixels are scaled to [source_low, source_high]
    std::string start;         // "": the same everywhere. Pixels are scaled as those of sources;
                               // the cells that a run has written are taken bit for bit
    double conductivity_high = 1;
    double source_low = 0;
    double source_high = 100;
  };
  // From files, of which only the rows that are asked for are read. Throws Error if none is named
  // or they differ in size.
  explicit HeatMaterial(const Files& files);
  // The file of the start alone. REQUIRES: there is one.
  [[nodiscard]] static std::unique_ptr<RasterFile> open_start(const Files& files);

  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  [[nodiscard]] std::int64_t height() const noexcept { return height_; }
  // The file that the size is from; "" without files.
  [[nodiscard]] const std::string& size_from() const noexcept { return size_from_; }
  // Of cells [x, x + n) in row y.
  void conductivity(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const;
  // NaN where there is no source.
  void sources(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const;
  // Of the sources, and of the cells at tick 0, which are at `start` where the material does not say
  // otherwise. Nothing if only a pass over all cells would tell.
  [[nodiscard]] std::optional<HeatRange> range(double start) const;
  // At tick 0; `out` is left as it is if the material does not say.
  void start(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const;

 private:
  void take_size(const RasterFile& file);

  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  HeatRaster raster_;                   // of the first form
  std::optional<HeatOptions> uniform_;  // of the second
  std::unique_ptr<RasterFile> conductivity_;
  std::unique_ptr<RasterFile> walls_;
  std::unique_ptr<RasterFile> sources_;
  std::unique_ptr<RasterFile> start_;
  std::string size_from_;
};

class RasterHeat {
 public:
  using Value = double;
  static constexpr int kDimensions = 2;
  static constexpr int kRadius = 1;
  static constexpr int kFields = 1;
  static constexpr int kFixed = 4;  // weights of the cells of the stencil
  static constexpr bool kFinite = true;

  RasterHeat(std::shared_ptr<const HeatMaterial> material, RasterHeatOptions options)
      : material_(std::move(material)), o_(options) {}

  [[nodiscard]] tick::GridShape<2> shape() const {
    return {
        {material_->width(), material_->height()}, {}, o_.common.parts, HeatOptions::kPartsOption};
  }
  [[nodiscard]] double outside(int field) const { return field == 0 ? o_.common.edge : 0; }
  [[nodiscard]] std::vector<std::string> field_names() const { return {kHeatField}; }
  // Walls are gray: they have a temperature, but nobody feels it. Sources are striped, with their
  // own temperature between the stripes.
  [[nodiscard]] tick::PictureStyle picture_style() const;
  void picture_kinds(tick::Index<2> at, std::int64_t n, std::uint8_t* kinds) const;

  // Throws Error, naming the cell, if the time step is too long to be stable there.
  void init(tick::Index<2> at, std::int64_t n, double* const* fields, double* const* fixed) const;

  static constexpr std::array<tick::Index<2>, 4> kStencil = UniformHeat::kStencil;
  using Sum = UniformHeat::Sum;
  using Cell = tick::GridCell<RasterHeat>;
  [[nodiscard]] Sum begin(const Cell& /*own*/) const { return {}; }
  void interact(Sum& sum, const Cell& own, std::size_t k, const Cell& other) const {
    (k < 2 ? sum.x : sum.y) += own.fixed(k) * (other[0] - own[0]);
  }
  [[nodiscard]] double finish(const Cell& own, const Sum& sum) const {
    return own[0] + (sum.x + sum.y);
  }

  using Measure = double;  // the largest change of a cell
  void measure(double& most, const tick::GridSpan<RasterHeat>& in, const double* const* after,
               std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const double change = after[0][i] - in.field[0][i];
      const double size = change < 0 ? -change : change;
      most = size > most ? size : most;
    }
  }
  void combine(double& into, const double& from) const { into = from > into ? from : into; }
  [[nodiscard]] bool stop(const double& most, tick::Tick /*t*/) const {
    return most <= o_.common.tolerance;
  }
  [[nodiscard]] tick::Tick stop_interval() const {
    return o_.common.tolerance > 0 ? o_.common.test_interval : 0;
  }
  [[nodiscard]] tick::Tick stop_lag() const { return o_.common.test_lag; }

 private:
  std::shared_ptr<const HeatMaterial> material_;
  RasterHeatOptions o_;
};

}  // namespace rubato::models

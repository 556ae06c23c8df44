#include "rubato/models/heat_raster.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "rubato/io/number.hpp"

namespace rubato::models {
namespace {

constexpr double kFree = std::numeric_limits<double>::quiet_NaN();

std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

double face(double a, double b) {
  return a > 0 && b > 0 ? 2 * a * b / (a + b) : 0;
}

}  // namespace

HeatMaterial::HeatMaterial(HeatRaster raster)
    : width_(raster.width), height_(raster.height), raster_(std::move(raster)) {
  const auto n = static_cast<std::size_t>(width_ * height_);
  RUBATO_REQUIRE(raster_.conductivity.empty() || raster_.conductivity.size() == n,
                 raster_.conductivity.size(), n);
  RUBATO_REQUIRE(raster_.start.empty() || raster_.start.size() == n, raster_.start.size(), n);
  RUBATO_REQUIRE(raster_.source.empty() || raster_.source.size() == n, raster_.source.size(), n);
}

HeatMaterial::HeatMaterial(const HeatOptions& uniform)
    : width_(uniform.width), height_(uniform.height), uniform_(uniform) {}

HeatMaterial::HeatMaterial(const Files& files) {
  RasterFile::Options options;
  if (!files.conductivity.empty()) {
    options.what = "conductivity";
    options.high = files.conductivity_high;
    conductivity_ = std::make_unique<RasterFile>(files.conductivity, options);
    take_size(*conductivity_);
  }
  if (!files.walls.empty()) {
    options.what = "number, 0 for a wall";
    options.high = 1;
    walls_ = std::make_unique<RasterFile>(files.walls, options);
    take_size(*walls_);
  }
  if (!files.sources.empty()) {
    options.what = "temperature";
    options.low = files.source_low;
    options.high = files.source_high;
    options.zero_is_empty = true;
    options.empty_allowed = true;
    options.least = std::numeric_limits<double>::lowest();
    sources_ = std::make_unique<RasterFile>(files.sources, options);
    take_size(*sources_);
  }
  if (!files.start.empty()) {
    start_ = open_start(files);
    take_size(*start_);
  }
  if (size_from_.empty()) throw Error("heat: expected a raster file, found none", ExitCode::usage);
}

std::unique_ptr<RasterFile> HeatMaterial::open_start(const Files& files) {
  RasterFile::Options options;
  options.what = "temperature";
  options.low = files.source_low;
  options.high = files.source_high;
  options.least = std::numeric_limits<double>::lowest();
  options.cells_name = kHeatField;
  return std::make_unique<RasterFile>(files.start, options);
}

void HeatMaterial::take_size(const RasterFile& file) {
  if (size_from_.empty()) {
    width_ = file.width();
    height_ = file.height();
    size_from_ = file.path();
    return;
  }
  if (file.width() == width_ && file.height() == height_) return;
  throw Error(file.path() + ": expected " + size_text(width_, height_) + " cells as in " +
              size_from_ + ", found " + size_text(file.width(), file.height()));
}

void HeatMaterial::conductivity(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const {
  std::fill_n(out, n, 1.0);
  if (!raster_.conductivity.empty()) {
    std::copy_n(raster_.conductivity.begin() + y * width_ + x, n, out);
  }
  if (conductivity_) conductivity_->read(x, y, n, out);
  if (!walls_) return;
  std::vector<double> walls(static_cast<std::size_t>(n));
  walls_->read(x, y, n, walls.data());
  for (std::size_t i = 0; i < walls.size(); ++i) {
    if (walls[i] == 0) out[i] = 0;
  }
}

void HeatMaterial::sources(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const {
  std::fill_n(out, n, kFree);
  if (!raster_.source.empty()) std::copy_n(raster_.source.begin() + y * width_ + x, n, out);
  if (sources_) sources_->read(x, y, n, out);
}

void HeatMaterial::start(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const {
  if (uniform_) UniformHeat(*uniform_).init({x, y}, n, &out, nullptr);
  if (!raster_.start.empty()) std::copy_n(raster_.start.begin() + y * width_ + x, n, out);
  if (start_) start_->read(x, y, n, out);
}

std::optional<HeatRange> HeatMaterial::range(double start) const {
  if (!raster_.source.empty() || !raster_.start.empty()) return std::nullopt;
  HeatRange all = uniform_ ? made_up_range(*uniform_) : HeatRange{start, start};
  for (const RasterFile* const file : {start_.get(), sources_.get()}) {
    if (file == nullptr) continue;
    const std::optional<HeatRange> bounds = file->bounds();
    if (!bounds) return std::nullopt;
    all = file == start_.get() ? *bounds : all.with(*bounds);
  }
  return all;
}

tick::PictureStyle RasterHeat::picture_style() const {
  tick::PictureStyle style;
  style.kinds = {{"wall", {"", {128, 128, 128}, io::Mark::fill}},
                 {"source", {"source: held at its temperature", {255, 255, 255}, io::Mark::hatch}}};
  if (o_.common.is_branch) return style;
  std::optional<HeatRange> all = material_->range(o_.common.start);
  if (all && o_.edge == HeatEdge::held) all = all->with(o_.common.edge);
  if (!all) return style;
  style.low = all->low;
  style.high = all->high;
  return style;
}

void RasterHeat::picture_kinds(tick::Index<2> at, std::int64_t n, std::uint8_t* kinds) const {
  std::vector<double> values(static_cast<std::size_t>(n));
  material_->conductivity(at[0], at[1], n, values.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    kinds[i] = values[i] == 0 ? 1 : 0;
  material_->sources(at[0], at[1], n, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) kinds[i] = 2;
  }
}

void RasterHeat::init(tick::Index<2> at, std::int64_t n, double* const* fields,
                      double* const* fixed) const {
  const std::int64_t width = material_->width();
  const std::int64_t height = material_->height();
  // Three rows of conductivity with a cell at both ends; negative: beyond the edge.
  const auto stride = static_cast<std::size_t>(n) + 2;
  std::vector<double> rows(3 * stride, -1);
  const std::int64_t x_begin = std::max<std::int64_t>(0, at[0] - 1);
  const std::int64_t x_end = std::min(width, at[0] + n + 1);
  for (std::int64_t dy = -1; dy <= 1; ++dy) {
    const std::int64_t y = at[1] + dy;
    if (y < 0 || y >= height) continue;
    material_->conductivity(x_begin, y, x_end - x_begin,
                            rows.data() + static_cast<std::size_t>(dy + 1) * stride +
                                static_cast<std::size_t>(x_begin - at[0] + 1));
  }
  std::vector<double> source(static_cast<std::size_t>(n));
  material_->sources(at[0], at[1], n, source.data());
  std::vector<double> start(static_cast<std::size_t>(n), o_.common.start);
  material_->start(at[0], at[1], n, start.data());
  const double* here = rows.data() + stride + 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const double own = here[i];
    const auto conductance = [&](double other) {
      if (other >= 0) return face(own, other);
      return o_.edge == HeatEdge::held ? own : 0;
    };
    const auto s = static_cast<std::ptrdiff_t>(stride);
    const std::array<double, 4> g{conductance(here[i - 1]), conductance(here[i + 1]),
                                  conductance(here[i - s]), conductance(here[i + s])};
    const double sum = (g[0] + g[1]) + (g[2] + g[3]);
    const bool is_free = std::isnan(source[static_cast<std::size_t>(i)]) && sum > 0;
    if (is_free && o_.time_step * sum > 1) {
      throw Error("--time-step: expected at most " + io::number_text(1 / sum) + ", or cell (" +
                      std::to_string(at[0] + i) + ", " + std::to_string(at[1]) +
                      ") is not stable, found " + io::number_text(o_.time_step),
                  ExitCode::usage);
    }
    for (std::size_t f = 0; f < g.size(); ++f) {
      fixed[f][i] = !is_free ? 0 : o_.time_step > 0 ? o_.time_step * g[f] : g[f] / sum;
    }
    const double held = source[static_cast<std::size_t>(i)];
    fields[0][i] = std::isnan(held) ? start[static_cast<std::size_t>(i)] : held;
  }
}

}  // namespace rubato::models

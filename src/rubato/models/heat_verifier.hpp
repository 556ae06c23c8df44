#pragma once
// An independent serial solver of heat on a raster, for tests and benchmarks: it shares no code
// with RasterHeat. It asks each cell what it is at every tick, and computes conductances on the
// spot; the operations on numbers are those that heat_raster.hpp describes, in that order, so that
// its results are compared with ==.

#include <cmath>
#include <cstdint>
#include <vector>

#include "rubato/models/heat_raster.hpp"

namespace rubato::models {

class HeatVerifier {
 public:
  HeatVerifier(HeatRaster raster, RasterHeatOptions options)
      : raster_(std::move(raster)), o_(options) {
    for (std::int64_t y = 0; y < raster_.height; ++y) {
      for (std::int64_t x = 0; x < raster_.width; ++x)
        now_.push_back(first_value(x, y));
    }
  }

  void step() {
    std::vector<double> next = now_;
    for (std::int64_t y = 0; y < raster_.height; ++y) {
      for (std::int64_t x = 0; x < raster_.width; ++x) {
        if (!is_source(x, y)) next[index(x, y)] = new_value(x, y);
      }
    }
    now_ = next;
  }

  [[nodiscard]] const std::vector<double>& temperature() const { return now_; }
  [[nodiscard]] double at(std::int64_t x, std::int64_t y) const { return now_[index(x, y)]; }
  // Heat in all cells; constant in time if the edge is insulated and there are no sources.
  [[nodiscard]] long double total() const {
    long double sum = 0;
    for (const double value : now_)
      sum += value;
    return sum;
  }

 private:
  [[nodiscard]] std::size_t index(std::int64_t x, std::int64_t y) const {
    return static_cast<std::size_t>(y * raster_.width + x);
  }
  [[nodiscard]] bool inside(std::int64_t x, std::int64_t y) const {
    return x >= 0 && y >= 0 && x < raster_.width && y < raster_.height;
  }
  [[nodiscard]] bool is_source(std::int64_t x, std::int64_t y) const {
    return !raster_.source.empty() && !std::isnan(raster_.source[index(x, y)]);
  }
  [[nodiscard]] double first_value(std::int64_t x, std::int64_t y) const {
    if (is_source(x, y)) return raster_.source[index(x, y)];
    return raster_.start.empty() ? o_.common.start : double{raster_.start[index(x, y)]};
  }
  [[nodiscard]] double conductivity(std::int64_t x, std::int64_t y) const {
    return raster_.conductivity.empty() ? 1.0 : double{raster_.conductivity[index(x, y)]};
  }
  [[nodiscard]] double conductance(std::int64_t x, std::int64_t y, std::int64_t dx,
                                   std::int64_t dy) const {
    const double a = conductivity(x, y);
    if (!inside(x + dx, y + dy)) return o_.edge == HeatEdge::held ? a : 0.0;
    const double b = conductivity(x + dx, y + dy);
    if (a == 0 || b == 0) return 0.0;
    return 2 * a * b / (a + b);
  }
  [[nodiscard]] double new_value(std::int64_t x, std::int64_t y) const {
    const double here = at(x, y);
    const double left = conductance(x, y, -1, 0);
    const double right = conductance(x, y, 1, 0);
    const double above = conductance(x, y, 0, -1);
    const double below = conductance(x, y, 0, 1);
    const double sum = (left + right) + (above + below);
    if (sum == 0) return here;
    const auto towards = [&](double g, std::int64_t dx, std::int64_t dy) {
      const double weight = o_.time_step > 0 ? o_.time_step * g : g / sum;
      const double there = inside(x + dx, y + dy) ? at(x + dx, y + dy) : o_.common.edge;
      return weight * (there - here);
    };
    const double along_x = towards(left, -1, 0) + towards(right, 1, 0);
    const double along_y = towards(above, 0, -1) + towards(below, 0, 1);
    return here + (along_x + along_y);
  }

  HeatRaster raster_;
  RasterHeatOptions o_;
  std::vector<double> now_;
};

}  // namespace rubato::models

#pragma once
// Pictures of a model's state: a raster as a heat map with a colour bar, things that move as
// arrows. Each is one call that returns an image with title and scales, ready for write_png() and
// HtmlReport.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "rubato/io/canvas.hpp"
#include "rubato/io/colormap.hpp"
#include "rubato/io/image.hpp"

namespace rubato::io {

// Values of a regular grid, row 0 at the top; NaN is drawn gray. The view owns nothing.
struct RasterView {
  std::span<const double> values;  // [height][width]
  std::size_t width = 0;
  std::size_t height = 0;
};

struct RasterPicture {
  std::string title;
  std::string unit = "";                     // above the colour bar
  std::optional<double> low = std::nullopt;  // of the colours; the values' own bounds if absent
  std::optional<double> high = std::nullopt;
  const ColorMap* map = nullptr;  // the sequential one if null
  std::size_t size_max = 640;     // pixels of the raster's longer side
};

// A raster smaller than size_max is enlarged by a whole factor, each cell a square; a larger one is
// averaged. REQUIRES: width and height >= 1, values is [height][width].
[[nodiscard]] RgbImage draw_raster(const RasterView& raster, const RasterPicture& picture);

// Something at a place that moves in a direction.
struct Arrow {
  double x = 0;
  double y = 0;
  double dx = 0;  // direction; its length does not matter. (0, 0) is drawn as a disc
  double dy = 0;
  bool marked =
      false;  // drawn in a second colour, larger and above the others: informed individuals
};

struct ArrowPicture {
  std::string title;
  std::string note = "";  // below the title, e.g. "tick 400, 10000 fish, same bits: 3f2a.."
  double x_low = 0;       // the part of the world that is shown
  double x_high = 1;
  double y_low = 0;
  double y_high = 1;
  bool color_by_direction =
      true;                    // with a wheel that explains the colours; else one colour for all
  std::size_t size_max = 800;  // pixels of the world's longer side
};

// The world is drawn with y upwards, as in mathematics, and a scale at its left and lower edges.
// Arrows shrink when they are many. REQUIRES: x_low < x_high and y_low < y_high.
[[nodiscard]] RgbImage draw_arrows(std::span<const Arrow> arrows, const ArrowPicture& picture);

}  // namespace rubato::io

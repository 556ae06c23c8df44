#pragma once
// Pictures of a model's state: a raster as a heat map with a colour bar, things that move as
// arrows. Each is one call that returns an image with title, scales and a legend, ready for
// write_png() and HtmlReport.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rubato/io/canvas.hpp"
#include "rubato/io/colormap.hpp"
#include "rubato/io/image.hpp"

namespace rubato::io {

// How things of one kind are drawn.
enum class Mark : std::uint8_t {
  // Cells; of things at a place, a square.
  fill,
  hatch,  // stripes, between which the colour of the value is seen
  // Things at a place. Those that do not move are discs instead of arrows.
  arrow,
  disc,
  along,   // a bar in the direction of the thing
  across,  // a bar that crosses that direction
};

// How things of one kind are drawn and what they are called: a line of the legend.
struct LegendEntry {
  std::string label;
  Rgb color;
  Mark mark = Mark::fill;
};

// Values of a regular grid, row 0 at the top; NaN is drawn gray. The view owns nothing.
struct RasterView {
  std::span<const double> values;  // [height][width]
  std::size_t width = 0;
  std::size_t height = 0;
  // [height][width]: 0, or which of the picture's kinds a cell is, counted from 1. Or empty.
  std::span<const std::uint8_t> kinds = {};
};

struct RasterPicture {
  std::string title;
  std::string unit = "";                     // above the colour bar
  std::optional<double> low = std::nullopt;  // of the colours; the values' own bounds if absent
  std::optional<double> high = std::nullopt;
  const ColorMap* map = nullptr;  // the sequential one if null
  std::size_t size_max = 640;     // pixels of the raster's longer side
  // Of cells that are not (fill) or not only (hatch) coloured by their value. The legend has those
  // that occur.
  std::vector<LegendEntry> kinds = {};
};

// A raster smaller than size_max is enlarged by a whole factor, each cell a square; a larger one is
// averaged, and a pixel with a cell of some kind below it shows that, so that thin walls stay seen.
// REQUIRES: width and height >= 1, values and kinds are [height][width], kinds are those there are.
[[nodiscard]] RgbImage draw_raster(const RasterView& raster, const RasterPicture& picture);

// Something at a place that moves in a direction.
struct Arrow {
  double x = 0;
  double y = 0;
  double dx = 0;  // direction; its length does not matter. (0, 0) is drawn as a disc
  double dy = 0;
  // 0, or which of the picture's kinds, counted from 1: drawn larger than the others, and above
  // them. Informed individuals, say.
  std::size_t kind = 0;
};

struct ArrowPicture {
  std::string title;
  std::string note = "";  // below the title, e.g. "tick 400, 10000 fish, same bits: 3f2a.."
  double x_low = 0;       // the part of the world that is shown
  double x_high = 1;
  double y_low = 0;
  double y_high = 1;
  // What is of no kind: with a wheel that explains the colours; else one colour for all.
  bool color_by_direction = true;
  std::size_t size_max = 800;           // pixels of the world's longer side
  std::string label = "";               // of what is of no kind, in the legend; not there if ""
  std::vector<LegendEntry> kinds = {};  // the legend has all, so that a series looks alike
};

// The world is drawn with y upwards, as in mathematics, and a scale at its left and lower edges.
// Arrows shrink when they are many. REQUIRES: x_low < x_high and y_low < y_high, kinds are those
// there are.
[[nodiscard]] RgbImage draw_arrows(std::span<const Arrow> arrows, const ArrowPicture& picture);

}  // namespace rubato::io

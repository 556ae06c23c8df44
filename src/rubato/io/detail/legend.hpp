#pragma once
// Marks, and the legend that says what they mean: a patch and a text for each kind, from left to
// right, in as many lines as they need. Private to io.

#include <vector>

#include "rubato/io/canvas.hpp"
#include "rubato/io/picture.hpp"

namespace rubato::io::detail {

inline constexpr Rgb kInk{34, 34, 40};
inline constexpr Rgb kFaint{150, 150, 158};

// Whether a pixel lies on a stripe of Mark::hatch. By its place in the image, so that the stripes
// go on from cell to cell.
[[nodiscard]] constexpr bool is_striped(std::size_t x, std::size_t y) noexcept {
  return (x + y) % 4 == 0;
}

// A mark of `length` pixels around `center`. `along` is its direction, of length 1 and with y
// downwards, or (0, 0) for what does not move.
void draw_mark(Canvas& canvas, Point center, Point along, double length, const LegendEntry& look);

class Legend {
 public:
  // Lines are at most `width` pixels wide, unless one entry is wider. `ground` is what the marks
  // stand on in the picture.
  Legend(std::vector<LegendEntry> entries, double width, Rgb ground);

  // Of the widest line.
  [[nodiscard]] double width() const noexcept { return width_; }
  // With the space below; 0 without entries.
  [[nodiscard]] double height() const noexcept { return height_; }
  // `at` is its top left corner.
  void draw(Canvas& canvas, Point at) const;

 private:
  std::vector<LegendEntry> entries_;
  std::vector<Point> places_;  // of each, relative to the corner
  Rgb ground_;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace rubato::io::detail

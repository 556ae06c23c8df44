#pragma once
// A small drawing surface with smooth edges. Positions are in pixels, y down, (0, 0) at the top
// left corner of the top left pixel, so that the centre of that pixel is (0.5, 0.5). What lies
// outside of the surface is cut off. The coverage of a pixel by a shape is taken from the distance
// of its centre to the shape's edge, which is exact enough for shapes of a pixel and more. Not for
// several threads at once.

#include <string_view>

#include "rubato/io/colormap.hpp"
#include "rubato/io/image.hpp"

namespace rubato::io {

struct Point {
  double x = 0;
  double y = 0;
};

// [x, x + width) x [y, y + height)
struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

enum class Align { left, center, right };

class Canvas {
 public:
  // REQUIRES: width and height are at least 1.
  Canvas(std::size_t width, std::size_t height, Rgb background);

  void fill(Rgb color);
  void fill(const Rect& rect, Rgb color);
  // The outline, `line_width` wide, inside of the rectangle.
  void frame(const Rect& rect, Rgb color, double line_width = 1);
  // With round ends.
  void line(Point from, Point to, Rgb color, double line_width = 1);
  // A line with a triangular head of `head` pixels at `to`; as long as the head or shorter: the
  // head alone, scaled down.
  void arrow(Point from, Point to, Rgb color, double line_width = 1, double head = 6);
  void disc(Point center, double radius, Rgb color);
  // REQUIRES: any order of corners, but no empty area for a visible result.
  void triangle(Point a, Point b, Point c, Rgb color);

  // ASCII text whose top left, top middle or top right corner is `at`, each pixel of a letter
  // `scale` pixels large. Each other character shows as one '?'.
  void text(Point at, std::string_view text, Rgb color, std::size_t scale = 1,
            Align align = Align::left);
  [[nodiscard]] static double text_width(std::string_view text, std::size_t scale = 1);
  [[nodiscard]] static double text_height(std::size_t scale = 1);

  [[nodiscard]] const RgbImage& image() const noexcept { return image_; }
  [[nodiscard]] RgbImage& image() noexcept { return image_; }

 private:
  template <class Distance>
  void paint(Point low, Point high, Rgb color, const Distance& distance);
  void blend(std::size_t x, std::size_t y, Rgb color, double coverage);

  RgbImage image_;
};

}  // namespace rubato::io

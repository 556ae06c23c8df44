#include "rubato/io/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/font.hpp"

namespace rubato::io {
namespace {

// The pixels [begin, end) that a span of coordinates may touch; empty for NaN.
struct Range {
  std::size_t begin;
  std::size_t end;
};

Range pixels(double low, double high, std::size_t size) {
  const auto limit = static_cast<double>(size);
  if (!(low < limit) || !(high > 0)) return {0, 0};
  return {static_cast<std::size_t>(std::max(0.0, std::floor(low))),
          static_cast<std::size_t>(std::min(limit, std::ceil(high)))};
}

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  const double along = length2 == 0 ? 0 : ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2;
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - (a.x + t * dx), p.y - (a.y + t * dy));
}

// The code points of UTF-8 text, one char each: '?' for what is no ASCII.
std::string as_ascii(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) out += c;
    if (byte >= 0xc0) out += '?';
  }
  return out;
}

}  // namespace

Canvas::Canvas(std::size_t width, std::size_t height, Rgb background)
    : image_{width, height, std::vector<Rgb>(width * height, background)} {
  RUBATO_REQUIRE(width > 0 && height > 0, width, height);
}

void Canvas::blend(std::size_t x, std::size_t y, Rgb color, double coverage) {
  Rgb& pixel = image_.at(x, y);
  const auto mixed = [&](std::uint8_t under, std::uint8_t over) {
    return static_cast<std::uint8_t>(std::lround(under + coverage * (over - under)));
  };
  pixel = {mixed(pixel.r, color.r), mixed(pixel.g, color.g), mixed(pixel.b, color.b)};
}

// Paints a shape, given by the signed distance to its edge (negative inside), within a box.
template <class Distance>
void Canvas::paint(Point low, Point high, Rgb color, const Distance& distance) {
  const Range xs = pixels(low.x - 1, high.x + 1, image_.width);
  const Range ys = pixels(low.y - 1, high.y + 1, image_.height);
  for (std::size_t y = ys.begin; y < ys.end; ++y) {
    for (std::size_t x = xs.begin; x < xs.end; ++x) {
      const Point center{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
      const double coverage = std::clamp(0.5 - distance(center), 0.0, 1.0);
      if (coverage > 0) blend(x, y, color, coverage);
    }
  }
}

void Canvas::fill(Rgb color) {
  std::fill(image_.pixels.begin(), image_.pixels.end(), color);
}

// Exact: the covered share of each pixel.
void Canvas::fill(const Rect& rect, Rgb color) {
  const Range xs = pixels(rect.x, rect.x + rect.width, image_.width);
  const Range ys = pixels(rect.y, rect.y + rect.height, image_.height);
  const auto covered = [](std::size_t pixel, double begin, double size) {
    const auto low = static_cast<double>(pixel);
    return std::max(0.0, std::min(low + 1, begin + size) - std::max(low, begin));
  };
  for (std::size_t y = ys.begin; y < ys.end; ++y) {
    const double share = covered(y, rect.y, rect.height);
    for (std::size_t x = xs.begin; x < xs.end; ++x) {
      blend(x, y, color, share * covered(x, rect.x, rect.width));
    }
  }
}

void Canvas::frame(const Rect& rect, Rgb color, double line_width) {
  const double w = line_width;
  fill(Rect{rect.x, rect.y, rect.width, w}, color);
  fill(Rect{rect.x, rect.y + rect.height - w, rect.width, w}, color);
  fill(Rect{rect.x, rect.y + w, w, rect.height - 2 * w}, color);
  fill(Rect{rect.x + rect.width - w, rect.y + w, w, rect.height - 2 * w}, color);
}

void Canvas::line(Point from, Point to, Rgb color, double line_width) {
  const double r = line_width / 2;
  paint({std::min(from.x, to.x) - r, std::min(from.y, to.y) - r},
        {std::max(from.x, to.x) + r, std::max(from.y, to.y) + r}, color,
        [&](Point p) { return distance_to_segment(p, from, to) - r; });
}

void Canvas::arrow(Point from, Point to, Rgb color, double line_width, double head) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (!(length > 0)) {
    disc(to, line_width, color);
    return;
  }
  const double size = std::min(head, length);
  const Point along{(to.x - from.x) / length, (to.y - from.y) / length};
  const Point neck{to.x - along.x * size, to.y - along.y * size};
  const double half = 0.42 * size;
  if (length > size) line(from, neck, color, line_width);
  triangle(to, {neck.x - along.y * half, neck.y + along.x * half},
           {neck.x + along.y * half, neck.y - along.x * half}, color);
}

void Canvas::disc(Point center, double radius, Rgb color) {
  paint({center.x - radius, center.y - radius}, {center.x + radius, center.y + radius}, color,
        [&](Point p) { return std::hypot(p.x - center.x, p.y - center.y) - radius; });
}

void Canvas::triangle(Point a, Point b, Point c, Rgb color) {
  // Corners in one sense of rotation, so that inside is on the same side of each edge.
  const double area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  if (area < 0) std::swap(b, c);
  const std::array<Point, 3> corner = {a, b, c};
  paint({std::min({a.x, b.x, c.x}), std::min({a.y, b.y, c.y})},
        {std::max({a.x, b.x, c.x}), std::max({a.y, b.y, c.y})}, color, [&](Point p) {
          double inside = HUGE_VAL;
          for (std::size_t i = 0; i < 3; ++i) {
            const Point from = corner[i];
            const Point to = corner[(i + 1) % 3];
            const double length = std::hypot(to.x - from.x, to.y - from.y);
            if (length == 0) return HUGE_VAL;
            const double cross =
                (to.x - from.x) * (p.y - from.y) - (to.y - from.y) * (p.x - from.x);
            inside = std::min(inside, cross / length);
          }
          return -inside;
        });
}

double Canvas::text_width(std::string_view text, std::size_t scale) {
  const std::size_t n = as_ascii(text).size();
  return n == 0 ? 0 : static_cast<double>((n * detail::kGlyphAdvance - 1) * scale);
}

double Canvas::text_height(std::size_t scale) {
  return static_cast<double>(detail::kGlyphHeight * scale);
}

void Canvas::text(Point at, std::string_view text, Rgb color, std::size_t scale, Align align) {
  const double width = text_width(text, scale);
  const double shift = align == Align::left ? 0 : align == Align::center ? width / 2 : width;
  // Whole pixels, or the letters would blur.
  double left = std::round(at.x - shift);
  const double top = std::round(at.y);
  const auto size = static_cast<double>(scale);
  for (const char c : as_ascii(text)) {
    const detail::Glyph& glyph = detail::glyph_of(c);
    for (std::size_t row = 0; row < detail::kGlyphHeight; ++row) {
      for (std::size_t column = 0; column < detail::kGlyphWidth; ++column) {
        if ((glyph[row] >> (detail::kGlyphWidth - 1 - column) & 1) == 0) continue;
        fill(Rect{left + static_cast<double>(column) * size, top + static_cast<double>(row) * size,
                  size, size},
             color);
      }
    }
    left += static_cast<double>(detail::kGlyphAdvance) * size;
  }
}

}  // namespace rubato::io

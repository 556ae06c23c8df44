#include "rubato/io/detail/legend.hpp"

#include <algorithm>
#include <utility>

namespace rubato::io::detail {
namespace {

// Whole pixels, or the patches would blur.
constexpr double kPatchWidth = 22;
constexpr double kPatchHeight = 14;
constexpr double kToText = 6;
constexpr double kToNext = 18;  // entry or line
constexpr double kBelow = 8;

double width_of(const LegendEntry& entry) {
  return kPatchWidth + kToText + Canvas::text_width(entry.label);
}

void draw_patch(Canvas& canvas, Point at, const LegendEntry& entry, Rgb ground) {
  const Rect patch{at.x, at.y, kPatchWidth, kPatchHeight};
  canvas.fill(patch, entry.mark == Mark::fill ? entry.color : ground);
  if (entry.mark == Mark::hatch) {
    const auto x_begin = static_cast<std::size_t>(at.x);
    const auto y_begin = static_cast<std::size_t>(at.y);
    for (std::size_t y = y_begin; y < y_begin + static_cast<std::size_t>(kPatchHeight); ++y) {
      for (std::size_t x = x_begin; x < x_begin + static_cast<std::size_t>(kPatchWidth); ++x) {
        if (is_striped(x, y)) canvas.image().at(x, y) = entry.color;
      }
    }
  } else if (entry.mark != Mark::fill) {
    draw_mark(canvas, {at.x + kPatchWidth / 2, at.y + kPatchHeight / 2}, {1, 0}, kPatchHeight - 2,
              entry);
  }
  canvas.frame(patch, kFaint);
}

}  // namespace

void draw_mark(Canvas& canvas, Point center, Point along, double length, const LegendEntry& look) {
  // From the centre, `far` in the direction and `aside` to the right of it.
  const auto at = [&](double far, double aside) {
    return Point{center.x + far * along.x - aside * along.y,
                 center.y + far * along.y + aside * along.x};
  };
  const double half = length / 2;
  const double bar = std::max(1.5, length / 6);
  switch (look.mark) {
    case Mark::fill:
    case Mark::hatch:
      canvas.fill(Rect{center.x - half / 2, center.y - half / 2, half, half}, look.color);
      break;
    case Mark::disc:
      canvas.disc(center, half / 2, look.color);
      break;
    case Mark::arrow:
      if (along.x == 0 && along.y == 0) {
        canvas.disc(center, half / 2, look.color);
      } else {
        canvas.arrow(at(-half, 0), at(half, 0), look.color, std::max(0.7, length / 10),
                     0.55 * length);
      }
      break;
    case Mark::along:
      canvas.line(at(-half, 0), at(half, 0), look.color, bar);
      break;
    case Mark::across:
      canvas.line(at(0, -half), at(0, half), look.color, bar);
      break;
  }
}

Legend::Legend(std::vector<LegendEntry> entries, double width, Rgb ground)
    : entries_(std::move(entries)), ground_(ground) {
  Point next{0, 0};
  for (const LegendEntry& entry : entries_) {
    const double own = width_of(entry);
    if (next.x > 0 && next.x + own > width) next = {0, next.y + kToNext};
    places_.push_back(next);
    width_ = std::max(width_, next.x + own);
    next.x += own + kToNext;
  }
  if (!entries_.empty()) height_ = next.y + kPatchHeight + kBelow;
}

void Legend::draw(Canvas& canvas, Point at) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Point place{at.x + places_[i].x, at.y + places_[i].y};
    draw_patch(canvas, place, entries_[i], ground_);
    canvas.text(
        {place.x + kPatchWidth + kToText, place.y + (kPatchHeight - Canvas::text_height()) / 2},
        entries_[i].label, kInk);
  }
}

}  // namespace rubato::io::detail

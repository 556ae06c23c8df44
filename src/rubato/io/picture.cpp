#include "rubato/io/picture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/legend.hpp"
#include "rubato/io/detail/ticks.hpp"

namespace rubato::io {
namespace {

using detail::kFaint;
using detail::kInk;
using detail::Legend;

constexpr Rgb kPaper{255, 255, 255};
constexpr Rgb kWater{17, 24, 39};

constexpr double kMargin = 14;
constexpr std::size_t kTitleScale = 2;
constexpr const char* kWheelCaption = "color: heading";
constexpr double kToWheel = 8;

// How large the longer side becomes, and the other one with it.
struct Size {
  std::size_t width;
  std::size_t height;
};

Size raster_size(const RasterView& raster, std::size_t size_max) {
  const std::size_t longer = std::max(raster.width, raster.height);
  if (longer <= size_max) {
    const std::size_t factor = size_max / longer;
    return {raster.width * factor, raster.height * factor};
  }
  const auto scaled = [&](std::size_t side) {
    return std::max<std::size_t>(1, side * size_max / longer);
  };
  return {scaled(raster.width), scaled(raster.height)};
}

// What cell `i` is, or null for a cell that is only coloured by its value.
const LegendEntry* kind_of(const RasterView& raster, const RasterPicture& picture, std::size_t i) {
  const std::size_t kind = raster.kinds.empty() ? 0 : raster.kinds[i];
  return kind == 0 ? nullptr : &picture.kinds[kind - 1];
}

// A cell whose value is not shown.
bool hides_value(const LegendEntry* kind) {
  return kind != nullptr && kind->mark != Mark::hatch;
}

// The mean of the values that are shown under a pixel, NaN if one of them is, so that holes stay
// seen; and the kind of the first cell that has one.
struct Sample {
  double value;
  const LegendEntry* kind;
};

Sample sample_under(const RasterView& raster, const RasterPicture& picture, Size size,
                    std::size_t x, std::size_t y) {
  const std::size_t x_begin = x * raster.width / size.width;
  const std::size_t y_begin = y * raster.height / size.height;
  const std::size_t x_end = std::max(x_begin + 1, (x + 1) * raster.width / size.width);
  const std::size_t y_end = std::max(y_begin + 1, (y + 1) * raster.height / size.height);
  const LegendEntry* first = nullptr;
  double sum = 0;
  std::size_t n = 0;
  for (std::size_t j = y_begin; j < y_end; ++j) {
    for (std::size_t i = x_begin; i < x_end; ++i) {
      const std::size_t cell = j * raster.width + i;
      const LegendEntry* const kind = kind_of(raster, picture, cell);
      if (first == nullptr) first = kind;
      if (hides_value(kind)) continue;
      sum += raster.values[cell];
      ++n;
    }
  }
  return {sum / static_cast<double>(n), first};
}

struct Bounds {
  double low;
  double high;
};

Bounds bounds_of(const RasterView& raster, const RasterPicture& picture) {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (std::size_t i = 0; i < raster.values.size(); ++i) {
    const double value = raster.values[i];
    if (!std::isfinite(value) || hides_value(kind_of(raster, picture, i))) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = high = 0;  // nothing but holes
  return {picture.low.value_or(low), picture.high.value_or(high)};
}

// Those that some cell is, in the picture's order.
std::vector<LegendEntry> kinds_seen(const RasterView& raster, const RasterPicture& picture) {
  std::vector<LegendEntry> seen;
  for (std::size_t k = 0; k < picture.kinds.size(); ++k) {
    const bool any = std::ranges::find(raster.kinds, k + 1) != raster.kinds.end();
    if (any) seen.push_back(picture.kinds[k]);
  }
  return seen;
}

RgbImage draw_cells(const RasterView& raster, const RasterPicture& picture, Size size,
                    Bounds bounds) {
  const ColorMap& map = picture.map != nullptr ? *picture.map : ColorMap::sequential();
  const double span = bounds.high - bounds.low;
  RgbImage part{size.width, size.height, std::vector<Rgb>(size.width * size.height)};
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < size.width; ++x) {
      const auto [value, kind] = sample_under(raster, picture, size, x, y);
      // A raster of one value is the middle colour, not a division by zero.
      const Rgb by_value = map(span > 0 || std::isnan(value) ? (value - bounds.low) / span : 0.5);
      const bool shows_kind = kind != nullptr && (hides_value(kind) || detail::is_striped(x, y));
      part.at(x, y) = shows_kind ? kind->color : by_value;
    }
  }
  return part;
}

void draw_color_bar(Canvas& canvas, const Rect& at, Bounds bounds, const ColorMap& map) {
  const auto n_rows = static_cast<std::size_t>(at.height);
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double t = 1 - (static_cast<double>(i) + 0.5) / at.height;
    canvas.fill(Rect{at.x, at.y + static_cast<double>(i), at.width, 1}, map(t));
  }
  canvas.frame(at, kFaint);
  for (const double value : detail::ticks(bounds.low, bounds.high, 5)) {
    const double span = bounds.high - bounds.low;
    const double t = span > 0 ? (value - bounds.low) / span : 0.5;
    const double y = at.y + (1 - t) * at.height;
    canvas.fill(Rect{at.x + at.width, std::round(y) - 0.5, 4, 1}, kInk);
    canvas.text({at.x + at.width + 7, y - 4}, detail::tick_label(value), kInk);
  }
}

// A wheel of directions, as they are coloured, with its caption to the left.
void draw_wheel(Canvas& canvas, Point center, double radius) {
  canvas.text({center.x - radius - kToWheel, center.y - Canvas::text_height() / 2}, kWheelCaption,
              kInk, 1, Align::right);
  RgbImage& image = canvas.image();
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      const double dx = static_cast<double>(x) + 0.5 - center.x;
      const double dy = center.y - (static_cast<double>(y) + 0.5);
      const double r = std::hypot(dx, dy);
      if (r > radius || r < 0.55 * radius) continue;
      image.at(x, y) = ColorMap::cyclic()(std::atan2(dy, dx) / (2 * std::numbers::pi) + 0.5);
    }
  }
}

void draw_scales(Canvas& canvas, const Rect& world, const ArrowPicture& picture) {
  for (const double x : detail::ticks(picture.x_low, picture.x_high, 6)) {
    const double at =
        world.x + (x - picture.x_low) / (picture.x_high - picture.x_low) * world.width;
    canvas.fill(Rect{at - 0.5, world.y + world.height, 1, 4}, kInk);
    canvas.text({at, world.y + world.height + 7}, detail::tick_label(x), kInk, 1, Align::center);
  }
  for (const double y : detail::ticks(picture.y_low, picture.y_high, 6)) {
    const double at =
        world.y + (picture.y_high - y) / (picture.y_high - picture.y_low) * world.height;
    canvas.fill(Rect{world.x - 4, at - 0.5, 4, 1}, kInk);
    canvas.text({world.x - 6, at - 4}, detail::tick_label(y), kInk, 1, Align::right);
  }
}

// What is of no kind, as the legend has it: an arrow to the right.
LegendEntry plain_look(const ArrowPicture& picture) {
  const Rgb color =
      picture.color_by_direction ? ColorMap::cyclic()(0.5) : ColorMap::sequential()(0.75);
  return {picture.label, color, picture.color_by_direction ? Mark::arrow : Mark::disc};
}

// Draws into a canvas of its own, so that nothing reaches beyond the world's edge.
Canvas draw_world(std::span<const Arrow> arrows, const ArrowPicture& picture, Size size) {
  Canvas world(size.width, size.height, kWater);
  const auto n = static_cast<double>(std::max<std::size_t>(1, arrows.size()));
  const double room = std::sqrt(static_cast<double>(size.width * size.height) / n);
  const double length = std::clamp(0.9 * room, 2.5, 16.0);
  LegendEntry plain = plain_look(picture);
  plain.mark = Mark::arrow;
  for (const bool has_kind : {false, true}) {
    for (const Arrow& arrow : arrows) {
      if ((arrow.kind != 0) != has_kind) continue;
      RUBATO_REQUIRE(arrow.kind <= picture.kinds.size(), arrow.kind, picture.kinds.size());
      const Point center{(arrow.x - picture.x_low) / (picture.x_high - picture.x_low) *
                             static_cast<double>(size.width),
                         (picture.y_high - arrow.y) / (picture.y_high - picture.y_low) *
                             static_cast<double>(size.height)};
      const double speed = std::hypot(arrow.dx, arrow.dy);
      const Point along = speed > 0 ? Point{arrow.dx / speed, -arrow.dy / speed} : Point{};
      if (picture.color_by_direction) {
        plain.color =
            ColorMap::cyclic()(std::atan2(arrow.dy, arrow.dx) / (2 * std::numbers::pi) + 0.5);
      }
      detail::draw_mark(world, center, along, has_kind ? std::max(7.0, 1.3 * length) : length,
                        has_kind ? picture.kinds[arrow.kind - 1] : plain);
    }
  }
  return world;
}

void paste(Canvas& canvas, const RgbImage& part, std::size_t left, std::size_t top) {
  for (std::size_t y = 0; y < part.height; ++y) {
    for (std::size_t x = 0; x < part.width; ++x) {
      canvas.image().at(left + x, top + y) = part.at(x, y);
    }
  }
}

}  // namespace

RgbImage draw_raster(const RasterView& raster, const RasterPicture& picture) {
  RUBATO_REQUIRE(raster.width > 0 && raster.height > 0 && picture.size_max > 0, raster.width,
                 raster.height);
  RUBATO_REQUIRE(raster.values.size() == raster.width * raster.height, raster.values.size());
  RUBATO_REQUIRE(raster.kinds.empty() || raster.kinds.size() == raster.values.size(),
                 raster.kinds.size());
  RUBATO_REQUIRE(raster.kinds.empty() || std::ranges::max(raster.kinds) <= picture.kinds.size(),
                 picture.kinds.size());
  const ColorMap& map = picture.map != nullptr ? *picture.map : ColorMap::sequential();
  const Size size = raster_size(raster, picture.size_max);
  const Bounds bounds = bounds_of(raster, picture);
  constexpr double kToBar = 16;
  constexpr double kBarWidth = 74;  // the bar and its labels
  const double right = static_cast<double>(size.width) + kToBar +
                       std::max(kBarWidth, Canvas::text_width(picture.unit));
  const double title_width = Canvas::text_width(picture.title, kTitleScale);
  const Legend legend(kinds_seen(raster, picture), std::max(right, title_width), map(0.5));
  const double width = std::max({right, title_width, legend.width()});
  const double below_title = 2 * kMargin + Canvas::text_height(kTitleScale);
  const double top = below_title + legend.height();
  const double height = std::max(static_cast<double>(size.height), 120.0);
  Canvas canvas(static_cast<std::size_t>(width + 2 * kMargin),
                static_cast<std::size_t>(top + height + kMargin), kPaper);
  canvas.text({kMargin, kMargin}, picture.title, kInk, kTitleScale);
  legend.draw(canvas, {kMargin, below_title});
  paste(canvas, draw_cells(raster, picture, size, bounds), static_cast<std::size_t>(kMargin),
        static_cast<std::size_t>(top));
  const double bar_x = kMargin + static_cast<double>(size.width) + kToBar;
  const double unit_height = picture.unit.empty() ? 0 : Canvas::text_height() + 9;
  canvas.text({bar_x, top}, picture.unit, kInk);
  draw_color_bar(canvas, {bar_x, top + unit_height, 16, height - unit_height}, bounds, map);
  return canvas.image();
}

RgbImage draw_arrows(std::span<const Arrow> arrows, const ArrowPicture& picture) {
  const double x_span = picture.x_high - picture.x_low;
  const double y_span = picture.y_high - picture.y_low;
  RUBATO_REQUIRE(x_span > 0 && y_span > 0 && picture.size_max > 0, x_span, y_span);
  const double scale = static_cast<double>(picture.size_max) / std::max(x_span, y_span);
  const auto side = [&](double span) {
    return std::max<std::size_t>(64, static_cast<std::size_t>(std::lround(span * scale)));
  };
  const Size size{side(x_span), side(y_span)};
  constexpr double kScaleLeft = 52;
  constexpr double kScaleBelow = 24;
  const double wheel = picture.color_by_direction ? 18 : 0;
  const double wheel_width =
      wheel > 0 ? 2 * wheel + kToWheel + Canvas::text_width(kWheelCaption) : 0;
  const double title_height =
      Canvas::text_height(kTitleScale) + (picture.note.empty() ? 0 : Canvas::text_height() + 6);
  const double below_title = kMargin + std::max(title_height, 2 * wheel) + 10;
  const double text_width =
      std::max(Canvas::text_width(picture.title, kTitleScale), Canvas::text_width(picture.note));
  const double right = std::max(kScaleLeft + static_cast<double>(size.width),
                                kMargin + text_width + 20 + wheel_width);
  std::vector<LegendEntry> entries = picture.kinds;
  if (!picture.label.empty()) entries.insert(entries.begin(), plain_look(picture));
  const Legend legend(std::move(entries), right - kMargin, kWater);
  const double width = std::max(right, kMargin + legend.width()) + kMargin;
  const double top = below_title + legend.height();
  Canvas canvas(static_cast<std::size_t>(width),
                static_cast<std::size_t>(top + static_cast<double>(size.height) + kScaleBelow),
                kPaper);
  canvas.text({kMargin, kMargin}, picture.title, kInk, kTitleScale);
  canvas.text({kMargin, kMargin + Canvas::text_height(kTitleScale) + 6}, picture.note, kInk);
  if (wheel > 0) draw_wheel(canvas, {width - kMargin - wheel, kMargin + wheel}, wheel);
  legend.draw(canvas, {kMargin, std::floor(below_title)});
  const Rect world{kScaleLeft, std::floor(top), static_cast<double>(size.width),
                   static_cast<double>(size.height)};
  paste(canvas, draw_world(arrows, picture, size).image(), static_cast<std::size_t>(world.x),
        static_cast<std::size_t>(world.y));
  draw_scales(canvas, world, picture);
  return canvas.image();
}

}  // namespace rubato::io

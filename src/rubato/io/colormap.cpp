#include "rubato/io/colormap.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace rubato::io {
namespace {

constexpr std::size_t kFine = 1024;  // points of a path before it is cut into equal steps

double to_srgb_curve(double linear) {
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}
double from_srgb_curve(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

struct Lch {
  double lightness;
  double chroma;
  double hue_degrees;
};

Oklab from_lch(const Lch& color) {
  const double radians = color.hue_degrees * std::numbers::pi / 180;
  return {color.lightness, color.chroma * std::cos(radians), color.chroma * std::sin(radians)};
}

bool on_screen(const Oklab& color) {
  const auto rgb = linear_rgb(color);
  return std::all_of(rgb.begin(), rgb.end(), [](double c) { return c >= 0 && c <= 1; });
}

// The largest chroma that a screen has at this lightness and hue.
double chroma_limit(double lightness, double hue_degrees) {
  double low = 0;
  double high = 0.5;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (on_screen(from_lch({lightness, middle, hue_degrees})) ? low : high) = middle;
  }
  return low;
}

// A smooth curve below `limits`: the minimum over a window, then the mean over the same window.
// Each minimum that enters a mean saw the mean's own place, so that the mean cannot pass the limit
// there.
std::vector<double> smooth_below(const std::vector<double>& limits, std::size_t radius) {
  const auto windowed = [&](const std::vector<double>& in, const auto& combine) {
    std::vector<double> out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t begin = i < radius ? 0 : i - radius;
      const std::size_t end = std::min(in.size(), i + radius + 1);
      out[i] = combine(in.begin() + static_cast<std::ptrdiff_t>(begin),
                       in.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return out;
  };
  const auto lowest = windowed(limits, [](auto a, auto b) { return *std::min_element(a, b); });
  return windowed(lowest, [](auto a, auto b) {
    double sum = 0;
    for (auto at = a; at != b; ++at)
      sum += *at;
    return sum / static_cast<double>(b - a);
  });
}

double distance(const Oklab& p, const Oklab& q) {
  return std::hypot(p.lightness - q.lightness, p.a - q.a, p.b - q.b);
}

std::vector<Oklab> sequential_path() {
  std::vector<double> lightness;
  std::vector<double> hue;
  std::vector<double> limit;
  for (std::size_t i = 0; i < kFine; ++i) {
    const double t = static_cast<double>(i) / (kFine - 1);
    lightness.push_back(0.22 + 0.71 * t);
    hue.push_back(312 - 208 * t);
    limit.push_back(std::min(0.17, chroma_limit(lightness.back(), hue.back())));
  }
  const auto chroma = smooth_below(limit, kFine / 10);
  std::vector<Oklab> path;
  for (std::size_t i = 0; i < kFine; ++i) {
    path.push_back(from_lch({lightness[i], 0.97 * chroma[i], hue[i]}));
  }
  return path;
}

std::vector<Oklab> diverging_path() {
  std::vector<Oklab> path;
  for (std::size_t i = 0; i < kFine; ++i) {
    const double t = 2 * static_cast<double>(i) / (kFine - 1) - 1;
    const double lightness = 0.95 - 0.5 * std::fabs(t);
    path.push_back(from_lch({lightness, 0.13 * std::fabs(t), t < 0 ? 255.0 : 27.0}));
  }
  return path;
}

std::vector<Oklab> cyclic_path() {
  constexpr double kLightness = 0.68;
  double chroma = 1;
  for (int hue = 0; hue < 360; ++hue)
    chroma = std::min(chroma, chroma_limit(kLightness, hue));
  std::vector<Oklab> path;
  for (std::size_t i = 0; i < kFine; ++i) {
    path.push_back(
        from_lch({kLightness, 0.98 * chroma, 360.0 * static_cast<double>(i) / (kFine - 1)}));
  }
  return path;
}

}  // namespace

std::array<double, 3> linear_rgb(const Oklab& color) noexcept {
  const auto cubed = [](double x) { return x * x * x; };
  const double l = cubed(color.lightness + 0.3963377774 * color.a + 0.2158037573 * color.b);
  const double m = cubed(color.lightness - 0.1055613458 * color.a - 0.0638541728 * color.b);
  const double s = cubed(color.lightness - 0.0894841775 * color.a - 1.2914855480 * color.b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

Oklab oklab(Rgb color) noexcept {
  const double r = from_srgb_curve(color.r / 255.0);
  const double g = from_srgb_curve(color.g / 255.0);
  const double b = from_srgb_curve(color.b / 255.0);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Rgb to_rgb(const Oklab& color) noexcept {
  const auto rgb = linear_rgb(color);
  const auto byte = [](double linear) {
    return static_cast<std::uint8_t>(
        std::lround(255 * to_srgb_curve(std::clamp(linear, 0.0, 1.0))));
  };
  return {byte(rgb[0]), byte(rgb[1]), byte(rgb[2])};
}

// Cuts the path at equal distances: that is what makes a map even.
template <class Path>
ColorMap::ColorMap(const Path& path) {
  std::vector<double> length(path.size(), 0.0);
  for (std::size_t i = 1; i < path.size(); ++i) {
    length[i] = length[i - 1] + distance(path[i - 1], path[i]);
  }
  std::size_t i = 1;
  for (std::size_t c = 0; c < kSize; ++c) {
    const double wanted = length.back() * static_cast<double>(c) / (kSize - 1);
    while (i + 1 < path.size() && length[i] < wanted)
      ++i;
    const double f = (wanted - length[i - 1]) / (length[i] - length[i - 1]);
    const auto mixed = [&](double p, double q) { return p + f * (q - p); };
    colors_[c] = to_rgb({mixed(path[i - 1].lightness, path[i].lightness),
                         mixed(path[i - 1].a, path[i].a), mixed(path[i - 1].b, path[i].b)});
  }
}

const ColorMap& ColorMap::sequential() {
  static const ColorMap map(sequential_path());
  return map;
}
const ColorMap& ColorMap::diverging() {
  static const ColorMap map(diverging_path());
  return map;
}
const ColorMap& ColorMap::cyclic() {
  static const ColorMap map(cyclic_path());
  return map;
}

Rgb ColorMap::operator()(double t) const noexcept {
  if (std::isnan(t)) return {128, 128, 128};
  const double scaled = std::clamp(t, 0.0, 1.0) * (kSize - 1);
  return colors_[static_cast<std::size_t>(std::lround(scaled))];
}

}  // namespace rubato::io

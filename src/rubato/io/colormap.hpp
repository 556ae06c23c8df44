#pragma once
// From numbers to colours, so that equal differences look equal.
//
// The maps are computed, not tabulated: paths through OKLab (B. Ottosson, "A perceptual color space
// for image processing", 2020), a space in which distances are about as large as they look. A map's
// colours stand at equal distances along its path, and all of them exist on an sRGB screen without
// clipping.

#include <array>

#include "rubato/io/image.hpp"

namespace rubato::io {

// A colour of OKLab: lightness 0 .. 1, and two opponent axes (green-red, blue-yellow) of about
// +-0.4.
struct Oklab {
  double lightness;
  double a;
  double b;
};

// Linear RGB, unclipped: a colour that a screen lacks has a channel outside of [0, 1].
[[nodiscard]] std::array<double, 3> linear_rgb(const Oklab& color) noexcept;
[[nodiscard]] Oklab oklab(Rgb color) noexcept;
// Clipped to what a screen has, with the sRGB transfer curve.
[[nodiscard]] Rgb to_rgb(const Oklab& color) noexcept;

class ColorMap {
 public:
  // Dark violet over blue, green to light yellow; lightness rises evenly, so that it survives
  // printing in gray and most colour blindness. For quantities.
  [[nodiscard]] static const ColorMap& sequential();
  // Blue over light gray to red, symmetric in lightness. For signed quantities.
  [[nodiscard]] static const ColorMap& diverging();
  // All hues at one lightness; 0 and 1 meet. For angles.
  [[nodiscard]] static const ColorMap& cyclic();

  // The colour of `t` in [0, 1]; what lies outside is clamped, NaN is a neutral gray.
  [[nodiscard]] Rgb operator()(double t) const noexcept;

  static constexpr std::size_t kSize = 256;
  [[nodiscard]] const std::array<Rgb, kSize>& colors() const noexcept { return colors_; }

 private:
  template <class Path>
  explicit ColorMap(const Path& path);

  std::array<Rgb, kSize> colors_;
};

}  // namespace rubato::io

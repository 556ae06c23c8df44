#include "rubato/io/colormap.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace rubato::io {
namespace {

double step(const ColorMap& map, std::size_t i, std::size_t n) {
  const Oklab p = oklab(map.colors()[i]);
  const Oklab q = oklab(map.colors()[i + n]);
  return std::hypot(p.lightness - q.lightness, p.a - q.a, p.b - q.b);
}

// Over steps of 16 colours, so that rounding to bytes weighs little.
void expect_even(const ColorMap& map) {
  double least = 1;
  double most = 0;
  for (std::size_t i = 0; i + 16 < ColorMap::kSize; i += 16) {
    least = std::min(least, step(map, i, 16));
    most = std::max(most, step(map, i, 16));
  }
  EXPECT_LT(most / least, 1.15);
}

TEST(ColorMap, EqualStepsLookEqual) {
  expect_even(ColorMap::sequential());
  expect_even(ColorMap::diverging());
  expect_even(ColorMap::cyclic());
}

TEST(ColorMap, SequentialLightnessAlwaysRises) {
  const auto& colors = ColorMap::sequential().colors();
  for (std::size_t i = 0; i + 8 < colors.size(); ++i) {
    EXPECT_GT(oklab(colors[i + 8]).lightness, oklab(colors[i]).lightness) << i;
  }
  EXPECT_LT(oklab(colors.front()).lightness, 0.25);
  EXPECT_GT(oklab(colors.back()).lightness, 0.9);
}

TEST(ColorMap, RunsFromVioletOverGreenToYellow) {
  const ColorMap& map = ColorMap::sequential();
  EXPECT_GT(map(0).b, map(0).g);
  EXPECT_GT(map(0.6).g, map(0.6).r);
  EXPECT_GT(map(0.6).g, map(0.6).b);
  EXPECT_GT(map(1).r, map(1).b + 60);
}

TEST(ColorMap, CyclicMeetsItselfAndDivergingIsPaleInTheMiddle) {
  EXPECT_EQ(ColorMap::cyclic()(0), ColorMap::cyclic()(1));
  const Oklab middle = oklab(ColorMap::diverging()(0.5));
  EXPECT_GT(middle.lightness, 0.93);
  EXPECT_LT(std::hypot(middle.a, middle.b), 0.02);
  EXPECT_NEAR(oklab(ColorMap::diverging()(0)).lightness, oklab(ColorMap::diverging()(1)).lightness,
              0.01);
}

TEST(ColorMap, ClampsAndShowsNanAsGray) {
  const ColorMap& map = ColorMap::sequential();
  EXPECT_EQ(map(-5), map(0));
  EXPECT_EQ(map(HUGE_VAL), map(1));
  EXPECT_EQ(map(std::nan("")), (Rgb{128, 128, 128}));
}

TEST(Oklab, IsUndoneByItsInverse) {
  for (int r = 0; r < 256; r += 15) {
    for (int g = 0; g < 256; g += 15) {
      const Rgb color{static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), 77};
      EXPECT_EQ(to_rgb(oklab(color)), color);
    }
  }
  EXPECT_NEAR(oklab({255, 255, 255}).lightness, 1, 1e-4);
}

}  // namespace
}  // namespace rubato::io

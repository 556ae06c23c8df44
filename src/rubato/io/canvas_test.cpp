#include "rubato/io/canvas.hpp"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/io/detail/font.hpp"

namespace rubato::io {
namespace {

constexpr Rgb kWhite{255, 255, 255};
constexpr Rgb kBlack{0, 0, 0};

// The painted area in pixels, of black on white.
double ink(const Canvas& canvas) {
  double sum = 0;
  for (const Rgb& pixel : canvas.image().pixels)
    sum += (255 - pixel.g) / 255.0;
  return sum;
}

TEST(Canvas, ShapesCoverTheAreaThatGeometrySays) {
  Canvas disc(40, 40, kWhite);
  disc.disc({20.3, 19.6}, 10, kBlack);
  EXPECT_NEAR(ink(disc), 314.16, 2);
  Canvas line(60, 60, kWhite);
  line.line({10, 10}, {40, 50}, kBlack, 4);
  EXPECT_NEAR(ink(line), 50 * 4 + 3.14159 * 4, 3);
  Canvas triangle(50, 50, kWhite);
  triangle.triangle({5, 5}, {5, 45}, {45, 25}, kBlack);  // either sense of rotation
  triangle.triangle({5, 5}, {45, 25}, {5, 45}, kBlack);
  EXPECT_NEAR(ink(triangle), 800, 25);
  Canvas rect(10, 10, kWhite);
  rect.fill(Rect{1.5, 2.25, 3, 2}, kBlack);
  EXPECT_NEAR(ink(rect), 6, 0.05);
}

TEST(Canvas, EdgesAreSmooth) {
  Canvas canvas(30, 30, kWhite);
  canvas.disc({15, 15}, 9, kBlack);
  std::set<int> grays;
  for (const Rgb& pixel : canvas.image().pixels)
    grays.insert(pixel.r);
  EXPECT_GT(grays.size(), 6U);
  EXPECT_EQ(canvas.image().at(15, 15), kBlack);
  EXPECT_EQ(canvas.image().at(0, 0), kWhite);
}

TEST(Canvas, AnArrowIsThickAtItsHead) {
  Canvas canvas(60, 20, kWhite);
  canvas.arrow({5, 10}, {55, 10}, kBlack, 2, 16);
  const auto thickness = [&](std::size_t x) {
    double sum = 0;
    for (std::size_t y = 0; y < 20; ++y)
      sum += (255 - canvas.image().at(x, y).g) / 255.0;
    return sum;
  };
  EXPECT_NEAR(thickness(20), 2, 0.1);
  EXPECT_GT(thickness(41), 9);
  EXPECT_LT(thickness(52), 5);
}

TEST(Canvas, CutsWhatLiesOutsideAndSurvivesAnyNumber) {
  Canvas canvas(20, 20, kWhite);
  canvas.disc({-1e300, 5}, 3, kBlack);
  canvas.disc({std::numeric_limits<double>::quiet_NaN(), 5}, 3, kBlack);
  canvas.line({1e18, HUGE_VAL}, {5, 5}, kBlack);
  canvas.text({-3, 17}, "cut off", kBlack);
  RandomStream random(4);
  for (int i = 0; i < 300; ++i) {
    const auto any = [&] { return (random.unit() - 0.5) * std::pow(10, 4 * random.unit()); };
    canvas.arrow({any(), any()}, {any(), any()}, kBlack, 2 * random.unit(), 9);
    canvas.fill(Rect{any(), any(), any(), any()}, kWhite);
    canvas.triangle({any(), any()}, {any(), any()}, {any(), any()}, kBlack);
  }
  EXPECT_EQ(canvas.image().pixels.size(), 400U);
}

TEST(Canvas, TextIsPlacedByItsAlignment) {
  const auto columns = [](Align align) {
    Canvas canvas(100, 20, kWhite);
    canvas.text({50, 2}, "HH", kBlack, 2, align);
    std::set<std::size_t> used;
    for (std::size_t x = 0; x < 100; ++x) {
      for (std::size_t y = 0; y < 20; ++y) {
        if (canvas.image().at(x, y) == kBlack) used.insert(x);
      }
    }
    return std::pair{*used.begin(), *used.rbegin() + 1};
  };
  EXPECT_EQ(Canvas::text_width("HH", 2), 22);
  EXPECT_EQ(columns(Align::left), (std::pair<std::size_t, std::size_t>{50, 72}));
  EXPECT_EQ(columns(Align::center), (std::pair<std::size_t, std::size_t>{39, 61}));
  EXPECT_EQ(columns(Align::right), (std::pair<std::size_t, std::size_t>{28, 50}));
}

TEST(Font, HasADifferentPictureForEachCharacter) {
  std::set<detail::Glyph> seen;
  for (char c = ' '; c <= '~'; ++c) {
    EXPECT_TRUE(seen.insert(detail::glyph_of(c)).second) << c;
    for (const auto row : detail::glyph_of(c))
      EXPECT_LT(row, 32) << c;
  }
  EXPECT_EQ(detail::glyph_of('\n'), detail::glyph_of('?'));
  EXPECT_EQ(Canvas::text_width("\u00e9"), Canvas::text_width("e"));
}

}  // namespace
}  // namespace rubato::io

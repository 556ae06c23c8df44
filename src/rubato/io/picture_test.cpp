#include "rubato/io/picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/io/detail/ticks.hpp"

namespace rubato::io {
namespace {

std::size_t count(const RgbImage& image, Rgb color) {
  return static_cast<std::size_t>(std::count(image.pixels.begin(), image.pixels.end(), color));
}

// To look at what the tests draw: RUBATO_TEST_PICTURES=folder.
void keep(const RgbImage& image, const std::string& name) {
  if (const char* const folder = std::getenv("RUBATO_TEST_PICTURES")) {
    write_png(std::string(folder) + "/" + name, image);
  }
}

TEST(DrawRaster, ShowsEachCellInItsColor) {
  const std::vector<double> values = {0, 1, 2, std::nan("")};
  RasterPicture picture;
  picture.title = "Four cells";
  picture.size_max = 100;
  const RgbImage image = draw_raster({values, 2, 2}, picture);
  const ColorMap& map = ColorMap::sequential();
  // Each cell is 50 x 50; the colour bar may add a row of one of them.
  EXPECT_GE(count(image, map(0)), 2500U);
  EXPECT_GE(count(image, map(0.5)), 2500U);
  EXPECT_GE(count(image, map(1)), 2500U);
  EXPECT_EQ(count(image, map(std::nan(""))), 2500U);
}

TEST(DrawRaster, AveragesWhatIsTooLarge) {
  std::vector<double> values(400 * 100);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 2 == 0 ? 0 : 10;
  RasterPicture picture;
  picture.size_max = 200;
  const RgbImage image = draw_raster({values, 400, 100}, picture);
  EXPECT_GE(count(image, ColorMap::sequential()(0.5)), 200U * 50U);
  EXPECT_LT(image.width, 330U);
}

TEST(DrawRaster, SurvivesOneValueAndHolesOnly) {
  for (const double value : {3.0, std::nan(""), HUGE_VAL}) {
    const std::vector<double> values(6, value);
    EXPECT_GT(draw_raster({values, 3, 2}, {}).pixels.size(), 0U);
  }
}

TEST(DrawRaster, HeatWithTitleUnitAndBar) {
  std::vector<double> values(120 * 80);
  for (std::size_t y = 0; y < 80; ++y) {
    for (std::size_t x = 0; x < 120; ++x) {
      const double dx = static_cast<double>(x) - 40;
      const double dy = static_cast<double>(y) - 30;
      values[y * 120 + x] = 20 + 80 * std::exp(-(dx * dx + dy * dy) / 400);
    }
  }
  RasterPicture picture;
  picture.title = "Heat, tick 400";
  picture.unit = "deg C";
  const RgbImage image = draw_raster({values, 120, 80}, picture);
  keep(image, "heat.png");
  EXPECT_GT(count(image, Rgb{34, 34, 40}), 300U);  // ink of the title and labels
}

TEST(DrawArrows, PutsEachArrowAtItsPlaceWithYUpwards) {
  std::vector<Arrow> arrows(1);
  arrows[0] = {0.75, 0.9, 1, 0, false};
  ArrowPicture picture;
  picture.size_max = 100;
  const RgbImage image = draw_arrows(arrows, picture);
  const Rgb east = ColorMap::cyclic()(0.5);
  double x = 0;
  double y = 0;
  double n = 0;
  for (std::size_t j = 60; j < image.height; ++j) {  // below the wheel
    for (std::size_t i = 0; i < image.width; ++i) {
      if (!(image.at(i, j) == east)) continue;
      x += static_cast<double>(i);
      y += static_cast<double>(j);
      ++n;
    }
  }
  ASSERT_GT(n, 5);
  EXPECT_NEAR(x / n, 52 + 75, 6);
  EXPECT_NEAR(y / n, 60 + 10, 6);
}

TEST(DrawArrows, ManyFishWithSomeMarked) {
  std::vector<Arrow> arrows;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    RandomStream random(1, i);
    const double angle = 6.28 * random.unit();
    const double r = 40 * std::sqrt(random.unit());
    arrows.push_back({50 + r * std::cos(angle), 50 + r * std::sin(angle), -std::sin(angle),
                      std::cos(angle), i % 60 == 0});
  }
  arrows.push_back({-500, 1e9, 1, 0, false});  // outside: cut
  arrows.push_back({50, 50, 0, 0, false});
  ArrowPicture picture;
  picture.title = "A school of fish";
  picture.note = "tick 400, 3000 fish, [50 informed] {k=3, m=5}: \"quick\" & lazy jumping |~^_@";
  picture.x_high = 100;
  picture.y_high = 100;
  const RgbImage image = draw_arrows(arrows, picture);
  keep(image, "fish.png");
  EXPECT_GT(count(image, Rgb{255, 255, 255}), 1000U);
}

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(detail::ticks(0, 1, 5), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  EXPECT_EQ(detail::ticks(-3, 17, 4), (std::vector<double>{0, 5, 10, 15}));
  EXPECT_EQ(detail::ticks(5, 5, 4), (std::vector<double>{5}));
  EXPECT_EQ(detail::ticks(1e300, std::nextafter(1e300, HUGE_VAL), 4).size(), 1U);
  EXPECT_EQ(detail::log_ticks(0.5, 2000), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(detail::tick_label(0.6000000000000001), "0.6");
  EXPECT_EQ(detail::tick_label(150000), "150000");
  EXPECT_EQ(detail::tick_label(2e7), "2e+07");
}

}  // namespace
}  // namespace rubato::io

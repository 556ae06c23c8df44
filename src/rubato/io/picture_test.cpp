#include "rubato/io/picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

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

// Where a color is, as the rows [first, last].
std::pair<std::size_t, std::size_t> rows_of(const RgbImage& image, Rgb color) {
  std::pair<std::size_t, std::size_t> rows{image.height, 0};
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      if (image.at(x, y) != color) continue;
      rows.first = std::min(rows.first, y);
      rows.second = y;
    }
  }
  return rows;
}

constexpr Rgb kGray{128, 128, 128};
constexpr Rgb kPink{250, 10, 200};

TEST(DrawRaster, CellsOfAKindHaveItsColorAndALineInTheLegend) {
  // The wall's value would be the lowest.
  const std::vector<double> values = {-1000, 10, 20, 20};
  const std::vector<std::uint8_t> kinds = {1, 0, 0, 2};
  RasterPicture picture;
  picture.size_max = 100;
  const RgbImage plain = draw_raster({values, 2, 2}, picture);
  EXPECT_EQ(count(plain, kGray), 0U);
  picture.kinds = {{"wall", kGray, Mark::fill},
                   {"source", kPink, Mark::hatch},
                   {"not here", {1, 2, 3}, Mark::fill}};
  const RgbImage image = draw_raster({values, 2, 2, kinds}, picture);
  keep(image, "kinds.png");
  const std::size_t patch = count(image, kGray) - 2500;
  EXPECT_GT(patch, 200U);
  EXPECT_LT(patch, 400U);
  EXPECT_GT(image.height, plain.height + 10);
  EXPECT_LT(rows_of(image, kGray).first, image.height - 140) << "the patch is above the raster";
  // A quarter of a source is striped, the rest shows its value.
  EXPECT_GE(count(image, kPink), 625U);
  EXPECT_LE(count(image, kPink), 625U + 90U);
  const ColorMap& map = ColorMap::sequential();
  EXPECT_GE(count(image, map(0)), 2500U) << "10 is the lowest value that is shown";
  EXPECT_GE(count(image, map(1)), 2500U + 1875U);
  EXPECT_EQ(count(image, {1, 2, 3}), 0U) << "a kind that no cell is has no line";
}

TEST(DrawRaster, AWallOfOneCellIsSeenInARasterThatIsAveraged) {
  std::vector<double> values(400 * 400, 1);
  std::vector<std::uint8_t> kinds(values.size(), 0);
  for (std::size_t y = 0; y < 400; ++y)
    kinds[y * 400 + 201] = 1;
  RasterPicture picture;
  picture.size_max = 100;
  picture.kinds = {{"wall", kPink, Mark::fill}};
  const RgbImage image = draw_raster({values, 400, 400, kinds}, picture);
  // 100 rows, above the end of a colour bar of 120.
  for (std::size_t y = image.height - 14 - 120; y < image.height - 14 - 20; ++y)
    ASSERT_EQ(image.at(14 + 50, y), kPink) << y;
}

TEST(DrawRaster, ALongUnitIsNotCut) {
  const std::vector<double> values(4, 1);
  RasterPicture picture;
  picture.size_max = 100;
  const std::size_t narrow = draw_raster({values, 2, 2}, picture).width;
  picture.unit = "temperature in kelvin";
  EXPECT_GE(draw_raster({values, 2, 2}, picture).width, narrow + 40);
}

TEST(DrawArrows, PutsEachArrowAtItsPlaceWithYUpwards) {
  std::vector<Arrow> arrows(1);
  arrows[0] = {0.75, 0.9, 1, 0};
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
                      std::cos(angle), i % 60 == 0 ? 1U : 0U});
  }
  arrows.push_back({-500, 1e9, 1, 0});  // outside: cut
  arrows.push_back({50, 50, 0, 0});
  ArrowPicture picture;
  picture.title = "A school of fish";
  picture.note = "tick 400, 3000 fish, [50 informed] {k=3, m=5}: \"quick\" & lazy jumping |~^_@";
  picture.x_high = 100;
  picture.y_high = 100;
  picture.label = "fish";
  picture.kinds = {{"informed", {255, 255, 255}, Mark::arrow}};
  const RgbImage image = draw_arrows(arrows, picture);
  keep(image, "fish.png");
  EXPECT_GT(count(image, Rgb{255, 255, 255}), 1000U);
}

TEST(DrawArrows, EachMarkHasItsShapeAndALineInTheLegend) {
  const std::vector<Mark> marks = {Mark::arrow, Mark::disc, Mark::along, Mark::across, Mark::fill};
  ArrowPicture picture;
  picture.size_max = 200;
  picture.color_by_direction = false;
  const std::size_t before = draw_arrows({}, picture).height;
  for (const Mark mark : marks) {
    picture.kinds = {{"of a kind", kPink, mark}};
    const RgbImage none = draw_arrows({}, picture);
    EXPECT_GT(none.height, before + 10);
    const std::size_t patch = count(none, kPink);
    EXPECT_GT(patch, 4U) << static_cast<int>(mark);
    const std::vector<Arrow> up = {{0.5, 0.5, 0, 1, 1}};
    const RgbImage image = draw_arrows(up, picture);
    EXPECT_GT(count(image, kPink), patch + 10) << static_cast<int>(mark);
    // In the world a bar along the way up is high, one across it is not.
    RgbImage world = image;
    world.pixels.erase(world.pixels.begin(),
                       world.pixels.begin() + static_cast<std::ptrdiff_t>(60 * image.width));
    world.height -= 60;
    const auto [first, last] = rows_of(world, kPink);
    EXPECT_TRUE(mark != Mark::along || last - first > 15);
    EXPECT_TRUE(mark != Mark::across || last - first < 6);
  }
}

TEST(DrawArrows, TheWheelHasACaption) {
  ArrowPicture picture;
  picture.size_max = 400;
  const auto ink_at_top = [&] {
    const RgbImage image = draw_arrows({}, picture);
    return std::count(image.pixels.begin(),
                      image.pixels.begin() + static_cast<std::ptrdiff_t>(33 * image.width),
                      Rgb{34, 34, 40});
  };
  EXPECT_GT(ink_at_top(), 50);  // there is neither a title nor a note
  picture.color_by_direction = false;
  EXPECT_EQ(ink_at_top(), 0);
}

TEST(DrawArrows, ALegendThatIsTooLongGoesOnInANewLine) {
  ArrowPicture picture;
  picture.size_max = 300;
  const LegendEntry entry{"something that has a long name", kPink, Mark::fill};
  picture.kinds = {entry};
  const RgbImage one = draw_arrows({}, picture);
  picture.kinds = {entry, entry, entry};
  const RgbImage three = draw_arrows({}, picture);
  EXPECT_EQ(three.width, one.width);
  EXPECT_GE(three.height, one.height + 30);
  EXPECT_EQ(count(three, kPink), 3 * count(one, kPink));
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

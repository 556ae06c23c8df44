// heat on rasters: against the serial verifier bit for bit, against what physics says, and with
// input that is wrong.

#include "rubato/models/heat_raster.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/io/image.hpp"
#include "rubato/models/heat_verifier.hpp"
#include "rubato/tick/check/runs.hpp"
#include "rubato/tick/output/outputs.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::models {
namespace {

constexpr float kFree = std::numeric_limits<float>::quiet_NaN();

using Problem = tick::ProblemOf<tick::GridModel<RasterHeat>, tick::GridStore<RasterHeat>>;

// Random materials with walls and sources among them.
HeatRaster random_raster(std::int64_t width, std::int64_t height, std::uint64_t seed) {
  RandomStream random(seed);
  HeatRaster raster;
  raster.width = width;
  raster.height = height;
  for (std::int64_t i = 0; i < width * height; ++i) {
    raster.conductivity.push_back(random.between(0, 4) == 0 ? 0
                                                            : static_cast<float>(random.unit()));
    raster.start.push_back(static_cast<float>(50 * random.unit()));
    raster.source.push_back(random.between(0, 30) == 0 ? static_cast<float>(100 * random.unit())
                                                       : kFree);
  }
  return raster;
}

tick::GridModel<RasterHeat> model_of(const HeatRaster& raster, const RasterHeatOptions& options) {
  return tick::GridModel<RasterHeat>(
      RasterHeat(std::make_shared<const HeatMaterial>(raster), options), 200);
}

std::vector<double> run(const Problem& problem, const char* policy, std::uint32_t n_nodes,
                        tick::Tick ticks, tick::Tick* end = nullptr) {
  tick::SimulationOptions options;
  options.n_nodes = n_nodes;
  options.profile = net::parse_profile("ec2-large");
  const auto& space = problem.model().space().world;
  std::vector<double> all(static_cast<std::size_t>(space.volume()));
  options.at_end = [&](tick::NodeId, tick::NodeRun& node) {
    auto& typed = dynamic_cast<Problem::Node&>(node);
    typed.store().for_each_own_row(
        typed.engine().end(), [&](const auto& at, std::int64_t n, const auto& fields) {
          std::copy_n(fields[0], n, all.begin() + at[1] * space.width(0) + at[0]);
        });
  };
  const auto result = tick::simulate(problem, tick::Policy::parse(policy), ticks, options);
  if (end != nullptr) *end = result.ticks;
  return all;
}

TEST(RasterHeat, equals_the_serial_verifier_bit_for_bit) {
  for (const HeatEdge edge : {HeatEdge::held, HeatEdge::insulated}) {
    for (const double time_step : {0.0, 0.2}) {
      RasterHeatOptions options;
      options.edge = edge;
      options.time_step = time_step;
      options.common.edge = -7;
      options.common.start = 3;
      const HeatRaster raster = random_raster(41, 33, 5);
      HeatVerifier verifier(raster, options);
      for (int t = 0; t < 30; ++t)
        verifier.step();
      const Problem problem(model_of(raster, options));
      EXPECT_TRUE(run(problem, "local", 1, 30) == verifier.temperature());
      EXPECT_TRUE(run(problem, "k2m3d2", 6, 30) == verifier.temperature());
    }
  }
}

TEST(RasterHeat, keeps_all_rules_of_a_model) {
  RasterHeatOptions options;
  options.common.tolerance = 1e-3;
  options.common.test_interval = 2;
  options.common.test_lag = 2;
  const Problem problem(model_of(random_raster(23, 17, 9), options));
  const auto report = tick::check_problem(problem, {});
  EXPECT_TRUE(report.ok()) << describe(report);
}

// Plates at 0 and 100 degrees; the field between them is linear in x.
HeatRaster plates(std::int64_t width, std::int64_t height) {
  HeatRaster raster;
  raster.width = width;
  raster.height = height;
  for (std::int64_t i = 0; i < width * height; ++i) {
    const std::int64_t x = i % width;
    raster.source.push_back(x == 0 ? 0 : x == width - 1 ? 100 : kFree);
  }
  return raster;
}

TEST(RasterHeat, between_two_plates_the_steady_state_is_linear) {
  RasterHeatOptions options;
  options.edge = HeatEdge::insulated;
  options.common.tolerance = 1e-10;
  const Problem problem(model_of(plates(21, 5), options));
  tick::Tick end = 0;
  const auto field = run(problem, "k2m1", 3, 20'000, &end);
  EXPECT_LT(end, 20'000);  // the tolerance ended it
  for (std::int64_t i = 0; i < 21 * 5; ++i)
    EXPECT_NEAR(field[static_cast<std::size_t>(i)], 5.0 * static_cast<double>(i % 21), 1e-6);
}

TEST(RasterHeat, through_two_materials_the_same_heat_flows) {
  RasterHeatOptions options;
  options.edge = HeatEdge::insulated;
  options.common.tolerance = 1e-11;
  HeatRaster raster = plates(20, 3);
  for (std::int64_t i = 0; i < 60; ++i)
    raster.conductivity.push_back(i % 20 < 10 ? 4 : 1);
  const auto field = run(Problem(model_of(raster, options)), "local", 2, 50'000);
  // 9 faces of 4, one of 2 * 4 * 1 / (4 + 1) and 9 of 1 in series.
  const double flux = 100 / (9 / 4.0 + 1 / 1.6 + 9);
  for (std::size_t x = 0; x < 20; ++x) {
    const double expected =
        x < 10 ? flux * static_cast<double>(x) / 4 : 100 - flux * static_cast<double>(19 - x);
    EXPECT_NEAR(field[20 + x], expected, 1e-6) << x;
  }
}

TEST(RasterHeat, an_insulated_body_keeps_its_heat) {
  RasterHeatOptions options;
  options.edge = HeatEdge::insulated;
  options.time_step = 0.2;
  HeatRaster raster = random_raster(40, 30, 3);
  raster.source.clear();
  HeatVerifier verifier(raster, options);
  const long double before = verifier.total();
  const auto field = run(Problem(model_of(raster, options)), "k3m2", 4, 200);
  EXPECT_FALSE(field == verifier.temperature());  // heat has moved
  long double after = 0;
  for (const double value : field)
    after += value;
  EXPECT_NEAR(static_cast<double>(after / before), 1, 1e-12);
}

class HeatFiles : public ::testing::Test {
 protected:
  HeatFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "rubato-heat-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("no temporary folder");
    folder_ = name;
  }
  ~HeatFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
    return folder_ + "/" + name;
  }
  std::string pgm(const std::string& name, std::size_t width,
                  const std::vector<std::uint16_t>& samples, std::uint16_t most) const {
    io::write_pgm(folder_ + "/" + name, width, samples, most);
    return folder_ + "/" + name;
  }
  static std::string error_of(const HeatMaterial::Files& files, double time_step = 0) {
    try {
      RasterHeatOptions options;
      options.time_step = time_step;
      const Problem problem(tick::GridModel<RasterHeat>(
          RasterHeat(std::make_shared<const HeatMaterial>(files), options)));
      (void)run(problem, "local", 1, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string folder_;
};

TEST_F(HeatFiles, a_raster_from_files_is_the_raster_from_memory) {
  HeatRaster raster;
  raster.width = 5;
  raster.height = 3;
  std::string table;
  std::vector<std::uint16_t> conductivity;
  for (int i = 0; i < 15; ++i) {
    conductivity.push_back(static_cast<std::uint16_t>(1000 * i));
    raster.conductivity.push_back(static_cast<float>(2.0 * (1000.0 * i) / 14'000));
    raster.source.push_back(i % 4 == 1 ? static_cast<float>(i) + 0.5F : kFree);
    table += (i % 4 == 1 ? std::to_string(i) + ".5" : "") + (i % 5 == 4 ? "\n" : ",");
  }
  // Whole numbers that a float holds exactly, so that both rasters have the same bits.
  for (int i = 0; i < 15; ++i) {
    conductivity[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(i % 3 * 128);
    raster.conductivity[static_cast<std::size_t>(i)] = static_cast<float>(i % 3);
  }
  HeatMaterial::Files files;
  files.conductivity = pgm("conductivity.pgm", 5, conductivity, 512);
  files.conductivity_high = 4;
  files.sources = write("sources.csv", table);
  const RasterHeatOptions options;
  const Problem from_files(tick::GridModel<RasterHeat>(
      RasterHeat(std::make_shared<const HeatMaterial>(files), options)));
  const Problem from_memory(model_of(raster, options));
  EXPECT_TRUE(run(from_files, "local", 2, 7) == run(from_memory, "local", 1, 7));
}

TEST_F(HeatFiles, an_image_gives_sources_and_walls) {
  HeatMaterial::Files files;
  files.sources = pgm("sources.pgm", 3, {0, 1, 255}, 255);
  files.source_low = 20;
  files.source_high = 90;
  files.walls = pgm("walls.pgm", 3, {255, 0, 7}, 255);
  const HeatMaterial material(files);
  double found[3];
  material.sources(0, 0, 3, found);
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], 20);
  EXPECT_EQ(found[2], 90);
  material.conductivity(0, 0, 3, found);
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[1], 0);
  EXPECT_EQ(found[2], 1);
}

TEST(RasterHeat, walls_and_sources_are_kinds_of_its_pictures) {
  HeatRaster raster;
  raster.width = 3;
  raster.height = 2;
  raster.conductivity = {1, 0, 1, 0, 1, 1};
  raster.source = {kFree, kFree, 5, 7, kFree, kFree};
  const RasterHeat heat(std::make_shared<const HeatMaterial>(raster), {});
  std::vector<std::uint8_t> kinds(6, 0);
  heat.picture_kinds({0, 0}, 3, kinds.data());
  heat.picture_kinds({0, 1}, 1, kinds.data() + 3);
  heat.picture_kinds({1, 1}, 2, kinds.data() + 4);
  EXPECT_EQ(kinds, (std::vector<std::uint8_t>{0, 1, 2, 2, 0, 0}));
  const tick::PictureStyle style = heat.picture_style();
  ASSERT_EQ(style.kinds.size(), 2U);
  EXPECT_EQ(style.kinds[0].name, "wall");
  EXPECT_EQ(style.kinds[1].name, "source");
}

TEST_F(HeatFiles, pictures_of_a_run_share_the_range_of_their_colors_if_it_is_known) {
  using Bounds = std::pair<std::optional<double>, std::optional<double>>;
  HeatMaterial::Files files;
  RasterHeatOptions options;
  options.common.start = -4;
  options.common.edge = 120;
  const auto bounds = [&] {
    const RasterHeat heat(std::make_shared<const HeatMaterial>(files), options);
    return Bounds(heat.picture_style().low, heat.picture_style().high);
  };
  files.sources = pgm("sources.pgm", 3, {0, 1, 255}, 255);
  files.source_low = 20;
  files.source_high = 90;
  EXPECT_EQ(bounds(), Bounds(-4, 120));
  options.edge = HeatEdge::insulated;
  EXPECT_EQ(bounds(), Bounds(-4, 90));
  files.start = pgm("start.pgm", 3, {0, 1, 255}, 255);
  EXPECT_EQ(bounds(), Bounds(20, 90));
  files.sources = write("sources.csv", "1,2,3000\n");
  EXPECT_EQ(bounds(), Bounds());
  options.common.edge = 0;
  EXPECT_EQ(UniformHeat(options.common).picture_style().low, -4);
  EXPECT_EQ(UniformHeat(options.common).picture_style().high, 97);
  // What another run has left may be hotter than all that these options say.
  options.common.is_branch = true;
  EXPECT_FALSE(UniformHeat(options.common).picture_style().low);
  EXPECT_FALSE(UniformHeat(options.common).picture_style().high);
  files = {};
  files.walls = pgm("walls.pgm", 3, {9, 0, 9}, 9);
  EXPECT_EQ(bounds(), Bounds());
}

// Through the files of a run: what people see.
TEST_F(HeatFiles, walls_in_a_picture_have_no_color_of_a_temperature) {
  HeatMaterial::Files files;
  files.walls = pgm("walls.pgm", 4, {9, 9, 9, 9, 9, 0, 0, 9, 9, 9, 9, 9}, 9);
  RasterHeatOptions options;
  options.common.edge = 50;
  const Problem problem(tick::GridModel<RasterHeat>(
      RasterHeat(std::make_shared<const HeatMaterial>(files), options)));
  tick::SimulationOptions simulation;
  simulation.n_nodes = 2;
  tick::OutputOptions output;
  output.folder = folder_;
  output.formats = "png";
  output.name = "heat";
  const auto outputs = tick::add_outputs(simulation, output);
  (void)tick::simulate(problem, tick::Policy::parse("local"), 3, simulation);
  const io::Image image =
      io::read_image(folder_ + "/heat.png", {.kind = io::ImageKind::rgb, .bits = 8});
  std::size_t n_gray = 0;
  for (std::size_t y = 0; y < image.info.height; ++y) {
    for (std::size_t x = 0; x < image.info.width; ++x) {
      const bool is_gray = image.at(x, y, 0) == 128 && image.at(x, y, 1) == 128;
      n_gray += is_gray && image.at(x, y, 2) == 128 ? 1 : 0;
    }
  }
  EXPECT_GT(n_gray, 2U * 160 * 160 + 200) << "two cells and the legend's patch";
  EXPECT_LT(n_gray, 2U * 160 * 160 + 400);
  const auto& colors = io::ColorMap::sequential().colors();
  EXPECT_EQ(std::ranges::find(colors, io::Rgb{128, 128, 128}), colors.end());
}

TEST_F(HeatFiles, a_node_reads_the_rows_that_it_needs) {
  std::string table;
  for (int y = 0; y < 400; ++y)
    table += "1,2,3,4\n";
  RasterFile::Options options;
  options.cells_kept = 40;
  const RasterFile file(write("tall.csv", table), options);
  double row[4];
  for (std::int64_t y = 100; y < 150; ++y)
    file.read(0, y, 4, row);
  EXPECT_EQ(row[3], 4);
  EXPECT_LE(file.n_rows_read(), 70);
  EXPECT_GE(file.n_rows_read(), 50);
}

void contains(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST_F(HeatFiles, wrong_input_is_named_with_file_place_and_expectation) {
  contains(error_of({.conductivity = write("word.csv", "1,2\n1,much\n"),
                     .walls = "",
                     .sources = "",
                     .start = ""}),
           {"word.csv", "line 2", "column 2", "a number", "much"});
  contains(error_of({.conductivity = write("nan.csv", "1,2\nnan,1\n"),
                     .walls = "",
                     .sources = "",
                     .start = ""}),
           {"nan.csv", "line 2", "column 1", "nan"});
  contains(
      error_of(
          {.conductivity = write("cold.csv", "1,-2\n"), .walls = "", .sources = "", .start = ""}),
      {"cold.csv", "line 1", "column 2", "conductivity of 0 or more", "-2"});
  contains(
      error_of(
          {.conductivity = write("hole.csv", "1,\n"), .walls = "", .sources = "", .start = ""}),
      {"hole.csv", "line 1", "column 2", "conductivity"});
  contains(error_of({.conductivity = write("ragged.csv", "1,2\n1,2,3\n"),
                     .walls = "",
                     .sources = "",
                     .start = ""}),
           {"ragged.csv", "line 2"});
  contains(
      error_of({.conductivity = "",
                .walls = write("notes.txt", "The house has\nthree rooms, a door and no roof\n"),
                .sources = "",
                .start = ""}),
      {"notes.txt: line 1, column 1: expected a number, since the file is no PNG and no PGM",
       "The house has"});
  contains(
      error_of({.conductivity = write("empty.csv", ""), .walls = "", .sources = "", .start = ""}),
      {"empty.csv", "expected a gray PNG or PGM"});
  contains(
      error_of({.conductivity = folder_ + "/word.cvs", .walls = "", .sources = "", .start = ""}),
      {"word.cvs", "word.csv"});
  contains(error_of({.conductivity = write("a.csv", "1,2\n3,4\n"),
                     .walls = "",
                     .sources = pgm("b.pgm", 3, {0, 0, 0}, 255),
                     .start = ""}),
           {"b.pgm", "expected 2 x 2 cells", "a.csv", "found 3 x 1"});
  io::RgbImage colours{2, 2, std::vector<io::Rgb>(4)};
  io::write_png(folder_ + "/colours.png", colours);
  contains(
      error_of({.conductivity = folder_ + "/colours.png", .walls = "", .sources = "", .start = ""}),
      {"colours.png", "gray"});
  contains(
      error_of({.conductivity = folder_ + "/a.csv", .walls = "", .sources = "", .start = ""}, 0.2),
      {"--time-step", "expected at most", "cell (", "found 0.2"});
}

TEST_F(HeatFiles, cells_of_a_run_that_are_no_start_are_named_with_file_and_place) {
  const std::string cells = "x,y,temperature\n0,0, 1.5\n1,0,-2\n0,1,3\n";
  contains(error_of({.conductivity = "",
                     .walls = "",
                     .sources = write("cells.csv", cells + "1,1,4\n"),
                     .start = ""}),
           {"cells.csv: line 1", "expected numbers, a line for each row", "--start-file"});
  contains(
      error_of({.conductivity = "", .walls = "", .sources = "", .start = write("cut.csv", cells)}),
      {"cut.csv: expected rows of 2 cells, found 1 in the last"});
  contains(error_of({.conductivity = "",
                     .walls = "",
                     .sources = "",
                     .start = write("gap.csv", cells + "0,2,4\n")}),
           {"gap.csv: line 5, column 1", "expected 1, since cells stand row by row"});
  contains(error_of({.conductivity = "",
                     .walls = "",
                     .sources = "",
                     .start = write("other.csv", "x,y,pressure\n0,0,1\n")}),
           {"other.csv: line 1, column 3", "expected the column temperature"});
  contains(error_of({.conductivity = "",
                     .walls = "",
                     .sources = "",
                     .start = write("hot.csv", "x,y,temperature\n0,0,hot\n")}),
           {"hot.csv: line 2, column 3", "expected a number", "hot"});
}

}  // namespace
}  // namespace rubato::models

#include "rubato/io/vtk.hpp"

#include <cstring>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::content_of;
using testing::error_of;
using testing::TempFolder;

// A little reader of its own: tags with their attributes, and the appended block.
struct Tag {
  std::string name;
  std::map<std::string, std::string> attributes;
};

struct VtkFile {
  std::vector<Tag> tags;  // in order; closing ones are called "/Name"
  std::string block;      // behind the '_'

  [[nodiscard]] const Tag& tag(const std::string& name, const std::string& array = "") const {
    for (const Tag& t : tags) {
      if (t.name == name && (array.empty() || t.attributes.at("Name") == array)) return t;
    }
    throw Error("no <" + name + "> " + array);
  }
  [[nodiscard]] std::size_t count(const std::string& name) const {
    std::size_t n = 0;
    for (const Tag& t : tags)
      n += t.name == name ? 1 : 0;
    return n;
  }
  template <class T>
  [[nodiscard]] std::vector<T> values(const std::string& array) const {
    const Tag& t = tag("DataArray", array);
    const std::size_t at = std::stoull(t.attributes.at("offset"));
    std::uint64_t n_bytes = 0;
    std::memcpy(&n_bytes, block.data() + at, sizeof n_bytes);
    if (n_bytes > block.size() - at - 8) throw Error("array beyond the block");
    std::vector<T> out(n_bytes / sizeof(T));
    if (n_bytes > 0) std::memcpy(out.data(), block.data() + at + 8, n_bytes);
    return out;
  }
};

Tag parse_tag(const std::string& inside) {
  Tag tag;
  std::size_t at = inside.find_first_of(" \n");
  tag.name = inside.substr(0, at);
  while (at != std::string::npos) {
    const std::size_t begin = inside.find_first_not_of(" \n", at);
    const std::size_t equals = inside.find("=\"", at);
    if (equals == std::string::npos) break;
    const std::size_t end = inside.find('"', equals + 2);
    if (end == std::string::npos) throw Error("attribute without an end: " + inside);
    tag.attributes[inside.substr(begin, equals - begin)] =
        inside.substr(equals + 2, end - equals - 2);
    at = end + 1;
  }
  return tag;
}

// Throws if tags are not well nested.
VtkFile parse(const std::string& path) {
  VtkFile file;
  std::string text = content_of(path);
  if (const auto begin = text.find("<AppendedData"); begin != std::string::npos) {
    const std::size_t mark = text.find('_', begin);
    const std::size_t end = text.rfind("</AppendedData>");
    file.block = text.substr(mark + 1, end - mark - 2);
    text.erase(mark, end - mark);
  }
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) throw Error("tag without an end");
    std::string inside = text.substr(at + 1, end - at - 1);
    at = end;
    if (inside[0] == '?') continue;
    const bool empty = inside.back() == '/';
    if (empty) inside.pop_back();
    file.tags.push_back(parse_tag(inside));
    const std::string& name = file.tags.back().name;
    if (name[0] == '/') {
      if (open.empty() || "/" + open.back() != name) throw Error("bad nesting at " + name);
      open.pop_back();
    } else if (!empty) {
      open.push_back(name);
    }
  }
  if (!open.empty()) throw Error("unclosed " + open.back());
  return file;
}

TEST(Vtk, GridPieceHoldsPointsAndCellsInSeveralTypes) {
  const TempFolder folder;
  const VtkGrid grid{{{0, 0, 0}, {4, 2, 0}}, {-1, 0.1, 0}, {0.5, 0.25, 1}};
  const VtkExtent piece{{0, 0, 0}, {2, 2, 0}};
  const std::vector<double> heat = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint8_t> wall = {1, 0, 0, 1};
  const std::vector<float> flow = {1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0};
  const VtkArray points[] = {{"heat <K>", std::span<const double>(heat)}};
  const VtkArray cells[] = {{"wall", std::span<const std::uint8_t>(wall)},
                            {"flow", std::span<const float>(flow), 3}};
  write_vti(folder / "a.vti", grid, piece, points, cells);
  const VtkFile file = parse(folder / "a.vti");
  EXPECT_EQ(file.tag("VTKFile").attributes.at("type"), "ImageData");
  EXPECT_EQ(file.tag("VTKFile").attributes.at("header_type"), "UInt64");
  EXPECT_EQ(file.tag("ImageData").attributes.at("WholeExtent"), "0 4 0 2 0 0");
  EXPECT_EQ(file.tag("ImageData").attributes.at("Origin"), "-1 0.1 0");
  EXPECT_EQ(file.tag("ImageData").attributes.at("Spacing"), "0.5 0.25 1");
  EXPECT_EQ(file.tag("Piece").attributes.at("Extent"), "0 2 0 2 0 0");
  EXPECT_EQ(file.tag("DataArray", "flow").attributes.at("NumberOfComponents"), "3");
  EXPECT_EQ(file.tag("DataArray", "wall").attributes.at("type"), "UInt8");
  EXPECT_EQ(file.values<double>("heat &lt;K&gt;"), heat);
  EXPECT_EQ(file.values<std::uint8_t>("wall"), wall);
  EXPECT_EQ(file.values<float>("flow"), flow);
  EXPECT_EQ(file.block.size(), 3 * 8 + 72 + 4 + 48U);
}

TEST(Vtk, PointsAreVerticesWithVectorsAndScalars) {
  const TempFolder folder;
  const std::vector<float> at = {0, 0, 0, 1, 2, 3};
  const std::vector<float> velocity = {1, 0, 0, 0, 1, 0};
  const std::vector<std::uint64_t> id = {7, ~std::uint64_t{0}};
  const VtkArray data[] = {{"velocity", std::span<const float>(velocity), 3},
                           {"id", std::span<const std::uint64_t>(id)}};
  write_vtp(folder / "a.vtp", {"", std::span<const float>(at), 3}, data);
  const VtkFile file = parse(folder / "a.vtp");
  EXPECT_EQ(file.tag("Piece").attributes.at("NumberOfPoints"), "2");
  EXPECT_EQ(file.tag("Piece").attributes.at("NumberOfVerts"), "2");
  EXPECT_EQ(file.values<float>("Points"), at);
  EXPECT_EQ(file.values<std::int64_t>("connectivity"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(file.values<std::int64_t>("offsets"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(file.values<float>("velocity"), velocity);
  EXPECT_EQ(file.values<std::uint64_t>("id"), id);
}

TEST(Vtk, APieceWithoutPointsIsAFileToo) {
  const TempFolder folder;
  write_vtp(folder / "a.vtp", {"", std::span<const double>(), 3}, {});
  EXPECT_TRUE(parse(folder / "a.vtp").values<double>("Points").empty());
}

TEST(Vtk, TheParallelFilesNameEachPieceRelativeToThemselves) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "run");
  const VtkGrid grid{{{0, 0, 0}, {4, 2, 0}}};
  const VtkPiece pieces[] = {{{{0, 0, 0}, {2, 2, 0}}, folder / "run/t1_0.vti"},
                             {{{2, 0, 0}, {4, 2, 0}}, folder / "run/t1_1.vti"}};
  const VtkArray cells[] = {{"heat", std::span<const double>()}};
  write_pvti(folder / "t1.pvti", grid, pieces, {}, cells);
  const VtkFile image = parse(folder / "t1.pvti");
  EXPECT_EQ(image.tag("VTKFile").attributes.at("type"), "PImageData");
  EXPECT_EQ(image.count("Piece"), 2U);
  EXPECT_EQ(image.tag("Piece").attributes.at("Source"), "run/t1_0.vti");
  EXPECT_EQ(image.tag("Piece").attributes.at("Extent"), "0 2 0 2 0 0");
  EXPECT_EQ(image.tag("PDataArray").attributes.at("type"), "Float64");
  write_pvtp(folder / "run/t1.pvtp", {"", std::span<const float>(), 3}, pieces, cells);
  const VtkFile points = parse(folder / "run/t1.pvtp");
  EXPECT_EQ(points.tag("Piece").attributes.at("Source"), "t1_0.vti");
  EXPECT_EQ(points.tag("PDataArray", "Points").attributes.at("type"), "Float32");
  EXPECT_EQ(points.tag("PDataArray", "heat").attributes.at("NumberOfComponents"), "1");
}

TEST(Vtk, ATimeSeriesIsWholeAfterEachStep) {
  const TempFolder folder;
  PvdSeries series(folder / "run.pvd");
  for (int t = 1; t <= 3; ++t) {
    series.add(0.1 * t, folder / ("t" + std::to_string(t) + ".pvti"));
    series.write();
    const VtkFile file = parse(folder / "run.pvd");
    EXPECT_EQ(file.count("DataSet"), static_cast<std::size_t>(t));
    EXPECT_EQ(file.tag("DataSet").attributes.at("timestep"), "0.1");
    EXPECT_EQ(file.tag("DataSet").attributes.at("file"), "t1.pvti");
  }
}

std::string ticks_in(const std::string& path, double most) {
  std::string files;
  const std::string entries =
      PvdSeries::read_entries(path, [&](double time, const std::string& file) {
        if (time <= most) files += file + " ";
        return time <= most;
      });
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(entries, '\n')),
            static_cast<std::size_t>(std::ranges::count(files, ' ')));
  return files;
}

TEST(Vtk, ATimeSeriesGoesOnWithEntriesOfAnother) {
  const TempFolder folder;
  const std::string first = folder / "run.pvd";
  EXPECT_EQ(ticks_in(first, 9), "") << "no file";
  PvdSeries before(first);
  for (int t = 1; t <= 3; ++t)
    before.add(t, folder / ("t" + std::to_string(t) + ".vti"));
  before.write();
  EXPECT_EQ(ticks_in(first, 2), "t1.vti t2.vti ");
  PvdSeries after(folder / "more.pvd");
  after.add_entries(PvdSeries::read_entries(first, [](double time, auto&) { return time < 3; }));
  after.add(4, folder / "t4.vti");
  after.write();
  EXPECT_EQ(parse(folder / "more.pvd").count("DataSet"), 3U);
  EXPECT_EQ(ticks_in(folder / "more.pvd", 9), "t1.vti t2.vti t4.vti ");
}

// Whatever a file has become, each entry that is read is a line of it.
TEST(Vtk, EntriesOfABrokenTimeSeriesAreLinesOfIt) {
  const TempFolder folder;
  const std::string path = folder / "run.pvd";
  PvdSeries series(path);
  for (int t = 1; t <= 3; ++t)
    series.add(t, folder / ("t" + std::to_string(t) + ".vti"));
  series.write();
  std::ostringstream whole;
  whole << std::ifstream(path).rdbuf();
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomStream random(seed, 7);
    std::string text = whole.str();
    for (int i = 0; i < 4; ++i) {
      const auto at =
          static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1));
      if (i == 0) text.erase(at, 5);
      if (i != 0) text[at] = static_cast<char>(random.between(1, 127));
    }
    std::ofstream(path) << text;
    const std::string entries =
        PvdSeries::read_entries(path, [](double, const std::string&) { return true; });
    std::istringstream lines(entries);
    for (std::string line; std::getline(lines, line);)
      EXPECT_NE((text + "\n").find(line + "\n"), std::string::npos) << "seed " << seed;
  }
}

TEST(Vtk, LeavesNothingHalfWritten) {
  const VtkGrid grid{{{0, 0, 0}, {100, 100, 0}}};
  const std::vector<double> heat(10'000);
  const VtkArray cells[] = {{"heat", std::span<const double>(heat)}};
  EXPECT_EQ(error_of([&] { write_vti("/dev/full", grid, grid.extent, {}, cells); }),
            "writing /dev/full: No space left on device");
}

TEST(VtkDeathTest, RequiresArraysOfTheRightLength) {
  const VtkGrid grid{{{0, 0, 0}, {2, 2, 0}}};
  const std::vector<double> heat(5);
  const VtkArray cells[] = {{"heat", std::span<const double>(heat)}};
  EXPECT_DEATH(write_vti("/dev/null", grid, grid.extent, {}, cells), "precondition");
}

}  // namespace
}  // namespace rubato::io

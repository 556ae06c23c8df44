#include "rubato/io/vtk.hpp"

#include <bit>
#include <filesystem>
#include <fstream>

#include "rubato/base/error.hpp"
#include "rubato/io/number.hpp"
#include "rubato/io/table.hpp"

namespace rubato::io {
namespace {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, float>) return "Float32";
  if constexpr (std::is_same_v<T, double>) return "Float64";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "UInt8";
  if constexpr (std::is_same_v<T, std::int32_t>) return "Int32";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "UInt32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "Int64";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "UInt64";
}

std::string type_of(const VtkArray& array) {
  return std::visit(
      [](const auto& values) {
        using Span = std::remove_cvref_t<decltype(values)>;
        return type_name<typename Span::value_type>();
      },
      array.values);
}

std::size_t value_bytes(const VtkArray& array) {
  return std::visit(
      [](const auto& values) {
        return sizeof(typename std::remove_cvref_t<decltype(values)>::value_type);
      },
      array.values);
}

std::string_view bytes_of(const VtkArray& array) {
  return std::visit(
      [](const auto& values) {
        return std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes());
      },
      array.values);
}

std::uint64_t n_tuples_of(const VtkArray& array) {
  const std::size_t n = std::visit([](const auto& values) { return values.size(); }, array.values);
  RUBATO_REQUIRE(array.n_components > 0, array.name, array.n_components);
  const auto width = static_cast<std::size_t>(array.n_components);
  RUBATO_REQUIRE(n % width == 0, array.name, n, width);
  return n / width;
}

std::string open_file(const char* type) {
  const bool little = std::endian::native == std::endian::little;
  return std::string("<?xml version=\"1.0\"?>\n<VTKFile type=\"") + type +
         "\" version=\"1.0\" byte_order=\"" + (little ? "LittleEndian" : "BigEndian") +
         "\" header_type=\"UInt64\">\n";
}

std::string joined(const VtkExtent& extent) {
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0) text += ' ';
    append_number(text, extent.low[i]);
    text += ' ';
    append_number(text, extent.high[i]);
  }
  return text;
}

std::string joined(const std::array<double, 3>& values) {
  return number_text(values[0]) + " " + number_text(values[1]) + " " + number_text(values[2]);
}

std::string grid_attributes(const VtkGrid& grid) {
  return "WholeExtent=\"" + joined(grid.extent) + "\" Origin=\"" + joined(grid.origin) +
         "\" Spacing=\"" + joined(grid.spacing) + "\"";
}

std::string array_attributes(const VtkArray& array) {
  return "type=\"" + type_of(array) + "\" Name=\"" + xml_escaped(array.name) +
         "\" NumberOfComponents=\"" + std::to_string(array.n_components) + "\"";
}

// The file of one piece: the XML names offsets into the block that follows it.
class AppendedArrays {
 public:
  [[nodiscard]] std::string element(const VtkArray& array) {
    std::string text = "<DataArray " + array_attributes(array) + " format=\"appended\" offset=\"" +
                       std::to_string(offset_) + "\"/>\n";
    offset_ += sizeof(std::uint64_t) + bytes_of(array).size();
    blocks_.push_back(bytes_of(array));
    return text;
  }
  [[nodiscard]] std::string section(const char* name, std::span<const VtkArray> arrays,
                                    std::uint64_t n_tuples) {
    std::string text = std::string("<") + name + ">\n";
    for (const VtkArray& array : arrays) {
      RUBATO_REQUIRE(n_tuples_of(array) == n_tuples, array.name, n_tuples_of(array), n_tuples);
      text += element(array);
    }
    return text + "</" + name + ">\n";
  }
  void write(ByteSink& sink) const {
    sink.write(kBegin);
    for (const std::string_view block : blocks_) {
      const std::uint64_t n_bytes = block.size();
      sink.write({reinterpret_cast<const char*>(&n_bytes), sizeof n_bytes});
      sink.write(block);
    }
    sink.write(kEnd);
  }

  static constexpr const char* kBegin = "<AppendedData encoding=\"raw\">\n_";
  static constexpr const char* kEnd = "\n</AppendedData>\n</VTKFile>\n";

 private:
  std::uint64_t offset_ = 0;
  std::vector<std::string_view> blocks_;
};

// How `file` is called from the folder of `from`.
std::string relative_name(const std::string& file, const std::string& from) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(from).lexically_normal().parent_path();
  return xml_escaped(
      fs::absolute(file).lexically_normal().lexically_relative(folder).generic_string());
}

std::string parallel_section(const char* name, std::span<const VtkArray> arrays) {
  std::string text = std::string("<") + name + ">\n";
  for (const VtkArray& array : arrays)
    text += "<PDataArray " + array_attributes(array) + "/>\n";
  return text + "</" + name + ">\n";
}

void require_points(const VtkArray& points) {
  RUBATO_REQUIRE(points.n_components == 3, points.n_components);
  RUBATO_REQUIRE(points.values.index() <= 1, points.name);  // float or double
}

}  // namespace

std::uint64_t VtkExtent::n_points() const noexcept {
  std::uint64_t n = 1;
  for (std::size_t i = 0; i < 3; ++i)
    n *= static_cast<std::uint64_t>(high[i] - low[i] + 1);
  return n;
}

std::uint64_t VtkExtent::n_cells() const noexcept {
  std::uint64_t n = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    n *= static_cast<std::uint64_t>(high[i] == low[i] ? 1 : high[i] - low[i]);
  }
  return n;
}

void write_vti(const std::string& path, const VtkGrid& grid, const VtkExtent& piece,
               std::span<const VtkArray> point_data, std::span<const VtkArray> cell_data) {
  AppendedArrays arrays;
  std::string text = open_file("ImageData");
  text += "<ImageData " + grid_attributes(grid) + ">\n<Piece Extent=\"" + joined(piece) + "\">\n";
  text += arrays.section("PointData", point_data, piece.n_points());
  text += arrays.section("CellData", cell_data, piece.n_cells());
  text += "</Piece>\n</ImageData>\n";
  OutputFile file(path);
  file.write(text);
  arrays.write(file);
  file.commit();
}

VtiLayout layout_vti(const VtkGrid& grid, std::span<const VtkArray> cell_data) {
  VtiLayout layout;
  std::string elements;
  std::uint64_t offset = 0;  // behind the head
  for (const VtkArray& array : cell_data) {
    RUBATO_REQUIRE(array.n_components == 1, array.name, array.n_components);
    elements += "<DataArray " + array_attributes(array) + " format=\"appended\" offset=\"" +
                std::to_string(offset) + "\"/>\n";
    offset += sizeof(std::uint64_t);
    layout.values_at.push_back(offset);
    layout.n_bytes.push_back(grid.extent.n_cells() * value_bytes(array));
    offset += layout.n_bytes.back();
  }
  layout.head = open_file("ImageData") + "<ImageData " + grid_attributes(grid) +
                ">\n<Piece Extent=\"" + joined(grid.extent) + "\">\n<CellData>\n" + elements +
                "</CellData>\n</Piece>\n</ImageData>\n" + AppendedArrays::kBegin;
  for (std::uint64_t& at : layout.values_at)
    at += layout.head.size();
  layout.tail = AppendedArrays::kEnd;
  layout.tail_at = layout.head.size() + offset;
  return layout;
}

void write_vtp(const std::string& path, const VtkArray& points,
               std::span<const VtkArray> point_data) {
  require_points(points);
  const std::uint64_t n = n_tuples_of(points);
  std::vector<std::int64_t> index(n);
  std::vector<std::int64_t> end(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    index[i] = static_cast<std::int64_t>(i);
    end[i] = static_cast<std::int64_t>(i + 1);
  }
  VtkArray named = points;
  named.name = "Points";
  AppendedArrays arrays;
  std::string text = open_file("PolyData");
  text += "<PolyData>\n<Piece NumberOfPoints=\"" + std::to_string(n) + "\" NumberOfVerts=\"" +
          std::to_string(n) + "\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"0\">\n";
  text += "<Points>\n" + arrays.element(named) + "</Points>\n<Verts>\n";
  text += arrays.element({"connectivity", std::span<const std::int64_t>(index)});
  text += arrays.element({"offsets", std::span<const std::int64_t>(end)}) + "</Verts>\n";
  text += arrays.section("PointData", point_data, n) + "</Piece>\n</PolyData>\n";
  OutputFile file(path);
  file.write(text);
  arrays.write(file);
  file.commit();
}

void write_pvti(const std::string& path, const VtkGrid& grid, std::span<const VtkPiece> pieces,
                std::span<const VtkArray> point_data, std::span<const VtkArray> cell_data) {
  std::string text = open_file("PImageData");
  text += "<PImageData " + grid_attributes(grid) + " GhostLevel=\"0\">\n";
  text += parallel_section("PPointData", point_data) + parallel_section("PCellData", cell_data);
  for (const VtkPiece& piece : pieces) {
    text += "<Piece Extent=\"" + joined(piece.extent) + "\" Source=\"" +
            relative_name(piece.file, path) + "\"/>\n";
  }
  write_file(path, text + "</PImageData>\n</VTKFile>\n");
}

void write_pvtp(const std::string& path, const VtkArray& points, std::span<const VtkPiece> pieces,
                std::span<const VtkArray> point_data) {
  require_points(points);
  VtkArray named = points;
  named.name = "Points";
  std::string text = open_file("PPolyData");
  text += "<PPolyData GhostLevel=\"0\">\n" + parallel_section("PPoints", {&named, 1});
  text += parallel_section("PPointData", point_data);
  for (const VtkPiece& piece : pieces) {
    text += "<Piece Source=\"" + relative_name(piece.file, path) + "\"/>\n";
  }
  write_file(path, text + "</PPolyData>\n</VTKFile>\n");
}

void PvdSeries::add(double time, const std::string& file) {
  entries_ += "<DataSet timestep=\"" + number_text(time) + "\" part=\"0\" file=\"" +
              relative_name(file, path_) + "\"/>\n";
}

std::string PvdSeries::read_entries(const std::string& path, const Wanted& wanted) {
  static constexpr std::string_view kTime = "<DataSet timestep=\"";
  static constexpr std::string_view kFile = "\" part=\"0\" file=\"";
  static constexpr std::string_view kEnd = "\"/>";
  std::ifstream in(path);
  std::string entries;
  for (std::string line; std::getline(in, line);) {
    const std::size_t file = line.find(kFile);
    if (!line.starts_with(kTime) || file == std::string::npos || !line.ends_with(kEnd)) continue;
    const std::size_t begin = file + kFile.size();
    if (begin + kEnd.size() > line.size()) continue;
    const auto time =
        parse_number<double>(std::string_view(line).substr(kTime.size(), file - kTime.size()));
    if (time && wanted(*time, line.substr(begin, line.size() - kEnd.size() - begin)))
      entries += line + "\n";
  }
  return entries;
}

void PvdSeries::write() const {
  write_file(path_,
             open_file("Collection") + "<Collection>\n" + entries_ + "</Collection>\n</VTKFile>\n");
}

}  // namespace rubato::io

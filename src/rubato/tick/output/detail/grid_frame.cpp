#include "rubato/tick/output/detail/grid_frame.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "rubato/core/signals.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/io/picture.hpp"
#include "rubato/tick/output/detail/frame.hpp"

namespace rubato::tick::detail {
namespace {

std::string_view as_text(const void* data, std::size_t n_bytes) {
  return {static_cast<const char*>(data), n_bytes};
}

// The first value that is not a number, or -1.
template <class T>
std::int64_t first_nan(std::span<const T> values) {
  bool any = false;
  for (const T value : values)
    any |= value != value;
  if (!any) return -1;
  std::int64_t i = 0;
  while (values[static_cast<std::size_t>(i)] == values[static_cast<std::size_t>(i)])
    ++i;
  return i;
}

class GridFrame final : public Frame, private OutputReader {
 public:
  GridFrame(const OutputSchema& schema, FrameOptions options)
      : schema_(schema), options_(std::move(options)), samples_(schema) {
    if (options_.formats.csv) csv_file_.emplace(options_.path(".csv"), options_.job_id);
    if (options_.formats.vtk) vtk_file_.emplace(options_.path(".vti"), options_.job_id);
    if (options_.formats.png) {
      sample_file_.emplace(options_.path(".samples"), options_.job_id);
    }
  }

  OutputReader& reader(NodeId /*node*/) override { return *this; }
  void node_done(NodeId node) override {
    // One node writes what stands around the cells.
    if (node != 0) return;
    if (csv_file_) csv_file_->write_at(0, csv().header());
    if (vtk_file_) {
      const io::VtiLayout& layout = vti();
      vtk_file_->write_at(0, layout.head);
      vtk_file_->write_at(layout.tail_at, layout.tail);
      for (std::size_t i = 0; i < layout.values_at.size(); ++i) {
        vtk_file_->write_at(layout.values_at[i] - sizeof(std::uint64_t),
                            as_text(&layout.n_bytes[i], sizeof(std::uint64_t)));
      }
    }
  }
  void finish() override {
    for (auto* file : {&csv_file_, &vtk_file_, &sample_file_}) {
      if (!*file) continue;
      (*file)->finish();
      file->reset();
    }
  }
  void commit() override {
    // Opened again: a frame may have waited long, and open files are few.
    if (options_.formats.csv) commit_file(options_.path(".csv"), csv().n_bytes());
    if (options_.formats.vtk) {
      commit_file(options_.path(".vti"), vti().tail_at + vti().tail.size());
    }
    if (options_.formats.png) {
      const std::string path = options_.path(".samples");
      commit_file(path, n_samples() * sizeof(double));
      draw(path);
    }
  }
  [[nodiscard]] std::vector<std::string> extensions() const override {
    std::vector<std::string> list;
    if (options_.formats.csv) list.emplace_back(".csv");
    if (options_.formats.vtk) list.emplace_back(".vti");
    if (options_.formats.png) list.emplace_back(".png");
    return list;
  }
  [[nodiscard]] std::string vtk_extension() const override {
    return options_.formats.vtk ? ".vti" : "";
  }

 private:
  void row(const std::array<std::int64_t, 3>& at, std::int64_t n,
           std::span<const io::VtkArray::Values> fields) override {
    core::throw_if_signalled();
    refuse_nan(at, fields);
    if (csv_file_) csv_file_->write_at(csv().offset(at), csv().lines(at, n, fields));
    if (vtk_file_) {
      const std::int64_t id = at[0] + schema_.extent[0] * (at[1] + schema_.extent[1] * at[2]);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        std::visit(
            [&](const auto& values) {
              const std::uint64_t item = sizeof values[0];
              vtk_file_->write_at(vti().values_at[i] + static_cast<std::uint64_t>(id) * item,
                                  as_text(values.data(), values.size_bytes()));
            },
            fields[i]);
      }
    }
    if (sample_file_) sample_row(at, n, fields.front());
  }
  void rows(OutputRows /*rows*/) override { RUBATO_REQUIRE(false, "a grid has no rows"); }

  void sample_row(const std::array<std::int64_t, 3>& at, std::int64_t n,
                  const io::VtkArray::Values& field) {
    const std::int64_t j = samples_.first_at(1, at[1]);
    if (at[2] != samples_.plane() || j == samples_.height() || samples_.cell(1, j) != at[1]) return;
    const std::int64_t first = samples_.first_at(0, at[0]);
    std::vector<double> picked;
    for (std::int64_t i = first; i < samples_.width() && samples_.cell(0, i) < at[0] + n; ++i) {
      const auto index = static_cast<std::size_t>(samples_.cell(0, i) - at[0]);
      picked.push_back(
          std::visit([&](const auto& v) { return static_cast<double>(v[index]); }, field));
    }
    if (picked.empty()) return;
    sample_file_->write_at(
        static_cast<std::uint64_t>(j * samples_.width() + first) * sizeof(double),
        as_text(picked.data(), picked.size() * sizeof(double)));
  }

  void refuse_nan(const std::array<std::int64_t, 3>& at,
                  std::span<const io::VtkArray::Values> fields) const {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const std::int64_t bad =
          std::visit([](const auto& values) { return first_nan(values); }, fields[f]);
      if (bad < 0) continue;
      std::string where = std::to_string(at[0] + bad);
      for (std::size_t d = 1; d < static_cast<std::size_t>(schema_.dimensions); ++d)
        where += ", " + std::to_string(at[d]);
      throw Error("cell (" + where + "), tick " + std::to_string(options_.tick) + ": " +
                      schema_.columns[f].name + " is not a number",
                  ExitCode::failed);
    }
  }

  void commit_file(const std::string& path, std::uint64_t n_bytes) const {
    io::SharedOutputFile file(path, options_.job_id);
    file.finish();
    file.commit(n_bytes);
  }

  void draw(const std::string& path) const {
    std::vector<double> values(n_samples());
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(double)));
    if (!in) throw Error("reading " + path + ": the picture's samples are gone", ExitCode::failed);
    io::RasterPicture picture;
    picture.title = (schema_.style.title.empty() ? options_.name : schema_.style.title) +
                    ", tick " + std::to_string(options_.tick);
    picture.unit = schema_.style.unit.empty() ? schema_.columns.front().name : schema_.style.unit;
    picture.low = schema_.style.low;
    picture.high = schema_.style.high;
    picture.map = schema_.style.map;
    picture.kinds = looks_of(schema_.style.kinds);
    const io::RasterView view{values, static_cast<std::size_t>(samples_.width()),
                              static_cast<std::size_t>(samples_.height()), schema_.sample_kinds};
    io::write_png(options_.path(".png"), io::draw_raster(view, picture));
  }

  [[nodiscard]] std::size_t n_samples() const {
    return static_cast<std::size_t>(samples_.width() * samples_.height());
  }
  [[nodiscard]] const GridCsv& csv() const { return layouts_.csv; }
  [[nodiscard]] const io::VtiLayout& vti() const { return layouts_.vti; }

  struct Layouts {
    explicit Layouts(const OutputSchema& schema)
        : csv(schema, widths(schema)), vti(io::layout_vti(grid(schema), arrays(schema))) {}
    GridCsv csv;
    io::VtiLayout vti;

    static std::vector<io::VtkArray> arrays(const OutputSchema& schema) {
      std::vector<io::VtkArray> list;
      for (const OutputColumn& column : schema.columns) {
        list.push_back({column.name, schema.grid_type});
      }
      return list;
    }
    static std::vector<int> widths(const OutputSchema& schema) {
      return std::vector<int>(schema.columns.size(), widest(schema.grid_type));
    }
    static io::VtkGrid grid(const OutputSchema& schema) {
      io::VtkGrid result;
      for (std::size_t d = 0; d < static_cast<std::size_t>(schema.dimensions); ++d)
        result.extent.high[d] = schema.extent[d];
      return result;
    }
  };

  const OutputSchema& schema_;
  FrameOptions options_;
  GridSamples samples_;
  Layouts layouts_{schema_};
  std::optional<io::SharedOutputFile> csv_file_;
  std::optional<io::SharedOutputFile> vtk_file_;
  std::optional<io::SharedOutputFile> sample_file_;
};

}  // namespace

std::vector<std::uint8_t> sample_kinds(const OutputSource& source) {
  const OutputSchema& schema = source.schema();
  if (schema.kind != OutputSchema::Kind::grid || schema.style.kinds.empty()) return {};
  constexpr std::int64_t kCellsMost = 1 << 16;  // at once, of a row that may be long
  const GridSamples samples(schema);
  std::vector<std::uint8_t> result;
  std::vector<std::uint8_t> kinds;
  for (std::int64_t j = 0; j < samples.height(); ++j) {
    std::int64_t i = 0;
    for (std::int64_t x = 0; x < schema.extent[0]; x += kCellsMost) {
      const std::int64_t end = std::min(x + kCellsMost, schema.extent[0]);
      kinds.assign(static_cast<std::size_t>(end - x), 0);
      source.picture_kinds({x, samples.cell(1, j), samples.plane()}, kinds);
      for (; i < samples.width() && samples.cell(0, i) < end; ++i)
        result.push_back(kinds[static_cast<std::size_t>(samples.cell(0, i) - x)]);
    }
  }
  return result;
}

std::unique_ptr<Frame> make_grid_frame(const OutputSchema& schema, const FrameOptions& options) {
  return std::make_unique<GridFrame>(schema, options);
}

}  // namespace rubato::tick::detail

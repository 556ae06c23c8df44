// Files of tuples that are no grid: a CSV in the order of ids, a VTK piece of each node, and a
// picture of arrows.
//
// A picture holds at most kArrows tuples, chosen by a mix of the id, so that no node sees more than
// that and every number of nodes chooses the same.
//
// Who writes a share (ColumnUse::share) does not know the sum yet. So each node's part has the
// value itself, as 8 bytes before the rest of its row, and one more part has the node's sum; who
// makes the tick whole adds these, and divides while it merges. Sums are exact: the same bits for
// every cut.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <span>
#include <type_traits>

#include "rubato/base/bytes.hpp"
#include "rubato/base/exact_sum.hpp"
#include "rubato/core/signals.hpp"
#include "rubato/io/csv.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/io/picture.hpp"
#include "rubato/tick/output/detail/frame.hpp"

namespace rubato::tick::detail {
namespace {

constexpr std::size_t kArrows = 20'000;
constexpr std::size_t kMarkedArrows = 4'000;
constexpr io::Rgb kMarked{255, 255, 255};

// Bijective, so that different ids stay different (the finaliser of SplitMix64, G. Steele et al.,
// "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mixed(std::uint64_t id) noexcept {
  id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9U;
  id = (id ^ (id >> 27)) * 0x94d049bb133111ebU;
  return id ^ (id >> 31);
}

class TableFrame final : public Frame {
 public:
  TableFrame(const OutputSchema& schema, FrameOptions options)
      : schema_(schema), options_(std::move(options)), kinds_(schema.style.kinds) {
    for (NodeId node = 0; node < options_.n_nodes; ++node)
      readers_.push_back(nullptr);
    const auto& columns = schema_.columns;
    if (const auto at = schema_.find(ColumnUse::share)) {
      RUBATO_REQUIRE(*at + 1 == columns.size() && columns[*at].type == ColumnType::f64, *at);
      has_share_ = true;
    }
    marked_ = schema_.find(ColumnUse::marked);
    if (marked_ && kind_called(columns[*marked_].name) == 0) {
      kinds_.push_back({columns[*marked_].name, {"", kMarked, io::Mark::arrow}});
    }
    text_kind_ = schema_.find(ColumnUse::kind);
    RUBATO_REQUIRE(!text_kind_ || columns[*text_kind_].type == ColumnType::text, *text_kind_);
  }

  OutputReader& reader(NodeId node) override {
    const std::lock_guard lock(mutex_);
    if (!readers_[node]) readers_[node] = std::make_unique<Reader>(schema_);
    return *readers_[node];
  }
  void node_done(NodeId node) override {
    OutputRows rows;
    {
      const std::lock_guard lock(mutex_);
      if (readers_[node]) rows = std::move(readers_[node]->all);
      readers_[node].reset();
    }
    rows.sort();
    refuse_nan(rows);
    if (options_.formats.csv) write_csv(rows, node);
    if (options_.formats.csv && has_share_) write_sum(rows, node);
    if (options_.formats.vtk) write_vtk(rows, node);
    if (options_.formats.png) write_arrows(rows, node);
  }
  void finish() override {}
  void commit() override {
    if (options_.formats.csv) {
      io::StringSink header;
      const io::CsvWriter writes_names(header, column_names());
      io::merge_parts(options_.path(".csv"), options_.job_id, options_.n_nodes, header.text(),
                      has_share_ ? divide_by(read_sum()) : io::RewriteRow());
    }
    if (options_.formats.vtk && options_.n_nodes > 1) write_parallel_vtk();
    if (options_.formats.png) draw();
  }
  [[nodiscard]] std::vector<std::string> extensions() const override {
    std::vector<std::string> list;
    if (options_.formats.csv) list.emplace_back(".csv");
    for (NodeId node = 0; options_.formats.vtk && node < options_.n_nodes; ++node)
      list.push_back(piece_extension(node));
    if (options_.formats.vtk && options_.n_nodes > 1) list.emplace_back(".pvtp");
    if (options_.formats.png) list.emplace_back(".png");
    return list;
  }
  [[nodiscard]] std::string vtk_extension() const override {
    if (!options_.formats.vtk) return "";
    return options_.n_nodes > 1 ? ".pvtp" : piece_extension(0);
  }

 private:
  struct Reader final : OutputReader {
    explicit Reader(const OutputSchema& schema) : all(schema.columns) {}
    void row(const std::array<std::int64_t, 3>& /*at*/, std::int64_t /*n*/,
             std::span<const io::VtkArray::Values> /*fields*/) override {
      RUBATO_REQUIRE(false, "a table has no cells");
    }
    void rows(OutputRows rows) override {
      core::throw_if_signalled();
      const std::lock_guard lock(mutex);
      all.append(rows);
    }
    std::mutex mutex;
    OutputRows all;
  };

  void refuse_nan(const OutputRows& rows) const {
    for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double value = rows.number(c, i);
        if (value == value) continue;
        throw Error((schema_.id_name.empty() ? "tuple" : schema_.id_name) + " " +
                        std::to_string(rows.ids()[i]) + ", tick " + std::to_string(options_.tick) +
                        ": " + schema_.columns[c].name + " is not a number",
                    ExitCode::failed);
      }
    }
  }

  [[nodiscard]] std::vector<std::string> column_names() const {
    std::vector<std::string> names;
    if (!schema_.id_name.empty()) names.push_back(schema_.id_name);
    for (const OutputColumn& column : schema_.columns)
      names.push_back(column.name);
    return names;
  }

  void write_csv(const OutputRows& rows, NodeId node) const {
    io::SortedPart part(options_.path(".csv"), options_.job_id, node);
    io::StringSink line;
    io::CsvWriter out(line, {});
    const std::span values(rows.values().data(), rows.values().size() - (has_share_ ? 1 : 0));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!schema_.id_name.empty()) out.add(rows.ids()[i]);
      for (const auto& column : values)
        std::visit([&](const auto& list) { out.add(list[i]); }, column);
      out.end_row();
      part.add(rows.ids()[i], has_share_ ? bytes_of(share(rows, i)) + line.take() : line.take());
    }
    part.finish();
  }

  [[nodiscard]] static double share(const OutputRows& rows, std::size_t row) {
    return std::get<std::vector<double>>(rows.values().back())[row];
  }
  template <class T>
  [[nodiscard]] static std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  void write_sum(const OutputRows& rows, NodeId node) const {
    ExactSum sum;
    for (std::size_t i = 0; i < rows.size(); ++i)
      sum.add(share(rows, i));
    io::SortedPart part(options_.path(".sums"), options_.job_id, node);
    part.add(node, bytes_of(sum));
    part.finish();
  }
  [[nodiscard]] double read_sum() const {
    const std::string path = options_.path(".sums");
    io::merge_parts(path, options_.job_id, options_.n_nodes, "");
    std::ifstream in(path, std::ios::binary);
    ExactSum sum;
    for (ExactSum part; in.read(reinterpret_cast<char*>(&part), sizeof part);)
      sum.add(part);
    const double value = sum.value();
    if (value > 0 && std::isfinite(value)) return value;
    throw Error("tick " + std::to_string(options_.tick) + ": " + schema_.columns.back().name +
                    " sums to " + io::number_text(value) + ", expected more than 0",
                ExitCode::failed);
  }
  // What becomes of a part's row: its value goes to the end, as a share of `sum`.
  [[nodiscard]] static io::RewriteRow divide_by(double sum) {
    return [sum](std::string& row) {
      double value = 0;
      std::memcpy(&value, row.data(), sizeof value);
      row.erase(0, sizeof value);
      if (row.size() == 1) row.clear();
      if (!row.empty()) row.back() = ',';
      io::append_number(row, value / sum);
      row += '\n';
    };
  }

  // Columns as VTK has them: three coordinates, the heading as a vector, the rest one by one. Text
  // has no place there.
  struct VtkColumns {
    std::vector<double> points;
    std::vector<double> heading;
    std::vector<io::VtkArray> arrays;
  };
  [[nodiscard]] std::vector<double> triples(const OutputRows& rows,
                                            std::array<ColumnUse, 3> uses) const {
    std::vector<double> result(3 * rows.size());
    for (std::size_t d = 0; d < 3; ++d) {
      const auto column = schema_.find(uses[d]);
      for (std::size_t i = 0; column && i < rows.size(); ++i)
        result[3 * i + d] = rows.number(*column, i);
    }
    return result;
  }
  [[nodiscard]] VtkColumns vtk_columns(const OutputRows& rows) const {
    VtkColumns result;
    result.points = triples(rows, {ColumnUse::x, ColumnUse::y, ColumnUse::z});
    result.arrays.push_back({"id", std::span<const std::uint64_t>(rows.ids())});
    if (schema_.find(ColumnUse::heading_x)) {
      // No third component: ColumnUse::plain would find a column that means something else.
      result.heading = triples(rows, {ColumnUse::heading_x, ColumnUse::heading_y, ColumnUse::z});
      for (std::size_t i = 0; i < rows.size(); ++i)
        result.heading[3 * i + 2] = 0;
      result.arrays.push_back({"heading", std::span<const double>(result.heading), 3});
    }
    for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
      const OutputColumn& column = schema_.columns[c];
      if (column.use != ColumnUse::plain && column.use != ColumnUse::marked) continue;
      std::visit(
          [&](const auto& list) {
            using T = typename std::remove_cvref_t<decltype(list)>::value_type;
            if constexpr (std::is_arithmetic_v<T>) {
              result.arrays.push_back({column.name, std::span<const T>(list)});
            }
          },
          rows.values()[c]);
    }
    return result;
  }
  void write_vtk(const OutputRows& rows, NodeId node) const {
    const VtkColumns columns = vtk_columns(rows);
    io::write_vtp(piece_path(node), {"Points", std::span<const double>(columns.points), 3},
                  columns.arrays);
  }
  void write_parallel_vtk() const {
    const OutputRows none(schema_.columns);
    const VtkColumns columns = vtk_columns(none);
    std::vector<io::VtkPiece> pieces;
    for (NodeId node = 0; node < options_.n_nodes; ++node)
      pieces.push_back({{}, piece_path(node)});
    io::write_pvtp(options_.path(".pvtp"), {"Points", std::span<const double>(columns.points), 3},
                   pieces, columns.arrays);
  }
  [[nodiscard]] std::string piece_extension(NodeId node) const {
    return options_.n_nodes == 1 ? ".vtp" : ".node" + std::to_string(node) + ".vtp";
  }
  [[nodiscard]] std::string piece_path(NodeId node) const {
    return options_.path(piece_extension(node));
  }

  // The first kind of that name, counted from 1; 0 if there is none.
  [[nodiscard]] std::size_t kind_called(const std::string& name) const {
    const auto found = std::ranges::find(kinds_, name, &PictureKind::name);
    return found == kinds_.end() ? 0 : static_cast<std::size_t>(found - kinds_.begin()) + 1;
  }
  [[nodiscard]] std::size_t kind_of(const OutputRows& rows, std::size_t row) const {
    if (marked_ && rows.number(*marked_, row) != 0) {
      return kind_called(schema_.columns[*marked_].name);
    }
    if (!text_kind_) return 0;
    return kind_called(std::get<std::vector<std::string>>(rows.values()[*text_kind_])[row]);
  }

  struct ArrowRecord {
    double x, y, dx, dy;
    std::uint64_t kind;
  };
  void write_arrows(const OutputRows& rows, NodeId node) const {
    std::vector<std::pair<std::uint64_t, std::size_t>> chosen[2];
    for (std::size_t i = 0; i < rows.size(); ++i)
      chosen[kind_of(rows, i) != 0 ? 1 : 0].emplace_back(mixed(rows.ids()[i]), i);
    for (const bool is_marked : {false, true}) {
      auto& list = chosen[is_marked ? 1 : 0];
      std::ranges::sort(list);
      list.resize(std::min(list.size(), is_marked ? kMarkedArrows : kArrows));
      io::SortedPart part(options_.path(is_marked ? ".marked" : ".arrows"), options_.job_id, node);
      for (const auto& [key, i] : list) {
        const auto value = [&, row = i](ColumnUse use) {
          const auto column = schema_.find(use);
          return column ? rows.number(*column, row) : 0.0;
        };
        const ArrowRecord record{value(ColumnUse::x), value(ColumnUse::y),
                                 value(ColumnUse::heading_x), value(ColumnUse::heading_y),
                                 kind_of(rows, i)};
        part.add(key, {reinterpret_cast<const char*>(&record), sizeof record});
      }
      part.finish();
    }
  }
  // Adds the marks of the first `most` tuples of all nodes, and returns how many these were.
  std::size_t read_arrows(const std::string& path, std::size_t most,
                          std::vector<io::Arrow>& arrows) const {
    io::merge_parts(path, options_.job_id, options_.n_nodes, "");
    std::ifstream in(path, std::ios::binary);
    ArrowRecord record{};
    std::size_t n = 0;
    for (; n < most && in.read(reinterpret_cast<char*>(&record), sizeof record); ++n) {
      io::Arrow arrow{record.x, record.y, record.dx, record.dy, record.kind};
      arrows.push_back(arrow);
      for (std::size_t k = record.kind; k != 0 && k < kinds_.size(); ++k) {
        if (kinds_[k].name != kinds_[record.kind - 1].name) continue;
        arrow.kind = k + 1;
        arrows.push_back(arrow);
      }
    }
    return n;
  }
  void draw() const {
    std::vector<io::Arrow> arrows;
    const std::size_t n_plain = read_arrows(options_.path(".arrows"), kArrows, arrows);
    const std::size_t n_of_kinds = read_arrows(options_.path(".marked"), kMarkedArrows, arrows);
    const bool all = n_plain < kArrows && n_of_kinds < kMarkedArrows;
    io::ArrowPicture picture;
    picture.title = schema_.style.title.empty() ? options_.name : schema_.style.title;
    picture.note = "tick " + std::to_string(options_.tick) + ", " +
                   (all ? "" : "an even choice of ") + std::to_string(n_plain + n_of_kinds) +
                   " shown";
    picture.x_low = schema_.world_low[0];
    picture.x_high = schema_.world_high[0];
    picture.y_low = schema_.world_low[1];
    picture.y_high = schema_.world_high[1];
    picture.color_by_direction = schema_.find(ColumnUse::heading_x).has_value();
    picture.label = schema_.style.tuples;
    picture.kinds = looks_of(kinds_);
    io::write_png(options_.path(".png"), io::draw_arrows(arrows, picture));
  }

  const OutputSchema& schema_;
  FrameOptions options_;
  std::vector<PictureKind> kinds_;  // the style's, and one for the marked column if it has none
  std::optional<std::size_t> marked_;
  std::optional<std::size_t> text_kind_;
  bool has_share_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> readers_;  // [n_nodes] of this process's nodes
};

}  // namespace

std::unique_ptr<Frame> make_table_frame(const OutputSchema& schema, const FrameOptions& options) {
  return std::make_unique<TableFrame>(schema, options);
}

}  // namespace rubato::tick::detail

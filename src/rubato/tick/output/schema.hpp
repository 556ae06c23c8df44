#pragma once
// What a model's tuples look like in files: columns with names and types, a grid's extent, and how
// a picture shows them. Models describe it, the writers of this folder obey it.
//
// A grid needs nothing: its fields are called field0, field1, ..; a user who gives
//   std::vector<std::string> field_names() const    names the first fields, and only those are
//                                                   written (fixed fields follow the others)
//   PictureStyle picture_style() const              has title, unit and bounds in the picture
//   void picture_kinds(Index<D> at, std::int64_t n, std::uint8_t* kinds) const
//                                                   sets those of the n cells from `at` along x
//                                                   that are of a kind of that style, counted from
//                                                   1: walls; the others are 0 and stay it
// Points are written with id and position; a user adds columns by
//   std::vector<OutputColumn> output_columns() const
//   void output_row(const Tuple& tuple, OutputRows& rows) const    one rows.add() a column
// and names what the picture shows by picture_style(), as below.
// Vertices of a graph are written by id if the user gives
//   std::vector<OutputColumn> output_columns() const
//   void output_row(VertexId v, const Value& value, OutputRows& rows) const
// Any other model is written if it gives
//   std::vector<OutputColumn> output_columns() const
//   void output_rows(const State& state, OutputRows& rows) const   rows.begin(id), then one
//                                                                  rows.add() a column, each tuple
//   PictureStyle picture_style() const              has title and legend in the picture
//   std::pair<std::array<double, 3>, std::array<double, 3>> picture_world() const
//                                                   is the part of the world that it shows, from ..
//                                                   to; the unit square without it

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/io/picture.hpp"
#include "rubato/io/vtk.hpp"

namespace rubato::tick {

enum class ColumnType : std::uint8_t { f32, f64, i64, u64, text };

// What pictures and VTK make of a column.
enum class ColumnUse : std::uint8_t {
  plain,
  x,  // position
  y,
  z,
  heading_x,  // drawn as the direction of an arrow
  heading_y,
  marked,  // a number: not 0 is of the kind (PictureKind) of the column's name, white if none is
  kind,    // of type text: the name of a kind, or of none
  // CSV has it divided by its sum over all tuples of the tick, so that the column sums to 1; VTK
  // leaves it out. Of type f64, the last column, and positive somewhere.
  share,
};

struct OutputColumn {
  std::string name;
  ColumnType type = ColumnType::f64;
  ColumnUse use = ColumnUse::plain;

  bool operator==(const OutputColumn&) const = default;
};

// Cells or tuples that a picture draws in a way of their own, above the others, and that its legend
// explains.
struct PictureKind {
  // What ColumnUse says of tuples. Those of several entries of one name get the mark of each, as a
  // signal that is green one way and red the other.
  std::string name;
  io::LegendEntry look;  // its label is the name if ""
};

// Each with a label.
[[nodiscard]] std::vector<io::LegendEntry> looks_of(const std::vector<PictureKind>& kinds);

struct PictureStyle {
  std::string title;                         // "" for the name of the run
  std::string unit;                          // of the colour bar; the first field's name if ""
  std::optional<double> low = std::nullopt;  // of the colours; the values' own bounds if absent
  std::optional<double> high = std::nullopt;
  const io::ColorMap* map = nullptr;  // the sequential one if null
  std::string tuples = "";            // in the legend, those of no kind: "fish"; not there if ""
  std::vector<PictureKind> kinds = {};
};

struct OutputSchema {
  enum class Kind : std::uint8_t { grid, table };
  Kind kind = Kind::table;
  PictureStyle style;

  // Of a grid: cells, x first; 1 beyond its dimensions.
  int dimensions = 0;
  std::array<std::int64_t, 3> extent{1, 1, 1};
  io::VtkArray::Values grid_type;  // an empty span of the cells' type
  // The kinds of the cells that pictures show, if there are pictures and kinds.
  std::vector<std::uint8_t> sample_kinds;

  // Of a grid: the fields. Of a table: the columns behind the id.
  std::vector<OutputColumn> columns;
  std::string id_name = "id";  // "" leaves the id out
  // Of a table with positions: the part of the world that a picture shows.
  std::array<double, 3> world_low{};
  std::array<double, 3> world_high{1, 1, 1};

  // The first column of that use.
  [[nodiscard]] std::optional<std::size_t> find(ColumnUse use) const noexcept {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].use == use) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool has_picture() const noexcept {
    return kind == Kind::grid || (find(ColumnUse::x) && find(ColumnUse::y));
  }
};

// Tuples by columns.
class OutputRows {
 public:
  using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int64_t>,
                              std::vector<std::uint64_t>, std::vector<std::string>>;

  OutputRows() = default;
  explicit OutputRows(const std::vector<OutputColumn>& columns) {
    for (const OutputColumn& column : columns) {
      switch (column.type) {
        case ColumnType::f32:
          values_.emplace_back(std::vector<float>{});
          break;
        case ColumnType::f64:
          values_.emplace_back(std::vector<double>{});
          break;
        case ColumnType::i64:
          values_.emplace_back(std::vector<std::int64_t>{});
          break;
        case ColumnType::u64:
          values_.emplace_back(std::vector<std::uint64_t>{});
          break;
        case ColumnType::text:
          values_.emplace_back(std::vector<std::string>{});
          break;
      }
    }
  }

  // Begins a row. REQUIRES: the row before has a value in each column.
  OutputRows& begin(std::uint64_t id) {
    RUBATO_REQUIRE(ids_.empty() || next_ == values_.size(), next_, values_.size());
    ids_.push_back(id);
    next_ = 0;
    return *this;
  }
  // The value of the next column. REQUIRES: T is exactly its type.
  template <class T>
  OutputRows& add(T value) {
    RUBATO_REQUIRE(next_ < values_.size(), next_, values_.size());
    auto* list = std::get_if<std::vector<T>>(&values_[next_]);
    RUBATO_REQUIRE(list != nullptr, next_, values_[next_].index());
    list->push_back(std::move(value));
    ++next_;
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] const std::vector<std::uint64_t>& ids() const noexcept { return ids_; }
  [[nodiscard]] const std::vector<Values>& values() const noexcept { return values_; }
  // The number in a column; 0 for text.
  [[nodiscard]] double number(std::size_t column, std::size_t row) const;

  // Appends the rows of `other`, which has the same columns.
  void append(const OutputRows& other);
  // Brings the rows into the order of their ids.
  void sort();

 private:
  std::vector<std::uint64_t> ids_;
  std::vector<Values> values_;
  std::size_t next_ = 0;
};

}  // namespace rubato::tick

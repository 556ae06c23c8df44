#pragma once
// Tables of results: made once, shown as text on a terminal, as JSON, or as HTML.
//
//   Table table({{"policy"}, {"ticks/s", 1}, {"waiting", 0, "%"}});
//   table.row().text("local").number(412.5).number(38.2);
//   fputs(table.to_text(style_of_terminal(1)).c_str(), stdout);

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rubato/io/json.hpp"

namespace rubato::io {

struct TableColumn {
  std::string name;
  int n_decimals = 2;       // of fractional numbers, for people; JSON has all digits
  std::string unit = "";    // behind each number for people: "%", " ms"; absent from JSON
  bool scientific = false;  // 1.25e-07, for people: what spans many powers of ten
};

struct TableStyle {
  bool unicode = false;       // box-drawing lines; else ASCII
  bool color = false;         // a bold header and a highlighted row by terminal codes
  std::size_t width_max = 0;  // cells of text are cut so that a line fits; 0: never
};

// What suits the stream behind a file descriptor: colour only on a terminal and unless NO_COLOR is
// set (to anything but nothing) or TERM is dumb; unicode if LC_ALL, LC_CTYPE or LANG names UTF-8.
[[nodiscard]] TableStyle style_of_terminal(int fd);

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns);

  // Begins a row; the cells follow from left to right. Missing ones stay empty.
  // REQUIRES (of the cells): there are not more of them than columns.
  Table& row();
  Table& text(std::string_view text);
  Table& number(double value);
  Table& integer(std::int64_t value);
  Table& empty();
  // Shows the current row in bold: the winner, the reader's own.
  Table& highlight();

  [[nodiscard]] std::size_t n_rows() const noexcept { return rows_.size(); }
  [[nodiscard]] const std::vector<TableColumn>& columns() const noexcept { return columns_; }

  // Numbers are right-aligned. Each line ends with a line feed, none with a space.
  [[nodiscard]] std::string to_text(const TableStyle& style = {}) const;
  // An array of one object a row: {"policy":"local","ticks/s":412.5,"waiting":38.2}; empty cells
  // are null.
  void to_json(JsonWriter& json) const;
  // A <table> element; all text escaped.
  [[nodiscard]] std::string to_html() const;

 private:
  using Cell = std::variant<std::monostate, std::string, double, std::int64_t>;
  struct Row {
    std::vector<Cell> cells;
    bool highlighted = false;
  };

  Table& add(Cell cell);
  [[nodiscard]] std::string shown_cell(const Row& row, std::size_t column) const;
  [[nodiscard]] bool is_numeric(std::size_t column) const;
  [[nodiscard]] std::vector<std::size_t> widths(const TableStyle& style) const;

  std::vector<TableColumn> columns_;
  std::vector<Row> rows_;
};

// `text` for the content of an HTML or XML element or an attribute in double quotes.
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace rubato::io

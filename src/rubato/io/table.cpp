#include "rubato/io/table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::io {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Columns of a terminal: one for each code point, which is right for all but wide scripts.
std::size_t n_columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string cut(const std::string& text, std::size_t width, bool unicode) {
  if (n_columns_of(text) <= width) return text;
  const std::string mark = unicode ? "\u2026" : "~";
  std::size_t end = 0;
  for (std::size_t n = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts && n++ + 1 == width) break;
  }
  return text.substr(0, end) + mark;
}

std::string shown_number(double value, int n_decimals, bool scientific) {
  // Numbers beyond what people compare by digits go to scientific notation.
  std::array<char, 64> buffer;
  const bool huge = scientific || std::fabs(value) >= 1e15;
  const auto [end, code] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    huge ? std::chars_format::scientific : std::chars_format::fixed, n_decimals);
  return {buffer.data(), end};
}

std::string repeated(std::string_view text, std::size_t n) {
  std::string out;
  for (; n > 0; --n)
    out += text;
  return out;
}

void trim_right(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

TableStyle style_of_terminal(int fd) {
  TableStyle style;
  style.color =
      ::isatty(fd) == 1 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;  // the first one that is set decides
    std::transform(value.begin(), value.end(), value.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    style.unicode =
        value.find("UTF-8") != std::string::npos || value.find("UTF8") != std::string::npos;
    break;
  }
  return style;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // XML has no place for the other control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

Table::Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {
  RUBATO_REQUIRE(!columns_.empty());
}

Table& Table::row() {
  rows_.emplace_back();
  return *this;
}

Table& Table::add(Cell cell) {
  RUBATO_REQUIRE(!rows_.empty() && rows_.back().cells.size() < columns_.size(), columns_.size());
  rows_.back().cells.push_back(std::move(cell));
  return *this;
}

Table& Table::text(std::string_view text) {
  return add(std::string(text));
}
Table& Table::number(double value) {
  return add(value);
}
Table& Table::integer(std::int64_t value) {
  return add(value);
}
Table& Table::empty() {
  return add(std::monostate{});
}

Table& Table::highlight() {
  RUBATO_REQUIRE(!rows_.empty());
  rows_.back().highlighted = true;
  return *this;
}

std::string Table::shown_cell(const Row& row, std::size_t column) const {
  if (column >= row.cells.size()) return "";
  const Cell& cell = row.cells[column];
  if (const auto* const text = std::get_if<std::string>(&cell)) {
    std::string line = *text;
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }
  if (const auto* const value = std::get_if<double>(&cell)) {
    const TableColumn& of = columns_[column];
    return shown_number(*value, of.n_decimals, of.scientific) + of.unit;
  }
  if (const auto* const value = std::get_if<std::int64_t>(&cell)) {
    return std::to_string(*value) + columns_[column].unit;
  }
  return "";
}

// A column is numeric if it has a number and no text.
bool Table::is_numeric(std::size_t column) const {
  bool any = false;
  for (const Row& row : rows_) {
    if (column >= row.cells.size()) continue;
    if (std::holds_alternative<std::string>(row.cells[column])) return false;
    any = any || !std::holds_alternative<std::monostate>(row.cells[column]);
  }
  return any;
}

std::vector<std::size_t> Table::widths(const TableStyle& style) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(n_columns_of(columns_[c].name));
    for (const Row& row : rows_) {
      widths.back() = std::max(widths.back(), n_columns_of(shown_cell(row, c)));
    }
  }
  if (style.width_max == 0) return widths;
  // The widest column of text gives way, one place at a time; numbers are never cut.
  constexpr std::size_t kNarrowest = 8;
  for (;;) {
    const std::size_t total =
        std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + 2 * (widths.size() - 1);
    if (total <= style.width_max) return widths;
    std::size_t* widest = nullptr;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (is_numeric(c) || widths[c] <= kNarrowest) continue;
      if (widest == nullptr || widths[c] > *widest) widest = &widths[c];
    }
    if (widest == nullptr) return widths;
    --*widest;
  }
}

std::string Table::to_text(const TableStyle& style) const {
  const auto width = widths(style);
  const auto line_of = [&](const auto& cell_of, const char* begin, bool coded) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string cell = cut(cell_of(c), width[c], style.unicode);
      const std::string pad(width[c] - n_columns_of(cell), ' ');
      line += (c == 0 ? "" : "  ") + (is_numeric(c) ? pad + cell : cell + pad);
    }
    trim_right(line);
    return (coded ? begin + line + "\x1b[0m" : line) + "\n";
  };
  std::string out =
      line_of([&](std::size_t c) { return columns_[c].name; }, "\x1b[1m", style.color);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    out += (c == 0 ? "" : "  ") + repeated(style.unicode ? "\u2500" : "-", width[c]);
  }
  out += "\n";
  for (const Row& row : rows_) {
    out += line_of([&](std::size_t c) { return shown_cell(row, c); }, "\x1b[1;32m",
                   style.color && row.highlighted);
  }
  return out;
}

void Table::to_json(JsonWriter& json) const {
  json.begin_array();
  for (const Row& row : rows_) {
    json.begin_object();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      json.key(columns_[c].name);
      const Cell cell = c < row.cells.size() ? row.cells[c] : Cell{};
      if (const auto* const text = std::get_if<std::string>(&cell)) {
        json.value(*text);
      } else if (const auto* const value = std::get_if<double>(&cell)) {
        json.value(*value);
      } else if (const auto* const whole = std::get_if<std::int64_t>(&cell)) {
        json.value(*whole);
      } else {
        json.null();
      }
    }
    json.end_object();
  }
  json.end_array();
}

std::string Table::to_html() const {
  const auto cell = [&](std::size_t c, const char* tag, const std::string& text) {
    const std::string name(tag);
    return "<" + name + (is_numeric(c) ? " class=\"number\">" : ">") + xml_escaped(text) + "</" +
           name + ">";
  };
  std::string out = "<table>\n<thead><tr>";
  for (std::size_t c = 0; c < columns_.size(); ++c)
    out += cell(c, "th", columns_[c].name);
  out += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) {
    out += row.highlighted ? "<tr class=\"best\">" : "<tr>";
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += cell(c, "td", shown_cell(row, c));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

}  // namespace rubato::io

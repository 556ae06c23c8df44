#include "rubato/io/csv.hpp"

#include <algorithm>

namespace rubato::io {
namespace {

std::string column_label(std::size_t index, const std::string& name) {
  std::string label = "column " + std::to_string(index + 1);
  if (!name.empty() && name != std::to_string(index + 1)) label += " (" + name + ")";
  return label;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kListedMax = 20;
  std::string text;
  std::size_t n = 0;
  for (const auto& name : names) {
    if (name.empty()) continue;
    if (++n > kListedMax) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

CsvReader::CsvReader(const std::string& path, const CsvOptions& options)
    : options_(options), lines_(path, options.part) {
  read_header();
}

// A part has no header of its own: its column names are read from the start of the file.
void CsvReader::read_header() {
  LineReader head(lines_.path());
  std::string_view line;
  if (!next_line(head, line)) {
    if (!options_.header) return;
    throw Error(lines_.path() + ": expected a line with column names, found an empty file");
  }
  split(head, line);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    header_.push_back(options_.header ? std::string(view(fields_[i])) : std::to_string(i + 1));
  }
  if (!options_.header) return;
  header_offset_ = head.line_offset();
  std::vector<std::string> sorted = header_;
  std::sort(sorted.begin(), sorted.end());
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a == b && !a.empty(); });
  if (twice != sorted.end()) {
    const auto is_number = [](const std::string& name) {
      return parse_number<double>(name).has_value();
    };
    if (std::ranges::all_of(header_, is_number)) {
      throw head.error("expected the names of columns, found numbers alone: " + shown(line));
    }
    throw head.error("expected different column names, found " + shown(*twice) + " twice");
  }
}

std::optional<std::size_t> CsvReader::find_column(std::string_view name) const noexcept {
  const auto at = std::find(header_.begin(), header_.end(), name);
  if (at == header_.end() || name.empty()) return std::nullopt;
  return static_cast<std::size_t>(at - header_.begin());
}

std::size_t CsvReader::column(std::string_view name) const {
  if (const auto index = find_column(name)) return *index;
  throw Error(lines_.path() + ": line 1: expected a column " + shown(name) +
              did_you_mean(name, header_) + ", found the columns " + listed(header_));
}

void CsvReader::refuse_columns_except(std::span<const std::string> known) const {
  const std::vector<std::string> names(known.begin(), known.end());
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i].empty() || std::find(names.begin(), names.end(), header_[i]) != names.end()) {
      continue;
    }
    throw Error(lines_.path() + ": line 1, column " + std::to_string(i + 1) + ": unknown column " +
                shown(header_[i]) + did_you_mean(header_[i], names) + ", expected " +
                listed(names));
  }
}

// The next line that is neither blank nor a comment.
bool CsvReader::next_line(LineReader& lines, std::string_view& line) const {
  while (lines.next(line)) {
    if (trimmed(line).empty()) continue;
    if (options_.comment != '\0' && line.front() == options_.comment) continue;
    return true;
  }
  return false;
}

bool CsvReader::next_row() {
  std::string_view line;
  if (!next_line(lines_, line)) return false;
  if (lines_.line_offset() == header_offset_) {
    split(lines_, line);  // it may go on over several lines
    if (!next_line(lines_, line)) return false;
  }
  split(lines_, line);
  if (fields_.size() != header_.size()) {
    throw lines_.error("expected " + std::to_string(header_.size()) + " fields as in the " +
                       (options_.header ? "header" : "first row") + ", found " +
                       std::to_string(fields_.size()));
  }
  return true;
}

// Cuts a line into fields. row_ becomes a copy of it: the fields outlive the line.
void CsvReader::split(LineReader& lines, std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  for (std::size_t at = 0;;) {
    const std::size_t start = std::min(line.find_first_not_of(' ', at), line.size());
    std::size_t end = 0;
    if (start < line.size() && line[start] == '"' && options_.separator != '"') {
      end = split_quoted(lines, line, start + 1);
    } else {
      end = std::min(line.find(options_.separator, at), line.size());
      const std::string_view raw = line.substr(at, end - at);
      const std::string_view field = options_.separator == '\t' ? raw : trimmed(raw);
      fields_.push_back(
          {at + static_cast<std::size_t>(field.data() - raw.data()), field.size(), false});
    }
    if (end == line.size()) break;
    at = end + 1;
  }
  row_.assign(line);
}

// Reads the quoted field whose text starts at `at`; returns where its separator, or the line's end,
// is.
std::size_t CsvReader::split_quoted(LineReader& lines, std::string_view& line, std::size_t at) {
  const std::size_t begin = unquoted_.size();
  const std::uint64_t n_column = fields_.size() + 1;
  for (;;) {
    const std::size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      unquoted_ += std::string(line.substr(at)) + '\n';
      at = line.size() + 1;
      if (!options_.part.whole() || !lines.extend(line)) {
        throw lines.error(n_column,
                          std::string("expected a closing quote, found ") +
                              (options_.part.whole() ? "the end of the file"
                                                     : "a line end (read the file as one part)"));
      }
      continue;
    }
    unquoted_.append(line.substr(at, quote - at));
    at = quote + 1;
    if (at < line.size() && line[at] == '"') {
      unquoted_ += '"';
      ++at;
      continue;
    }
    break;
  }
  const std::size_t end = std::min(line.find(options_.separator, at), line.size());
  if (!trimmed(line.substr(at, end - at)).empty()) {
    throw lines.error(n_column, "expected a separator after the closing quote, found " +
                                    shown(line.substr(at, end - at)));
  }
  fields_.push_back({begin, unquoted_.size() - begin, true});
  return end;
}

std::string_view CsvReader::view(const Field& field) const noexcept {
  return std::string_view(field.unquoted ? unquoted_ : row_).substr(field.begin, field.size);
}

std::string_view CsvReader::text(std::size_t index) const {
  RUBATO_REQUIRE(index < fields_.size(), index, fields_.size());
  return view(fields_[index]);
}

template <Number T>
T CsvReader::get(std::size_t index) const {
  const auto number = parse_number<T>(text(index), options_.allow_nonfinite);
  if (number) return *number;
  switch (number.error()) {
    case NumberError::not_finite:
      throw error(index, "a finite number");
    case NumberError::out_of_range:
      throw error(index, std::is_floating_point_v<T>
                             ? (sizeof(T) == 4 ? "a number that fits a float"
                                               : "a number that fits a double")
                             : expected_number<T>());
    case NumberError::malformed:
      break;
  }
  throw error(index, expected_number<T>());
}

template float CsvReader::get<float>(std::size_t) const;
template double CsvReader::get<double>(std::size_t) const;
template std::int32_t CsvReader::get<std::int32_t>(std::size_t) const;
template std::int64_t CsvReader::get<std::int64_t>(std::size_t) const;
template std::uint8_t CsvReader::get<std::uint8_t>(std::size_t) const;
template std::uint16_t CsvReader::get<std::uint16_t>(std::size_t) const;
template std::uint32_t CsvReader::get<std::uint32_t>(std::size_t) const;
template std::uint64_t CsvReader::get<std::uint64_t>(std::size_t) const;

Error CsvReader::error(std::size_t index, std::string_view expected) const {
  return Error(lines_.path() + ": line " + std::to_string(lines_.line_number()) + ", " +
               column_label(index, header_[index]) + ": expected " + std::string(expected) +
               ", found " + (is_empty(index) ? "nothing" : shown(text(index))));
}

CsvWriter::CsvWriter(ByteSink& sink, const std::vector<std::string>& header, char separator)
    : sink_(sink), separator_(separator), n_columns_(header.size()) {
  if (header.empty()) return;
  for (const auto& name : header)
    add(name);
  end_row();
}

void CsvWriter::separate() {
  if (n_fields_++ > 0) row_ += separator_;
}

CsvWriter& CsvWriter::add(std::string_view text) {
  separate();
  const std::string special = std::string("\"\r\n") + separator_;
  // Spaces at the ends would be dropped by a reader, and an empty only field would be a blank line.
  const bool plain = text.find_first_of(special) == std::string_view::npos &&
                     trimmed(text).size() == text.size() && !text.empty();
  if (plain) {
    row_ += text;
    return *this;
  }
  row_ += '"';
  for (const char c : text) {
    if (c == '"') row_ += '"';
    row_ += c;
  }
  row_ += '"';
  return *this;
}

void CsvWriter::end_row() {
  RUBATO_REQUIRE(n_columns_ == 0 || n_fields_ == n_columns_, n_fields_, n_columns_);
  row_ += '\n';
  sink_.write(row_);
  row_.clear();
  n_fields_ = 0;
}

}  // namespace rubato::io

#pragma once
// Comma-separated tables: a streaming reader that names what is wrong, and a writer that loses no
// bit.
//
//   CsvReader in("start.csv");
//   const auto x = in.column("x"), y = in.column("y");     // Error with the nearest name if absent
//   const auto weight = in.find_column("weight");          // optional
//   while (in.next_row()) use(in.get<float>(x), in.get<float>(y));
//
// Every error reads `start.csv: line 7, column 3 (vx): expected a number, found "abc"`. Quoted
// fields (with "" for a quote, and line breaks), CRLF, a byte order mark and gzip are understood;
// spaces around an unquoted field are dropped. Several nodes read a file together by its parts
// (line_reader.hpp); then a quoted line break is an error, since a part cannot know whether it
// starts inside of quotes.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/io/line_reader.hpp"
#include "rubato/io/number.hpp"
#include "rubato/io/output_file.hpp"

namespace rubato::io {

struct CsvOptions {
  char separator = ',';
  char comment = '\0';           // lines that start with it are skipped; '\0': there are none
  bool header = true;            // the first line names the columns; else they are "1", "2", ...
  bool allow_nonfinite = false;  // NaN and infinities are numbers
  FilePart part = {};
};

class CsvReader {
 public:
  // Opens the file and reads its header. Throws Error if it cannot be read, is empty although a
  // header is expected, or names a column twice (columns without a name may be many; they cannot be
  // asked for).
  explicit CsvReader(const std::string& path, const CsvOptions& options = {});

  // [n_columns] as the file names them.
  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }

  // The index of a column. Throws Error with the nearest name if the file does not have it.
  [[nodiscard]] std::size_t column(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view name) const noexcept;

  // Throws Error if the file has a named column that is none of `known`: a misspelt optional column
  // would otherwise be ignored in silence.
  void refuse_columns_except(std::span<const std::string> known) const;

  // Moves to the next row of this part; false at its end. Blank lines are skipped. Throws Error if
  // the row has more or fewer fields than the header (without a header: than the first row).
  [[nodiscard]] bool next_row();

  // The fields of the current row, valid until the next one. REQUIRES: index < header().size().
  [[nodiscard]] std::string_view text(std::size_t index) const;
  [[nodiscard]] bool is_empty(std::size_t index) const { return text(index).empty(); }

  // A field as a number, rounded correctly. Throws Error if it is none or does not fit T.
  template <Number T>
  [[nodiscard]] T get(std::size_t index) const;

  // The field, or `absent` if it is empty.
  template <Number T>
  [[nodiscard]] T get_or(std::size_t index, T absent) const {
    return is_empty(index) ? absent : get<T>(index);
  }

  // An error about a field of the current row, for what only the caller can judge:
  // throw in.error(x, "a position inside of the world").
  [[nodiscard]] Error error(std::size_t index, std::string_view expected) const;
  // An error about the whole row.
  [[nodiscard]] Error row_error(std::string_view message) const { return lines_.error(message); }

  [[nodiscard]] std::uint64_t line_number() const { return lines_.line_number(); }

 private:
  struct Field {
    std::size_t begin;  // in row_, or in unquoted_
    std::size_t size;
    bool unquoted;  // it had to be copied, because of its quotes
  };

  void read_header();
  bool next_line(LineReader& lines, std::string_view& line) const;
  void split(LineReader& lines, std::string_view line);
  std::size_t split_quoted(LineReader& lines, std::string_view& line, std::size_t at);
  [[nodiscard]] std::string_view view(const Field& field) const noexcept;

  CsvOptions options_;
  LineReader lines_;
  std::vector<std::string> header_;
  std::string row_;
  std::string unquoted_;
  std::vector<Field> fields_;
  std::optional<std::uint64_t> header_offset_;
};

// Formats rows; what is written reads back to the same bits. It stores nothing but the row at hand:
//
//   OutputFile file("end.csv");
//   CsvWriter out(file, {"id", "x"});
//   out.add(id).add(x).end_row(); ...
//   file.commit();
//
// Nodes that write one file together give an empty header on all nodes but the first.
class CsvWriter {
 public:
  // `sink` must outlive the writer. An empty header writes no header line.
  CsvWriter(ByteSink& sink, const std::vector<std::string>& header, char separator = ',');

  template <Number T>
  CsvWriter& add(T value) {
    separate();
    append_number(row_, value);
    return *this;
  }
  // Quoted where it has to be.
  CsvWriter& add(std::string_view text);

  // Hands the row to the sink. REQUIRES: it has as many fields as the header, if there is one.
  void end_row();

 private:
  void separate();

  ByteSink& sink_;
  char separator_;
  std::size_t n_columns_;
  std::size_t n_fields_ = 0;
  std::string row_;
};

}  // namespace rubato::io

#pragma once
// Text files line by line, plain or gzip, whole or in parts: what the parsers of this layer stand
// on.
//
// The one idea: a file is cut into n parts so that each line belongs to the part its first byte
// lies in. n nodes that read parts 0 .. n-1 see each line exactly once, with nobody reading ahead
// for others.
//   plain file  part i owns the bytes [size * i / n, size * (i + 1) / n): its lines are
//               contiguous and follow those of part i - 1
//   gzip file   cannot be entered in its middle: each part unpacks all of it and owns every n-th
//               MiB of the text, so that memory and parsing are shared, unpacking is not
// Lines end with LF or CRLF; neither is handed out. A UTF-8 byte order mark is dropped, UTF-16 is
// refused. Compression is told by content, not by name. Calls block on the disk.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rubato/base/error.hpp"

namespace rubato::io {

// Part `index` of `count`. REQUIRES: index < count.
struct FilePart {
  std::uint32_t index = 0;
  std::uint32_t count = 1;

  [[nodiscard]] bool whole() const noexcept { return count == 1; }
  friend bool operator==(const FilePart&, const FilePart&) = default;
};

class LineReader {
 public:
  // Throws Error if the file cannot be read; a name that does not exist gets the nearest one in its
  // folder.
  explicit LineReader(const std::string& path, FilePart part = {});
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();

  // The next line of this part, or false at its end. `line` is valid until the next call. Throws
  // Error on a read error, broken or cut gzip data, or a line of more than kLineBytesMax bytes.
  [[nodiscard]] bool next(std::string_view& line);

  // Appends a line feed and the following line to the last one, whoever owns it: for quoted fields
  // that hold line breaks. False at the end of the file. `line` becomes the joined text.
  [[nodiscard]] bool extend(std::string_view& line);

  // The number of the line that next() gave last, counting from 1 in the whole file. In a later
  // part of the file it is counted on the first call, by reading what lies before: for error
  // messages only.
  [[nodiscard]] std::uint64_t line_number() const;

  // Where that line begins in the unpacked file. The same line has the same offset in every part.
  [[nodiscard]] std::uint64_t line_offset() const noexcept { return line_begin_; }

  // `start.csv: line 7: <message>`, for the line that next() gave last.
  [[nodiscard]] Error error(std::string_view message) const;
  // The same with a column of that line, counted from 1: "PATH: line 3, column 2: MESSAGE".
  [[nodiscard]] Error error(std::uint64_t column, std::string_view message) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] FilePart part() const noexcept { return part_; }

  static constexpr std::size_t kLineBytesMax = std::size_t{1} << 26;

 private:
  struct Source;

  bool read_line(std::string& line);
  bool fill();
  [[nodiscard]] bool owned(std::uint64_t line_begin) const noexcept;

  std::string path_;
  FilePart part_;
  std::unique_ptr<Source> source_;
  std::string buffer_;              // unpacked bytes
  std::size_t at_ = 0;              // the next byte of buffer_
  std::uint64_t offset_ = 0;        // of buffer_[at_] in the unpacked file
  std::uint64_t n_mark_bytes_ = 0;  // of a byte order mark
  std::uint64_t line_begin_ = 0;
  std::uint64_t begin_ = 0;  // what this part owns of a plain file
  std::uint64_t end_ = 0;
  std::uint64_t n_lines_read_ = 0;  // since first_offset_
  std::uint64_t n_joined_ = 0;      // of these, lines joined to the current one by extend()
  std::uint64_t first_offset_ = 0;  // where reading started, at the begin of a line
  std::string line_;
};

}  // namespace rubato::io

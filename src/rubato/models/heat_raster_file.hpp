#pragma once
// RasterFile: a raster of numbers that a model reads by rows: a gray PNG or PGM, or a CSV without a
// header, a line for each row; or, where that is wanted, the CSV that a run writes of its cells: a
// header `x,y,NAME` and a line for each cell, x fastest. A node keeps a few rows around those it was
// asked for, never the whole raster.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rubato::io {
class CsvReader;
}

namespace rubato::models {

// Bounds of temperatures. A tick takes means, so what bounds the start, the sources and the edge
// bounds every tick: the pictures of a run share it as the range of their colours.
struct HeatRange {
  double low;
  double high;

  [[nodiscard]] HeatRange with(double temperature) const {
    return {std::min(low, temperature), std::max(high, temperature)};
  }
  [[nodiscard]] HeatRange with(const HeatRange& other) const {
    return with(other.low).with(other.high);
  }
};

class RasterFile {
 public:
  struct Options {
    std::string what;            // "conductivity", for errors
    double low = 0;              // of an image: the value of black, or of 1 if zero_is_empty
    double high = 1;             // of full intensity
    bool zero_is_empty = false;  // black pixels have no value; in a CSV, empty fields never have
    bool empty_allowed = false;  // else an empty field is an Error
    double least = 0;            // smaller numbers in a CSV are an Error
    std::string cells_name;      // NAME of a run's cells that may be read; "": none may
    std::int64_t cells_kept = std::int64_t{1} << 20;
  };

  // Reads the size. Throws Error with the file's name if it is no such raster: an image with
  // colours, a CSV whose lines differ in length, cells that do not stand in their order.
  RasterFile(std::string path, Options options);
  ~RasterFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  [[nodiscard]] std::int64_t height() const noexcept { return height_; }

  // Of the values of an image; a table may have any.
  [[nodiscard]] std::optional<HeatRange> bounds() const noexcept;

  // Cells [x, x + n) of row y; NaN where there is no value. May be called on several threads.
  // Throws Error with file, line and column for what is no number, is not finite or too small.
  void read(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const;

  // Rows read from the disk so far, those passed over on the way not counted.
  [[nodiscard]] std::int64_t n_rows_read() const;

 private:
  struct Table;  // a CSV being read

  void load(std::int64_t y) const;
  void load_image(std::int64_t first, std::int64_t n_rows) const;
  void load_table(std::int64_t first, std::int64_t n_rows) const;
  void next_line() const;
  void scan_cells(io::CsvReader& reader);
  [[nodiscard]] double value(const io::CsvReader& row, std::size_t column) const;

  std::string path_;
  Options options_;
  bool is_image_ = false;
  bool is_cells_ = false;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Table> table_;
  mutable std::int64_t first_ = 0;  // the row of values_.front()
  mutable std::vector<double> values_;
  mutable std::int64_t n_rows_read_ = 0;
};

}  // namespace rubato::models

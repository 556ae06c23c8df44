#include "rubato/models/heat_raster_file.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

#include "rubato/base/error.hpp"
#include "rubato/io/csv.hpp"
#include "rubato/io/image.hpp"

namespace rubato::models {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

io::CsvOptions table_options() {
  io::CsvOptions options;
  options.header = false;
  return options;
}

io::ImageOptions image_options() {
  io::ImageOptions options;
  options.kind = io::ImageKind::gray;
  return options;
}

// By content: PNG, or one of the PNM kinds P1 .. P7.
bool looks_like_image(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char head[2] = {};
  in.read(head, sizeof head);
  return head[0] == '\x89' || (head[0] == 'P' && head[1] >= '1' && head[1] <= '7');
}

// Of the first row, so that a file of another kind is told by what it is not, and not by lines of
// different lengths.
void refuse_words(const io::CsvReader& row) {
  for (std::size_t column = 0; column < row.header().size(); ++column) {
    if (row.is_empty(column)) continue;
    const auto number = io::parse_number<double>(row.text(column));
    if (!number && number.error() == io::NumberError::malformed) {
      throw row.error(column, "a number, since the file is no PNG and no PGM");
    }
  }
}

}  // namespace

struct RasterFile::Table {
  explicit Table(const std::string& path) : reader(path, table_options()) {}
  io::CsvReader reader;
  std::int64_t next_row = 0;
};

RasterFile::RasterFile(std::string path, Options options)
    : path_(std::move(path)), options_(std::move(options)) {
  is_image_ = looks_like_image(path_);
  if (is_image_) {
    // Asks for a row, so that a wrong kind of image is refused here.
    io::ImageOptions first = image_options();
    first.n_rows = 1;
    const io::ImageInfo info = io::read_image(path_, first).info;
    width_ = static_cast<std::int64_t>(info.width);
    height_ = static_cast<std::int64_t>(info.height);
    return;
  }
  io::CsvReader reader(path_, table_options());
  if (!reader.next_row()) {
    throw Error(path_ + ": expected a gray PNG or PGM, or lines of numbers, found nothing");
  }
  is_cells_ = reader.header().size() == 3 && reader.text(0) == "x" && reader.text(1) == "y";
  if (is_cells_) {
    scan_cells(reader);
    return;
  }
  refuse_words(reader);
  width_ = static_cast<std::int64_t>(reader.header().size());
  do {
    ++height_;
  } while (reader.next_row());
}

RasterFile::~RasterFile() = default;

void RasterFile::scan_cells(io::CsvReader& reader) {
  if (options_.cells_name.empty()) {
    throw reader.row_error(
        "expected numbers, a line for each row of cells, found the cells that a "
        "run has written, which --start-file takes");
  }
  if (reader.text(2) != options_.cells_name) {
    throw reader.error(2, "the column " + options_.cells_name);
  }
  std::int64_t n_cells = 0;
  for (; reader.next_row(); ++n_cells) {
    // The first row of cells ends where y does not stay 0.
    if (width_ == 0 && n_cells > 0 && reader.text(1) != "0") width_ = n_cells;
    const std::int64_t x = width_ == 0 ? n_cells : n_cells % width_;
    const std::int64_t y = width_ == 0 ? 0 : n_cells / width_;
    const auto expect = [&](std::size_t column, std::int64_t expected) {
      if (reader.get<std::int64_t>(column) == expected) return;
      throw reader.error(column, std::to_string(expected) + ", since cells stand row by row");
    };
    expect(0, x);
    expect(1, y);
  }
  if (n_cells == 0) throw Error(path_ + ": expected a line for each cell, found none");
  if (width_ == 0) width_ = n_cells;
  height_ = n_cells / width_;
  if (n_cells % width_ == 0) return;
  throw Error(path_ + ": expected rows of " + std::to_string(width_) + " cells, found " +
              std::to_string(n_cells % width_) + " in the last");
}

std::optional<HeatRange> RasterFile::bounds() const noexcept {
  if (!is_image_) return std::nullopt;
  return HeatRange{options_.low, options_.low}.with(options_.high);
}

void RasterFile::read(std::int64_t x, std::int64_t y, std::int64_t n, double* out) const {
  RUBATO_REQUIRE(x >= 0 && n >= 0 && x + n <= width_ && y >= 0 && y < height_, x, y, n);
  const std::lock_guard lock(mutex_);
  const auto n_kept = static_cast<std::int64_t>(values_.size()) / width_;
  if (y < first_ || y >= first_ + n_kept) load(y);
  const auto begin = values_.begin() + (y - first_) * width_ + x;
  std::copy(begin, begin + n, out);
}

std::int64_t RasterFile::n_rows_read() const {
  const std::lock_guard lock(mutex_);
  return n_rows_read_;
}

// Keeps the row above too: stencils read around, and ask for rows in ascending order.
void RasterFile::load(std::int64_t y) const {
  const std::int64_t n_fit = std::max<std::int64_t>(3, options_.cells_kept / width_);
  const std::int64_t first = std::max<std::int64_t>(0, y - 1);
  const std::int64_t n_rows = std::min(n_fit, height_ - first);
  values_.assign(static_cast<std::size_t>(n_rows * width_), kNone);
  first_ = first;
  is_image_ ? load_image(first, n_rows) : load_table(first, n_rows);
  n_rows_read_ += n_rows;
}

void RasterFile::load_image(std::int64_t first, std::int64_t n_rows) const {
  io::ImageOptions options = image_options();
  options.first_row = static_cast<std::size_t>(first);
  options.n_rows = static_cast<std::size_t>(n_rows);
  const io::Image image = io::read_image(path_, options);
  const double least = options_.zero_is_empty ? 1 : 0;
  const double span = std::max(1.0, static_cast<double>(image.info.max_value) - least);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const double sample = image.samples[i];
    if (sample < least) continue;
    values_[i] = options_.low + (sample - least) / span * (options_.high - options_.low);
  }
}

double RasterFile::value(const io::CsvReader& row, std::size_t column) const {
  if (row.is_empty(column)) {
    if (options_.empty_allowed) return kNone;
    throw row.error(column, "a number, the " + options_.what);
  }
  const auto value = row.get<double>(column);
  if (value >= options_.least) return value;
  throw row.error(column,
                  "a " + options_.what + " of " + io::number_text(options_.least) + " or more");
}

void RasterFile::load_table(std::int64_t first, std::int64_t n_rows) const {
  // Values that are cut by an Error must not stand for a row later.
  std::vector<double> values(values_.size(), kNone);
  values_.clear();
  if (!table_ || table_->next_row > first) {
    table_ = std::make_unique<Table>(path_);
    if (is_cells_) next_line();  // the header
  }
  // Lines of a row of cells, and numbers in each.
  const std::int64_t n_lines = is_cells_ ? width_ : 1;
  const std::int64_t n_numbers = is_cells_ ? 1 : width_;
  for (; table_->next_row < first; ++table_->next_row) {
    for (std::int64_t line = 0; line < n_lines; ++line)
      next_line();
  }
  auto to = values.begin();
  for (std::int64_t row = 0; row < n_rows; ++row, ++table_->next_row) {
    for (std::int64_t line = 0; line < n_lines; ++line) {
      next_line();
      for (std::int64_t i = 0; i < n_numbers; ++i)
        *to++ = value(table_->reader, static_cast<std::size_t>(is_cells_ ? 2 : i));
    }
  }
  values_ = std::move(values);
}

void RasterFile::next_line() const {
  if (!table_->reader.next_row()) throw Error(path_ + ": became shorter while it was read");
}

}  // namespace rubato::models

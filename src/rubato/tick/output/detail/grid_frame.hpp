#pragma once
// The fixed layouts of a grid's files: where the bytes of each cell stand, whoever writes them.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "rubato/io/vtk.hpp"
#include "rubato/tick/output/schema.hpp"

namespace rubato::tick::detail {

// A table `x,y,field..` with a line for each cell, by index with x fastest. Numbers are padded with
// spaces in front, so that all lines have one width and nobody waits for the text of others.
class GridCsv {
 public:
  GridCsv(const OutputSchema& schema, std::span<const int> value_widths);

  [[nodiscard]] const std::string& header() const noexcept { return header_; }
  [[nodiscard]] std::uint64_t n_bytes() const noexcept;
  // Where the line of a cell begins.
  [[nodiscard]] std::uint64_t offset(const std::array<std::int64_t, 3>& at) const noexcept;
  // The lines of `n` cells along x.
  [[nodiscard]] std::string lines(std::array<std::int64_t, 3> at, std::int64_t n,
                                  std::span<const io::VtkArray::Values> fields) const;

 private:
  int dimensions_;
  std::array<std::int64_t, 3> extent_;
  std::array<int, 3> index_widths_{};
  std::vector<int> value_widths_;
  std::uint64_t line_bytes_ = 0;
  std::string header_;
};

// Characters that the longest number of a type takes.
[[nodiscard]] int widest(const io::VtkArray::Values& type);

// The cells that a picture shows: every one of a small grid, else an even choice of about twice the
// picture's resolution, which is averaged when it is drawn. A choice and not a mean of all cells: a
// mean over a border between nodes would depend on where the border is.
class GridSamples {
 public:
  static constexpr std::int64_t kSide = 1280;  // samples along the longer side

  explicit GridSamples(const OutputSchema& schema);

  [[nodiscard]] std::int64_t width() const noexcept { return size_[0]; }
  [[nodiscard]] std::int64_t height() const noexcept { return size_[1]; }
  // The cell of sample i along a dimension.
  [[nodiscard]] std::int64_t cell(std::size_t d, std::int64_t i) const noexcept {
    return (2 * i + 1) * extent_[d] / (2 * size_[d]);
  }
  // The first sample whose cell is at `from` or beyond.
  [[nodiscard]] std::int64_t first_at(std::size_t d, std::int64_t from) const noexcept;
  // The plane that is shown of a grid in three dimensions.
  [[nodiscard]] std::int64_t plane() const noexcept { return extent_[2] / 2; }

 private:
  std::array<std::int64_t, 3> extent_;
  std::array<std::int64_t, 2> size_{};
};

}  // namespace rubato::tick::detail

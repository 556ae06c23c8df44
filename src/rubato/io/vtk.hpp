#pragma once
// VTK XML files, as ParaView opens them: what a run leaves for looking at in three dimensions.
//
//   write_vti   a regular grid (ImageData), or one node's piece of it
//   write_vtp   points with vectors and scalars (PolyData), or one node's piece of them
//   write_pvti, write_pvtp   the small file that names the pieces of all nodes; written by one node
//   PvdSeries   the small file that names the files of a time series
//
// Arrays are appended as raw binary, straight from the caller's memory. Files appear whole. A
// piece's name stands in the parallel file relative to that file's folder.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "rubato/io/output_file.hpp"

namespace rubato::io {

// A named array of tuples. The view owns nothing.
struct VtkArray {
  using Values =
      std::variant<std::span<const float>, std::span<const double>, std::span<const std::uint8_t>,
                   std::span<const std::int32_t>, std::span<const std::uint32_t>,
                   std::span<const std::int64_t>, std::span<const std::uint64_t>>;

  std::string name;
  Values values;         // [n_tuples][n_components]
  int n_components = 1;  // 3: a vector, which ParaView can draw as an arrow
};

// A box of grid points, both ends included, as VTK counts: cells [0, nx) are points [0, nx]. Two
// dimensions: z is 0 .. 0.
struct VtkExtent {
  std::array<std::int64_t, 3> low{};
  std::array<std::int64_t, 3> high{};

  [[nodiscard]] std::uint64_t n_points() const noexcept;
  // A dimension of one point counts as one layer of cells.
  [[nodiscard]] std::uint64_t n_cells() const noexcept;

  friend bool operator==(const VtkExtent&, const VtkExtent&) = default;
};

struct VtkGrid {
  VtkExtent extent;  // of the whole grid
  std::array<double, 3> origin{};
  std::array<double, 3> spacing{1, 1, 1};
};

// Writes the values of `piece`, x fastest. REQUIRES: each array of points has piece.n_points()
// tuples, each array of cells piece.n_cells(). Neighbouring pieces share their border points; cells
// are in one.
void write_vti(const std::string& path, const VtkGrid& grid, const VtkExtent& piece,
               std::span<const VtkArray> point_data, std::span<const VtkArray> cell_data);

// A whole grid's .vti file, its values left out, for writers that put their own cells where they
// belong (SharedOutputFile): head, then for each array its size in bytes as 64 bits and its values,
// x fastest, then tail.
struct VtiLayout {
  std::string head;
  std::vector<std::uint64_t> values_at;  // [cell_data] offset of an array's first value
  std::vector<std::uint64_t> n_bytes;    // [cell_data] what stands in the 8 bytes before it
  std::string tail;
  std::uint64_t tail_at = 0;
};

// `cell_data` describes the arrays of one component; their values may be empty spans.
[[nodiscard]] VtiLayout layout_vti(const VtkGrid& grid, std::span<const VtkArray> cell_data);

// Writes points and their arrays. Each point is a vertex cell, or ParaView would show nothing.
// REQUIRES: `points` is floats or doubles with three components.
void write_vtp(const std::string& path, const VtkArray& points,
               std::span<const VtkArray> point_data);

struct VtkPiece {
  VtkExtent extent;  // of a grid's piece; ignored for points
  std::string file;  // its path, as the writing program names it
};

// The arrays describe the pieces': name, type and components count, values may be empty spans. They
// must be the same, in the same order, in each piece.
void write_pvti(const std::string& path, const VtkGrid& grid, std::span<const VtkPiece> pieces,
                std::span<const VtkArray> point_data, std::span<const VtkArray> cell_data);
void write_pvtp(const std::string& path, const VtkArray& points, std::span<const VtkPiece> pieces,
                std::span<const VtkArray> point_data);

// A time series. write() may be called after each step: the file is whole at any time.
class PvdSeries {
 public:
  explicit PvdSeries(std::string path) : path_(std::move(path)) {}

  // `file` is the .vti, .pvti, .vtp or .pvtp file of this time.
  void add(double time, const std::string& file);
  // Entries of another series whose files lie in the same folder, from read_entries().
  void add_entries(const std::string& entries) { entries_ += entries; }
  void write() const;

  // The entries that `wanted` chooses of what a series has written to `path`; "" if nothing is there.
  // Lines that are not of such a file are left aside.
  using Wanted = std::function<bool(double time, const std::string& file)>;
  [[nodiscard]] static std::string read_entries(const std::string& path, const Wanted& wanted);

 private:
  std::string path_;
  std::string entries_;
};

}  // namespace rubato::io

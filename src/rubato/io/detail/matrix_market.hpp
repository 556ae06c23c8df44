#pragma once
// The head of a Matrix Market file. Private to io.

#include <cstdint>
#include <optional>

#include "rubato/io/line_reader.hpp"

namespace rubato::io::detail {

struct MatrixMarket {
  bool weighted = false;  // false: a pattern
  int mirror = 0;         // 0: general; 1: symmetric; -1: skew-symmetric
  std::uint64_t n_vertices = 0;
  std::uint64_t n_entries = 0;
  std::uint64_t data_offset = 0;  // entries begin at lines of this offset and above
};

// Reads banner, comments and size line from the start of a file; absent if the first line is no
// banner. Throws Error for what is no square coordinate matrix of numbers.
[[nodiscard]] std::optional<MatrixMarket> read_matrix_market_head(LineReader& lines);

}  // namespace rubato::io::detail

#include "rubato/tick/tune/own_grains.hpp"

#include <algorithm>

#include "rubato/base/error.hpp"

namespace rubato::tick {

std::vector<double> OwnGrains::inside(std::uint32_t grains_of_piece, Tick depth_most) const {
  RUBATO_REQUIRE(grains_of_piece > 0, grains_of_piece);
  // Numbers ascend, so grains of a piece lie side by side.
  std::vector<std::uint32_t> piece_of;
  std::uint32_t n_pieces = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool begins = i == 0 || numbers[i] / grains_of_piece != numbers[i - 1] / grains_of_piece;
    n_pieces += begins ? 1 : 0;
    piece_of.push_back(n_pieces - 1);
  }
  std::vector<bool> waits(n_pieces);
  std::vector<std::vector<std::uint32_t>> readers(n_pieces);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (reads_others[i]) waits[piece_of[i]] = true;
    for (const RegionId input : inputs[i]) {
      if (piece_of[input] != piece_of[i]) readers[piece_of[input]].push_back(piece_of[i]);
    }
  }
  std::vector<double> size_of(n_pieces);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    size_of[piece_of[i]] += sizes[i];

  std::vector<std::uint32_t> border;
  double left = 0;
  for (std::uint32_t piece = 0; piece < n_pieces; ++piece) {
    left += size_of[piece];
    if (waits[piece]) border.push_back(piece);
  }
  std::vector<double> inside;
  for (Tick depth = 0; depth < depth_most && left > 0; ++depth) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t piece : border) {
      left -= size_of[piece];
      for (const std::uint32_t reader : readers[piece]) {
        if (waits[reader]) continue;
        waits[reader] = true;
        next.push_back(reader);
      }
    }
    border.swap(next);
    // What is left of a sum of all is no size.
    if (std::ranges::all_of(waits, [](bool is) { return is; }) && border.empty()) left = 0;
    inside.push_back(std::max(left, 0.0));
  }
  return inside;
}

}  // namespace rubato::tick

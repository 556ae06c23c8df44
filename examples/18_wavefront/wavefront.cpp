// How many changes make one text another? The edit distance, computed in blocks.
//   wavefront [LETTERS]
//
// Shows a grid of futures: a block needs what its neighbours above and to the left have at their
// edges, and nothing else; so a front of blocks goes over the table, and nobody says when a diagonal
// of it is done.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "rubato/base/arguments.hpp"
#include "rubato/base/random.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::flow;

namespace {

constexpr std::int64_t kBlock = 100;  // letters of a text in a block

using Cells = std::vector<std::int32_t>;

// The texts are functions of the place: there is nothing to be sent.
int letter(std::int64_t text, std::int64_t i) {
  const auto word = rubato::hash_words(1, static_cast<std::uint64_t>(i));
  // The second is the first, with every eighth letter another one or so.
  const auto other = rubato::hash_words(2, static_cast<std::uint64_t>(i));
  return static_cast<int>((text == 1 && other % 8 == 0 ? other >> 3 : word) % 26);
}

// One row of the table from the one above; `row` begins with the cell to the left of it.
void next_row(Cells& row, std::int32_t left, std::int64_t y, std::int64_t first_x) {
  std::int32_t diagonal = row[0];
  row[0] = left;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const bool same = letter(0, y) == letter(1, first_x + static_cast<std::int64_t>(i) - 1);
    const std::int32_t replaced = diagonal + (same ? 0 : 1);
    diagonal = row[i];
    row[i] = std::min({replaced, row[i] + 1, row[i - 1] + 1});
  }
}

// The edges of a block: its last row, with the cell to the left of it, then its last column, with
// the cell above it: kBlock + 1 cells each.
Cells edges_of(std::int64_t by, std::int64_t bx, const Cells& above, const Cells& left) {
  constexpr std::size_t kEdge = kBlock + 1;
  Cells row(above.begin(), above.begin() + kEdge);
  Cells column{row.back()};
  for (std::size_t i = 1; i < kEdge; ++i) {
    next_row(row, left[kEdge + i], by * kBlock + static_cast<std::int64_t>(i) - 1, bx * kBlock);
    column.push_back(row.back());
  }
  row.insert(row.end(), column.begin(), column.end());
  return row;
}

// What lies beyond the table, above and to the left of it, in both halves.
Cells border(std::int64_t block) {
  Cells cells(2 * (kBlock + 1));
  const auto half = cells.begin() + kBlock + 1;
  std::iota(cells.begin(), half, static_cast<std::int32_t>(block * kBlock));
  std::copy(cells.begin(), half, half);
  return cells;
}

std::int32_t distance_of(std::int64_t n_blocks) {
  const auto border_task = async([](std::int64_t block) { return border(block); });
  const auto block_task = async([](std::int64_t by, std::int64_t bx, const Cells& above,
                                   const Cells& left) { return edges_of(by, bx, above, left); },
                                {.name = "block"});
  std::vector<Future<Cells>> above;
  for (std::int64_t bx = 0; bx < n_blocks; ++bx)
    above.push_back(border_task(bx));
  for (std::int64_t by = 0; by < n_blocks; ++by) {
    Future<Cells> left = border_task(by);
    for (Future<Cells>& block : above)
      block = left = block_task(by, &block - above.data(), block, left);
  }
  return above.back().get()[kBlock];
}

std::int32_t serial_distance(std::int64_t n_letters) {
  Cells row(static_cast<std::size_t>(n_letters) + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::int64_t y = 0; y < n_letters; ++y)
    next_row(row, static_cast<std::int32_t>(y) + 1, y, 0);
  return row.back();
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::int64_t n_blocks = given.number("LETTERS", 2000, kBlock, 10'000'000) / kBlock;
    given.end();
    bool is_right = false;
    run([&] {
      const std::int32_t distance = distance_of(n_blocks);
      is_right = distance == serial_distance(n_blocks * kBlock);
      std::printf("texts of %ld letters differ in %d changes, %s\n", n_blocks * kBlock, distance,
                  is_right ? "which is right" : "which is WRONG");
    }).check();
    if (!is_right) throw rubato::Error("wavefront: wrong", rubato::ExitCode::failed);
  });
}

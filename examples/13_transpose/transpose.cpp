// The transpose of a random sparse matrix whose rows are spread over all cores [bale].
//   transpose [LOG2_ROWS] [MEAN_ENTRIES_A_ROW]
//
// Shows a structure of several arrays, and delegates that change two of them: entries are counted
// at the rows of the transpose that they will be in, then sent there, where they find their place.
// A row knows where on its core its entries are, which lie one row after the other (CSR).

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <utility>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/reduce.hpp"

using namespace rubato::global;

namespace {

struct Entry {
  std::uint32_t column;
  std::uint32_t value;
  auto operator<=>(const Entry&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Row {
  std::uint64_t first;  // entry, of those of its core
  std::uint64_t n;
};

// Square. A handle, as its arrays are.
struct Matrix {
  GlobalArray<Row> rows;
  GlobalArray<Entry> entries;  // a block a core

  // Of a row of this core.
  [[nodiscard]] std::span<Entry> of(const Row& row) const {
    return {entries.local() + row.first, row.n};
  }
};

// Room for the entries, whose numbers are in the rows. It is as large on each core as the fullest
// one needs, but in addresses: memory is taken where it is written. Waits.
GlobalArray<Entry> make_entries(const GlobalArray<Row>& rows) {
  const auto place_rows = [rows] {
    std::uint64_t n = 0;
    for (Row& row : std::span(rows.local(), rows.n_of(this_core())))
      row.first = std::exchange(n, n + row.n);
    return n;
  };
  const auto larger = [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); };
  const std::uint64_t block = std::bit_ceil(reduce_cores(place_rows, larger));
  return GlobalArray<Entry>::make(block * n_cores(), block);
}

// The same for each number of cores.
Matrix random_matrix(std::uint64_t n_rows, std::uint64_t n_mean) {
  const auto rows = GlobalArray<Row>::make(n_rows);
  forall(rows,
         [n_mean](std::uint64_t r, Row& row) { row.n = rubato::hash_words(r) % (2 * n_mean + 1); });
  const Matrix matrix{rows, make_entries(rows)};
  forall(rows, [matrix](std::uint64_t r, const Row& row) {
    for (std::uint64_t i = 0; i < row.n; ++i) {
      const std::uint64_t word = rubato::hash_words(r, i, 1);
      matrix.of(row)[i] = {static_cast<std::uint32_t>((word >> 32) % matrix.rows.size()),
                           static_cast<std::uint32_t>(word)};
    }
  });
  forall(rows, [matrix](const Row& row) { std::ranges::sort(matrix.of(row)); });
  return matrix;
}

Matrix transpose(const Matrix& from) {
  const auto rows = GlobalArray<Row>::make(from.rows.size());
  forall(from.rows, [from, rows](const Row& row) {
    for (const Entry& entry : from.of(row))
      async_call(rows[entry.column], [](Row& to) { ++to.n; });
  });
  const Matrix transposed{rows, make_entries(rows)};
  forall(rows, [](Row& row) { row.n = 0; });
  // A Place is 8 bytes of each message, where the array would be 32.
  const Place entries = transposed.entries[0].place();
  forall(from.rows, [from, rows, entries](std::uint64_t r, const Row& row) {
    for (const auto [column, value] : from.of(row)) {
      const Entry turned{static_cast<std::uint32_t>(r), value};
      async_call(rows[column], [entries, turned](Row& to) {
        auto* const mine = reinterpret_cast<Entry*>(entries.resolve(CoreContext::here()));
        mine[to.first + to.n++] = turned;
      });
    }
  });
  forall(rows, [transposed](const Row& row) { std::ranges::sort(transposed.of(row)); });
  return transposed;
}

// The number of entries, and the sum of the hashes of their rows, columns and values.
using Sums = std::array<std::uint64_t, 2>;
Sums sums_of(const Matrix& matrix, bool is_transposed) {
  const auto sums = GlobalArray<Sums>::make(n_cores());
  forall(matrix.rows, [=](std::uint64_t r, const Row& row) {
    Sums& mine = sums.local()[0];
    mine[0] += row.n;
    for (const auto [c, value] : matrix.of(row))
      mine[1] += is_transposed ? rubato::hash_words(c, r, value) : rubato::hash_words(r, c, value);
  });
  const auto add = [](const Sums& a, const Sums& b) { return Sums{a[0] + b[0], a[1] + b[1]}; };
  return reduce(sums, Sums{}, add);
}

// Whether the rows of two matrices, which lie on the same cores, are the same.
bool are_equal(const Matrix& a, const Matrix& b) {
  const auto of_core = [a, b] {
    bool is_equal = true;
    for (std::uint64_t k = 0; k < a.rows.n_of(this_core()); ++k)
      is_equal &= std::ranges::equal(a.of(a.rows.local()[k]), b.of(b.rows.local()[k]));
    return is_equal;
  };
  return reduce_cores(of_core, std::logical_and<>{});
}

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::uint64_t n_rows = std::uint64_t{1} << given.number("LOG2_ROWS", 13, 0, 40);
    const auto n_mean = given.number<std::uint64_t>("ENTRIES_A_ROW", 10, 0, 1'000'000);
    given.end();
    const Matrix matrix = random_matrix(n_rows, n_mean);
    const rubato::Nanos begin = rubato::steady_now();
    const Matrix transposed = transpose(matrix);
    const double time = static_cast<double>(rubato::steady_now() - begin) / rubato::kSecond;

    const Sums found = sums_of(transposed, true);
    const bool is_right =
        found == sums_of(matrix, false) && are_equal(transpose(transposed), matrix);
    std::printf("%lu rows, %lu entries, %s\n", n_rows, found[0],
                is_right ? "transposed" : "NOT transposed");
    std::fprintf(stderr, "%.1f million entries a second on %u cores\n",
                 static_cast<double>(found[0]) / time / 1e6, n_cores());
    if (!is_right) throw rubato::Error("transpose: wrong", rubato::ExitCode::failed);
  });
}

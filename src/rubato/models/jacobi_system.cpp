#include "rubato/models/jacobi_system.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/base/memory.hpp"
#include "rubato/base/random.hpp"
#include "rubato/io/edge_list.hpp"
#include "rubato/io/line_reader.hpp"
#include "rubato/io/number.hpp"

namespace rubato::models {
namespace {

using tick::VertexId;

// Entries as they come, the diagonal apart.
struct Entries {
  std::vector<VertexId> columns;
  std::vector<VertexId> rows;
  std::vector<double> values;
  std::vector<double> diagonal;

  explicit Entries(std::uint64_t n_rows) : diagonal(n_rows, 0.0) {}
  void add(std::uint64_t row, std::uint64_t column, double value) {
    if (row == column) {
      diagonal[row] += value;
      return;
    }
    columns.push_back(static_cast<VertexId>(column));
    rows.push_back(static_cast<VertexId>(row));
    values.push_back(value);
  }
  [[nodiscard]] JacobiSystem system() {
    JacobiSystem result;
    result.graph = std::make_shared<const tick::Digraph>(diagonal.size(), columns, rows, values,
                                                         tick::Duplicates::merge);
    result.diagonal = std::make_shared<const std::vector<double>>(std::move(diagonal));
    return result;
  }
};

// Names the line of the last entry there, if there is one.
[[noreturn]] void refuse_diagonal(const std::string& path, std::uint64_t row) {
  io::EdgeReader reader(path);
  std::uint64_t n_there = 0;
  const auto is_there = [&](const io::Edge& entry) {
    return entry.source == row && entry.target == row;
  };
  for (io::Edge entry; reader.next(entry);)
    n_there += is_there(entry) ? 1 : 0;
  const std::string of = "row " + std::to_string(row + 1) + ": expected an entry on the diagonal ";
  if (n_there == 0) throw Error(path + ": " + of + "that is not 0, found none");
  io::EdgeReader again(path);
  for (io::Edge entry; again.next(entry);) {
    if (!is_there(entry) || --n_there > 0) continue;
    throw again.error(of + "that is not 0, found 0");
  }
  throw Error(path + ": it has changed while it was read");
}

// Told before the machine runs out of memory.
void refuse_more_than_memory(const std::string& path, std::uint64_t n_rows) {
  constexpr std::uint64_t kBytesPerRow = 80;  // structure, slots and two versions
  const std::uint64_t memory = physical_memory();
  if (n_rows <= memory / kBytesPerRow && n_rows < UINT32_MAX) return;
  throw Error(path + ": " + std::to_string(n_rows) + " rows, expected at most " +
              std::to_string(std::min<std::uint64_t>(memory / kBytesPerRow, UINT32_MAX - 1)) +
              " on this machine");
}

}  // namespace

JacobiSystem read_jacobi_matrix(const std::string& path) {
  io::EdgeReader reader(path);
  if (!reader.is_matrix_market()) {
    throw Error(path +
                ": line 1: expected a Matrix Market file, which begins with "
                "\"%%MatrixMarket matrix coordinate real general\" or another such line");
  }
  const std::uint64_t n_rows = reader.declared_vertices().value_or(0);
  if (n_rows == 0) throw Error(path + ": expected a matrix with rows, found 0 x 0");
  refuse_more_than_memory(path, n_rows);
  Entries entries(n_rows);
  for (io::Edge entry; reader.next(entry);)
    entries.add(entry.source, entry.target, entry.weight);
  for (std::uint64_t row = 0; row < n_rows; ++row) {
    if (entries.diagonal[row] == 0) refuse_diagonal(path, row);
    if (std::isfinite(entries.diagonal[row])) continue;
    throw Error(path + ": row " + std::to_string(row + 1) +
                ": the entries on its diagonal add up to no finite number");
  }
  try {
    return entries.system();
  } catch (const Error& error) {
    throw error.in("reading " + path);
  }
}

JacobiSystem make_jacobi_matrix(const JacobiTrial& trial) {
  const auto refuse = [](const char* what, const char* expected, const std::string& found) {
    throw Error(std::string("jacobi: ") + what + ": expected " + expected + ", found " + found,
                ExitCode::usage);
  };
  if (trial.rows < 1 || trial.rows > 100'000'000) {
    refuse("rows", "1 to 100000000", std::to_string(trial.rows));
  }
  if (trial.degree < 0 || trial.degree > 1000) {
    refuse("degree", "0 to 1000", std::to_string(trial.degree));
  }
  if (!(trial.dominance > 0 && trial.dominance <= 1e6)) {
    refuse("dominance", "more than 0 and at most 1e6", io::number_text(trial.dominance));
  }
  if (trial.far < 0 || trial.far > 100'000'000)
    refuse("far", "0 to 100000000", std::to_string(trial.far));
  const auto n = static_cast<std::uint64_t>(trial.rows);
  Entries entries(n);
  for (std::uint64_t row = 0; row < n; ++row) {
    RandomStream random(trial.seed, row);
    double others = 0;
    for (std::int64_t i = 0; i < trial.degree; ++i) {
      // Others stay near by, as in a mesh, so that there is something to partition.
      const bool near = trial.far == 0 || random.between(0, trial.far - 1) != 0;
      const std::int64_t to = near ? static_cast<std::int64_t>(row) + random.between(-32, 32)
                                   : random.between(0, trial.rows - 1);
      const double value = 2 * random.unit() - 1;
      if (to < 0 || to >= trial.rows || static_cast<std::uint64_t>(to) == row) continue;
      entries.add(row, static_cast<std::uint64_t>(to), value);
      others += std::abs(value);
    }
    entries.add(row, row, others > 0 ? others * trial.dominance : 1);
  }
  return entries.system();
}

std::shared_ptr<const std::vector<double>> jacobi_ones(std::uint64_t n_rows) {
  return std::make_shared<const std::vector<double>>(n_rows, 1.0);
}

std::shared_ptr<const std::vector<double>> jacobi_random(std::uint64_t n_rows, std::uint64_t seed) {
  auto b = std::make_shared<std::vector<double>>();
  b->reserve(n_rows);
  for (std::uint64_t row = 0; row < n_rows; ++row) {
    const auto words = random_words(seed, row, ~std::uint64_t{0});
    b->push_back(2 * unit_double(words[0], words[1]) - 1);
  }
  return b;
}

namespace {

// The head of a Matrix Market array is read, if `line` is its banner; false if it is none.
bool read_array_head(io::LineReader& lines, std::string_view line, std::uint64_t n_rows) {
  if (!line.starts_with("%%MatrixMarket")) return false;
  std::istringstream words{std::string(line)};
  std::string word;
  words >> word;
  for (const std::vector<std::string>& known : {std::vector<std::string>{"matrix"},
                                                {"array"},
                                                {"real", "double", "integer"},
                                                {"general"}}) {
    word.clear();
    words >> word;
    if (std::ranges::find(known, word) != known.end()) continue;
    throw lines.error("expected \"" + known.front() + "\" in the banner of a vector, found " +
                      io::shown(word) + did_you_mean(word, known));
  }
  while (lines.next(line)) {
    if (io::trimmed(line).empty() || io::trimmed(line).front() == '%') continue;
    std::istringstream sizes{std::string(line)};
    std::uint64_t n = 0;
    std::uint64_t n_columns = 0;
    if (sizes >> n >> n_columns && n == n_rows && n_columns == 1) return true;
    throw lines.error("expected \"" + std::to_string(n_rows) +
                      " 1\", the rows of the matrix and one column, found " + io::shown(line));
  }
  throw lines.error("expected the size of a vector, found the end of the file");
}

}  // namespace

std::shared_ptr<const std::vector<double>> read_jacobi_vector(const std::string& path,
                                                              std::uint64_t n_rows) {
  io::LineReader lines(path);
  auto b = std::make_shared<std::vector<double>>();
  bool first = true;
  for (std::string_view line; lines.next(line);) {
    if (std::exchange(first, false) && read_array_head(lines, line, n_rows)) continue;
    const std::string_view text = io::trimmed(line);
    if (text.empty() || text.front() == '%' || text.front() == '#') continue;
    const auto value = io::parse_number<double>(text);
    if (!value) throw lines.error("expected a finite number, found " + io::shown(text));
    if (b->size() == n_rows) {
      throw lines.error("expected " + std::to_string(n_rows) +
                        " numbers, one for each row of the matrix, found more");
    }
    b->push_back(*value);
  }
  if (b->size() < n_rows) {
    throw Error(path + ": expected " + std::to_string(n_rows) +
                " numbers, one for each row of the matrix, found " + std::to_string(b->size()));
  }
  return b;
}

JacobiDominance find_jacobi_dominance(const JacobiSystem& system) {
  JacobiDominance found;
  for (VertexId v = 0; v < system.graph->n_vertices(); ++v) {
    const double* weights = system.graph->in_weights(v);
    double others = 0;
    for (std::size_t i = 0; i < system.graph->in_degree(v); ++i)
      others += weights == nullptr ? 1 : std::abs(weights[i]);
    const double diagonal = std::abs((*system.diagonal)[v]);
    if (diagonal > others) found.is_strict = true;
    if (diagonal >= others) continue;
    if (found.n_rows_without++ == 0) {
      found.first = v;
      found.diagonal = diagonal;
      found.others = others;
    }
  }
  return found;
}

}  // namespace rubato::models

#pragma once
// A system of linear equations A x = b as jacobi wants it: what is off the diagonal as a graph.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rubato/tick/graph/digraph.hpp"

namespace rubato::models {

struct JacobiSystem {
  // Row i is vertex i; an edge from j to i weighs a_ij. Entries of one place are added up.
  std::shared_ptr<const tick::Digraph> graph;
  std::shared_ptr<const std::vector<double>> diagonal;  // [n_rows] none is 0
  std::shared_ptr<const std::vector<double>> b;         // [n_rows]
};

// The matrix of a Matrix Market file (io/edge_list.hpp has the dialect), plain or gzip; b is empty.
// Throws Error, with file and line, for what is none, and for a row whose diagonal is 0 or absent.
[[nodiscard]] JacobiSystem read_jacobi_matrix(const std::string& path);

struct JacobiTrial {
  std::int64_t rows = 10'000;
  std::int64_t degree = 6;  // entries off the diagonal of each row, at most
  double dominance = 1.2;   // the diagonal over the sum of the sizes of the others
  std::uint64_t seed = 1;
  std::int64_t far = 64;  // one entry of so many is anywhere, the others near the diagonal; 0: none
};

// A matrix for trials: each row has most of its entries near the diagonal. b is empty. Throws Error
// (usage) for a number out of its range.
[[nodiscard]] JacobiSystem make_jacobi_matrix(const JacobiTrial& trial);

// All 1; or uniform in [-1, 1), a function of seed and row.
[[nodiscard]] std::shared_ptr<const std::vector<double>> jacobi_ones(std::uint64_t n_rows);
[[nodiscard]] std::shared_ptr<const std::vector<double>> jacobi_random(std::uint64_t n_rows,
                                                                       std::uint64_t seed);
// A number a line, and lines that start with # or %; or a Matrix Market array of one column. Throws
// Error, with file and line, for what is no number, and for more or fewer of them than rows.
[[nodiscard]] std::shared_ptr<const std::vector<double>> read_jacobi_vector(const std::string& path,
                                                                            std::uint64_t n_rows);

// Rows in which the others outweigh the diagonal: |a_ii| < the sum of |a_ij|.
struct JacobiDominance {
  std::uint64_t n_rows_without = 0;
  tick::VertexId first = 0;  // of them
  double diagonal = 0;       // its |a_ii|
  double others = 0;         // its sum of |a_ij|
  bool is_strict = false;    // somewhere the diagonal outweighs the others
};
[[nodiscard]] JacobiDominance find_jacobi_dominance(const JacobiSystem& system);

}  // namespace rubato::models

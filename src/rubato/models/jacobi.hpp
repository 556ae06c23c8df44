#pragma once
// jacobi: A x = b by the iteration of Jacobi, one a tick:
//
//   x_i(t + 1) = (b_i - sum over j != i of a_ij x_j(t)) / a_ii,     x(0) = 0.
//
// Rows are vertices, and an entry a_ij off the diagonal is an edge from j to i with that weight. It
// converges for any b if A is strictly diagonally dominant: |a_ii| > the sum of |a_ij| of the row.
//
// The residual b - A x(t) costs nothing: its row i is a_ii (x_i(t + 1) - x_i(t)), which a step
// knows. The stop condition takes its largest entry or its length, in exact sums, over that of b,
// so that every policy and every number of nodes ends at the same tick. Both are taken in units of the
// power of two next to the largest entry of b: their squares would leave the numbers for a b below
// 1e-154 or above it, and what is too small to be seen would pass for solved.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "rubato/base/exact_sum.hpp"
#include "rubato/models/jacobi_system.hpp"
#include "rubato/tick/graph/graph_store.hpp"

namespace rubato::models {

using tick::Tick;
using tick::VertexId;

// Of a residual, or of b.
enum class JacobiNorm : std::uint8_t { max, l2 };

struct JacobiOptions {
  double tolerance = 1e-8;  // > 0: ends when the residual is at most that share of b; 0: never
  JacobiNorm norm = JacobiNorm::l2;
  Tick test_interval = 5;  // ticks between two tests
  Tick test_lag = 5;       // ticks from a test to the end that it decides

  // Throws Error (usage) naming what is out of its range.
  void validate() const;
};

// The sum of squares and the largest of numbers, in any order.
class JacobiSize {
 public:
  void add(double x) noexcept {
    const double size = std::abs(x);
    const double square = x * x;
    // An iteration that diverges leaves the numbers one day; it never ends by its tolerance.
    if (!std::isfinite(square)) {
      lost_ = 1;
      return;
    }
    most_ = size > most_ ? size : most_;
    squares_.add(square);
  }
  void add(const JacobiSize& other) noexcept {
    most_ = other.most_ > most_ ? other.most_ : most_;
    lost_ |= other.lost_;
    squares_.add(other.squares_);
  }
  // Infinite if one of the numbers was too large to tell, or none.
  [[nodiscard]] double norm(JacobiNorm which) const noexcept {
    if (lost_ != 0) return INFINITY;
    return which == JacobiNorm::max ? most_ : std::sqrt(squares_.value());
  }

 private:
  double most_ = 0;
  std::uint64_t lost_ = 0;
  ExactSum squares_;
};

// The user of tick::GraphModel.
class Jacobi {
 public:
  using Value = double;  // x_i

  // Throws Error as JacobiOptions::validate.
  Jacobi(JacobiSystem system, JacobiOptions options);

  [[nodiscard]] Value init(VertexId /*v*/) const { return 0; }
  // b_i less the terms of the row, by column.
  using Sum = double;
  [[nodiscard]] Sum begin(VertexId v, const Value& /*own*/, Tick /*t*/) const {
    return (*system_.b)[v];
  }
  void interact(Sum& rest, const tick::InEdge<Value>& in, Tick /*t*/) const {
    rest -= in.weight * in.value;
  }
  [[nodiscard]] Value finish(VertexId v, const Value& /*own*/, const Sum& rest, Tick /*t*/) const {
    return rest / (*system_.diagonal)[v];
  }

  // The residual of the state before the step.
  using Measure = JacobiSize;
  void measure(Measure& m, VertexId v, const Value& before, const Value& after) const {
    m.add(in_units((*system_.diagonal)[v], after - before));
  }
  void combine(Measure& into, const Measure& from) const { into.add(from); }
  [[nodiscard]] bool stop(const Measure& m, Tick /*t*/) const {
    return m.norm(options_.norm) <= options_.tolerance * scale_;
  }
  [[nodiscard]] Tick stop_interval() const {
    return options_.tolerance > 0 ? options_.test_interval : 0;
  }
  [[nodiscard]] Tick stop_lag() const { return options_.test_lag; }

  [[nodiscard]] const JacobiSystem& system() const noexcept { return system_; }
  [[nodiscard]] const JacobiOptions& options() const noexcept { return options_; }
  // The norm of b in units, or 1 if b is 0: what residuals are divided by.
  [[nodiscard]] double scale() const noexcept { return scale_; }
  // b - A x, in units. x: [n_rows]
  [[nodiscard]] JacobiSize residual(const std::vector<double>& x) const;
  // A number of units as itself.
  [[nodiscard]] double of_units(double x) const noexcept { return std::ldexp(x, exponent_); }

  // Files have the row, from 1 as in Matrix Market, and x.
  [[nodiscard]] std::vector<tick::OutputColumn> output_columns() const {
    return {{"row", tick::ColumnType::u64}, {"x", tick::ColumnType::f64}};
  }
  void output_row(VertexId v, const Value& value, tick::OutputRows& rows) const {
    rows.add(std::uint64_t{v} + 1).add(value);
  }

 private:
  // a * x; exact where a * x is, unless that is no number and this is one.
  [[nodiscard]] double in_units(double a, double x) const noexcept {
    const double product = a * x;
    return std::isfinite(product) ? std::ldexp(product, -exponent_) : a * std::ldexp(x, -exponent_);
  }

  JacobiSystem system_;
  JacobiOptions options_;
  int exponent_ = 0;  // a unit is 2^exponent
  double scale_ = 1;
};

using JacobiModel = tick::GraphModel<Jacobi>;
using JacobiStore = tick::GraphStore<Jacobi>;

}  // namespace rubato::models

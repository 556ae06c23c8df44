#include "rubato/models/jacobi.hpp"

#include <algorithm>
#include <utility>

#include "rubato/io/number.hpp"

namespace rubato::models {

void JacobiOptions::validate() const {
  const auto refuse = [](const char* what, const char* expected, const std::string& found) {
    throw Error(std::string("jacobi: ") + what + ": expected " + expected + ", found " + found,
                ExitCode::usage);
  };
  if (!(tolerance >= 0)) refuse("tolerance", "0 or more", io::number_text(tolerance));
  if (test_interval < 1) refuse("test interval", "1 or more", std::to_string(test_interval));
  if (test_lag < 0) refuse("test lag", "0 or more", std::to_string(test_lag));
}

Jacobi::Jacobi(JacobiSystem system, JacobiOptions options)
    : system_(std::move(system)), options_(options) {
  options_.validate();
  double most = 0;
  for (const double b : *system_.b) {
    if (!std::isfinite(b)) throw Error("jacobi: b: expected finite numbers, found another");
    most = std::max(most, std::abs(b));
  }
  if (most > 0) exponent_ = std::ilogb(most);
  JacobiSize size;
  for (const double b : *system_.b)
    size.add(in_units(1, b));
  if (most > 0) scale_ = size.norm(options_.norm);
}

JacobiSize Jacobi::residual(const std::vector<double>& x) const {
  RUBATO_REQUIRE(x.size() == system_.graph->n_vertices(), x.size());
  JacobiSize size;
  for (VertexId v = 0; v < system_.graph->n_vertices(); ++v) {
    const double* weights = system_.graph->in_weights(v);
    const auto columns = system_.graph->in(v);
    double rest = (*system_.b)[v];
    for (std::size_t i = 0; i < columns.size(); ++i)
      rest -= (weights == nullptr ? 1 : weights[i]) * x[columns[i]];
    size.add(in_units(1, rest - (*system_.diagonal)[v] * x[v]));
  }
  return size;
}

}  // namespace rubato::models

#include "rubato/models/jacobi.hpp"

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
  JacobiSize size;
  for (const double b : *system_.b)
    size.add(b);
  const double norm = size.norm(options_.norm);
  if (!std::isfinite(norm)) {
    throw Error("jacobi: b: expected numbers whose squares have a finite sum, found larger ones");
  }
  if (norm > 0) scale_ = norm;
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
    size.add(rest - (*system_.diagonal)[v] * x[v]);
  }
  return size;
}

}  // namespace rubato::models

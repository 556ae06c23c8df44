#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rubato/tools/reproduce/figures.hpp"

namespace rubato::tools {
namespace {

std::string text(double value) {
  return fmt::format("{:.6g}", value);
}

// Side lengths, in hosts, of the most square grid of n hosts.
std::pair<std::uint32_t, std::uint32_t> grid_of(std::uint32_t n) {
  auto rows = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(n)));
  while (n % rows != 0)
    --rows;
  return {n / rows, rows};
}

}  // namespace

ReproduceOptions ReproduceOptions::quick() {
  ReproduceOptions options;
  options.n_hosts = 4;
  options.scale_hosts = {4, 6};
  options.n_rounds = 1;
  options.ticks = 12;
  options.size = 0.05;
  return options;
}

// Fish that keep their distance and all know the way spread evenly and stay so: the paper tuned its
// fish for equal load too [Ticks 6.1]. A host is some 26 sights wide.
Workload fish_workload(const ReproduceOptions& options) {
  constexpr double kNeighbours = 6;
  constexpr double kSight = 6;
  const double n_fish = 1500 * options.size;
  // A fish and its pairs are charged in the ratio of the model's own defaults, 60 to 4.
  const double ns_per_pair = options.tick_ms * 1e6 / (n_fish * (15 + kNeighbours));
  Workload workload{"fish", "fish", n_fish, {}};
  workload.settings = [=](std::uint32_t n_hosts) {
    const double area = n_fish / kNeighbours * 3.14159265 * kSight * kSight;
    const double side = std::sqrt(area);
    const auto [columns, rows] = grid_of(n_hosts);
    return std::vector<std::pair<std::string, std::string>>{
        {"fish", fmt::format("{:.0f}", n_fish * n_hosts)},
        {"width", text(side * columns)},
        {"height", text(side * rows)},
        {"rho", text(kSight)},
        {"alpha", "3"},
        {"informed", "1"},
        {"omega", "2"},
        {"ns-per-fish", text(15 * ns_per_pair)},
        {"ns-per-pair", text(ns_per_pair)}};
  };
  return workload;
}

Workload jacobi_workload(const ReproduceOptions& options) {
  const double side = std::max(24.0, std::floor(400 * std::sqrt(options.size)));
  Workload workload{"heat", "cells", side * side, {}};
  workload.settings = [=](std::uint32_t n_hosts) {
    const auto [columns, rows] = grid_of(n_hosts);
    return std::vector<std::pair<std::string, std::string>>{
        {"width", fmt::format("{:.0f}", side * columns)},
        {"height", fmt::format("{:.0f}", side * rows)},
        {"ns-per-cell", text(options.tick_ms * 1e6 / (side * side))}};
  };
  return workload;
}

Workload pagerank_workload(const ReproduceOptions& options) {
  constexpr double kDegree = 4;  // of the paper's citation graph: 16.5 M edges, 3.77 M vertices
  const double n_vertices = std::max(60.0, 4000 * options.size);
  const double ns_per_edge = options.tick_ms * 1e6 / (n_vertices * (2 + kDegree));
  Workload workload{"pagerank", "edges", n_vertices * kDegree, {}};
  workload.settings = [=](std::uint32_t n_hosts) {
    return std::vector<std::pair<std::string, std::string>>{
        {"vertices", fmt::format("{:.0f}", n_vertices * n_hosts)},
        {"degree", fmt::format("{:.0f}", kDegree)},
        {"ns-per-vertex", text(2 * ns_per_edge)},
        {"ns-per-edge", text(ns_per_edge)}};
  };
  return workload;
}

}  // namespace rubato::tools

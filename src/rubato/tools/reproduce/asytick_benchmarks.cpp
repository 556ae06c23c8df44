#include <cmath>

#include <fmt/format.h>

#include "rubato/tools/reproduce/asytick.hpp"

namespace rubato::tools {
namespace {

std::string text(double value) {
  return fmt::format("{:.6g}", value);
}

std::string whole(double value) {
  return fmt::format("{:.0f}", value);
}

// All cores' time of a tick.
double tick_ns(const AsytickOptions& options) {
  return options.tick_ms * 1e6 * options.n_nodes * options.n_cores;
}

std::uint32_t pieces(double n) {
  return static_cast<std::uint32_t>(std::lround(n));
}

AsytickBenchmark fish(const AsytickOptions& options) {
  constexpr double kNeighbours = 16;
  constexpr double kPairsOfFish = 15;  // a fish costs as many pairs: the model's defaults, 60 to 4
  const double n = 16'000 * options.size;
  const double ns_per_pair = tick_ns(options) / (n * (kPairsOfFish + kNeighbours));
  return {"fish",
          {{"fish", whole(n)},
           {"seed", whole(static_cast<double>(options.seed))},
           {"neighbours", text(kNeighbours)},
           {"ns-per-fish", text(kPairsOfFish * ns_per_pair)},
           {"ns-per-pair", text(ns_per_pair)}},
          "ns-per-pair",
          pieces(1024 * options.size),
          options.slowdown};
}

AsytickBenchmark pagerank(const AsytickOptions& options) {
  constexpr double kDegree = 14;        // of the paper's graph: 69.0 M edges, 4.85 M vertices
  constexpr double kEdgesOfVertex = 2;  // the ratio of the model's defaults, 3 to 1.5
  const double n = 32'000 * options.size;
  const double ns_per_edge = tick_ns(options) / (n * (kEdgesOfVertex + kDegree));
  return {"pagerank",
          {{"vertices", whole(n)},
           {"degree", whole(kDegree)},
           {"tolerance", "0"},
           {"seed", whole(static_cast<double>(options.seed))},
           {"ns-per-vertex", text(kEdgesOfVertex * ns_per_edge)},
           {"ns-per-edge", text(ns_per_edge)}},
          "ns-per-edge",
          pieces(1024 * options.size),
          options.slowdown};
}

// The paper's matrix is full; the trial matrix has as many entries a row as make its steps edges in
// the main.
AsytickBenchmark jacobi(const AsytickOptions& options) {
  constexpr double kDegree = 64;
  constexpr double kEntriesOfRow = 2;
  const double n = 8'000 * options.size;
  const double ns_per_entry = tick_ns(options) / (n * (kEntriesOfRow + kDegree));
  return {"jacobi",
          {{"rows", whole(n)},
           {"degree", whole(kDegree)},
           {"tolerance", "0"},
           {"seed", whole(static_cast<double>(options.seed))},
           {"ns-per-row", text(kEntriesOfRow * ns_per_entry)},
           {"ns-per-entry", text(ns_per_entry)}},
          "ns-per-entry",
          pieces(1024 * options.size),
          options.slowdown};
}

}  // namespace

AsytickOptions AsytickOptions::quick() {
  AsytickOptions options;
  options.n_nodes = 4;
  options.n_cores = 2;
  options.ticks = 16;
  options.warm_up = 4;
  options.epoch = 4;
  options.size = 0.05;
  options.scale_nodes = {2, 4};
  options.sizes = {0.5, 1};
  options.size_nodes = 2;
  options.piece_counts = {16, 64};
  return options;
}

// Bodies all over a torus, a dense cluster that drifts, and groups that fly together, as many each
// tick, at another place each time. The cluster is what a balancer can know from the ticks before;
// where the next groups meet it cannot. All of it grows with `size`, the density of none.
AsytickBenchmark asytick_nbody(const AsytickOptions& options, double size) {
  const double all = size * options.size;
  // A body costs as the groups of so many make it: 16 nodes of one core step 5.9 ms a tick.
  const double cost = options.n_cores;
  return {"nbody",
          {{"bodies", whole(40'000 * all)},
           {"seed", whole(static_cast<double>(options.seed))},
           {"width", text(512 * std::sqrt(all) + 0.1)},
           {"radius", "1"},
           {"dt", "1"},
           {"gravity", "1e-7"},
           {"speed", "0.02"},
           {"clusters", "1"},
           {"clustered", "0.3"},
           {"cover", "0.0134"},
           {"drift", "0.1"},
           {"gatherings", whole(static_cast<double>(options.ticks))},
           {"groups", whole(std::max(1.0, 16 * all))},
           {"gathered", "73"},
           {"rush", "6.8"},
           {"speed-limit", "6.9"},
           {"ns-per-body", text(200 * cost)},
           {"ns-per-pair", text(400 * cost)}},
          "ns-per-pair",
          pieces(4096 * all),
          1};
}

std::vector<AsytickBenchmark> asytick_benchmarks(const AsytickOptions& options) {
  return {fish(options), pagerank(options), asytick_nbody(options), jacobi(options)};
}

}  // namespace rubato::tools

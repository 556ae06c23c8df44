#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "rubato/base/error.hpp"
#include "rubato/tools/reproduce/asytick.hpp"

namespace rubato::tools {
namespace {

constexpr double kPieces = 64;  // of each worker

std::string text(double value) {
  return fmt::format("{:.6g}", value);
}

std::string whole(double value) {
  return fmt::format("{:.0f}", value);
}

// All workers' time of a tick.
double tick_ns(const AsytickOptions& options) {
  return options.tick_ms * 1e6 * options.n_workers();
}

// `of_worker` for each, at the usual size.
double of_all(const AsytickOptions& options, double of_worker) {
  return of_worker * options.n_workers() * options.size;
}

std::uint32_t pieces(double n) {
  return static_cast<std::uint32_t>(std::lround(n));
}

// Nanoseconds of a recorded cost, in those of a tick that has `n` of it and `n_other` of the other:
// what all of that takes becomes what a tick is to take.
struct Charged {
  double each = 0;
  double other = 0;
};
Charged charged(const AsytickOptions& options, const std::array<double, 2>& recorded, double n,
                double n_other) {
  const double stands_for = tick_ns(options) / (n * recorded[0] + n_other * recorded[1]);
  return {recorded[0] * stands_for, recorded[1] * stands_for};
}

std::array<double, 2> recorded(const AsytickOptions& options, std::string_view model,
                               std::string_view each, std::string_view other) {
  return {options.costs.ns(model, each), options.costs.ns(model, other)};
}

AsytickBenchmark fish(const AsytickOptions& options) {
  constexpr double kNeighbours = 16;
  const double n = of_all(options, 1024);
  const Charged cost =
      charged(options, recorded(options, "fish", "ns-per-fish", "ns-per-pair"), n, n * kNeighbours);
  return {"fish",
          {{"fish", whole(n)},
           {"seed", whole(static_cast<double>(options.seed))},
           {"neighbours", text(kNeighbours)},
           {"ns-per-fish", text(cost.each)},
           {"ns-per-pair", text(cost.other)}},
          "ns-per-pair",
          pieces(of_all(options, kPieces)),
          options.slowdown};
}

AsytickBenchmark pagerank(const AsytickOptions& options) {
  constexpr double kDegree = 14;  // of the paper's graph: 69.0 M edges, 4.85 M vertices
  const double n = of_all(options, 512);
  const Charged cost = charged(
      options, recorded(options, "pagerank", "ns-per-vertex", "ns-per-edge"), n, n * kDegree);
  return {"pagerank",
          {{"vertices", whole(n)},
           {"degree", whole(kDegree)},
           {"tolerance", "0"},
           {"seed", whole(static_cast<double>(options.seed))},
           {"ns-per-vertex", text(cost.each)},
           {"ns-per-edge", text(cost.other)}},
          "ns-per-edge",
          pieces(of_all(options, 16)),
          options.slowdown};
}

// The paper's matrix is full; the trial matrix has as many entries a row as make its steps edges in
// the main.
AsytickBenchmark jacobi(const AsytickOptions& options) {
  constexpr double kDegree = 64;
  const double n = of_all(options, 512);
  const Charged cost =
      charged(options, recorded(options, "jacobi", "ns-per-row", "ns-per-entry"), n, n * kDegree);
  return {"jacobi",
          {{"rows", whole(n)},
           {"degree", whole(kDegree)},
           {"tolerance", "0"},
           {"seed", whole(static_cast<double>(options.seed))},
           {"ns-per-row", text(cost.each)},
           {"ns-per-entry", text(cost.other)}},
          "ns-per-entry",
          pieces(of_all(options, kPieces)),
          options.slowdown};
}

// Of the changes, those of this benchmark.
void change(AsytickBenchmark& benchmark, const AsytickOptions& options) {
  for (const AsytickChange& each : options.changes) {
    if (each.model != benchmark.model) continue;
    std::erase_if(benchmark.settings,
                  [&](const auto& setting) { return setting.first == each.parameter; });
    if (each.parameter == "pieces") {
      benchmark.n_pieces = static_cast<std::uint32_t>(std::stoul(each.value));
    } else {
      benchmark.settings.emplace_back(each.parameter, each.value);
    }
  }
}

}  // namespace

AsytickChange AsytickChange::parse(const std::string& text) {
  const auto refuse = [&](const std::string& expected) {
    return Error("--set: expected " + expected + ", found \"" + text + "\"", ExitCode::usage);
  };
  const std::size_t dot = text.find('.');
  const std::size_t equals = text.find('=');
  if (dot == std::string::npos || equals == std::string::npos || equals < dot)
    throw refuse("MODEL.PARAMETER=VALUE, such as fish.neighbours=90");
  AsytickChange change{text.substr(0, dot), text.substr(dot + 1, equals - dot - 1),
                       text.substr(equals + 1)};
  if (std::ranges::find(kAsytickModels, change.model) == kAsytickModels.end())
    throw refuse("a model of fish, pagerank, nbody and jacobi");
  if (change.parameter != "pieces") return change;
  const char* end = change.value.data() + change.value.size();
  std::uint32_t n = 0;
  const auto [at, error] = std::from_chars(change.value.data(), end, n);
  if (error != std::errc{} || at != end || n == 0) throw refuse("a number of pieces");
  return change;
}

// A constant delay as on switched Ethernet; workers of a node share what it sends.
std::string AsytickOptions::network() const {
  if (!profile.empty()) return profile;
  return fmt::format("const, base=50, rate={:.6g}", 2000.0 / n_cores);
}

AsytickOptions AsytickOptions::quick() {
  AsytickOptions options;
  options.n_nodes = 4;
  options.n_cores = 2;
  options.ticks = 16;
  options.warm_up = 4;
  options.epoch = 4;
  options.size = 0.25;
  options.scale_nodes = {2, 4};
  options.sizes = {0.5, 1};
  options.size_nodes = 2;
  options.piece_counts = {2, 8};
  return options;
}

// Bodies all over a torus, a dense cluster that drifts, and groups that fly together, as many each
// tick, at another place each time. The cluster is what a balancer can know from the ticks before;
// where the next groups meet it cannot. All of it grows with `size`, the density of none. How dense
// the cluster is and how many meet follow from two figures of the paper: what comtick leaves of the
// skew (figure 4), and what it gains (figure 11). A body here is a clump, of which a pair costs that of
// all bodies of the one with all of the other: so many bodies that it costs as much as eight clumps.
AsytickBenchmark asytick_nbody(const AsytickOptions& options, double size) {
  const double workers = of_all(options, size);
  constexpr double kBodies = 672;      // of a worker
  constexpr double kPairs = 816;       // that they have in a tick, about
  constexpr double kClumpsOfPair = 8;  // as in bench/skew_nbody.cpp: the skew was made with it
  std::array<double, 2> costs = recorded(options, "nbody", "ns-per-body", "ns-per-pair");
  const double bodies_of_clump = kClumpsOfPair * costs[0] / costs[1];
  costs[0] *= bodies_of_clump;
  costs[1] *= bodies_of_clump * bodies_of_clump;
  const Charged cost =
      charged(options, costs, kBodies * options.n_workers(), kPairs * options.n_workers());
  return {"nbody",
          {{"bodies", whole(kBodies * workers)},
           {"seed", whole(static_cast<double>(options.seed))},
           {"width", text(64 * std::sqrt(workers) + 0.1)},
           {"radius", "1"},
           {"dt", "1"},
           {"gravity", "1e-7"},
           {"speed", "0.02"},
           {"clusters", "1"},
           {"clustered", "0.256"},
           {"cover", "0.1"},
           {"drift", "0.1"},
           {"gatherings", whole(static_cast<double>(options.ticks))},
           {"groups", whole(std::max(1.0, 5 * size * options.size))},
           {"gathered", "22"},
           {"rush", "6.8"},
           {"speed-limit", "6.9"},
           {"ns-per-body", text(cost.each)},
           {"ns-per-pair", text(cost.other)}},
          "ns-per-pair",
          pieces(kPieces * workers),
          1};
}

// Of two densities each, so that pairs and edges can be told from what they belong to; pieces of a
// thousand tuples, whose own cost is little.
std::vector<CostSample> asytick_samples(std::string_view model) {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const auto both = [](const Settings& common, const char* name, const char* few,
                       const char* many) {
    std::vector<CostSample> samples(2, CostSample{common, 16});
    samples[0].settings.emplace_back(name, few);
    samples[1].settings.emplace_back(name, many);
    return samples;
  };
  if (model == "fish") return both({{"fish", "16000"}}, "neighbours", "8", "60");
  if (model == "pagerank")
    return both({{"vertices", "20000"}, {"tolerance", "0"}}, "degree", "4", "28");
  if (model == "jacobi") return both({{"rows", "10000"}, {"tolerance", "0"}}, "degree", "8", "64");
  RUBATO_REQUIRE(model == "nbody", model);
  // 8 and 80 others within reach.
  return both({{"bodies", "16000"}, {"radius", "1"}, {"clusters", "0"}, {"gravity", "1e-7"}},
              "width", "80", "25");
}

std::vector<AsytickBenchmark> asytick_benchmarks(const AsytickOptions& options) {
  std::vector<AsytickBenchmark> all{fish(options), pagerank(options), asytick_nbody(options),
                                    jacobi(options)};
  for (AsytickBenchmark& each : all)
    change(each, options);
  if (options.only.empty()) return all;
  std::erase_if(all, [&](const AsytickBenchmark& each) { return each.model != options.only; });
  return all;
}

}  // namespace rubato::tools

// Question: what does the engine cost a school of a million fish on one node?
// Hypothesis: tiles that fit a core's cache pay for versions, regions and checks, so that two cores
// step as many fish as two hand-written loops that know nothing of each other.

#include "bench/cell_list_bench.hpp"
#include "rubato/models/app_fish.hpp"

namespace rubato::bench {
namespace {

// The school of the yardstick: 16 neighbours, and 0.05 of the visibility a tick.
models::FishOptions school(std::uint64_t n, std::uint64_t seed) {
  models::FishOptions options;
  options.n = n;
  options.seed = seed;
  options.rho = 1;
  options.alpha = 0.09;
  options.speed = 0.25;
  options.theta = 1;
  options.informed = 0;
  return options;
}

// Position and heading; none of them knows the way.
struct FishArrays {
  using Model = models::FishModel;
  static constexpr std::size_t kArrays = 4;
  static std::array<float, kArrays> numbers(const models::Fish& fish) noexcept {
    return {fish.position[0], fish.position[1], fish.heading[0], fish.heading[1]};
  }
  static models::Fish tuple(std::uint64_t id, const std::array<float, kArrays>& n) noexcept {
    return {id, {n[0], n[1]}, {n[2], n[3]}, 0, 0};
  }
};

Report run(const Options& options) {
  const auto make = [](std::uint64_t n, std::uint64_t seed) {
    return models::FishModel(school(n, seed));
  };
  const CellListBench<FishArrays, decltype(make)> bench(make, options);
  return bench.run("fish", "M fish/s", "2 hand-written loops, half the fish each");
}

}  // namespace

Benchmark tick_fish() {
  return {"tick-fish", "1M fish on one node: what does the engine cost over a loop by hand?", run};
}

}  // namespace rubato::bench

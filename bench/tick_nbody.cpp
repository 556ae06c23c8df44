// Question: what does the engine cost a million bodies with a cutoff on one node?
// Hypothesis: as for `tick-fish`: tiles that fit a core's cache pay for versions, regions and
// checks.

#include "bench/cell_list_bench.hpp"
#include "rubato/models/app_nbody.hpp"

namespace rubato::bench {
namespace {

using Bodies = models::NBody<float, 2>;

// 16 neighbours, and up to 0.05 of the cutoff a tick.
models::NBodyOptions bodies(std::uint64_t n, std::uint64_t seed) {
  models::NBodyOptions options;
  options.n = n;
  options.seed = seed;
  options.dt = 0.025;
  options.speed = 0.5;
  return options;
}

// Position and mass are seen; a step needs the velocity and the energy that was there at the start.
struct BodyArrays {
  using Model = Bodies;
  static constexpr std::size_t kArrays = 6;
  static std::array<float, kArrays> numbers(const Bodies::Tuple& body) noexcept {
    return {body.position[0], body.position[1], body.mass,
            body.velocity[0], body.velocity[1], body.energy_start};
  }
  static Bodies::Tuple tuple(std::uint64_t id, const std::array<float, kArrays>& n) noexcept {
    return {id, {n[0], n[1]}, {n[3], n[4]}, n[2], 0, 0, n[5]};
  }
};

Report run(const Options& options) {
  const auto make = [](std::uint64_t n, std::uint64_t seed) { return Bodies(bodies(n, seed)); };
  const CellListBench<BodyArrays, decltype(make)> bench(make, options);
  return bench.run("nbody", "M bodies/s", "2 hand-written loops, half the bodies each");
}

}  // namespace

Benchmark tick_nbody() {
  return {"tick-nbody",
          "1M bodies with a cutoff on one node: what does the engine cost over a loop by hand?",
          run};
}

}  // namespace rubato::bench

#pragma once
// What the simulated benchmarks share: the heat problem with a nominal cost a cell.

#include <cstdint>

#include "rubato/models/app_heat.hpp"

namespace rubato::bench {

using SimHeat = models::HeatProblem;

// width x height cells that cost `ns_per_cell` each in virtual time, whatever they cost here. With
// a scale a host's block stands for one that is so many times longer and wider.
inline SimHeat sim_heat(std::int64_t width, std::int64_t height, double ns_per_cell,
                        std::int64_t tile_cells, double scale = 1) {
  models::HeatOptions heat;
  heat.width = width;
  heat.height = height;
  tick::GridStoreOptions store;
  store.ns_per_cell = ns_per_cell;
  store.ns_per_row = 0;
  store.bytes_per_ns = 4 / scale;
  store.scale = scale;
  return SimHeat(tick::GridModel<models::UniformHeat>(models::UniformHeat(heat), tile_cells),
                 store);
}

}  // namespace rubato::bench

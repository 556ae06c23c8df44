#pragma once
// What the property tests of grids share: random grids and runs of them, and grids that are cut
// anew at epochs in ways that no balancer would choose.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rubato/tick/grid/grid_model.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/property.hpp"

namespace rubato::tick::testing {

template <int D, int R>
[[nodiscard]] GridShape<D> random_shape(RandomStream& random) {
  GridShape<D> shape;
  for (std::size_t d = 0; d < D; ++d) {
    shape.extent[d] = random.between(2 * R + 1, D == 1 ? 80 : D == 2 ? 24 : 10);
    shape.periodic[d] = random.between(0, 1) != 0;
  }
  return shape;
}

// User: of GridWorld.
template <class User>
[[nodiscard]] User random_grid(RandomStream& random) {
  User user;
  user.seed = random();
  user.grid = random_shape<User::kDimensions, User::kRadius>(random);
  if (random.between(0, 3) == 0) {
    user.interval = random.between(1, 4);
    user.lag = random.between(0, 6);
    user.stop_below = 0.999;
  }
  return user;
}

// Rounds that are rare, with layers to spare: versions of several rounds are in use at once.
[[nodiscard]] inline RunCase with_rare_rounds(RandomStream& random) {
  RunCase c = random_run(random);
  c.policy.barrier = c.policy.pieces = false;
  c.policy.period = static_cast<int>(random.between(4, 9));
  c.policy.replica_layers = c.policy.period - 1 + static_cast<int>(random.between(0, 8));
  c.policy.depth = static_cast<int>(random.between(0, 9));
  c.n_nodes = static_cast<std::uint32_t>(random.between(2, 5));
  c.ticks = random.between(10, 70);
  return c;
}

// Appends n boxes that cover `box`, cut in two at random places. REQUIRES: it has as many cells.
template <int D>
void cut_at_random(const Box<std::int64_t, D>& box, std::uint32_t n, RandomStream& random,
                   std::vector<BoxSet<std::int64_t, D>>& parts) {
  if (n == 1) {
    parts.emplace_back(box);
    return;
  }
  auto axis = static_cast<std::size_t>(random.between(0, D - 1));
  while (box.width(axis) < 2)
    axis = (axis + 1) % D;
  // Both sides have a cell for each of their parts.
  const std::int64_t slice = box.volume() / box.width(axis);
  const auto room = [slice](std::uint32_t n_parts) {
    return (std::int64_t{n_parts} + slice - 1) / slice;
  };
  auto n_low = static_cast<std::uint32_t>(random.between(1, n - 1));
  if (room(n_low) + room(n - n_low) > box.width(axis))
    n_low = static_cast<std::uint32_t>(std::min<std::int64_t>(slice, n - 1));
  Box<std::int64_t, D> low = box;
  Box<std::int64_t, D> high = box;
  low.high[axis] = high.low[axis] =
      box.low[axis] + random.between(room(n_low), box.width(axis) - room(n - n_low));
  cut_at_random<D>(low, n_low, random, parts);
  cut_at_random<D>(high, n - n_low, random, parts);
}

// Tiles and ticks are given; its slices are of any size, or none.
template <class Model>
[[nodiscard]] typename Model::Wavefront random_slices(RandomStream& random) {
  return {0, kSkew, {static_cast<std::uint32_t>(random.between(1, 5)), random.between(1, 12)}};
}

// Cut again by a hash of all cells: at some epochs elsewhere, at others as it was at the start or
// at an earlier epoch.
template <GridUser U>
class CutAnew : public GridModel<U> {
 public:
  using Base = GridModel<U>;
  using Base::Base;
  using Base::part;
  using typename Base::Query;
  using typename Base::State;

  using Samples = std::uint64_t;
  [[nodiscard]] Samples sample(const State& state) const {
    Samples sum = 0;
    this->for_each_tuple(state,
                         [&](std::uint64_t id, ByteView bytes) { sum += tuple_hash(id, bytes); });
    return sum;
  }
  void merge_samples(Samples& into, const Samples& from) const { into += from; }
  void write_samples(Writer& writer, const Samples& samples) const { writer.put(samples); }
  [[nodiscard]] Samples read_samples(Reader& reader) const { return reader.get<Samples>(); }
  [[nodiscard]] std::vector<Query> part(std::uint32_t n, const Samples& samples) const {
    if (samples % 4 == 0) return part(n);
    RandomStream random(samples % 4 == 1 ? 7 : samples, 51);
    std::vector<Query> parts;
    cut_at_random<Base::kD>(this->space().world, n, random, parts);
    return parts;
  }
};

}  // namespace rubato::tick::testing

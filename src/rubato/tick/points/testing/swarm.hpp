#pragma once
// Swarm: a points model that punishes every mistake: what a tuple becomes depends on the bits of a
// floating-point sum over all that it sees, in order, and on a hash of their ids. It moves, dies
// and gives birth by that.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/points/points_user.hpp"

namespace rubato::tick::points::testing {

template <class T, int D>
struct Bug {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  std::array<T, D> position{};
  std::array<T, (sizeof(T) == 4 && D == 3) ? 3 : 2> mood{};

  bool operator==(const Bug&) const = default;
};

struct SwarmOptions {
  std::uint64_t seed = 1;
  std::array<double, 3> low{};
  std::array<double, 3> high{10, 10, 10};
  std::array<bool, 3> periodic{};
  double visibility = 1;
  double reachability = 0.3;
  std::uint32_t n_bugs = 100;
  std::uint32_t death_in = 40;  // one of so many dies a tick; 0: none
  std::uint32_t birth_in = 40;
  bool crowd = false;            // most start in one corner
  std::uint64_t stop_below = 0;  // ends the run when the largest value falls below it; 0: never
  Tick stop_interval = 0;
  Tick stop_lag = 0;
};

template <class T, int D>
class Swarm {
 public:
  using Tuple = Bug<T, D>;
  using Scalar = T;
  static constexpr int kDimensions = D;
  static constexpr std::size_t kSeen = 1;
  static constexpr bool kSeesTuples = true;
  using Near = Neighbours<T, D, kSeen, Tuple>;

  explicit Swarm(const SwarmOptions& options) : o_(options) {
    for (std::size_t d = 0; d < D; ++d) {
      world_.box.low[d] = static_cast<T>(o_.low[d]);
      world_.box.high[d] = static_cast<T>(o_.high[d]);
      world_.periodic[d] = o_.periodic[d];
    }
    world_.visibility = static_cast<T>(o_.visibility);
    world_.reachability = static_cast<T>(o_.reachability);
    world_.cell_size = static_cast<T>(std::max(o_.visibility, 0.7));
  }

  [[nodiscard]] World<T, D> world() const { return world_; }
  [[nodiscard]] std::array<T, kSeen> seen(const Tuple& bug) const { return {bug.mood[0]}; }

  void start(const Wanted<T, D>& wanted, std::vector<Tuple>& out) const {
    for (std::uint32_t i = 0; i < o_.n_bugs; ++i) {
      RandomStream random(o_.seed, 1000 + i);
      Tuple bug;
      bug.id = i;
      bug.value = random();
      for (std::size_t d = 0; d < D; ++d) {
        double x = random.unit();
        if (o_.crowd && i % 4 != 0) x *= 0.3;
        bug.position[d] =
            at_least_inside(world_.box.low[d] + static_cast<T>(x) * world_.box.width(d), d);
      }
      bug.mood[0] = static_cast<T>(random.unit());
      if (wanted.contains(bug.position)) out.push_back(bug);
    }
  }

  void step(const Tuple& bug, const Near& near, Tick t, Offspring<Tuple>& out) const {
    Lanes<T> lanes{};
    for (std::size_t b = 0; b < near.size(); b += kLanes) {
      Lanes<T> distance2 = near.offset(0, b) * near.offset(0, b);
      for (std::size_t d = 1; d < D; ++d)
        distance2 += near.offset(d, b) * near.offset(d, b);
      lanes += near.seen(0, b) * (all<T>(1) - sqrt(distance2));
    }
    Tuple next = bug;
    next.mood[0] = bug.mood[0] * T(0.5) + sum<T>(lanes);
    next.mood[0] -= std::floor(next.mood[0]);
    std::uint64_t seen = bug.value;
    for (std::size_t j = 0; j < near.size(); ++j) {
      seen = hash_words(seen, near.tuple(j).id, near.tuple(j).value);
    }
    next.value = hash_words(seen, std::bit_cast<Bits>(next.mood[0]));
    const std::uint64_t fate =
        hash_words(o_.seed ^ next.value, bug.id, static_cast<std::uint64_t>(t));
    move(next, fate >> 8);
    if (o_.death_in == 0 || fate % o_.death_in != 0) out.survive(next);
    if (o_.birth_in != 0 && (fate >> 20) % o_.birth_in == 0) {
      for (std::uint64_t i = 0; i < 1 + (fate >> 50) % 2; ++i) {
        Tuple young = bug;
        young.value = fate + i;
        move(young, fate >> (30 + i));
        out.born(young);
      }
    }
  }

  // The largest value after the step: exact, whatever the order.
  using Measure = std::uint64_t;
  [[nodiscard]] Measure measure(const std::vector<Tuple>& before,
                                const std::vector<Tuple>& after) const {
    Measure most = before.empty() ? 0 : 1;
    for (const Tuple& bug : after)
      most = std::max(most, bug.value >> 32);
    return most;
  }
  void combine(Measure& into, const Measure& from) const { into = std::max(into, from); }
  [[nodiscard]] bool stop(const Measure& m, Tick /*t*/) const { return m < o_.stop_below; }
  [[nodiscard]] Tick stop_interval() const { return o_.stop_interval; }
  [[nodiscard]] Tick stop_lag() const { return o_.stop_lag; }

 private:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

  [[nodiscard]] T at_least_inside(T x, std::size_t d) const {
    return x < world_.box.high[d] ? x : world_.box.low[d];
  }
  void move(Tuple& bug, std::uint64_t random) const {
    for (std::size_t d = 0; d < D; ++d) {
      const double way = static_cast<double>(random >> (d * 12) & 0xfff) / 0xfff * 2 - 1;
      T x = bug.position[d] + static_cast<T>(way) * world_.reachability;
      T turn = 1;
      x = o_.periodic[d] ? world_.wrapped(x, d) : world_.reflected(x, turn, d);
      bug.position[d] = x;
    }
  }

  SwarmOptions o_;
  World<T, D> world_;
};

}  // namespace rubato::tick::points::testing

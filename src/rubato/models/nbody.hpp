#pragma once
// nbody: bodies that pull at each other, or push, but only within a cutoff r: those that are
// farther apart "are assumed to have no effects on each other" [AsyTick 5].
//
// A body at distance d < r with mass m accelerates another one towards it by
//
//   G m d (1 - d^2 / r^2)^2 / p^3,        p^2 = d^2 + e^2,
//
// which is softened gravity (e: the softening) times a factor that takes it to zero at r, its slope
// too: nothing jumps when bodies come into reach, so the energy is kept. It is the slope of the
// potential, of each unit of mass,
//
//   -G m (a - p)^3 (p + 3 a) / (3 r^4 p),   a^2 = r^2 + e^2,
//
// which is 0 at r. With G below 0 bodies push each other away.
//
// Time goes on by the leapfrog, kick and drift with staggered velocities, which is symplectic and
// asks for the forces once a tick: with x at whole ticks and v half a tick before them,
//
//   v(t + 1/2) = v(t - 1/2) + a(x(t)) dt;   x(t + 1) = x(t) + v(t + 1/2) dt.
//
// The start gives v(0), so the first kick is one of half a tick. A step from t knows x, v and the
// potential at t itself: each body carries its share of the energy there, so that the energy of the
// whole is a sum over bodies (nbody_drift.hpp), one tick behind the state.

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rubato/tick/output/schema.hpp"
#include "rubato/tick/points/points_store.hpp"

namespace rubato::models {

// T: float or double; D: 2 or 3.
template <class T, int D>
struct Body {
  std::uint64_t id = 0;
  std::array<T, D> position{};
  std::array<T, D> velocity{};  // half a tick before the position; at tick 0 as the start gives it
  T mass = 1;
  // At the tick before, which the latest step began at; 0 at tick 0.
  T kinetic = 0;
  T potential = 0;     // half of that of each pair that it is one of
  T energy_start = 0;  // kinetic + potential at tick 0, or where a branch began

  bool operator==(const Body&) const = default;
};

struct NBodyOptions {
  std::uint64_t n = 10'000;    // generated bodies; not read if there is a start file
  std::uint64_t seed = 1;      // of the start
  std::string start;           // CSV: id,x,y[,z],vx,vy[,vz][,mass][,potential]; "" generates
  bool staggered = false;      // the start's velocities are half a tick old, as those of an output
  double width = 0;            // of the world; 0: as `neighbours` or the file asks for
  double height = 0;           // 0: the width; with a file as high as it asks for
  double depth = 0;            // likewise, with three dimensions
  double neighbours = 16;      // of a generated body within r, on average over the world
  bool periodic = true;        // else bodies bounce off the edge
  double radius = 1;           // r, length
  double gravity = 0.02;       // G; below 0 bodies push each other away
  double softening = 0.2;      // e, length
  double dt = 0.01;            // time a tick
  double speed = 0.5;          // of a generated body against its surroundings, at most
  double speed_limit = 0;      // length a unit of time; 0: four times the fastest of the start,
                               // and at least r / 20 a tick
  std::uint64_t clusters = 0;  // 0: generated bodies are anywhere; else in that many clusters
  double cover = 0.2;          // share of the world that the clusters cover if none overlap
  double drift = 2;            // speed at which each cluster moves through the world, its own way
  double clustered = 1;        // share of the bodies that are in clusters; the others are anywhere
  // Further bodies, which fly from all over the world to meet at tick i + 1, each i at a place far
  // from those just before: in so many groups side by side, each within half a cutoff.
  std::uint64_t gatherings = 0;  // ticks at which some meet
  std::uint64_t groups = 1;
  std::uint64_t gathered = 100;  // bodies of each group
  double rush = 0;               // their speed at most; 0: one cutoff a tick
  // Of a branch, which has other parameters from this tick of a saved run on: energies are compared
  // with those there, by these parameters. 0: of none.
  tick::Tick branch = 0;
};

// Throws Error (usage) naming what is out of its range.
void check_nbody_options(const NBodyOptions& options, int dimensions);

template <class T, int D>
class NBody {
 public:
  using Tuple = Body<T, D>;
  using Scalar = T;
  static constexpr int kDimensions = D;
  static constexpr std::size_t kSeen = 1;  // the mass
  using World = tick::points::World<T, D>;
  using Near = tick::points::Neighbours<T, D, kSeen, Tuple>;
  using Vector = std::array<T, D>;

  // Reads the start file once, to count its bodies, their extent and the fastest. Throws Error: a
  // parameter out of its range, no bodies, a broken line, a body outside of the world or faster
  // than the limit, a world that goes round and is less than three cutoffs wide.
  explicit NBody(NBodyOptions options);

  [[nodiscard]] const NBodyOptions& options() const noexcept { return o_; }
  // Speed at most, length a unit of time.
  [[nodiscard]] double speed_limit() const noexcept { return o_.speed_limit; }
  [[nodiscard]] World world() const { return world_; }
  [[nodiscard]] std::array<T, kSeen> seen(const Tuple& body) const noexcept { return {body.mass}; }
  // Keeps only the wanted bodies of the file.
  void start(const tick::points::Wanted<T, D>& wanted, std::vector<Tuple>& out) const;
  template <class F>
  void sample(const F& add) const {
    sample_positions([&](const Vector& position) { add(position); });
  }
  [[nodiscard]] std::uint64_t expected_tuples() const noexcept { return n_; }
  // Calls f(body) for part `index` of `count` of the start: over all parts, each body once.
  void for_each_start(std::uint32_t index, std::uint32_t count,
                      const std::function<void(const Tuple&)>& f) const;

  // Sums over those in sight, to be scaled: the pull at a unit of mass, and what it weighs on the
  // potential.
  struct Influence {
    Vector pull{};
    T potential = 0;
  };
  [[nodiscard]] Influence interact(const Tuple& body, const Near& near,
                                   tick::Tick t) const noexcept;
  // Throws Error for a body that is faster than the limit, or not at a number.
  void finish(const tick::points::Batch<Tuple, Influence>& batch, tick::Tick t,
              tick::points::Offspring<Tuple>& out) const;

  [[nodiscard]] std::vector<tick::OutputColumn> output_columns() const;
  [[nodiscard]] tick::PictureStyle picture_style() const;
  void output_row(const Tuple& body, tick::OutputRows& rows) const {
    for (const T v : body.velocity)
      rows.add(v);
    rows.add(body.mass).add(body.potential);
  }

 private:
  using Line = tick::points::Lanes<T>;
  struct Sixteen;

  void size_generated_world();
  void scan_start_file();
  void check_torus() const;
  void limit_speed(double fastest);
  void sample_positions(const std::function<void(const Vector&)>& add) const;
  [[nodiscard]] Tuple generated(std::uint64_t id) const noexcept;
  [[nodiscard]] Tuple gathering(std::uint64_t id) const noexcept;
  [[nodiscard]] double fastest_generated() const noexcept;
  void refuse_fast(const Sixteen& now, std::size_t n, tick::Tick t) const;
  void drift(Line& x, Line& v, std::size_t d) const noexcept;

  NBodyOptions o_;
  World world_;
  std::uint64_t n_ = 0;
  double cluster_radius_ = 0;
  // In the numbers of the step.
  T softening2_ = 0;
  T edge_ = 0;        // a
  T inverse_r2_ = 0;  // 1 / r^2
  T gravity_ = 0;
  T depth_scale_ = 0;  // -G / (3 r^4), halved: a pair's potential is shared
  T dt_ = 0;
  T limit2_ = 0;  // the speed limit squared
};

template <class T, int D>
inline typename NBody<T, D>::Influence NBody<T, D>::interact(const Tuple& /*body*/,
                                                             const Near& near,
                                                             tick::Tick /*t*/) const noexcept {
  using tick::points::all;
  using tick::points::sum;
  const Line one = all(T{1});
  const Line softening2 = all(softening2_);
  const Line edge = all(edge_);
  const Line edge3 = all(3 * edge_);
  const Line inverse_r2 = all(inverse_r2_);
  std::array<Line, D> pull{};
  Line potential{};
  for (std::size_t b = 0; b < near.size(); b += tick::points::kLanes) {
    std::array<Line, D> to;
    Line p2 = softening2;
    for (std::size_t d = 0; d < D; ++d) {
      to[d] = near.offset(d, b);
      p2 += to[d] * to[d];
    }
    const Line p = tick::points::sqrt(p2);
    const Line inverse = one / p;
    const Line gap = edge - p;
    const Line fade = gap * (edge + p) * inverse_r2;  // 1 - d^2 / r^2
    // Behind the last neighbour the mass is 0.
    const Line mass = near.seen(0, b) * inverse;
    potential += mass * (gap * gap) * (gap * (p + edge3));
    const Line force = mass * (inverse * inverse) * (fade * fade);
    for (std::size_t d = 0; d < D; ++d)
      pull[d] += force * to[d];
  }
  Influence influence;
  for (std::size_t d = 0; d < D; ++d)
    influence.pull[d] = sum<T>(pull[d]);
  influence.potential = sum<T>(potential);
  return influence;
}

extern template class NBody<float, 2>;
extern template class NBody<float, 3>;
extern template class NBody<double, 2>;
extern template class NBody<double, 3>;

}  // namespace rubato::models

#pragma once
// fish: a school in which few know the way, after Couzin, Krause, Franks and Levin, "Effective
// leadership and decision-making in animal groups on the move", Nature 433 (2005), the running
// example of [Ticks 2].
//
// Each tick a fish looks at all others within rho:
//   - if some are closer than alpha it turns away from them, and heeds nothing else:
//       d = - sum of the unit vectors to those;
//   - else it is attracted and aligns: d = sum of the unit vectors to all others in sight
//       + sum of their headings and its own;
//   - an informed fish balances that with the direction g it knows: d = d/|d| + omega g;
//   - a random angle with standard deviation sigma turns d;
//   - the fish turns towards d by at most theta * dt, and swims on at speed s.
// A fish at exactly the same place has no direction to it and neither repels nor attracts.

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/output/schema.hpp"
#include "rubato/tick/points/points_store.hpp"

namespace rubato::models {

struct Fish {
  std::uint64_t id = 0;
  std::array<float, 2> position{};
  std::array<float, 2> heading{};  // of length 1
  std::uint32_t informed = 0;      // 1: knows the direction
  float omega = 0;                 // weight of what it knows; 0 if it knows nothing

  bool operator==(const Fish&) const = default;
};

enum class FishNoise { gaussian, uniform };

struct FishOptions {
  std::uint64_t n = 10'000;  // generated fish; not read if there is a start file
  std::uint64_t seed = 1;    // of the start and of the noise
  std::string start;         // CSV: id,x,y,vx,vy[,informed]; "" generates
  double width = 0;          // of the world; 0: as wide as `neighbours` or the file asks for
  double height = 0;         // 0: the width; with a file as high as it asks for
  double neighbours = 16;    // of a generated fish within rho, on average
  bool periodic = true;      // else the fish turn round at the edge
  double alpha = 1;          // zone of repulsion
  double rho = 6;            // zone of attraction and alignment
  double speed = 1;          // s, length a unit of time
  double theta = 2;          // turning, radians a unit of time
  double dt = 0.2;           // time a tick
  double sigma = 0.01;       // standard deviation of the noise, radians
  FishNoise noise = FishNoise::gaussian;
  double informed = 0.1;  // share of generated fish that know the direction
  double omega = 0.5;     // weight of the direction
  double direction = 0;   // the known direction, radians from the x axis
};

// Both of an angle in radians, by polynomials: the C library's differ between machines.
struct SineCosine {
  float sine;
  float cosine;
};
[[nodiscard]] SineCosine sine_cosine(float angle) noexcept;

class FishModel {
 public:
  using Tuple = Fish;
  using Scalar = float;
  static constexpr int kDimensions = 2;
  static constexpr std::size_t kSeen = 2;  // the heading
  using World = tick::points::World<float, 2>;
  using Near = tick::points::Neighbours<float, 2, kSeen, Fish>;

  // Reads the start file once, to count its fish and to find its extent. Throws Error: a parameter
  // out of its range, no fish, a broken line, a fish outside of the world or without a direction.
  explicit FishModel(FishOptions options);

  [[nodiscard]] const FishOptions& options() const noexcept { return o_; }
  [[nodiscard]] World world() const { return world_; }
  [[nodiscard]] std::array<float, kSeen> seen(const Fish& fish) const noexcept {
    return fish.heading;
  }
  // Keeps only the wanted fish of the file.
  void start(const tick::points::Wanted<float, 2>& wanted, std::vector<Fish>& out) const;
  template <class F>
  void sample(const F& add) const {
    sample_positions([&](const std::array<float, 2>& position) { add(position); });
  }
  [[nodiscard]] std::uint64_t expected_tuples() const noexcept { return n_; }

  void step(const Fish& fish, const Near& near, tick::Tick t,
            tick::points::Offspring<Fish>& out) const {
    out.survive(swim(fish, turn(fish.heading, wish(fish, near, t))));
  }

  // The angle that noise turns a fish by at tick t: radians, mean 0, standard deviation sigma.
  [[nodiscard]] float noise_angle(std::uint64_t id, tick::Tick t) const noexcept;

  [[nodiscard]] std::vector<tick::OutputColumn> output_columns() const;
  void output_row(const Fish& fish, tick::OutputRows& rows) const {
    rows.add(fish.heading[0] * speed_).add(fish.heading[1] * speed_);
    rows.add(std::uint64_t{fish.informed});
  }

 private:
  using Vector = std::array<float, 2>;

  void check_options() const;
  void scan_start_file();
  void sample_positions(const std::function<void(const Vector&)>& add) const;
  [[nodiscard]] Fish generated(std::uint64_t id) const noexcept;

  [[nodiscard]] Vector social(const Fish& fish, const Near& near) const noexcept;
  [[nodiscard]] Vector wish(const Fish& fish, const Near& near, tick::Tick t) const noexcept;
  [[nodiscard]] Vector turn(const Vector& heading, const Vector& wish) const noexcept;
  [[nodiscard]] Fish swim(const Fish& fish, const Vector& heading) const noexcept;

  FishOptions o_;
  World world_;
  std::uint64_t n_ = 0;
  float alpha2_ = 0;
  float speed_ = 0;
  float way_ = 0;  // in a tick
  float noise_scale_ = 0;
  bool free_turn_ = false;  // theta * dt >= pi
  SineCosine turn_most_{};
  Vector known_{};  // g
};

namespace detail {

// `v` at length 1, or `otherwise` if it has no direction.
[[nodiscard]] inline std::array<float, 2> unit_vector(
    const std::array<float, 2>& v, const std::array<float, 2>& otherwise) noexcept {
  const float length2 = v[0] * v[0] + v[1] * v[1];
  if (!(length2 > 1e-20F)) return otherwise;
  const float inverse = 1 / std::sqrt(length2);
  return {v[0] * inverse, v[1] * inverse};
}

// A vector that has length 1 but for rounding, brought nearer to it: one step of Newton's method.
[[nodiscard]] inline std::array<float, 2> touched_up(const std::array<float, 2>& v) noexcept {
  const float scale = 1.5F - 0.5F * (v[0] * v[0] + v[1] * v[1]);
  return {v[0] * scale, v[1] * scale};
}

[[nodiscard]] inline std::array<float, 2> rotated(const std::array<float, 2>& v,
                                                  const SineCosine& by) noexcept {
  return {v[0] * by.cosine - v[1] * by.sine, v[0] * by.sine + v[1] * by.cosine};
}

}  // namespace detail

inline SineCosine sine_cosine(float angle) noexcept {
  // Quarter turns, and the rest in [-pi/4, pi/4].
  const float quarters = std::nearbyint(angle * 0.636619772F);
  const float x = (angle - quarters * 1.5703125F) - quarters * 4.83826794e-4F;
  const float x2 = x * x;
  const float s = x + x * x2 * (-1.0F / 6 + x2 * (1.0F / 120 - x2 * (1.0F / 5040)));
  const float c = 1 - x2 * (0.5F - x2 * (1.0F / 24 - x2 * (1.0F / 720 - x2 * (1.0F / 40320))));
  switch (static_cast<int>(quarters) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

inline float FishModel::noise_angle(std::uint64_t id, tick::Tick t) const noexcept {
  const auto words = random_words(o_.seed, id, static_cast<std::uint64_t>(t));
  if (o_.noise == FishNoise::uniform) {
    return (unit_float(words[0]) - 0.5F) * noise_scale_;
  }
  // The sum of twelve uniform numbers of 10 bits: to four digits a Gaussian up to 3 sigma, and
  // nothing beyond 6; whole numbers, so it is the same on every machine.
  std::uint32_t sum = 0;
  for (const std::uint32_t word : words)
    sum += (word & 1023) + (word >> 10 & 1023) + (word >> 20 & 1023);
  return (static_cast<float>(sum) - 6138.0F) * noise_scale_;
}

// The direction that the others ask for, not of length 1.
inline FishModel::Vector FishModel::social(const Fish& fish, const Near& near) const noexcept {
  using tick::points::all;
  using tick::points::Lanes;
  using tick::points::sum;
  using Line = Lanes<float>;
  const Line zero{};
  const Line one = all(1.0F);
  const Line alpha2 = all(alpha2_);
  Line away_x{};
  Line away_y{};
  Line with_x{};
  Line with_y{};
  auto too_close = zero != zero;
  for (std::size_t b = 0; b < near.size(); b += tick::points::kLanes) {
    const Line dx = near.offset(0, b);
    const Line dy = near.offset(1, b);
    const Line distance2 = dx * dx + dy * dy;
    // Zeros behind the last neighbour, and fish at the same place, have no direction.
    const Line inverse = distance2 > zero ? one / tick::points::sqrt(distance2) : zero;
    const Line to_x = dx * inverse;
    const Line to_y = dy * inverse;
    const auto close = (distance2 < alpha2) & (distance2 > zero);
    away_x -= close ? to_x : zero;
    away_y -= close ? to_y : zero;
    with_x += to_x + near.seen(0, b);
    with_y += to_y + near.seen(1, b);
    too_close |= close;
  }
  if (tick::points::any(too_close)) return {sum<float>(away_x), sum<float>(away_y)};
  return {sum<float>(with_x) + fish.heading[0], sum<float>(with_y) + fish.heading[1]};
}

inline FishModel::Vector FishModel::wish(const Fish& fish, const Near& near,
                                         tick::Tick t) const noexcept {
  Vector d = detail::unit_vector(social(fish, near), fish.heading);
  if (fish.omega != 0) {
    d = detail::unit_vector({d[0] + fish.omega * known_[0], d[1] + fish.omega * known_[1]}, d);
  }
  return detail::rotated(d, sine_cosine(noise_angle(fish.id, t)));
}

// Towards the wish, by at most theta * dt.
inline FishModel::Vector FishModel::turn(const Vector& heading, const Vector& wish) const noexcept {
  const float cosine = heading[0] * wish[0] + heading[1] * wish[1];
  if (free_turn_ || cosine >= turn_most_.cosine) return detail::touched_up(wish);
  const float cross = heading[0] * wish[1] - heading[1] * wish[0];
  const float sine = cross < 0 ? -turn_most_.sine : turn_most_.sine;
  return detail::touched_up(detail::rotated(heading, {sine, turn_most_.cosine}));
}

inline Fish FishModel::swim(const Fish& fish, const Vector& heading) const noexcept {
  Fish next = fish;
  next.heading = heading;
  for (std::size_t d = 0; d < 2; ++d) {
    const float x = fish.position[d] + heading[d] * way_;
    next.position[d] = o_.periodic ? world_.wrapped(x, d) : world_.reflected(x, next.heading[d], d);
  }
  return next;
}

}  // namespace rubato::models

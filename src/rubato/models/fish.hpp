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

  // The direction that the others ask for, not of length 1.
  using Influence = std::array<float, 2>;
  [[nodiscard]] Influence interact(const Fish& fish, const Near& near, tick::Tick t) const noexcept;
  // What the fish make of it: sixteen at a time, since square roots, divisions and random numbers
  // of one fish after the other would take longer than looking around.
  void finish(const tick::points::Batch<Fish, Influence>& batch, tick::Tick t,
              tick::points::Offspring<Fish>& out) const;

  [[nodiscard]] std::vector<tick::OutputColumn> output_columns() const;
  [[nodiscard]] tick::PictureStyle picture_style() const;
  void output_row(const Fish& fish, tick::OutputRows& rows) const {
    rows.add(fish.heading[0] * speed_).add(fish.heading[1] * speed_);
    rows.add(std::uint64_t{fish.informed});
  }

 private:
  using Vector = std::array<float, 2>;

  void check_options() const;
  void check_torus() const;
  void scan_start_file();
  void refuse_twins() const;
  void sample_positions(const std::function<void(const Vector&)>& add) const;
  [[nodiscard]] Fish generated(std::uint64_t id) const noexcept;
  [[nodiscard]] static Vector cosine_sine(double angle) noexcept;

  using Line = tick::points::Lanes<float>;
  struct Lines {  // vectors, a lane each
    Line x;
    Line y;
  };
  struct Sixteen;

  [[nodiscard]] static Lines unit_vectors(const Lines& v, const Lines& otherwise) noexcept;
  [[nodiscard]] static Lines rotated(const Lines& v, const Line& sine, const Line& cosine) noexcept;
  [[nodiscard]] static Lines sines_cosines(const Line& angle) noexcept;
  [[nodiscard]] Line noise_angles(const Sixteen& fish, tick::Tick t) const noexcept;
  [[nodiscard]] Lines wishes(const Sixteen& fish, tick::Tick t) const noexcept;
  [[nodiscard]] Lines turned(const Sixteen& fish, const Lines& wish) const noexcept;
  void swim(Line& x, Line& heading, std::size_t d) const noexcept;

  FishOptions o_;
  World world_;
  std::uint64_t n_ = 0;
  float alpha2_ = 0;
  float speed_ = 0;
  float way_ = 0;  // in a tick
  float noise_scale_ = 0;
  bool free_turn_ = false;  // theta * dt >= pi
  Vector turn_most_{};      // cosine and sine of theta * dt
  Vector known_{};          // g
};

inline FishModel::Influence FishModel::interact(const Fish& fish, const Near& near,
                                                tick::Tick /*t*/) const noexcept {
  using tick::points::all;
  using tick::points::sum;
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

}  // namespace rubato::models

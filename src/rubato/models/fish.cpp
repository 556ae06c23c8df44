#include "rubato/models/fish.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "rubato/io/csv.hpp"

namespace rubato::models {
namespace {

constexpr double kPi = 3.141592653589793;

void expect_within(const char* name, double found, double low, double high) {
  if (std::isfinite(found) && found >= low && found <= high) return;
  throw Error(std::string("fish: ") + name + " is " + std::to_string(found) +
                  ", expected a number from " + std::to_string(low) + " to " + std::to_string(high),
              ExitCode::usage);
}

// Rows of a start file as fish.
class StartFile {
 public:
  StartFile(const std::string& path, double omega)
      : in_(path),
        id_(in_.column("id")),
        x_(in_.column("x")),
        y_(in_.column("y")),
        vx_(in_.column("vx")),
        vy_(in_.column("vy")),
        informed_(in_.find_column("informed")),
        omega_(static_cast<float>(omega)) {
    const std::vector<std::string> known{"id", "x", "y", "vx", "vy", "informed"};
    in_.refuse_columns_except(known);
  }

  [[nodiscard]] bool next(Fish& fish) {
    if (!in_.next_row()) return false;
    fish.id = in_.get<std::uint64_t>(id_);
    fish.position = {in_.get<float>(x_), in_.get<float>(y_)};
    const std::array<float, 2> velocity{in_.get<float>(vx_), in_.get<float>(vy_)};
    if (!(velocity[0] * velocity[0] + velocity[1] * velocity[1] > 1e-20F)) {
      throw in_.error(vx_, "vx and vy that are not both 0, since they say where the fish swims");
    }
    fish.heading = detail::unit_vector(velocity, velocity);
    fish.informed = 0;
    if (informed_) {
      const auto informed = in_.get_or<std::uint32_t>(*informed_, 0);
      if (informed > 1) throw in_.error(*informed_, "0 or 1");
      fish.informed = informed;
    }
    fish.omega = fish.informed != 0 ? omega_ : 0;
    return true;
  }
  void expect_inside(const Fish& fish, const FishModel::World& world) const {
    for (std::size_t d = 0; d < 2; ++d) {
      if (fish.position[d] >= world.box.low[d] && fish.position[d] < world.box.high[d]) continue;
      throw in_.error(d == 0 ? x_ : y_, "a position in [" + std::to_string(world.box.low[d]) +
                                            ", " + std::to_string(world.box.high[d]) + ")");
    }
  }

 private:
  io::CsvReader in_;
  std::size_t id_;
  std::size_t x_;
  std::size_t y_;
  std::size_t vx_;
  std::size_t vy_;
  std::optional<std::size_t> informed_;
  float omega_;
};

}  // namespace

FishModel::FishModel(FishOptions options) : o_(std::move(options)), n_(o_.n) {
  check_options();
  world_.visibility = static_cast<float>(o_.rho);
  way_ = static_cast<float>(o_.speed * o_.dt);
  world_.reachability = way_;
  world_.periodic = {o_.periodic, o_.periodic};
  if (o_.start.empty()) {
    const double n_sights = static_cast<double>(n_) / o_.neighbours;
    const double width = o_.width > 0 ? o_.width : std::sqrt(n_sights * kPi) * o_.rho;
    world_.box.high = {static_cast<float>(width),
                       static_cast<float>(o_.height > 0 ? o_.height : width)};
  } else {
    scan_start_file();
  }
  alpha2_ = static_cast<float>(o_.alpha * o_.alpha);
  speed_ = static_cast<float>(o_.speed);
  // Gaussian: the twelve numbers together have a standard deviation of 1024; uniform: of 12^-1/2.
  noise_scale_ = static_cast<float>(o_.noise == FishNoise::gaussian ? o_.sigma / 1024
                                                                    : o_.sigma * std::sqrt(12.0));
  free_turn_ = o_.theta * o_.dt >= kPi;
  turn_most_ = sine_cosine(static_cast<float>(std::min(o_.theta * o_.dt, kPi)));
  const SineCosine known = sine_cosine(static_cast<float>(o_.direction));
  known_ = {known.cosine, known.sine};
}

void FishModel::check_options() const {
  if (o_.n == 0 && o_.start.empty()) {
    throw Error("fish: there are 0 fish, expected at least 1", ExitCode::usage);
  }
  constexpr double kMost = 1e9;
  expect_within("rho", o_.rho, 1e-6, kMost);
  expect_within("alpha", o_.alpha, 0, o_.rho);
  expect_within("speed", o_.speed, 0, kMost);
  expect_within("dt", o_.dt, 0, kMost);
  expect_within("theta", o_.theta, 0, kMost);
  expect_within("sigma", o_.sigma, 0, 100);
  expect_within("omega", o_.omega, 0, kMost);
  expect_within("informed", o_.informed, 0, 1);
  expect_within("direction", o_.direction, -100, 100);
  expect_within("neighbours", o_.neighbours, 1e-6, 1e6);
  expect_within("width", o_.width, 0, kMost);
  expect_within("height", o_.height, 0, kMost);
}

void FishModel::scan_start_file() {
  n_ = 0;
  StartFile file(o_.start, o_.omega);
  Vector low{INFINITY, INFINITY};
  Vector high{-INFINITY, -INFINITY};
  const bool given = o_.width > 0;
  if (given) {
    world_.box.high = {static_cast<float>(o_.width),
                       static_cast<float>(o_.height > 0 ? o_.height : o_.width)};
  } else if (o_.periodic) {
    throw Error(
        "fish: a start file in a periodic world needs its width and height; give them, or "
        "let the fish turn round at the edge",
        ExitCode::usage);
  }
  for (Fish fish; file.next(fish); ++n_) {
    if (given) file.expect_inside(fish, world_);
    for (std::size_t d = 0; d < 2; ++d) {
      low[d] = std::min(low[d], fish.position[d]);
      high[d] = std::max(high[d], fish.position[d]);
    }
  }
  if (n_ == 0) throw Error(o_.start + ": there are 0 fish, expected at least 1");
  if (given) return;
  // Some room around all of them.
  for (std::size_t d = 0; d < 2; ++d) {
    world_.box.low[d] = std::floor(low[d] - world_.visibility);
    world_.box.high[d] = std::ceil(high[d] + world_.visibility) + 1;
  }
}

// Where and how a generated fish starts: a function of seed and id alone.
Fish FishModel::generated(std::uint64_t id) const noexcept {
  const auto words = random_words(o_.seed, id, ~std::uint64_t{0});
  Fish fish;
  fish.id = id;
  for (std::size_t d = 0; d < 2; ++d) {
    fish.position[d] =
        world_.wrapped(world_.box.low[d] + unit_float(words[d]) * world_.box.width(d), d);
  }
  const SineCosine heading = sine_cosine(unit_float(words[2]) * static_cast<float>(2 * kPi));
  fish.heading = detail::unit_vector({heading.cosine, heading.sine}, {1, 0});
  fish.informed = unit_float(words[3]) < static_cast<float>(o_.informed) ? 1 : 0;
  fish.omega = fish.informed != 0 ? static_cast<float>(o_.omega) : 0;
  return fish;
}

void FishModel::start(const tick::points::Wanted<float, 2>& wanted, std::vector<Fish>& out) const {
  if (!o_.start.empty()) {
    StartFile file(o_.start, o_.omega);
    for (Fish fish; file.next(fish);) {
      if (wanted.contains(fish.position)) out.push_back(fish);
    }
    return;
  }
  for (std::uint64_t id = 0; id < n_; ++id) {
    const Fish fish = generated(id);
    if (wanted.contains(fish.position)) out.push_back(fish);
  }
}

void FishModel::sample_positions(const std::function<void(const Vector&)>& add) const {
  if (!o_.start.empty()) {
    StartFile file(o_.start, o_.omega);
    for (Fish fish; file.next(fish);)
      add(fish.position);
    return;
  }
  constexpr std::uint64_t kEnough = 200'000;
  const std::uint64_t stride = n_ / kEnough + 1;
  for (std::uint64_t id = 0; id < n_; id += stride)
    add(generated(id).position);
}

std::vector<tick::OutputColumn> FishModel::output_columns() const {
  return {{"vx", tick::ColumnType::f32, tick::ColumnUse::heading_x},
          {"vy", tick::ColumnType::f32, tick::ColumnUse::heading_y},
          {"informed", tick::ColumnType::u64, tick::ColumnUse::marked}};
}

}  // namespace rubato::models

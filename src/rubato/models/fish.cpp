#include "rubato/models/fish.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "rubato/io/csv.hpp"
#include "rubato/io/number.hpp"
#include "rubato/tick/points/random_lanes.hpp"

namespace rubato::models {
namespace {

constexpr double kPi = 3.141592653589793;

void expect_within(const char* name, double found, double low, double high) {
  if (std::isfinite(found) && found >= low && found <= high) return;
  throw Error(std::string("fish: ") + name + " is " + io::number_text(found) +
                  ", expected a number from " + io::number_text(low) + " to " +
                  io::number_text(high),
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
    const float inverse = 1 / std::sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1]);
    fish.heading = {velocity[0] * inverse, velocity[1] * inverse};
    fish.informed = 0;
    if (informed_) {
      const auto informed = in_.get_or<std::uint32_t>(*informed_, 0);
      if (informed > 1) throw in_.error(*informed_, "0 or 1");
      fish.informed = informed;
    }
    fish.omega = fish.informed != 0 ? omega_ : 0;
    return true;
  }
  // About the row read last: an earlier one has its id.
  [[nodiscard]] Error twin() const { return in_.error(id_, "an id of its own"); }
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
  if (o_.periodic) check_torus();
  alpha2_ = static_cast<float>(o_.alpha * o_.alpha);
  speed_ = static_cast<float>(o_.speed);
  // Gaussian: the twelve numbers together have a standard deviation of 1024; uniform: of 12^-1/2.
  noise_scale_ = static_cast<float>(o_.noise == FishNoise::gaussian ? o_.sigma / 1024
                                                                    : o_.sigma * std::sqrt(12.0));
  free_turn_ = o_.theta * o_.dt >= kPi;
  turn_most_ = cosine_sine(std::min(o_.theta * o_.dt, kPi));
  known_ = cosine_sine(o_.direction);
}

void FishModel::check_options() const {
  if (o_.n == 0 && o_.start.empty()) {
    throw Error("fish: there are 0 fish, expected at least 1", ExitCode::usage);
  }
  constexpr std::uint64_t kFishMost = 10'000'000'000;  // some 320 GB
  if (o_.n > kFishMost) {
    throw Error("fish: there are " + std::to_string(o_.n) + " fish, expected at most " +
                    std::to_string(kFishMost),
                ExitCode::usage);
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

// A fish must not be seen from two sides, so a torus is three sights wide at least.
void FishModel::check_torus() const {
  const auto& box = world_.box;
  const double most = double{std::max(box.high[0], box.high[1])};
  const double least = tick::points::Lattice<float, 2>::periodic_least(world_.visibility, most);
  const bool generated_size = o_.start.empty() && o_.width == 0;
  for (std::size_t d = 0; d < 2; ++d) {
    const double width = double{box.width(d)};
    if (width >= least) continue;
    // Rounded up to three digits.
    const double scale = std::pow(10, 2 - std::floor(std::log10(least)));
    const std::string enough = io::number_text(std::ceil(least * scale) / scale);
    const std::string wide = io::number_text(box.width(d));
    std::string option = d == 0 || o_.height == 0 ? "--width" : "--height";
    std::string text = option;
    text += ": the world is ";
    text += wide;
    if (generated_size && (d == 0 || o_.height == 0)) {
      const double n_least = std::ceil(least * least * o_.neighbours / (kPi * o_.rho * o_.rho));
      text = "--fish: the world of " + std::to_string(n_) + " fish that see " +
             io::number_text(o_.neighbours) + " others (--neighbours) is " + wide;
      option = "--fish " + io::number_text(n_least) + " or more, --width";
    }
    text += " wide and goes round, so that it has to be 3 * rho wide (--rho " +
            io::number_text(o_.rho) + "), or a fish would be seen from two sides; expected ";
    text += option;
    text += " " + enough + " or more, or --reflecting";
    throw Error(text, ExitCode::usage);
  }
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
  std::uint64_t id_before = 0;
  bool ascending = true;
  for (Fish fish; file.next(fish); ++n_) {
    ascending &= n_ == 0 || fish.id > id_before;
    id_before = fish.id;
    if (given) file.expect_inside(fish, world_);
    for (std::size_t d = 0; d < 2; ++d) {
      low[d] = std::min(low[d], fish.position[d]);
      high[d] = std::max(high[d], fish.position[d]);
    }
  }
  if (n_ == 0) throw Error(o_.start + ": there are 0 fish, expected at least 1");
  if (!ascending) refuse_twins();
  if (given) return;
  // Some room around all of them.
  for (std::size_t d = 0; d < 2; ++d) {
    world_.box.low[d] = std::floor(low[d] - world_.visibility);
    world_.box.high[d] = std::ceil(high[d] + world_.visibility) + 1;
  }
}

// Throws Error with file and line if two fish of the file have one id. Of the whole file, since two
// of one id may start on two nodes: 8 bytes a fish on every node while it is read, and that only
// for a file that is not in the order of its ids, as those that we write are.
void FishModel::refuse_twins() const {
  std::vector<std::uint64_t> ids;
  ids.reserve(n_);
  StartFile all(o_.start, o_.omega);
  for (Fish each; all.next(each);)
    ids.push_back(each.id);
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return;
  StartFile file(o_.start, o_.omega);
  bool seen = false;
  for (Fish each; file.next(each);) {
    if (each.id == *twice && std::exchange(seen, true)) throw file.twin();
  }
}

// The unit vector at an angle in radians, by polynomials: the C library's differ between machines.
FishModel::Vector FishModel::cosine_sine(double angle) noexcept {
  const Lines both = sines_cosines(Line{} + static_cast<float>(angle));
  return {both.y[0], both.x[0]};
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
  fish.heading = cosine_sine(2 * kPi * double{unit_float(words[2])});
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

// Fish in lanes; behind the last one zeros.
struct FishModel::Sixteen {
  std::array<std::uint64_t, tick::points::kLanes> ids{};
  Line x{};
  Line y{};
  Lines heading{};
  Lines social{};
  Line omega{};

  Sixteen(std::span<const Fish* const> fish, std::span<const Influence> influences) noexcept {
    for (std::size_t i = 0; i < fish.size(); ++i) {
      ids[i] = fish[i]->id;
      x[i] = fish[i]->position[0];
      y[i] = fish[i]->position[1];
      heading.x[i] = fish[i]->heading[0];
      heading.y[i] = fish[i]->heading[1];
      social.x[i] = influences[i][0];
      social.y[i] = influences[i][1];
      omega[i] = fish[i]->omega;
    }
  }
};

// The vectors at length 1, or `otherwise` where they have no direction.
FishModel::Lines FishModel::unit_vectors(const Lines& v, const Lines& otherwise) noexcept {
  const Line one = tick::points::all(1.0F);
  const Line length2 = v.x * v.x + v.y * v.y;
  const auto directed = length2 > tick::points::all(1e-20F);
  const Line inverse = one / tick::points::sqrt(directed ? length2 : one);
  return {directed ? v.x * inverse : otherwise.x, directed ? v.y * inverse : otherwise.y};
}

FishModel::Lines FishModel::rotated(const Lines& v, const Line& sine, const Line& cosine) noexcept {
  return {v.x * cosine - v.y * sine, v.x * sine + v.y * cosine};
}

// Sines as x, cosines as y: Taylor polynomials on quarter turns.
FishModel::Lines FishModel::sines_cosines(const Line& angle) noexcept {
  // Adding 1.5 * 2^23 leaves no bits for fractions: it rounds to whole numbers.
  const Line quarters = (angle * 0.636619772F + 12582912.0F) - 12582912.0F;
  // pi / 2 in two parts, the first of few bits, so that its products are exact.
  const Line r = (angle - quarters * 1.5703125F) - quarters * 4.83826794e-4F;
  const Line r2 = r * r;
  const Line s = r + r * r2 * (-1.0F / 6 + r2 * (1.0F / 120 - r2 * (1.0F / 5040)));
  const Line c = 1.0F - r2 * (0.5F - r2 * (1.0F / 24 - r2 * (1.0F / 720 - r2 * (1.0F / 40320))));
  using Whole __attribute__((vector_size(sizeof(Line)))) = std::int32_t;
  const Whole quadrant = __builtin_convertvector(quarters, Whole);
  const auto odd = (quadrant & 1) != 0;
  const Line sine = odd ? c : s;
  const Line cosine = odd ? s : c;
  return {(quadrant & 2) != 0 ? -sine : sine, ((quadrant + 1) & 2) != 0 ? -cosine : cosine};
}

// Radians, mean 0, standard deviation sigma.
FishModel::Line FishModel::noise_angles(const Sixteen& fish, tick::Tick t) const noexcept {
  const auto words =
      tick::points::random_words_lanes(o_.seed, fish.ids, static_cast<std::uint64_t>(t));
  if (o_.noise == FishNoise::uniform) {
    return (__builtin_convertvector(words[0] >> 8, Line) * 0x1.0p-24F - 0.5F) * noise_scale_;
  }
  // The sum of twelve uniform numbers of 10 bits: nearly a Gaussian up to 3 sigma, and nothing
  // beyond 6; whole numbers, so it is the same on every machine.
  tick::points::WordLanes sum{};
  for (const auto& word : words)
    sum += (word & 1023) + (word >> 10 & 1023) + (word >> 20 & 1023);
  return (__builtin_convertvector(sum, Line) - 6138.0F) * noise_scale_;
}

FishModel::Lines FishModel::wishes(const Sixteen& fish, tick::Tick t) const noexcept {
  Lines d = unit_vectors(fish.social, fish.heading);
  const Lines balanced =
      unit_vectors({d.x + fish.omega * known_[0], d.y + fish.omega * known_[1]}, d);
  const auto informed = fish.omega != Line{};
  d = {informed ? balanced.x : d.x, informed ? balanced.y : d.y};
  const Lines noise = sines_cosines(noise_angles(fish, t));
  return rotated(d, noise.x, noise.y);
}

// Headings, turned towards the wishes by at most theta * dt.
FishModel::Lines FishModel::turned(const Sixteen& fish, const Lines& wish) const noexcept {
  const Lines& h = fish.heading;
  const Line sine = tick::points::all(turn_most_[1]);
  const Line cosine = tick::points::all(turn_most_[0]);
  const auto to_the_right = h.x * wish.y - h.y * wish.x < Line{};
  const Lines most = rotated(h, to_the_right ? -sine : sine, cosine);
  const auto reached = h.x * wish.x + h.y * wish.y >= (free_turn_ ? cosine - 10.0F : cosine);
  const Lines to{reached ? wish.x : most.x, reached ? wish.y : most.y};
  // They have length 1 but for rounding; a step of Newton's method keeps them from drifting.
  const Line scale = 1.5F - 0.5F * (to.x * to.x + to.y * to.y);
  return {to.x * scale, to.y * scale};
}

// One coordinate of sixteen fish, a tick on; those that reach an edge wrap or turn round.
void FishModel::swim(Line& x, Line& heading, std::size_t d) const noexcept {
  const Line low = tick::points::all(world_.box.low[d]);
  const Line high = tick::points::all(world_.box.high[d]);
  x = x + heading * way_;
  if (o_.periodic) {
    const Line width = high - low;
    x = x < low ? x + width : x;
    x = x >= high ? x - width : x;
    // Rounding may have put it on the upper edge, which is the lower one.
    x = (x < low) | (x >= high) ? low : x;
    return;
  }
  const auto below = x < low;
  const auto above = x > high;
  const Line speed = heading < Line{} ? -heading : heading;
  x = below ? low + (low - x) : above ? high - (x - high) : x;
  heading = below ? speed : above ? -speed : heading;
  x = x < low ? low : x > high ? high : x;
}

void FishModel::finish(const tick::points::Batch<Fish, Influence>& batch, tick::Tick t,
                       tick::points::Offspring<Fish>& out) const {
  for (std::size_t first = 0; first < batch.tuples.size(); first += tick::points::kLanes) {
    const std::size_t n = std::min(tick::points::kLanes, batch.tuples.size() - first);
    const auto fish = batch.tuples.subspan(first, n);
    Sixteen now(fish, batch.influences.subspan(first, n));
    Lines heading = turned(now, wishes(now, t));
    swim(now.x, heading.x, 0);
    swim(now.y, heading.y, 1);
    for (std::size_t i = 0; i < n; ++i) {
      Fish next = *fish[i];
      next.position = {now.x[i], now.y[i]};
      next.heading = {heading.x[i], heading.y[i]};
      out.begin(next.id, t);
      out.survive(next);
    }
  }
}

std::vector<tick::OutputColumn> FishModel::output_columns() const {
  return {{"vx", tick::ColumnType::f32, tick::ColumnUse::heading_x},
          {"vy", tick::ColumnType::f32, tick::ColumnUse::heading_y},
          {"informed", tick::ColumnType::u64, tick::ColumnUse::marked}};
}

tick::PictureStyle FishModel::picture_style() const {
  tick::PictureStyle style;
  style.title = "A school of fish";
  style.tuples = "fish";
  style.kinds = {
      {"informed", {"informed fish: they know the way", {255, 255, 255}, io::Mark::arrow}}};
  return style;
}

}  // namespace rubato::models

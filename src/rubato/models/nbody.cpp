#include "rubato/models/nbody.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rubato/base/random.hpp"
#include "rubato/io/number.hpp"
#include "rubato/models/nbody_start.hpp"

namespace rubato::models {
namespace {

constexpr double kPi = 3.141592653589793;

// The random numbers of a start.
constexpr std::uint64_t kPlace = 0;
constexpr std::uint64_t kVelocity = 1;
constexpr std::uint64_t kClusterPlace = 2;
constexpr std::uint64_t kClusterVelocity = 3;

// Coordinate d of point i of Sobol's sequence, in the middle of its interval: each aligned stretch of
// 2^k points falls evenly into all halves, quarters and so on of a square (nearly so of a cube).
double sobol(std::size_t d, std::uint64_t i) noexcept {
  std::array<std::uint32_t, 32> direction{};
  for (std::size_t k = 0; k < direction.size(); ++k) {
    const std::uint32_t one = std::uint32_t{1} << (31 - k);
    if (d == 0 || k == 0) {
      direction[k] = one;
    } else if (d == 1) {  // of x + 1
      direction[k] = direction[k - 1] ^ direction[k - 1] >> 1;
    } else {  // of x^2 + x + 1
      direction[k] = k == 1 ? std::uint32_t{3} << 30
                            : direction[k - 1] ^ direction[k - 2] ^ direction[k - 2] >> 2;
    }
  }
  std::uint32_t point = 0;
  for (std::size_t k = 0; k < direction.size(); ++k) {
    if ((i >> k & 1) != 0) point ^= direction[k];
  }
  return (static_cast<double>(point) + 0.5) * 0x1p-32;
}

void expect_within(const char* name, double found, double low, double high) {
  if (std::isfinite(found) && found >= low && found <= high) return;
  throw Error(std::string("nbody: ") + name + " is " + io::number_text(found) +
                  ", expected a number from " + io::number_text(low) + " to " +
                  io::number_text(high),
              ExitCode::usage);
}

// By Newton's method: the C library's differ between machines. REQUIRES: x > 0.
double cube_root(double x) noexcept {
  double root = std::ldexp(1.0, std::ilogb(x) / 3);
  for (int i = 0; i < 12; ++i)
    root = (2 * root + x / (root * root)) / 3;
  return root;
}

// The radius of a disc or ball of that size.
template <int D>
double radius_of(double size) noexcept {
  return D == 2 ? std::sqrt(size / kPi) : cube_root(size * 0.75 / kPi);
}

}  // namespace

void check_nbody_options(const NBodyOptions& o, int dimensions) {
  constexpr std::uint64_t kBodiesMost = 10'000'000'000;  // some 400 GB
  constexpr double kMost = 1e9;
  if (o.start.empty() && (o.n == 0 || o.n > kBodiesMost)) {
    throw Error("nbody: there are " + std::to_string(o.n) + " bodies, expected 1 to " +
                    std::to_string(kBodiesMost),
                ExitCode::usage);
  }
  if (o.clusters > 1'000'000) {
    throw Error("nbody: there are " + std::to_string(o.clusters) +
                    " clusters, expected at most 1000000; 0: none",
                ExitCode::usage);
  }
  if (o.staggered && o.start.empty()) {
    throw Error(
        "nbody: --staggered says that a start file's velocities are half a tick old; "
        "expected --start FILE with it",
        ExitCode::usage);
  }
  if (o.depth != 0 && dimensions == 2) {
    throw Error("nbody: --depth is of a world with --dimensions 3, found 2", ExitCode::usage);
  }
  expect_within("radius", o.radius, 1e-6, 1e6);
  expect_within("softening", o.softening, o.radius * 1e-3, o.radius * 1e3);
  expect_within("gravity", o.gravity, -kMost, kMost);
  expect_within("dt", o.dt, 1e-9, kMost);
  expect_within("speed", o.speed, 0, kMost);
  expect_within("speed limit", o.speed_limit, 0, kMost);
  expect_within("drift", o.drift, 0, kMost);
  expect_within("cover", o.cover, 1e-6, 1);
  expect_within("clustered", o.clustered, 0, 1);
  expect_within("rush", o.rush, 0, kMost);
  const double n_gathered = static_cast<double>(o.gatherings) * static_cast<double>(o.groups) *
                            static_cast<double>(o.gathered);
  if (n_gathered > static_cast<double>(kBodiesMost) || o.groups == 0 || o.gathered == 0) {
    throw Error("nbody: there are " + std::to_string(o.gatherings) + " gatherings of " +
                    std::to_string(o.groups) + " groups of " + std::to_string(o.gathered) +
                    " bodies, expected at least one group and body, and at most " +
                    std::to_string(kBodiesMost) + " bodies in all",
                ExitCode::usage);
  }
  if (o.gatherings > 0 && (!o.periodic || !o.start.empty())) {
    throw Error(
        "nbody: --gatherings are of generated bodies in a world that goes round; expected "
        "no --start and no --reflecting",
        ExitCode::usage);
  }
  expect_within("neighbours", o.neighbours, 1e-6, 1e6);
  expect_within("width", o.width, 0, kMost);
  expect_within("height", o.height, 0, kMost);
  expect_within("depth", o.depth, 0, kMost);
}

template <class T, int D>
NBody<T, D>::NBody(NBodyOptions options) : o_(std::move(options)) {
  check_nbody_options(o_, D);
  n_ = o_.n + o_.gatherings * o_.groups * o_.gathered;
  if (o_.rush == 0) o_.rush = o_.radius / o_.dt;
  world_.visibility = static_cast<T>(o_.radius);
  world_.periodic.fill(o_.periodic);
  if (o_.start.empty()) {
    size_generated_world();
    limit_speed(fastest_generated());
  } else {
    scan_start_file();
  }
  if (o_.periodic) check_torus();
  const double r2 = o_.radius * o_.radius;
  const double e2 = o_.softening * o_.softening;
  softening2_ = static_cast<T>(e2);
  edge_ = static_cast<T>(std::sqrt(r2 + e2));
  inverse_r2_ = static_cast<T>(1 / r2);
  gravity_ = static_cast<T>(o_.gravity);
  depth_scale_ = static_cast<T>(-o_.gravity / (6 * r2 * r2));
  dt_ = static_cast<T>(o_.dt);
  limit2_ = static_cast<T>(o_.speed_limit * o_.speed_limit * (1 + 1e-6));
}

template <class T, int D>
void NBody<T, D>::size_generated_world() {
  // As many sights fit the world as there are bodies for.
  const double n_sights = static_cast<double>(n_) / o_.neighbours;
  const double usual = D == 2 ? std::sqrt(n_sights * kPi) * o_.radius
                              : cube_root(n_sights * kPi * 4 / 3) * o_.radius;
  const std::array<double, 3> given{o_.width, o_.height, o_.depth};
  double size = 1;
  double least = INFINITY;
  for (std::size_t d = 0; d < D; ++d) {
    const double width = given[d] > 0 ? given[d] : o_.width > 0 ? o_.width : usual;
    world_.box.high[d] = static_cast<T>(width);
    size *= width;
    least = std::min(least, width);
  }
  if (o_.clusters == 0) return;
  // One that were wider than the world would lie over itself.
  cluster_radius_ =
      std::min(radius_of<D>(o_.cover * size / static_cast<double>(o_.clusters)), 0.49 * least);
}

template <class T, int D>
double NBody<T, D>::fastest_generated() const noexcept {
  return std::max(o_.speed + (o_.clusters > 0 ? o_.drift : 0), o_.gatherings > 0 ? o_.rush : 0);
}

// Sets the limit if nobody has, and how far a body comes in a tick by it.
template <class T, int D>
void NBody<T, D>::limit_speed(double fastest) {
  if (o_.speed_limit == 0) {
    o_.speed_limit = std::max(4 * fastest, o_.radius / (20 * o_.dt));
  } else if (fastest > o_.speed_limit) {
    throw Error("--speed-limit: at the start bodies move at up to " + io::number_text(fastest) +
                    ", expected that or more, found " + io::number_text(o_.speed_limit),
                ExitCode::usage);
  }
  const double reach = o_.speed_limit * o_.dt;
  for (std::size_t d = 0; d < D; ++d) {
    const double width = double{world_.box.width(d)};
    if (reach <= width / 2) continue;
    throw Error("--speed-limit: at " + io::number_text(o_.speed_limit) +
                    " a body comes as far as " + io::number_text(reach) + " in a tick (--dt " +
                    io::number_text(o_.dt) + "), expected at most half of the world, which is " +
                    io::number_text(width) + " wide",
                ExitCode::usage);
  }
  world_.reachability = static_cast<T>(reach * (1 + 1e-5));
}

// A body must not be seen from two sides, so a torus is three sights wide at least.
template <class T, int D>
void NBody<T, D>::check_torus() const {
  static constexpr std::array kOptions{"--width", "--height", "--depth"};
  const std::array<double, 3> given{o_.width, o_.height, o_.depth};
  double most = 0;
  for (std::size_t d = 0; d < D; ++d)
    most = std::max(most, double{world_.box.width(d)});
  const double least = tick::points::Lattice<T, D>::periodic_least(world_.visibility, most);
  for (std::size_t d = 0; d < D; ++d) {
    const double width = double{world_.box.width(d)};
    if (width >= least) continue;
    const std::string option = given[d] > 0 ? kOptions[d] : "--width";
    // Rounded up to three digits.
    const double scale = std::pow(10, 2 - std::floor(std::log10(least)));
    std::string text = option + ": the world is " + io::number_text(world_.box.width(d));
    text += " wide and goes round, so that it has to be 3 * radius wide (--radius ";
    text += io::number_text(o_.radius);
    text += "), or a body would be seen from two sides; expected " + option;
    text += " " + io::number_text(std::ceil(least * scale) / scale) + " or more";
    if (o_.start.empty() && o_.width == 0) text += ", more --bodies";
    throw Error(text + ", or --reflecting", ExitCode::usage);
  }
}

template <class T, int D>
void NBody<T, D>::scan_start_file() {
  NBodyFile<T, D> file(o_.start);
  const bool given = o_.width > 0;
  const std::array<double, 3> widths{o_.width, o_.height, o_.depth};
  for (std::size_t d = 0; given && d < D; ++d)
    world_.box.high[d] = static_cast<T>(widths[d] > 0 ? widths[d] : o_.width);
  if (!given && o_.periodic) {
    throw Error(
        "nbody: a start file in a world that goes round needs its --width; give it, or "
        "--reflecting",
        ExitCode::usage);
  }
  Vector low;
  Vector high;
  low.fill(static_cast<T>(INFINITY));
  high.fill(static_cast<T>(-INFINITY));
  double fastest2 = 0;
  std::uint64_t id_before = 0;
  bool ascending = true;
  n_ = 0;
  for (Tuple body; file.next(body); ++n_) {
    ascending &= n_ == 0 || body.id > id_before;
    id_before = body.id;
    if (given) file.expect_inside(body, world_);
    double speed2 = 0;
    for (std::size_t d = 0; d < D; ++d) {
      low[d] = std::min(low[d], body.position[d]);
      high[d] = std::max(high[d], body.position[d]);
      speed2 += double{body.velocity[d]} * double{body.velocity[d]};
    }
    fastest2 = std::max(fastest2, speed2);
  }
  if (n_ == 0) throw Error(o_.start + ": there are 0 bodies, expected at least 1");
  if (!ascending) refuse_nbody_twins<T, D>(o_.start);
  // Some room around all of them.
  for (std::size_t d = 0; !given && d < D; ++d) {
    world_.box.low[d] = std::floor(low[d] - world_.visibility);
    world_.box.high[d] = std::ceil(high[d] + world_.visibility) + 1;
  }
  limit_speed(std::sqrt(fastest2));
}

// Where and how a generated body starts: a function of seed and id alone.
template <class T, int D>
typename NBody<T, D>::Tuple NBody<T, D>::generated(std::uint64_t id) const noexcept {
  Tuple body;
  body.id = id;
  if (id >= o_.n) return gathering(id);
  const bool clustered =
      o_.clusters > 0 && static_cast<double>(id) < o_.clustered * static_cast<double>(o_.n);
  const std::uint64_t cluster = clustered ? id % o_.clusters : 0;
  const auto words = clustered ? random_words(o_.seed, cluster, ~(kClusterPlace << 32))
                               : random_words(o_.seed, id, ~(kPlace << 32));
  std::array<double, D> offset{};
  std::array<double, D> way{};
  double length = 1;
  if (clustered) {
    offset = random_in_ball<D>(o_.seed, id, kPlace);
    way = random_in_ball<D>(o_.seed, cluster, kClusterVelocity);
    double length2 = 0;
    for (const double w : way)
      length2 += w * w;
    length = std::sqrt(length2);
  }
  const std::array<double, D> own = random_in_ball<D>(o_.seed, id, kVelocity);
  for (std::size_t d = 0; d < D; ++d) {
    const double width = double{world_.box.width(d)};
    const double place = static_cast<double>(words[d]) * 0x1.0p-32 * width +
                         offset[d] * cluster_radius_ + double{world_.box.low[d]};
    body.velocity[d] =
        static_cast<T>(own[d] * o_.speed + (clustered ? way[d] / length * o_.drift : 0));
    body.position[d] = o_.periodic ? world_.wrapped(static_cast<T>(place), d)
                                   : world_.reflected(static_cast<T>(place), body.velocity[d], d);
  }
  return body;
}

// One of those that meet, if nothing pulls at it on its way.
template <class T, int D>
typename NBody<T, D>::Tuple NBody<T, D>::gathering(std::uint64_t id) const noexcept {
  const std::uint64_t group = (id - o_.n) / o_.gathered;
  const std::uint64_t meeting = group / o_.groups;
  // Groups of one meeting lie on a disc or in a ball some ticks wide.
  const double spread =
      o_.groups == 1 ? 0 : o_.rush * o_.dt * radius_of<D>(static_cast<double>(o_.groups) * kPi);
  const std::array<double, D> side = random_in_ball<D>(o_.seed, group, kClusterPlace);
  const std::array<double, D> own = random_in_ball<D>(o_.seed, id, kVelocity);
  const std::array<double, D> offset = random_in_ball<D>(o_.seed, id, kPlace);
  Tuple body;
  body.id = id;
  for (std::size_t d = 0; d < D; ++d) {
    const double width = double{world_.box.width(d)};
    const double place = sobol(d, meeting) * width + side[d] * spread + offset[d] * o_.radius / 2;
    const double velocity = own[d] * o_.rush;
    const double begin = (place - velocity * o_.dt * static_cast<double>(meeting + 1)) / width;
    body.velocity[d] = static_cast<T>(velocity);
    body.position[d] = world_.wrapped(
        static_cast<T>((begin - std::floor(begin)) * width + double{world_.box.low[d]}), d);
  }
  return body;
}

template <class T, int D>
void NBody<T, D>::for_each_start(std::uint32_t index, std::uint32_t count,
                                 const std::function<void(const Tuple&)>& f) const {
  if (!o_.start.empty()) {
    NBodyFile<T, D> file(o_.start, {index, count});
    for (Tuple body; file.next(body);)
      f(body);
    return;
  }
  const std::uint64_t end = n_ * (std::uint64_t{index} + 1) / count;
  for (std::uint64_t id = n_ * index / count; id < end; ++id)
    f(generated(id));
}

template <class T, int D>
void NBody<T, D>::start(const tick::points::Wanted<T, D>& wanted, std::vector<Tuple>& out) const {
  for_each_start(0, 1, [&](const Tuple& body) {
    if (wanted.contains(body.position)) out.push_back(body);
  });
}

template <class T, int D>
void NBody<T, D>::sample_positions(const std::function<void(const Vector&)>& add) const {
  if (!o_.start.empty()) {
    for_each_start(0, 1, [&](const Tuple& body) { add(body.position); });
    return;
  }
  constexpr std::uint64_t kEnough = 200'000;
  const std::uint64_t stride = n_ / kEnough + 1;
  for (std::uint64_t id = 0; id < n_; id += stride)
    add(generated(id).position);
}

// Bodies in lanes; behind the last one zeros.
template <class T, int D>
struct NBody<T, D>::Sixteen {
  std::span<const Tuple* const> bodies;
  std::array<Line, D> position{};
  std::array<Line, D> velocity{};
  std::array<Line, D> pull{};
  Line mass{};
  Line potential{};

  Sixteen(std::span<const Tuple* const> of, std::span<const Influence> influences) noexcept
      : bodies(of) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      for (std::size_t d = 0; d < D; ++d) {
        position[d][i] = bodies[i]->position[d];
        velocity[d][i] = bodies[i]->velocity[d];
        pull[d][i] = influences[i].pull[d];
      }
      mass[i] = bodies[i]->mass;
      potential[i] = influences[i].potential;
    }
  }
  [[nodiscard]] Line speed2() const noexcept {
    Line sum{};
    for (const Line& v : velocity)
      sum += v * v;
    return sum;
  }
};

// Throws Error if one of the bodies that have been kicked is too fast.
template <class T, int D>
void NBody<T, D>::refuse_fast(const Sixteen& now, std::size_t n, tick::Tick t) const {
  const Line speed2 = now.speed2();
  // What is no number is not below the limit.
  const auto slow = speed2 <= tick::points::all(limit2_);
  if (!tick::points::any(slow == 0)) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (speed2[i] <= limit2_) continue;
    throw Error("tick " + std::to_string(t + 1) + ": body " + std::to_string(now.bodies[i]->id) +
                    " moves at " + io::number_text(std::sqrt(speed2[i])) +
                    ", expected at most --speed-limit " + io::number_text(o_.speed_limit) +
                    "; a smaller --dt, more --softening or a higher limit may help",
                ExitCode::failed);
  }
}

// One coordinate of sixteen bodies, a tick on; those that reach an edge wrap or turn round.
template <class T, int D>
void NBody<T, D>::drift(Line& x, Line& v, std::size_t d) const noexcept {
  const Line low = tick::points::all(world_.box.low[d]);
  const Line high = tick::points::all(world_.box.high[d]);
  x = x + v * dt_;
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
  const Line speed = v < Line{} ? -v : v;
  x = below ? low + (low - x) : above ? high - (x - high) : x;
  v = below ? speed : above ? -speed : v;
  x = x < low ? low : x > high ? high : x;
}

template <class T, int D>
void NBody<T, D>::finish(const tick::points::Batch<Tuple, Influence>& batch, tick::Tick t,
                         tick::points::Offspring<Tuple>& out) const {
  constexpr std::size_t kLanes = tick::points::kLanes;
  const bool half = t == 0 && !o_.staggered;
  const T to_now = half ? 0 : gravity_ * dt_ / 2;
  const T kick = half ? gravity_ * dt_ / 2 : gravity_ * dt_;
  for (std::size_t first = 0; first < batch.tuples.size(); first += kLanes) {
    const std::size_t n = std::min(kLanes, batch.tuples.size() - first);
    Sixteen now(batch.tuples.subspan(first, n), batch.influences.subspan(first, n));
    Line kinetic{};
    for (std::size_t d = 0; d < D; ++d) {
      const Line v = now.velocity[d] + now.pull[d] * to_now;
      kinetic += v * v;
      now.velocity[d] += now.pull[d] * kick;
    }
    kinetic *= now.mass * T{0.5};
    const Line potential = now.potential * now.mass * depth_scale_;
    refuse_fast(now, n, t);
    for (std::size_t d = 0; d < D; ++d)
      drift(now.position[d], now.velocity[d], d);
    for (std::size_t i = 0; i < n; ++i) {
      Tuple next = *now.bodies[i];
      for (std::size_t d = 0; d < D; ++d) {
        next.position[d] = now.position[d][i];
        next.velocity[d] = now.velocity[d][i];
      }
      next.kinetic = kinetic[i];
      next.potential = potential[i];
      if (t == o_.branch) next.energy_start = kinetic[i] + potential[i];
      out.begin(next.id, t);
      out.survive(next);
    }
  }
}

template <class T, int D>
std::vector<tick::OutputColumn> NBody<T, D>::output_columns() const {
  constexpr auto kType = std::is_same_v<T, float> ? tick::ColumnType::f32 : tick::ColumnType::f64;
  std::vector<tick::OutputColumn> columns{{"vx", kType, tick::ColumnUse::heading_x},
                                          {"vy", kType, tick::ColumnUse::heading_y}};
  if (D == 3) columns.push_back({"vz", kType});
  columns.push_back({"mass", kType});
  columns.push_back({"potential", kType});
  return columns;
}

template <class T, int D>
tick::PictureStyle NBody<T, D>::picture_style() const {
  tick::PictureStyle style;
  style.title = o_.gravity < 0 ? "Bodies that push each other away" : "Bodies that attract";
  style.tuples = "bodies";
  return style;
}

template class NBody<float, 2>;
template class NBody<float, 3>;
template class NBody<double, 2>;
template class NBody<double, 3>;

}  // namespace rubato::models

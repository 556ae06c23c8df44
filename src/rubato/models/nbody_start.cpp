#include "rubato/models/nbody_start.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"

namespace rubato::models {
namespace {

io::CsvOptions csv_options(io::FilePart part) {
  io::CsvOptions options;
  options.part = part;
  return options;
}

template <int D>
std::array<std::size_t, D> columns_of(const io::CsvReader& in, const std::string& prefix) {
  static constexpr std::array kAxes{"x", "y", "z"};
  std::array<std::size_t, D> columns{};
  for (std::size_t d = 0; d < D; ++d)
    columns[d] = in.column(prefix + kAxes[d]);
  return columns;
}

}  // namespace

template <int D>
std::array<double, D> random_in_ball(std::uint64_t seed, std::uint64_t id,
                                     std::uint64_t draw) noexcept {
  // The first of the points in the cube that is in the ball: 4 of 5 are on the disc, half in 3D.
  for (std::uint64_t attempt = 0;; ++attempt) {
    const auto words = random_words(seed, id, ~(draw << 32 | attempt));
    std::array<double, D> point;
    double length2 = 0;
    for (std::size_t d = 0; d < D; ++d) {
      point[d] = (static_cast<double>(words[d]) + 0.5) * 0x1.0p-31 - 1;
      length2 += point[d] * point[d];
    }
    if (length2 <= 1) return point;
  }
}

template <class T, int D>
NBodyFile<T, D>::NBodyFile(const std::string& path, io::FilePart part)
    : in_(path, csv_options(part)),
      id_(in_.column("id")),
      position_(columns_of<D>(in_, "")),
      velocity_(columns_of<D>(in_, "v")),
      mass_(in_.find_column("mass")) {
  if (D == 2 && in_.find_column("z")) {
    throw Error(path + ": it has a column \"z\", expected --dimensions 3 with it");
  }
  // What a run has written is a start; the potential follows from the rest.
  std::vector<std::string> known{"id", "x", "y", "vx", "vy", "mass", "potential"};
  if (D == 3) known.insert(known.end(), {"z", "vz"});
  in_.refuse_columns_except(known);
}

template <class T, int D>
bool NBodyFile<T, D>::next(Body<T, D>& body) {
  if (!in_.next_row()) return false;
  body = {};
  body.id = in_.get<std::uint64_t>(id_);
  for (std::size_t d = 0; d < D; ++d) {
    body.position[d] = in_.get<T>(position_[d]);
    body.velocity[d] = in_.get<T>(velocity_[d]);
  }
  if (mass_) {
    body.mass = in_.get_or<T>(*mass_, 1);
    constexpr T kMost = 1e9;
    if (!(body.mass >= 0 && body.mass <= kMost)) {
      throw in_.error(*mass_, "a mass from 0 to 1e9");
    }
  }
  return true;
}

template <class T, int D>
void NBodyFile<T, D>::expect_inside(const Body<T, D>& body,
                                    const tick::points::World<T, D>& world) const {
  for (std::size_t d = 0; d < D; ++d) {
    if (body.position[d] >= world.box.low[d] && body.position[d] < world.box.high[d]) continue;
    throw in_.error(position_[d], "a position in [" + io::number_text(world.box.low[d]) + ", " +
                                      io::number_text(world.box.high[d]) + ")");
  }
}

template <class T, int D>
void refuse_nbody_twins(const std::string& path) {
  std::vector<std::uint64_t> ids;
  NBodyFile<T, D> all(path);
  for (Body<T, D> each; all.next(each);)
    ids.push_back(each.id);
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return;
  NBodyFile<T, D> file(path);
  bool seen = false;
  for (Body<T, D> each; file.next(each);) {
    if (each.id == *twice && std::exchange(seen, true)) throw file.twin();
  }
}

template std::array<double, 2> random_in_ball<2>(std::uint64_t, std::uint64_t,
                                                 std::uint64_t) noexcept;
template std::array<double, 3> random_in_ball<3>(std::uint64_t, std::uint64_t,
                                                 std::uint64_t) noexcept;
template class NBodyFile<float, 2>;
template class NBodyFile<float, 3>;
template class NBodyFile<double, 2>;
template class NBodyFile<double, 3>;
template void refuse_nbody_twins<float, 2>(const std::string&);
template void refuse_nbody_twins<float, 3>(const std::string&);
template void refuse_nbody_twins<double, 2>(const std::string&);
template void refuse_nbody_twins<double, 3>(const std::string&);

}  // namespace rubato::models

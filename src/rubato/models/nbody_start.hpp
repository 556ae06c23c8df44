#pragma once
// Where and how the bodies of nbody start: generated, or read from a file.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "rubato/io/csv.hpp"
#include "rubato/models/nbody.hpp"

namespace rubato::models {

// Uniform in the ball of radius 1 around 0, on the disc with D = 2; the same on every machine. A
// function of its arguments.
template <int D>
[[nodiscard]] std::array<double, D> random_in_ball(std::uint64_t seed, std::uint64_t id,
                                                   std::uint64_t draw) noexcept;

// Rows of a start file, or of a part of it, as bodies.
template <class T, int D>
class NBodyFile {
 public:
  // Throws Error if the file cannot be read or has other columns.
  explicit NBodyFile(const std::string& path, io::FilePart part = {});

  // The next body; false at the end. Throws Error with file and line for what is none.
  [[nodiscard]] bool next(Body<T, D>& body);
  // About the row read last: an earlier one has its id.
  [[nodiscard]] Error twin() const { return in_.error(id_, "an id of its own"); }
  // Throws Error with file and line if the body read last is not in `world`.
  void expect_inside(const Body<T, D>& body, const tick::points::World<T, D>& world) const;

 private:
  io::CsvReader in_;
  std::size_t id_;
  std::array<std::size_t, D> position_;
  std::array<std::size_t, D> velocity_;
  std::optional<std::size_t> mass_;
};

// Throws Error with file and line if two bodies of the file have one id. Reads it twice and holds 8
// bytes a body.
template <class T, int D>
void refuse_nbody_twins(const std::string& path);

}  // namespace rubato::models

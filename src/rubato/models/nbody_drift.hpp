#pragma once
// What a world of bodies that nobody touches keeps, at the start of a run and at its end: energy
// and momentum. Sums are exact, so the result has the same bits for every number of nodes; each
// body's part of it is of the numbers that the run itself has.

#include <array>
#include <cmath>
#include <cstdint>

#include "rubato/base/bytes.hpp"
#include "rubato/base/exact_sum.hpp"
#include "rubato/io/table.hpp"
#include "rubato/models/nbody.hpp"

namespace rubato::models {

class NBodyDrift {
 public:
  // Of a run that ended at tick `end`, in D dimensions; with NBodyOptions::branch.
  NBodyDrift(tick::Tick end, int dimensions, tick::Tick branch = 0)
      : end_(end), dimensions_(dimensions), branch_(branch) {}

  // A body as the start has it.
  template <class T, int D>
  void add_start(const Body<T, D>& body) {
    for (std::size_t d = 0; d < D; ++d)
      momentum_start_[d].add(double{body.mass} * double{body.velocity[d]});
  }
  // A body at the end of the run.
  template <class T, int D>
  void add_end(const Body<T, D>& body) {
    double speed2 = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const double v = double{body.velocity[d]};
      momentum_[d].add(double{body.mass} * v);
      speed2 += v * v;
    }
    way_.add(double{body.mass} * std::sqrt(speed2));
    energy_start_.add(double{body.energy_start});
    kinetic_.add(double{body.kinetic});
    potential_.add(double{body.potential});
  }
  void merge(const NBodyDrift& other);
  void write(Writer& writer) const;
  [[nodiscard]] static NBodyDrift read(Reader& reader);

  // At the tick before the end, the last whose forces are known. REQUIRES: the run had a tick.
  [[nodiscard]] double kinetic() const noexcept { return kinetic_.value(); }
  [[nodiscard]] double potential() const noexcept { return potential_.value(); }
  [[nodiscard]] double energy() const noexcept;
  [[nodiscard]] double energy_start() const noexcept { return energy_start_.value(); }
  // By how much the energy has changed, over kinetic energy plus the size of the potential one.
  [[nodiscard]] double energy_drift() const noexcept;
  // By how much the momentum has changed along d, over the sum of mass times speed of all bodies.
  [[nodiscard]] double momentum_drift(std::size_t d) const noexcept;

  // A row for each quantity: quantity, start, end, drift. Without ticks there are no energies. Of a
  // branch the energy starts with it and says so, since its forces are others; momentum, which no
  // force of pairs changes, starts at tick 0 as ever.
  [[nodiscard]] io::Table table() const;

 private:
  tick::Tick end_;
  int dimensions_;
  tick::Tick branch_;
  ExactSum energy_start_;
  ExactSum kinetic_;
  ExactSum potential_;
  std::array<ExactSum, 3> momentum_start_;
  std::array<ExactSum, 3> momentum_;
  ExactSum way_;
};

}  // namespace rubato::models

#include "rubato/models/nbody_drift.hpp"

#include <cmath>
#include <string>

namespace rubato::models {

void NBodyDrift::merge(const NBodyDrift& other) {
  energy_start_.add(other.energy_start_);
  kinetic_.add(other.kinetic_);
  potential_.add(other.potential_);
  for (std::size_t d = 0; d < 3; ++d) {
    momentum_start_[d].add(other.momentum_start_[d]);
    momentum_[d].add(other.momentum_[d]);
  }
  way_.add(other.way_);
}

void NBodyDrift::write(Writer& writer) const {
  writer.put(static_cast<std::int64_t>(end_));
  writer.put(static_cast<std::int32_t>(dimensions_));
  writer.put(static_cast<std::int64_t>(branch_));
  for (const ExactSum* sum : {&energy_start_, &kinetic_, &potential_, &way_})
    writer.put(*sum);
  for (std::size_t d = 0; d < 3; ++d) {
    writer.put(momentum_start_[d]);
    writer.put(momentum_[d]);
  }
}

NBodyDrift NBodyDrift::read(Reader& reader) {
  const auto end = reader.get<std::int64_t>();
  const auto dimensions = reader.get<std::int32_t>();
  NBodyDrift drift(end, dimensions, reader.get<std::int64_t>());
  for (ExactSum* sum : {&drift.energy_start_, &drift.kinetic_, &drift.potential_, &drift.way_}) {
    *sum = reader.get<ExactSum>();
  }
  for (std::size_t d = 0; d < 3; ++d) {
    drift.momentum_start_[d] = reader.get<ExactSum>();
    drift.momentum_[d] = reader.get<ExactSum>();
  }
  return drift;
}

double NBodyDrift::energy() const noexcept {
  ExactSum sum = kinetic_;
  sum.add(potential_);
  return sum.value();
}

double NBodyDrift::energy_drift() const noexcept {
  const double scale = kinetic() + std::abs(potential());
  return scale > 0 ? (energy() - energy_start()) / scale : 0;
}

double NBodyDrift::momentum_drift(std::size_t d) const noexcept {
  const double scale = way_.value();
  return scale > 0 ? (momentum_[d].value() - momentum_start_[d].value()) / scale : 0;
}

io::Table NBodyDrift::table() const {
  io::Table table({{"quantity"}, {"start", 6}, {"end", 6}, {"drift", 2, "", true}});
  const auto since = [&](tick::Tick start) {
    return branch_ > 0 ? " since tick " + std::to_string(start) : std::string();
  };
  if (end_ > branch_) {
    table.row().text("kinetic energy").empty().number(kinetic()).empty();
    table.row().text("potential energy").empty().number(potential()).empty();
    table.row().text("energy" + since(branch_)).number(energy_start());
    table.number(energy()).number(energy_drift());
  }
  static constexpr std::array kNames{"momentum x", "momentum y", "momentum z"};
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions_); ++d) {
    table.row().text(kNames[d] + since(0)).number(momentum_start_[d].value());
    table.number(momentum_[d].value()).number(momentum_drift(d));
  }
  return table;
}

}  // namespace rubato::models

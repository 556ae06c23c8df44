#pragma once
// OutputSource: reads one node's tuples out of its store, region by region, without their types.
//
// A run's output never waits: a region is read by the core that has just stepped it, in place,
// before anybody may overwrite the version (the inner cells of a grid keep only two of them). So
// read() is called on several cores at once, for different regions.

#include <array>
#include <cstdint>
#include <span>

#include "rubato/io/vtk.hpp"
#include "rubato/tick/output/schema.hpp"
#include "rubato/tick/plan.hpp"

namespace rubato::tick {

// Where what was read goes; called from several cores at once.
class OutputReader {
 public:
  OutputReader() = default;
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;
  virtual ~OutputReader() = default;

  // `n` cells along x from `at`; fields[i] are their values of column i, valid during the call.
  virtual void row(const std::array<std::int64_t, 3>& at, std::int64_t n,
                   std::span<const io::VtkArray::Values> fields) = 0;
  virtual void rows(OutputRows rows) = 0;
};

class OutputSource {
 public:
  OutputSource() = default;
  OutputSource(const OutputSource&) = delete;
  OutputSource& operator=(const OutputSource&) = delete;
  virtual ~OutputSource() = default;

  [[nodiscard]] virtual const OutputSchema& schema() const = 0;
  // What `region`, an own one, produced at tick t > 0. Right after it was stepped there, or at the
  // end.
  virtual void read(RegionId region, Tick t, OutputReader& out) const = 0;
  // All own tuples at t: at tick 0 before the run, or at the end after it.
  virtual void read_all(Tick t, OutputReader& out) const = 0;
  // Of a grid: sets the kinds of the cells along x from `at`, which are 0 (picture_kinds()).
  virtual void picture_kinds(const std::array<std::int64_t, 3>& /*at*/,
                             std::span<std::uint8_t> /*kinds*/) const {}
};

}  // namespace rubato::tick

#pragma once
// Figures: where the time of a run went, by core, node and job. Both hosts fill the same ones.
//
//   wall = busy (by Work.kind) + sending + idle + own
// "sending" is packing, sending, taking and polling for messages; "idle" is a core that had nothing
// to run; "own" is what the runtime itself took, and nothing else is called by that name.

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/base/time.hpp"
#include "rubato/net/fabric.hpp"

namespace rubato::core {

using net::NodeId;

// Engines have few kinds of work; a larger one is a bug of the engine.
inline constexpr std::uint32_t kWorkKindsMax = 256;

struct CoreFigures {
  std::vector<Nanos> busy;  // [kind], as far as the kinds that occurred
  Nanos wall = 0;
  Nanos sending = 0;
  Nanos idle = 0;
  std::uint64_t n_works = 0;

  void add_busy(std::uint32_t kind, Nanos time);
  [[nodiscard]] Nanos busy_total() const noexcept;
  [[nodiscard]] Nanos own() const noexcept { return wall - busy_total() - sending - idle; }
  // Adds those of another core, or of a later run.
  void add(const CoreFigures& other);
  bool operator==(const CoreFigures&) const = default;
};

struct NodeFigures {
  NodeId node = 0;
  std::string host;
  Nanos wall = 0;  // from the start of the engine to the end of its last event
  std::vector<CoreFigures> cores;
  std::uint64_t n_sent = 0;
  std::uint64_t n_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;

  // The sum over the cores.
  [[nodiscard]] CoreFigures total() const;
  // Adds those of a later run of the same host. REQUIRES: as many cores, or none here yet.
  void add(const NodeFigures& later);
  bool operator==(const NodeFigures&) const = default;
};

void put(Writer& out, const NodeFigures& figures);
// Throws Error if the bytes are no figures.
[[nodiscard]] NodeFigures get_node_figures(Reader& in);

}  // namespace rubato::core

#pragma once
// What nodes tell each other for an epoch, in the order of docs/formats.md.

#include <cstdint>
#include <utility>
#include <vector>

#include "rubato/tick/tune/meter.hpp"

namespace rubato::tick::detail {

// Pieces with what they cost in a tick, in ns.
using PieceCosts = std::vector<std::pair<std::uint32_t, double>>;

// Of one node or of several: samples of the model, costs of pieces, and what nodes have measured for
// a forecast.
struct Report {
  ByteView samples;
  PieceCosts costs;   // that stay
  double passes = 0;  // what these have cost above that in a tick, together, ns
  std::vector<NodeReport> loads;
};

inline void write_report(Writer& out, const Report& report) {
  out.put(static_cast<std::uint64_t>(report.samples.size()));
  out.append(report.samples.data(), report.samples.size());
  out.put(static_cast<std::uint64_t>(report.costs.size()));
  for (const auto& [piece, cost] : report.costs) {
    out.put(std::uint64_t{piece});
    out.put(cost);
  }
  out.put(report.passes);
  out.put(static_cast<std::uint64_t>(report.loads.size()));
  for (const NodeReport& load : report.loads)
    load.put(out);
}

// The samples lie in `bytes`.
[[nodiscard]] inline Report read_report(ByteView bytes) {
  Reader in(bytes);
  Report report;
  report.samples = in.get_view(in.get<std::uint64_t>());
  report.costs.resize(in.get<std::uint64_t>());
  for (auto& [piece, cost] : report.costs) {
    piece = static_cast<std::uint32_t>(in.get<std::uint64_t>());
    cost = in.get<double>();
  }
  report.passes = in.get<double>();
  const auto n_loads = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_loads; ++i)
    report.loads.push_back(NodeReport::get(in));
  return report;
}

}  // namespace rubato::tick::detail

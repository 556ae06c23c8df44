#include "rubato/core/figures.hpp"

#include <algorithm>
#include <numeric>

#include "rubato/base/error.hpp"

namespace rubato::core {

void CoreFigures::add_busy(std::uint32_t kind, Nanos time) {
  RUBATO_REQUIRE(kind < kWorkKindsMax, kind, kWorkKindsMax);
  if (busy.size() <= kind) busy.resize(kind + 1, 0);
  busy[kind] += time;
  ++n_works;
}

Nanos CoreFigures::busy_total() const noexcept {
  return std::accumulate(busy.begin(), busy.end(), Nanos{0});
}

void CoreFigures::add(const CoreFigures& other) {
  if (busy.size() < other.busy.size()) busy.resize(other.busy.size(), 0);
  for (std::size_t kind = 0; kind < other.busy.size(); ++kind)
    busy[kind] += other.busy[kind];
  wall += other.wall;
  sending += other.sending;
  idle += other.idle;
  n_works += other.n_works;
}

CoreFigures NodeFigures::total() const {
  CoreFigures sum;
  for (const auto& core : cores)
    sum.add(core);
  return sum;
}

void NodeFigures::add(const NodeFigures& later) {
  if (cores.empty()) {
    *this = later;
    return;
  }
  RUBATO_REQUIRE(cores.size() == later.cores.size(), cores.size(), later.cores.size());
  wall += later.wall;
  for (std::size_t i = 0; i < cores.size(); ++i)
    cores[i].add(later.cores[i]);
  n_sent += later.n_sent;
  n_received += later.n_received;
  bytes_sent += later.bytes_sent;
  bytes_received += later.bytes_received;
}

void put(Writer& out, const NodeFigures& figures) {
  out.put(figures.node);
  out.put_string(figures.host);
  out.put(figures.wall);
  out.put(static_cast<std::uint64_t>(figures.cores.size()));
  for (const auto& core : figures.cores) {
    out.put_vector(core.busy);
    out.put(core.wall);
    out.put(core.sending);
    out.put(core.idle);
    out.put(core.n_works);
  }
  out.put(figures.n_sent);
  out.put(figures.n_received);
  out.put(figures.bytes_sent);
  out.put(figures.bytes_received);
}

NodeFigures get_node_figures(Reader& in) {
  NodeFigures figures;
  figures.node = in.get<NodeId>();
  figures.host = in.get_string();
  figures.wall = in.get<Nanos>();
  const auto n_cores = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_cores; ++i) {
    CoreFigures core;
    core.busy = in.get_vector<Nanos>();
    core.wall = in.get<Nanos>();
    core.sending = in.get<Nanos>();
    core.idle = in.get<Nanos>();
    core.n_works = in.get<std::uint64_t>();
    figures.cores.push_back(std::move(core));
  }
  figures.n_sent = in.get<std::uint64_t>();
  figures.n_received = in.get<std::uint64_t>();
  figures.bytes_sent = in.get<std::uint64_t>();
  figures.bytes_received = in.get<std::uint64_t>();
  return figures;
}

}  // namespace rubato::core

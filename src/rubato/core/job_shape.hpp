#pragma once
// JobShape: how many nodes and cores a job has, and which node this is. A plain value, so that the
// simulator makes a thousand of them and engines need no more than that to know their place.

#include <cstdint>

#include "rubato/base/error.hpp"
#include "rubato/net/fabric.hpp"

namespace rubato::core {

using net::NodeId;

// A core of the job: node * n_cores + core of the node. Fits 32 bits for 10,000 nodes of 400,000
// cores.
using CoreId = std::uint32_t;

struct JobShape {
  NodeId node = 0;
  std::uint32_t n_nodes = 1;
  std::uint32_t n_cores = 1;  // of each node; equal everywhere, which the start of a job checks

  [[nodiscard]] std::uint64_t n_cores_total() const noexcept {
    return std::uint64_t{n_nodes} * n_cores;
  }
  [[nodiscard]] NodeId node_of(CoreId core) const noexcept { return core / n_cores; }
  [[nodiscard]] std::uint32_t local_of(CoreId core) const noexcept { return core % n_cores; }
  [[nodiscard]] CoreId first_core() const noexcept { return node * n_cores; }
  bool operator==(const JobShape&) const = default;
};

}  // namespace rubato::core

#pragma once
// The simplest model of a graph, for tests: how many edges each vertex is from vertex 0.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rubato/tick/graph/graph_model.hpp"

namespace rubato::tick::testing {

struct Hops {
  using Value = std::uint32_t;
  [[nodiscard]] static Value init(VertexId v) { return v == 0 ? 0 : 1000; }
  [[nodiscard]] static Value step(VertexId /*v*/, Value own, const InEdges<Value>& in, Tick /*t*/) {
    for (std::size_t i = 0; i < in.size(); ++i)
      own = std::min(own, in.value(i) + 1);
    return own;
  }
};

// A ring of n vertices, each of which has an edge to those so many further.
[[nodiscard]] inline std::shared_ptr<const Digraph> ring(VertexId n,
                                                         const std::vector<VertexId>& steps) {
  std::vector<VertexId> from;
  std::vector<VertexId> to;
  for (VertexId v = 0; v < n; ++v) {
    for (const VertexId step : steps) {
      from.push_back(v);
      to.push_back((v + step) % n);
    }
  }
  return std::make_shared<const Digraph>(n, from, to, std::vector<double>{});
}

}  // namespace rubato::tick::testing

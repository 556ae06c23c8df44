#pragma once
// Digraph: the structure that a graph model runs on: who points at whom. It never changes in a run
// and is shared, read-only, by all (virtual) nodes of a process; values of vertices are the state
// and lie in the nodes' stores.
//
// Edges are kept at their target, ascending by source: the order in which contributions combine, a
// property of the data alone, so that sums have the same bits for every partition.

#include <cstdint>
#include <span>
#include <vector>

namespace rubato::tick {

using VertexId = std::uint32_t;

enum class Duplicates {
  keep,   // each of several equal edges counts
  merge,  // one edge; its weight is the sum of theirs, in their order; 1 without weights
};

class Digraph {
 public:
  // Edge i goes from sources[i] to targets[i] with weights[i]; `weights` is empty if all are 1.
  // Loops are edges like others. Throws Error for no vertices, more than 32-bit ids can name, an
  // edge to a vertex that is not below n_vertices, or a weight that is not finite.
  Digraph(std::uint64_t n_vertices, std::span<const VertexId> sources,
          std::span<const VertexId> targets, std::span<const double> weights = {},
          Duplicates duplicates = Duplicates::keep);
  Digraph(const Digraph&) = delete;
  Digraph& operator=(const Digraph&) = delete;

  [[nodiscard]] VertexId n_vertices() const noexcept {
    return static_cast<VertexId>(out_degree_.size());
  }
  [[nodiscard]] std::uint64_t n_edges() const noexcept { return sources_.size(); }

  // The sources of the edges into v, ascending.
  [[nodiscard]] std::span<const VertexId> in(VertexId v) const noexcept {
    return std::span(sources_).subspan(begins_[v], begins_[v + std::size_t{1}] - begins_[v]);
  }
  [[nodiscard]] std::uint64_t in_degree(VertexId v) const noexcept {
    return begins_[v + std::size_t{1}] - begins_[v];
  }
  // Edges out of v; equal ones count each, unless they were merged.
  [[nodiscard]] std::uint32_t out_degree(VertexId v) const noexcept { return out_degree_[v]; }
  // [in_degree(v)] beside in(v), or null if all weights are 1.
  [[nodiscard]] const double* in_weights(VertexId v) const noexcept {
    return weights_.empty() ? nullptr : weights_.data() + begins_[v];
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return begins_.capacity() * sizeof begins_[0] + sources_.capacity() * sizeof sources_[0] +
           weights_.capacity() * sizeof(double) + out_degree_.capacity() * sizeof out_degree_[0];
  }

 private:
  void check(std::uint64_t n_vertices, std::span<const VertexId> sources,
             std::span<const VertexId> targets, std::span<const double> weights) const;
  void merge_duplicates();

  std::vector<std::uint64_t> begins_;  // [n_vertices + 1]
  std::vector<VertexId> sources_;      // [n_edges] by target, then by source, then as they came
  std::vector<double> weights_;        // [n_edges] or empty
  std::vector<std::uint32_t> out_degree_;
};

}  // namespace rubato::tick

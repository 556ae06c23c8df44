#pragma once
// GraphPartition: who owns which vertex, and how far each vertex is from the borders: the labels of
// [Ticks B.2].
//
// Inside a partition the label of a vertex counts hops, along edges, from the border: 0 if an edge
// comes in from another partition, else one more than the smallest label that points at it;
// kNoBorder if nothing outside ever reaches it. So {label >= j} is (R_X)^j of the partition.
// Outside, hops are counted against the edges: shell h has the vertices from which the shortest way
// into the partition has h edges. So the partition and its shells 1..h are (R_D)^h of it.
// Differs from the paper, which labels the outside by one number for each vertex: a vertex lies in
// the shells of many partitions, at different hops.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/graph/digraph.hpp"

namespace rubato::tick {

inline constexpr std::uint32_t kNoBorder = UINT32_MAX;

// The vertices from which a partition is reached in exactly so many hops.
struct Shell {
  std::vector<VertexId> vertices;  // ascending
  // [owners of them], ascending: the largest label among those that the owner has here.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> deepest;
};

// Safe to call on several cores at once.
class GraphPartition {
 public:
  // Cuts with METIS (k-way, fixed seed; vertices weigh 1 + in-degree, the cost of their step):
  // the same parts on every node. No part is empty. Throws Error for no parts, more parts than
  // vertices, or a graph beyond METIS's 32-bit counts.
  GraphPartition(std::shared_ptr<const Digraph> graph, std::uint32_t n_parts);
  // A given partition, owner[v] < n_parts.
  GraphPartition(std::shared_ptr<const Digraph> graph, std::vector<std::uint32_t> owner,
                 std::uint32_t n_parts);
  GraphPartition(const GraphPartition&) = delete;
  GraphPartition& operator=(const GraphPartition&) = delete;

  [[nodiscard]] const Digraph& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::uint32_t n_parts() const noexcept {
    return static_cast<std::uint32_t>(member_begins_.size() - 1);
  }
  [[nodiscard]] std::uint32_t owner(VertexId v) const noexcept { return owner_[v]; }
  [[nodiscard]] std::uint32_t label(VertexId v) const noexcept { return label_[v]; }

  // The vertices of a part whose label is at least `label`, ascending by (label, id).
  [[nodiscard]] std::span<const VertexId> members(std::uint32_t part,
                                                  std::uint32_t label = 0) const;

  // Shell `hops` >= 1 of a part. Computed when first asked for; the reference stays valid.
  [[nodiscard]] const Shell& shell(std::uint32_t part, int hops) const;

  // Whether level a of part p and level b of part q have no vertex in common. Level 0 is the part,
  // level h > 0 adds the shells up to h, level -j is {label >= j}. Exact.
  [[nodiscard]] bool disjoint(std::uint32_t p, int a, std::uint32_t q, int b) const;

 private:
  void label_inside();
  void add_shell(std::uint32_t part) const;
  [[nodiscard]] bool reaches(std::uint32_t p, int hops, std::uint32_t q, int depth) const;

  std::shared_ptr<const Digraph> graph_;
  std::vector<std::uint32_t> owner_;
  std::vector<std::uint32_t> label_;
  std::vector<VertexId> members_;             // by (owner, label, id)
  std::vector<std::uint64_t> member_begins_;  // [n_parts + 1]
  mutable std::mutex shells_mutex_;
  mutable std::vector<std::deque<Shell>> shells_;  // [n_parts][hops - 1]
};

}  // namespace rubato::tick

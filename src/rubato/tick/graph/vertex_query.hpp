#pragma once
// VertexQuery: the queries of graph models, exact sets of vertices in a few words [Ticks B.2].
//
//   all                everything
//   level (part, j)    j = 0: a part; j > 0: (R_D)^j of it; j < 0: (R_X)^-j of it
//                      (graph_partition.hpp has the labels that tell)
//   list               some vertices, ascending: tiles, pieces, and what a node has of those
// The structure behind them is static, so R_D and R_X of levels are plus and minus one, and of
// lists a walk over their edges; a list of a node's pieces remembers its own, which all nodes of a
// simulation ask for. Values never move between vertices: W_D and W_X are the identity.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/graph/graph_partition.hpp"

namespace rubato::tick {

class VertexQuery {
 public:
  enum class Kind : std::uint8_t { all, level, list };

  VertexQuery() = default;  // selects all
  VertexQuery(std::shared_ptr<const GraphPartition> cut, std::uint32_t part, int level)
      : kind_(Kind::level), part_(part), level_(level), cut_(std::move(cut)) {}
  // REQUIRES: vertices ascend.
  explicit VertexQuery(std::vector<VertexId> vertices)
      : VertexQuery(std::make_shared<const List>(std::move(vertices))) {}
  // What any of the disjoint `queries` selects, as a list that remembers what it reads.
  [[nodiscard]] static VertexQuery join(const Digraph& graph, std::span<const VertexQuery> queries);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t part() const noexcept { return part_; }
  [[nodiscard]] int level() const noexcept { return level_; }
  // REQUIRES: of kind level, of kind list.
  [[nodiscard]] const GraphPartition& cut() const noexcept { return *cut_; }
  [[nodiscard]] std::span<const VertexId> list() const noexcept { return list_->vertices; }

  [[nodiscard]] VertexQuery read_dependencies(const Digraph& graph) const;
  [[nodiscard]] VertexQuery read_exclusive(const Digraph& graph) const;
  [[nodiscard]] bool disjoint(const VertexQuery& other) const;
  // What both select, as a list.
  [[nodiscard]] VertexQuery intersection(const VertexQuery& other, const Digraph& graph) const;

  // All vertices of it, ascending.
  [[nodiscard]] std::vector<VertexId> vertices(const Digraph& graph) const;

 private:
  struct List {
    explicit List(std::vector<VertexId> ascending, bool keeps = false)
        : vertices(std::move(ascending)), remembers(keeps) {}

    const std::vector<VertexId> vertices;
    // Whether R_D of it is kept: of lists that are few, and asked for by every node.
    const bool remembers;
    mutable std::mutex mutex;
    mutable std::shared_ptr<const List> reads;
    mutable const Digraph* graph = nullptr;  // of `reads`
  };
  explicit VertexQuery(std::shared_ptr<const List> list)
      : kind_(Kind::list), list_(std::move(list)) {}

  Kind kind_ = Kind::all;
  std::uint32_t part_ = 0;
  int level_ = 0;
  std::shared_ptr<const GraphPartition> cut_;
  std::shared_ptr<const List> list_;
};

// Tells members of a query from others, many times, without a lock. The query must outlive it.
class Membership {
 public:
  explicit Membership(const VertexQuery& query);
  [[nodiscard]] bool contains(VertexId v) const noexcept;

 private:
  const VertexQuery& query_;
  std::vector<const Shell*> shells_;
};

// Cuts vertices into lists, in their order, none of which costs more than `work_max` (a vertex
// costs 1 + its in-degree) unless it is a single vertex; sorts each.
[[nodiscard]] std::vector<VertexQuery> cut_by_work(const Digraph& graph,
                                                   std::span<const VertexId> vertices,
                                                   std::uint64_t work_max);

}  // namespace rubato::tick

#pragma once
// pagerank: which vertex of a directed graph is pointed at by what is itself pointed at [Ticks
// B.2].
//
// Each tick y(v) = (1 - d) / n + d * sum over edges u -> v of y(u) / outdegree(u). With weights an
// edge carries w(u, v) / (the sum of all w(u, .)) of y(u) in place of one in outdegree(u).
// Vertices without outgoing edges (dangling) send nothing on, so the mass of y shrinks. The usual
// definition spreads their mass over all vertices: x = c 1 + d P^T x with the constant
// c = ((1 - d) + d * dangling mass of x) / n. Both are linear with the same matrix: x = c A^-1 1
// and y = (1 - d) / n A^-1 1 with A = I - d P^T. So x is y divided by its sum, exactly, and no
// global sum is needed in a tick: one at the end normalises.
//
// The value of a vertex is what each of its edges carries, y(v) / outdegree(v), or y(v) itself if
// it has none: one division a vertex instead of one an edge, and 8 bytes in a message. With weights
// it is what an edge carries of each unit of its weight.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/exact_sum.hpp"
#include "rubato/io/edge_list.hpp"
#include "rubato/tick/graph/graph_store.hpp"

namespace rubato::models {

using tick::Tick;
using tick::VertexId;

struct PageRankGraph {
  std::shared_ptr<const tick::Digraph> graph;
  // [n_vertices] ascending, or empty: vertices are named by their numbers.
  std::shared_ptr<const std::vector<std::string>> labels;

  [[nodiscard]] std::string name(VertexId v) const;
  // The vertex of that name. Throws Error naming the nearest label.
  [[nodiscard]] VertexId find(std::string_view name) const;
};

enum class EdgeWeights : std::uint8_t { left_aside, kept };

// Reads an edge list; weights are those that `options` or a Matrix Market file name. Throws Error:
// what io::read_edge_list refuses, and graphs that do not fit.
[[nodiscard]] PageRankGraph read_pagerank_graph(const std::string& path,
                                                const io::EdgeListOptions& options,
                                                tick::Duplicates duplicates,
                                                EdgeWeights weights = EdgeWeights::left_aside);

// A graph for trials: each vertex points `degree` times at earlier ones, popular ones first; all
// but one of `far` near by, if `far` is not 0, or all of them.
// REQUIRES: n_vertices > 0.
[[nodiscard]] PageRankGraph make_pagerank_graph(VertexId n_vertices, std::uint32_t degree,
                                                std::uint64_t seed, std::uint32_t far = 2);

struct PageRankOptions {
  enum class Norm : std::uint8_t { l1, max };
  double damping = 0.85;   // in [0, 1)
  double tolerance = 0;    // > 0: ends when y changes by less in a tick, in the norm
  Norm norm = Norm::l1;    // sum of all changes, or the largest
  Tick test_interval = 5;  // ticks between two tests
  Tick test_lag = 5;       // ticks from a test to the end that it decides
  bool weighted = false;   // edges carry by their weights, if the graph has some, all >= 0

  // Throws Error (usage) naming what is out of its range.
  void validate() const;
};

// The user of tick::GraphModel.
class PageRank {
 public:
  using Value = double;

  // Throws Error as PageRankOptions::validate, and naming the vertex if the weights of its edges
  // have a sum that ranks cannot be divided by.
  PageRank(PageRankGraph input, PageRankOptions options);

  [[nodiscard]] Value init(VertexId v) const {
    return share(v, 1.0 / static_cast<double>(input_.graph->n_vertices()));
  }
  // What the edges carry, added up by source.
  using Sum = double;
  [[nodiscard]] Sum begin(VertexId /*v*/, const Value& /*own*/, Tick /*t*/) const { return 0; }
  void interact(Sum& sum, const tick::InEdge<Value>& in, Tick /*t*/) const {
    sum += out_weights_ == nullptr ? in.value : in.weight * in.value;
  }
  [[nodiscard]] Value finish(VertexId v, const Value& /*own*/, const Sum& sum, Tick /*t*/) const {
    return share(v, base_ + options_.damping * sum);
  }

  // y(v), before normalisation.
  [[nodiscard]] double rank(VertexId v, Value value) const { return value * edges(v); }

  struct Measure {
    double most = 0;
    ExactSum sum;  // exact, so that nodes may add in any order
  };
  void measure(Measure& m, VertexId v, const Value& before, const Value& after) const {
    const double change = std::abs(rank(v, after) - rank(v, before));
    if (options_.norm == PageRankOptions::Norm::l1) {
      m.sum.add(change);
    } else if (change > m.most) {
      m.most = change;
    }
  }
  void combine(Measure& into, const Measure& from) const {
    into.most = from.most > into.most ? from.most : into.most;
    into.sum.add(from.sum);
  }
  [[nodiscard]] bool stop(const Measure& m, Tick /*t*/) const {
    return (options_.norm == PageRankOptions::Norm::l1 ? m.sum.value() : m.most) <
           options_.tolerance;
  }
  [[nodiscard]] Tick stop_interval() const {
    return options_.tolerance > 0 ? options_.test_interval : 0;
  }
  [[nodiscard]] Tick stop_lag() const { return options_.test_lag; }

  [[nodiscard]] const PageRankGraph& input() const noexcept { return input_; }

  // Files have a vertex's name and its rank: y divided by the sum of all y of the tick.
  [[nodiscard]] std::vector<tick::OutputColumn> output_columns() const {
    return {{"name", tick::ColumnType::text},
            {"rank", tick::ColumnType::f64, tick::ColumnUse::share}};
  }
  void output_row(VertexId v, const Value& value, tick::OutputRows& rows) const {
    rows.add(input_.name(v)).add(rank(v, value));
  }

 private:
  // The edges out of v, or the sum of their weights; 1 if it sends nothing on.
  [[nodiscard]] double edges(VertexId v) const {
    if (out_weights_ != nullptr) return (*out_weights_)[v] > 0 ? (*out_weights_)[v] : 1.0;
    const std::uint32_t degree = input_.graph->out_degree(v);
    return degree == 0 ? 1.0 : static_cast<double>(degree);
  }
  [[nodiscard]] double share(VertexId v, double y) const { return y / edges(v); }

  PageRankGraph input_;
  PageRankOptions options_;
  double base_;  // (1 - d) / n
  // [n_vertices] the sum of the weights of the edges out of each; null if all edges are equal.
  std::shared_ptr<const std::vector<double>> out_weights_;
};

struct RankedVertex {
  VertexId vertex = 0;
  double rank = 0;
  bool operator==(const RankedVertex&) const = default;
};

// The best vertices of a part of the graph. Nodes make one each, and merge() combines them in any
// order: nobody needs all ranks at once, and the result has the same bits for every node count.
class Ranking {
 public:
  // Keeps the `n_best` best.
  explicit Ranking(std::size_t n_best) : n_best_(n_best) {}

  // Adds a vertex and its y.
  void add(VertexId v, double y);
  void merge(const Ranking& other);
  void write(Writer& writer) const;
  // Throws Error if the bytes are no ranking.
  [[nodiscard]] static Ranking read(Reader& reader);

  // By falling rank, equal ones by vertex; the ranks of the whole graph sum to 1. REQUIRES: all
  // vertices of the graph were added, here or in what was merged.
  [[nodiscard]] std::vector<RankedVertex> best() const;

 private:
  void shrink(std::size_t to) const;

  std::size_t n_best_;
  ExactSum mass_;
  mutable std::vector<RankedVertex> best_;  // at most twice n_best_, the surplus dropped when read
};

using PageRankModel = tick::GraphModel<PageRank>;
using PageRankStore = tick::GraphStore<PageRank>;

}  // namespace rubato::models

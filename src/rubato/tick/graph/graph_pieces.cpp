#include "rubato/tick/graph/graph_pieces.hpp"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/tick/graph/detail/metis.hpp"

namespace rubato::tick {
namespace {

using PieceId = std::uint32_t;

struct Link {
  PieceId to = 0;
  std::int64_t weight = 0;  // edges, in both directions
};

// [pieces] its links, ascending.
std::vector<std::vector<Link>> links_of(const Digraph& graph, std::span<const PieceId> owner,
                                        PieceId n_pieces) {
  std::vector<std::uint64_t> pairs;
  for (VertexId v = 0; v < graph.n_vertices(); ++v) {
    for (const VertexId u : graph.in(v)) {
      if (owner[u] == owner[v]) continue;
      const auto [low, high] = std::minmax(owner[u], owner[v]);
      pairs.push_back((std::uint64_t{low} << 32) | high);
    }
  }
  std::ranges::sort(pairs);
  std::vector<std::vector<Link>> links(n_pieces);
  for (std::size_t i = 0; i < pairs.size();) {
    std::size_t end = i;
    while (end < pairs.size() && pairs[end] == pairs[i])
      ++end;
    const auto low = static_cast<PieceId>(pairs[i] >> 32);
    const auto high = static_cast<PieceId>(pairs[i]);
    links[low].push_back({high, static_cast<std::int64_t>(end - i)});
    links[high].push_back({low, static_cast<std::int64_t>(end - i)});
    i = end;
  }
  return links;
}

// What the list's border loses or gains by a piece, and which state of it that was.
struct Candidate {
  std::int64_t growth = 0;
  PieceId piece = 0;

  // The first of a heap is the one that grows the border least; ties go by number.
  bool operator<(const Candidate& other) const noexcept {
    return std::tie(growth, piece) > std::tie(other.growth, other.piece);
  }
};

// The vertices of a graph's parts, in the order of its pieces.
std::vector<std::vector<VertexId>> in_order(const Digraph& graph, std::span<const PieceId> owner,
                                            PieceId n_pieces) {
  std::vector<std::vector<VertexId>> vertices(n_pieces);
  for (VertexId v = 0; v < graph.n_vertices(); ++v)
    vertices[owner[v]].push_back(v);
  std::vector<std::vector<VertexId>> pieces;
  pieces.reserve(n_pieces);
  for (const PieceId piece : order_of_pieces(graph, owner, n_pieces))
    pieces.push_back(std::move(vertices[piece]));
  return pieces;
}

// Some vertices with the edges between them.
struct Inside {
  std::vector<VertexId> vertices;  // ascending; the graph's ids of them
  std::unique_ptr<const Digraph> graph;
};

std::vector<Inside> insides_of(const Digraph& graph, std::span<const VertexQuery> pieces) {
  std::vector<Inside> insides(pieces.size());
  const auto nowhere = static_cast<PieceId>(pieces.size());
  std::vector<PieceId> owner(graph.n_vertices(), nowhere);
  std::vector<VertexId> place(graph.n_vertices());
  for (PieceId i = 0; i < nowhere; ++i) {
    insides[i].vertices = pieces[i].vertices(graph);
    for (VertexId at = 0; at < insides[i].vertices.size(); ++at) {
      const VertexId v = insides[i].vertices[at];
      RUBATO_REQUIRE(owner[v] == nowhere, v, owner[v], i);
      owner[v] = i;
      place[v] = at;
    }
  }
  std::vector<VertexId> sources;
  std::vector<VertexId> targets;
  for (PieceId i = 0; i < nowhere; ++i) {
    sources.clear();
    targets.clear();
    for (const VertexId target : insides[i].vertices) {
      for (const VertexId source : graph.in(target)) {
        if (owner[source] != i) continue;
        sources.push_back(place[source]);
        targets.push_back(place[target]);
      }
    }
    insides[i].graph =
        std::make_unique<const Digraph>(insides[i].vertices.size(), sources, targets);
  }
  return insides;
}

}  // namespace

std::vector<PieceId> order_of_pieces(const Digraph& graph, std::span<const PieceId> owner,
                                     PieceId n_pieces) {
  const auto links = links_of(graph, owner, n_pieces);
  std::vector<Candidate> starts;  // of a component, the least connected first
  std::vector<std::int64_t> growth(n_pieces, 0);
  for (PieceId piece = 0; piece < n_pieces; ++piece) {
    for (const Link& link : links[piece])
      growth[piece] += link.weight;
    starts.push_back({growth[piece], piece});
  }
  std::ranges::sort(starts, [](const Candidate& a, const Candidate& b) { return b < a; });
  std::vector<std::uint8_t> is_placed(n_pieces, 0);
  std::vector<PieceId> order;
  std::priority_queue<Candidate> beside;  // the list; older states of a piece too
  const auto place = [&](PieceId piece) {
    is_placed[piece] = 1;
    order.push_back(piece);
    for (const Link& link : links[piece]) {
      if (is_placed[link.to] != 0) continue;
      growth[link.to] -= 2 * link.weight;
      beside.push({growth[link.to], link.to});
    }
  };
  for (const Candidate& start : starts) {
    if (is_placed[start.piece] == 0) place(start.piece);
    while (!beside.empty()) {
      // The newest state of a piece comes before its older ones, which find it placed.
      const PieceId next = beside.top().piece;
      beside.pop();
      if (is_placed[next] == 0) place(next);
    }
  }
  return order;
}

std::vector<VertexQuery> graph_pieces(const Digraph& graph, std::uint32_t n) {
  RUBATO_REQUIRE(n > 0);
  const std::uint32_t n_pieces = std::min(n, graph.n_vertices());
  const std::vector<PieceId> owner = detail::cut_with_metis(graph, n_pieces);
  std::vector<VertexQuery> pieces;
  for (std::vector<VertexId>& vertices : in_order(graph, owner, n_pieces))
    pieces.emplace_back(std::move(vertices));
  return pieces;
}

std::vector<std::vector<VertexQuery>> split_pieces(const Digraph& graph,
                                                   std::span<const VertexQuery> pieces,
                                                   std::uint32_t n) {
  RUBATO_REQUIRE(n > 0);
  const std::vector<Inside> insides = insides_of(graph, pieces);
  std::vector<const Digraph*> graphs;
  graphs.reserve(insides.size());
  for (const Inside& inside : insides)
    graphs.push_back(inside.graph.get());
  const std::vector<std::vector<PieceId>> owners = detail::cut_each_with_metis(graphs, n);
  std::vector<std::vector<VertexQuery>> parts(pieces.size());
  for (std::size_t i = 0; i < insides.size(); ++i) {
    const Inside& inside = insides[i];
    const std::uint32_t n_parts = std::min(n, inside.graph->n_vertices());
    for (std::vector<VertexId>& list : in_order(*inside.graph, owners[i], n_parts)) {
      for (VertexId& v : list)
        v = inside.vertices[v];
      parts[i].emplace_back(std::move(list));
    }
  }
  return parts;
}

}  // namespace rubato::tick

#include "rubato/tick/graph/graph_pieces.hpp"

#include <algorithm>
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
  std::vector<std::vector<VertexId>> vertices(n_pieces);
  for (VertexId v = 0; v < graph.n_vertices(); ++v)
    vertices[owner[v]].push_back(v);
  std::vector<VertexQuery> pieces;
  for (const PieceId piece : order_of_pieces(graph, owner, n_pieces))
    pieces.emplace_back(std::move(vertices[piece]));
  return pieces;
}

std::vector<VertexQuery> split_piece(const Digraph& graph, const VertexQuery& piece,
                                     std::uint32_t n) {
  const std::vector<VertexId> vertices = piece.vertices(graph);  // ascending
  std::vector<VertexId> sources;
  std::vector<VertexId> targets;
  for (VertexId to = 0; to < vertices.size(); ++to) {
    for (const VertexId source : graph.in(vertices[to])) {
      const auto from = std::ranges::lower_bound(vertices, source);
      if (from == vertices.end() || *from != source) continue;
      sources.push_back(static_cast<VertexId>(from - vertices.begin()));
      targets.push_back(to);
    }
  }
  const Digraph inside(vertices.size(), sources, targets);
  std::vector<VertexQuery> parts;
  for (const VertexQuery& part : graph_pieces(inside, n)) {
    std::vector<VertexId> list;
    for (const VertexId v : part.vertices(inside))
      list.push_back(vertices[v]);
    parts.emplace_back(std::move(list));
  }
  return parts;
}

}  // namespace rubato::tick

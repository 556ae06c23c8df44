#pragma once
// Pieces of a graph: more parts than there are nodes, which move between nodes while a model runs
// (tick/balance/). METIS cuts them, as it cuts the parts of nodes; here they get an order, so that a
// stretch of the list, which a node has at first, is one place in the graph.
//
// The order is greedy: the next piece is the one that leaves the least weight of edges between the
// pieces of the list so far and the others. What a stretch has in common with the rest is at most
// what the two lists have that end where it ends and where it begins.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/graph/vertex_query.hpp"

namespace rubato::tick {

// min(n, n_vertices) lists of vertices, disjoint and none of them empty, which cover the graph and
// cost about the same. The same on every node, and for every number of nodes. Throws Error as
// GraphPartition does.
[[nodiscard]] std::vector<VertexQuery> graph_pieces(const Digraph& graph, std::uint32_t n);

// [pieces] the vertices of each in min(n, how many it has) lists, as graph_pieces() would cut a graph of
// them alone: edges from elsewhere do not count. The pieces are disjoint, and none is empty. Costs about
// as much as graph_pieces() of the whole.
[[nodiscard]] std::vector<std::vector<VertexQuery>> split_pieces(
    const Digraph& graph, std::span<const VertexQuery> pieces, std::uint32_t n);

// The order of the pieces of a cut, owner[v] < n_pieces. Costs O(E log E).
[[nodiscard]] std::vector<std::uint32_t> order_of_pieces(const Digraph& graph,
                                                         std::span<const std::uint32_t> owner,
                                                         std::uint32_t n_pieces);

}  // namespace rubato::tick

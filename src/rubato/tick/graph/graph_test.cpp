// The structure behind graph models: order of edges, METIS parts, labels and shells; and the errors
// that a user can cause.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/tick/fragment_store.hpp"
#include "rubato/tick/graph/graph_store.hpp"
#include "rubato/tick/graph/testing/hops.hpp"
#include "rubato/tick/graph/testing/mixing.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/reference.hpp"

namespace rubato::tick {
namespace {

using Ids = std::vector<VertexId>;

Ids ids(std::span<const VertexId> list) {
  return {list.begin(), list.end()};
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Digraph, edges_into_a_vertex_ascend_by_source_and_equal_ones_keep_their_order) {
  const Digraph graph(4, Ids{2, 0, 3, 0, 2}, Ids{1, 1, 3, 1, 1},
                      std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_EQ(ids(graph.in(1)), (Ids{0, 0, 2, 2}));
  EXPECT_EQ(std::vector<double>(graph.in_weights(1), graph.in_weights(1) + 4),
            (std::vector<double>{2, 4, 1, 5}));
  EXPECT_EQ(ids(graph.in(3)), (Ids{3}));
  EXPECT_EQ(graph.in_degree(0), 0U);
  EXPECT_EQ(graph.out_degree(0), 2U);
  EXPECT_EQ(graph.out_degree(1), 0U);
}

TEST(Digraph, merged_duplicates_count_once_and_sum_their_weights) {
  const Ids from{2, 0, 3, 0, 2};
  const Ids to{1, 1, 3, 1, 1};
  const Digraph plain(4, from, to, {}, Duplicates::merge);
  EXPECT_EQ(ids(plain.in(1)), (Ids{0, 2}));
  EXPECT_EQ(plain.n_edges(), 3U);
  EXPECT_EQ(plain.out_degree(0), 1U);
  const Digraph weighted(4, from, to, std::vector<double>{1, 2, 3, 4, 5}, Duplicates::merge);
  EXPECT_EQ(weighted.in_weights(1)[0], 6);
  EXPECT_EQ(weighted.in_weights(1)[1], 6);
  EXPECT_EQ(weighted.in_weights(3)[0], 3);
}

TEST(Digraph, what_does_not_fit_is_refused_with_the_edge_and_the_limit) {
  EXPECT_NE(error_of([] { Digraph(0, {}, {}); }).find("without vertices"), std::string::npos);
  EXPECT_NE(error_of([] { Digraph(std::uint64_t{1} << 32, {}, {}); }).find("at most 4294967294"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              Digraph(3, Ids{0, 1}, Ids{1, 3});
            }).find("edge 1, 1 -> 3: vertex 3 is not below the number of vertices, 3"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              Digraph(2, Ids{0}, Ids{1}, std::vector<double>{std::nan("")});
            }).find("expected a finite weight, found"),
            std::string::npos);
}

// Two rings of ten that hardly know each other.
std::shared_ptr<const Digraph> two_rings() {
  Ids from;
  Ids to;
  for (VertexId v = 0; v < 10; ++v) {
    for (const VertexId ring : {0U, 10U}) {
      for (const VertexId step : {1U, 2U, 3U}) {
        from.push_back(ring + v);
        to.push_back(ring + (v + step) % 10);
      }
    }
  }
  from.push_back(3);
  to.push_back(14);
  return std::make_shared<const Digraph>(20, from, to);
}

TEST(GraphPartition, metis_finds_the_two_halves_and_always_the_same) {
  const auto graph = two_rings();
  const GraphPartition cut(graph, 2);
  for (VertexId v = 0; v < 20; ++v)
    EXPECT_EQ(cut.owner(v), cut.owner(v < 10 ? 0 : 10)) << v;
  EXPECT_NE(cut.owner(0), cut.owner(10));
  const GraphPartition again(graph, 2);
  for (VertexId v = 0; v < 20; ++v)
    EXPECT_EQ(cut.owner(v), again.owner(v));
}

TEST(GraphPartition, no_part_is_empty_up_to_one_vertex_each) {
  for (std::uint32_t n_vertices = 1; n_vertices <= 40; ++n_vertices) {
    Ids from;
    Ids to;
    RandomStream random(n_vertices);
    // The last third has no edges at all; few vertices have none anyway.
    for (std::uint32_t i = 0; i < n_vertices; ++i) {
      from.push_back(static_cast<VertexId>(random.between(0, n_vertices * 2 / 3)) % n_vertices);
      to.push_back(static_cast<VertexId>(random.between(0, n_vertices * 2 / 3)) % n_vertices);
    }
    const auto graph = std::make_shared<const Digraph>(n_vertices, from, to);
    for (std::uint32_t n_parts = 1; n_parts <= n_vertices; ++n_parts) {
      const GraphPartition cut(graph, n_parts);
      std::size_t n_members = 0;
      for (std::uint32_t part = 0; part < n_parts; ++part) {
        EXPECT_FALSE(cut.members(part).empty()) << n_vertices << " in " << n_parts;
        n_members += cut.members(part).size();
      }
      EXPECT_EQ(n_members, n_vertices);
    }
  }
}

Ids both_of(const Ids& a, const Ids& b) {
  Ids both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

TEST(VertexQuery, an_intersection_is_what_both_select) {
  const auto graph = testing::random_graph(7);
  const auto cut = std::make_shared<const GraphPartition>(graph, 3);
  std::vector<VertexQuery> all{VertexQuery(), VertexQuery(Ids{0, 1, 3}), VertexQuery(Ids{1, 2})};
  for (std::uint32_t part = 0; part < 3; ++part) {
    for (const int level : {-1, 0, 1, 2})
      all.emplace_back(cut, part, level);
  }
  for (const VertexQuery& a : all) {
    for (const VertexQuery& b : all) {
      const VertexQuery both = a.intersection(b, *graph);
      EXPECT_EQ(both.vertices(*graph), both_of(a.vertices(*graph), b.vertices(*graph)));
      EXPECT_EQ(both.list().empty(), a.disjoint(b));
    }
  }
}

// Of a ring each layer is a vertex; it ends with the ring, and so do what they add.
TEST(NodeShape, of_a_graph_has_the_layers_that_add_something) {
  const GraphModel<testing::Mixing> model(testing::ring(40, {1}), testing::Mixing(1));
  const ProblemOf<GraphModel<testing::Mixing>, GraphStore<testing::Mixing>, GraphStoreOptions>
      problem(model, GraphStoreOptions{});
  const auto partition = problem.partition(4);
  const NodeShape near = partition->shape(1, {5, 3});
  EXPECT_EQ(near.layers, 5);
  double outside = 0;
  for (const LinkShape& link : near.links) {
    EXPECT_LE(link.layers.size(), 6U);
    outside = std::accumulate(link.layers.begin(), link.layers.end(), outside);
  }
  // A vertex counts for itself and its edge; six layers, the last of them that of the border of five.
  EXPECT_EQ(outside, 6 * 2);
  const NodeShape whole = partition->shape(1, {100, 3});
  EXPECT_EQ(whole.layers, 100);
  outside = 0;
  for (const LinkShape& link : whole.links) {
    EXPECT_LT(link.layers.size(), 40U);
    outside = std::accumulate(link.layers.begin(), link.layers.end(), outside);
  }
  EXPECT_EQ(outside + whole.size, 80);
}

TEST(GraphPartition, more_parts_than_vertices_are_refused) {
  const auto graph = std::make_shared<const Digraph>(3, Ids{0}, Ids{1});
  EXPECT_EQ(
      error_of([&] { GraphPartition(graph, 4); }),
      "a graph of 3 vertices in 4 parts: expected at most one part a vertex; use fewer nodes");
}

// 0 -> 1 -> 2 | 3 -> 4 -> 5 -> 3, 6 alone: part 0 has 0..2, part 1 the rest; the bar is 2 -> 3.
TEST(GraphPartition, labels_count_hops_from_the_border_along_edges) {
  const auto graph =
      std::make_shared<const Digraph>(7, Ids{0, 1, 2, 3, 4, 5}, Ids{1, 2, 3, 4, 5, 3});
  const GraphPartition cut(graph, {0, 0, 0, 1, 1, 1, 1}, 2);
  for (const VertexId v : {0, 1, 2, 6})
    EXPECT_EQ(cut.label(v), kNoBorder) << v;
  EXPECT_EQ(cut.label(3), 0U);
  EXPECT_EQ(cut.label(4), 1U);
  EXPECT_EQ(cut.label(5), 2U);
  EXPECT_EQ(ids(cut.members(1, 2)), (Ids{5, 6}));
  EXPECT_EQ(cut.shell(1, 1).vertices, (Ids{2}));
  EXPECT_EQ(cut.shell(1, 3).vertices, (Ids{0}));
  EXPECT_TRUE(cut.shell(1, 4).vertices.empty());
  // Nothing in part 1 points at part 0.
  EXPECT_TRUE(cut.shell(0, 1).vertices.empty());
  EXPECT_TRUE(cut.disjoint(0, 2, 1, 0));
  EXPECT_FALSE(cut.disjoint(1, 1, 0, 0));
}

// Hops from vertex 0, as in graph_user.hpp.
struct Hops {
  using Value = std::uint32_t;
  static constexpr std::uint32_t kFar = 1'000'000;
  [[nodiscard]] Value init(VertexId v) const { return v == 0 ? 0 : kFar; }
  [[nodiscard]] Value step(VertexId, Value own, const InEdges<Value>& in, Tick) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      own = std::min(own, in.value(i) + 1);
    return own;
  }
};

struct OneNode {
  OneNode(const GraphModel<Hops>& m, std::uint32_t n_nodes, const char* policy, NodeId self = 0)
      : parts(m.part(n_nodes)),
        typed(build_plan(m, std::span<const VertexQuery>(parts), self, Policy::parse(policy))) {}
  std::vector<VertexQuery> parts;
  TypedPlan<VertexQuery> typed;
};

// Vertex v of a path of 400, both ways; numbers on it are mixed.
TEST(GraphPieces, stretches_of_the_list_are_stretches_of_a_path) {
  constexpr VertexId kN = 400;
  const auto number = [](VertexId at) {
    return (at * 171 + 5) % kN;
  };  // 171 and 400 have no factor
  std::vector<VertexId> sources;
  std::vector<VertexId> targets;
  for (VertexId at = 0; at + 1 < kN; ++at) {
    sources.push_back(number(at));
    targets.push_back(number(at + 1));
    sources.push_back(number(at + 1));
    targets.push_back(number(at));
  }
  const Digraph path(kN, sources, targets);
  const auto pieces = graph_pieces(path, 40);
  ASSERT_EQ(pieces.size(), 40U);
  for (std::size_t first = 0; first < 40; first += 8) {
    const auto stretch = VertexQuery::join(path, std::span(pieces).subspan(first, 8));
    std::vector<std::uint8_t> is_in(kN, 0);
    for (const VertexId v : stretch.list())
      is_in[v] = 1;
    int n_borders = 0;
    for (VertexId at = 0; at + 1 < kN; ++at)
      n_borders += is_in[number(at)] != is_in[number(at + 1)] ? 1 : 0;
    EXPECT_LE(n_borders, 2) << first;
    EXPECT_EQ(n_borders, first == 0 || first == 32 ? 1 : 2) << first;
  }
}

// A piece of a path in four: stretches of it that follow each other, whatever leads out of the piece.
TEST(GraphPieces, are_split_by_the_edges_within_them) {
  std::vector<VertexId> sources;
  std::vector<VertexId> targets;
  for (VertexId v = 0; v + 1 < 100; ++v) {
    sources.insert(sources.end(), {v, v + 1});
    targets.insert(targets.end(), {v + 1, v});
  }
  const Digraph path(100, sources, targets);
  std::vector<VertexId> middle(40);
  std::iota(middle.begin(), middle.end(), 30U);
  // Of three vertices no four parts; those without an edge between them, and one alone.
  const std::vector<VertexQuery> pieces{
      VertexQuery(std::vector<VertexId>{5, 6, 7}), VertexQuery(middle),
      VertexQuery(std::vector<VertexId>{10, 12, 14, 16, 18, 20, 22, 24}),
      VertexQuery(std::vector<VertexId>{80})};
  const auto parts = split_pieces(path, pieces, 4);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].size(), 3U);
  EXPECT_EQ(parts[2].size(), 4U);
  EXPECT_EQ(parts[3].size(), 1U);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(VertexQuery::join(path, parts[i]).list(), pieces[i].list()));
    // As it is alone.
    const auto alone = split_pieces(path, std::span(pieces).subspan(i, 1), 4).front();
    ASSERT_EQ(alone.size(), parts[i].size());
    for (std::size_t part = 0; part < alone.size(); ++part)
      EXPECT_TRUE(std::ranges::equal(alone[part].list(), parts[i][part].list()));
  }
  ASSERT_EQ(parts[1].size(), 4U);
  for (const VertexQuery& part : parts[1]) {
    const std::vector<VertexId> list = part.vertices(path);
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list.back() - list.front() + 1, list.size());
    EXPECT_NEAR(static_cast<double>(list.size()), 10, 2);
  }
}

// Their pieces are those of the cut without grains; where one has too few vertices they are of one grain.
TEST(GraphPieces, of_several_grains_are_cut_as_without_them) {
  const GraphModel<Hops> model(two_rings(), {});
  const auto cut = cut_into_pieces(model, 4, 2, 3);
  ASSERT_EQ(cut.grains_of_piece, 3U);
  ASSERT_EQ(cut.grains->size(), 12U);
  const std::vector<VertexQuery> pieces = model.pieces(4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto grains = std::span(*cut.grains).subspan(3 * i, 3);
    EXPECT_TRUE(
        std::ranges::equal(VertexQuery::join(model.graph(), grains).list(), pieces[i].list()));
  }
  const auto finer = cut_of_grains(model, cut, std::vector<NodeId>{0, 0, 0, 1, 1, 1}, 2);
  EXPECT_EQ(finer.pieces.size(), 6U);
  EXPECT_EQ(cut_into_pieces(model, 8, 2, 4).grains_of_piece, 1U);
}

TEST(GraphPieces, each_component_stands_together_and_lone_vertices_are_not_lost) {
  // Two cliques of pieces that take turns by number, and two pieces without an edge.
  const std::vector<VertexId> sources{0, 2, 4, 1, 3};
  const std::vector<VertexId> targets{2, 4, 0, 3, 5};
  const Digraph graph(8, sources, targets);
  std::vector<std::uint32_t> owner(8);
  std::iota(owner.begin(), owner.end(), 0U);
  EXPECT_EQ(order_of_pieces(graph, owner, 8), (std::vector<std::uint32_t>{6, 7, 1, 3, 5, 0, 2, 4}));
}

TEST(GraphModel, the_example_finds_breadth_first_distances) {
  const GraphModel<Hops> model(two_rings(), {});
  const auto run = run_reference(model, model.everything(), 12);
  EXPECT_EQ(run.state.values[3], 1U);
  EXPECT_EQ(run.state.values[14], 2U);
  EXPECT_EQ(run.state.values[13], 5U);  // 14 .. 23 -> 13: three more hops of three
}

TEST(GraphModel, a_step_costs_what_its_vertices_and_edges_cost) {
  const GraphModel<Hops> model(two_rings(), {}, {.tile_work = 8});
  const OneNode node(model, 1, "local");
  const GraphStore<Hops> store(model, node.typed, {.ns_per_vertex = 100, .ns_per_edge = 10});
  Nanos cost = 0;
  for (RegionId region = 0; region < node.typed.plan.n_own; ++region)
    cost += store.step_cost(region, 0);
  EXPECT_GT(node.typed.plan.n_own, 1U);
  EXPECT_EQ(cost, 20 * 100 + 61 * 10);
}

TEST(GraphStore, a_round_with_other_bits_or_of_odd_size_names_vertex_tick_and_node) {
  const GraphModel<Hops> model(two_rings(), {});
  // The owner of the second ring, which the first points at.
  const NodeId self = model.part(2)[0].cut().owner(10);
  const OneNode node(model, 2, "replicate(1,1)", self);
  const std::string sender = "node " + std::to_string(1 - self);
  GraphStore<Hops> store(model, node.typed);
  ASSERT_EQ(node.typed.plan.neighbours.size(), 1U);
  ASSERT_TRUE(node.typed.plan.neighbours[0].sends_here);
  std::size_t n_values = 0;
  for (const RegionId region : node.typed.plan.neighbours[0].regions)
    n_values += model.vertices_of(node.typed.regions[region]).size();
  Writer writer;
  for (std::size_t i = 0; i < n_values; ++i)
    writer.put(std::uint32_t{77});
  const std::vector<std::uint8_t> present(node.typed.plan.neighbours[0].regions.size(), 0);
  EXPECT_NE(error_of([&] {
              store.unpack(0, 0, writer.view(), present);
            }).find(", tick 0: recomputed here with other bits than at " + sender),
            std::string::npos);
  EXPECT_NE(
      error_of([&] {
        store.unpack(0, 0, ByteView(writer.view()).first(3), present);
      }).find("round 0 from " + sender + ": expected " + std::to_string(n_values) + " values"),
      std::string::npos);
}

TEST(GraphStore, checksum_is_that_of_the_general_state) {
  const GraphModel<Hops> model(two_rings(), {});
  const OneNode node(model, 1, "local");
  GraphStore<Hops> store(model, node.typed);
  std::uint64_t sum = 0;
  model.for_each_tuple(store.own_state(0),
                       [&](std::uint64_t id, ByteView bytes) { sum += tuple_hash(id, bytes); });
  EXPECT_EQ(store.checksum(0), sum);
  EXPECT_NE(sum, 0U);
}

}  // namespace
}  // namespace rubato::tick

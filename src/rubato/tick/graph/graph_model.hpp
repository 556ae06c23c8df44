#pragma once
// The kind `graph`: values at the vertices of a static directed graph, stepped from the values at
// their incoming neighbours [Ticks B.2]. GraphModel generates the eight functions of [Ticks Table
// 1] from a GraphUser: PART is METIS, queries are exact sets of vertices (vertex_query.hpp), R_D
// follows incoming edges, W_D and W_X are the identity.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/graph/graph_pieces.hpp"
#include "rubato/tick/graph/graph_user.hpp"
#include "rubato/tick/graph/vertex_index.hpp"
#include "rubato/tick/graph/vertex_query.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

// Vertices, ascending, and their values: the slow, general form of a graph's state.
template <class Value>
struct VertexValues {
  std::vector<VertexId> ids;
  std::vector<Value> values;

  void add(VertexId v, const Value& value) {
    ids.push_back(v);
    values.push_back(value);
  }
  // Bit for bit: NaN equals itself, and 0 is not -0.
  bool operator==(const VertexValues& other) const {
    return ids == other.ids && std::ranges::equal(std::as_bytes(std::span(values)),
                                                  std::as_bytes(std::span(other.values)));
  }
};

struct GraphModelOptions {
  // The most that a tile costs, the unit of scheduling; a vertex costs 1 + its in-degree. Cores
  // share a tick by tiles; results do not depend on it.
  std::uint64_t tile_work = 1 << 16;
};

namespace detail {
// What has come in of the edges of some vertices (HasInteract in tick/model.hpp): their sums as far as
// the edges have come in order, and what came before its turn.
template <class U>
struct GraphContributions {
  std::vector<typename GraphSum<U>::type> sums;                           // [vertices]
  std::vector<std::size_t> n_taken;                                       // [vertices] edges
  std::map<std::pair<std::size_t, std::size_t>, typename U::Value> kept;  // by vertex and edge
};
template <class U>
struct GraphParts {};
template <GraphHasInteract U>
struct GraphParts<U> {
  using Contributions = GraphContributions<U>;
};
}  // namespace detail

template <GraphUser U>
class GraphModel : public detail::GraphParts<U> {
 public:
  using User = U;
  using Value = typename U::Value;
  using State = VertexValues<Value>;
  using Query = VertexQuery;
  using Measure = typename detail::GraphMeasure<U>::type;

  GraphModel(std::shared_ptr<const Digraph> graph, U user, GraphModelOptions options = {})
      : graph_(std::move(graph)), user_(std::move(user)), options_(options) {}

  [[nodiscard]] const Digraph& graph() const noexcept { return *graph_; }
  [[nodiscard]] const U& user() const noexcept { return user_; }
  [[nodiscard]] Query everything() const { return {}; }

  // Throws Error for more parts than vertices.
  [[nodiscard]] std::vector<Query> part(std::uint32_t n) const {
    const auto cut = std::make_shared<const GraphPartition>(graph_, n);
    std::vector<Query> parts;
    for (std::uint32_t i = 0; i < n; ++i)
      parts.emplace_back(cut, i, 0);
    return parts;
  }

  // About n lists of vertices, in an order in which stretches are places (graph_pieces.hpp).
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    return graph_pieces(*graph_, n);
  }
  [[nodiscard]] std::vector<std::vector<Query>> split(std::span<const Query> pieces,
                                                      std::uint32_t n) const {
    return split_pieces(*graph_, pieces, n);
  }
  static constexpr std::uint32_t kVerticesOfPiece = 64;
  [[nodiscard]] std::uint32_t good_pieces(std::uint32_t wanted, std::uint32_t least) const {
    return std::max(std::min(wanted, graph_->n_vertices() / kVerticesOfPiece), least);
  }
  [[nodiscard]] Query join(std::span<const Query> queries) const {
    return Query::join(*graph_, queries);
  }

  [[nodiscard]] Query read_dependencies(const Query& q) const {
    return q.read_dependencies(*graph_);
  }
  [[nodiscard]] Query read_exclusive(const Query& q) const { return q.read_exclusive(*graph_); }
  [[nodiscard]] Query write_dependencies(const Query& q) const { return q; }
  [[nodiscard]] Query write_exclusive(const Query& q) const { return q; }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const { return a.disjoint(b); }
  [[nodiscard]] Query intersection(const Query& a, const Query& b) const {
    return a.intersection(b, *graph_);
  }
  // Where that takes no long look, nor, of pieces, whose layers are lists, much memory: replicas of larger
  // graphs are never forecast.
  [[nodiscard]] bool tells_layers(const Query& own) const {
    return graph_->n_vertices() <=
           (own.kind() == Query::Kind::list ? kVerticesOfLists : kVerticesOfLevels);
  }
  static constexpr std::uint64_t kVerticesOfLists = 1'000'000;
  static constexpr std::uint64_t kVerticesOfLevels = 4'000'000;
  // A vertex counts as tiles count it.
  [[nodiscard]] double size(const Query& q) const {
    double sum = 0;
    for (const VertexId v : q.vertices(*graph_))
      sum += 1 + static_cast<double>(graph_->in_degree(v));
    return sum;
  }

  [[nodiscard]] State init(const Query& q) const {
    State state;
    for (const VertexId v : q.vertices(*graph_))
      state.add(v, user_.init(v));
    return state;
  }

  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const {
    State result;
    std::vector<std::uint32_t> slots;
    for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
      const VertexId v = to_step.ids[i];
      slots.clear();
      for (const VertexId u : graph_->in(v)) {
        const auto at = std::ranges::lower_bound(context.ids, u);
        RUBATO_ASSERT(at != context.ids.end() && *at == u, v, u, t);
        slots.push_back(static_cast<std::uint32_t>(at - context.ids.begin()));
      }
      const InEdges<Value> in(slots, context.ids.data(), context.values.data(),
                              graph_->in_weights(v));
      result.add(v, step_vertex(user_, v, to_step.values[i], in, t));
    }
    return result;
  }

  // The step in two parts (HasInteract in tick/model.hpp).
  void interact(detail::GraphContributions<U>& in, const State& to_step, const State& other,
                Tick t) const requires GraphHasInteract<U> {
    if (in.sums.size() != to_step.ids.size()) in = begun(to_step, t);
    for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
      const std::span<const VertexId> sources = graph_->in(to_step.ids[i]);
      for (std::size_t e = in.n_taken[i]; e < sources.size(); ++e) {
        const auto at = std::ranges::lower_bound(other.ids, sources[e]);
        if (at == other.ids.end() || *at != sources[e]) continue;
        const Value& value = other.values[static_cast<std::size_t>(at - other.ids.begin())];
        in.kept.emplace(std::pair(i, e), value);
      }
      take_in_order(in, to_step.ids[i], i, t);
    }
  }
  [[nodiscard]] State finish(const State& to_step, const detail::GraphContributions<U>& in,
                             Tick t) const requires GraphHasInteract<U> {
    const auto none = in.sums.empty() ? begun(to_step, t) : detail::GraphContributions<U>{};
    const auto& came = in.sums.empty() ? none : in;
    State result;
    for (std::size_t i = 0; i < to_step.ids.size(); ++i) {
      const VertexId v = to_step.ids[i];
      RUBATO_ASSERT(came.n_taken[i] == graph_->in(v).size(), v, came.n_taken[i], t);
      result.add(v, user_.finish(v, to_step.values[i], came.sums[i], t));
    }
    return result;
  }
  [[nodiscard]] static std::size_t contribution_bytes(
      const detail::GraphContributions<U>& in) requires GraphHasInteract<U> {
    constexpr std::size_t kNode = 4 * sizeof(void*);  // of a map, about
    return in.sums.capacity() * sizeof(in.sums[0]) + in.n_taken.capacity() * sizeof(std::size_t) +
           in.kept.size() * (sizeof(*in.kept.begin()) + kNode);
  }

  [[nodiscard]] State select(const State& state, const Query& q) const {
    const Membership membership(q);
    State result;
    for (std::size_t i = 0; i < state.ids.size(); ++i) {
      if (membership.contains(state.ids[i])) result.add(state.ids[i], state.values[i]);
    }
    return result;
  }
  [[nodiscard]] State difference(const State& a, const State& b) const {
    State result;
    for (std::size_t i = 0; i < a.ids.size(); ++i) {
      if (!std::ranges::binary_search(b.ids, a.ids[i])) result.add(a.ids[i], a.values[i]);
    }
    return result;
  }
  void merge(State& into, const State& from) const {
    State result;
    std::size_t j = 0;
    for (std::size_t i = 0; i < into.ids.size(); ++i) {
      for (; j < from.ids.size() && from.ids[j] <= into.ids[i]; ++j) {
        if (from.ids[j] < into.ids[i]) result.add(from.ids[j], from.values[j]);
      }
      result.add(into.ids[i], into.values[i]);
    }
    for (; j < from.ids.size(); ++j)
      result.add(from.ids[j], from.values[j]);
    into = std::move(result);
  }
  void write(Writer& writer, const State& state) const {
    writer.put_vector(state.ids);
    writer.put_vector(state.values);
  }
  [[nodiscard]] State read(Reader& reader) const {
    State state;
    state.ids = reader.get_vector<VertexId>();
    state.values = reader.get_vector<Value>();
    if (state.values.size() != state.ids.size()) {
      throw Error("a graph state of " + std::to_string(state.ids.size()) + " vertices and " +
                  std::to_string(state.values.size()) + " values");
    }
    return state;
  }
  void for_each_tuple(const State& state,
                      const std::function<void(std::uint64_t, ByteView)>& f) const {
    for (std::size_t i = 0; i < state.ids.size(); ++i) {
      f(state.ids[i], std::as_bytes(std::span(state.values).subspan(i, 1)));
    }
  }

  // The rings of equal label up to the scheduling depth, so that the inside may run ahead
  // [Ticks 5.2], each cut by work.
  [[nodiscard]] std::vector<Query> own_tiles(const Query& own, const Policy& policy) const {
    RUBATO_REQUIRE(own.kind() == Query::Kind::level && own.level() == 0);
    std::vector<Query> tiles;
    for (int j = 0; j <= policy.depth; ++j) {
      auto ring = own.cut().members(own.part(), static_cast<std::uint32_t>(j));
      if (j < policy.depth) {
        const auto inner = own.cut().members(own.part(), static_cast<std::uint32_t>(j) + 1);
        ring = ring.first(ring.size() - inner.size());
      }
      for (Query& tile : cut_by_work(*graph_, ring, options_.tile_work))
        tiles.push_back(std::move(tile));
    }
    return tiles;
  }
  [[nodiscard]] std::vector<Query> replica_tiles(const RegionQuery<Query>& region) const {
    return cut_by_work(*graph_, vertices_of(region), options_.tile_work);
  }

  // The vertices of a region, ascending.
  [[nodiscard]] std::vector<VertexId> vertices_of(const RegionQuery<Query>& region) const {
    std::vector<VertexId> vertices = region.includes.front().vertices(*graph_);
    for (std::size_t i = 1; i < region.includes.size(); ++i) {
      const Membership included(region.includes[i]);
      std::erase_if(vertices, [&](VertexId v) { return !included.contains(v); });
    }
    for (const Query& exclude : region.excludes) {
      const Membership excluded(exclude);
      std::erase_if(vertices, [&](VertexId v) { return excluded.contains(v); });
    }
    return vertices;
  }

  [[nodiscard]] Measure measure(const State& before,
                                const State& after) const requires GraphHasStop<U> {
    Measure m{};
    for (std::size_t i = 0; i < before.ids.size(); ++i) {
      user_.measure(m, before.ids[i], before.values[i], after.values[i]);
    }
    return combined(m);
  }
  // Combined with nothing, so that a measure that is one only up to its last combination, such as
  // an ExactSum, has the bits of the whole however its vertices were grouped.
  [[nodiscard]] Measure combined(const Measure& m) const requires GraphHasStop<U> {
    Measure whole{};
    user_.combine(whole, m);
    return whole;
  }
  void combine(Measure& into, const Measure& from) const requires GraphHasStop<U> {
    user_.combine(into, from);
  }
  [[nodiscard]] bool stop(const Measure& m, Tick t) const requires GraphHasStop<U> {
    return user_.stop(m, t);
  }
  [[nodiscard]] Tick stop_interval() const requires GraphHasStop<U> {
    return user_.stop_interval();
  }
  [[nodiscard]] Tick stop_lag() const requires GraphHasStop<U> { return user_.stop_lag(); }

 private:
  [[nodiscard]] detail::GraphContributions<U> begun(const State& to_step, Tick t) const {
    detail::GraphContributions<U> in;
    for (std::size_t i = 0; i < to_step.ids.size(); ++i)
      in.sums.push_back(user_.begin(to_step.ids[i], to_step.values[i], t));
    in.n_taken.assign(to_step.ids.size(), 0);
    return in;
  }
  // Edges of vertex v, the i-th that is stepped, up to the first that has not come.
  void take_in_order(detail::GraphContributions<U>& in, VertexId v, std::size_t i, Tick t) const {
    const double* weights = graph_->in_weights(v);
    for (;;) {
      const std::size_t e = in.n_taken[i];
      const auto turn = in.kept.find({i, e});
      if (turn == in.kept.end()) return;
      user_.interact(
          in.sums[i],
          InEdge<Value>{graph_->in(v)[e], turn->second, weights == nullptr ? 1.0 : weights[e]}, t);
      in.kept.erase(turn);
      ++in.n_taken[i];
    }
  }

  std::shared_ptr<const Digraph> graph_;
  U user_;
  GraphModelOptions options_;
};

}  // namespace rubato::tick

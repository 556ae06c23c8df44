#pragma once
// Builds a node's Plan from a model's queries: layers by repeated R_D, W_D, R_X, W_X, dependencies
// and neighbours by DISJOINT [Ticks 5]. All of it happens once, before the first tick.

#include <algorithm>
#include <concepts>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/balance/grains.hpp"
#include "rubato/tick/geometry/box_tree.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan.hpp"

namespace rubato::tick {

// A region as queries: the tuples that all of `includes` and none of `excludes` select.
template <class Query>
struct RegionQuery {
  std::vector<Query> includes;
  std::vector<Query> excludes;
};

// Who owns what: the query of each node. With pieces it is what the node's pieces select together.
template <class Query>
struct Cut {
  std::vector<Query> queries;  // [n_nodes]
  std::vector<Query>
      pieces;  // of all nodes, cut from the model; empty: nodes cut their own regions
  std::vector<NodeId> owners;  // [pieces]
  // What pieces are made of: each of `grains_of_piece` grains that follow each other, the last one of those
  // that are left. Null: each piece is one grain.
  std::shared_ptr<const std::vector<Query>> grains{};
  std::uint32_t grains_of_piece = 1;

  [[nodiscard]] std::uint32_t n_nodes() const noexcept {
    return static_cast<std::uint32_t>(queries.size());
  }
};

// The cut in which owners[p] owns pieces[p]. Throws Error if a node owns none.
template <HasPieces M>
[[nodiscard]] Cut<typename M::Query> cut_of_pieces(const M& model,
                                                   std::vector<typename M::Query> pieces,
                                                   std::vector<NodeId> owners,
                                                   std::uint32_t n_nodes) {
  std::vector<std::vector<typename M::Query>> of_nodes(n_nodes);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    of_nodes[owners[i]].push_back(pieces[i]);
  Cut<typename M::Query> cut;
  for (NodeId node = 0; node < n_nodes; ++node) {
    if (of_nodes[node].empty()) {
      throw Error("pieces: expected at least one a node, found " + std::to_string(pieces.size()) +
                      " in all and none for node " + std::to_string(node) + " of " +
                      std::to_string(n_nodes),
                  ExitCode::usage);
    }
    cut.queries.push_back(model.join(of_nodes[node]));
  }
  cut.pieces = std::move(pieces);
  cut.owners = std::move(owners);
  return cut;
}

// Each n of the queries that follow each other as one.
template <HasPieces M>
[[nodiscard]] std::vector<typename M::Query> joined(const M& model,
                                                    std::span<const typename M::Query> grains,
                                                    std::uint32_t n) {
  std::vector<typename M::Query> pieces;
  for (std::size_t i = 0; i < grains.size(); i += n) {
    const auto of_piece = grains.subspan(i, std::min<std::size_t>(n, grains.size() - i));
    pieces.push_back(of_piece.size() == 1 ? of_piece.front() : model.join(of_piece));
  }
  return pieces;
}

// Whether what was joined can be a piece (HasPieces in tick/model.hpp).
template <HasPieces M>
[[nodiscard]] bool can_be_piece(const M& model, const typename M::Query& joined) {
  if constexpr (requires { model.is_piece(joined); }) return model.is_piece(joined);
  return true;
}

// Whether pieces may be of n grains each. REQUIRES: a cut of pieces.
template <HasPieces M>
[[nodiscard]] bool can_join_grains(const M& model, const Cut<typename M::Query>& cut,
                                   std::uint32_t n) {
  const auto pieces = joined<M>(model, cut.grains ? *cut.grains : cut.pieces, n);
  return pieces.size() >= cut.n_nodes() &&
         std::ranges::all_of(pieces, [&](const auto& piece) { return can_be_piece(model, piece); });
}

// The grains of a cut of pieces, in other pieces of other hands.
template <HasPieces M>
[[nodiscard]] Cut<typename M::Query> cut_of_grains(const M& model,
                                                   const Cut<typename M::Query>& before,
                                                   std::vector<NodeId> owners,
                                                   std::uint32_t grains_of_piece) {
  using Query = typename M::Query;
  std::shared_ptr<const std::vector<Query>> grains = before.grains;
  if (!grains) grains = std::make_shared<const std::vector<Query>>(before.pieces);
  std::vector<Query> pieces = grains_of_piece == before.grains_of_piece
                                  ? before.pieces
                                  : joined<M>(model, *grains, grains_of_piece);
  RUBATO_REQUIRE(pieces.size() == owners.size(), pieces.size(), owners.size());
  Cut<Query> cut = cut_of_pieces(model, std::move(pieces), std::move(owners), before.n_nodes());
  cut.grains = std::move(grains);
  cut.grains_of_piece = grains_of_piece;
  return cut;
}

// A cut whose pieces are each cut into n grains; without grains if one has too few tuples for that.
template <HasSplit M>
void split_into_grains(const M& model, Cut<typename M::Query>& cut, std::uint32_t n) {
  std::vector<typename M::Query> grains;
  auto all = model.split(cut.pieces, n);
  RUBATO_REQUIRE(all.size() == cut.pieces.size(), all.size(), cut.pieces.size());
  for (auto& parts : all) {
    if (parts.size() != n) return;
    std::ranges::move(parts, std::back_inserter(grains));
  }
  cut.grains = std::make_shared<const std::vector<typename M::Query>>(std::move(grains));
  cut.grains_of_piece = n;
}

// About n pieces of the model, each node with a stretch of them.
template <HasPieces M>
[[nodiscard]] Cut<typename M::Query> cut_into_pieces(const M& model, std::uint32_t n_pieces,
                                                     std::uint32_t n_nodes) {
  std::vector<typename M::Query> pieces = model.pieces(n_pieces);
  std::vector<NodeId> owners(pieces.size());
  for (std::size_t i = 0; i < owners.size(); ++i)
    owners[i] = static_cast<NodeId>(i * n_nodes / owners.size());
  return cut_of_pieces(model, std::move(pieces), std::move(owners), n_nodes);
}

// The same in pieces of so many grains each, or of one if that cannot be.
template <HasPieces M>
[[nodiscard]] Cut<typename M::Query> cut_into_pieces(const M& model, std::uint32_t n_pieces,
                                                     std::uint32_t n_nodes,
                                                     std::uint32_t grains_of_piece) {
  if (grains_of_piece == 1) return cut_into_pieces(model, n_pieces, n_nodes);
  if constexpr (HasSplit<M>) {
    auto cut = cut_into_pieces(model, n_pieces, n_nodes);
    split_into_grains(model, cut, grains_of_piece);
    return cut;
  } else {
    auto cut = cut_into_pieces(model, n_pieces * grains_of_piece, n_nodes);
    if (!can_join_grains(model, cut, grains_of_piece)) return cut;
    const std::vector<double> costs(cut.pieces.size(), 1.0);
    auto owners = owners_of_pieces(costs, cut.owners, 1, grains_of_piece, n_nodes);
    return cut_of_grains(model, cut, std::move(owners), grains_of_piece);
  }
}

// A Plan with its queries.
template <class Query>
struct TypedPlan {
  Plan plan;
  std::vector<RegionQuery<Query>> regions;  // [plan.regions]
  std::vector<Query> targets;  // [plan.neighbours] R_D o (W_D o R_D)^m of their queries
  Query own;                   // Q
  Query held;                  // R_D o (W_D o R_D)^m (Q): what init must give
  // Of a cut with pieces: the number of the piece that each own region is.
  std::vector<std::uint32_t> pieces;  // [plan.n_own]
};

// Optional: a model whose queries are exact sets (boxes, vertices) may cut regions itself. The
// queries that each function returns are disjoint and cover what it was given. Thin tiles near the
// border let more work run ahead of a late message, inner tiles are sized for cores and caches.
//   own_tiles(own, policy)      of the node's query, instead of the rings L-j \ L-(j+1)
//   replica_tiles(region)       of a replica or halo region, includes minus excludes
//   skew(own, policy)           optional: the ticks of a wavefront that own tiles are sized for
//   wavefront()                 optional: that of a node alone, n_ticks (skew) and slices.n_abreast of the plan
//   slices(own, policy)         optional: n_abreast of the plan of a node with neighbours
template <class M>
concept HasTiles = requires(const M& m, const typename M::Query& own, const Policy& policy,
                            const RegionQuery<typename M::Query>& region) {
  { m.own_tiles(own, policy) } -> std::convertible_to<std::vector<typename M::Query>>;
  { m.replica_tiles(region) } -> std::convertible_to<std::vector<typename M::Query>>;
};

// R_D o (W_D o R_D)^m (q): what the node that owns q holds, with m replica layers.
template <Model M>
[[nodiscard]] typename M::Query held_query(const M& model, typename M::Query q, int m) {
  for (int layer = 0; layer < m; ++layer)
    q = model.write_dependencies(model.read_dependencies(q));
  return model.read_dependencies(q);
}

// The own regions of a node: its pieces, or else the model's tiles, or rings inwards.
template <Model M>
[[nodiscard]] std::vector<RegionQuery<typename M::Query>> own_regions(
    const M& model, const Cut<typename M::Query>& cut, NodeId node, const Policy& policy) {
  using Query = typename M::Query;
  std::vector<RegionQuery<Query>> regions;
  if (!cut.pieces.empty()) {
    for (std::size_t i = 0; i < cut.pieces.size(); ++i) {
      if (cut.owners[i] == node) regions.push_back({{cut.pieces[i]}, {}});
    }
    return regions;
  }
  if constexpr (HasTiles<M>) {
    for (Query& tile : model.own_tiles(cut.queries[node], policy))
      regions.push_back({{std::move(tile)}, {}});
  } else {
    Query layer = cut.queries[node];
    for (int depth = 0; depth < policy.depth; ++depth) {
      Query inner = model.read_exclusive(model.write_exclusive(layer));
      regions.push_back({{layer}, {inner}});
      layer = std::move(inner);
    }
    regions.push_back({{std::move(layer)}, {}});
  }
  return regions;
}

// Whether a region may select what all of `others` do.
template <Model M>
[[nodiscard]] bool region_meets(const M& model, const RegionQuery<typename M::Query>& region,
                                std::span<const typename M::Query> others) {
  return std::ranges::all_of(region.includes, [&](const auto& include) {
    return std::ranges::none_of(others,
                                [&](const auto& other) { return model.disjoint(include, other); });
  });
}

namespace detail {

// Which regions may meet a query: of queries in general, all of them.
template <class Query>
class RegionIndex {
 public:
  explicit RegionIndex(std::span<const RegionQuery<Query>> regions) : n_(regions.size()) {}

  [[nodiscard]] std::vector<RegionId> near(const Query& /*query*/) const {
    std::vector<RegionId> all(n_);
    std::iota(all.begin(), all.end(), RegionId{0});
    return all;
  }

 private:
  std::size_t n_;
};

// Of queries that are unions of boxes: those with a box that meets a box of the query. A model with
// such queries promises that they are disjoint if no boxes of theirs meet. It may have 100,000
// regions, few of which meet what one of them reads.
template <class T, int D>
class RegionIndex<BoxSet<T, D>> {
 public:
  explicit RegionIndex(std::span<const RegionQuery<BoxSet<T, D>>> regions)
      : tree_(boxes_of(regions)) {}

  // In no order, and one that meets it with two of its boxes twice.
  [[nodiscard]] std::vector<RegionId> near(const BoxSet<T, D>& query) const {
    std::vector<RegionId> found;
    for (const Box<T, D>& box : query.boxes())
      tree_.find(box, found);
    return found;
  }

 private:
  using Items = std::vector<typename BoxTree<T, D>::Item>;
  [[nodiscard]] static Items boxes_of(std::span<const RegionQuery<BoxSet<T, D>>> regions) {
    Items items;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      // A region selects what all of its includes do, so that one of them tells where it is.
      for (const Box<T, D>& box : regions[i].includes.front().boxes())
        items.push_back({box, static_cast<RegionId>(i)});
    }
    return items;
  }

  BoxTree<T, D> tree_;
};

template <Model M>
class PlanBuilder {
 public:
  using Query = typename M::Query;

  PlanBuilder(const M& model, const Cut<Query>& cut, NodeId self, const Policy& policy)
      : model_(model), cut_(cut), queries_(cut.queries), self_(self), policy_(policy) {}

  TypedPlan<Query> build() {
    typed_.plan.self = self_;
    typed_.plan.n_nodes = static_cast<std::uint32_t>(queries_.size());
    typed_.plan.policy = policy_;
    typed_.own = queries_[self_];
    const int m = policy_.replica_layers;
    outer_ = outwards(typed_.own, m + 1);
    typed_.held = model_.read_dependencies(outer_[static_cast<std::size_t>(m)]);
    add_own_regions();
    add_neighbours();
    if (typed_.plan.neighbours.empty()) {
      typed_.plan.skew = kSkew;
      if constexpr (HasTiles<M> && requires { model_.wavefront(); }) {
        if (cut_.pieces.empty()) {
          const auto wavefront = model_.wavefront();
          typed_.plan.in_blocks = true;
          typed_.plan.skew = wavefront.n_ticks;
          typed_.plan.n_abreast = wavefront.slices.n_abreast;
        }
      }
    } else if constexpr (HasTiles<M> && requires { model_.slices(typed_.own, policy_); }) {
      if (cut_.pieces.empty()) typed_.plan.n_abreast = model_.slices(typed_.own, policy_).n_abreast;
    }
    add_inputs();
    add_sources();
    return std::move(typed_);
  }

 private:
  // (W_D o R_D)^j(q) for j = 0 .. n.
  [[nodiscard]] std::vector<Query> outwards(const Query& q, int n) const {
    std::vector<Query> layers{q};
    for (int j = 0; j < n; ++j) {
      layers.push_back(model_.write_dependencies(model_.read_dependencies(layers.back())));
    }
    return layers;
  }

  void add_replica(RegionQuery<Query> query, int layer, std::uint32_t neighbour) {
    if constexpr (HasTiles<M>) {
      for (Query& tile : model_.replica_tiles(query))
        push({{tile}, {}}, layer, neighbour);
    } else {
      push(std::move(query), layer, neighbour);
    }
  }
  void push(RegionQuery<Query> query, int layer, std::uint32_t neighbour) {
    Region region;
    region.layer = layer;
    region.neighbour = neighbour;
    typed_.plan.regions.push_back(region);
    typed_.regions.push_back(std::move(query));
    if (neighbour != kNoNeighbour) {
      typed_.plan.neighbours[neighbour].regions.push_back(
          static_cast<RegionId>(typed_.plan.regions.size() - 1));
    }
  }

  void add_own_regions() {
    int layer = 0;
    const bool rings = !HasTiles<M> && cut_.pieces.empty();
    for (RegionQuery<Query>& region : own_regions(model_, cut_, self_, policy_))
      push(std::move(region), rings ? layer-- : 0, kNoNeighbour);
    for (std::uint32_t piece = 0; piece < cut_.pieces.size(); ++piece) {
      if (cut_.owners[piece] == self_) typed_.pieces.push_back(piece);
    }
    if constexpr (HasTiles<M> && requires { model_.skew(typed_.own, policy_); }) {
      typed_.plan.skew = model_.skew(typed_.own, policy_);
    }
    typed_.plan.n_own = static_cast<std::uint32_t>(typed_.plan.regions.size());
  }

  void add_neighbours() {
    const auto m = static_cast<std::size_t>(policy_.replica_layers);
    for (NodeId node = 0; node < queries_.size(); ++node) {
      if (node == self_) continue;
      const std::vector<Query> theirs = outwards(queries_[node], policy_.replica_layers + 1);
      Neighbour neighbour;
      neighbour.node = node;
      neighbour.sends_here = !model_.disjoint(queries_[node], outer_[m + 1]);
      neighbour.receives = !model_.disjoint(typed_.own, theirs[m + 1]);
      if (!neighbour.sends_here && !neighbour.receives) continue;
      const auto index = static_cast<std::uint32_t>(typed_.plan.neighbours.size());
      typed_.plan.neighbours.push_back(std::move(neighbour));
      typed_.targets.push_back(model_.read_dependencies(theirs[m]));
      far_.push_back(theirs[m + 1]);
      if (!typed_.plan.neighbours[index].sends_here) continue;
      if (policy_.pieces) {
        add_pieces_of(index);
        continue;
      }
      for (std::size_t layer = 1; layer <= m + 1; ++layer) {
        if (model_.disjoint(queries_[node], outer_[layer])) continue;
        add_replica({{outer_[layer], queries_[node]}, {outer_[layer - 1]}}, static_cast<int>(layer),
                    index);
      }
    }
  }

  // What each piece of a neighbour fills here. The neighbour cuts its query likewise, and finds the
  // same pieces to be sources for this node (add_sources).
  void add_pieces_of(std::uint32_t index) {
    const std::vector<Query> reach{outer_[1]};
    const NodeId node = typed_.plan.neighbours[index].node;
    for (RegionQuery<Query>& piece : own_regions(model_, cut_, node, policy_)) {
      if (!meets(piece, reach)) continue;
      const auto begin = static_cast<RegionId>(typed_.plan.regions.size());
      if (HasTiles<M> && !cut_.pieces.empty()) {
        // One region of the shape that it has at its owner, of which the rest stays empty.
        push(std::move(piece), 1, index);
      } else {
        piece.includes.push_back(outer_[1]);
        piece.excludes.push_back(typed_.own);
        add_replica(std::move(piece), 1, index);
      }
      std::vector<RegionId> filled(typed_.plan.regions.size() - begin);
      std::iota(filled.begin(), filled.end(), begin);
      typed_.plan.neighbours[index].pieces.append(filled);
    }
    Neighbour& neighbour = typed_.plan.neighbours[index];
    neighbour.sends_here = neighbour.pieces.size() != 0;
  }

  // B is an input of A if stepping B can yield what A reads. Beside DISJOINT, the layers tell: Lj
  // reads and is written from within Lj+1 (outwards by definition, inwards by R_X and W_X).
  void add_inputs() {
    Plan& plan = typed_.plan;
    const RegionIndex<Query> index(typed_.regions);
    for (RegionId a = 0; a < plan.regions.size(); ++a) {
      std::vector<RegionId> inputs;
      if (plan.regions[a].layer <= policy_.replica_layers) inputs = inputs_of(a, index);
      plan.inputs.append(inputs);
    }
    plan.link_readers();
  }

  // Ascending.
  [[nodiscard]] std::vector<RegionId> inputs_of(RegionId a, const RegionIndex<Query>& index) const {
    std::vector<Query> reach;
    for (const Query& include : typed_.regions[a].includes)
      reach.push_back(model_.write_dependencies(model_.read_dependencies(include)));
    std::vector<RegionId> inputs = index.near(reach.front());
    inputs.push_back(a);
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    const int layer_most = typed_.plan.regions[a].layer + 1;
    std::erase_if(inputs, [&](RegionId b) {
      return a != b &&
             (typed_.plan.regions[b].layer > layer_most || !meets(typed_.regions[b], reach));
    });
    return inputs;
  }

  // Without a scheduling depth STEP is one call for all of Q, and its round leaves after it [Ticks
  // Algorithms 1 and 3]; with one, a round leaves as soon as the regions that it comes from are
  // there.
  void add_sources() {
    Plan& plan = typed_.plan;
    for (std::size_t i = 0; i < plan.neighbours.size(); ++i) {
      std::vector<RegionId>& sources = plan.neighbours[i].sources;
      if (!plan.neighbours[i].receives) continue;
      for (RegionId b = 0; b < plan.n_own; ++b) {
        if (policy_.depth == 0 || meets(typed_.regions[b], std::vector<Query>{far_[i]})) {
          sources.push_back(b);
        }
      }
      if (policy_.pieces) {
        // No piece is read there, whatever DISJOINT says of the whole.
        plan.neighbours[i].receives = !sources.empty();
        continue;
      }
      // DISJOINT on the parts may say less than on the whole; the round is sent all the same.
      if (sources.empty()) {
        for (RegionId b = 0; b < plan.n_own; ++b)
          sources.push_back(b);
      }
    }
    plan.set_depths();
  }

  [[nodiscard]] bool meets(const RegionQuery<Query>& region,
                           const std::vector<Query>& others) const {
    return region_meets(model_, region, std::span<const Query>(others));
  }

  const M& model_;
  const Cut<Query>& cut_;
  const std::vector<Query>& queries_;
  NodeId self_;
  Policy policy_;
  TypedPlan<Query> typed_{};
  std::vector<Query> outer_;
  std::vector<Query> far_;  // [neighbours] (W_D o R_D)^(m+1) of their queries
};

}  // namespace detail

// The plan of node `self`. REQUIRES: policy is valid, self < cut.n_nodes().
template <Model M>
[[nodiscard]] TypedPlan<typename M::Query> build_plan(const M& model,
                                                      const Cut<typename M::Query>& cut,
                                                      NodeId self, const Policy& policy) {
  policy.validate();
  RUBATO_REQUIRE(self < cut.n_nodes(), self, cut.n_nodes());
  return detail::PlanBuilder<M>(model, cut, self, policy).build();
}

// The same when node i owns queries[i].
template <Model M>
[[nodiscard]] TypedPlan<typename M::Query> build_plan(const M& model,
                                                      std::span<const typename M::Query> queries,
                                                      NodeId self, const Policy& policy) {
  return build_plan(model, Cut<typename M::Query>{{queries.begin(), queries.end()}, {}, {}}, self,
                    policy);
}

}  // namespace rubato::tick

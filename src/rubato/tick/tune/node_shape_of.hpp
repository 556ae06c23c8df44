#pragma once
// The NodeShape of a node of a model that has sizes.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "rubato/tick/plan_builder.hpp"
#include "rubato/tick/tune/node_shape.hpp"
#include "rubato/tick/tune/own_grains.hpp"

namespace rubato::tick {

// Optional: how large a query is: about the number of tuples that it selects, or what stepping them
// costs, in any unit that is the same for all. Policy auto needs it. The second one tells of
// replicas: without it no policy that has some is forecast.
//   size(q)                 >= 0
//   intersection(a, b)      selects what both do
//   tells_layers(own)       optional: false where intersections would take too long
// and if what a unit of size costs differs from place to place, as that of areas does, it says so: what
// replicas of a part cost is then told by what its own node has measured.
//   static constexpr bool kUnevenSize = true;
template <class M>
concept HasSize = requires(const M& m, const typename M::Query& q) {
  { m.size(q) } -> std::convertible_to<double>;
};
template <class M>
concept HasIntersection = requires(const M& m, const typename M::Query& q) {
  { m.intersection(q, q) } -> std::convertible_to<typename M::Query>;
};

template <class M>
[[nodiscard]] bool tells_layers(const M& model, const typename M::Query& own) {
  if constexpr (!HasIntersection<M>) {
    return false;
  } else if constexpr (requires { model.tells_layers(own); }) {
    return model.tells_layers(own);
  } else {
    return true;
  }
}

template <class M>
concept HasUnevenSize = requires {
  requires M::kUnevenSize;
};

// Fills LinkShape::with.
template <class M>
void find_common_sides(const M& model, const Cut<typename M::Query>& cut, NodeId self,
                       NodeShape& shape) {
  std::vector<typename M::Query> sides;
  if constexpr (HasIntersection<M>) {
    for (const LinkShape& link : shape.links) {
      if (!tells_layers(model, cut.queries[self])) break;
      const auto reach = model.write_dependencies(model.read_dependencies(cut.queries[link.node]));
      sides.push_back(model.intersection(reach, cut.queries[self]));
    }
  }
  for (std::uint32_t a = 0; a < shape.links.size(); ++a) {
    for (std::uint32_t b = 0; b < shape.links.size(); ++b) {
      if (a == b || (!sides.empty() && model.disjoint(sides[a], sides[b]))) continue;
      shape.links[a].with.push_back(b);
    }
  }
}

// Layers of replicas that are larger than this times the own query are not looked at. Not to spare memory:
// so many are worth their time only where a tick takes a small part of a late message, and is of little.
// Where sizes are uneven it is the mean part's, if that is larger: a part in a crowd is small.
inline constexpr double kMostOutside = 32;

// What can be stepped ahead of what is outside. Once the shape's links are known.
template <class M>
void find_inside(const M& model, const Cut<typename M::Query>& cut, NodeId self,
                 const ShapeLimits& limits, NodeShape& shape) {
  if (cut.pieces.empty()) {
    typename M::Query inner = cut.queries[self];
    for (Tick depth = 0; depth < limits.depth && shape.size > 0; ++depth) {
      inner = model.read_exclusive(model.write_exclusive(inner));
      shape.inside.push_back(model.size(inner));
      if (shape.inside.back() == 0) break;
    }
    return;
  }
  std::vector<NodeId> senders;
  for (const LinkShape& link : shape.links)
    senders.push_back(link.node);
  const OwnGrains grains = own_grains(model, cut, self, senders);
  shape.inside = grains.inside(cut.grains_of_piece, limits.depth);
  for (const std::uint32_t n : limits.grains_of_piece)
    shape.inside_of.push_back(grains.inside(n, limits.depth));
}

// Of node `self`.
template <class M>
requires Model<M> && HasSize<M>
[[nodiscard]] NodeShape node_shape(const M& model, const Cut<typename M::Query>& cut, NodeId self,
                                   const ShapeLimits& limits) {
  using Query = typename M::Query;
  NodeShape shape;
  const Query& own = cut.queries[self];
  shape.size = model.size(own);
  shape.is_uneven = HasUnevenSize<M>;
  std::vector<std::vector<double>> within(cut.n_nodes());  // [node][j - 1] of L_j
  std::vector<bool> sends(cut.n_nodes());
  Query outer = own;
  const bool has_layers = tells_layers(model, own);
  double part = shape.size;
  if constexpr (HasUnevenSize<M>) {
    double all = 0;
    for (const Query& query : cut.queries)
      all += model.size(query);
    part = std::max(part, all / static_cast<double>(cut.n_nodes()));
  }
  double outside = 0;
  bool grows = true;
  for (int layer = 1; layer <= limits.layers + 1 && grows; ++layer) {
    outer = model.write_dependencies(model.read_dependencies(outer));
    const double before = std::exchange(outside, 0);
    for (NodeId node = 0; node < cut.n_nodes(); ++node) {
      double size = 0;
      const bool meets = node != self && !model.disjoint(cut.queries[node], outer);
      if (meets) sends[node] = true;
      if constexpr (HasIntersection<M>) {
        if (meets && has_layers) size = model.size(model.intersection(outer, cut.queries[node]));
      }
      within[node].push_back(size);
      outside += size;
    }
    shape.layers = layer - 1;
    if (!has_layers || outside > kMostOutside * part) break;
    // All that can be reached: further layers add nothing.
    grows = layer == 1 || outside > before;
    if (!grows) shape.layers = limits.layers;
  }
  for (NodeId node = 0; node < cut.n_nodes(); ++node) {
    if (!sends[node]) continue;
    LinkShape link{node, within[node]};
    for (std::size_t j = link.layers.size(); j-- > 1;)
      link.layers[j] -= link.layers[j - 1];
    shape.links.push_back(std::move(link));
  }
  find_common_sides(model, cut, self, shape);
  find_inside(model, cut, self, limits, shape);
  return shape;
}

}  // namespace rubato::tick

#pragma once
// NodeShape: how much of a node's work lies how far from its border, and how much of its
// neighbours' it would do again with replicas: what a forecast needs to know of a cut, found by the
// model's functions (node_shape_of.hpp), without a plan.

#include <cstdint>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/plan.hpp"

namespace rubato::tick {

// A neighbour that sends here.
struct LinkShape {
  NodeId node = 0;
  std::vector<double>
      layers{};  // [j - 1] of layer j, up to one beyond NodeShape::layers or the last that adds some
  // Other links whose round cannot be packed while this one's is late: both meet the same tuples.
  std::vector<std::uint32_t> with{};
};

// How far a shape is looked at.
struct ShapeLimits {
  int layers = 0;  // of replicas, at most
  Tick depth = 0;  // ticks ahead, at most
  // Of a cut of pieces: of how many grains they might be, other than now (balance/grains.hpp).
  std::vector<std::uint32_t> grains_of_piece{};
};

struct NodeShape {
  double size = 0;         // of the own query
  bool is_uneven = false;  // what a unit of size costs differs from part to part
  // [j] what can be stepped to j + 1 ticks ahead of what is outside; of pieces whole ones
  std::vector<double> inside;
  // [ShapeLimits::grains_of_piece] the same, if pieces were of so many grains
  std::vector<std::vector<double>> inside_of{};
  int layers = 0;  // of replicas at most: more would be far more than the own query
  std::vector<LinkShape> links;

  void put(Writer& out) const;
  [[nodiscard]] static NodeShape get(Reader& in);
};

}  // namespace rubato::tick

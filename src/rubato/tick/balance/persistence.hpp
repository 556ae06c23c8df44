#pragma once
// The persistence-based balancer [Lifflander 4], which [AsyTick 5] compares with: what a piece cost
// in the ticks before it will cost in those to come, so pieces move from nodes that had more than
// their share to nodes that had less, and as few of them as that takes.
//
// It is hierarchical: nodes are the leaves of a tree. A node with too much gives the excess up; a
// group of nodes takes what it can of what its own members gave and gives the rest up to the next
// larger group. So most pieces stay near, among nodes of neighbouring numbers. A pure function: every
// node calls it with the costs of all pieces and gets the same owners.
//
// Differs from the reference, which hands out the largest first: pieces are handed out in the order of
// their numbers, a run of them to each node, so that what moves stays in few places.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/net/fabric.hpp"

namespace rubato::tick {

using net::NodeId;

struct BalanceOptions {
  // A node keeps its pieces while it has no more than this many times the mean.
  double tolerance = 1.02;
  std::uint32_t fan_out = 4;  // of the tree
};

// The new owner of each piece. `costs` are the times that pieces took, in any unit, `owners` who has
// them now. A node that has too much because of one piece keeps that piece: it cannot be cut.
// REQUIRES: as many owners as costs, all of them below n_nodes; costs >= 0 and finite;
// tolerance >= 1 and fan_out >= 2.
[[nodiscard]] std::vector<NodeId> balance_by_persistence(std::span<const double> costs,
                                                         std::span<const NodeId> owners,
                                                         std::uint32_t n_nodes,
                                                         const BalanceOptions& options = {});

// The computational imbalance of loads, max / mean - 1 [AsyTick 5, equation 2]; 0 if there is none.
[[nodiscard]] double imbalance(std::span<const double> loads) noexcept;

}  // namespace rubato::tick

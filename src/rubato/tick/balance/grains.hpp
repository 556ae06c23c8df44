#pragma once
// Grains: what pieces are made of where their number may change while a model runs. The
// model is cut once, into grains; a piece is so many of them that follow each other, the last one has
// those that are left. Pure functions: every node comes to the same.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/net/fabric.hpp"

namespace rubato::tick {

using net::NodeId;

[[nodiscard]] constexpr std::uint32_t n_pieces_of(std::uint32_t n_grains,
                                                  std::uint32_t grains_of_piece) noexcept {
  return (n_grains + grains_of_piece - 1) / grains_of_piece;
}

// [grains] what each costs, if those of a piece share its cost evenly. REQUIRES: as many costs as
// pieces.
[[nodiscard]] std::vector<double> costs_of_grains(std::span<const double> costs,
                                                  std::uint32_t n_grains,
                                                  std::uint32_t grains_of_piece);
// [pieces] and the other way round.
[[nodiscard]] std::vector<double> costs_of_pieces(std::span<const double> grains,
                                                  std::uint32_t grains_of_piece);

// [pieces] who owns those of `after` grains, where those of `before` have `owners`: each the node that
// has most of its cost, `grains`; of those that have as much the first. A node that would have none
// gets the piece of which others lose the least by it, from one that has several. REQUIRES: each node has a piece now, and there
// are n_nodes pieces at least.
[[nodiscard]] std::vector<NodeId> owners_of_pieces(std::span<const double> grains,
                                                   std::span<const NodeId> owners,
                                                   std::uint32_t before, std::uint32_t after,
                                                   std::uint32_t n_nodes);

}  // namespace rubato::tick

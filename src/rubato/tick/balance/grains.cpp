#include "rubato/tick/balance/grains.hpp"

#include <algorithm>
#include <map>

#include "rubato/base/error.hpp"

namespace rubato::tick {

std::vector<double> costs_of_grains(std::span<const double> costs, std::uint32_t n_grains,
                                    std::uint32_t grains_of_piece) {
  RUBATO_REQUIRE(grains_of_piece > 0 && costs.size() == n_pieces_of(n_grains, grains_of_piece),
                 costs.size(), n_grains, grains_of_piece);
  std::vector<double> grains(n_grains);
  for (std::uint32_t i = 0; i < n_grains; ++i) {
    const std::uint32_t first = i / grains_of_piece * grains_of_piece;
    grains[i] = costs[i / grains_of_piece] / std::min(grains_of_piece, n_grains - first);
  }
  return grains;
}

std::vector<double> costs_of_pieces(std::span<const double> grains, std::uint32_t grains_of_piece) {
  std::vector<double> costs(
      n_pieces_of(static_cast<std::uint32_t>(grains.size()), grains_of_piece));
  for (std::size_t i = 0; i < grains.size(); ++i)
    costs[i / grains_of_piece] += grains[i];
  return costs;
}

std::vector<NodeId> owners_of_pieces(std::span<const double> grains, std::span<const NodeId> owners,
                                     std::uint32_t before, std::uint32_t after,
                                     std::uint32_t n_nodes) {
  const std::uint32_t n_pieces = n_pieces_of(static_cast<std::uint32_t>(grains.size()), after);
  RUBATO_REQUIRE(n_pieces >= n_nodes, n_pieces, n_nodes);
  std::vector<std::map<NodeId, double>> shares(n_pieces);
  for (std::size_t i = 0; i < grains.size(); ++i)
    shares[i / after][owners[i / before]] += grains[i];
  std::vector<NodeId> result(n_pieces);
  std::vector<std::uint32_t> n_of(n_nodes);
  for (std::uint32_t piece = 0; piece < n_pieces; ++piece) {
    const auto most = std::ranges::max_element(
        shares[piece], [](const auto& a, const auto& b) { return a.second < b.second; });
    result[piece] = most->first;
    ++n_of[result[piece]];
  }
  for (NodeId node = 0; node < n_nodes; ++node) {
    if (n_of[node] > 0) continue;
    const auto gain = [&](std::uint32_t piece) {
      const auto& of = shares[piece];
      const auto share = of.find(node);
      return (share == of.end() ? 0 : share->second) - of.at(result[piece]);
    };
    std::uint32_t best = n_pieces;
    for (std::uint32_t piece = 0; piece < n_pieces; ++piece) {
      if (n_of[result[piece]] < 2) continue;
      if (best == n_pieces || gain(piece) > gain(best)) best = piece;
    }
    RUBATO_ASSERT(best < n_pieces, node, n_pieces, n_nodes);
    --n_of[result[best]];
    result[best] = node;
    ++n_of[node];
  }
  return result;
}

}  // namespace rubato::tick

#pragma once
// OwnGrains: which of a node's grains read which, and which read others' tuples: how far ahead of late
// messages its pieces can be, of however many grains they are (balance/grains.hpp). A piece that needs
// anything of another node waits for it as a whole.

#include <cstdint>
#include <span>
#include <vector>

#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

struct OwnGrains {
  std::vector<std::uint32_t> numbers;  // ascending
  std::vector<double> sizes;
  std::vector<bool> reads_others;
  RegionLists inputs;  // of each, the own ones that it reads: their places in `numbers`

  // [j] the size of those whose pieces can be stepped to j + 1 ticks ahead of what is outside: up to
  // `depth_most` of them or to the first that is 0.
  [[nodiscard]] std::vector<double> inside(std::uint32_t grains_of_piece, Tick depth_most) const;
};

// Of node `self`, which has messages of the nodes in `senders`. REQUIRES: a cut of pieces.
template <class M>
[[nodiscard]] OwnGrains own_grains(const M& model, const Cut<typename M::Query>& cut, NodeId self,
                                   std::span<const NodeId> senders) {
  using Query = typename M::Query;
  const std::vector<Query>& all = cut.grains ? *cut.grains : cut.pieces;
  OwnGrains own;
  std::vector<RegionQuery<Query>> regions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (cut.owners[i / cut.grains_of_piece] != self) continue;
    own.numbers.push_back(static_cast<std::uint32_t>(i));
    own.sizes.push_back(model.size(all[i]));
    regions.push_back({{all[i]}, {}});
  }
  const detail::RegionIndex<Query> index(regions);
  for (const RegionQuery<Query>& region : regions) {
    const Query reach = model.write_dependencies(model.read_dependencies(region.includes.front()));
    bool reads_others = false;
    for (const NodeId node : senders)
      reads_others = reads_others || !model.disjoint(cut.queries[node], reach);
    own.reads_others.push_back(reads_others);
    std::vector<RegionId> inputs = index.near(reach);
    std::erase_if(inputs, [&](RegionId other) {
      return model.disjoint(regions[other].includes.front(), reach);
    });
    own.inputs.append(inputs);
  }
  return own;
}

}  // namespace rubato::tick

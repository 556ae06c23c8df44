#include "rubato/tick/plan.hpp"

#include <utility>

namespace rubato::tick {

std::size_t Plan::bytes() const noexcept {
  std::size_t n = sizeof *this + regions.capacity() * sizeof(Region) + inputs.bytes() +
                  readers.bytes() + neighbours.capacity() * sizeof(Neighbour);
  for (const Neighbour& each : neighbours)
    n += each.sources.capacity() * sizeof(RegionId) + each.regions.capacity() * sizeof(RegionId) +
         each.pieces.bytes();
  return n;
}

void Plan::link_readers() {
  std::vector<std::vector<RegionId>> lists(regions.size());
  for (RegionId reader = 0; reader < regions.size(); ++reader) {
    for (const RegionId input : inputs[reader])
      lists[input].push_back(reader);
  }
  readers = {};
  for (const auto& list : lists)
    readers.append(list);
}

void Plan::set_depths() {
  const auto most = static_cast<std::uint32_t>(policy.depth);
  std::vector<RegionId> front;
  for (RegionId region = 0; region < n_own; ++region)
    regions[region].depth = most;
  for (const Neighbour& neighbour : neighbours) {
    for (const RegionId source : neighbour.sources) {
      if (regions[source].depth != 0) front.push_back(source);
      regions[source].depth = 0;
    }
  }
  for (std::uint32_t depth = 1; depth < most; ++depth) {
    std::vector<RegionId> next;
    for (const RegionId region : front) {
      for (const RegionId input : inputs[region]) {
        if (!regions[input].own() || regions[input].depth <= depth) continue;
        regions[input].depth = depth;
        next.push_back(input);
      }
    }
    front = std::move(next);
  }
}

}  // namespace rubato::tick

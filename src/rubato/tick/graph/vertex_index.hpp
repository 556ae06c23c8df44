#pragma once
// Which regions of a graph's plan a list of vertices may meet: found by its vertices, so that a plan
// of many pieces does not compare all of them with each other.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/graph/vertex_query.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick::detail {

template <>
class RegionIndex<VertexQuery> {
 public:
  explicit RegionIndex(std::span<const RegionQuery<VertexQuery>> regions) : n_(regions.size()) {
    // A region selects what all of its includes do, so that one of them tells where it is.
    for (std::size_t i = 0; i < n_; ++i) {
      const VertexQuery& query = regions[i].includes.front();
      if (query.kind() != VertexQuery::Kind::list) {
        anywhere_.push_back(static_cast<RegionId>(i));
        continue;
      }
      for (const VertexId v : query.list())
        at_.emplace_back(v, static_cast<RegionId>(i));
    }
    std::ranges::sort(at_);
  }

  // Each once, in no order: exactly those that meet a list, and more that may meet other queries.
  [[nodiscard]] std::vector<RegionId> near(const VertexQuery& query) const {
    std::vector<RegionId> found = anywhere_;
    if (query.kind() != VertexQuery::Kind::list) {
      found.resize(n_);
      std::iota(found.begin(), found.end(), RegionId{0});
      return found;
    }
    std::vector<std::uint8_t> is_found(n_, 0);
    auto at = at_.begin();
    for (const VertexId v : query.list()) {
      at = std::lower_bound(at, at_.end(), std::pair(v, RegionId{0}));
      for (; at != at_.end() && at->first == v; ++at) {
        if (is_found[at->second] == 0) found.push_back(at->second);
        is_found[at->second] = 1;
      }
    }
    return found;
  }

 private:
  std::size_t n_;
  std::vector<RegionId> anywhere_;                 // regions that are no lists
  std::vector<std::pair<VertexId, RegionId>> at_;  // ascending
};

}  // namespace rubato::tick::detail

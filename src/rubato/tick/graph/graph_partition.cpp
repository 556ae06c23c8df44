#include "rubato/tick/graph/graph_partition.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "rubato/base/error.hpp"
#include "rubato/tick/graph/detail/metis.hpp"

namespace rubato::tick {

GraphPartition::GraphPartition(std::shared_ptr<const Digraph> graph, std::uint32_t n_parts)
    : GraphPartition(graph, detail::cut_with_metis(*graph, n_parts), n_parts) {}

GraphPartition::GraphPartition(std::shared_ptr<const Digraph> graph,
                               std::vector<std::uint32_t> owner, std::uint32_t n_parts)
    : graph_(std::move(graph)), owner_(std::move(owner)) {
  RUBATO_REQUIRE(n_parts > 0 && owner_.size() == graph_->n_vertices(), n_parts, owner_.size());
  member_begins_.assign(std::size_t{n_parts} + 1, 0);
  for (const std::uint32_t part : owner_) {
    RUBATO_REQUIRE(part < n_parts, part, n_parts);
    ++member_begins_[part + std::size_t{1}];
  }
  std::partial_sum(member_begins_.begin(), member_begins_.end(), member_begins_.begin());
  label_inside();
  members_.resize(owner_.size());
  std::iota(members_.begin(), members_.end(), VertexId{0});
  std::ranges::sort(members_, [this](VertexId a, VertexId b) {
    return std::tuple(owner_[a], label_[a], a) < std::tuple(owner_[b], label_[b], b);
  });
  shells_.resize(n_parts);
}

// Breadth first from all borders at once, along the edges that stay inside.
void GraphPartition::label_inside() {
  const VertexId n = graph_->n_vertices();
  label_.assign(n, kNoBorder);
  std::vector<VertexId> frontier;
  // Edges by source: only needed here.
  std::vector<std::uint64_t> begins(std::size_t{n} + 1, 0);
  for (VertexId v = 0; v < n; ++v) {
    for (const VertexId u : graph_->in(v)) {
      if (owner_[u] == owner_[v]) {
        ++begins[u + std::size_t{1}];
      } else if (label_[v] != 0) {
        label_[v] = 0;
        frontier.push_back(v);
      }
    }
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<VertexId> out(begins.back());
  std::vector<std::uint64_t> at(begins.begin(), begins.end() - 1);
  for (VertexId v = 0; v < n; ++v) {
    for (const VertexId u : graph_->in(v)) {
      if (owner_[u] == owner_[v]) out[at[u]++] = v;
    }
  }
  std::vector<VertexId> next;
  for (std::uint32_t label = 1; !frontier.empty(); ++label) {
    next.clear();
    for (const VertexId u : frontier) {
      for (std::uint64_t i = begins[u]; i < begins[u + std::size_t{1}]; ++i) {
        if (label_[out[i]] != kNoBorder) continue;
        label_[out[i]] = label;
        next.push_back(out[i]);
      }
    }
    frontier.swap(next);
  }
}

std::span<const VertexId> GraphPartition::members(std::uint32_t part, std::uint32_t label) const {
  const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(member_begins_[part]);
  const auto end =
      members_.begin() + static_cast<std::ptrdiff_t>(member_begins_[part + std::size_t{1}]);
  const auto first =
      std::partition_point(begin, end, [&](VertexId v) { return label_[v] < label; });
  return {first, end};
}

const Shell& GraphPartition::shell(std::uint32_t part, int hops) const {
  RUBATO_REQUIRE(hops >= 1 && part < n_parts(), hops, part);
  const std::lock_guard lock(shells_mutex_);
  while (shells_[part].size() < static_cast<std::size_t>(hops))
    add_shell(part);
  return shells_[part][static_cast<std::size_t>(hops) - 1];
}

void GraphPartition::add_shell(std::uint32_t part) const {
  std::deque<Shell>& shells = shells_[part];
  std::vector<VertexId> found;
  const auto add_sources = [&](std::span<const VertexId> of) {
    for (const VertexId v : of) {
      for (const VertexId u : graph_->in(v)) {
        if (owner_[u] != part) found.push_back(u);
      }
    }
  };
  if (shells.empty()) {
    add_sources(members(part));
  } else {
    add_sources(shells.back().vertices);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (const Shell& nearer : shells) {
    std::vector<VertexId> rest;
    std::ranges::set_difference(found, nearer.vertices, std::back_inserter(rest));
    found.swap(rest);
  }
  Shell shell;
  shell.vertices = std::move(found);
  for (const VertexId v : shell.vertices)
    shell.deepest.emplace_back(owner_[v], label_[v]);
  std::ranges::sort(shell.deepest, std::greater{});
  // Of each owner the first is the largest label.
  const auto same_owner = [](const auto& a, const auto& b) { return a.first == b.first; };
  auto& list = shell.deepest;
  list.erase(std::unique(list.begin(), list.end(), same_owner), list.end());
  std::ranges::reverse(shell.deepest);
  shells.push_back(std::move(shell));
}

// Whether a vertex of part q with a label of at least `depth` lies in the shells 1..hops of p.
bool GraphPartition::reaches(std::uint32_t p, int hops, std::uint32_t q, int depth) const {
  for (int h = 1; h <= hops; ++h) {
    const auto& deepest = shell(p, h).deepest;
    const auto at = std::ranges::lower_bound(deepest, std::pair(q, std::uint32_t{0}));
    if (at != deepest.end() && at->first == q && at->second >= static_cast<std::uint32_t>(depth)) {
      return true;
    }
  }
  return false;
}

bool GraphPartition::disjoint(std::uint32_t p, int a, std::uint32_t q, int b) const {
  // Levels of one part are nested.
  if (p == q) return members(p, static_cast<std::uint32_t>(std::max(0, -std::min(a, b)))).empty();
  if (a <= 0 && b <= 0) return true;
  if (a > 0 && reaches(p, a, q, std::max(0, -b))) return false;
  if (b > 0 && reaches(q, b, p, std::max(0, -a))) return false;
  for (int i = 1; i <= a; ++i) {
    for (int j = 1; j <= b; ++j) {
      std::vector<VertexId> common;
      std::ranges::set_intersection(shell(p, i).vertices, shell(q, j).vertices,
                                    std::back_inserter(common));
      if (!common.empty()) return false;
    }
  }
  return true;
}

}  // namespace rubato::tick

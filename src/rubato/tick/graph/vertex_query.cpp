#include "rubato/tick/graph/vertex_query.hpp"

#include <algorithm>
#include <numeric>

namespace rubato::tick {
namespace {

// Ascending, each once.
void make_set(std::vector<VertexId>& vertices, VertexId n_vertices) {
  // Looking at a mark of every vertex is faster than to sort where many of them are there.
  constexpr std::size_t kMany = 8;
  if (vertices.size() < n_vertices / kMany) {
    std::ranges::sort(vertices);
    vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
    return;
  }
  std::vector<std::uint8_t> is_in(n_vertices);
  for (const VertexId v : vertices)
    is_in[v] = 1;
  vertices.clear();
  for (VertexId v = 0; v < n_vertices; ++v) {
    if (is_in[v] != 0) vertices.push_back(v);
  }
}

// The list and all vertices with an edge into it, ascending.
std::vector<VertexId> sources_and(std::span<const VertexId> list, const Digraph& graph) {
  std::vector<VertexId> result(list.begin(), list.end());
  for (const VertexId v : list) {
    const auto in = graph.in(v);
    result.insert(result.end(), in.begin(), in.end());
  }
  make_set(result, graph.n_vertices());
  result.shrink_to_fit();
  return result;
}

// Costs the length of the shorter list if the other is much longer, as a piece beside a node.
bool disjoint_lists(std::span<const VertexId> a, std::span<const VertexId> b) {
  constexpr std::size_t kMuchLonger = 16;
  if (a.size() > b.size()) std::swap(a, b);
  const bool jumps = b.size() / kMuchLonger > a.size();
  auto there = b.begin();
  for (const VertexId v : a) {
    if (jumps) {
      there = std::lower_bound(there, b.end(), v);
    } else {
      while (there != b.end() && *there < v)
        ++there;
    }
    if (there == b.end()) return true;
    if (*there == v) return false;
  }
  return true;
}

}  // namespace

VertexQuery VertexQuery::join(const Digraph& graph, std::span<const VertexQuery> queries) {
  std::vector<VertexId> all;
  for (const VertexQuery& query : queries) {
    const std::vector<VertexId> some = query.vertices(graph);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all);
  return VertexQuery(std::make_shared<const List>(std::move(all), true));
}

VertexQuery VertexQuery::read_dependencies(const Digraph& graph) const {
  if (kind_ == Kind::all) return *this;
  // {label >= j} is pointed at by {label >= j - 1} alone.
  if (kind_ == Kind::level) return {cut_, part_, level_ + 1};
  if (!list_->remembers) return VertexQuery(sources_and(list(), graph));
  const std::lock_guard lock(list_->mutex);
  if (list_->graph != &graph) {
    list_->reads = std::make_shared<const List>(sources_and(list(), graph), true);
    list_->graph = &graph;
  }
  return VertexQuery(list_->reads);
}

VertexQuery VertexQuery::read_exclusive(const Digraph& graph) const {
  if (kind_ == Kind::all) return *this;
  if (kind_ == Kind::level) return {cut_, part_, level_ - 1};
  std::vector<VertexId> result;
  std::ranges::copy_if(list(), std::back_inserter(result), [&](VertexId v) {
    return std::ranges::all_of(graph.in(v),
                               [&](VertexId u) { return std::ranges::binary_search(list(), u); });
  });
  return VertexQuery(std::move(result));
}

bool VertexQuery::disjoint(const VertexQuery& other) const {
  if (kind_ == Kind::level && other.kind_ == Kind::level) {
    // Levels of different cuts meet before and after a repartition, and in checks.
    if (cut_ != other.cut_) return VertexQuery(vertices(cut_->graph())).disjoint(other);
    return cut_->disjoint(part_, level_, other.part_, other.level_);
  }
  if (kind_ == Kind::list && other.kind_ == Kind::list) {
    return disjoint_lists(list(), other.list());
  }
  if (kind_ == Kind::list) {
    const Membership membership(other);
    return std::ranges::none_of(list(), [&](VertexId v) { return membership.contains(v); });
  }
  if (other.kind_ == Kind::list) return other.disjoint(*this);
  // At least one of them is all: they meet unless the other is empty.
  const VertexQuery& level = kind_ == Kind::level ? *this : other;
  return level.kind_ == Kind::level &&
         level.cut_->disjoint(level.part_, level.level_, level.part_, level.level_);
}

VertexQuery VertexQuery::intersection(const VertexQuery& other, const Digraph& graph) const {
  // Of what lies around a part with another part: a look at what lies around it.
  const bool is_around = kind_ == Kind::level && other.kind_ == Kind::level && cut_ == other.cut_ &&
                         level_ > 0 && other.level_ == 0 && part_ != other.part_;
  if (is_around) {
    std::vector<VertexId> found;
    for (int hops = 1; hops <= level_; ++hops) {
      for (const VertexId v : cut_->shell(part_, hops).vertices) {
        if (cut_->owner(v) == other.part_) found.push_back(v);
      }
    }
    std::ranges::sort(found);
    return VertexQuery(std::move(found));
  }
  if (kind_ == Kind::list && other.kind_ == Kind::list) {
    std::vector<VertexId> found;
    std::ranges::set_intersection(list(), other.list(), std::back_inserter(found));
    return VertexQuery(std::move(found));
  }
  std::vector<VertexId> both = other.vertices(graph);
  const Membership mine(*this);
  std::erase_if(both, [&](VertexId v) { return !mine.contains(v); });
  return VertexQuery(std::move(both));
}

std::vector<VertexId> VertexQuery::vertices(const Digraph& graph) const {
  std::vector<VertexId> result;
  if (kind_ == Kind::list) return list_->vertices;
  if (kind_ == Kind::all) {
    result.resize(graph.n_vertices());
    std::iota(result.begin(), result.end(), VertexId{0});
    return result;
  }
  const auto inside = cut_->members(part_, static_cast<std::uint32_t>(std::max(0, -level_)));
  result.assign(inside.begin(), inside.end());
  for (int hops = 1; hops <= level_; ++hops) {
    const auto& shell = cut_->shell(part_, hops).vertices;
    result.insert(result.end(), shell.begin(), shell.end());
  }
  std::ranges::sort(result);
  return result;
}

Membership::Membership(const VertexQuery& query) : query_(query) {
  if (query.kind() != VertexQuery::Kind::level) return;
  for (int hops = 1; hops <= query.level(); ++hops) {
    shells_.push_back(&query.cut().shell(query.part(), hops));
  }
}

bool Membership::contains(VertexId v) const noexcept {
  switch (query_.kind()) {
    case VertexQuery::Kind::all:
      return true;
    case VertexQuery::Kind::list:
      return std::ranges::binary_search(query_.list(), v);
    default:
      break;
  }
  const GraphPartition& cut = query_.cut();
  if (cut.owner(v) == query_.part()) {
    return query_.level() >= 0 || cut.label(v) >= static_cast<std::uint32_t>(-query_.level());
  }
  return std::ranges::any_of(
      shells_, [&](const Shell* shell) { return std::ranges::binary_search(shell->vertices, v); });
}

std::vector<VertexQuery> cut_by_work(const Digraph& graph, std::span<const VertexId> vertices,
                                     std::uint64_t work_max) {
  std::vector<VertexQuery> tiles;
  std::vector<VertexId> tile;
  std::uint64_t work = 0;
  const auto close = [&] {
    if (tile.empty()) return;
    std::ranges::sort(tile);
    tiles.emplace_back(std::move(tile));
    tile = {};
    work = 0;
  };
  for (const VertexId v : vertices) {
    const std::uint64_t cost = 1 + graph.in_degree(v);
    if (work + cost > work_max) close();
    tile.push_back(v);
    work += cost;
  }
  close();
  return tiles;
}

}  // namespace rubato::tick

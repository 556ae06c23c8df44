#include "rubato/tick/graph/detail/metis.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <metis.h>

#include "rubato/base/bytes.hpp"
#include "rubato/base/error.hpp"
#include "rubato/tick/graph/detail/child.hpp"

namespace rubato::tick::detail {
namespace {

// The undirected graph that METIS wants: no loops, and equal edges, in either direction, as one
// edge that weighs as many.
struct MetisGraph {
  std::vector<idx_t> begins;
  std::vector<idx_t> neighbours;
  std::vector<idx_t> edge_weights;
  std::vector<idx_t> vertex_weights;
};

// Sorts each vertex's neighbours; equal ones become one, weighted.
void merge_equal(MetisGraph& graph) {
  graph.edge_weights.reserve(graph.neighbours.size());
  std::size_t begin = 0;
  std::size_t n_kept = 0;
  for (std::size_t v = 0; v + 1 < graph.begins.size(); ++v) {
    const auto end = static_cast<std::size_t>(graph.begins[v + 1]);
    const std::size_t first = n_kept;
    const auto all = graph.neighbours.begin();
    std::sort(all + static_cast<std::ptrdiff_t>(begin), all + static_cast<std::ptrdiff_t>(end));
    for (std::size_t i = begin; i < end; ++i) {
      const idx_t neighbour = graph.neighbours[i];
      if (n_kept > first && graph.neighbours[n_kept - 1] == neighbour) {
        ++graph.edge_weights.back();
      } else {
        graph.neighbours[n_kept++] = neighbour;
        graph.edge_weights.push_back(1);
      }
    }
    begin = end;
    graph.begins[v + 1] = static_cast<idx_t>(n_kept);
  }
  graph.neighbours.resize(n_kept);
}

MetisGraph undirected(const Digraph& graph) {
  const VertexId n = graph.n_vertices();
  MetisGraph result;
  result.vertex_weights.resize(n);
  std::vector<idx_t>& begins = result.begins;
  begins.assign(std::size_t{n} + 1, 0);
  for (VertexId v = 0; v < n; ++v) {
    result.vertex_weights[v] = static_cast<idx_t>(1 + graph.in_degree(v));
    for (const VertexId u : graph.in(v)) {
      if (u == v) continue;
      ++begins[u + std::size_t{1}];
      ++begins[v + std::size_t{1}];
    }
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  result.neighbours.resize(static_cast<std::size_t>(begins.back()));
  std::vector<idx_t> at(begins.begin(), begins.end() - 1);
  for (VertexId v = 0; v < n; ++v) {
    for (const VertexId u : graph.in(v)) {
      if (u == v) continue;
      result.neighbours[static_cast<std::size_t>(at[u]++)] = static_cast<idx_t>(v);
      result.neighbours[static_cast<std::size_t>(at[v]++)] = static_cast<idx_t>(u);
    }
  }
  merge_equal(result);
  return result;
}

// A graph that METIS must cut.
struct Task {
  const Digraph* graph = nullptr;
  std::uint32_t n_parts = 0;
  std::vector<std::uint32_t>* owner = nullptr;  // [n_vertices] the answer
};

// Puts METIS's code and the part of each vertex.
void call_metis(const Task& task, Writer& out) {
  MetisGraph metis = undirected(*task.graph);
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  options[METIS_OPTION_NUMBERING] = 0;
  auto n_vertices = static_cast<idx_t>(task.graph->n_vertices());
  idx_t n_constraints = 1;
  auto k = static_cast<idx_t>(task.n_parts);
  idx_t cut = 0;
  std::vector<idx_t> parts(task.graph->n_vertices());
  const int code =
      METIS_PartGraphKway(&n_vertices, &n_constraints, metis.begins.data(), metis.neighbours.data(),
                          metis.vertex_weights.data(), nullptr, metis.edge_weights.data(), &k,
                          nullptr, nullptr, options.data(), &cut, parts.data());
  out.put(code);
  out.put_span(std::span<const idx_t>(parts));
}

bool has_edges(const Digraph& graph) {
  for (VertexId v = 0; v < graph.n_vertices(); ++v) {
    if (std::ranges::any_of(graph.in(v), [v](VertexId u) { return u != v; })) return true;
  }
  return false;
}

// METIS leaves parts empty when vertices are few: each takes the last vertex of the largest part.
void fill_empty_parts(std::vector<std::uint32_t>& owner, std::uint32_t n_parts) {
  std::vector<std::uint64_t> sizes(n_parts, 0);
  for (const std::uint32_t part : owner)
    ++sizes[part];
  for (std::uint32_t part = 0; part < n_parts; ++part) {
    if (sizes[part] != 0) continue;
    const auto largest =
        static_cast<std::uint32_t>(std::ranges::max_element(sizes) - sizes.begin());
    *std::ranges::find(owner.rbegin(), owner.rend(), largest) = part;
    --sizes[largest];
    ++sizes[part];
  }
}

void check_counts(const Digraph& graph, std::uint32_t n_parts) {
  const VertexId n = graph.n_vertices();
  if (n_parts == 0) throw Error("a graph in 0 parts: expected at least 1", ExitCode::usage);
  if (n_parts > n) {
    throw Error("a graph of " + std::to_string(n) + " vertices in " + std::to_string(n_parts) +
                    " parts: expected at most one part a vertex; use fewer nodes",
                ExitCode::usage);
  }
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<idx_t>::max());
  if (2 * graph.n_edges() > kMost || n + graph.n_edges() > kMost) {
    throw Error("a graph of " + std::to_string(n) + " vertices and " +
                std::to_string(graph.n_edges()) + " edges: METIS counts to " +
                std::to_string(kMost) + ", so at most " + std::to_string(kMost / 2) +
                " edges can be partitioned");
  }
}

// What the child wrote of a task.
void read_answer(Reader& answer, const Task& task) {
  const VertexId n = task.graph->n_vertices();
  int code = METIS_ERROR_MEMORY;  // the usual death of a child
  if (answer.left() >= sizeof code) code = answer.get<int>();
  std::vector<idx_t> parts(n);
  if (code != METIS_OK || answer.left() < n * sizeof(idx_t)) {
    throw Error("METIS could not cut a graph of " + std::to_string(n) + " vertices into " +
                    std::to_string(task.n_parts) + " parts (code " + std::to_string(code) +
                    (code == METIS_ERROR_MEMORY ? ", out of memory)" : ")"),
                ExitCode::failed);
  }
  answer.get_span(std::span<idx_t>(parts));
  std::ranges::transform(parts, task.owner->begin(),
                         [](idx_t part) { return static_cast<std::uint32_t>(part); });
  fill_empty_parts(*task.owner, task.n_parts);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> cut_each_with_metis(std::span<const Digraph* const> graphs,
                                                            std::uint32_t n_parts) {
  std::vector<std::vector<std::uint32_t>> owners;
  owners.reserve(graphs.size());
  std::vector<Task> tasks;
  for (const Digraph* graph : graphs) {
    const VertexId n = graph->n_vertices();
    const std::uint32_t n_of_graph = std::min(n_parts, n);
    check_counts(*graph, n_of_graph);
    std::vector<std::uint32_t>& owner = owners.emplace_back(n, 0);
    if (n_of_graph == 1) continue;
    if (has_edges(*graph)) {
      tasks.push_back({graph, n_of_graph, &owner});
      continue;
    }
    // METIS refuses a graph without edges; any even cut is as good as another.
    for (VertexId v = 0; v < n; ++v)
      owner[v] = static_cast<std::uint32_t>(std::uint64_t{v} * n_of_graph / n);
  }
  if (tasks.empty()) return owners;
  // METIS prints to standard output, takes SIGTERM for itself, draws from the C library's
  // generator, cannot be told to stop and wants some 100 bytes an edge.
  const Bytes answers = compute_in_child([&] {
    Writer out;
    for (const Task& task : tasks)
      call_metis(task, out);
    return out.take();
  });
  Reader reader(answers);
  for (const Task& task : tasks)
    read_answer(reader, task);
  return owners;
}

std::vector<std::uint32_t> cut_with_metis(const Digraph& graph, std::uint32_t n_parts) {
  check_counts(graph, n_parts);
  const Digraph* const one = &graph;
  return std::move(cut_each_with_metis(std::span(&one, 1), n_parts).front());
}

}  // namespace rubato::tick::detail

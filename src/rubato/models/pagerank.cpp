#include "rubato/models/pagerank.hpp"

#include <algorithm>

#include "rubato/base/memory.hpp"
#include "rubato/base/random.hpp"
#include "rubato/io/number.hpp"

namespace rubato::models {

std::string PageRankGraph::name(VertexId v) const {
  return labels == nullptr ? std::to_string(v) : (*labels)[v];
}

VertexId PageRankGraph::find(std::string_view name) const {
  if (labels != nullptr) {
    const auto at = std::ranges::lower_bound(*labels, name);
    if (at != labels->end() && *at == name) return static_cast<VertexId>(at - labels->begin());
    throw Error("no vertex \"" + std::string(name) + "\"" + did_you_mean(name, *labels));
  }
  for (VertexId v = 0; v < graph->n_vertices(); ++v) {
    if (std::to_string(v) == name) return v;
  }
  throw Error("no vertex \"" + std::string(name) + "\": expected a number below " +
              std::to_string(graph->n_vertices()));
}

namespace {

// Ids far beyond the number of edges are mostly holes: told before the machine runs out of memory.
void refuse_more_than_memory(const std::string& path, const io::EdgeList32& edges) {
  constexpr std::uint64_t kBytesPerVertex = 64;  // structure, slots and two versions
  constexpr std::uint64_t kBytesPerEdge = 24;
  const std::uint64_t bytes = edges.n_vertices * kBytesPerVertex + edges.n_edges() * kBytesPerEdge;
  const std::uint64_t memory = physical_memory();
  if (bytes <= memory) return;
  throw Error("reading " + path + ": " + std::to_string(edges.n_vertices) +
              " vertices (the largest id and one) and " + std::to_string(edges.n_edges()) +
              " edges need " + std::to_string(bytes >> 30) + " GiB, expected at most the " +
              std::to_string(memory >> 30) +
              " GiB of this machine; if few ids are in use, read them as names: --labels text");
}

}  // namespace

PageRankGraph read_pagerank_graph(const std::string& path, const io::EdgeListOptions& options,
                                  tick::Duplicates duplicates, EdgeWeights weights) {
  io::EdgeList32 edges = io::read_edge_list<VertexId>(path, options);
  refuse_more_than_memory(path, edges);
  if (weights == EdgeWeights::left_aside) edges.weight.clear();
  PageRankGraph result;
  try {
    result.graph = std::make_shared<const tick::Digraph>(edges.n_vertices, edges.source,
                                                         edges.target, edges.weight, duplicates);
  } catch (const Error& error) {
    throw error.in("reading " + path);
  }
  if (!edges.labels.empty()) {
    result.labels = std::make_shared<const std::vector<std::string>>(std::move(edges.labels));
  }
  return result;
}

PageRankGraph make_pagerank_graph(VertexId n_vertices, std::uint32_t degree, std::uint64_t seed,
                                  std::uint32_t far) {
  std::vector<VertexId> sources;
  std::vector<VertexId> targets;
  for (VertexId v = 1; v < n_vertices; ++v) {
    RandomStream random(seed, v);
    for (std::uint32_t i = 0; i < degree; ++i) {
      // Others stay near by, so that there is something to partition.
      const double u = random.unit();
      const bool near = far == 0 || random.between(0, far - 1) != 0;
      const double span = near ? std::min(64.0, static_cast<double>(v)) : static_cast<double>(v);
      const double far_back = near ? static_cast<double>(v) - 1 - u * (span - 1) : u * u * u * span;
      sources.push_back(v);
      targets.push_back(std::min(static_cast<VertexId>(far_back), v - 1));
    }
  }
  PageRankGraph result;
  result.graph = std::make_shared<const tick::Digraph>(n_vertices, sources, targets);
  return result;
}

void PageRankOptions::validate() const {
  const auto refuse = [](const char* what, const char* expected, const std::string& found) {
    throw Error(std::string("pagerank: ") + what + ": expected " + expected + ", found " + found,
                ExitCode::usage);
  };
  if (!(damping >= 0 && damping < 1)) {
    refuse("damping", "0 or more and less than 1", io::number_text(damping));
  }
  if (!(tolerance >= 0)) refuse("tolerance", "0 or more", io::number_text(tolerance));
  if (test_interval < 1) refuse("test interval", "1 or more", std::to_string(test_interval));
  if (test_lag < 0) refuse("test lag", "0 or more", std::to_string(test_lag));
}

namespace {

// A rank is divided by such a sum and multiplied by its terms: both have to stay numbers.
void refuse_beyond_numbers(const PageRankGraph& input, const std::vector<double>& sums) {
  constexpr double kLeast = 1e-290;
  constexpr double kMost = 1e290;
  for (VertexId v = 0; v < input.graph->n_vertices(); ++v) {
    if (sums[v] == 0 || (sums[v] >= kLeast && sums[v] <= kMost)) continue;
    throw Error("the edges out of vertex " + input.name(v) + " weigh " + io::number_text(sums[v]) +
                " together, expected 0 or 1e-290 to 1e290");
  }
}

// Null if all weights are 1.
std::shared_ptr<const std::vector<double>> sum_out_weights(const tick::Digraph& graph) {
  if (graph.in_weights(0) == nullptr) return nullptr;
  auto sums = std::make_shared<std::vector<double>>(graph.n_vertices(), 0.0);
  for (VertexId v = 0; v < graph.n_vertices(); ++v) {
    const double* weights = graph.in_weights(v);
    const auto sources = graph.in(v);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      RUBATO_REQUIRE(weights[i] >= 0, sources[i], v, weights[i]);
      (*sums)[sources[i]] += weights[i];
    }
  }
  return sums;
}

}  // namespace

PageRank::PageRank(PageRankGraph input, PageRankOptions options)
    : input_(std::move(input)),
      options_(options),
      base_((1 - options.damping) / static_cast<double>(input_.graph->n_vertices())) {
  options_.validate();
  if (!options_.weighted) return;
  out_weights_ = sum_out_weights(*input_.graph);
  if (out_weights_ != nullptr) refuse_beyond_numbers(input_, *out_weights_);
}

void Ranking::add(VertexId v, double y) {
  mass_.add(y);
  best_.push_back({v, y});
  if (best_.size() >= 2 * n_best_ + 1000) shrink(n_best_);
}

void Ranking::merge(const Ranking& other) {
  mass_.add(other.mass_);
  best_.insert(best_.end(), other.best_.begin(), other.best_.end());
  shrink(n_best_);
}

// By y, which all ranks are proportional to.
void Ranking::shrink(std::size_t to) const {
  std::ranges::sort(best_, [](const RankedVertex& a, const RankedVertex& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.vertex < b.vertex;
  });
  if (best_.size() > to) best_.resize(to);
}

void Ranking::write(Writer& writer) const {
  shrink(n_best_);
  writer.put(static_cast<std::uint64_t>(n_best_));
  writer.put(mass_);
  writer.put(static_cast<std::uint64_t>(best_.size()));
  for (const RankedVertex& each : best_) {
    writer.put(each.vertex);
    writer.put(each.rank);
  }
}

Ranking Ranking::read(Reader& reader) {
  Ranking ranking(reader.get<std::uint64_t>());
  ranking.mass_ = reader.get<ExactSum>();
  const auto n = reader.get<std::uint64_t>();
  if (n > reader.left() / (sizeof(VertexId) + sizeof(double))) {
    throw Error("a ranking of " + std::to_string(n) + " vertices in " +
                std::to_string(reader.left()) + " bytes");
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto vertex = reader.get<VertexId>();
    ranking.best_.push_back({vertex, reader.get<double>()});
  }
  return ranking;
}

std::vector<RankedVertex> Ranking::best() const {
  shrink(n_best_);
  std::vector<RankedVertex> result = best_;
  const double mass = mass_.value();
  for (RankedVertex& each : result)
    each.rank /= mass;
  return result;
}

}  // namespace rubato::models

#include "rubato/tick/graph/digraph.hpp"

#include <cmath>
#include <string>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

constexpr std::uint64_t kMostVertices = UINT32_MAX - 1;

// counts[i] of key i in front of it: where the first item of each key goes.
void counts_to_begins(std::vector<std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (std::uint64_t& count : counts) {
    const std::uint64_t n = count;
    count = sum;
    sum += n;
  }
}

}  // namespace

void Digraph::check(std::uint64_t n_vertices, std::span<const VertexId> sources,
                    std::span<const VertexId> targets, std::span<const double> weights) const {
  if (n_vertices == 0) throw Error("a graph without vertices: expected at least one");
  if (n_vertices > kMostVertices) {
    throw Error("a graph of " + std::to_string(n_vertices) +
                " vertices: vertex ids have 32 bits, at most " + std::to_string(kMostVertices) +
                " fit");
  }
  RUBATO_REQUIRE(sources.size() == targets.size(), sources.size(), targets.size());
  RUBATO_REQUIRE(weights.empty() || weights.size() == sources.size(), weights.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const VertexId v : {sources[i], targets[i]}) {
      if (v < n_vertices) continue;
      throw Error("edge " + std::to_string(i) + ", " + std::to_string(sources[i]) + " -> " +
                  std::to_string(targets[i]) + ": vertex " + std::to_string(v) +
                  " is not below the number of vertices, " + std::to_string(n_vertices));
    }
    if (!weights.empty() && !std::isfinite(weights[i])) {
      throw Error("edge " + std::to_string(i) + ", " + std::to_string(sources[i]) + " -> " +
                  std::to_string(targets[i]) + ": expected a finite weight, found " +
                  std::to_string(weights[i]));
    }
  }
}

// Two counting sorts, by source and then by target; both keep the order of equals.
Digraph::Digraph(std::uint64_t n_vertices, std::span<const VertexId> sources,
                 std::span<const VertexId> targets, std::span<const double> weights,
                 Duplicates duplicates) {
  check(n_vertices, sources, targets, weights);
  std::vector<std::uint64_t> at(n_vertices, 0);
  out_degree_.assign(n_vertices, 0);
  for (const VertexId source : sources) {
    ++at[source];
    ++out_degree_[source];
  }
  counts_to_begins(at);
  std::vector<std::uint64_t> by_source(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    by_source[at[sources[i]]++] = i;

  begins_.assign(n_vertices + 1, 0);
  for (const VertexId target : targets)
    ++begins_[target];
  counts_to_begins(begins_);
  at.assign(begins_.begin(), begins_.end() - 1);
  sources_.resize(sources.size());
  weights_.resize(weights.size());
  for (const std::uint64_t i : by_source) {
    const std::uint64_t to = at[targets[i]]++;
    sources_[to] = sources[i];
    if (!weights.empty()) weights_[to] = weights[i];
  }
  if (duplicates == Duplicates::merge) merge_duplicates();
}

void Digraph::merge_duplicates() {
  std::uint64_t kept = 0;
  std::uint64_t begin = 0;
  for (std::size_t v = 0; v + 1 < begins_.size(); ++v) {
    const std::uint64_t first = kept;
    const std::uint64_t end = begins_[v + 1];
    for (std::uint64_t i = begin; i < end; ++i) {
      if (kept > first && sources_[kept - 1] == sources_[i]) {
        if (!weights_.empty()) weights_[kept - 1] += weights_[i];
        --out_degree_[sources_[i]];
        continue;
      }
      sources_[kept] = sources_[i];
      if (!weights_.empty()) weights_[kept] = weights_[i];
      ++kept;
    }
    begin = end;
    begins_[v + 1] = kept;
  }
  sources_.resize(kept);
  if (!weights_.empty()) weights_.resize(kept);
}

}  // namespace rubato::tick

#pragma once
// Mixing: a graph user that punishes every mistake, and random graphs to run it on.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/graph/graph_model.hpp"

namespace rubato::tick::testing {

// A value that depends on every in-edge, on their order and on the tick: hashes, and a sum of
// doubles whose bits change with the order of its terms.
struct Mixed {
  std::uint64_t hash = 0;
  double sum = 0;
};
class Mixing {
 public:
  using Value = Mixed;
  explicit Mixing(std::uint64_t seed, Tick interval = 0, Tick lag = 0)
      : seed_(seed), interval_(interval), lag_(lag) {}

  [[nodiscard]] Mixed init(VertexId v) const {
    return {hash_words(seed_, v), static_cast<double>(v) / 7};
  }
  [[nodiscard]] Mixed step(VertexId v, const Mixed& own, const InEdges<Mixed>& in, Tick t) const {
    Mixed next{hash_words(own.hash, v, static_cast<std::uint64_t>(t)), own.sum / 3};
    for (std::size_t i = 0; i < in.size(); ++i) {
      next.hash = hash_words(next.hash, in.source(i), in.value(i).hash);
      next.sum += in.value(i).sum * in.weight(i);
    }
    next.sum /= static_cast<double>(1 + in.size());
    return next;
  }

  using Measure = std::uint64_t;
  void measure(Measure& most, VertexId, const Mixed&, const Mixed& after) const {
    most = std::max(most, after.hash >> 32);
  }
  void combine(Measure& into, const Measure& from) const { into = std::max(into, from); }
  [[nodiscard]] bool stop(const Measure& most, Tick) const { return most < 0xf8000000; }
  [[nodiscard]] Tick stop_interval() const { return interval_; }
  [[nodiscard]] Tick stop_lag() const { return lag_; }

 private:
  std::uint64_t seed_;
  Tick interval_;
  Tick lag_;
};

// The same values with the step in parts.
class MixingInParts : public Mixing {
 public:
  using Mixing::Mixing;
  [[nodiscard]] Mixed step(VertexId v, const Mixed& own, const InEdges<Mixed>& in,
                           Tick t) const = delete;

  struct Sum {
    Mixed mixed;
    std::uint64_t n_edges = 0;
  };
  [[nodiscard]] Sum begin(VertexId v, const Mixed& own, Tick t) const {
    return {{hash_words(own.hash, v, static_cast<std::uint64_t>(t)), own.sum / 3}};
  }
  void interact(Sum& sum, const InEdge<Mixed>& in, Tick /*t*/) const {
    sum.mixed.hash = hash_words(sum.mixed.hash, in.source, in.value.hash);
    sum.mixed.sum += in.value.sum * in.weight;
    ++sum.n_edges;
  }
  [[nodiscard]] Mixed finish(VertexId /*v*/, const Mixed& /*own*/, const Sum& sum,
                             Tick /*t*/) const {
    return {sum.mixed.hash, sum.mixed.sum / static_cast<double>(1 + sum.n_edges)};
  }
};

// Loops, equal edges, vertices without edges and separate components included; some are nearly
// local, so that partitions have an inside, others are small worlds.
inline std::shared_ptr<const Digraph> random_graph(std::uint64_t seed) {
  RandomStream random(seed, 11);
  const auto n = static_cast<VertexId>(random.between(8, 120));
  const std::int64_t n_edges = random.between(0, std::int64_t{4} * n);
  const std::int64_t reach = random.between(0, 2) == 0 ? n : random.between(1, 6);
  const bool weighted = random.between(0, 1) != 0;
  std::vector<VertexId> sources;
  std::vector<VertexId> targets;
  std::vector<double> weights;
  for (std::int64_t i = 0; i < n_edges; ++i) {
    const std::int64_t source = random.between(0, n - 1);
    std::int64_t target = source + random.between(-reach, reach);
    // Now and then a component ends: nothing crosses multiples of 40.
    if (target / 40 != source / 40 || target < 0 || target >= n) target = source;
    sources.push_back(static_cast<VertexId>(source));
    targets.push_back(static_cast<VertexId>(target));
    if (weighted) weights.push_back(random.unit() - 0.25);
    if (random.between(0, 9) == 0) {
      sources.push_back(sources.back());
      targets.push_back(targets.back());
      if (weighted) weights.push_back(random.unit());
    }
  }
  return std::make_shared<const Digraph>(n, sources, targets, weights);
}

template <class U = Mixing>
GraphModel<U> random_model(std::uint64_t seed) {
  RandomStream random(seed, 12);
  const bool stops = random.between(0, 3) == 0;
  const U user(seed, stops ? random.between(1, 4) : 0, random.between(0, 5));
  return {random_graph(seed), user, {static_cast<std::uint64_t>(random.between(1, 200))}};
}

}  // namespace rubato::tick::testing

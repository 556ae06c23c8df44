#pragma once
// PieceSwarm: the swarm with queries that are unions of boxes, so that it can be cut into pieces that
// any node may have any of.

#include <span>
#include <vector>

#include "rubato/tick/geometry/box.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick::testing {

class PieceSwarm {
 public:
  using State = SwarmModel::State;
  using Query = BoxSet<std::int64_t, 2>;
  using Measure = SwarmModel::Measure;
  using Samples = SwarmModel::Samples;

  explicit PieceSwarm(const SwarmModel::Options& options)
      : swarm_(options), seed_(options.seed), reach_{options.visibility, options.reachability} {
    const AgentBox all = swarm_.everything();
    space_.world = box_of(all);
  }

  [[nodiscard]] Query everything() const { return Query(space_.world); }
  [[nodiscard]] std::vector<Query> part(std::uint32_t n) const { return sets(swarm_.part(n)); }
  [[nodiscard]] std::vector<Query> part(std::uint32_t n, const Samples& samples) const {
    return sets(swarm_.part(n, samples));
  }
  // Uneven ones, in no order.
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    return sets(swarm_.part(n, Samples{n, hash_words(seed_, 5)}));
  }
  [[nodiscard]] Query join(std::span<const Query> queries) const {
    std::vector<Box<std::int64_t, 2>> boxes;
    for (const Query& query : queries)
      boxes.insert(boxes.end(), query.boxes().begin(), query.boxes().end());
    return Query::of_disjoint(std::move(boxes));
  }

  [[nodiscard]] Samples sample(const State& state) const { return swarm_.sample(state); }
  void merge_samples(Samples& into, const Samples& from) const { swarm_.merge_samples(into, from); }
  void write_samples(Writer& writer, const Samples& s) const { swarm_.write_samples(writer, s); }
  [[nodiscard]] Samples read_samples(Reader& reader) const { return swarm_.read_samples(reader); }

  [[nodiscard]] State init(const Query& q) const {
    return select(swarm_.init(swarm_.everything()), q);
  }
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const {
    return swarm_.step(to_step, context, t);
  }
  [[nodiscard]] Query read_dependencies(const Query& q) const { return space_.grown(q, reach_[0]); }
  [[nodiscard]] Query read_exclusive(const Query& q) const { return space_.shrunk(q, reach_[0]); }
  [[nodiscard]] Query write_dependencies(const Query& q) const {
    return space_.grown(q, reach_[1]);
  }
  [[nodiscard]] Query write_exclusive(const Query& q) const { return space_.shrunk(q, reach_[1]); }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const { return !a.meets(b); }
  [[nodiscard]] double size(const Query& q) const { return static_cast<double>(q.volume()); }
  [[nodiscard]] Query intersection(const Query& a, const Query& b) const { return a.intersect(b); }

  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result;
    std::ranges::copy_if(state, std::back_inserter(result), [&](const Agent& agent) {
      return q.contains({agent.x, agent.y});
    });
    return result;
  }
  [[nodiscard]] State difference(const State& a, const State& b) const {
    return swarm_.difference(a, b);
  }
  void merge(State& into, const State& from) const { swarm_.merge(into, from); }
  void write(Writer& writer, const State& state) const { swarm_.write(writer, state); }
  [[nodiscard]] State read(Reader& reader) const { return swarm_.read(reader); }
  [[nodiscard]] Measure measure(const State& before, const State& after) const {
    return swarm_.measure(before, after);
  }
  void combine(Measure& into, const Measure& from) const { swarm_.combine(into, from); }
  [[nodiscard]] bool stop(const Measure& m, Tick t) const { return swarm_.stop(m, t); }
  [[nodiscard]] Tick stop_interval() const { return swarm_.stop_interval(); }
  [[nodiscard]] Tick stop_lag() const { return swarm_.stop_lag(); }

 private:
  static Box<std::int64_t, 2> box_of(const AgentBox& box) {
    return {{box.x0, box.y0}, {box.x1, box.y1}};
  }
  static std::vector<Query> sets(const std::vector<AgentBox>& boxes) {
    std::vector<Query> list;
    list.reserve(boxes.size());
    for (const AgentBox& box : boxes)
      list.emplace_back(box_of(box));
    return list;
  }

  SwarmModel swarm_;
  std::uint64_t seed_;
  std::int64_t reach_[2];  // visibility, reachability
  Space<std::int64_t, 2> space_;
};

// The same with its step in two parts.
class PieceSwarmInParts : public PieceSwarm {
 public:
  using Contributions = SwarmInParts::Contributions;

  explicit PieceSwarmInParts(const SwarmModel::Options& options)
      : PieceSwarm(options), parts_(options) {}
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const = delete;
  void interact(Contributions& in, const State& to_step, const State& other, Tick t) const {
    parts_.interact(in, to_step, other, t);
  }
  [[nodiscard]] static std::size_t contribution_bytes(const Contributions& in) {
    return SwarmInParts::contribution_bytes(in);
  }
  [[nodiscard]] State finish(const State& to_step, const Contributions& in, Tick t) const {
    return parts_.finish(to_step, in, t);
  }

 private:
  SwarmInParts parts_;
};

}  // namespace rubato::tick::testing

#pragma once
// Swarm: a small general model that punishes every mistake of an engine. Integer agents on a plane;
// each tick an agent hashes the ids and values of all that it sees, in the order of ids, so that
// one missing, doubled or stale neighbour changes the bits; it moves, dies and gives birth by that
// hash.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/model.hpp"

namespace rubato::tick::testing {

struct Agent {
  std::uint64_t id = 0;
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::uint64_t value = 0;
  bool operator==(const Agent&) const = default;
};

// [x0, x1) x [y0, y1); empty if x0 >= x1 or y0 >= y1.
struct AgentBox {
  std::int32_t x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  [[nodiscard]] bool empty() const noexcept { return x0 >= x1 || y0 >= y1; }
  [[nodiscard]] bool contains(const Agent& a) const noexcept {
    return a.x >= x0 && a.x < x1 && a.y >= y0 && a.y < y1;
  }
  [[nodiscard]] AgentBox grown(std::int32_t by) const noexcept {
    if (empty()) return *this;
    return {x0 - by, x1 + by, y0 - by, y1 + by};
  }
};

class SwarmModel {
 public:
  using State = std::vector<Agent>;  // ascending ids
  using Query = AgentBox;

  struct Options {
    std::uint64_t seed = 1;
    std::int32_t width = 40;
    std::int32_t height = 30;
    std::int32_t visibility = 3;
    std::int32_t reachability = 2;
    std::uint32_t n_agents = 60;
    std::uint32_t death_in = 40;  // one of so many dies a tick
    std::uint32_t birth_in = 40;
    std::uint64_t stop_below = 0;  // ends the run when the largest value falls below it; 0: never
    Tick stop_interval = 0;
    Tick stop_lag = 0;
  };
  explicit SwarmModel(Options options) : o_(options) {}

  [[nodiscard]] AgentBox everything() const { return {0, o_.width, 0, o_.height}; }

  [[nodiscard]] std::vector<AgentBox> part(std::uint32_t n) const { return cut(n, o_.seed); }

  // Cut again by a hash of all that there is: another cut at each epoch, far from the one before,
  // and far from any other cut if one node's samples differ by a bit or are merged twice.
  struct Samples {
    std::uint64_t n_agents = 0;
    std::uint64_t sum = 0;
    bool operator==(const Samples&) const = default;
  };
  [[nodiscard]] Samples sample(const State& state) const {
    Samples samples;
    for (const Agent& a : state)
      merge_samples(samples, {1, hash_words(a.id, a.value)});
    return samples;
  }
  void merge_samples(Samples& into, const Samples& from) const {
    into.n_agents += from.n_agents;
    into.sum += from.sum;
  }
  void write_samples(Writer& writer, const Samples& samples) const { writer.put(samples); }
  [[nodiscard]] Samples read_samples(Reader& reader) const { return reader.get<Samples>(); }
  [[nodiscard]] std::vector<AgentBox> part(std::uint32_t n, const Samples& samples) const {
    return cut(n, hash_words(o_.seed, samples.n_agents, samples.sum));
  }

  [[nodiscard]] State init(const Query& q) const {
    State state;
    for (std::uint32_t i = 0; i < o_.n_agents; ++i) {
      const auto w = random_words(o_.seed, i, 1'000'000);
      const Agent agent{i, static_cast<std::int32_t>(w[0] % static_cast<std::uint32_t>(o_.width)),
                        static_cast<std::int32_t>(w[1] % static_cast<std::uint32_t>(o_.height)),
                        w[2]};
      if (q.contains(agent)) state.push_back(agent);
    }
    return state;
  }

  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const {
    State result;
    for (const Agent& agent : to_step) {
      std::uint64_t seen = agent.value;
      for (const Agent& other : context) {
        if (sees(agent, other)) seen = hash_words(seen, other.id, other.value);
      }
      act(agent, seen, t, result);
    }
    std::ranges::sort(result, {}, &Agent::id);
    return result;
  }

  [[nodiscard]] Query read_dependencies(const Query& q) const { return q.grown(o_.visibility); }
  [[nodiscard]] Query read_exclusive(const Query& q) const { return q.grown(-o_.visibility); }
  [[nodiscard]] Query write_dependencies(const Query& q) const { return q.grown(o_.reachability); }
  [[nodiscard]] Query write_exclusive(const Query& q) const { return q.grown(-o_.reachability); }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const {
    return std::max(a.x0, b.x0) >= std::min(a.x1, b.x1) ||
           std::max(a.y0, b.y0) >= std::min(a.y1, b.y1);
  }

  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result;
    std::ranges::copy_if(state, std::back_inserter(result),
                         [&](const Agent& agent) { return q.contains(agent); });
    return result;
  }
  [[nodiscard]] State difference(const State& a, const State& b) const {
    State result;
    std::ranges::set_difference(a, b, std::back_inserter(result), {}, &Agent::id, &Agent::id);
    return result;
  }
  void merge(State& into, const State& from) const {
    State result;
    std::ranges::set_union(into, from, std::back_inserter(result), {}, &Agent::id, &Agent::id);
    into = std::move(result);
  }
  void write(Writer& writer, const State& state) const {
    writer.put(static_cast<std::uint64_t>(state.size()));
    for (const Agent& a : state) {
      writer.put(a.id);
      writer.put(a.x);
      writer.put(a.y);
      writer.put(a.value);
    }
  }
  [[nodiscard]] State read(Reader& reader) const {
    State state(reader.get<std::uint64_t>());
    for (Agent& a : state) {
      a.id = reader.get<std::uint64_t>();
      a.x = reader.get<std::int32_t>();
      a.y = reader.get<std::int32_t>();
      a.value = reader.get<std::uint64_t>();
    }
    return state;
  }

  // The largest value after the step: exact, whatever the order.
  using Measure = std::uint64_t;
  [[nodiscard]] Measure measure(const State& /*before*/, const State& after) const {
    Measure most = 0;
    for (const Agent& a : after)
      most = std::max(most, a.value >> 32);
    return most;
  }
  void combine(Measure& into, const Measure& from) const { into = std::max(into, from); }
  [[nodiscard]] bool stop(const Measure& m, Tick /*t*/) const { return m < o_.stop_below; }
  [[nodiscard]] Tick stop_interval() const { return o_.stop_interval; }
  [[nodiscard]] Tick stop_lag() const { return o_.stop_lag; }

 protected:
  [[nodiscard]] bool sees(const Agent& agent, const Agent& other) const noexcept {
    return std::abs(other.x - agent.x) <= o_.visibility &&
           std::abs(other.y - agent.y) <= o_.visibility;
  }
  // What becomes of an agent that has seen all, by their ids.
  void act(const Agent& agent, std::uint64_t seen, Tick t, State& result) const {
    const std::uint64_t fate = hash_words(o_.seed ^ seen, agent.id, static_cast<std::uint64_t>(t));
    if (o_.death_in != 0 && fate % o_.death_in == 0) return;
    result.push_back(moved({agent.id, agent.x, agent.y, seen}, fate >> 8));
    if (o_.birth_in != 0 && (fate >> 20) % o_.birth_in == 0) {
      result.push_back(
          moved({hash_words(agent.id, static_cast<std::uint64_t>(t), 1), agent.x, agent.y, fate},
                fate >> 32));
    }
  }

 private:
  // Cuts the longer side at a random place, again and again: uneven on purpose.
  [[nodiscard]] std::vector<AgentBox> cut(std::uint32_t n, std::uint64_t seed) const {
    std::vector<AgentBox> parts{everything()};
    RandomStream random(seed, 77);
    while (parts.size() < n) {
      auto largest = std::ranges::max_element(
          parts, {}, [](const AgentBox& b) { return std::int64_t{b.x1 - b.x0} * (b.y1 - b.y0); });
      AgentBox low = *largest;
      AgentBox high = *largest;
      if (low.x1 - low.x0 >= low.y1 - low.y0) {
        low.x1 = high.x0 = static_cast<std::int32_t>(random.between(low.x0 + 1, low.x1 - 1));
      } else {
        low.y1 = high.y0 = static_cast<std::int32_t>(random.between(low.y0 + 1, low.y1 - 1));
      }
      *largest = low;
      parts.push_back(high);
    }
    return parts;
  }

  // Moves by at most the reachability, and not off the plane.
  [[nodiscard]] Agent moved(Agent agent, std::uint64_t bits) const {
    const auto span = 2 * static_cast<std::uint64_t>(o_.reachability) + 1;
    const auto dx = static_cast<std::int32_t>(bits % span) - o_.reachability;
    const auto dy = static_cast<std::int32_t>((bits >> 8) % span) - o_.reachability;
    agent.x = std::clamp(agent.x + dx, 0, o_.width - 1);
    agent.y = std::clamp(agent.y + dy, 0, o_.height - 1);
    return agent;
  }

  Options o_;
};

inline SwarmModel::Options random_world(std::uint64_t seed, RandomStream& random) {
  SwarmModel::Options world;
  world.seed = seed;
  world.width = static_cast<std::int32_t>(random.between(8, 60));
  world.height = static_cast<std::int32_t>(random.between(8, 60));
  world.visibility = static_cast<std::int32_t>(random.between(0, 5));
  world.reachability = static_cast<std::int32_t>(random.between(0, 4));
  world.n_agents = static_cast<std::uint32_t>(random.between(0, 80));
  world.death_in = random.between(0, 1) != 0 ? 30 : 0;
  world.birth_in = random.between(0, 1) != 0 ? 35 : 0;
  if (random.between(0, 3) == 0) {
    world.stop_interval = random.between(1, 4);
    world.stop_lag = random.between(0, 6);
    world.stop_below = 0xfc000000;
  }
  return world;
}

// The swarm with its step in two parts: same bits, though what is seen comes in pieces.
class SwarmInParts : public SwarmModel {
 public:
  using SwarmModel::SwarmModel;
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const = delete;

  // [agents of to_step] whom each has seen. An agent that came twice would be hashed twice.
  using Contributions = std::vector<State>;
  void interact(Contributions& in, const State& to_step, const State& other, Tick /*t*/) const {
    in.resize(to_step.size());
    for (std::size_t i = 0; i < to_step.size(); ++i) {
      std::ranges::copy_if(other, std::back_inserter(in[i]),
                           [&](const Agent& seen) { return sees(to_step[i], seen); });
    }
  }
  [[nodiscard]] static std::size_t contribution_bytes(const Contributions& in) {
    std::size_t n = in.capacity() * sizeof(State);
    for (const State& seen : in)
      n += seen.capacity() * sizeof(Agent);
    return n;
  }
  [[nodiscard]] State finish(const State& to_step, const Contributions& in, Tick t) const {
    State result;
    for (std::size_t i = 0; i < to_step.size(); ++i) {
      State others = in[i];
      std::ranges::sort(others, {}, &Agent::id);
      std::uint64_t seen = to_step[i].value;
      for (const Agent& other : others)
        seen = hash_words(seen, other.id, other.value);
      act(to_step[i], seen, t, result);
    }
    std::ranges::sort(result, {}, &Agent::id);
    return result;
  }
};

}  // namespace rubato::tick::testing

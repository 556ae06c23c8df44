#pragma once
// A whole model that does nothing; each source beside it takes one part away.

#include <vector>

#include "rubato/tick/model.hpp"

namespace rubato::tick::testing {

struct MinimalModel {
  using State = std::vector<int>;
  using Query = int;

  std::vector<Query> part(std::uint32_t n) const { return std::vector<Query>(n); }
  State init(const Query&) const { return {}; }
  State step(const State& to_step, const State&, Tick) const { return to_step; }
  Query read_dependencies(const Query& q) const { return q; }
  Query read_exclusive(const Query& q) const { return q; }
  Query write_dependencies(const Query& q) const { return q; }
  Query write_exclusive(const Query& q) const { return q; }
  bool disjoint(const Query& a, const Query& b) const { return a != b; }
  State select(const State& state, const Query&) const { return state; }
  State difference(const State& a, const State&) const { return a; }
  void merge(State&, const State&) const {}
  void write(Writer&, const State&) const {}
  State read(Reader&) const { return {}; }
};

}  // namespace rubato::tick::testing

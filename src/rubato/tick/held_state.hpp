#pragma once
// The first state of a run that begins later than tick 0, for stores that begin with a State of the
// model: what a query selects of the pieces of a StateSource (store.hpp), each written by the
// model's write().

#include <utility>
#include <vector>

#include "rubato/tick/model.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

// Holds no more than what `held` selects, one piece beside it. Each tuple is copied about
// log2(pieces) times. Throws Error as the source and the model's read() do.
template <Model M>
[[nodiscard]] StartState<typename M::State> held_state(const M& model,
                                                       const typename M::Query& held,
                                                       const StateSource& source) {
  struct Run {
    typename M::State state;
    std::size_t n_pieces = 0;
  };
  // The last of them are of falling size: like the digits of a counter.
  std::vector<Run> runs;
  const auto merge_last = [&] {
    Run& into = runs[runs.size() - 2];
    model.merge(into.state, runs.back().state);
    into.n_pieces += runs.back().n_pieces;
    runs.pop_back();
  };
  source.for_each([&](ByteView piece) {
    Reader reader(piece);
    runs.push_back({model.select(model.read(reader), held), 1});
    if (!reader.at_end()) {
      throw Error("a piece of the state at tick " + std::to_string(source.tick()) + ": expected " +
                  std::to_string(piece.size() - reader.left()) + " bytes, found " +
                  std::to_string(piece.size()));
    }
    while (runs.size() > 1 && runs[runs.size() - 2].n_pieces <= runs.back().n_pieces)
      merge_last();
  });
  while (runs.size() > 1)
    merge_last();
  StartState<typename M::State> start;
  start.tick = source.tick();
  if (!runs.empty()) start.held = std::move(runs.front().state);
  return start;
}

}  // namespace rubato::tick

#pragma once
// Cuts into pieces that a check tests with, and what their pieces are called. Part of checker.hpp.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/random.hpp"

namespace rubato::tick::detail {

// Numbers of pieces in a cut.
using PieceList = std::vector<std::size_t>;

template <class Query>
struct PieceCut {
  std::uint32_t n = 0;  // what pieces() was asked for; there may be some more or fewer
  std::vector<Query> pieces;
  std::uint32_t n_grains = 1;  // that each piece was split into
  bool can_join = true;        // each was, so that each n_grains of them are a piece again

  [[nodiscard]] std::string name() const {
    const std::string text = "pieces(" + std::to_string(n) + ")";
    return n_grains == 1 ? text : "split(each of " + text + ", " + std::to_string(n_grains) + ")";
  }
  [[nodiscard]] std::string name(std::size_t i) const {
    return name() + "[" + std::to_string(i) + "]";
  }
  [[nodiscard]] std::vector<Query> some(const PieceList& list) const {
    std::vector<Query> queries;
    for (const std::size_t i : list)
      queries.push_back(pieces[i]);
    return queries;
  }
};

// What pieces() is asked for: 1, some fixed and some random numbers, and more than there are tuples,
// if these are few enough that each piece can be looked at.
[[nodiscard]] std::vector<std::uint32_t> sample_piece_counts(std::size_t n_tuples,
                                                             RandomStream& random);

// What join() is asked for, of n_pieces > 0: all of them, forwards and in any order; one; both halves
// of the list, as nodes have them at first; and what a node may have after some moves.
[[nodiscard]] std::vector<PieceList> sample_joins(std::size_t n_pieces, RandomStream& random);

// 0 .. n_pieces - 1 in any order.
[[nodiscard]] PieceList shuffled_pieces(std::size_t n_pieces, RandomStream& random);

// The pieces of each of some nodes, each piece with any of them; ascending, and none without.
// REQUIRES: n_pieces > 0.
[[nodiscard]] std::vector<PieceList> sample_owners(std::size_t n_pieces, RandomStream& random);

// All pieces in order, in groups of 1 to 4 that follow each other, none across a multiple of `stretch`.
// REQUIRES: stretch > 0.
[[nodiscard]] std::vector<PieceList> sample_groups(std::size_t n_pieces, std::size_t stretch,
                                                   RandomStream& random);
// Stretches of n things, as nodes have them at first: 1 to 4, none empty. REQUIRES: n > 0.
[[nodiscard]] std::vector<PieceList> sample_stretches(std::size_t n, RandomStream& random);

// "join(pieces(16)[0..3, 9])", given what the cut is called; of long lists the first ones.
[[nodiscard]] std::string join_name(const std::string& cut, std::span<const std::size_t> list);

}  // namespace rubato::tick::detail

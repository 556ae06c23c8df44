#pragma once
// The fixed tree of a reduction over n ranks.
//
// Segment (level, index) covers the ranks [index << level, (index + 1) << level) below n, and is
// its left half combined with its right half, or the left half alone if the right one is empty. The
// shape depends on n alone, so the bits of a floating-point sum do too: neither the order of
// arrival nor the number of nodes that the ranks lie on changes them. A run of ranks is at most 2
// log2(n) segments, which is what travels from a node to its parent.

#include <cstdint>
#include <functional>
#include <vector>

#include "rubato/base/bytes.hpp"

namespace rubato::core {

// into = into (op) later, where `into` stands for smaller ranks.
using Combine = std::function<void(Bytes& into, ByteView later)>;

namespace detail {

class ReductionTree {
 public:
  // REQUIRES: n_ranks > 0.
  explicit ReductionTree(std::uint64_t n_ranks) : n_ranks_(n_ranks) {}

  void add_rank(std::uint64_t rank, Bytes value, const Combine& combine);
  // Adds what put() wrote on another node.
  void add(Reader& in, const Combine& combine);
  void put(Writer& out) const;

  [[nodiscard]] bool complete() const noexcept;
  // The whole reduction. REQUIRES: complete().
  [[nodiscard]] Bytes take();

 private:
  struct Segment {
    std::uint32_t level = 0;
    std::uint64_t index = 0;
    Bytes value;
    [[nodiscard]] std::uint64_t first() const noexcept { return index << level; }
  };

  void insert(Segment segment, const Combine& combine);
  [[nodiscard]] bool covers_all(const Segment& s) const noexcept {
    return s.index == 0 && (std::uint64_t{1} << s.level) >= n_ranks_;
  }

  std::uint64_t n_ranks_;
  std::vector<Segment> segments_;  // by first(), disjoint
};

}  // namespace detail
}  // namespace rubato::core

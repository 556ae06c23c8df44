#pragma once
// The trees of the Unbalanced Tree Search benchmark [Olivier et al., "UTS: An Unbalanced Tree Search Benchmark",
// LCPC 2006]: how many children a vertex has follows from its SHA-1 hash, and the hash of a child from that of
// its parent, so that nobody can tell the size of a subtree without walking it.

#include <array>
#include <cstdint>

namespace rubato::bench {

struct UtsVertex {
  std::array<std::uint32_t, 5> hash;  // its five words, as SHA-1 gives them
  std::uint32_t depth;
};

struct UtsTree {
  enum class Kind : std::uint8_t {
    geometric,  // children: geometric with a mean of `branching`, down to depth `depth_max`
    binomial,   // `branching` of the root; then `n_children` with probability `probability`
  };
  const char* name;
  Kind kind;
  double branching;
  std::uint32_t depth_max;
  std::uint32_t n_children;
  double probability;
  std::uint32_t seed;
  // What is to be found.
  std::uint64_t n_vertices;
  std::uint64_t n_leaves;
  std::uint32_t depth;
};

struct UtsCount {
  std::uint64_t n_vertices = 0;
  std::uint64_t n_leaves = 0;
  std::uint32_t depth = 0;
  bool operator==(const UtsCount&) const = default;
};

// The standard trees T1, T1L, T3 and T3L. Throws Error for another name.
[[nodiscard]] const UtsTree& uts_tree(const char* name);

[[nodiscard]] UtsVertex uts_root(const UtsTree& tree);
[[nodiscard]] std::uint32_t uts_n_children(const UtsTree& tree, const UtsVertex& vertex);
[[nodiscard]] UtsVertex uts_child(const UtsVertex& vertex, std::uint32_t i);

// Walks the tree in one thread, with a stack.
[[nodiscard]] UtsCount uts_sequential(const UtsTree& tree);

}  // namespace rubato::bench

#pragma once
// The trees of the Unbalanced Tree Search benchmark [Olivier et al., LCPC 2006]: how many children
// a vertex has follows from its SHA-1 hash, and the hash of a child from that of its parent, so
// that nobody can tell the size of a subtree without walking it.

#include <array>
#include <cstdint>
#include <string_view>

namespace uts {

struct Vertex {
  std::array<std::uint32_t, 5> hash;  // its five words, as SHA-1 gives them
  std::uint32_t depth;
};

struct Count {
  std::uint64_t n_vertices = 0;
  std::uint64_t n_leaves = 0;
  std::uint32_t depth = 0;
  bool operator==(const Count&) const = default;
};

struct Tree {
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
  Count expected;
};

// The standard trees, and a small one. Their numbers travel; a Tree holds an address, and does not.
inline constexpr std::array<Tree, 5> kTrees{{
    {"T1", Tree::Kind::geometric, 4, 10, 0, 0, 19, {4'130'071, 3'305'118, 10}},
    {"T1L", Tree::Kind::geometric, 4, 13, 0, 0, 29, {102'181'082, 81'746'377, 13}},
    {"T3", Tree::Kind::binomial, 2000, 0, 8, 0.124875, 42, {4'112'897, 3'599'034, 1572}},
    {"T3L", Tree::Kind::binomial, 2000, 0, 5, 0.200014, 7, {111'345'631, 89'076'904, 17'844}},
    {"small", Tree::Kind::geometric, 4, 7, 0, 0, 19, {63'914, 51'124, 7}},
}};

// Of kTrees. Throws Error for a name that is none of theirs.
[[nodiscard]] std::uint32_t number_of(std::string_view name);

[[nodiscard]] Vertex root(const Tree& tree);
[[nodiscard]] std::uint32_t n_children(const Tree& tree, const Vertex& vertex);
[[nodiscard]] Vertex child(const Vertex& vertex, std::uint32_t i);

// Walks the tree in one thread, with a stack.
[[nodiscard]] Count walk(const Tree& tree);

}  // namespace uts

#include "uts_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"

namespace uts {
namespace {

constexpr std::uint32_t kChildrenMost = 100;

// SHA-1 [FIPS 180-4] of a message of one block, given as words with its padding.
std::array<std::uint32_t, 5> sha1_block(std::array<std::uint32_t, 16> w) {
  std::uint32_t a = 0x67452301;
  std::uint32_t b = 0xefcdab89;
  std::uint32_t c = 0x98badcfe;
  std::uint32_t d = 0x10325476;
  std::uint32_t e = 0xc3d2e1f0;
  const auto round = [&](std::size_t t, std::uint32_t f, std::uint32_t k) {
    if (t >= 16) {
      w[t % 16] = std::rotl(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ w[t % 16], 1);
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[t % 16];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  std::size_t t = 0;
  for (; t < 20; ++t)
    round(t, (b & c) | (~b & d), 0x5a827999);
  for (; t < 40; ++t)
    round(t, b ^ c ^ d, 0x6ed9eba1);
  for (; t < 60; ++t)
    round(t, (b & c) | (b & d) | (c & d), 0x8f1bbcdc);
  for (; t < 80; ++t)
    round(t, b ^ c ^ d, 0xca62c1d6);
  return {0x67452301 + a, 0xefcdab89 + b, 0x98badcfe + c, 0x10325476 + d, 0xc3d2e1f0 + e};
}

// A number in [0, 1) of the vertex's own.
double draw(const Vertex& vertex) {
  return (vertex.hash[4] & 0x7fffffff) / 2147483648.0;
}

}  // namespace

std::uint32_t number_of(std::string_view name) {
  std::string names;
  for (std::uint32_t i = 0; i < kTrees.size(); ++i) {
    if (kTrees[i].name == name) return i;
    names += std::string(i == 0 ? "" : ", ") + kTrees[i].name;
  }
  throw rubato::Error("no tree is called " + std::string(name) + ": expected one of " + names,
                      rubato::ExitCode::usage);
}

Vertex root(const Tree& tree) {
  // 16 bytes of 0 and the seed: 160 bits.
  std::array<std::uint32_t, 16> block{};
  block[4] = tree.seed;
  block[5] = 0x80000000;
  block[15] = 160;
  return {sha1_block(block), 0};
}

Vertex child(const Vertex& vertex, std::uint32_t i) {
  // The parent's hash and the number of the child: 192 bits.
  std::array<std::uint32_t, 16> block{};
  std::ranges::copy(vertex.hash, block.begin());
  block[5] = i;
  block[6] = 0x80000000;
  block[15] = 192;
  return {sha1_block(block), vertex.depth + 1};
}

std::uint32_t n_children(const Tree& tree, const Vertex& vertex) {
  if (tree.kind == Tree::Kind::binomial) {
    if (vertex.depth == 0) return static_cast<std::uint32_t>(tree.branching);
    return draw(vertex) < tree.probability ? tree.n_children : 0;
  }
  if (vertex.depth >= tree.depth_max) return 0;
  const double p = 1.0 / (1.0 + tree.branching);
  const auto n =
      static_cast<std::uint32_t>(std::floor(std::log(1 - draw(vertex)) / std::log(1 - p)));
  return std::min(n, kChildrenMost);
}

Count walk(const Tree& tree) {
  Count count;
  std::vector<Vertex> stack{root(tree)};
  while (!stack.empty()) {
    const Vertex vertex = stack.back();
    stack.pop_back();
    ++count.n_vertices;
    count.depth = std::max(count.depth, vertex.depth);
    const std::uint32_t n = n_children(tree, vertex);
    if (n == 0) ++count.n_leaves;
    for (std::uint32_t i = 0; i < n; ++i)
      stack.push_back(child(vertex, i));
  }
  return count;
}

}  // namespace uts

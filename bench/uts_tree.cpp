#include "bench/uts_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kChildrenMost = 100;

constexpr std::array<UtsTree, 4> kTrees{{
    {"T1", UtsTree::Kind::geometric, 4, 10, 0, 0, 19, 4'130'071, 3'305'118, 10},
    {"T1L", UtsTree::Kind::geometric, 4, 13, 0, 0, 29, 102'181'082, 81'746'377, 13},
    {"T3", UtsTree::Kind::binomial, 2000, 0, 8, 0.124875, 42, 4'112'897, 3'599'034, 1572},
    {"T3L", UtsTree::Kind::binomial, 2000, 0, 5, 0.200014, 7, 111'345'631, 89'076'904, 17'844},
}};

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
double draw(const UtsVertex& vertex) {
  return (vertex.hash[4] & 0x7fffffff) / 2147483648.0;
}

}  // namespace

const UtsTree& uts_tree(const char* name) {
  const auto found = std::ranges::find_if(
      kTrees, [&](const UtsTree& tree) { return std::strcmp(tree.name, name) == 0; });
  if (found == kTrees.end()) {
    throw Error(std::string("no tree is called ") + name + ": expected T1, T1L, T3 or T3L",
                ExitCode::usage);
  }
  return *found;
}

UtsVertex uts_root(const UtsTree& tree) {
  // 16 bytes of 0 and the seed: 160 bits.
  std::array<std::uint32_t, 16> block{};
  block[4] = tree.seed;
  block[5] = 0x80000000;
  block[15] = 160;
  return {sha1_block(block), 0};
}

UtsVertex uts_child(const UtsVertex& vertex, std::uint32_t i) {
  // The parent's hash and the number of the child: 192 bits.
  std::array<std::uint32_t, 16> block{};
  std::ranges::copy(vertex.hash, block.begin());
  block[5] = i;
  block[6] = 0x80000000;
  block[15] = 192;
  return {sha1_block(block), vertex.depth + 1};
}

std::uint32_t uts_n_children(const UtsTree& tree, const UtsVertex& vertex) {
  if (tree.kind == UtsTree::Kind::binomial) {
    if (vertex.depth == 0) return static_cast<std::uint32_t>(tree.branching);
    return draw(vertex) < tree.probability ? tree.n_children : 0;
  }
  if (vertex.depth >= tree.depth_max) return 0;
  const double p = 1.0 / (1.0 + tree.branching);
  const auto n =
      static_cast<std::uint32_t>(std::floor(std::log(1 - draw(vertex)) / std::log(1 - p)));
  return std::min(n, kChildrenMost);
}

UtsCount uts_sequential(const UtsTree& tree) {
  UtsCount count;
  std::vector<UtsVertex> stack{uts_root(tree)};
  while (!stack.empty()) {
    const UtsVertex vertex = stack.back();
    stack.pop_back();
    ++count.n_vertices;
    count.depth = std::max(count.depth, vertex.depth);
    const std::uint32_t n = uts_n_children(tree, vertex);
    if (n == 0) ++count.n_leaves;
    for (std::uint32_t i = 0; i < n; ++i)
      stack.push_back(uts_child(vertex, i));
  }
  return count;
}

}  // namespace rubato::bench

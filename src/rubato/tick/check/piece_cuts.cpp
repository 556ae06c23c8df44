#include "rubato/tick/check/piece_cuts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rubato::tick::detail {
namespace {

// Each piece is looked for in all tuples, so that many of both take long.
constexpr std::size_t kTuplesForMany = 2000;
constexpr std::uint32_t kManyOfMany = 128;

std::size_t below(std::size_t n, RandomStream& random) {
  return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(n) - 1));
}

PieceList all_of(std::size_t begin, std::size_t end) {
  PieceList list(end - begin);
  std::iota(list.begin(), list.end(), begin);
  return list;
}

PieceList shuffled(PieceList list, RandomStream& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[below(i, random)]);
  return list;
}

}  // namespace

std::vector<std::uint32_t> sample_piece_counts(std::size_t n_tuples, RandomStream& random) {
  std::vector<std::uint32_t> counts{1, 2, 3, 7, 16};
  for (int i = 0; i < 2; ++i)
    counts.push_back(static_cast<std::uint32_t>(random.between(4, 40)));
  counts.push_back(n_tuples <= kTuplesForMany ? static_cast<std::uint32_t>(2 * n_tuples + 1)
                                              : kManyOfMany);
  return counts;
}

std::vector<PieceList> sample_joins(std::size_t n_pieces, RandomStream& random) {
  std::vector<PieceList> joins{all_of(0, n_pieces), {below(n_pieces, random)}};
  if (n_pieces == 1) return joins;
  joins.push_back(shuffled(joins.front(), random));
  joins.push_back(all_of(0, n_pieces / 2));
  joins.push_back(all_of(n_pieces / 2, n_pieces));
  for (int i = 0; i < 3; ++i) {
    PieceList some = shuffled(joins.front(), random);
    some.resize(1 + below(n_pieces, random));
    if (i > 0) std::ranges::sort(some);
    joins.push_back(std::move(some));
  }
  return joins;
}

PieceList shuffled_pieces(std::size_t n_pieces, RandomStream& random) {
  return shuffled(all_of(0, n_pieces), random);
}

std::vector<PieceList> sample_owners(std::size_t n_pieces, RandomStream& random) {
  std::vector<PieceList> nodes(1 + below(std::min<std::size_t>(n_pieces, 4), random));
  for (std::size_t i = 0; i < n_pieces; ++i)
    nodes[below(nodes.size(), random)].push_back(i);
  std::erase_if(nodes, [](const PieceList& list) { return list.empty(); });
  return nodes;
}

std::vector<PieceList> sample_groups(std::size_t n_pieces, std::size_t stretch,
                                     RandomStream& random) {
  std::vector<PieceList> groups;
  for (std::size_t i = 0; i < n_pieces; i = groups.back().back() + 1) {
    const std::size_t most = std::min(n_pieces, (i / stretch + 1) * stretch) - i;
    groups.push_back(all_of(i, i + 1 + below(std::min<std::size_t>(most, 4), random)));
  }
  return groups;
}

std::vector<PieceList> sample_stretches(std::size_t n, RandomStream& random) {
  const std::size_t n_stretches = 1 + below(std::min<std::size_t>(n, 4), random);
  std::vector<PieceList> stretches;
  for (std::size_t i = 0; i < n_stretches; ++i)
    stretches.push_back(all_of(n * i / n_stretches, n * (i + 1) / n_stretches));
  return stretches;
}

std::string join_name(const std::string& cut, std::span<const std::size_t> list) {
  constexpr std::size_t kStretchesMost = 6;
  std::string text = "join(" + cut + "[";
  std::size_t n_stretches = 0;
  for (std::size_t i = 0; i < list.size(); ++n_stretches) {
    std::size_t last = i;
    while (last + 1 < list.size() && list[last + 1] == list[last] + 1)
      ++last;
    if (n_stretches > 0) text += ", ";
    if (n_stretches == kStretchesMost) {
      text += "and " + std::to_string(list.size() - i) + " more";
      break;
    }
    text += std::to_string(list[i]);
    if (last > i) text += (last > i + 1 ? ".." : ", ") + std::to_string(list[last]);
    i = last + 1;
  }
  return text + "])";
}

}  // namespace rubato::tick::detail

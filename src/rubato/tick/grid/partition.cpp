#include "rubato/tick/grid/partition.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "rubato/base/error.hpp"
#include "rubato/tick/geometry/curve.hpp"

namespace rubato::tick {
namespace {

struct Search {
  const std::vector<std::int64_t>& extent;
  const std::vector<std::int64_t>& wanted;
  std::vector<std::int64_t> now;
  std::vector<std::int64_t> best;
  double best_border = std::numeric_limits<double>::infinity();

  // Cells on the borders of a part that has the most neighbours, for parts of equal size.
  [[nodiscard]] double border() const {
    double volume = 1;
    for (std::size_t d = 0; d < extent.size(); ++d) {
      volume *= static_cast<double>(extent[d]) / static_cast<double>(now[d]);
    }
    double sum = 0;
    for (std::size_t d = 0; d < extent.size(); ++d) {
      const double faces = now[d] > 2 ? 2 : now[d] > 1 ? 1 : 0;
      sum += faces * volume * static_cast<double>(now[d]) / static_cast<double>(extent[d]);
    }
    return sum;
  }
  [[nodiscard]] bool may_be(std::size_t d) const { return wanted[d] == 0 || now[d] == wanted[d]; }
  void run(std::size_t d, std::int64_t left) {
    if (d + 1 == extent.size()) {
      now[d] = left;
      if (left <= extent[d] && may_be(d) && border() < best_border) {
        best_border = border();
        best = now;
      }
      return;
    }
    for (std::int64_t f = 1; f <= left && f <= extent[d]; ++f) {
      if (left % f != 0) continue;
      now[d] = f;
      if (may_be(d)) run(d + 1, left / f);
    }
  }
};

// The factors for n boxes; none if there are none.
std::vector<std::int64_t> find_factors(std::int64_t n, const std::vector<std::int64_t>& extent,
                                       const std::vector<std::int64_t>& wanted) {
  Search search{extent,
                wanted,
                std::vector<std::int64_t>(extent.size(), 1),
                {},
                std::numeric_limits<double>::infinity()};
  search.run(0, n);
  return search.best;
}

// The number next to n for which there are factors, the smaller one of two; or 0: where none is
// below twice n, the parts that are wanted are more than the cells.
std::int64_t nearest_number(std::int64_t n, const std::vector<std::int64_t>& extent,
                            const std::vector<std::int64_t>& wanted) {
  for (std::int64_t by = 1; by <= n; ++by) {
    if (n > by && !find_factors(n - by, extent, wanted).empty()) return n - by;
    if (!find_factors(n + by, extent, wanted).empty()) return n + by;
  }
  return 0;
}

// Cuts `box` along dimension d and those before it; its boxes have the weights `weights`, and are
// appended in their order.
template <int D>
struct WeightedCut {
  using CellBox = Box<std::int64_t, D>;
  std::span<const std::int64_t> factors;
  const std::function<double(const CellBox&)>& work;

  void run(const CellBox& box, std::size_t d, std::span<const double> weights,
           std::vector<CellBox>& boxes) const {
    const auto n = static_cast<std::size_t>(factors[d]);
    const std::size_t n_each = weights.size() / n;
    CellBox rest = box;
    for (std::size_t i = 0; i < n; ++i) {
      const auto mine = weights.subspan(i * n_each, n_each);
      CellBox slab = rest;
      if (i + 1 < n) {
        const auto left = weights.subspan(i * n_each);
        const double share =
            std::reduce(mine.begin(), mine.end()) / std::reduce(left.begin(), left.end());
        slab.high[d] = cut_at(rest, d, share, static_cast<std::int64_t>(n - i - 1));
      }
      rest.low[d] = slab.high[d];
      if (d == 0) {
        boxes.push_back(slab);
      } else {
        run(slab, d - 1, mine, boxes);
      }
    }
  }
  // Where what lies below has `share` of the work, nearly; `n_after` slabs have room above.
  [[nodiscard]] std::int64_t cut_at(const CellBox& box, std::size_t d, double share,
                                    std::int64_t n_after) const {
    const auto below = [&](std::int64_t at) {
      CellBox part = box;
      part.high[d] = at;
      return work(part);
    };
    const double wanted = share * work(box);
    std::int64_t low = box.low[d] + 1;
    std::int64_t high = box.high[d] - n_after;
    // The first place with as much or more below it, or the last one there is.
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (below(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const bool before_is_nearer =
        low > box.low[d] + 1 && wanted - below(low - 1) < below(low) - wanted;
    return before_is_nearer ? low - 1 : low;
  }
};

std::string text_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : " x ") + std::to_string(number);
  return text;
}

}  // namespace

std::vector<std::int64_t> grid_factors(std::int64_t n, const std::vector<std::int64_t>& extent,
                                       const std::vector<std::int64_t>& wanted) {
  std::vector<std::int64_t> factors = find_factors(n, extent, wanted);
  if (!factors.empty()) return factors;
  std::string text = "a grid of " + text_of(extent) + " cells cannot be cut into " +
                     std::to_string(n) + " boxes of whole cells";
  if (std::ranges::any_of(wanted, [](std::int64_t w) { return w != 0; })) {
    text += ", " + text_of(wanted) + " of them (0: any number); the product has to be " +
            std::to_string(n) + ", the number of nodes";
  }
  const std::int64_t nearest = nearest_number(n, extent, wanted);
  if (nearest > 0) text += "; the nearest number that goes is " + std::to_string(nearest);
  throw Error(text, ExitCode::usage);
}

template <int D>
std::vector<Box<std::int64_t, D>> cut_along_curve(const Box<std::int64_t, D>& world,
                                                  std::uint32_t n) {
  std::array<std::int64_t, D> extent{};
  for (std::size_t d = 0; d < D; ++d)
    extent[d] = world.width(d);
  const auto counts = piece_counts(extent, n);
  std::int64_t n_pieces = 1;
  for (const std::int64_t count : counts)
    n_pieces *= count;
  struct Piece {
    std::uint64_t place = 0;
    Box<std::int64_t, D> box;
  };
  std::vector<Piece> pieces;
  for (std::int64_t i = 0; i < n_pieces; ++i) {
    std::array<std::int64_t, D> at{};
    Piece piece;
    std::int64_t rest = i;
    for (std::size_t d = 0; d < D; ++d) {
      at[d] = rest % counts[d];
      rest /= counts[d];
      piece.box.low[d] = world.low[d] + extent[d] * at[d] / counts[d];
      piece.box.high[d] = world.low[d] + extent[d] * (at[d] + 1) / counts[d];
    }
    piece.place = place_of_piece(at, counts);
    pieces.push_back(piece);
  }
  std::ranges::stable_sort(pieces, {}, &Piece::place);
  std::vector<Box<std::int64_t, D>> boxes;
  boxes.reserve(pieces.size());
  for (const Piece& piece : pieces)
    boxes.push_back(piece.box);
  return boxes;
}

template std::vector<Box<std::int64_t, 1>> cut_along_curve<1>(const Box<std::int64_t, 1>&,
                                                              std::uint32_t);
template std::vector<Box<std::int64_t, 2>> cut_along_curve<2>(const Box<std::int64_t, 2>&,
                                                              std::uint32_t);
template std::vector<Box<std::int64_t, 3>> cut_along_curve<3>(const Box<std::int64_t, 3>&,
                                                              std::uint32_t);

template <int D>
std::vector<Box<std::int64_t, D>> cut_by_weights(
    const Box<std::int64_t, D>& world, std::span<const std::int64_t> factors,
    std::span<const double> weights,
    const std::function<double(const Box<std::int64_t, D>&)>& work) {
  std::int64_t n = 1;
  for (const std::int64_t factor : factors)
    n *= factor;
  RUBATO_REQUIRE(factors.size() == D && static_cast<std::size_t>(n) == weights.size(),
                 factors.size(), n, weights.size());
  RUBATO_REQUIRE(std::ranges::all_of(weights, [](double weight) { return weight > 0; }), n);
  std::vector<Box<std::int64_t, D>> boxes;
  WeightedCut<D>{factors, work}.run(world, D - 1, weights, boxes);
  return boxes;
}

template std::vector<Box<std::int64_t, 1>> cut_by_weights<1>(
    const Box<std::int64_t, 1>&, std::span<const std::int64_t>, std::span<const double>,
    const std::function<double(const Box<std::int64_t, 1>&)>&);
template std::vector<Box<std::int64_t, 2>> cut_by_weights<2>(
    const Box<std::int64_t, 2>&, std::span<const std::int64_t>, std::span<const double>,
    const std::function<double(const Box<std::int64_t, 2>&)>&);
template std::vector<Box<std::int64_t, 3>> cut_by_weights<3>(
    const Box<std::int64_t, 3>&, std::span<const std::int64_t>, std::span<const double>,
    const std::function<double(const Box<std::int64_t, 3>&)>&);

}  // namespace rubato::tick

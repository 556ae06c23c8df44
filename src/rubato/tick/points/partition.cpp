#include "rubato/tick/points/partition.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/tick/geometry/curve.hpp"
#include "rubato/tick/grid/partition.hpp"
#include "rubato/tick/points/detail/cell_window.hpp"

namespace rubato::tick::points {

template <int D>
CellWeights<D>::CellWeights(const Index<D>& n_cells) {
  constexpr std::int64_t kMost = std::int64_t{1} << (D == 2 ? 10 : 6);  // along one dimension
  std::int64_t total = 1;
  for (std::size_t d = 0; d < D; ++d) {
    block_[d] = (n_cells[d] + kMost - 1) / kMost;
    n_[d] = (n_cells[d] + block_[d] - 1) / block_[d];
    total *= n_[d];
  }
  weights_.resize(static_cast<std::size_t>(total));
}

template <int D>
void CellWeights<D>::add_evenly(double total) {
  const double each = total / static_cast<double>(weights_.size());
  for (double& weight : weights_)
    weight += each;
}

template <int D>
void CellWeights<D>::add(const CellWeights& other) {
  RUBATO_REQUIRE(n_ == other.n_ && block_ == other.block_, weights_.size(), other.weights_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i)
    weights_[i] += other.weights_[i];
}

template <int D>
void CellWeights<D>::write(Writer& writer) const {
  for (std::size_t i = 0; i < weights_.size();) {
    std::size_t end = i;
    while (end < weights_.size() && weights_[end] != 0)
      ++end;
    if (end > i) {
      writer.put(static_cast<std::uint32_t>(i));
      writer.put(static_cast<std::uint32_t>(end - i));
      writer.put_span(std::span(weights_).subspan(i, end - i));
    }
    i = end + 1;
  }
  writer.put(static_cast<std::uint32_t>(weights_.size()));  // where a stretch would begin
}

template <int D>
void CellWeights<D>::add(Reader& reader, double total) {
  const std::size_t n = weights_.size();
  std::vector<std::pair<std::size_t, std::vector<double>>> stretches;
  double sum = 0;
  for (std::size_t last = 0;;) {
    const std::size_t begin = reader.get<std::uint32_t>();
    if (begin == n) break;
    const std::size_t length = reader.get<std::uint32_t>();
    if (begin < last || begin > n || length > n - begin) {
      throw Error("weights of " + std::to_string(n) +
                      " blocks of cells: expected stretches within "
                      "them in ascending order, found one of " +
                      std::to_string(length) + " from " + std::to_string(begin) + " on",
                  ExitCode::failed);
    }
    std::vector<double> weights(length);
    reader.get_span(std::span(weights));
    sum += std::accumulate(weights.begin(), weights.end(), 0.0);
    stretches.emplace_back(begin, std::move(weights));
    last = begin + length;
  }
  const double scale = total > 0 && sum > 0 ? total / sum : 1;
  for (const auto& [begin, weights] : stretches) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights_[begin + i] += scale * weights[i];
  }
}

template <int D>
std::vector<double> CellWeights<D>::profile(const UnitBox<D>& box, std::size_t axis) const {
  Index<D> first{};
  Index<D> size{};
  for (std::size_t d = 0; d < D; ++d) {
    first[d] = box.low[d] / (block_[d] * kUnitsPerCell);
    size[d] = (box.high[d] - 1) / (block_[d] * kUnitsPerCell) + 1 - first[d];
  }
  // By block first, then spread evenly over the units of each.
  std::vector<double> by_block(static_cast<std::size_t>(size[axis]), 0.0);
  const auto add_block = [&](const Index<D>& at) {
    double share = 1;
    std::int64_t number = 0;
    for (std::size_t d = D; d-- > 0;) {
      number = number * n_[d] + first[d] + at[d];
      const std::int64_t width = block_[d] * kUnitsPerCell;
      const std::int64_t low = std::max((first[d] + at[d]) * width, box.low[d]);
      const std::int64_t high = std::min((first[d] + at[d] + 1) * width, box.high[d]);
      if (d != axis) share *= static_cast<double>(high - low) / static_cast<double>(width);
    }
    by_block[static_cast<std::size_t>(at[axis])] +=
        share * weights_[static_cast<std::size_t>(number)];
  };
  detail::for_each_row<D>(size, [&](Index<D> at) {
    for (at[0] = 0; at[0] < size[0]; ++at[0])
      add_block(at);
  });
  const std::int64_t width = block_[axis] * kUnitsPerCell;
  std::vector<double> by_unit;
  for (std::int64_t u = box.low[axis]; u < box.high[axis]; ++u) {
    by_unit.push_back(by_block[static_cast<std::size_t>(u / width - first[axis])] /
                      static_cast<double>(width));
  }
  return by_unit;
}

template <int D>
std::vector<UnitBox<D>> part_by_grid(const UnitBox<D>& units, std::uint32_t n) {
  UnitBox<D> cells;
  for (std::size_t d = 0; d < D; ++d)
    cells.high[d] = units.high[d] / kUnitsPerCell;
  std::vector<UnitBox<D>> boxes;
  try {
    boxes = cut_evenly(cells, std::int64_t{n});
  } catch (const Error&) {
    // Fewer cells than parts along a dimension: cut through them.
    return cut_evenly(units, std::int64_t{n});
  }
  for (auto& box : boxes) {
    for (std::size_t d = 0; d < D; ++d) {
      box.low[d] *= kUnitsPerCell;
      box.high[d] *= kUnitsPerCell;
    }
  }
  return boxes;
}

namespace {

// Where along its longest side a box of n leaves is cut, with the leaves of the lower part.
struct Cut {
  std::size_t axis = 0;
  std::int64_t at = 0;
  std::uint32_t n_low = 0;
};

template <int D>
Cut find_cut(const UnitBox<D>& box, const CellWeights<D>& weights, std::uint32_t n) {
  Cut cut;
  for (std::size_t d = 1; d < D; ++d) {
    if (box.width(d) > box.width(cut.axis)) cut.axis = d;
  }
  cut.n_low = n / 2;
  const std::int64_t width = box.width(cut.axis);
  // Both sides must have room for their leaves, which are boxes of at least one unit.
  const std::int64_t slice = box.volume() / width;
  RUBATO_REQUIRE(slice > 0, width, box.volume());
  const std::int64_t least = (std::int64_t{cut.n_low} + slice - 1) / slice;
  const std::int64_t most = width - (std::int64_t{n - cut.n_low} + slice - 1) / slice;
  if (least > most || most >= width) {
    throw Error("a world of " + std::to_string(box.volume()) + " units cannot be cut into " +
                    std::to_string(n) + " parts; use fewer nodes or a smaller cell_size",
                ExitCode::usage);
  }
  const std::vector<double> profile = weights.profile(box, cut.axis);
  double total = 0;
  for (const double value : profile)
    total += value;
  const double wanted = static_cast<double>(cut.n_low) / static_cast<double>(n);
  double below = 0;
  double best = INFINITY;
  const bool has_borders = width >= 2 * kUnitsPerCell && slice > std::int64_t{n};
  for (std::int64_t i = 1; i < width; ++i) {
    below += profile[static_cast<std::size_t>(i - 1)];
    if (i < least || i > most) continue;
    if (has_borders && (box.low[cut.axis] + i) % kUnitsPerCell != 0) continue;
    // An empty box is cut by its size.
    const double share =
        total > 0 ? below / total : static_cast<double>(i) / static_cast<double>(width);
    // Among cuts with equal weights, as in wide empty space, the middle one.
    const double middle = std::abs(static_cast<double>(i) / static_cast<double>(width) - wanted);
    const double badness = std::abs(share - wanted) + 1e-6 * middle;
    if (badness < best) {
      best = badness;
      cut.at = box.low[cut.axis] + i;
    }
  }
  if (best == INFINITY) cut.at = box.low[cut.axis] + std::max(least, std::int64_t{1});
  return cut;
}

template <int D>
void split(const UnitBox<D>& box, const CellWeights<D>& weights, std::uint32_t n,
           std::vector<UnitBox<D>>& leaves) {
  if (n == 1) {
    leaves.push_back(box);
    return;
  }
  const Cut cut = find_cut(box, weights, n);
  UnitBox<D> low = box;
  UnitBox<D> high = box;
  low.high[cut.axis] = high.low[cut.axis] = cut.at;
  split(low, weights, cut.n_low, leaves);
  split(high, weights, n - cut.n_low, leaves);
}

}  // namespace

template <int D>
std::vector<UnitBox<D>> part_by_weights(const UnitBox<D>& units, const CellWeights<D>& weights,
                                        std::uint32_t n) {
  std::vector<UnitBox<D>> leaves;
  split(units, weights, n, leaves);
  return leaves;
}

template <int D>
void cut_tiles(const UnitBox<D>& box, const Index<D>& edge, std::vector<UnitBox<D>>& tiles) {
  std::array<std::vector<std::int64_t>, D> cuts;
  for (std::size_t d = 0; d < D; ++d) {
    const std::int64_t width = box.width(d);
    const std::int64_t n = std::max<std::int64_t>(1, (width + edge[d] / 2) / edge[d]);
    cuts[d].push_back(box.low[d]);
    for (std::int64_t i = 1; i < n; ++i) {
      const std::int64_t exact = box.low[d] + width * i / n;
      const std::int64_t border = (exact + kUnitsPerCell / 2) / kUnitsPerCell * kUnitsPerCell;
      if (border > cuts[d].back() && border < box.high[d]) cuts[d].push_back(border);
    }
    cuts[d].push_back(box.high[d]);
  }
  Index<D> at{};
  for (bool more = !box.empty(); more;) {
    UnitBox<D> tile;
    for (std::size_t d = 0; d < D; ++d) {
      tile.low[d] = cuts[d][static_cast<std::size_t>(at[d])];
      tile.high[d] = cuts[d][static_cast<std::size_t>(at[d] + 1)];
    }
    tiles.push_back(tile);
    more = false;
    for (std::size_t d = 0; d < D && !more; ++d) {
      more = ++at[d] + 1 < static_cast<std::int64_t>(cuts[d].size());
      if (!more) at[d] = 0;
    }
  }
}

template <int D>
std::vector<UnitBox<D>> own_tiles(const Space<std::int64_t, D>& space, const UnitSet<D>& own,
                                  const Policy& policy, const TileOptions& options) {
  std::vector<UnitBox<D>> tiles;
  UnitSet<D> layer = own;
  const auto peel = [&](std::int64_t width, std::int64_t edge_units) {
    const UnitSet<D> inner = space.shrunk(layer, width);
    Index<D> edge;
    edge.fill(edge_units);
    const UnitSet<D> ring = layer.minus(inner);
    for (const auto& box : ring.boxes())
      cut_tiles<D>(box, edge, tiles);
    layer = inner;
  };
  for (int depth = 0; depth < policy.depth && !layer.empty(); ++depth)
    peel(options.ring, 2 * options.edge);
  // What emigrated into a neighbour's reach started one R further inside; m + 1 rings hold it.
  const int frame = policy.replica_layers + 1 - policy.depth;
  if (frame > 0 && !layer.empty()) peel(frame * options.ring, options.edge);
  std::int64_t edge_units = options.edge;
  const std::size_t n_border = tiles.size();
  do {
    tiles.resize(n_border);
    Index<D> edge;
    edge.fill(edge_units);
    for (const auto& box : layer.boxes())
      cut_tiles<D>(box, edge, tiles);
    edge_units /= 2;
  } while (edge_units >= kUnitsPerCell &&
           static_cast<std::int64_t>(tiles.size() - n_border) < options.tiles_least &&
           !layer.empty());
  return tiles;
}

namespace {

// The bits of all coordinates, one of each in turn.
template <int D>
std::uint64_t morton(const Index<D>& at) {
  std::uint64_t code = 0;
  for (std::size_t bit = 21; bit-- > 0;) {
    for (std::size_t d = D; d-- > 0;)
      code = code << 1 | (static_cast<std::uint64_t>(at[d]) >> bit & 1);
  }
  return code;
}

}  // namespace

template <int D>
std::vector<UnitBox<D>> pieces_of(const UnitBox<D>& units, std::uint32_t n) {
  Index<D> n_cells;
  for (std::size_t d = 0; d < D; ++d)
    n_cells[d] = units.width(d) / kUnitsPerCell;
  const Index<D> counts = piece_counts(n_cells, n);
  std::vector<std::pair<std::uint64_t, UnitBox<D>>> pieces;
  Index<D> at{};
  while (true) {
    UnitBox<D> box;
    for (std::size_t d = 0; d < D; ++d) {
      box.low[d] = units.low[d] + n_cells[d] * at[d] / counts[d] * kUnitsPerCell;
      box.high[d] = units.low[d] + n_cells[d] * (at[d] + 1) / counts[d] * kUnitsPerCell;
    }
    pieces.emplace_back(morton<D>(at), box);
    std::size_t d = 0;
    while (d < D && ++at[d] == counts[d])
      at[d++] = 0;
    if (d == D) break;
  }
  std::ranges::sort(pieces, {}, &std::pair<std::uint64_t, UnitBox<D>>::first);
  std::vector<UnitBox<D>> boxes;
  boxes.reserve(pieces.size());
  for (const auto& [code, box] : pieces)
    boxes.push_back(box);
  return boxes;
}

#define RUBATO_POINTS_INSTANTIATE(D)                                                               \
  template class CellWeights<(D)>;                                                                 \
  template std::vector<UnitBox<(D)>> part_by_grid<(D)>(const UnitBox<(D)>&, std::uint32_t);        \
  template std::vector<UnitBox<(D)>> part_by_weights<(D)>(const UnitBox<(D)>&,                     \
                                                          const CellWeights<(D)>&, std::uint32_t); \
  template std::vector<UnitBox<(D)>> pieces_of<(D)>(const UnitBox<(D)>&, std::uint32_t);           \
  template void cut_tiles<(D)>(const UnitBox<(D)>&, const Index<(D)>&,                             \
                               std::vector<UnitBox<(D)>>&);                                        \
  template std::vector<UnitBox<(D)>> own_tiles<(D)>(                                               \
      const Space<std::int64_t, (D)>&, const UnitSet<(D)>&, const Policy&, const TileOptions&);
RUBATO_POINTS_INSTANTIATE(2)
RUBATO_POINTS_INSTANTIATE(3)

}  // namespace rubato::tick::points

#pragma once
// The kind `points`: the eight functions of [Ticks Table 1] generated from a PointsUser.
//
// A query is a union of boxes of the lattice's units (lattice.hpp), on a torus where the world is
// periodic. R_D grows it by the visibility and W_D by the reachability, R_X and W_X shrink it as
// much, except at the world's own edge; DISJOINT is exact [Ticks 4.2, figure 2a].
//
// step() here is the plain form of it, tuple by tuple: the serial reference and the general
// FragmentStore run it. PointsStore steps faster and must give the same bits.

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/memory.hpp"
#include "rubato/tick/geometry/curve.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan_builder.hpp"
#include "rubato/tick/points/partition.hpp"
#include "rubato/tick/points/points_user.hpp"
#include "rubato/tick/points/stepper.hpp"

namespace rubato::tick {

enum class PointsPartition { grid, quadtree };

struct PointsOptions {
  PointsPartition partition = PointsPartition::grid;
  // Tuples of an inner tile: its context has to fit into a core's second-level cache.
  std::uint64_t tile_tuples = 4096;
  std::int64_t tiles_least = 8;  // inner tiles of a node, so that its cores find work
};

template <points::PointsUser U>
class PointsModel {
 public:
  static constexpr int kD = U::kDimensions;
  using User = U;
  using Scalar = typename U::Scalar;
  using Tuple = typename U::Tuple;
  using State = std::vector<Tuple>;  // ascending ids
  using Query = points::UnitSet<kD>;
  using Lattice = points::Lattice<Scalar, kD>;

  // Throws Error if the user's world makes no sense.
  explicit PointsModel(U user, PointsOptions options = {})
      : user_(std::move(user)), options_(options), lattice_(user_.world()) {}

  [[nodiscard]] const U& user() const noexcept { return user_; }
  [[nodiscard]] const Lattice& lattice() const noexcept { return lattice_; }
  [[nodiscard]] Query everything() const { return Query(lattice_.space().world); }

  // Throws Error for a world whose cells no machine like this one has room for.
  [[nodiscard]] std::vector<Query> part(std::uint32_t n) const {
    refuse_more_than_memory(n);
    if (options_.partition == PointsPartition::grid) {
      return queries(points::part_by_grid<kD>(lattice_.space().world, n));
    }
    return part(n, count_start());
  }

  // For repartitioning: by what the tuples that there are then take to be stepped, whatever
  // options.partition says, since an epoch is there to balance them.
  using Samples = points::CellWeights<kD>;
  [[nodiscard]] Samples sample(const State& state) const {
    Samples counts(lattice_.n_cells());
    for (const Tuple& tuple : state)
      counts.add(cell_of(tuple.position));
    return counts;
  }
  [[nodiscard]] Samples gather(std::span<const WeighedSamples> all) const {
    Samples sum(lattice_.n_cells());
    for (const WeighedSamples& each : all) {
      Reader reader(each.samples);
      sum.add(reader, each.cost);
    }
    return sum;
  }
  void spread(Samples& into, double cost) const { into.add_evenly(cost); }
  void merge_samples(Samples& into, const Samples& from) const { into.add(from); }
  void write_samples(Writer& writer, const Samples& weights) const { weights.write(writer); }
  [[nodiscard]] Samples read_samples(Reader& reader) const {
    Samples weights(lattice_.n_cells());
    weights.add(reader, 0);
    return weights;
  }
  [[nodiscard]] std::vector<Query> part(std::uint32_t n, const Samples& weights) const {
    return queries(points::part_by_weights<kD>(lattice_.space().world, weights, n));
  }

  // Boxes of whole cells, along a curve.
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    return queries(points::pieces_of<kD>(lattice_.space().world, n));
  }
  // A cell is as wide as the cutoff, and a tuple that sees no other piece is in the third one from the
  // border at least, since tuples move.
  static constexpr std::int64_t kCellsOfPiece = 6;
  static constexpr std::uint64_t kTuplesOfPiece = 16;
  [[nodiscard]] std::uint32_t good_pieces(std::uint32_t wanted, std::uint32_t least) const {
    if constexpr (points::HasExpectedTuples<U>) {
      const std::uint64_t most = std::uint64_t{user_.expected_tuples()} / kTuplesOfPiece;
      wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, wanted));
    }
    return good_piece_count(lattice_.n_cells(), kCellsOfPiece, wanted, least);
  }
  [[nodiscard]] Query join(std::span<const Query> parts) const {
    std::vector<points::UnitBox<kD>> boxes;
    for (const Query& part : parts)
      boxes.insert(boxes.end(), part.boxes().begin(), part.boxes().end());
    return Query::of_disjoint(std::move(boxes));
  }
  // The store steps boxes.
  [[nodiscard]] bool is_piece(const Query& q) const { return q.boxes().size() == 1; }

  // Throws Error if the user gives a tuple that is not in the world, or an id twice.
  [[nodiscard]] State init(const Query& q) const;
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const;

  [[nodiscard]] Query read_dependencies(const Query& q) const {
    return lattice_.space().grown(q, lattice_.visibility());
  }
  [[nodiscard]] Query read_exclusive(const Query& q) const {
    return lattice_.space().shrunk(q, lattice_.visibility());
  }
  [[nodiscard]] Query write_dependencies(const Query& q) const {
    return lattice_.space().grown(q, lattice_.reachability());
  }
  [[nodiscard]] Query write_exclusive(const Query& q) const {
    return lattice_.space().shrunk(q, lattice_.reachability());
  }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const { return !a.meets(b); }
  // By area: as if tuples were spread evenly within a part.
  static constexpr bool kUnevenSize = true;
  [[nodiscard]] double size(const Query& q) const {
    double sum = 0;
    for (const auto& box : q.boxes()) {
      double volume = 1;
      for (std::size_t d = 0; d < kD; ++d)
        volume *= static_cast<double>(box.width(d));
      sum += volume;
    }
    return sum;
  }
  [[nodiscard]] Query intersection(const Query& a, const Query& b) const { return a.intersect(b); }

  [[nodiscard]] State select(const State& state, const Query& q) const {
    State result;
    std::ranges::copy_if(state, std::back_inserter(result), [&](const Tuple& tuple) {
      return q.contains(lattice_.unit(tuple.position));
    });
    return result;
  }
  [[nodiscard]] State difference(const State& a, const State& b) const {
    State result;
    std::ranges::set_difference(a, b, std::back_inserter(result), {}, &Tuple::id, &Tuple::id);
    return result;
  }
  void merge(State& into, const State& from) const {
    State result;
    result.reserve(into.size() + from.size());
    std::ranges::set_union(into, from, std::back_inserter(result), {}, &Tuple::id, &Tuple::id);
    into = std::move(result);
  }
  void write(Writer& writer, const State& state) const { writer.put_vector(state); }
  [[nodiscard]] State read(Reader& reader) const { return reader.get_vector<Tuple>(); }
  void for_each_tuple(const State& state,
                      const std::function<void(std::uint64_t, ByteView)>& f) const {
    for (const Tuple& tuple : state)
      f(tuple.id, std::as_bytes(std::span(&tuple, 1)));
  }

  // Tiles for PointsStore: each is one box.
  [[nodiscard]] std::vector<Query> own_tiles(const Query& own, const Policy& policy) const {
    points::TileOptions tiles;
    tiles.edge = tile_edge();
    tiles.ring = lattice_.visibility() + lattice_.reachability();
    tiles.tiles_least = options_.tiles_least;
    return queries(points::own_tiles<kD>(lattice_.space(), own, policy, tiles));
  }
  [[nodiscard]] std::vector<Query> replica_tiles(const RegionQuery<Query>& region) const {
    Query set = region.includes.front();
    for (std::size_t i = 1; i < region.includes.size(); ++i)
      set = set.intersect(region.includes[i]);
    for (const Query& exclude : region.excludes)
      set = set.minus(exclude);
    points::Index<kD> edge;
    edge.fill(2 * tile_edge());
    std::vector<points::UnitBox<kD>> tiles;
    for (const auto& box : set.boxes())
      points::cut_tiles<kD>(box, edge, tiles);
    return queries(tiles);
  }

  // The user's stop condition, if there is one.
  struct NoMeasure {};
  template <class V>
  struct MeasureOf {
    using type = NoMeasure;
  };
  template <points::PointsHasStop V>
  struct MeasureOf<V> {
    using type = typename V::Measure;
  };
  using Measure = typename MeasureOf<U>::type;
  [[nodiscard]] Measure measure(const State& before,
                                const State& after) const requires points::PointsHasStop<U> {
    return user_.measure(before, after);
  }
  void combine(Measure& into, const Measure& from) const requires points::PointsHasStop<U> {
    user_.combine(into, from);
  }
  [[nodiscard]] bool stop(const Measure& m, Tick t) const requires points::PointsHasStop<U> {
    return user_.stop(m, t);
  }
  [[nodiscard]] Tick stop_interval() const requires points::PointsHasStop<U> {
    return user_.stop_interval();
  }
  [[nodiscard]] Tick stop_lag() const requires points::PointsHasStop<U> { return user_.stop_lag(); }

  // A tuple that a step or a start gave must not be: what is wrong with it, with its id.
  [[nodiscard]] Error outside(const Tuple& tuple, const std::string& where) const {
    std::string text = where + ": tuple " + std::to_string(tuple.id) + " at (";
    for (std::size_t d = 0; d < kD; ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(tuple.position[d]);
    return Error(text + ") is outside of " + lattice_.describe());
  }
  [[nodiscard]] Error too_far(const Tuple& tuple, Tick t) const {
    std::string text =
        "tick " + std::to_string(t + 1) + ": tuple " + std::to_string(tuple.id) + " came to (";
    for (std::size_t d = 0; d < kD; ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(tuple.position[d]);
    return Error(text + "), farther than the reachability " +
                     std::to_string(lattice_.world().reachability) + " from where it was",
                 ExitCode::failed);
  }

 private:
  static std::vector<Query> queries(const std::vector<points::UnitBox<kD>>& boxes) {
    return {boxes.begin(), boxes.end()};
  }
  [[nodiscard]] points::Index<kD> cell_of(const std::array<Scalar, kD>& position) const {
    points::Index<kD> cell = lattice_.unit(position);
    for (auto& c : cell)
      c = points::cell_of_unit(c);
    return cell;
  }
  [[nodiscard]] auto count_start() const -> points::CellWeights<kD>;
  void refuse_more_than_memory(std::uint32_t n_nodes) const;
  [[nodiscard]] std::int64_t tile_edge() const;

  // A tuple of the context by the order in which it contributes.
  struct Placed {
    std::int64_t cell = 0;
    const Tuple* tuple = nullptr;
  };
  void look_around(const Tuple& tuple, const std::vector<Placed>& context,
                   points::NeighboursOf<U>& near) const;
  void add_cell(const Tuple& tuple, const std::array<Scalar, kD>& shift,
                std::span<const Placed> others, points::NeighboursOf<U>& near,
                std::size_t& n) const;
  void check_move(const Tuple& before, const Tuple& after, Tick t) const;

  U user_;
  PointsOptions options_;
  Lattice lattice_;
};

template <points::PointsUser U>
typename PointsModel<U>::State PointsModel<U>::init(const Query& q) const {
  State state;
  user_.start(points::Wanted<Scalar, kD>(lattice_, q), state);
  for (const Tuple& tuple : state) {
    if (!lattice_.contains(tuple.position)) throw outside(tuple, "start");
  }
  std::erase_if(state,
                [&](const Tuple& tuple) { return !q.contains(lattice_.unit(tuple.position)); });
  std::ranges::sort(state, {}, &Tuple::id);
  const auto twice = std::ranges::adjacent_find(state, {}, &Tuple::id);
  if (twice != state.end()) {
    throw Error("start: there are two tuples with the id " + std::to_string(twice->id) +
                ", expected different ids");
  }
  return state;
}

template <points::PointsUser U>
typename PointsModel<U>::State PointsModel<U>::step(const State& to_step, const State& context,
                                                    Tick t) const {
  std::vector<Placed> placed;
  placed.reserve(context.size());
  for (const Tuple& tuple : context)
    placed.push_back({lattice_.cell_number(tuple.position), &tuple});
  // Stable: the context is in the order of ids.
  std::ranges::stable_sort(placed, {}, &Placed::cell);
  points::NeighboursOf<U> near;
  points::Stepper<U> stepper;
  stepper.begin(t);
  State& result = stepper.results();
  for (const Tuple& tuple : to_step) {
    look_around(tuple, placed, near);
    const std::size_t n_before = result.size();
    stepper.step(user_, tuple, near);
    stepper.flush(user_);
    for (std::size_t i = n_before; i < result.size(); ++i)
      check_move(tuple, result[i], t);
  }
  std::ranges::sort(result, {}, &Tuple::id);
  return std::move(result);
}

// Fills `near` cell by cell of the block around the tuple's cell.
template <points::PointsUser U>
void PointsModel<U>::look_around(const Tuple& tuple, const std::vector<Placed>& context,
                                 points::NeighboursOf<U>& near) const {
  near.reserve(context.size());
  const points::Index<kD> unit = lattice_.unit(tuple.position);
  std::size_t n = 0;
  const int n_block = kD == 2 ? 9 : 27;
  for (int i = 0; i < n_block; ++i) {
    std::array<Scalar, kD> shift{};
    std::int64_t cell = 0;
    bool in_world = true;
    for (std::size_t d = kD; d-- > 0;) {
      const int step = (d == 0 ? i : d == 1 ? i / 3 : i / 9) % 3 - 1;
      const std::int64_t n_cells = lattice_.n_cells()[d];
      const std::int64_t at = points::cell_of_unit(unit[d]) + step;
      const int side = at < 0 ? -1 : at >= n_cells ? 1 : 0;
      in_world = in_world && (side == 0 || lattice_.periodic(d));
      shift[d] = lattice_.image_shift(d, side);
      cell = cell * n_cells + at - side * n_cells;
    }
    if (!in_world) continue;
    const auto first = std::ranges::lower_bound(context, cell, {}, &Placed::cell);
    const auto last = std::ranges::upper_bound(context, cell, {}, &Placed::cell);
    add_cell(tuple, shift, std::span(first, last), near, n);
  }
  near.finish(n);
}

template <points::PointsUser U>
void PointsModel<U>::add_cell(const Tuple& tuple, const std::array<Scalar, kD>& shift,
                              std::span<const Placed> others, points::NeighboursOf<U>& near,
                              std::size_t& n) const {
  const Scalar visibility = lattice_.world().visibility;
  for (const Placed& other : others) {
    if (other.tuple->id == tuple.id) continue;
    Scalar distance2 = 0;
    for (std::size_t d = 0; d < kD; ++d) {
      const Scalar offset = (other.tuple->position[d] + shift[d]) - tuple.position[d];
      distance2 += offset * offset;
      near.stream(d)[n] = offset;
    }
    if (!(distance2 <= visibility * visibility)) continue;
    const std::array<Scalar, U::kSeen> seen = user_.seen(*other.tuple);
    for (std::size_t i = 0; i < U::kSeen; ++i)
      near.stream(kD + i)[n] = seen[i];
    near.tuples()[n++] = other.tuple;
  }
}

template <points::PointsUser U>
void PointsModel<U>::check_move(const Tuple& before, const Tuple& after, Tick t) const {
  if (!lattice_.contains(after.position)) {
    throw outside(after, "tick " + std::to_string(t + 1));
  }
  const points::Index<kD> from = lattice_.unit(before.position);
  const points::Index<kD> to = lattice_.unit(after.position);
  for (std::size_t d = 0; d < kD; ++d) {
    std::int64_t way = std::abs(to[d] - from[d]);
    if (lattice_.periodic(d)) way = std::min(way, lattice_.n_units(d) - way);
    if (way > lattice_.reachability()) throw too_far(after, t);
  }
}

template <points::PointsUser U>
void PointsModel<U>::refuse_more_than_memory(std::uint32_t n_nodes) const {
  constexpr double kBytesPerCell = 12;  // tables and lists of a version
  double n_cells = 1;
  for (const std::int64_t n : lattice_.n_cells())
    n_cells *= static_cast<double>(n);
  const double bytes = kBytesPerCell * n_cells / n_nodes;
  const auto memory = static_cast<double>(physical_memory());
  if (bytes <= memory) return;
  const auto whole = [](double value) { return std::to_string(static_cast<std::uint64_t>(value)); };
  throw Error(lattice_.describe() + " has " + whole(n_cells) +
              " cells as wide as what is seen, which take " + whole(bytes * 0x1p-30) +
              " GiB on a node, expected at most the " + whole(memory * 0x1p-30) +
              " GiB of this machine: a smaller world, or one in which more is seen");
}

template <points::PointsUser U>
auto PointsModel<U>::count_start() const -> points::CellWeights<kD> {
  points::CellWeights<kD> counts(lattice_.n_cells());
  const auto add = [&](const std::array<Scalar, kD>& position) {
    if (!lattice_.contains(position)) return;  // init says so, with the id
    counts.add(cell_of(position));
  };
  if constexpr (points::HasSample<U>) {
    user_.sample(add);
  } else {
    // Slab by slab: no node holds all tuples at once.
    std::vector<points::UnitBox<kD>> slabs;
    points::Index<kD> edge;
    for (std::size_t d = 0; d < kD; ++d)
      edge[d] = std::max<std::int64_t>(1, lattice_.n_units(d) / (d + 1 == kD ? 8 : 1));
    points::cut_tiles<kD>(lattice_.space().world, edge, slabs);
    for (const auto& slab : slabs) {
      for (const Tuple& tuple : init(Query(slab)))
        add(tuple.position);
    }
  }
  return counts;
}

// As wide as holds tile_tuples on average, in units.
template <points::PointsUser U>
std::int64_t PointsModel<U>::tile_edge() const {
  double edge_cells = kD == 2 ? 24 : 8;
  if constexpr (points::HasExpectedTuples<U>) {
    double n_cells = 1;
    for (const std::int64_t n : lattice_.n_cells())
      n_cells *= static_cast<double>(n);
    const double tuples =
        std::max(1.0, static_cast<double>(std::uint64_t{user_.expected_tuples()}));
    const double wanted = static_cast<double>(options_.tile_tuples) * n_cells / tuples;
    edge_cells = std::clamp(kD == 2 ? std::sqrt(wanted) : std::cbrt(wanted), 4.0, 64.0);
  }
  return static_cast<std::int64_t>(edge_cells) * points::kUnitsPerCell;
}

}  // namespace rubato::tick

#pragma once
// The kind `grid`: fields of numbers on a regular grid in 1 to 3 dimensions, stepped by a stencil.
//
// The user gives the shape, the initial values and the step (grid_user.hpp); GridModel generates the
// eight functions of [Ticks Table 1] from them: queries are unions of boxes, R_D grows them by the
// radius, W_D is the identity since cells do not move [Ticks B.1]. GridStore (grid_store.hpp) runs
// the same plan on dense arrays.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/geometry/box.hpp"
#include "rubato/tick/geometry/curve.hpp"
#include "rubato/tick/grid/grid_user.hpp"
#include "rubato/tick/grid/partition.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

// Cells by their linear index, ascending; values[i * (kFields + kFixed) ..] belong to ids[i]. The
// slow, general form of a grid's state: tests, checks and output use it, runs do not.
template <class Value>
struct GridCells {
  std::vector<std::int64_t> ids;
  std::vector<Value> values;
  bool operator==(const GridCells&) const = default;
};

namespace detail {
// What has come in of the stencils of some cells (HasInteract in tick/model.hpp): their sums as far as
// cells have come in order, and what came before its turn.
template <class U>
struct GridContributions {
  using Cell = std::array<typename U::Value, std::size_t{U::kFields} + std::size_t{U::kFixed}>;
  std::vector<typename GridSum<U>::type> sums;               // [cells]
  std::vector<std::size_t> n_taken;                          // [cells] of the stencil
  std::map<std::pair<std::size_t, std::size_t>, Cell> kept;  // by cell and place in the stencil
};
template <class U>
struct GridParts {};
template <GridHasInteract U>
struct GridParts<U> {
  using Contributions = GridContributions<U>;
};
}  // namespace detail

template <GridUser U>
class GridModel : public detail::GridParts<U> {
 public:
  static constexpr int kD = U::kDimensions;
  static constexpr std::size_t kValues = std::size_t{U::kFields} + std::size_t{U::kFixed};
  static constexpr auto kCellBytes = static_cast<std::int64_t>(kValues * sizeof(typename U::Value));
  using User = U;
  using Value = typename U::Value;
  using State = GridCells<Value>;
  using Query = BoxSet<std::int64_t, kD>;
  using CellBox = Box<std::int64_t, kD>;

  // Where rows, or planes, are too long for the tiles of a wavefront to stay in the cache, `size` cells of
  // each row, or rows of each plane, stay there in their place (GridStore::step_all()); 0: all.
  struct Slices {
    std::uint32_t n_abreast = 1;  // Plan::n_abreast
    std::int64_t size = 0;
  };
  // How a node alone goes through its cells.
  struct Wavefront {
    std::int64_t tile_cells = 0;  // of an inner tile
    Tick n_ticks = kSkew;         // Plan::skew
    Slices slices{};
  };
  // The dimension that is cut into slices, and how far in it those of each tick lie below those of the
  // tick before: parts of rows begin on a cache line.
  static constexpr std::size_t kAcross = kD >= 2 ? kD - 2 : 0;
  static constexpr std::int64_t kLineCells =
      std::max<std::int64_t>(64 / static_cast<std::int64_t>(sizeof(typename U::Value)), 1);
  static constexpr std::int64_t kSliceShift =
      kAcross > 0 ? U::kRadius : (U::kRadius + kLineCells - 1) / kLineCells* kLineCells;

  // `tile_cells`: cells of an inner tile, the unit of scheduling, and `skew`: ticks of the
  // wavefront through them where there are neighbours (Plan::skew); 0 cells: both are chosen, and the
  // slices. `alone`: what to go by where there are none, and its slices where there are; 0 cells: as many
  // as `tile_cells`, or if that is 0 all is chosen.
  explicit GridModel(U user, std::int64_t tile_cells = 0, Tick skew = 1, Wavefront alone = {})
      : user_(std::move(user)), tile_cells_(tile_cells), skew_(skew), alone_(alone) {
    if (alone_.tile_cells == 0) alone_.tile_cells = tile_cells;
    RUBATO_REQUIRE(alone_.n_ticks > 0 && alone_.slices.n_abreast > 0, alone_.n_ticks,
                   alone_.slices.n_abreast);
    const auto shape = user_.shape();
    for (std::size_t d = 0; d < kD; ++d) {
      if (shape.extent[d] < 1) throw Error("a grid needs at least one cell in each dimension");
      if (shape.periodic[d] && shape.extent[d] < 2 * U::kRadius + 1) {
        throw Error("a periodic dimension of " + std::to_string(shape.extent[d]) +
                    " cells is narrower than the stencil, " + std::to_string(2 * U::kRadius + 1));
      }
      space_.world.high[d] = shape.extent[d];
    }
    space_.periodic = shape.periodic;
  }

  [[nodiscard]] const U& user() const noexcept { return user_; }
  [[nodiscard]] const Space<std::int64_t, kD>& space() const noexcept { return space_; }
  [[nodiscard]] Query everything() const { return Query(space_.world); }
  [[nodiscard]] Value outside(int field) const {
    if constexpr (GridHasOutside<U>) return user_.outside(field);
    return Value{0};
  }

  [[nodiscard]] std::vector<Query> part(std::uint32_t n) const {
    const auto shape = user_.shape();
    std::vector<Query> parts;
    try {
      for (const auto& box : cut_evenly(space_.world, n, wanted_parts(n)))
        parts.emplace_back(box);
    } catch (const Error& error) {
      if (shape.parts == Index<kD>{} || *shape.parts_option == '\0') throw;
      throw error.in(shape.parts_option);
    }
    return parts;
  }

  // HasPieces in tick/model.hpp: boxes of cells in the order of Hilbert's curve.
  [[nodiscard]] std::vector<Query> pieces(std::uint32_t n) const {
    const auto boxes = cut_along_curve(space_.world, n);
    return {boxes.begin(), boxes.end()};
  }
  // Of short rows a step costs twice as much (decision 0023), and cells that see no other piece are
  // most of one.
  static constexpr std::int64_t kCellsOfPiece = std::max(16, 8 * int{U::kRadius});
  [[nodiscard]] std::uint32_t good_pieces(std::uint32_t wanted, std::uint32_t least) const {
    return good_piece_count(space_.world.high, kCellsOfPiece, wanted, least);
  }
  [[nodiscard]] Query join(std::span<const Query> queries) const;
  // A box is. Of more than one a star needs the corners, too (below): a node whose pieces are a box
  // together does not hold them.
  [[nodiscard]] bool is_piece(const Query& q) const { return q.boxes().size() == 1; }

  // Cut again by what nodes have taken (HasRepartition in tick/model.hpp): each gets work in
  // proportion to its speed, which is the work that it had over the time that it took.
  //
  // The time of a node for its cells does not tell whether the node is slow or the cells are dear.
  // Here the work of a cell is taken for known, 1 or what the user says, and the speed of a node
  // for what is measured. That is right where nodes differ, as hosts that share processors do: a
  // kernel over rows takes about as long for any cell, and cells that leave a slow node are counted
  // by the speed of the node that gets them. Costs by cell would be wrong about precisely those: a
  // cut that shifts by a box gives the slow node what looked cheap elsewhere. Where cells differ
  // and the user does not say so, a node that has dear ones looks slow and gets fewer. It may get
  // too few, since speeds stay with nodes and cells do not; but it is measured again, and two or
  // three epochs later all is in balance (partition_test.cpp). Both at once are told apart by no
  // measurement of one epoch, and need none: what counts is the product.
  //
  // All cells are copied at an epoch that changes something, and boxes of different widths have more
  // neighbours than equal ones. So the cut stays as it is where a tick of the slowest node would
  // become less than kWorthwhile times shorter, and where that node waits for more than kWaiting of
  // its time: then it is the network that all wait for.
  static constexpr double kWorthwhile = 1.1;
  static constexpr double kWaiting = 1.0 / 3;
  struct Load {
    std::uint64_t node = 0;
    double work = 0;  // of its own cells
    double busy = 0;
    double passed = 0;
  };
  using Samples = std::vector<Load>;  // ascending by node, each once
  [[nodiscard]] Samples sample(const NodeLoad<Query>& load) const {
    double work = 0;
    for (const CellBox& box : load.own.boxes())
      work += work_of(box);
    return {{load.node, work, load.busy, load.passed}};
  }
  void merge_samples(Samples& into, const Samples& from) const;
  void write_samples(Writer& writer, const Samples& samples) const { writer.put_vector(samples); }
  [[nodiscard]] Samples read_samples(Reader& reader) const { return reader.get_vector<Load>(); }
  [[nodiscard]] std::vector<Query> part(std::uint32_t n, const Samples& loads) const;
  [[nodiscard]] double work_of(const CellBox& box) const {
    if constexpr (GridHasWork<U>) return user_.work(box.low, box.high);
    return static_cast<double>(box.volume());
  }

  // Of a star on a single box, exact: a cross. Of a star on a cross, the next layer out, or on pieces
  // that are no box together, their boxes grown on all sides: more than is needed, and two or three
  // boxes instead of a staircase at each corner.
  [[nodiscard]] Query read_dependencies(const Query& q) const {
    if (q.boxes().size() != 1) return Query::of_disjoint(space_.grown(q, U::kRadius).boxes());
    if (!kReadsStar<U>) return space_.grown(q, U::kRadius);
    Query cross;
    for (std::size_t d = 0; d < kD; ++d) {
      const Query arm = space_.grown_along(q, d, U::kRadius);
      for (const CellBox& box : arm.boxes())
        cross.add(box);
    }
    return cross;
  }
  [[nodiscard]] Query read_exclusive(const Query& q) const { return space_.shrunk(q, U::kRadius); }
  [[nodiscard]] Query write_dependencies(const Query& q) const { return q; }
  [[nodiscard]] Query write_exclusive(const Query& q) const { return q; }
  [[nodiscard]] bool disjoint(const Query& a, const Query& b) const { return !a.meets(b); }
  [[nodiscard]] double size(const Query& q) const { return static_cast<double>(q.volume()); }
  [[nodiscard]] Query intersection(const Query& a, const Query& b) const { return a.intersect(b); }

  [[nodiscard]] State init(const Query& q) const;
  [[nodiscard]] State step(const State& to_step, const State& context, Tick t) const;
  // The step in two parts (HasInteract in tick/model.hpp).
  void interact(detail::GridContributions<U>& in, const State& to_step, const State& other,
                Tick t) const requires GridHasInteract<U>;
  [[nodiscard]] State finish(const State& to_step, const detail::GridContributions<U>& in,
                             Tick t) const requires GridHasInteract<U>;
  [[nodiscard]] State select(const State& state, const Query& q) const;
  [[nodiscard]] State difference(const State& a, const State& b) const;
  void merge(State& into, const State& from) const;
  void write(Writer& writer, const State& state) const {
    writer.put_vector(state.ids);
    writer.put_vector(state.values);
  }
  [[nodiscard]] State read(Reader& reader) const {
    State state;
    state.ids = reader.get_vector<std::int64_t>();
    state.values = reader.get_vector<Value>();
    if (state.values.size() != state.ids.size() * kValues) throw Error("a grid state of odd size");
    return state;
  }

  // Rings of one radius up to the scheduling depth, so that the inside may run ahead as far as
  // [Ticks 5.2] has it; a frame as deep as what is packed; bands along the last dimension inside.
  [[nodiscard]] std::vector<Query> own_tiles(const Query& own, const Policy& policy) const;
  // The ticks that inner bands are sized for (Plan::skew), where the node's cells fit no cache.
  [[nodiscard]] Tick skew(const Query& own, const Policy& policy) const;
  // And the slices of those bands, by this processor: no other node has to know them.
  [[nodiscard]] Slices slices(const Query& own, const Policy& policy) const;
  // That of a node alone.
  [[nodiscard]] Wavefront wavefront() const;
  // How many parts along each dimension; 0: whatever has short borders. Where each of n nodes gets as
  // much as kSlab along the last one, that alone is cut, unless the user wants others: rows stay whole,
  // and a wavefront has no sides where it would have to wait each tick for what is beyond.
  [[nodiscard]] Index<kD> wanted_parts(std::uint32_t n) const;
  static constexpr std::int64_t kSlab = kD == 3 ? 256 : 512;
  [[nodiscard]] std::vector<Query> replica_tiles(const RegionQuery<Query>& region) const;
  // What of a node's own cells is more than a radius from those of others.
  [[nodiscard]] Query without_border(const Query& own) const;
  // `box` less `by` cells at each side where the world goes on beyond it.
  [[nodiscard]] CellBox shrunk_where_neighbours(const CellBox& own, std::int64_t by) const;

  [[nodiscard]] std::int64_t id_of(const Index<kD>& at) const noexcept {
    std::int64_t id = 0;
    for (std::size_t d = kD; d-- > 0;)
      id = id * space_.world.high[d] + at[d];
    return id;
  }
  void for_each_tuple(const State& state,
                      const std::function<void(std::uint64_t, ByteView)>& f) const {
    for (std::size_t i = 0; i < state.ids.size(); ++i) {
      f(static_cast<std::uint64_t>(state.ids[i]),
        std::as_bytes(std::span(state.values).subspan(i * kValues, kValues)));
    }
  }
  [[nodiscard]] std::string tuple_name(std::uint64_t id) const {
    std::string text = "cell (";
    for (const std::int64_t at : index_of(static_cast<std::int64_t>(id)))
      text += (text.back() == '(' ? "" : ", ") + std::to_string(at);
    return text + ")";
  }
  [[nodiscard]] Index<kD> index_of(std::int64_t id) const noexcept {
    Index<kD> at{};
    for (std::size_t d = 0; d < kD; ++d) {
      at[d] = id % space_.world.high[d];
      id /= space_.world.high[d];
    }
    return at;
  }

  // The stop condition, over states; the fast store measures rows.
  struct NoMeasure {};
  template <class T>
  struct MeasureOf {
    using type = NoMeasure;
  };
  template <GridHasStop T>
  struct MeasureOf<T> {
    using type = typename T::Measure;
  };
  using Measure = typename MeasureOf<U>::type;
  [[nodiscard]] Measure measure(const State& before,
                                const State& after) const requires GridHasStop<U>;
  void combine(Measure& into, const Measure& from) const requires GridHasStop<U> {
    user_.combine(into, from);
  }
  [[nodiscard]] bool stop(const Measure& m, Tick t) const requires GridHasStop<U> {
    return user_.stop(m, t);
  }
  [[nodiscard]] Tick stop_interval() const requires GridHasStop<U> { return user_.stop_interval(); }
  [[nodiscard]] Tick stop_lag() const requires GridHasStop<U> { return user_.stop_lag(); }

 private:
  [[nodiscard]] std::int64_t tile_cells_of(const Query& own, const Policy& policy) const;

  [[nodiscard]] Slices slices_of(const CellBox& box, Tick n_ticks) const;
  // A cell's surroundings copied out of `context`, for a kernel call on that cell alone.
  struct Surroundings {
    static constexpr std::int64_t kWidth = 2 * U::kRadius + 1;
    static constexpr std::size_t kCells =
        static_cast<std::size_t>(kWidth * (kD > 1 ? kWidth : 1) * (kD > 2 ? kWidth : 1));
    std::array<std::array<Value, kCells>, kValues> value{};
    [[nodiscard]] GridSpan<U> span() const;
  };
  [[nodiscard]] Surroundings around(const State& context, const Index<kD>& at) const;
  [[nodiscard]] detail::GridContributions<U> begun(const State& to_step,
                                                   Tick t) const requires GridHasInteract<U>;
  // Cells of the stencil of the i-th cell that is stepped, up to the first that has not come.
  void take_in_order(detail::GridContributions<U>& in, const State& to_step, std::size_t i,
                     Tick t) const requires GridHasInteract<U>;
  // A row of one cell.
  [[nodiscard]] static GridSpan<U> span_of(const Value* values);
  // The cell, wrapped; false if it lies beyond an edge.
  [[nodiscard]] bool wrap(Index<kD>& at) const;
  void append(State& to, const State& from, std::size_t i) const {
    to.ids.push_back(from.ids[i]);
    const auto first = from.values.begin() + static_cast<std::ptrdiff_t>(i * kValues);
    to.values.insert(to.values.end(), first, first + kValues);
  }

  U user_;
  std::int64_t tile_cells_;
  Tick skew_;
  Wavefront alone_;
  Space<std::int64_t, kD> space_;
};

}  // namespace rubato::tick

#include "rubato/tick/grid/detail/grid_model_impl.hpp"

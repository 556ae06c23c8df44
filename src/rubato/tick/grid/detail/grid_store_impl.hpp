#pragma once
// The members of GridStore (grid/grid_store.hpp).

#include <algorithm>
#include <cstring>

#include "rubato/core/signals.hpp"
#include "rubato/tick/grid/grid_store.hpp"

namespace rubato::tick {

template <GridUser U>
GridStore<U>::GridStore(const Model& model, const TypedPlan<Query>& typed, Tick begin,
                        GridStoreOptions options)
    : model_(model), typed_(typed), begin_(begin), options_(options) {
  const Policy& policy = typed.plan.policy;
  const Query inner = policy.replica_layers == 0 ? typed.own : model.without_border(typed.own);
  const BlockLayout<kD> layout(
      model.space(), {typed.own, inner, typed.held, (policy.replica_layers + 1) * U::kRadius},
      U::kRadius, {policy.period, typed.plan.window()});
  for (const auto& shape : layout.blocks()) {
    const std::size_t field_bytes = static_cast<std::size_t>(shape.n_cells) * sizeof(Value);
    Block block{shape, {}, apart(field_bytes * U::kFields), {}};
    block.versions =
        detail::Pages(block.version_bytes * static_cast<std::size_t>(shape.n_versions));
    block.fixed = detail::Pages(field_bytes * U::kFixed);
    fill_outside(block);
    blocks_.push_back(std::move(block));
  }
  for (const auto& query : typed.regions) {
    Region region;
    // A neighbour's piece has the shape that it has there; blocks have room for corners that a star does
    // not reach, and that nobody sends.
    Query cells = query.includes.front();
    if (policy.pieces && regions_.size() >= typed.plan.n_own) cells = cells.intersect(typed.held);
    region.pieces = layout.locate(cells);
    for (const auto& piece : region.pieces) {
      for (const auto& each : layout.exports(piece))
        region.exports.push_back(each);
      region.n_cells += nominal_cells(piece.box, regions_.size() < typed.plan.n_own);
      const std::int64_t n_rows = piece.box.volume() / piece.box.width(0);
      region.n_rows += static_cast<double>(n_rows);
    }
    regions_.push_back(std::move(region));
  }
  for (std::uint32_t i = 0; i < typed.plan.neighbours.size(); ++i)
    add_packings(layout, i);
  used_rounds_.resize(empty_rounds_.size());
  if (policy.pieces) ahead_.resize(typed.regions.size());
  slice_ = chosen_slice();
}

template <GridUser U>
void GridStore<U>::check_first_numbers() const {
  for (RegionId region = 0; region < typed_.plan.n_own; ++region)
    check_numbers(region, begin_, Slice());
}

template <GridUser U>
double GridStore<U>::nominal_cells(const CellBox& box, bool is_own) const {
  double cells = 1;
  for (std::size_t d = 0; d < kD; ++d) {
    const auto width = [d](const CellBox& own) { return own.width(d); };
    const std::int64_t narrowest = width(std::ranges::min(typed_.own.boxes(), {}, width));
    const bool is_long = is_own || 2 * box.width(d) > narrowest;
    cells *= static_cast<double>(box.width(d)) * (is_long ? options_.scale : 1);
  }
  return cells;
}

// Beyond the edge of a world that is not periodic the values never change; what lies inside is
// overwritten by fill_initial and by exports.
template <GridUser U>
void GridStore<U>::fill_outside(Block& block) {
  std::vector<CellBox> beyond;
  CellBox world = model_.space().world;
  for (std::size_t d = 0; d < kD; ++d) {
    if (model_.space().periodic[d]) {
      world.low[d] = block.shape.grown.low[d];
      world.high[d] = block.shape.grown.high[d];
    }
  }
  subtract(block.shape.grown, world, beyond);
  const auto fill_row = [&](const Index<kD>& at, std::int64_t n) {
    const std::int64_t offset = block.shape.offset(at);
    for (std::size_t f = 0; f < U::kFields; ++f) {
      const Value outside = model_.outside(static_cast<int>(f));
      for (std::int64_t v = 0; v < block.shape.n_versions; ++v)
        std::fill_n(version(block, static_cast<std::size_t>(v), f) + offset, n, outside);
    }
    for (std::size_t f = 0; f < U::kFixed; ++f) {
      std::fill_n(fixed(block, f) + offset, n, model_.outside(U::kFields + static_cast<int>(f)));
    }
  };
  for (const CellBox& box : beyond)
    tick::for_each_row(box, fill_row);
}

// The initial state, as that of the first tick, and the fixed fields of cells that the node holds,
// wherever it has them, margins included.
template <GridUser U>
void GridStore<U>::fill_initial(const Query& cells) {
  for (Block& block : blocks_)
    fill_initial(block, cells);
}

template <GridUser U>
void GridStore<U>::fill_initial(Block& block, const Query& cells) {
  std::array<Value*, static_cast<std::size_t>(U::kFields) + 1> fields{};
  std::array<Value*, static_cast<std::size_t>(U::kFixed) + 1> fixed_fields{};
  const auto init_row = [&](const Index<kD>& at, std::int64_t n, const Index<kD>& shift) {
    core::throw_if_signalled();  // the first touch of much memory
    const std::int64_t offset = block.shape.offset(at);
    for (std::size_t f = 0; f < U::kFields; ++f)
      fields[f] = values(block, begin_, f) + offset;
    for (std::size_t f = 0; f < U::kFixed; ++f)
      fixed_fields[f] = fixed(block, f) + offset;
    Index<kD> in_world = at;
    for (std::size_t d = 0; d < kD; ++d)
      in_world[d] -= shift[d];
    model_.user().init(in_world, n, fields.data(), fixed_fields.data());
  };
  for (const CellBox& box : cells.boxes()) {
    for (const auto& shift : periodic_shifts(model_.space())) {
      tick::for_each_row(box.moved(shift).intersect(block.shape.grown),
                         [&](const Index<kD>& at, std::int64_t n) { init_row(at, n, shift); });
    }
  }
}

template <GridUser U>
void GridStore<U>::load(const StateSource& source) {
  std::int64_t missing = 0;
  for (const CellBox& box : typed_.held.boxes())
    missing += box.volume();
  source.for_each([&](ByteView piece) {
    Reader reader(piece);
    const auto n_boxes = reader.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < n_boxes; ++i) {
      const auto box = reader.get<CellBox>();
      if (box.empty() || !model_.space().world.contains(box)) {
        throw Error("the state at tick " + std::to_string(source.tick()) +
                    " has cells beyond the edge of this grid: is it of another size?");
      }
      const auto n_values = static_cast<std::size_t>(box.volume()) * U::kFields;
      const ByteView data = reader.get_view(n_values * sizeof(Value));
      missing -= load_box({BlockShape<kD>::dense(box), data.data(), 0, source.tick()});
    }
  });
  if (missing == 0) return;
  throw Error("the state at tick " + std::to_string(source.tick()) + " lacks " +
              std::to_string(missing) + " of the cells that node " +
              std::to_string(typed_.plan.self) + " holds: is it of another size?");
}

// Puts the cells of `box` that a block has, which lies `shift` beside the world, where they belong.
template <GridUser U>
void GridStore<U>::load_part(const Block& block, const Sent& saved, const CellBox& box,
                             const Index<kD>& shift) {
  const auto copy_row = [&](const Index<kD>& at, std::int64_t n) {
    Index<kD> in_world = at;
    for (std::size_t d = 0; d < kD; ++d)
      in_world[d] -= shift[d];
    for (std::size_t f = 0; f < U::kFields; ++f) {
      std::memcpy(values(block, saved.t, f) + block.shape.offset(at), saved.row(in_world, f),
                  static_cast<std::size_t>(n) * sizeof(Value));
    }
  };
  tick::for_each_row(box.moved(shift).intersect(block.shape.grown), copy_row);
}

// Puts the cells wherever the node has them, margins included; returns how many it holds.
template <GridUser U>
std::int64_t GridStore<U>::load_box(const Sent& saved) {
  std::int64_t n_cells = 0;
  for (const CellBox& held : typed_.held.boxes()) {
    const CellBox box = held.intersect(saved.shape.box);
    if (box.empty()) continue;
    n_cells += box.volume();
    for (const auto& shift : periodic_shifts(model_.space())) {
      for (const Block& block : blocks_)
        load_part(block, saved, box, shift);
    }
  }
  return n_cells;
}

// f(span, out, at, n) of each row of the box: its surroundings at t, where its cells of t + 1 go, its
// place in the block and its cells. Boxes along the border are one or a few cells wide and hundreds of
// rows high: what is the same for all rows is found before them, here and below.
template <GridUser U>
template <class F>
void GridStore<U>::for_each_row_to_step(const Piece<kD>& piece, const CellBox& box, Tick t, F&& f) {
  const Block& block = blocks_[piece.block];
  std::array<Value*, U::kFields> now{};
  std::array<Value*, U::kFields> next{};
  std::array<Value*, static_cast<std::size_t>(U::kFixed) + 1> constant{};
  for (std::size_t i = 0; i < U::kFields; ++i) {
    now[i] = values(block, t, i);
    next[i] = values(block, t + 1, i);
  }
  for (std::size_t i = 0; i < U::kFixed; ++i)
    constant[i] = fixed(block, i);
  const BlockShape<kD> shape = block.shape;
  GridSpan<U> span;
  span.row = shape.row;
  span.plane = shape.plane;
  const auto step_one = [&](const Index<kD>& at, std::int64_t n) {
    const std::int64_t offset = shape.offset(at);
    std::array<Value*, U::kFields> out{};
    for (std::size_t i = 0; i < U::kFields; ++i) {
      span.field[i] = now[i] + offset;
      out[i] = next[i] + offset;
    }
    for (std::size_t i = 0; i < U::kFixed; ++i)
      span.fixed[i] = constant[i] + offset;
    f(span, out.data(), at, n);
  };
  const bool one_row = box.volume() == box.width(0);
  const std::int64_t strip = options_.strip_cells > 0 ? options_.strip_cells : kStripCells;
  CellBox left = box;
  // A strip and a half is no worse than two.
  while (!one_row && left.width(0) >= 2 * strip) {
    CellBox first = left;
    first.high[0] = left.low[0] += strip;
    tick::for_each_row(first, step_one);
  }
  tick::for_each_row(left, step_one);
}

template <GridUser U>
auto GridStore<U>::in_world(const Piece<kD>& piece, Index<kD> at) -> Index<kD> {
  for (std::size_t d = 0; d < kD; ++d)
    at[d] -= piece.shift[d];
  return at;
}

template <GridUser U>
void GridStore<U>::step_box(const Piece<kD>& piece, const CellBox& box, Tick t, Measure* measured) {
  for_each_row_to_step(
      piece, box, t,
      [&](const GridSpan<U>& span, Value* const* out, const Index<kD>& at, std::int64_t n) {
        step_row(model_.user(), span, out, in_world(piece, at), n, t);
        if constexpr (GridHasStop<U>) {
          if (measured != nullptr) model_.user().measure(*measured, span, out, n);
        }
      });
}

template <GridUser U>
void GridStore<U>::publish(const Region& region, Tick t, const Slice& slice) {
  show<U::kFields>(
      region, [&](const Block& block, std::size_t f) { return values(block, t, f); }, slice);
}

template <GridUser U>
void GridStore<U>::publish_fixed(const Region& region) {
  show<U::kFixed>(
      region, [&](const Block& block, std::size_t f) { return fixed(block, f); }, Slice());
}

// Copies the cells of the region that lie in the slice to all margins that show them, of kN fields;
// array(block, field) is where those of a block lie.
template <GridUser U>
template <std::size_t kN, class Array>
void GridStore<U>::show(const Region& region, const Array& array, const Slice& slice) {
  for (const Export<kD>& each : region.exports) {
    const Block& from = blocks_[each.from_block];
    const Block& to = blocks_[each.to_block];
    const BlockShape<kD> from_shape = from.shape;
    const BlockShape<kD> to_shape = to.shape;
    for (std::size_t f = 0; f < kN; ++f) {
      const Value* source = array(from, f);
      Value* target = array(to, f);
      tick::for_each_row(slice.of(each.from), [&](const Index<kD>& at, std::int64_t n) {
        Index<kD> there = each.to_low;
        for (std::size_t d = 0; d < kD; ++d)
          there[d] += at[d] - each.from.low[d];
        const Value* row = source + from_shape.offset(at);
        Value* copy = target + to_shape.offset(there);
        for (std::int64_t i = 0; i < n; ++i)
          copy[i] = row[i];
      });
    }
  }
}

template <GridUser U>
void GridStore<U>::step(RegionId region, Tick t, std::uint32_t /*core*/) {
  const bool wanted = measures(region, t);
  const bool in_part = !ahead_.empty() && ahead_[region].tick == t;
  Measure measured = in_part ? ahead_[region].measured : Measure{};
  const auto& pieces = regions_[region].pieces;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!in_part) {
      step_box(pieces[i], pieces[i].box, t, wanted ? &measured : nullptr);
      continue;
    }
    for (const Begun& begun : ahead_[region].left[i])
      finish_box(pieces[i], begun, begun.box, t, wanted ? &measured : nullptr);
  }
  if (in_part) leave(ahead_[region], {});
  publish(regions_[region], t + 1, Slice());
  if ((t + 1) % typed_.plan.policy.period == 0) pack_region(regions_[region], t + 1, Slice());
  if (wanted || (t + 1) % kNumbersInterval == 0) check_numbers(region, t + 1, Slice());
  if (wanted) {
    const std::lock_guard lock(measures_mutex_);
    measures_[{region, t + 1}] = measured;
  }
}

template <GridUser U>
bool GridStore<U>::measures(RegionId region, Tick t) const {
  if constexpr (GridHasStop<U>) {
    const Tick interval = model_.user().stop_interval();
    return typed_.plan.regions[region].own() && interval > 0 && (t + 1) % interval == 0;
  }
  return false;
}

template <GridUser U>
Bytes GridStore<U>::measure(RegionId region, Tick t) {
  if constexpr (GridHasStop<U>) {
    const std::lock_guard lock(measures_mutex_);
    const auto found = measures_.extract({region, t});
    RUBATO_ASSERT(!found.empty(), region, t);
    Writer writer;
    writer.put(found.mapped());
    return writer.take();
  }
  return {};
}

template <GridUser U>
void GridStore<U>::combine(Bytes& into, ByteView from) {
  if constexpr (GridHasStop<U>) {
    Measure sum = into.empty() ? Measure{} : Reader(into).get<Measure>();
    model_.user().combine(sum, Reader(from).get<Measure>());
    Writer writer;
    writer.put(sum);
    into = writer.take();
  }
}

template <GridUser U>
bool GridStore<U>::stop(ByteView combined, Tick t) {
  if constexpr (GridHasStop<U>) return model_.user().stop(Reader(combined).get<Measure>(), t);
  return false;
}

template <GridUser U>
Tick GridStore<U>::stop_interval() const {
  if constexpr (GridHasStop<U>) return model_.user().stop_interval();
  return 0;
}

template <GridUser U>
Tick GridStore<U>::stop_lag() const {
  if constexpr (GridHasStop<U>) return model_.user().stop_lag();
  return 0;
}

template <GridUser U>
Nanos GridStore<U>::step_cost(RegionId region, Tick t) const {
  double n_cells = regions_[region].n_cells;
  if (!ahead_.empty() && ahead_[region].tick == t) n_cells -= ahead_[region].n_cells;
  return static_cast<Nanos>(options_.ns_per_cell * std::max(n_cells, 0.0) +
                            options_.ns_per_row * regions_[region].n_rows);
}

template <GridUser U>
std::size_t GridStore<U>::bytes() const {
  std::size_t n = bytes_ahead_.load();
  for (const Block& block : blocks_) {
    n += block.versions.size() + block.fixed.size();
  }
  return n;
}

template <GridUser U>
template <class F>
void GridStore<U>::for_each_row(RegionId region, Tick t, F&& f) const {
  for_each_row(region, t, Slice(), f);
}

template <GridUser U>
template <class F>
void GridStore<U>::for_each_row(RegionId region, Tick t, const Slice& slice, F&& f) const {
  std::array<const Value*, Model::kValues> fields{};
  for (const auto& piece : regions_[region].pieces) {
    const Block& block = blocks_[piece.block];
    tick::for_each_row(slice.of(piece.box), [&](const Index<kD>& at, std::int64_t n) {
      const std::int64_t offset = block.shape.offset(at);
      for (std::size_t i = 0; i < U::kFields; ++i)
        fields[i] = values(block, t, i) + offset;
      for (std::size_t i = 0; i < U::kFixed; ++i)
        fields[U::kFields + i] = fixed(block, i) + offset;
      f(in_world(piece, at), n, fields);
    });
  }
}

template <GridUser U>
template <class F>
void GridStore<U>::for_each_own_row(Tick t, F&& f) const {
  for (RegionId region = 0; region < typed_.plan.n_own; ++region)
    for_each_row(region, t, f);
}

template <GridUser U>
void GridStore<U>::save(RegionId region, Tick t, Writer& out) const {
  const Region& all = regions_[region];
  std::size_t n_bytes = sizeof(std::uint32_t);
  for (const auto& piece : all.pieces) {
    n_bytes +=
        sizeof(CellBox) + static_cast<std::size_t>(piece.box.volume()) * U::kFields * sizeof(Value);
  }
  out.reserve(out.size() + n_bytes);
  out.put(static_cast<std::uint32_t>(all.pieces.size()));
  for (const auto& piece : all.pieces) {
    const Block& block = blocks_[piece.block];
    out.put(piece.in_world());
    for (std::size_t f = 0; f < U::kFields; ++f) {
      const Value* from = values(block, t, f);
      tick::for_each_row(piece.box, [&](const Index<kD>& at, std::int64_t n) {
        out.append(from + block.shape.offset(at), static_cast<std::size_t>(n) * sizeof(Value));
      });
    }
  }
}

template <GridUser U>
std::uint64_t GridStore<U>::checksum(Tick t) const {
  for (RegionId region = 0; region < typed_.plan.n_own; ++region)
    check_numbers(region, t, Slice());
  std::uint64_t sum = 0;
  std::array<Value, Model::kValues> cell{};
  for_each_own_row(t, [&](const Index<kD>& at, std::int64_t n, const auto& fields) {
    const auto id = static_cast<std::uint64_t>(model_.id_of(at));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::size_t f = 0; f < cell.size(); ++f)
        cell[f] = fields[f][i];
      sum += tuple_hash(id + static_cast<std::uint64_t>(i), std::as_bytes(std::span(cell)));
    }
  });
  return sum;
}

template <GridUser U>
void GridStore<U>::check_numbers(RegionId region, Tick t, const Slice& slice) const {
  if constexpr (std::is_floating_point_v<Value>) {
    if (!typed_.plan.regions[region].own()) return;
    const auto check = [&](const Index<kD>& at, std::int64_t n, const auto& fields) {
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const bool finite = is_finite_user() && f < U::kFields;
        const std::int64_t bad = first_bad(fields[f], n, finite);
        if (bad == n) continue;
        Index<kD> where = at;
        where[0] += bad;
        const bool is_nan = fields[f][bad] != fields[f][bad];
        throw Error(model_.tuple_name(static_cast<std::uint64_t>(model_.id_of(where))) +
                        ", field " + std::to_string(f) + ", seen at tick " + std::to_string(t) +
                        (is_nan ? ": not a number" : ": infinite") + ", expected a " +
                        (finite ? "finite number" : "number"),
                    ExitCode::failed);
      }
    };
    for_each_row(region, t, slice, check);
  }
}

// The index of the first of n values that is not a number, or not a finite one, or n.
template <GridUser U>
std::int64_t GridStore<U>::first_bad(const Value* row, std::int64_t n, bool finite) {
  // Infinite less itself is no number either.
  const auto is_bad = [finite](Value value) {
    const Value looked_at = finite ? value - value : value;
    return looked_at != looked_at;
  };
  bool any = false;
  for (std::int64_t i = 0; i < n; ++i)
    any |= is_bad(row[i]);
  return any ? std::find_if(row, row + n, is_bad) - row : n;
}

template <GridUser U>
auto GridStore<U>::region_state(RegionId region, Tick t) const -> typename Model::State {
  typename Model::State all;
  for_each_row(region, t, [&](const Index<kD>& at, std::int64_t n, const auto& fields) {
    typename Model::State row;
    Index<kD> where = at;
    for (std::int64_t i = 0; i < n; ++i, ++where[0]) {
      row.ids.push_back(model_.id_of(where));
      for (const Value* field : fields)
        row.values.push_back(field[i]);
    }
    model_.merge(all, row);
  });
  return all;
}

template <GridUser U>
auto GridStore<U>::own_state(Tick t) const -> typename Model::State {
  typename Model::State all;
  for (RegionId region = 0; region < typed_.plan.n_own; ++region)
    model_.merge(all, region_state(region, t));
  return all;
}

}  // namespace rubato::tick

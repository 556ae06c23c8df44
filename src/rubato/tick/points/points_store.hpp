#pragma once
// PointsStore: the fast Store of the kind `points`: same plan, same bits as PointsModel in a
// FragmentStore, at the speed of a hand-written cell list.
//
// A version of a region is what its step produced, sorted by destination cell and id. A unit
// collects its cells and those within the visibility from the versions of its inputs as arrays,
// shows each tuple its neighbours, and sorts what the tuples became into cells. Regions are single
// boxes. A version's memory is its region's next one's as soon as all have read it, so a region has
// two as a rule; a third or more, where readers are behind, are allocated and freed.
//
// What is not a number ends the run with its tuple: a position at once, what others see of a tuple
// in the initial state, at each kNumbersInterval-th tick and at the end.

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/detail/version_uses.hpp"
#include "rubato/tick/held_state.hpp"
#include "rubato/tick/points/detail/gather.hpp"
#include "rubato/tick/points/points_model.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

// What a step costs in virtual time, in nanoseconds: of an optimised build on one core.
struct PointsCosts {
  double unit = 2000;
  double tuple = 60;  // each tuple stepped
  double pair = 4;    // each neighbour seen
};

template <points::PointsUser U>
class PointsStore final : public Store {
 public:
  using Model = PointsModel<U>;
  using Tuple = typename Model::Tuple;
  using State = typename Model::State;
  using Query = typename Model::Query;
  static constexpr int kD = Model::kD;
  static constexpr bool kLends = true;

  // Both must outlive the store; the plan is of the same model. Calls the user's start().
  PointsStore(const Model& model, const TypedPlan<Query>& typed, PointsCosts costs = {})
      : PointsStore(model, typed, StartState<State>{0, model.init(typed.held)}, costs) {}
  // The same for a run that begins later.
  PointsStore(const Model& model, const TypedPlan<Query>& typed, const StateSource& source,
              PointsCosts costs = {})
      : PointsStore(model, typed, held_state(model, typed.held, source), costs) {}
  PointsStore(const Model& model, const TypedPlan<Query>& typed, StartState<State> start,
              PointsCosts costs = {})
      : PointsStore(model, typed, Arriving{start.tick}, costs) {
    load(std::move(start));
  }
  PointsStore(const Model& model, const TypedPlan<Query>& typed, Arriving start,
              PointsCosts costs = {});

  void step(RegionId region, Tick t, std::uint32_t core) override;
  void pack(std::uint32_t neighbour, Tick t, Writer& out) override;
  void unpack(std::uint32_t neighbour, Tick t, ByteView payload,
              std::span<const std::uint8_t> fresh) override;
  void pack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, Writer& out) override;
  void unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, ByteView payload) override;
  [[nodiscard]] bool interacts() const override { return !ahead_.empty(); }
  [[nodiscard]] bool interacts(RegionId region) const override { return ahead_[region].may; }
  // Tuples of cells around which all cells are whole.
  bool interact(RegionId region, Tick t, std::span<const RegionId> present,
                std::uint32_t core) override;
  [[nodiscard]] Nanos interact_cost(RegionId region) const override { return ahead_[region].cost; }
  [[nodiscard]] bool lends() const override { return kLends; }
  [[nodiscard]] bool step_or_lend(RegionId region, Tick t, std::uint32_t core, Nanos least,
                                  Writer& out) override;
  [[nodiscard]] Nanos step_lent(ByteView lent, std::uint32_t core, Writer& out) override;
  void take_back(RegionId region, Tick t, ByteView result, std::uint32_t core) override;
  void drop_versions() override;
  void release(Tick floor) override;

  Bytes measure(RegionId region, Tick t) override;
  void combine(Bytes& into, ByteView from) override;
  bool stop(ByteView combined, Tick t) override;
  [[nodiscard]] Tick stop_interval() const override {
    if constexpr (points::PointsHasStop<U>) return model_.stop_interval();
    return 0;
  }
  [[nodiscard]] Tick stop_lag() const override {
    if constexpr (points::PointsHasStop<U>) return model_.stop_lag();
    return 0;
  }

  [[nodiscard]] Nanos step_cost(RegionId region, Tick t) const override {
    return step_costs_[slot(region, t)];
  }
  [[nodiscard]] Nanos copy_cost(std::size_t n_bytes) const override {
    return kMicrosecond + static_cast<Nanos>(n_bytes / 4);  // about 4 GB/s
  }
  [[nodiscard]] std::size_t bytes() const override;

  // Calls f(tuple) for each tuple that the own regions produced at tick t, region by region; over
  // all nodes these are the global state. REQUIRES: no step of tick t runs, and t is not released.
  template <class F>
  void for_each_own(Tick t, F&& f) const {
    for (RegionId region = 0; region < typed_.plan.n_own; ++region) {
      for (const Tuple& tuple : at(region, t).all())
        f(tuple);
    }
  }
  // What one own region produced at t, cell by cell, as a State that is not in the order of ids.
  [[nodiscard]] State region_state(RegionId region, Tick t) const {
    const auto tuples = at(region, t).all();
    return State(tuples.begin(), tuples.end());
  }
  // Appends what one own region produced at t, for a StateSource: as the model writes it.
  void save(RegionId region, Tick t, Writer& out) const {
    State state = region_state(region, t);
    std::ranges::sort(state, {}, &Tuple::id);
    model_.write(out, state);
  }
  // Segments (Arriving in store.hpp).
  void save(RegionId region, Tick t, const Query& query, Writer& out) const;
  void begin(RegionId region, std::span<const ByteView> fragments);
  // The checksum of the own tuples at t (tick/problem.hpp).
  // Error if what is seen of one is not a number.
  [[nodiscard]] std::uint64_t checksum(Tick t) const {
    for (RegionId region = 0; region < typed_.plan.n_own; ++region)
      check_numbers(at(region, t).all(), t);
    std::uint64_t sum = 0;
    for_each_own(t, [&](const Tuple& tuple) {
      sum += tuple_hash(tuple.id, std::as_bytes(std::span(&tuple, 1)));
    });
    return sum;
  }
  // All own tuples at t as a State, by id.
  [[nodiscard]] State own_state(Tick t) const {
    State state;
    for_each_own(t, [&](const Tuple& tuple) { state.push_back(tuple); });
    std::ranges::sort(state, {}, &Tuple::id);
    return state;
  }

 private:
  using Table = points::detail::CellTable<Tuple>;
  using Sorted = points::detail::SortedTuples<Tuple>;
  using Box = points::UnitBox<kD>;

  // A region as its steps see it.
  struct Place {
    points::detail::Surroundings<kD> around;
    Box reach;                              // the box grown by the reachability; unwrapped
    points::detail::CellWindow<kD> window;  // of the reach: the cells of its versions
  };
  // A cell of a source that a round takes tuples from.
  struct PackCell {
    std::int64_t cell = 0;  // of the world
    RegionId source = 0;
    std::uint32_t local = 0;  // of the source's window
    bool whole = false;       // all of its tuples are in the target
  };
  // What interact() has done of a region's next step.
  struct Ahead {
    Tick tick = -1;
    std::vector<std::uint8_t> done;  // [cells of its surroundings]
    State results;
    Nanos cost = 0;   // of the last call
    bool may = true;  // some cell is whole while some input is missing
  };
  // What one core works with.
  struct Scratch {
    explicit Scratch(const Model& model) : gather(model.user(), model.lattice()) {}
    points::detail::Gather<U> gather;
    points::Stepper<U> stepper;
    std::vector<std::uint32_t> cells;
    std::vector<std::uint32_t> next;
  };

  [[nodiscard]] std::size_t slot(RegionId region, Tick t) const noexcept {
    return region * static_cast<std::size_t>(window_) + static_cast<std::size_t>(t % window_);
  }
  [[nodiscard]] const Table& at(RegionId region, Tick t) const {
    const auto& table = versions_[slot(region, t)];
    RUBATO_ASSERT(table != nullptr, region, t);
    return *table;
  }
  [[nodiscard]] Table& make(RegionId region, Tick t);
  void read_once(RegionId region, Tick t);
  void collect(Scratch& work, RegionId region, Tick t) const;
  void step_collected(Scratch& work, RegionId region, Tick t);
  void place_results(Scratch& work, RegionId region, Tick t);
  void keep(RegionId region, std::unique_ptr<Table> table);
  [[nodiscard]] Scratch& scratch(std::uint32_t core);

  void place_regions();
  void list_pack_cells();
  using Window = points::detail::CellWindow<kD>;
  [[nodiscard]] Query boxes_near(const Window& window, const Query& target) const;
  void add_pack_cells(RegionId source, const Query& whole_target,
                      std::vector<PackCell>& list) const;
  void pack_cells(const std::vector<PackCell>& entries, const Query& target, Tick t,
                  Writer& out) const;
  [[nodiscard]] std::unique_ptr<Sorted> take_spare_round();
  template <class Wanted>
  [[nodiscard]] Nanos look_and_step(Scratch& work, Tick t, const Wanted& wanted);
  [[nodiscard]] std::vector<std::uint8_t> hidden_cells(RegionId region,
                                                       std::span<const RegionId> present) const;
  void find_open_regions();
  void load(StartState<State> start);
  [[nodiscard]] static bool within(const Box& box, const points::Index<kD>& unit,
                                   const points::Lattice<typename U::Scalar, kD>& lattice);
  void locate(const Place& place, std::span<const Tuple> results, Tick t,
              std::vector<std::uint32_t>& cells) const;
  void check_numbers(std::span<const Tuple> tuples, Tick t) const;
  void keep_measure(RegionId region, Tick t, const Table& after);
  void cut_out(const Sorted& from, const Place& place, const Box& box, Table& to) const;
  void compare(RegionId region, Tick t, std::uint32_t neighbour, const Sorted& round) const;
  void compare_cell(std::span<const Tuple> here, std::size_t at, const Sorted& round, Tick t,
                    std::uint32_t neighbour) const;
  void read_round(ByteView payload, Sorted& round) const;

  using Measure = typename Model::Measure;
  [[nodiscard]] static Bytes to_bytes(const Measure& measure) {
    Writer writer;
    writer.put(measure);
    return writer.take();
  }
  [[nodiscard]] static Measure from_bytes(ByteView bytes) {
    if (bytes.empty()) return Measure{};
    return Reader(bytes).template get<Measure>();
  }

  const Model& model_;
  const TypedPlan<Query>& typed_;
  const PointsCosts costs_;
  const Tick window_;
  std::vector<Place> places_;                   // [regions]
  std::vector<std::vector<PackCell>> packing_;  // [neighbours] by cell
  // Of policy pieces: [neighbours][sources] by cell.
  std::vector<std::vector<std::vector<PackCell>>> piece_packing_;
  std::vector<Ahead> ahead_;                      // [regions]; of policy pieces
  std::vector<std::unique_ptr<Table>> versions_;  // [regions][window]
  // [regions][window] of the step from that tick. Two ticks of a replica may be stepped at once, when
  // the round that has the second comes while the first is computed.
  std::vector<Nanos> step_costs_;
  const Tick begin_;
  detail::VersionUses uses_;

  std::mutex mutex_;                                 // guards what follows
  std::vector<std::unique_ptr<Table>> spare_;        // [regions] to be used again, or null
  std::vector<std::unique_ptr<Scratch>> scratches_;  // [cores]
  std::vector<std::unique_ptr<Sorted>> spare_rounds_;
  std::map<std::pair<RegionId, Tick>, Measure> measures_;
};

template <points::PointsUser U>
PointsStore<U>::PointsStore(const Model& model, const TypedPlan<Query>& typed, Arriving start,
                            PointsCosts costs)
    : model_(model),
      typed_(typed),
      costs_(costs),
      window_(typed.plan.window()),
      versions_(typed.plan.regions.size() * static_cast<std::size_t>(window_)),
      step_costs_(versions_.size()),
      begin_(start.tick),
      uses_(typed.plan, start.tick),
      spare_(typed.plan.regions.size()) {
  place_regions();
  list_pack_cells();
}

template <points::PointsUser U>
void PointsStore<U>::place_regions() {
  const auto& lattice = model_.lattice();
  for (const auto& query : typed_.regions) {
    RUBATO_REQUIRE(query.includes.size() == 1 && query.excludes.empty() &&
                       query.includes[0].boxes().size() == 1,
                   query.includes.size(), query.excludes.size());
    Place place;
    place.around.box = query.includes[0].boxes()[0];
    place.around.window =
        points::detail::unwrapped_window(lattice, place.around.box, lattice.visibility());
    place.reach = place.around.box.grown(lattice.reachability());
    place.window =
        points::detail::wrapped_window(lattice, place.around.box, lattice.reachability());
    places_.push_back(std::move(place));
  }
  for (RegionId region = 0; region < places_.size(); ++region) {
    auto& around = places_[region].around;
    for (const RegionId input : typed_.plan.inputs[region])
      points::detail::add_patches(lattice, around.window, places_[input].window, input,
                                  around.patches);
  }
}

// Which cells of which sources a round to each neighbour is packed from: fixed, so looked up once.
template <points::PointsUser U>
void PointsStore<U>::list_pack_cells() {
  const bool pieces = typed_.plan.policy.pieces;
  if (pieces) find_open_regions();
  packing_.resize(typed_.plan.neighbours.size());
  piece_packing_.resize(typed_.plan.neighbours.size());
  for (std::size_t i = 0; i < packing_.size(); ++i) {
    for (const RegionId source : typed_.plan.neighbours[i].sources) {
      auto& list = pieces ? piece_packing_[i].emplace_back() : packing_[i];
      add_pack_cells(source, typed_.targets[i], list);
      if (pieces) std::ranges::stable_sort(list, {}, &PackCell::cell);
    }
    std::ranges::stable_sort(packing_[i], {}, &PackCell::cell);
  }
}

// What of a target meets a window, and boxes of it beside that: a neighbour with many pieces has many,
// of which a region is near a few.
template <points::PointsUser U>
typename PointsStore<U>::Query PointsStore<U>::boxes_near(const Window& window,
                                                          const Query& target) const {
  Box around;
  for (std::size_t d = 0; d < kD; ++d) {
    const std::int64_t end = window.low[d] + window.size[d];
    const bool wraps = end > model_.lattice().n_cells()[d];
    around.low[d] = (wraps ? 0 : window.low[d]) * points::kUnitsPerCell;
    around.high[d] = (wraps ? model_.lattice().n_cells()[d] : end) * points::kUnitsPerCell;
  }
  std::vector<Box> near;
  std::ranges::copy_if(target.boxes(), std::back_inserter(near),
                       [&](const Box& box) { return box.meets(around); });
  return Query::of_disjoint(std::move(near));
}

// Those cells of the source's window that meet the target.
template <points::PointsUser U>
void PointsStore<U>::add_pack_cells(RegionId source, const Query& whole_target,
                                    std::vector<PackCell>& list) const {
  const auto& lattice = model_.lattice();
  const auto& window = places_[source].window;
  const Query target = boxes_near(window, whole_target);
  std::uint32_t local = 0;
  points::detail::for_each_row<kD>(window.size, [&](points::Index<kD> at) {
    for (at[0] = 0; at[0] < window.size[0]; ++at[0], ++local) {
      Box units;
      PackCell entry{0, source, local, false};
      for (std::size_t d = kD; d-- > 0;) {
        const std::int64_t c = (window.low[d] + at[d]) % lattice.n_cells()[d];
        entry.cell = entry.cell * lattice.n_cells()[d] + c;
        units.low[d] = c * points::kUnitsPerCell;
        units.high[d] = units.low[d] + points::kUnitsPerCell;
      }
      const Query cell(units);
      if (!cell.meets(target)) continue;
      entry.whole = cell.minus(target).empty();
      list.push_back(entry);
    }
  });
}

template <points::PointsUser U>
void PointsStore<U>::load(StartState<State> start) {
  Sorted initial;
  initial.tuples = std::move(start.held);
  check_numbers(initial.tuples, start.tick);
  const auto& lattice = model_.lattice();
  std::ranges::stable_sort(initial.tuples, {},
                           [&](const Tuple& tuple) { return lattice.cell_number(tuple.position); });
  for (const Tuple& tuple : initial.tuples)
    initial.cells.push_back(lattice.cell_number(tuple.position));
  for (RegionId region = 0; region < places_.size(); ++region) {
    cut_out(initial, places_[region], places_[region].around.box, make(region, start.tick));
  }
}

template <points::PointsUser U>
typename PointsStore<U>::Table& PointsStore<U>::make(RegionId region, Tick t) {
  std::unique_ptr<Table> table;
  {
    const std::lock_guard lock(mutex_);
    table = std::move(spare_[region]);
  }
  if (!table) table = std::make_unique<Table>();
  auto& version = versions_[slot(region, t)];
  RUBATO_ASSERT(version == nullptr, region, t);
  version = std::move(table);
  uses_.made(region, t);
  return *version;
}

// A unit or a round has read the version of an input or a source.
template <points::PointsUser U>
void PointsStore<U>::read_once(RegionId region, Tick t) {
  if (uses_.used(region, t)) keep(region, std::move(versions_[slot(region, t)]));
}

// One for the next version of the region; more would be as many as it has ever needed at once.
template <points::PointsUser U>
void PointsStore<U>::keep(RegionId region, std::unique_ptr<Table> table) {
  const std::lock_guard lock(mutex_);
  if (!spare_[region]) spare_[region] = std::move(table);
}

template <points::PointsUser U>
typename PointsStore<U>::Scratch& PointsStore<U>::scratch(std::uint32_t core) {
  const std::lock_guard lock(mutex_);
  while (scratches_.size() <= core)
    scratches_.push_back(std::make_unique<Scratch>(model_));
  return *scratches_[core];
}

template <points::PointsUser U>
void PointsStore<U>::collect(Scratch& work, RegionId region, Tick t) const {
  work.gather.collect(places_[region].around, [&](RegionId source) {
    return std::pair<const Table*, const points::detail::CellWindow<kD>*>(&at(source, t),
                                                                          &places_[source].window);
  });
}

template <points::PointsUser U>
void PointsStore<U>::step(RegionId region, Tick t, std::uint32_t core) {
  Scratch& work = scratch(core);
  collect(work, region, t);
  step_collected(work, region, t);
}

template <points::PointsUser U>
void PointsStore<U>::step_collected(Scratch& work, RegionId region, Tick t) {
  std::vector<Tuple>& results = work.stepper.results();
  if (Ahead* ahead = ahead_.empty() ? nullptr : &ahead_[region];
      ahead != nullptr && ahead->tick == t) {
    step_costs_[slot(region, t)] =
        look_and_step(work, t, [&](std::size_t cell) { return ahead->done[cell] == 0; });
    results.insert(results.end(), ahead->results.begin(), ahead->results.end());
  } else {
    step_costs_[slot(region, t)] = look_and_step(work, t, [](std::size_t) { return true; });
  }
  place_results(work, region, t);
}

// Makes the version of t + 1 of the stepper's results.
template <points::PointsUser U>
void PointsStore<U>::place_results(Scratch& work, RegionId region, Tick t) {
  const std::vector<Tuple>& results = work.stepper.results();
  const Place& place = places_[region];
  locate(place, results, t, work.cells);
  Table& table = make(region, t + 1);
  table.fill(results, work.cells, static_cast<std::size_t>(place.window.n_cells()), work.next);
  if ((t + 1) % kNumbersInterval == 0) check_numbers(table.all(), t + 1);
  if constexpr (points::PointsHasStop<U>) keep_measure(region, t, table);
  for (const RegionId input : typed_.plan.inputs[region])
    read_once(input, t);
}

// Steps the tuples of the cells of what was gathered that are wanted, into the stepper's results;
// returns what that costs in virtual time.
template <points::PointsUser U>
template <class Wanted>
Nanos PointsStore<U>::look_and_step(Scratch& work, Tick t, const Wanted& wanted) {
  work.stepper.begin(t);
  std::size_t n_pairs = 0;
  std::size_t n_tuples = 0;
  work.gather.walk(wanted, [&](const Tuple& tuple, const points::NeighboursOf<U>& near) {
    work.stepper.step(model_.user(), tuple, near);
    n_pairs += near.size();
    ++n_tuples;
  });
  work.stepper.flush(model_.user());
  return static_cast<Nanos>(costs_.unit + costs_.tuple * static_cast<double>(n_tuples) +
                            costs_.pair * static_cast<double>(n_pairs));
}

template <points::PointsUser U>
void PointsStore<U>::check_numbers(std::span<const Tuple> tuples, Tick t) const {
  for (const Tuple& tuple : tuples) {
    const std::array<typename U::Scalar, U::kSeen> seen = model_.user().seen(tuple);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == seen[i]) continue;
      throw Error("tuple " + std::to_string(tuple.id) + ", tick " + std::to_string(t) +
                      ": number " + std::to_string(i) + " that others see of it is not a number",
                  ExitCode::failed);
    }
  }
}

template <points::PointsUser U>
void PointsStore<U>::keep_measure(RegionId region, Tick t, const Table& after) {
  if constexpr (points::PointsHasStop<U>) {
    const Tick interval = model_.stop_interval();
    if (!typed_.plan.regions[region].own() || interval <= 0 || (t + 1) % interval != 0) return;
    // The tuples that were stepped, from the versions that have them.
    State before;
    const auto& lattice = model_.lattice();
    const Box& box = places_[region].around.box;
    for (const RegionId input : typed_.plan.inputs[region]) {
      for (const Tuple& tuple : at(input, t).all()) {
        if (box.contains(lattice.unit(tuple.position))) before.push_back(tuple);
      }
    }
    std::ranges::sort(before, {}, &Tuple::id);
    const auto same = [](const Tuple& a, const Tuple& b) { return a.id == b.id; };
    before.erase(std::unique(before.begin(), before.end(), same), before.end());
    const auto tuples = after.all();
    const Measure measure = model_.measure(before, State(tuples.begin(), tuples.end()));
    const std::lock_guard lock(mutex_);
    measures_[{region, t + 1}] = measure;
  }
}

// The numbers of the cells of the place's window that the results of its step lie in. Throws Error
// if one is not in the world, or farther away than the reachability allows.
template <points::PointsUser U>
void PointsStore<U>::locate(const Place& place, std::span<const Tuple> results, Tick t,
                            std::vector<std::uint32_t>& cells) const {
  // Local: the loop below writes memory.
  const points::Lattice<typename U::Scalar, kD> lattice = model_.lattice();
  const Box reach = place.reach;
  const auto window = place.window;
  cells.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& position = results[i].position;
    if (!lattice.contains(position)) {
      throw Error(model_.outside(results[i], "tick " + std::to_string(t + 1)).what(),
                  ExitCode::failed);
    }
    std::int64_t number = 0;
    for (std::size_t d = kD; d-- > 0;) {
      const std::int64_t unit = lattice.unit(position, d);
      std::int64_t way = unit - reach.low[d];
      std::int64_t cell = points::cell_of_unit(unit) - window.low[d];
      if (lattice.periodic(d)) {
        const std::int64_t n = lattice.n_units(d);
        way += way < 0 ? n : way >= n ? -n : 0;
        cell += cell < 0 ? lattice.n_cells()[d] : 0;
      }
      if (way < 0 || way >= reach.width(d)) throw model_.too_far(results[i], t);
      number = number * window.size[d] + cell;
    }
    cells[i] = static_cast<std::uint32_t>(number);
  }
}

template <points::PointsUser U>
void PointsStore<U>::release(Tick floor) {
  uses_.release(floor, [this](RegionId region, Tick t) {
    keep(region, std::move(versions_[slot(region, t)]));
  });
}

template <points::PointsUser U>
Bytes PointsStore<U>::measure(RegionId region, Tick t) {
  if constexpr (points::PointsHasStop<U>) {
    const std::lock_guard lock(mutex_);
    const auto found = measures_.find({region, t});
    RUBATO_ASSERT(found != measures_.end(), region, t);
    Bytes bytes = to_bytes(found->second);
    measures_.erase(found);
    return bytes;
  } else {
    return {};
  }
}
template <points::PointsUser U>
void PointsStore<U>::combine(Bytes& into, ByteView from) {
  if constexpr (points::PointsHasStop<U>) {
    Measure sum = from_bytes(into);
    model_.combine(sum, from_bytes(from));
    into = to_bytes(sum);
  }
}
template <points::PointsUser U>
bool PointsStore<U>::stop(ByteView combined, Tick t) {
  if constexpr (points::PointsHasStop<U>) return model_.stop(from_bytes(combined), t);
  return false;
}

template <points::PointsUser U>
std::size_t PointsStore<U>::bytes() const {
  std::size_t n = 0;
  for (const auto& version : versions_)
    n += version ? version->bytes() : 0;
  for (const auto& table : spare_)
    n += table ? table->bytes() : 0;
  for (const Ahead& ahead : ahead_)
    n += ahead.done.capacity() + ahead.results.capacity() * sizeof(Tuple);
  return n;
}

}  // namespace rubato::tick

#include "rubato/tick/points/detail/store_ahead.hpp"
#include "rubato/tick/points/detail/store_lent.hpp"
#include "rubato/tick/points/detail/store_rounds.hpp"
#include "rubato/tick/points/detail/store_segments.hpp"

#pragma once
// GraphStore: the Store of the kind `graph` on dense arrays. Same plan and same bits as
// FragmentStore gives for the generated eight functions.
//
// Each vertex that the node holds has a slot; the slots of a region are contiguous. In-edges are kept
// as slots, ascending by source vertex, so that a step is a pull loop over a stretch of CSR.
//
// Versions lie in rows, arrays of values over all slots, one for each tick of the window. Under policy
// pieces, where it is known who has read a version (VersionUses), there are two: that of an even tick and that of an odd one, of which a region has its
// own stretch again when all have read it. If some have not, as where edges go one way and a region
// is far ahead of its readers, the version lies outside of the rows until they have; a step looks
// there only if one of its tick does.
//
// A value that is not a number ends the run with its vertex, if Value is a floating type: all are
// looked at in the initial state, at each kNumbersInterval-th tick and at the end.
//
// A round holds bare values, ascending by vertex: both sides know which vertices they are, since
// the structure is static.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/detail/version_uses.hpp"
#include "rubato/tick/graph/graph_model.hpp"
#include "rubato/tick/held_state.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

struct GraphStoreOptions {
  double ns_per_vertex = 3;  // virtual time of a step, linear in vertices and edges
  double ns_per_edge = 1.5;
  double bytes_per_ns = 2;  // of packing and unpacking: gathered values
};

template <GraphUser U>
class GraphStore final : public Store {
 public:
  using Model = GraphModel<U>;
  using Value = typename U::Value;
  using Measure = typename Model::Measure;
  using Sum = typename detail::GraphSum<U>::type;

  // Both must outlive the store. Calls the user's init on what the node holds.
  GraphStore(const Model& model, const TypedPlan<VertexQuery>& typed,
             GraphStoreOptions options = {})
      : GraphStore(model, typed, Arriving{0}, options) {
    make_all();
    for (std::size_t slot = 0; slot < vertices_.size(); ++slot)
      row(0)[slot] = model_.user().init(vertices_[slot]);
    check_first();
  }
  // The same for a run that begins later. Throws Error if a vertex has no value there.
  GraphStore(const Model& model, const TypedPlan<VertexQuery>& typed, const StateSource& source,
             GraphStoreOptions options = {})
      : GraphStore(model, typed, Arriving{source.tick()}, options) {
    const StartState<typename Model::State> start = held_state(model, typed.held, source);
    make_all();
    for (std::size_t slot = 0; slot < vertices_.size(); ++slot) {
      const auto at = std::ranges::lower_bound(start.held.ids, vertices_[slot]);
      if (at == start.held.ids.end() || *at != vertices_[slot]) {
        throw Error("the state at tick " + std::to_string(start.tick) + " has no value of vertex " +
                    std::to_string(vertices_[slot]) + ": is it of another graph?");
      }
      row(begin_)[slot] = start.held.values[static_cast<std::size_t>(at - start.held.ids.begin())];
    }
    check_first();
  }
  GraphStore(const Model& model, const TypedPlan<VertexQuery>& typed, Arriving start,
             GraphStoreOptions options = {});

  void step(RegionId region, Tick t, std::uint32_t /*core*/) override {
    const bool in_part = !ahead_.empty() && ahead_[region].tick == t;
    if (!in_part || ahead_[region].n_vertices == 0) make(region, t + 1);
    const StepPlaces at = places_of_step(region, t);
    if (in_part) {
      step_rest(at, region, t);
    } else {
      for (std::size_t slot = begins_[region]; slot < begins_[region + std::size_t{1}]; ++slot)
        step_whole(at, region, slot, t);
    }
    if ((t + 1) % kNumbersInterval == 0) check_numbers(region, t + 1);
    if constexpr (GraphHasStop<U>) {
      if (typed_.plan.regions[region].own() && stop_interval() > 0 &&
          (t + 1) % stop_interval() == 0) {
        measure_step(region, t);
      }
    }
    for (const RegionId input : typed_.plan.inputs[region])
      read_once(input, t);
  }

  [[nodiscard]] bool interacts() const override { return !ahead_.empty(); }
  // graph/detail/graph_store_ahead.hpp
  bool interact(RegionId region, Tick t, std::span<const RegionId> present,
                std::uint32_t core) override;
  [[nodiscard]] Nanos interact_cost(RegionId region) const override { return ahead_[region].cost; }

  void pack(std::uint32_t neighbour, Tick t, Writer& out) override {
    put_values(packed_[neighbour], t, out);
    for (const RegionId source : typed_.plan.neighbours[neighbour].sources)
      read_once(source, t);
  }
  void pack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, Writer& out) override {
    put_values(packed_pieces_[neighbour][i], t, out);
    read_once(typed_.plan.neighbours[neighbour].sources[i], t);
  }
  void unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, ByteView payload) override {
    const auto& slots = taken_pieces_[neighbour][i];
    if (payload.size() != slots.size() * sizeof(Value)) {
      throw wrong_size(neighbour, t, slots.size(), payload.size());
    }
    for (const RegionId region : typed_.plan.neighbours[neighbour].pieces[i])
      make(region, t);
    for (std::size_t k = 0; k < slots.size(); ++k) {
      Value* here = place(region_of_[slots[k]], t) + (slots[k] - begins_[region_of_[slots[k]]]);
      std::memcpy(here, payload.data() + k * sizeof(Value), sizeof(Value));
    }
  }

  void unpack(std::uint32_t neighbour, Tick t, ByteView payload,
              std::span<const std::uint8_t> fresh) override {
    const auto& taken = taken_[neighbour];
    if (payload.size() != taken.size() * sizeof(Value)) {
      throw wrong_size(neighbour, t, taken.size(), payload.size());
    }
    const auto& regions = typed_.plan.neighbours[neighbour].regions;
    std::vector<Value*> places;  // [regions]
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (fresh[i] != 0) make(regions[i], t);
      places.push_back(place(regions[i], t));
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const std::size_t first = begins_[regions[taken[i].region]];
      Value& here = places[taken[i].region][taken[i].slot - first];
      const std::byte* came = payload.data() + i * sizeof(Value);
      if (fresh[taken[i].region] != 0) {
        std::memcpy(&here, came, sizeof(Value));
      } else if (!std::ranges::equal(std::as_bytes(std::span(&here, 1)),
                                     ByteView(came, sizeof(Value)))) {
        throw Error("vertex " + std::to_string(vertices_[taken[i].slot]) + ", tick " +
                        std::to_string(t) + ": recomputed here with other bits than at " +
                        name_of(neighbour) +
                        "; the step is not deterministic or does not combine by source",
                    ExitCode::failed);
      }
    }
  }

  void release(Tick floor) override {
    if (counts_) uses_.release(floor, [this](RegionId region, Tick t) { drop(region, t); });
  }

  Bytes measure(RegionId region, Tick t) override {
    Writer writer;
    if constexpr (GraphHasStop<U>) {
      const std::lock_guard lock(measures_mutex_);
      const auto found = measures_.extract({region, t});
      RUBATO_ASSERT(!found.empty(), region, t);
      writer.put(found.mapped());
    }
    return writer.take();
  }
  void combine(Bytes& into, ByteView from) override {
    if constexpr (GraphHasStop<U>) {
      Measure sum = into.empty() ? Measure{} : Reader(into).get<Measure>();
      model_.combine(sum, Reader(from).get<Measure>());
      Writer writer;
      writer.put(sum);
      into = writer.take();
    }
  }
  bool stop(ByteView combined, Tick t) override {
    if constexpr (GraphHasStop<U>) return model_.stop(Reader(combined).get<Measure>(), t);
    return false;
  }
  [[nodiscard]] Tick stop_interval() const override {
    if constexpr (GraphHasStop<U>) return model_.stop_interval();
    return 0;
  }
  [[nodiscard]] Tick stop_lag() const override {
    if constexpr (GraphHasStop<U>) return model_.stop_lag();
    return 0;
  }

  [[nodiscard]] Nanos step_cost(RegionId region, Tick t) const override {
    const std::size_t begin = begins_[region];
    const std::size_t end = begins_[region + std::size_t{1}];
    std::size_t n_vertices = end - begin;
    std::size_t n_edges = in_begins_[end] - in_begins_[begin];
    if (!ahead_.empty() && ahead_[region].tick == t) {
      n_vertices -= ahead_[region].n_vertices;
      n_edges -= ahead_[region].n_edges;
    }
    return cost_of(n_vertices, n_edges);
  }
  [[nodiscard]] Nanos copy_cost(std::size_t n_bytes) const override {
    return kMicrosecond + static_cast<Nanos>(static_cast<double>(n_bytes) / options_.bytes_per_ns);
  }
  [[nodiscard]] std::size_t bytes() const override {
    return values_.capacity() * sizeof(Value) + bytes_outside_.load() + bytes_ahead_.load();
  }

  [[nodiscard]] const Model& model() const noexcept { return model_; }

  // Calls f(vertex, value) for each own vertex, region by region. REQUIRES: t is the tick that all
  // own regions have.
  template <class F>
  void for_each_own(Tick t, F&& f) const {
    for (RegionId region = 0; region < typed_.plan.n_own; ++region) {
      const std::span<const Value> values = values_of(region, t);
      for (std::size_t i = 0; i < values.size(); ++i)
        f(vertices_[begins_[region] + i], values[i]);
    }
  }
  // The checksum of the own vertices (tick/problem.hpp). Error if a value is not a number.
  [[nodiscard]] std::uint64_t checksum(Tick t) const {
    for (RegionId region = 0; region < typed_.plan.n_own; ++region)
      check_numbers(region, t);
    std::uint64_t sum = 0;
    for_each_own(t, [&](VertexId v, const Value& value) {
      sum += tuple_hash(v, std::as_bytes(std::span(&value, 1)));
    });
    return sum;
  }
  // The same as general states, for tests and output: of all own vertices, of one own region.
  [[nodiscard]] typename Model::State own_state(Tick t) const {
    return state_of(0, typed_.plan.n_own, t);
  }
  [[nodiscard]] typename Model::State region_state(RegionId region, Tick t) const {
    return state_of(region, region + 1, t);
  }
  // Appends what one own region has at tick t, for a StateSource: as the model writes it.
  void save(RegionId region, Tick t, Writer& out) const {
    model_.write(out, region_state(region, t));
  }
  // Segments (Arriving in store.hpp).
  void save(RegionId region, Tick t, const VertexQuery& query, Writer& out) const {
    model_.write(out, model_.select(region_state(region, t), query));
  }
  void begin(RegionId region, std::span<const ByteView> fragments) {
    std::vector<std::pair<VertexId, std::size_t>> mine;  // with its slot
    for (std::size_t slot = begins_[region]; slot < begins_[region + std::size_t{1}]; ++slot)
      mine.emplace_back(vertices_[slot], slot);
    std::ranges::sort(mine);
    make(region, begin_);
    Value* values = place(region, begin_);
    std::size_t n = 0;
    for (const ByteView fragment : fragments) {
      Reader reader(fragment);
      const typename Model::State state = model_.read(reader);
      for (std::size_t i = 0; i < state.ids.size(); ++i) {
        const auto at = std::ranges::lower_bound(mine, state.ids[i], {},
                                                 &std::pair<VertexId, std::size_t>::first);
        if (at == mine.end() || at->first != state.ids[i]) continue;
        values[at->second - begins_[region]] = state.values[i];
        ++n;
      }
    }
    RUBATO_ASSERT(n == mine.size(), region, n, mine.size());
  }

 private:
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  struct Taken {
    std::uint32_t slot = 0;
    std::uint32_t region = 0;  // index in Neighbour::regions
  };

  // What interact() has done of a region's next step.
  struct Ahead {
    Tick tick = -1;
    // [vertices of the region] edges; kAll: the vertex is stepped.
    std::vector<std::uint32_t> taken;
    std::vector<Sum> sums;       // [vertices of the region] where edges are taken one by one
    std::size_t n_vertices = 0;  // that are stepped
    std::size_t n_edges = 0;     // that are taken
    Nanos cost = 0;              // of the last call
  };
  static constexpr std::uint32_t kAll = UINT32_MAX;
  [[nodiscard]] static std::size_t bytes_of(const Ahead& ahead) noexcept {
    return ahead.taken.capacity() * sizeof(ahead.taken[0]) + ahead.sums.capacity() * sizeof(Sum);
  }

  // Where the values of a step lie.
  struct StepPlaces {
    const Value* now = nullptr;     // of all slots
    const Value* before = nullptr;  // of the region's own
    Value* after = nullptr;
    ValuesElsewhere<Value> elsewhere{};
  };
  // REQUIRES for `after`: made(region, t + 1).
  [[nodiscard]] StepPlaces places_of_step(RegionId region, Tick t) noexcept {
    return {row(t),
            place(region, t),
            place(region, t + 1),
            {region_of_.data(), begins_.data(), outside_of(t)}};
  }
  [[nodiscard]] InEdges<Value> in_edges(const StepPlaces& at, std::size_t slot) const {
    return {std::span(in_slots_).subspan(in_begins_[slot], in_begins_[slot + 1] - in_begins_[slot]),
            vertices_.data(), at.now, model_.graph().in_weights(vertices_[slot]),
            at.elsewhere.places == nullptr ? nullptr : &at.elsewhere};
  }
  void step_whole(const StepPlaces& at, RegionId region, std::size_t slot, Tick t) {
    const std::size_t i = slot - begins_[region];
    at.after[i] = step_vertex(model_.user(), vertices_[slot], at.before[i], in_edges(at, slot), t);
  }

  // Steps in part (`ahead_`), in graph/detail/graph_store_ahead.hpp. Vertex i of a region is the one of
  // slot begins_[region] + i.
  void start_ahead(RegionId region, Tick t);
  // Of the edges into a slot, how many are here without a gap, of which `n` are known to be.
  [[nodiscard]] std::uint32_t edges_here(std::size_t slot, std::uint32_t n,
                                         const std::vector<std::uint8_t>& is_here) const;
  // The edges of a vertex up to n_here, which is not all.
  void take_part(RegionId region, Tick t, std::size_t i, std::uint32_t n_here);
  // A vertex all of whose edges are here, whatever was taken of it.
  void step_from(const StepPlaces& at, RegionId region, std::size_t i, Tick t);
  // What interact() has left of a region's step.
  void step_rest(const StepPlaces& at, RegionId region, Tick t);

  [[nodiscard]] Nanos cost_of(std::size_t n_vertices, std::size_t n_edges) const noexcept {
    return static_cast<Nanos>(options_.ns_per_vertex * static_cast<double>(n_vertices) +
                              options_.ns_per_edge * static_cast<double>(n_edges));
  }
  void put_values(const std::vector<std::uint32_t>& slots, Tick t, Writer& out) const {
    out.reserve(out.size() + slots.size() * sizeof(Value));
    const ValuesElsewhere<Value> elsewhere{region_of_.data(), begins_.data(), outside_of(t)};
    for (const std::uint32_t slot : slots)
      out.put(elsewhere.places == nullptr ? row(t)[slot] : elsewhere.at(row(t), slot));
  }
  [[nodiscard]] Error wrong_size(std::uint32_t neighbour, Tick t, std::size_t n_values,
                                 std::size_t n_bytes) const {
    return Error("round " + std::to_string(t) + " from " + name_of(neighbour) + ": expected " +
                     std::to_string(n_values) + " values, found " + std::to_string(n_bytes) +
                     " bytes; the nodes have different graphs",
                 ExitCode::failed);
  }
  // Which slots each piece carries, to and from each neighbour: both sides by ascending vertex.
  void link_pieces() {
    if (!typed_.plan.policy.pieces) return;
    ahead_.resize(typed_.regions.size());
    for (std::size_t i = 0; i < typed_.plan.neighbours.size(); ++i) {
      const Neighbour& neighbour = typed_.plan.neighbours[i];
      auto& packed = packed_pieces_.emplace_back(neighbour.sources.size());
      for (const std::uint32_t slot : packed_[i]) {
        const auto at = std::ranges::lower_bound(neighbour.sources, region_of_[slot]);
        RUBATO_ASSERT(at != neighbour.sources.end() && *at == region_of_[slot], vertices_[slot],
                      neighbour.node);
        packed[static_cast<std::size_t>(at - neighbour.sources.begin())].push_back(slot);
      }
      auto& taken = taken_pieces_.emplace_back(neighbour.pieces.size());
      std::vector<std::size_t> piece_of(typed_.regions.size(), taken.size());
      for (std::size_t piece = 0; piece < taken.size(); ++piece) {
        for (const RegionId region : neighbour.pieces[piece])
          piece_of[region] = piece;
      }
      for (const Taken& each : taken_[i]) {
        const std::size_t piece = piece_of[region_of_[each.slot]];
        RUBATO_ASSERT(piece < taken.size(), vertices_[each.slot], neighbour.node);
        taken[piece].push_back(each.slot);
      }
    }
  }

  // Versions. Two of a region that are not of neighbouring ticks may share a stretch of a row, one after
  // the other.
  [[nodiscard]] std::size_t row_number(Tick t) const noexcept {
    return static_cast<std::size_t>(t) % n_rows_;
  }
  [[nodiscard]] Value* row(Tick t) noexcept {
    return values_.data() + row_number(t) * vertices_.size();
  }
  [[nodiscard]] const Value* row(Tick t) const noexcept {
    return values_.data() + row_number(t) * vertices_.size();
  }
  [[nodiscard]] std::unique_ptr<Value[]>& outside(RegionId region, Tick t) noexcept {
    return outside_[static_cast<std::size_t>(t % window_) * typed_.regions.size() + region];
  }
  // Of all regions at tick t, those outside of the rows; null if there are none.
  [[nodiscard]] const std::unique_ptr<Value[]>* outside_of(Tick t) const noexcept {
    const auto slot = static_cast<std::size_t>(t % window_);
    if (outside_.empty() || n_outside_[slot].load(std::memory_order_relaxed) == 0) return nullptr;
    return &outside_[slot * typed_.regions.size()];
  }
  [[nodiscard]] const Value* place(RegionId region, Tick t) const noexcept {
    const std::unique_ptr<Value[]>* places = outside_of(t);
    const Value* other = places == nullptr ? nullptr : places[region].get();
    return other == nullptr ? row(t) + begins_[region] : other;
  }
  [[nodiscard]] Value* place(RegionId region, Tick t) noexcept {
    return const_cast<Value*>(std::as_const(*this).place(region, t));
  }
  [[nodiscard]] std::span<const Value> values_of(RegionId region, Tick t) const noexcept {
    return {place(region, t), begins_[region + std::size_t{1}] - begins_[region]};
  }
  [[nodiscard]] std::atomic<bool>& is_used(RegionId region, Tick t) noexcept {
    return in_use_[row_number(t) * typed_.regions.size() + region];
  }
  // Before a version is written.
  void make(RegionId region, Tick t) {
    if (outside_.empty()) return;
    // What is freed by others was read by them before.
    if (is_used(region, t).exchange(true, std::memory_order_acquire)) {
      const std::size_t n = begins_[region + std::size_t{1}] - begins_[region];
      outside(region, t) = std::make_unique<Value[]>(n);
      n_outside_[static_cast<std::size_t>(t % window_)].fetch_add(1, std::memory_order_relaxed);
      bytes_outside_ += n * sizeof(Value);
    }
    uses_.made(region, t);
  }
  void make_all() {
    for (RegionId region = 0; region < typed_.regions.size(); ++region)
      make(region, begin_);
  }
  // A unit or a round has read the version of an input or a source.
  void read_once(RegionId region, Tick t) {
    if (counts_ && uses_.used(region, t)) drop(region, t);
  }
  void drop(RegionId region, Tick t) {
    if (outside(region, t) == nullptr) {
      is_used(region, t).store(false, std::memory_order_release);
      return;
    }
    outside(region, t).reset();
    n_outside_[static_cast<std::size_t>(t % window_)].fetch_sub(1, std::memory_order_relaxed);
    bytes_outside_ -= (begins_[region + std::size_t{1}] - begins_[region]) * sizeof(Value);
  }
  [[nodiscard]] std::string name_of(std::uint32_t neighbour) const {
    return "node " + std::to_string(typed_.plan.neighbours[neighbour].node);
  }

  void check_numbers(RegionId region, Tick t) const {
    if constexpr (std::is_floating_point_v<Value>) {
      const std::span<const Value> values = values_of(region, t);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == values[i]) continue;
        throw Error("vertex " + std::to_string(vertices_[begins_[region] + i]) + ", tick " +
                        std::to_string(t) + ": not a number",
                    ExitCode::failed);
      }
    }
  }
  void check_first() const {
    for (RegionId region = 0; region < typed_.regions.size(); ++region)
      check_numbers(region, begin_);
  }

  [[nodiscard]] typename Model::State state_of(RegionId first, RegionId last, Tick t) const {
    std::vector<std::pair<VertexId, const Value*>> all;
    for (RegionId region = first; region < last; ++region) {
      const std::span<const Value> values = values_of(region, t);
      for (std::size_t i = 0; i < values.size(); ++i)
        all.emplace_back(vertices_[begins_[region] + i], &values[i]);
    }
    std::ranges::sort(all, {}, &std::pair<VertexId, const Value*>::first);
    typename Model::State state;
    for (const auto& [vertex, value] : all)
      state.add(vertex, *value);
    return state;
  }

  // Every vertex that the node holds lies in exactly one region.
  void place_regions(std::vector<std::uint32_t>& slot_of) {
    begins_.push_back(0);
    for (RegionId region = 0; region < typed_.regions.size(); ++region) {
      RegionQuery<VertexQuery> query = typed_.regions[region];
      // A neighbour's piece is a region as a whole; here is what of it is read.
      if (typed_.plan.policy.pieces && !typed_.plan.regions[region].own())
        query.includes.push_back(typed_.held);
      for (const VertexId v : model_.vertices_of(query)) {
        RUBATO_ASSERT(slot_of[v] == kNoSlot, v, slot_of[v]);
        slot_of[v] = static_cast<std::uint32_t>(vertices_.size());
        vertices_.push_back(v);
      }
      begins_.push_back(vertices_.size());
      region_of_.resize(vertices_.size(), region);
    }
  }

  void link_edges(const std::vector<std::uint32_t>& slot_of) {
    in_begins_.push_back(0);
    for (RegionId region = 0; region < typed_.regions.size(); ++region) {
      const bool stepped = typed_.plan.regions[region].layer <= typed_.plan.policy.replica_layers;
      for (std::size_t slot = begins_[region]; slot < begins_[region + std::size_t{1}]; ++slot) {
        if (stepped) link_vertex(vertices_[slot], slot_of);
        in_begins_.push_back(in_slots_.size());
      }
    }
  }
  void link_vertex(VertexId v, const std::vector<std::uint32_t>& slot_of) {
    for (const VertexId u : model_.graph().in(v)) {
      RUBATO_ASSERT(slot_of[u] != kNoSlot, u, v);
      in_slots_.push_back(slot_of[u]);
    }
  }

  void link_neighbours(const std::vector<std::uint32_t>& slot_of) {
    for (std::size_t i = 0; i < typed_.plan.neighbours.size(); ++i) {
      const Neighbour& neighbour = typed_.plan.neighbours[i];
      packed_.emplace_back();
      if (neighbour.receives) {
        const std::vector<VertexId> sent =
            model_.vertices_of({{typed_.own, typed_.targets[i]}, {}});
        for (const VertexId v : sent)
          packed_.back().push_back(slot_of[v]);
      }
      taken_.emplace_back();
      for (std::size_t r = 0; r < neighbour.regions.size(); ++r) {
        const RegionId region = neighbour.regions[r];
        for (std::size_t slot = begins_[region]; slot < begins_[region + std::size_t{1}]; ++slot) {
          taken_.back().push_back(
              {static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(r)});
        }
      }
      std::ranges::sort(taken_.back(), {}, [this](const Taken& t) { return vertices_[t.slot]; });
    }
  }

  void measure_step(RegionId region, Tick t) requires GraphHasStop<U> {
    Measure m{};
    const std::span<const Value> before = values_of(region, t);
    const std::span<const Value> after = values_of(region, t + 1);
    for (std::size_t i = 0; i < before.size(); ++i)
      model_.user().measure(m, vertices_[begins_[region] + i], before[i], after[i]);
    const std::lock_guard lock(measures_mutex_);
    measures_[{region, t + 1}] = model_.combined(m);
  }

  const Model& model_;
  const TypedPlan<VertexQuery>& typed_;
  GraphStoreOptions options_;
  const Tick window_;
  const Tick begin_;
  const bool counts_;  // who has read a version
  const std::size_t n_rows_;
  std::vector<VertexId> vertices_;                  // [slots]
  std::vector<std::size_t> begins_;                 // [regions + 1] slots
  std::vector<std::size_t> in_begins_;              // [slots + 1]; no edges into halo regions
  std::vector<std::uint32_t> in_slots_;             // [edges]
  std::vector<std::vector<std::uint32_t>> packed_;  // [neighbours] slots, ascending by vertex
  std::vector<std::vector<Taken>> taken_;           // [neighbours] ascending by vertex
  // Policy pieces: [neighbours][pieces] slots, ascending by vertex.
  std::vector<std::vector<std::vector<std::uint32_t>>> packed_pieces_;
  std::vector<std::vector<std::vector<std::uint32_t>>> taken_pieces_;
  std::vector<RegionId> region_of_;  // [slots]
  std::vector<Ahead> ahead_;         // [regions]; of policy pieces
  std::vector<Value> values_;        // [rows][slots]
  detail::VersionUses uses_;
  // Where versions are counted: which stretches of the rows are in use, and what lies elsewhere.
  std::unique_ptr<std::atomic<bool>[]> in_use_;              // [rows][regions]
  std::vector<std::unique_ptr<Value[]>> outside_;            // [window][regions]
  std::unique_ptr<std::atomic<std::uint32_t>[]> n_outside_;  // [window] of regions
  std::atomic<std::size_t> bytes_outside_{0};
  std::atomic<std::size_t> bytes_ahead_{0};
  std::mutex measures_mutex_;
  std::map<std::pair<RegionId, Tick>, Measure> measures_;
};

template <GraphUser U>
GraphStore<U>::GraphStore(const Model& model, const TypedPlan<VertexQuery>& typed, Arriving start,
                          GraphStoreOptions options)
    : model_(model),
      typed_(typed),
      options_(options),
      window_(typed.plan.window()),
      begin_(start.tick),
      counts_(typed.plan.policy.pieces && detail::VersionUses::counts(typed.plan)),
      n_rows_(counts_ ? 2 : static_cast<std::size_t>(window_)),
      uses_(typed.plan, start.tick) {
  std::vector<std::uint32_t> slot_of(model.graph().n_vertices(), kNoSlot);
  place_regions(slot_of);
  link_edges(slot_of);
  link_neighbours(slot_of);
  link_pieces();
  values_.resize(n_rows_ * vertices_.size());
  if (!counts_) return;
  const std::size_t n = typed.regions.size();
  in_use_ = std::make_unique<std::atomic<bool>[]>(n_rows_ * n);
  outside_.resize(static_cast<std::size_t>(window_) * n);
  n_outside_ = std::make_unique<std::atomic<std::uint32_t>[]>(static_cast<std::size_t>(window_));
}

}  // namespace rubato::tick

#include "rubato/tick/graph/detail/graph_store_ahead.hpp"  // IWYU pragma: export

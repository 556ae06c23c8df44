#pragma once
// FragmentStore: the Store of a general model. A version of a region is an immutable State, shared
// by all that read it; what a unit reads is selected and merged from its inputs' versions by the
// model's own functions. Nothing is known of the model but Table 1 and its State operations. A version
// goes when all have read it.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/detail/version_uses.hpp"
#include "rubato/tick/held_state.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan_builder.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

template <Model M>
class FragmentStore final : public Store {
 public:
  using State = typename M::State;
  using Query = typename M::Query;

  // Both must outlive the store. Calls model.init() on what the node holds.
  FragmentStore(const M& model, const TypedPlan<Query>& typed)
      : FragmentStore(model, typed, {0, model.init(typed.held)}) {}
  // The same for a run that begins later.
  FragmentStore(const M& model, const TypedPlan<Query>& typed, const StateSource& source)
      : FragmentStore(model, typed, held_state(model, typed.held, source)) {}
  FragmentStore(const M& model, const TypedPlan<Query>& typed, StartState<State> start)
      : FragmentStore(model, typed, Arriving{start.tick}) {
    const auto initial = std::make_shared<const State>(std::move(start.held));
    for (RegionId region = 0; region < typed_.plan.regions.size(); ++region)
      make(region, begin_, initial);
  }
  FragmentStore(const M& model, const TypedPlan<Query>& typed, Arriving start)
      : model_(model),
        typed_(typed),
        window_(typed.plan.window()),
        begin_(start.tick),
        versions_(typed.plan.regions.size() * static_cast<std::size_t>(window_)),
        costs_(versions_.size()),
        uses_(typed.plan, start.tick) {
    if (HasInteract<M> && typed_.plan.policy.pieces) find_writers();
  }

  void step(RegionId region, Tick t, std::uint32_t /*core*/) override {
    const RegionQuery<Query>& query = typed_.regions[region];
    const bool in_part = !ahead_.empty() && ahead_[region].tick == t;
    State context;
    for (const auto& source : sources(region, t)) {
      if (in_part && ahead_[region].has(source)) continue;
      model_.merge(context, read_of(query, *source));
    }
    State to_step;
    State result;
    if constexpr (HasInteract<M>) {
      if (in_part) {
        Ahead& ahead = ahead_[region];
        to_step = std::move(ahead.to_step);
        model_.interact(ahead.in, to_step, context, t);
        result = model_.finish(to_step, ahead.in, t);
        ahead.begin(t, {});
      }
    }
    if (!in_part) {
      to_step = restrict_to(context, query);
      result = stepped(model_, to_step, context, t);
    }
    costs_[slot(region, t)] = cost_of(to_step, context);
    if constexpr (HasStopCondition<M>) {
      if (typed_.plan.regions[region].own() && model_.stop_interval() > 0 &&
          (t + 1) % model_.stop_interval() == 0) {
        const std::lock_guard lock(measures_mutex_);
        measures_[{region, t + 1}] = model_.measure(to_step, result);
      }
    }
    make(region, t + 1, std::make_shared<const State>(std::move(result)));
    for (const RegionId input : typed_.plan.inputs[region])
      read_once(input, t);
  }

  [[nodiscard]] bool interacts() const override { return !ahead_.empty(); }
  // As soon as the tuples of the region itself are whole, with all that is there.
  bool interact(RegionId region, Tick t, std::span<const RegionId> present,
                std::uint32_t /*core*/) override {
    if constexpr (HasInteract<M>) {
      const RegionQuery<Query>& query = typed_.regions[region];
      const auto is_here = [&](RegionId input) {
        return std::ranges::find(present, input) != present.end();
      };
      Ahead& ahead = ahead_[region];
      // At the first tick all regions have one state, and nothing is waited for.
      if (t == begin_ || !std::ranges::all_of(ahead.writers, is_here)) return false;
      if (ahead.tick != t) {
        State own;
        for (const RegionId writer : ahead.writers)
          model_.merge(own, read_of(query, *at(writer, t)));
        ahead.begin(t, restrict_to(own, query));
      }
      State other;
      for (const RegionId input : present) {
        if (ahead.has(at(input, t))) continue;
        ahead.taken.push_back(at(input, t));
        model_.merge(other, read_of(query, *ahead.taken.back()));
      }
      model_.interact(ahead.in, ahead.to_step, other, t);
      ahead.cost = cost_of(ahead.to_step, other);
      return true;
    } else {
      return false;
    }
  }
  [[nodiscard]] Nanos interact_cost(RegionId region) const override { return ahead_[region].cost; }

  void pack(std::uint32_t neighbour, Tick t, Writer& out) override {
    State round;
    for (const RegionId source : typed_.plan.neighbours[neighbour].sources) {
      model_.merge(round, model_.select(*at(source, t), typed_.targets[neighbour]));
      read_once(source, t);
    }
    model_.write(out, round);
  }

  void unpack(std::uint32_t neighbour, Tick t, ByteView payload,
              std::span<const std::uint8_t> fresh) override {
    Reader reader(payload);
    auto round = std::make_shared<const State>(model_.read(reader));
    const auto& regions = typed_.plan.neighbours[neighbour].regions;
    State computed;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (fresh[i] != 0) {
        make(regions[i], t, round);
      } else {
        model_.merge(computed, model_.select(*at(regions[i], t), typed_.held));
      }
    }
    // What was computed here must be in the round, bit for bit.
    const State only_here = model_.difference(computed, *round);
    if (bytes_of(only_here) != bytes_of(State{}) || !equal_where_present(*round, computed)) {
      throw Error("round " + std::to_string(t) + " from node " +
                      std::to_string(typed_.plan.neighbours[neighbour].node) +
                      " differs from what was recomputed here: step is not deterministic or not "
                      "invariant to splitting; `rubato check` names the tuple",
                  ExitCode::failed);
    }
  }

  void pack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, Writer& out) override {
    const RegionId source = typed_.plan.neighbours[neighbour].sources[i];
    model_.write(out, model_.select(*at(source, t), typed_.targets[neighbour]));
    read_once(source, t);
  }
  void unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, ByteView payload) override {
    Reader reader(payload);
    const auto piece = std::make_shared<const State>(model_.read(reader));
    for (const RegionId region : typed_.plan.neighbours[neighbour].pieces[i])
      make(region, t, piece);
  }

  void release(Tick floor) override {
    uses_.release(floor, [this](RegionId region, Tick t) { at(region, t) = nullptr; });
  }

  Bytes measure(RegionId region, Tick t) override {
    if constexpr (HasStopCondition<M>) {
      const std::lock_guard lock(measures_mutex_);
      const auto found = measures_.find({region, t});
      RUBATO_ASSERT(found != measures_.end(), region, t);
      Bytes bytes = to_bytes(found->second);
      measures_.erase(found);
      return bytes;
    } else {
      return {};
    }
  }
  void combine(Bytes& into, ByteView from) override {
    if constexpr (HasStopCondition<M>) {
      auto sum = from_bytes(into);
      model_.combine(sum, from_bytes(from));
      into = to_bytes(sum);
    }
  }
  bool stop(ByteView combined, Tick t) override {
    if constexpr (HasStopCondition<M>) return model_.stop(from_bytes(combined), t);
    return false;
  }
  [[nodiscard]] Tick stop_interval() const override {
    if constexpr (HasStopCondition<M>) return model_.stop_interval();
    return 0;
  }
  [[nodiscard]] Tick stop_lag() const override {
    if constexpr (HasStopCondition<M>) return model_.stop_lag();
    return 0;
  }

  [[nodiscard]] Nanos step_cost(RegionId region, Tick t) const override {
    return costs_[slot(region, t)];
  }
  [[nodiscard]] Nanos copy_cost(std::size_t n_bytes) const override {
    return kMicrosecond + static_cast<Nanos>(n_bytes / 4);  // about 4 GB/s
  }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t n = 0;
    std::set<const State*> counted;  // regions may share one
    for (const auto& version : versions_) {
      if (version && counted.insert(version.get()).second) n += bytes_of(*version).size();
    }
    for (const Ahead& ahead : ahead_) {
      n += bytes_of(ahead.to_step).size() + ahead.bytes_of_contributions(model_);
      for (const Version& version : ahead.taken) {
        if (counted.insert(version.get()).second) n += bytes_of(*version).size();
      }
    }
    return n;
  }

  // What an own region produced at tick t, after the first.
  [[nodiscard]] const State& region_state(RegionId region, Tick t) const { return *at(region, t); }

  // Appends what an own region produced at tick t, for a StateSource: as the model writes it.
  void save(RegionId region, Tick t, Writer& out) const { model_.write(out, *at(region, t)); }
  // Segments (Arriving in store.hpp).
  void save(RegionId region, Tick t, const Query& query, Writer& out) const {
    model_.write(out, model_.select(*at(region, t), query));
  }
  void begin(RegionId region, std::span<const ByteView> fragments) {
    State all;
    for (const ByteView fragment : fragments) {
      Reader reader(fragment);
      model_.merge(all, restrict_to(model_.read(reader), typed_.regions[region]));
    }
    make(region, begin_, std::make_shared<const State>(std::move(all)));
  }

  // The tuples that the own regions produced at tick t; over all nodes, the global state.
  [[nodiscard]] State own_state(Tick t) const {
    State state;
    for (RegionId region = 0; region < typed_.plan.n_own; ++region) {
      // The first state is what the node holds, neighbours' tuples included.
      model_.merge(state, t == begin_ ? model_.select(*at(region, t), typed_.own) : *at(region, t));
    }
    return state;
  }

 private:
  using Version = std::shared_ptr<const State>;

  struct NoContributions {};
  template <class T>
  struct ContributionsOf {
    using type = NoContributions;
  };
  template <HasInteract T>
  struct ContributionsOf<T> {
    using type = typename T::Contributions;
  };
  // What interact() has done of an own region's next step.
  struct Ahead {
    std::vector<RegionId> writers;  // inputs whose tuples may come to lie in the region
    Tick tick = -1;
    State to_step;
    typename ContributionsOf<M>::type in{};
    std::vector<Version> taken;  // that have contributed
    Nanos cost = 0;              // of the last call

    [[nodiscard]] std::size_t bytes_of_contributions(const M& model) const {
      if constexpr (requires { model.contribution_bytes(in); })
        return sizeof in + model.contribution_bytes(in);
      return sizeof in;
    }
    [[nodiscard]] bool has(const Version& version) const {
      return std::ranges::find(taken, version) != taken.end();
    }
    void begin(Tick t, State own) {
      tick = t;
      to_step = std::move(own);
      in = {};
      taken.clear();
    }
  };

  [[nodiscard]] std::size_t slot(RegionId region, Tick t) const {
    return region * static_cast<std::size_t>(window_) + static_cast<std::size_t>(t % window_);
  }
  [[nodiscard]] Version& at(RegionId region, Tick t) { return versions_[slot(region, t)]; }
  [[nodiscard]] const Version& at(RegionId region, Tick t) const {
    return versions_[slot(region, t)];
  }

  void make(RegionId region, Tick t, Version version) {
    at(region, t) = std::move(version);
    uses_.made(region, t);
  }
  // A unit or a round has read the version of an input or a source.
  void read_once(RegionId region, Tick t) {
    if (uses_.used(region, t)) at(region, t) = nullptr;
  }

  // The different versions that the inputs of (region, t) have.
  [[nodiscard]] std::vector<Version> sources(RegionId region, Tick t) const {
    std::vector<Version> list;
    for (const RegionId input : typed_.plan.inputs[region]) {
      const Version& version = at(input, t);
      RUBATO_ASSERT(version != nullptr, region, input, t);
      if (std::ranges::find(list, version) == list.end()) list.push_back(version);
    }
    return list;
  }

  // What of `state` the query's tuples read.
  [[nodiscard]] State read_of(const RegionQuery<Query>& query, const State& state) const {
    State part = state;
    for (const Query& include : query.includes)
      part = model_.select(part, model_.read_dependencies(include));
    return part;
  }

  // Whether stepping region `input` can yield tuples of `region`.
  [[nodiscard]] bool writes(RegionId input, RegionId region) const {
    const auto meets = [&](const Query& reach) {
      return std::ranges::none_of(typed_.regions[input].includes, [&](const Query& other) {
        return model_.disjoint(reach, other);
      });
    };
    return input == region ||
           std::ranges::all_of(typed_.regions[region].includes, [&](const Query& include) {
             return meets(model_.write_dependencies(include));
           });
  }

  void find_writers() {
    ahead_.resize(typed_.plan.n_own);
    for (RegionId region = 0; region < typed_.plan.n_own; ++region) {
      for (const RegionId input : typed_.plan.inputs[region]) {
        if (writes(input, region)) ahead_[region].writers.push_back(input);
      }
    }
  }

  [[nodiscard]] Nanos cost_of(const State& to_step, const State& context) const {
    if constexpr (HasStepCost<M>) return static_cast<Nanos>(model_.step_cost(to_step, context));
    return kMicrosecond;
  }

  [[nodiscard]] State restrict_to(const State& context, const RegionQuery<Query>& query) const {
    State state = context;
    for (const Query& include : query.includes)
      state = model_.select(state, include);
    for (const Query& exclude : query.excludes) {
      state = model_.difference(state, model_.select(state, exclude));
    }
    return state;
  }

  [[nodiscard]] Bytes bytes_of(const State& state) const {
    Writer writer;
    model_.write(writer, state);
    return writer.take();
  }
  // Whether the tuples of `round` that `computed` has too hold the same bits there.
  [[nodiscard]] bool equal_where_present(const State& round, const State& computed) const {
    const State shared = model_.difference(round, model_.difference(round, computed));
    return bytes_of(shared) == bytes_of(computed);
  }

  struct NoMeasure {};
  template <class T>
  struct MeasureOf {
    using type = NoMeasure;
  };
  template <class T>
  requires HasStopCondition<T>
  struct MeasureOf<T> {
    using type = typename T::Measure;
  };
  using Measure = typename MeasureOf<M>::type;

  [[nodiscard]] static Bytes to_bytes(const Measure& measure) {
    Writer writer;
    writer.put(measure);
    return writer.take();
  }
  [[nodiscard]] static Measure from_bytes(ByteView bytes) {
    if (bytes.empty()) return Measure{};
    Reader reader(bytes);
    return reader.get<Measure>();
  }

  const M& model_;
  const TypedPlan<Query>& typed_;
  const Tick window_;
  const Tick begin_;
  std::vector<Version> versions_;  // [regions][window]
  // [regions][window] of the step from that tick. Two ticks of a replica may be stepped at once, when
  // the round that has the second comes while the first is computed.
  std::vector<Nanos> costs_;
  std::vector<Ahead> ahead_;  // [n_own]; of policy pieces, where the step has two parts
  detail::VersionUses uses_;
  std::mutex measures_mutex_;
  std::map<std::pair<RegionId, Tick>, Measure> measures_;
};

}  // namespace rubato::tick

#pragma once
// What all rules of a check work with: the model, the states of its serial reference run, and the
// queries. Part of checker.hpp.

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/check/queries.hpp"
#include "rubato/tick/check/report.hpp"
#include "rubato/tick/check/tuples.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick::detail {

// Adds a rule to the report and tests it.
template <class Test>
void check_rule(CheckReport& report, RuleResult rule, const Test& test) {
  report.rules.push_back(std::move(rule));
  Rule under_test(report.rules.back());
  try {
    test(under_test);
  } catch (const std::exception& error) {
    under_test.expect(std::string("threw: ") + error.what());
  }
}

// What all rules work with: the model, sampled states and queries.
template <Model M>
class CheckContext {
 public:
  using State = typename M::State;
  using Query = typename M::Query;

  // A state of the reference run, and the next one.
  struct Sample {
    Tick t = 0;
    State state;
    State next;
    TupleList tuples;
    TupleList next_tuples;
  };

  CheckContext(const M& m, const CheckOptions& o) : model(m), options(o), random(o.seed, 31) {
    parts = sample_parts(model);
    queries = sample_queries(model, parts, random);
    run_reference();
  }

  [[nodiscard]] const Query& everything() const { return parts.front().front(); }
  [[nodiscard]] TupleList tuples(const State& state) const { return tuples_of(model, state); }
  [[nodiscard]] Bytes bytes(const State& state) const {
    Writer writer;
    model.write(writer, state);
    return writer.take();
  }
  [[nodiscard]] std::string name(std::uint64_t id) const { return tuple_name(model, id); }

  // "" if both hold the same tuples with the same bits; else what is wrong with which, behind
  // `where`.
  [[nodiscard]] std::string differ(const TupleList& expected, const TupleList& found,
                                   const std::string& where) const {
    if (expected == found) return "";
    const DifferentTuple difference = compare(expected, found);
    if (difference.kind == Difference::none) return where + ": the order of the tuples differs";
    return where + ": " + describe(difference.kind, name(difference.id));
  }
  // "" if all tuples of `inner` are in `outer` with the same bits.
  [[nodiscard]] std::string beyond(const TupleList& inner, const TupleList& outer,
                                   const std::string& where) const {
    for (std::size_t i = 0; i < inner.size(); ++i) {
      const auto at = std::ranges::lower_bound(outer.ids, inner.ids[i]);
      if (at == outer.ids.end() || *at != inner.ids[i]) {
        return where + ": " + name(inner.ids[i]) + " should not be there";
      }
      if (outer.hashes[static_cast<std::size_t>(at - outer.ids.begin())] != inner.hashes[i]) {
        return where + ": " + name(inner.ids[i]) + " has other bits";
      }
    }
    return "";
  }
  // A tuple that is in both, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> common(const TupleList& a, const TupleList& b) const {
    for (const std::uint64_t id : a.ids) {
      if (b.contains(id)) return id;
    }
    return std::nullopt;
  }
  // What an epoch knows of a run that is cut so. Loads are made up: some nodes are slow.
  [[nodiscard]] auto samples_of(const std::vector<Query>& cut,
                                const State& state) const requires HasRepartition<M> {
    if constexpr (HasStateSamples<M>) {
      return model.sample(state);
    } else {
      auto all = model.sample(NodeLoad<Query>{0, cut.front(), 1, 1});
      for (std::uint32_t node = 1; node < cut.size(); ++node) {
        const double ns = 1 + node % 3;
        model.merge_samples(all, model.sample(NodeLoad<Query>{node, cut[node], ns, ns}));
      }
      return all;
    }
  }
  // The ways in which a run may be cut at a sampled state: part(n), and what an epoch there calls.
  struct NamedCut {
    std::string name;
    std::vector<Query> queries;
  };
  [[nodiscard]] std::vector<NamedCut> cuts(const Sample& sample) const {
    std::vector<NamedCut> list;
    for (const auto& cut : parts) {
      const std::string n = std::to_string(cut.size());
      list.push_back({"part(" + n + ")", cut});
      if constexpr (HasRepartition<M>) {
        list.push_back(
            {"part(" + n + ", samples)",
             model.part(static_cast<std::uint32_t>(cut.size()), samples_of(cut, sample.state))});
        if (list.back().queries.empty()) list.pop_back();  // it stays as it is
      }
    }
    return list;
  }
  // f(sample, cut) for each of them, until the rule is broken.
  template <class F>
  void for_each_cut(const Rule& rule, const F& f) const {
    for (const Sample& sample : samples) {
      for (const NamedCut& cut : cuts(sample)) {
        if (rule.broken()) return;
        f(sample, cut);
      }
    }
  }
  // f(sample, query, name) for each query at each sampled state, until the rule is broken.
  template <class F>
  void for_each_query(const Rule& rule, const F& f) const {
    for (const Sample& sample : samples) {
      for (const NamedQuery<Query>& named : queries) {
        if (rule.broken()) return;
        f(sample, named.query, named.name);
      }
    }
  }
  // The ids of what each of some queries selects, sorted: a tuple that two select is there twice.
  [[nodiscard]] std::vector<std::uint64_t> selected_ids(const State& state,
                                                        const std::vector<Query>& list) const {
    std::vector<std::uint64_t> ids;
    for (const Query& query : list) {
      const TupleList part = tuples(model.select(state, query));
      ids.insert(ids.end(), part.ids.begin(), part.ids.end());
    }
    std::ranges::sort(ids);
    return ids;
  }
  // Those tuples of `list` whose ids `keep` wants.
  template <class F>
  [[nodiscard]] static TupleList kept(const TupleList& list, const F& keep) {
    TupleList result;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!keep(list.ids[i])) continue;
      result.ids.push_back(list.ids[i]);
      result.hashes.push_back(list.hashes[i]);
    }
    return result;
  }
  [[nodiscard]] static std::string at_tick(Tick t) { return " at tick " + std::to_string(t); }

  // A subset of a state, tuple by tuple where the state can be cut so, else by queries; and the
  // rest.
  [[nodiscard]] std::pair<State, State> split(const State& state, std::uint64_t salt) const {
    State part;
    if constexpr (kFilters<M>) {
      // From almost nothing to almost all.
      const std::uint64_t share = 1 + hash_words(options.seed, salt, 5) % 15;
      part = filter(model, state, [&](std::uint64_t id) {
        return hash_words(options.seed ^ salt, id, 6) % 16 < share;
      });
    } else {
      part = model.select(state, queries[hash_words(salt, 7) % queries.size()].query);
    }
    return {part, model.difference(state, part)};
  }

  const M& model;
  const CheckOptions& options;
  RandomStream random;
  std::vector<std::vector<Query>> parts;
  std::vector<NamedQuery<Query>> queries;
  std::vector<Sample> samples;
  Tick end = 0;
  TupleList reference;  // at `end`

 private:
  void run_reference() {
    State state = model.init(everything());
    const std::size_t n = tuples(state).size();
    if (n > options.tuples_max) {
      throw Error("check: the instance has " + std::to_string(n) + " tuples, expected at most " +
                      std::to_string(options.tuples_max) + "; choose a smaller one",
                  ExitCode::usage);
    }
    if (n == 0) throw Error("check: the instance has no tuples", ExitCode::usage);
    Tick last = options.ticks;
    for (Tick t = 0; t < last; ++t) {
      State next = stepped(model, state, state, t);
      if constexpr (HasStopCondition<M>) {
        const Tick interval = model.stop_interval();
        const Tick lag = model.stop_lag();
        if (interval > 0 && (t + 1) % interval == 0 && t + 1 + lag < last &&
            model.stop(model.measure(state, next), t + 1)) {
          last = t + 1 + lag;
        }
      }
      // Tick 0, the last one and some between, evenly.
      const auto wanted = static_cast<Tick>(options.n_states);
      if (t * wanted / options.ticks != (t - 1) * wanted / options.ticks || t == 0) {
        samples.push_back({t, state, next, tuples(state), tuples(next)});
      }
      state = std::move(next);
    }
    end = last;
    reference = tuples(state);
  }
};

}  // namespace rubato::tick::detail

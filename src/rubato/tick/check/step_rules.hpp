#pragma once
// The rules of a step: Properties 1 and 2, Definitions 1 and 2 of [Ticks 4, A.1], and that its bits
// depend on nothing but the tuple, what it reads, and the tick. Part of checker.hpp.

#include <cstring>

#include "rubato/tick/check/context.hpp"

namespace rubato::tick::detail {

template <Model M>
void check_deterministic(CheckContext<M>& c, CheckReport& report) {
  check_rule(
      report,
      {"deterministic", "[tick/model.hpp]",
       "stepping twice, in whatever order of calls, gives equal bits"},
      [&](Rule& rule) {
        // Backwards through the ticks, with parts of others between: numbers that are drawn
        // from a stream and not from (seed, id, tick) come out differently.
        for (std::size_t i = c.samples.size(); i-- > 0;) {
          const auto& sample = c.samples[i];
          const std::string where = "step of tick " + std::to_string(sample.t) + " again";
          rule.expect(c.differ(
              sample.next_tuples,
              c.tuples(tick::stepped(c.model, sample.state, sample.state, sample.t)), where));
          const auto& other = c.samples[(i + 1) % c.samples.size()];
          (void)tick::stepped(c.model, c.split(other.state, i).first, other.state, other.t);
          rule.expect(c.differ(
              sample.next_tuples,
              c.tuples(tick::stepped(c.model, sample.state, sample.state, sample.t)), where));
        }
      });
}

// Cuts of the state into two, with both of them stepped in the whole state as context.
template <Model M>
void check_properties(CheckContext<M>& c, CheckReport& report) {
  struct Cut {
    std::string where;
    TupleList first;
    TupleList second;
    TupleList both;
    const typename CheckContext<M>::Sample* sample;
  };
  std::vector<Cut> cuts;
  const auto make_cuts = [&] {
    if (!cuts.empty()) return;
    for (std::uint64_t salt = 0; salt < 8; ++salt) {
      const auto& sample = c.samples[salt % c.samples.size()];
      auto [a, b] = c.split(sample.state, salt + 300);
      auto stepped = tick::stepped(c.model, a, sample.state, sample.t);
      const auto rest = tick::stepped(c.model, b, sample.state, sample.t);
      Cut cut{c.at_tick(sample.t), c.tuples(stepped), c.tuples(rest), {}, &sample};
      c.model.merge(stepped, rest);
      cut.both = c.tuples(stepped);
      cuts.push_back(std::move(cut));
    }
  };
  check_rule(report,
             {"property-1", "[Ticks 4.1, Property 1]", "disjoint parts step to disjoint ids"},
             [&](Rule& rule) {
               make_cuts();
               for (const Cut& cut : cuts) {
                 const auto both = c.common(cut.first, cut.second);
                 rule.expect(!both, [&] {
                   return c.name(*both) + " comes from both parts of the state" + cut.where;
                 });
               }
             });
  check_rule(report,
             {"property-2", "[Ticks 4.1, Property 2]",
              "parts stepped by themselves are the whole stepped, bit for bit"},
             [&](Rule& rule) {
               make_cuts();
               for (const Cut& cut : cuts) {
                 rule.expect(c.differ(cut.sample->next_tuples, cut.both,
                                      "two parts of the state stepped" + cut.where));
               }
             });
}

// Each of some tuples alone: no sum over the tuples of a call, no order among them.
template <Model M>
void expect_one_by_one(const CheckContext<M>& c, const typename CheckContext<M>::Sample& sample,
                       Rule& rule) {
  const std::size_t n = sample.tuples.size();
  for (std::size_t i = 0; i < std::min<std::size_t>(n, 16) && !rule.broken(); ++i) {
    const std::uint64_t id = sample.tuples.ids[hash_words(i, n, 8) % n];
    const auto one =
        filter(c.model, sample.state, [id](std::uint64_t other) { return other == id; });
    const TupleList found = c.tuples(tick::stepped(c.model, one, sample.state, sample.t));
    const std::string where = c.name(id) + " stepped alone" + c.at_tick(sample.t);
    rule.expect(c.beyond(found, sample.next_tuples, where));
    if (!sample.next_tuples.contains(id)) continue;
    rule.expect(found.contains(id),
                [&] { return where + " is gone, stepped with others it is not"; });
  }
}

template <Model M>
void check_one_by_one(CheckContext<M>& c, CheckReport& report) {
  if constexpr (kFilters<M>) {
    check_rule(report,
               {"one-by-one", "[tick/model.hpp]",
                "a tuple stepped alone gets the bits that it gets among others"},
               [&](Rule& rule) {
                 for (const auto& sample : c.samples)
                   expect_one_by_one(c, sample, rule);
               });
  } else {
    report.notes.emplace_back(
        "one-by-one is not tested, and states are cut by queries alone: the model has no State "
        "filter(const State&, const std::function<bool(std::uint64_t)>& keep) const");
  }
}

// The tuple outside of `context` that `id` reads, for a message; nothing if it cannot be told.
template <Model M>
[[nodiscard]] std::string who_is_read(const CheckContext<M>& c,
                                      const typename CheckContext<M>::Sample& sample,
                                      std::uint64_t id, const typename M::State& context) {
  if constexpr (kFilters<M>) {
    constexpr std::size_t kTries = 2000;
    const auto one =
        filter(c.model, sample.state, [id](std::uint64_t other) { return other == id; });
    const TupleList expected = c.tuples(tick::stepped(c.model, one, context, sample.t));
    const TupleList inside = c.tuples(context);
    std::size_t n_tried = 0;
    for (const std::uint64_t read : sample.tuples.ids) {
      if (inside.contains(read)) continue;
      if (++n_tried > kTries) break;
      auto more = context;
      c.model.merge(more, filter(c.model, sample.state,
                                 [read](std::uint64_t other) { return other == read; }));
      if (c.tuples(tick::stepped(c.model, one, more, sample.t)) == expected) continue;
      return "; it reads " + c.name(read) + ", which is not selected";
    }
  }
  return "";
}

// STEP(Q(S), S') for an S' must be STEP(Q(S), S).
template <Model M>
[[nodiscard]] std::string step_differs(const CheckContext<M>& c,
                                       const typename CheckContext<M>::Sample& sample,
                                       const typename M::State& to_step,
                                       const typename M::State& context, const std::string& where) {
  const TupleList expected = c.tuples(tick::stepped(c.model, to_step, sample.state, sample.t));
  const TupleList found = c.tuples(tick::stepped(c.model, to_step, context, sample.t));
  std::string failure = c.differ(expected, found, where + c.at_tick(sample.t));
  if (failure.empty()) return failure;
  const DifferentTuple difference = compare(expected, found);
  return failure + who_is_read(c, sample, difference.id, context);
}

// Definition 1 of one query: `name` says which it is.
template <Model M>
void expect_reads(const CheckContext<M>& c, const typename CheckContext<M>::Sample& sample,
                  const typename M::Query& query, const std::string& name, Rule& rule) {
  const auto own = c.model.select(sample.state, query);
  const auto read = c.model.select(sample.state, c.model.read_dependencies(query));
  const std::string where = "read_dependencies(" + name + ") leaves out its own";
  rule.expect(c.beyond(c.tuples(own), c.tuples(read), where + c.at_tick(sample.t)));
  rule.expect(
      step_differs(c, sample, own, read, name + " stepped with what read_dependencies selects"));
}
template <Model M>
void expect_read_exclusive(const CheckContext<M>& c, const typename CheckContext<M>::Sample& sample,
                           const typename M::Query& query, const std::string& name, Rule& rule) {
  const auto own = c.model.select(sample.state, query);
  const auto inner = c.model.select(sample.state, c.model.read_exclusive(query));
  const std::string where = "read_exclusive(" + name + ")";
  rule.expect(c.beyond(c.tuples(inner), c.tuples(own), where + c.at_tick(sample.t)));
  rule.expect(step_differs(c, sample, inner, own, where + " stepped with " + name));
}

// Definition 2 of one query.
template <Model M>
void expect_writes(const CheckContext<M>& c, const typename CheckContext<M>::Sample& sample,
                   const typename M::Query& query, const std::string& name, Rule& rule) {
  const auto own = c.model.select(sample.state, query);
  const auto source = c.model.select(sample.state, c.model.write_dependencies(query));
  const std::string where = "write_dependencies(" + name + ")";
  const std::string when = c.at_tick(sample.t);
  rule.expect(c.beyond(c.tuples(own), c.tuples(source), where + " leaves out its own" + when));
  const auto stepped = tick::stepped(c.model, source, sample.state, sample.t);
  rule.expect(c.differ(c.tuples(c.model.select(sample.next, query)),
                       c.tuples(c.model.select(stepped, query)), where + " stepped" + when));
}
template <Model M>
void expect_write_exclusive(const CheckContext<M>& c,
                            const typename CheckContext<M>::Sample& sample,
                            const typename M::Query& query, const std::string& name, Rule& rule) {
  const auto inner_query = c.model.write_exclusive(query);
  const auto own = c.model.select(sample.state, query);
  const std::string where = "write_exclusive(" + name + ")" + c.at_tick(sample.t);
  rule.expect(c.beyond(c.tuples(c.model.select(sample.state, inner_query)), c.tuples(own), where));
  const auto stepped = tick::stepped(c.model, own, sample.state, sample.t);
  rule.expect(c.differ(c.tuples(c.model.select(sample.next, inner_query)),
                       c.tuples(c.model.select(stepped, inner_query)),
                       name + " stepped, and of that " + where));
}

template <Model M>
void check_reads(CheckContext<M>& c, CheckReport& report) {
  check_rule(report,
             {"read-dependencies", "[Ticks A.1, Definition 1]",
              "R_D(q) holds q and all that its step reads"},
             [&](Rule& rule) {
               c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
                 expect_reads(c, sample, query, name, rule);
               });
             });
  check_rule(
      report, {"context", "[Ticks A.1, Definition 1]", "context that nobody reads changes no bit"},
      [&](Rule& rule) {
        std::uint64_t salt = 500;
        c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
          const auto own = c.model.select(sample.state, query);
          auto context = c.model.select(sample.state, c.model.read_dependencies(query));
          c.model.merge(context, c.split(sample.state, ++salt).first);
          rule.expect(step_differs(c, sample, own, context, name + " stepped with more context"));
        });
      });
  check_rule(report,
             {"read-exclusive", "[Ticks A.1, Definition 1]",
              "R_X(q) lies in q, which is all that its step reads"},
             [&](Rule& rule) {
               c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
                 expect_read_exclusive(c, sample, query, name, rule);
               });
             });
}

template <Model M>
void check_writes(CheckContext<M>& c, CheckReport& report) {
  check_rule(report,
             {"write-dependencies", "[Ticks A.1, Definition 2]",
              "W_D(q) holds q, and stepped yields all of q"},
             [&](Rule& rule) {
               c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
                 expect_writes(c, sample, query, name, rule);
               });
             });
  check_rule(report,
             {"write-exclusive", "[Ticks A.1, Definition 2]",
              "W_X(q) lies in q, which stepped yields all of it"},
             [&](Rule& rule) {
               c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
                 expect_write_exclusive(c, sample, query, name, rule);
               });
             });
}

// Not a rule: wider R_D than R_X is deep is correct, but lets less run ahead [Ticks 5.2].
template <Model M>
void note_inverses(CheckContext<M>& c, CheckReport& report) {
  const auto& sample = c.samples.front();
  for (const auto& [name, query] : c.queries) {
    const auto own = c.tuples(c.model.select(sample.state, query));
    const auto around = c.tuples(
        c.model.select(sample.state, c.model.read_dependencies(c.model.read_exclusive(query))));
    const auto behind = c.tuples(
        c.model.select(sample.state, c.model.write_dependencies(c.model.write_exclusive(query))));
    for (const auto& [list, what] : {std::pair{&around, "read_dependencies(read_exclusive("},
                                     std::pair{&behind, "write_dependencies(write_exclusive("}}) {
      const auto extra =
          std::ranges::find_if(list->ids, [&own](std::uint64_t id) { return !own.contains(id); });
      if (extra == list->ids.end()) continue;
      report.notes.push_back(std::string(what) + name + ")) selects " + c.name(*extra) +
                             " outside of it: correct, but less runs ahead of late messages than "
                             "could [Ticks 5.2]");
      return;
    }
  }
}

// The measures of two parts of a state.
template <Model M>
void expect_measures(const CheckContext<M>& c, std::uint64_t salt, Rule& rule) {
  using Measure = typename M::Measure;
  const auto equal = [](const Measure& a, const Measure& b) {
    // Bits are compared: NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    return std::memcmp(&a, &b, sizeof a) == 0;
  };
  const auto& sample = c.samples[salt % c.samples.size()];
  const auto measure = [&](const typename M::State& part) -> Measure {
    return c.model.measure(part, tick::stepped(c.model, part, sample.state, sample.t));
  };
  const auto combined = [&](const Measure& first, const Measure& second) {
    Measure sum{};
    c.model.combine(sum, first);
    c.model.combine(sum, second);
    return sum;
  };
  const auto [a, b] = c.split(sample.state, salt);
  const Measure of_a = measure(a);
  const Measure of_b = measure(b);
  const Measure forwards = combined(of_a, of_b);
  const std::string where = "the measures of two parts combine to other bits ";
  rule.expect(equal(forwards, combined(of_b, of_a)),
              [&] { return where + "in the other order" + c.at_tick(sample.t); });
  rule.expect(equal(forwards, measure(sample.state)),
              [&] { return where + "than the measure of the whole" + c.at_tick(sample.t); });
}

// The stop condition: a measure of parts, combined in any order, is the measure of the whole.
template <Model M>
void check_measure(CheckContext<M>& c, CheckReport& report) {
  if constexpr (HasStopCondition<M>) {
    check_rule(report,
               {"measure", "[tick/model.hpp]",
                "measures of parts combine to that of the whole, in any order"},
               [&](Rule& rule) {
                 for (std::uint64_t salt = 700; salt < 708 && !rule.broken(); ++salt)
                   expect_measures(c, salt, rule);
               });
  }
}

// The two parts of a step, with the context in pieces that the salt cuts and orders.
template <HasInteract M>
void expect_decomposed(CheckContext<M>& c, std::uint64_t salt, Rule& rule) {
  const auto& sample = c.samples[salt % c.samples.size()];
  std::vector<typename M::State> pieces{sample.state};
  for (std::uint64_t cut = 0; cut < 1 + salt % 4; ++cut) {
    auto [a, b] = c.split(pieces.back(), salt + 10 * cut);
    pieces.back() = std::move(a);
    pieces.push_back(std::move(b));
  }
  if (salt % 2 == 0) std::ranges::reverse(pieces);
  typename M::Contributions in{};
  for (const auto& piece : pieces)
    c.model.interact(in, sample.state, piece, sample.t);
  rule.expect(
      c.differ(sample.next_tuples, c.tuples(c.model.finish(sample.state, in, sample.t)),
               std::to_string(pieces.size()) + " pieces of the context" + c.at_tick(sample.t)));
}

template <Model M>
void check_decomposed(CheckContext<M>& c, CheckReport& report) {
  if constexpr (HasInteract<M>) {
    check_rule(report,
               {"decomposed-step", "[AsyTick 3.2, Table 1]",
                "interact() with any pieces of the context in any order, and finish(), give the "
                "bits of the step"},
               [&](Rule& rule) {
                 for (std::uint64_t salt = 900; salt < 908 && !rule.broken(); ++salt)
                   expect_decomposed(c, salt, rule);
               });
  }
}

template <Model M>
void check_steps(CheckContext<M>& c, CheckReport& report) {
  check_deterministic(c, report);
  check_properties(c, report);
  check_one_by_one(c, report);
  check_reads(c, report);
  check_writes(c, report);
  check_measure(c, report);
  check_decomposed(c, report);
  if (report.ok()) note_inverses(c, report);
}

}  // namespace rubato::tick::detail

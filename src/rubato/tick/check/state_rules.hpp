#pragma once
// The rules of a State: unique ids in order, union and difference by id, bytes that are equal for
// equal states. Part of checker.hpp.

#include "rubato/tick/check/context.hpp"

namespace rubato::tick::detail {

template <Model M>
void check_order(CheckContext<M>& c, CheckReport& report) {
  check_rule(report, {"unique-ids", "[Ticks 4.1]", "each tuple has an id of its own; ids ascend"},
             [&](Rule& rule) {
               for (const auto& sample : c.samples) {
                 const auto& ids = sample.tuples.ids;
                 const auto bad = std::ranges::adjacent_find(ids, std::greater_equal<>());
                 rule.expect(bad == ids.end(), [&] {
                   return c.name(*bad) + c.at_tick(sample.t) +
                          (*bad == *(bad + 1) ? " is there twice" : " stands before a smaller id");
                 });
               }
             });
}

// The laws of a union, for two overlapping subsets.
template <Model M>
void check_merge(CheckContext<M>& c, CheckReport& report) {
  using State = typename M::State;
  check_rule(report, {"merge", "[tick/model.hpp]", "merge is the union by id, in any order"},
             [&](Rule& rule) {
               for (std::uint64_t salt = 0; salt < 8 && !rule.broken(); ++salt) {
                 const auto& sample = c.samples[salt % c.samples.size()];
                 const auto [a, rest] = c.split(sample.state, salt);
                 const auto [b, other] = c.split(sample.state, salt + 100);
                 const auto merged = [&](const State& x, const State& y) {
                   State into = x;
                   c.model.merge(into, y);
                   return into;
                 };
                 const std::string where = c.at_tick(sample.t);
                 rule.expect(c.differ(sample.tuples, c.tuples(merged(a, rest)),
                                      "a part of the state merged with the rest" + where));
                 const TupleList both = c.tuples(merged(a, b));
                 rule.expect(c.differ(both, c.tuples(merged(b, a)),
                                      "merge(b, a) instead of (a, b)" + where));
                 rule.expect(c.differ(c.tuples(a), c.tuples(merged(a, a)),
                                      "merge of a part with itself" + where));
                 rule.expect(c.differ(c.tuples(a), c.tuples(merged(State{}, a)),
                                      "merge of a part into nothing" + where));
                 rule.expect(c.differ(c.tuples(merged(merged(a, b), other)),
                                      c.tuples(merged(a, merged(b, other))),
                                      "(a + b) + c and a + (b + c)" + where));
                 // The union has what is in a or b, and nothing else.
                 rule.expect(c.beyond(c.tuples(a), both, "merge lost a tuple" + where));
                 rule.expect(c.beyond(both, sample.tuples, "merge made a tuple" + where));
               }
             });
}

template <Model M>
void check_difference(CheckContext<M>& c, CheckReport& report) {
  using State = typename M::State;
  check_rule(report,
             {"difference", "[tick/model.hpp]",
              "difference(a, b): the tuples of a whose ids are not in b"},
             [&](Rule& rule) {
               for (std::uint64_t salt = 0; salt < 6 && !rule.broken(); ++salt) {
                 const auto& sample = c.samples[salt % c.samples.size()];
                 const auto [a, rest] = c.split(sample.state, salt);
                 const State b = c.split(sample.state, salt + 200).first;
                 const std::string where = c.at_tick(sample.t);
                 const TupleList in_b = c.tuples(b);
                 const TupleList in_a = c.tuples(a);
                 const TupleList expected =
                     c.kept(in_a, [&](std::uint64_t id) { return !in_b.contains(id); });
                 rule.expect(c.differ(expected, c.tuples(c.model.difference(a, b)),
                                      "difference of two parts" + where));
                 // By id alone: the tuples of the next tick have other bits and the same ids.
                 const TupleList gone = c.kept(
                     in_a, [&](std::uint64_t id) { return !sample.next_tuples.contains(id); });
                 rule.expect(c.differ(gone, c.tuples(c.model.difference(a, sample.next)),
                                      "difference from the state of the next tick" + where));
                 rule.expect(c.differ(in_a, c.tuples(c.model.difference(a, State{})),
                                      "difference from nothing" + where));
               }
             });
}

template <Model M>
void check_bytes(CheckContext<M>& c, CheckReport& report) {
  using State = typename M::State;
  check_rule(report,
             {"serialise", "[tick/model.hpp]", "read gives back what was written, all of it"},
             [&](Rule& rule) {
               for (std::uint64_t salt = 0; salt < 6 && !rule.broken(); ++salt) {
                 const auto& sample = c.samples[salt % c.samples.size()];
                 const State part =
                     salt < c.samples.size() ? sample.state : c.split(sample.state, salt).first;
                 const Bytes written = c.bytes(part);
                 Reader reader(written);
                 const State back = c.model.read(reader);
                 const std::string where = "a state" + c.at_tick(sample.t) + " written and read";
                 rule.expect(c.differ(c.tuples(part), c.tuples(back), where));
                 rule.expect(reader.at_end(), [&] {
                   return where + ": " + std::to_string(reader.left()) + " bytes are left over";
                 });
               }
             });
  check_rule(report, {"equal-bytes", "[tick/model.hpp]", "equal states are written as equal bytes"},
             [&](Rule& rule) {
               c.for_each_cut(rule, [&](const auto& sample, const auto& cut) {
                 const Bytes expected = c.bytes(sample.state);
                 // Put together from parts, the last one first.
                 State state;
                 for (std::size_t i = cut.queries.size(); i-- > 0;)
                   c.model.merge(state, c.model.select(sample.state, cut.queries[i]));
                 if (c.tuples(state) != sample.tuples) return;  // that is for other rules
                 rule.expect(c.bytes(state) == expected, [&] {
                   return "the state" + c.at_tick(sample.t) + " put together from " + cut.name +
                          " has the same tuples and other bytes";
                 });
               });
             });
}

template <Model M>
void check_states(CheckContext<M>& c, CheckReport& report) {
  check_order(c, report);
  check_merge(c, report);
  check_difference(c, report);
  check_bytes(c, report);
}

}  // namespace rubato::tick::detail

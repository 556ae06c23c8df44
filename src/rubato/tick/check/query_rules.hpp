#pragma once
// The rules of queries: what select, part, init and disjoint promise. Part of checker.hpp.

#include "rubato/tick/check/context.hpp"

namespace rubato::tick::detail {

template <Model M>
void check_select(CheckContext<M>& c, CheckReport& report) {
  check_rule(report,
             {"select", "[Ticks 4.1]", "a query selects tuples of the state, with their bits"},
             [&](Rule& rule) {
               for (const auto& sample : c.samples) {
                 rule.expect(c.differ(sample.tuples,
                                      c.tuples(c.model.select(sample.state, c.everything())),
                                      "part(1) selects all" + c.at_tick(sample.t)));
               }
               c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
                 const auto once = c.model.select(sample.state, query);
                 const std::string where = name + c.at_tick(sample.t);
                 rule.expect(c.beyond(c.tuples(once), sample.tuples, where));
                 rule.expect(c.differ(c.tuples(once), c.tuples(c.model.select(once, query)),
                                      where + ", selected twice"));
               });
             });
  check_rule(
      report,
      {"monotone", "[Ticks 4.1, footnote 1]", "more tuples in a state never select fewer of it"},
      [&](Rule& rule) {
        std::uint64_t salt = 0;
        c.for_each_query(rule, [&](const auto& sample, const auto& query, const auto& name) {
          const auto part = c.split(sample.state, ++salt).first;
          const TupleList of_all = c.tuples(c.model.select(sample.state, query));
          const TupleList of_part = c.tuples(c.model.select(part, query));
          const std::string where = name + c.at_tick(sample.t);
          rule.expect(c.beyond(of_part, of_all, where + ", of a part of the state but not of all"));
          // Each tuple by itself: what the whole state selects of the part, the part selects too.
          const TupleList in_part = c.tuples(part);
          const TupleList shared =
              c.kept(of_all, [&](std::uint64_t id) { return in_part.contains(id); });
          rule.expect(c.beyond(shared, of_part, where + ", of all but not of a part of the state"));
        });
      });
}

template <Model M>
void check_parts(CheckContext<M>& c, CheckReport& report) {
  check_rule(report, {"part-covers", "[Ticks 4.1, PART]", "part(n) covers every state"},
             [&](Rule& rule) {
               c.for_each_cut(rule, [&](const auto& sample, const auto& cut) {
                 TupleList found;
                 found.ids = c.selected_ids(sample.state, cut.queries);
                 const auto lost = std::ranges::find_if(
                     sample.tuples.ids, [&](std::uint64_t id) { return !found.contains(id); });
                 rule.expect(lost == sample.tuples.ids.end(), [&] {
                   return c.name(*lost) + c.at_tick(sample.t) + " is in none of " + cut.name;
                 });
               });
             });
  check_rule(report, {"part-disjoint", "[Ticks 4.1, PART]", "no tuple is in two of part(n)"},
             [&](Rule& rule) {
               c.for_each_cut(rule, [&](const auto& sample, const auto& cut) {
                 const auto ids = c.selected_ids(sample.state, cut.queries);
                 const auto twice = std::ranges::adjacent_find(ids);
                 rule.expect(twice == ids.end(), [&] {
                   return c.name(*twice) + c.at_tick(sample.t) + " is in two of " + cut.name;
                 });
               });
             });
}

template <Model M>
void check_init(CheckContext<M>& c, CheckReport& report) {
  check_rule(report, {"init", "[Ticks 4.1, NEW]", "init(q) is what q selects of init(all)"},
             [&](Rule& rule) {
               const auto all = c.model.init(c.everything());
               for (const auto& [name, query] : c.queries) {
                 if (rule.broken()) return;
                 rule.expect(c.differ(c.tuples(c.model.select(all, query)),
                                      c.tuples(c.model.init(query)), "init(" + name + ")"));
               }
             });
}

// At one state, for each pair of queries.
template <Model M>
void expect_disjoint(const CheckContext<M>& c, const typename CheckContext<M>::Sample& sample,
                     const std::vector<NamedQuery<typename M::Query>>& queries, Rule& rule) {
  std::vector<TupleList> selected;
  selected.reserve(queries.size());
  for (const auto& named : queries)
    selected.push_back(c.tuples(c.model.select(sample.state, named.query)));
  for (std::size_t i = 0; i < queries.size(); ++i) {
    for (std::size_t j = 0; j < queries.size() && !rule.broken(); ++j) {
      if (!c.model.disjoint(queries[i].query, queries[j].query)) continue;
      const auto both = c.common(selected[i], selected[j]);
      rule.expect(!both, [&] {
        return "disjoint(" + queries[i].name + ", " + queries[j].name + ") is true, but " +
               c.name(*both) + c.at_tick(sample.t) + " is in both";
      });
    }
  }
}

template <Model M>
void check_disjoint(CheckContext<M>& c, CheckReport& report) {
  check_rule(
      report,
      {"disjoint", "[Ticks 4.2, DISJOINT]", "disjoint(a, b) is false if a tuple could be in both"},
      [&](Rule& rule) {
        for (const auto& sample : c.samples)
          expect_disjoint(c, sample, c.queries, rule);
      });
}

// "" if the ids that tiles select, sorted, are those of what they were cut from.
template <Model M>
[[nodiscard]] std::string wrong_tiles(const CheckContext<M>& c,
                                      const std::vector<std::uint64_t>& ids, const TupleList& own) {
  if (ids == own.ids) return "";
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end()) return c.name(*twice) + " is in two tiles";
  TupleList found;
  found.ids = ids;
  const auto lost =
      std::ranges::find_if(own.ids, [&](std::uint64_t id) { return !found.contains(id); });
  if (lost != own.ids.end()) return c.name(*lost) + " is in no tile";
  return "a tile selects a tuple that is not in the query";
}

// The tiles of each part of a cut.
template <Model M>
void expect_tiles(const CheckContext<M>& c, const std::vector<typename M::Query>& cut,
                  const Policy& policy, Rule& rule) {
  for (std::size_t i = 0; i < cut.size() && !rule.broken(); ++i) {
    const auto& sample = c.samples[i % c.samples.size()];
    const std::string wrong =
        wrong_tiles(c, c.selected_ids(sample.state, c.model.own_tiles(cut[i], policy)),
                    c.tuples(c.model.select(sample.state, cut[i])));
    rule.expect(wrong.empty(), [&] {
      return "own_tiles(part(" + std::to_string(cut.size()) + ")[" + std::to_string(i) + "]), " +
             policy.to_string() + c.at_tick(sample.t) + ": " + wrong;
    });
  }
}

// Regions that the model cuts itself; else the plan cuts rings by R_X and W_X.
template <Model M>
void check_tiles(CheckContext<M>& c, CheckReport& report) {
  if constexpr (HasTiles<M>) {
    check_rule(report,
               {"tiles", "[tick/plan_builder.hpp]", "own_tiles(q) are disjoint and cover q"},
               [&](Rule& rule) {
                 for (const char* policy : {"local", "k2m3d2", "schedule(4)"}) {
                   for (const auto& cut : c.parts)
                     expect_tiles(c, cut, Policy::parse(policy), rule);
                 }
               });
  }
}

template <Model M>
void check_queries(CheckContext<M>& c, CheckReport& report) {
  check_select(c, report);
  check_parts(c, report);
  check_init(c, report);
  check_disjoint(c, report);
  check_tiles(c, report);
}

}  // namespace rubato::tick::detail

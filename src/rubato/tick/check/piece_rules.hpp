#pragma once
// The rules of a model that can be cut into pieces (HasPieces in tick/model.hpp): what pieces() and
// join() promise, and that nothing changes a bit by who owns which pieces: each is stepped with what
// it needs of what its node holds, and together they are the whole stepped. Part of checker.hpp.

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "rubato/tick/check/context.hpp"
#include "rubato/tick/check/piece_cuts.hpp"
#include "rubato/tick/check/query_rules.hpp"
#include "rubato/tick/check/step_rules.hpp"

namespace rubato::tick::detail {

// What the rules of pieces share.
template <Model M>
requires HasPieces<M>
class PieceContext {
 public:
  using State = typename M::State;
  using Query = typename M::Query;
  using Sample = typename CheckContext<M>::Sample;
  using Cut = PieceCut<Query>;

  explicit PieceContext(const CheckContext<M>& check) : c(check), random(check.options.seed, 41) {}

  // Cuts the model at the first call. As of part(), it may be too small for many pieces, but not for
  // one.
  [[nodiscard]] const std::vector<Cut>& cuts() {
    if (cut_) return cuts_;
    cut_ = true;
    for (const std::uint32_t n : sample_piece_counts(c.samples.front().tuples.size(), random)) {
      try {
        cuts_.push_back({n, c.model.pieces(n)});
      } catch (const Error&) {
        if (n == 1) throw;
      }
    }
    add_grains();
    return cuts_;
  }
  // f(sample, cut) for each of them, until the rule is broken; cuts into many pieces at tick 0 alone.
  template <class F>
  void for_each_cut(const Rule& rule, const F& f) {
    for (const Cut& cut : cuts()) {
      for (const Sample& sample : c.samples) {
        if (rule.broken()) return;
        if (!is_small(cut) && sample.t > 0) break;
        f(sample, cut);
      }
    }
  }
  // f(sample, cut) for those that are stepped: of few pieces, each at one sampled state.
  template <class F>
  void for_each_stepped(const Rule& rule, const F& f) {
    std::size_t turn = 0;
    for (const Cut& cut : cuts()) {
      if (rule.broken()) return;
      if (is_small(cut)) f(c.samples[turn++ % c.samples.size()], cut);
    }
  }

  // [pieces] what each of them selects. That of tick 0 is kept, since cuts into many are asked for it by
  // several rules; it is as large as the state.
  [[nodiscard]] std::vector<TupleList> selected(const Sample& sample, const Cut& cut) {
    const bool is_first = &sample == &c.samples.front();
    if (is_first && kept_.contains(&cut)) return kept_[&cut];
    std::vector<TupleList> list;
    for (const Query& piece : cut.pieces)
      list.push_back(c.tuples(c.model.select(sample.state, piece)));
    if (is_first) kept_[&cut] = list;
    return list;
  }
  // What some nodes own.
  [[nodiscard]] std::vector<NamedQuery<Query>> joined(const Cut& cut,
                                                      const std::vector<PieceList>& nodes) const {
    std::vector<NamedQuery<Query>> list;
    list.reserve(nodes.size());
    for (const PieceList& pieces : nodes)
      list.push_back({join_name(cut.name(), pieces), c.model.join(cut.some(pieces))});
    return list;
  }

  const CheckContext<M>& c;
  RandomStream random;

 private:
  // split() has no rules of its own: what it makes are pieces, of which all others hold.
  void add_grains() {
    if constexpr (HasSplit<M>) {
      const std::size_t n_cuts = cuts_.size();
      for (std::size_t i = 0; i < n_cuts; ++i) {
        if (!is_small(cuts_[i])) continue;
        Cut cut{cuts_[i].n, {}, static_cast<std::uint32_t>(random.between(2, 4))};
        for (auto& grains : c.model.split(cuts_[i].pieces, cut.n_grains)) {
          cut.can_join = cut.can_join && grains.size() == cut.n_grains;
          std::ranges::move(grains, std::back_inserter(cut.pieces));
        }
        cuts_.push_back(std::move(cut));
      }
    }
  }
  [[nodiscard]] static bool is_small(const Cut& cut) { return cut.pieces.size() <= 64; }

  bool cut_ = false;
  std::vector<Cut> cuts_;
  std::map<const Cut*, std::vector<TupleList>> kept_;
};

// The tuples that pieces select, with the numbers of the pieces; ascending.
[[nodiscard]] inline std::vector<std::pair<std::uint64_t, std::size_t>> places_of(
    const std::vector<TupleList>& selected) {
  std::vector<std::pair<std::uint64_t, std::size_t>> places;
  for (std::size_t i = 0; i < selected.size(); ++i) {
    for (const std::uint64_t id : selected[i].ids)
      places.emplace_back(id, i);
  }
  std::ranges::sort(places);
  return places;
}

template <Model M>
void check_pieces_cover(PieceContext<M>& p, CheckReport& report) {
  check_rule(
      report, {"pieces-cover", "[tick/model.hpp]", "pieces(n) are some, and cover every state"},
      [&](Rule& rule) {
        p.for_each_cut(rule, [&](const auto& sample, const auto& cut) {
          rule.expect(!cut.pieces.empty(), [&] {
            return cut.name() + " is empty, expected about " + std::to_string(cut.n) + " queries";
          });
          const auto places = places_of(p.selected(sample, cut));
          const auto lost = std::ranges::find_if(sample.tuples.ids, [&](std::uint64_t id) {
            const auto at = std::ranges::lower_bound(places, std::pair(id, std::size_t{0}));
            return at == places.end() || at->first != id;
          });
          rule.expect(lost == sample.tuples.ids.end(), [&] {
            return p.c.name(*lost) + p.c.at_tick(sample.t) + " is in none of " + cut.name() +
                   ", which are " + std::to_string(cut.pieces.size());
          });
        });
      });
}

template <Model M>
void check_pieces_disjoint(PieceContext<M>& p, CheckReport& report) {
  check_rule(report, {"pieces-disjoint", "[tick/model.hpp]", "no tuple is in two of pieces(n)"},
             [&](Rule& rule) {
               p.for_each_cut(rule, [&](const auto& sample, const auto& cut) {
                 const auto places = places_of(p.selected(sample, cut));
                 const auto twice = std::ranges::adjacent_find(
                     places, [](const auto& a, const auto& b) { return a.first == b.first; });
                 rule.expect(twice == places.end(), [&] {
                   return p.c.name(twice->first) + p.c.at_tick(sample.t) + " is in " +
                          cut.name(twice->second) + " and in " + cut.name((twice + 1)->second);
                 });
               });
             });
}

// Each node calls pieces() by itself, and again when it goes on from a checkpoint. Here in another
// order of calls, so that what counts them differs.
template <Model M>
void check_pieces_again(PieceContext<M>& p, CheckReport& report) {
  check_rule(
      report, {"pieces-again", "[tick/model.hpp]", "pieces(n) depend on n and the model alone"},
      [&](Rule& rule) {
        const auto& cuts = p.cuts();
        const auto& sample = p.c.samples.front();
        for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
          if (cut->n_grains > 1) continue;
          const auto again = p.c.model.pieces(cut->n);
          rule.expect(again.size() == cut->pieces.size(), [&] {
            return cut->name() + " gives " + std::to_string(cut->pieces.size()) +
                   " queries, and in another call " + std::to_string(again.size());
          });
          const auto before = p.selected(sample, *cut);
          for (std::size_t i = 0; i < cut->pieces.size() && !rule.broken(); ++i) {
            rule.expect(p.c.differ(before[i], p.c.tuples(p.c.model.select(sample.state, again[i])),
                                   cut->name(i) + " of another call" + p.c.at_tick(sample.t)));
          }
        }
      });
}

// "" if `found` is what some pieces select, in the order of the whole state.
template <Model M>
[[nodiscard]] std::string wrong_join(const CheckContext<M>& c,
                                     const PieceCut<typename M::Query>& cut,
                                     const std::vector<TupleList>& selected, const PieceList& list,
                                     const TupleList& found) {
  const auto bad = std::ranges::adjacent_find(found.ids, std::greater_equal<>());
  if (bad != found.ids.end()) {
    if (*bad == *(bad + 1)) return c.name(*bad) + " is there twice";
    return c.name(*bad) + " stands before " + c.name(*(bad + 1)) +
           ", expected the order of the whole state, by id";
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tuples;  // ids and hashes
  for (const std::size_t i : list) {
    for (std::size_t k = 0; k < selected[i].size(); ++k)
      tuples.emplace_back(selected[i].ids[k], selected[i].hashes[k]);
  }
  std::ranges::sort(tuples);
  TupleList expected;
  for (const auto& [id, hash] : tuples) {
    if (!expected.ids.empty() && expected.ids.back() == id) continue;  // a rule of its own
    expected.ids.push_back(id);
    expected.hashes.push_back(hash);
  }
  const DifferentTuple difference = compare(expected, found);
  if (difference.kind == Difference::none) return "";
  std::string wrong = describe(difference.kind, c.name(difference.id));
  const auto owner = std::ranges::find_if(
      list, [&](std::size_t i) { return selected[i].contains(difference.id); });
  if (difference.kind == Difference::extra) return wrong + ", none of these pieces selects it";
  return owner == list.end() ? wrong : wrong + ", " + cut.name(*owner) + " selects it";
}

// Of some of the pieces that are joined.
template <Model M, class Cut, class Selected>
void expect_joined(PieceContext<M>& p, const typename PieceContext<M>::Sample& sample,
                   const Cut& cut, const Selected& selected, const PieceList& list, Rule& rule) {
  const auto state = p.c.model.select(sample.state, p.c.model.join(cut.some(list)));
  const TupleList found = p.c.tuples(state);
  const std::string where = join_name(cut.name(), list) + p.c.at_tick(sample.t) + ": ";
  const std::string wrong = wrong_join(p.c, cut, selected, list, found);
  rule.expect(wrong.empty(), [&] { return where + wrong; });
  if (found != sample.tuples) return;
  rule.expect(p.c.bytes(state) == p.c.bytes(sample.state),
              [&] { return where + "all tuples of the whole state, written as other bytes"; });
}

template <Model M>
void check_join(PieceContext<M>& p, CheckReport& report) {
  check_rule(report,
             {"join", "[tick/model.hpp]", "join(pieces) selects what any of them does, in order"},
             [&](Rule& rule) {
               p.for_each_cut(rule, [&](const auto& sample, const auto& cut) {
                 if (cut.pieces.empty()) return;
                 const auto selected = p.selected(sample, cut);
                 for (const PieceList& list : sample_joins(cut.pieces.size(), p.random)) {
                   if (rule.broken()) return;
                   expect_joined(p, sample, cut, selected, list, rule);
                 }
               });
             });
}

// With what a node begins that has some pieces.
template <Model M>
void check_join_init(PieceContext<M>& p, CheckReport& report) {
  check_rule(
      report,
      {"join-init", "[Ticks 4.1, NEW]", "init(q) of what joined pieces need is what q selects"},
      [&](Rule& rule) {
        const auto all = p.c.model.init(p.c.everything());
        p.for_each_stepped(rule, [&](const auto& /*sample*/, const auto& cut) {
          for (const auto& [name, query] :
               p.joined(cut, sample_owners(cut.pieces.size(), p.random))) {
            const auto held = p.c.model.read_dependencies(query);
            rule.expect(p.c.differ(p.c.tuples(p.c.model.select(all, held)),
                                   p.c.tuples(p.c.model.init(held)),
                                   "init(read_dependencies(" + name + "))"));
          }
        });
      });
}

// What a plan asks: who may read what whom steps.
template <Model M>
void check_join_disjoint(PieceContext<M>& p, CheckReport& report) {
  check_rule(
      report,
      {"join-disjoint", "[Ticks 4.2, DISJOINT]",
       "disjoint(a, b) of pieces, joined ones and what they need"},
      [&](Rule& rule) {
        p.for_each_stepped(rule, [&](const auto& sample, const auto& cut) {
          auto queries = p.joined(cut, sample_owners(cut.pieces.size(), p.random));
          for (std::size_t i = 0; i < std::min<std::size_t>(cut.pieces.size(), 8); ++i)
            queries.push_back({cut.name(i), cut.pieces[i]});
          for (std::size_t i = queries.size(); i-- > 0;) {
            queries.push_back(
                {"write_dependencies(read_dependencies(" + queries[i].name + "))",
                 p.c.model.write_dependencies(p.c.model.read_dependencies(queries[i].query))});
          }
          expect_disjoint(p.c, sample, queries, rule);
        });
      });
}

template <Model M>
void check_join_dependencies(PieceContext<M>& p, CheckReport& report) {
  check_rule(report,
             {"join-dependencies", "[Ticks A.1, Definitions 1, 2]",
              "R_D, R_X, W_D, W_X of joined pieces are those of all of them"},
             [&](Rule& rule) {
               p.for_each_stepped(rule, [&](const auto& sample, const auto& cut) {
                 for (const auto& [name, query] :
                      p.joined(cut, sample_owners(cut.pieces.size(), p.random))) {
                   if (rule.broken()) return;
                   expect_reads(p.c, sample, query, name, rule);
                   expect_writes(p.c, sample, query, name, rule);
                   expect_read_exclusive(p.c, sample, query, name, rule);
                   expect_write_exclusive(p.c, sample, query, name, rule);
                 }
               });
             });
}

// A piece, or several that a run has made one of, and what it is called.
template <Model M>
struct JoinedPiece {
  std::string name;
  typename M::Query query;
};

// The pieces of a cut as a run may join them (plan_builder.hpp), in order: grains of one piece, or whole
// pieces; the ones that can be no piece together are single.
template <Model M>
[[nodiscard]] std::vector<JoinedPiece<M>> joined_pieces(PieceContext<M>& p,
                                                        const PieceCut<typename M::Query>& cut) {
  std::size_t stretch = cut.n_grains > 1 ? cut.n_grains : cut.pieces.size();
  if (!cut.can_join) stretch = 1;
  std::vector<JoinedPiece<M>> list;
  for (const PieceList& group : sample_groups(cut.pieces.size(), stretch, p.random)) {
    auto joined = p.c.model.join(cut.some(group));
    if (group.size() > 1 && can_be_piece(p.c.model, joined)) {
      list.push_back({join_name(cut.name(), group), std::move(joined)});
      continue;
    }
    for (const std::size_t i : group)
      list.push_back({cut.name(i), cut.pieces[i]});
  }
  return list;
}

// A plan builds on it: its node holds what pieces need, layer by layer.
template <Model M>
void expect_held(PieceContext<M>& p, const typename PieceContext<M>::Sample& sample,
                 const std::vector<JoinedPiece<M>>& pieces, const PieceList& of_node, Rule& rule) {
  constexpr int kLayersMost = 2;
  std::vector<typename M::Query> queries;
  for (const std::size_t i : of_node)
    queries.push_back(pieces[i].query);
  const auto node = p.c.model.join(queries);
  for (int layers = 0; layers <= kLayersMost; ++layers) {
    const auto ids_of = [&](const typename M::Query& query) {
      const auto held = held_query(p.c.model, query, layers);
      return p.c.tuples(p.c.model.select(sample.state, held)).ids;
    };
    const auto held = ids_of(node);
    for (const std::size_t i : of_node) {
      const auto needed = ids_of(pieces[i].query);
      const auto lost = std::ranges::find_if(
          needed, [&](std::uint64_t id) { return !std::ranges::binary_search(held, id); });
      rule.expect(lost == needed.end(), [&] {
        return p.c.name(*lost) + p.c.at_tick(sample.t) + " is among what " + pieces[i].name +
               " needs, and not among what a node needs that has it and " +
               std::to_string(of_node.size() - 1) + " other pieces, " + std::to_string(layers) +
               " layers of replicas around them";
      });
      if (rule.broken()) return;
    }
  }
}

// The same of all nodes, with stretches of the pieces and with any of them.
template <Model M>
void expect_held_by_all(PieceContext<M>& p, const typename PieceContext<M>::Sample& sample,
                        const std::vector<JoinedPiece<M>>& pieces, Rule& rule) {
  if (pieces.empty()) return;
  for (const auto& nodes :
       {sample_stretches(pieces.size(), p.random), sample_owners(pieces.size(), p.random)}) {
    for (const PieceList& of_node : nodes) {
      if (!rule.broken()) expect_held(p, sample, pieces, of_node, rule);
    }
  }
}

template <Model M>
void check_join_held(PieceContext<M>& p, CheckReport& report) {
  check_rule(report,
             {"join-held", "[tick/model.hpp]", "what a piece needs is among what its node needs"},
             [&](Rule& rule) {
               p.for_each_stepped(rule, [&](const auto& sample, const auto& cut) {
                 expect_held_by_all(p, sample, joined_pieces(p, cut), rule);
               });
             });
}

// A piece as its node steps it.
template <Model M>
struct PieceStep {
  std::string name;
  typename M::State own;
  typename M::State context;  // what R_D of the piece selects of what the node holds
};

// Of all pieces, each with one of some nodes. A node must hold its pieces.
template <Model M>
[[nodiscard]] std::vector<PieceStep<M>> piece_steps(PieceContext<M>& p,
                                                    const typename PieceContext<M>::Sample& sample,
                                                    const PieceCut<typename M::Query>& cut,
                                                    Rule& rule) {
  std::vector<PieceStep<M>> steps;
  const auto nodes = sample_owners(cut.pieces.size(), p.random);
  const auto queries = p.joined(cut, nodes);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::string held_by = "read_dependencies(" + queries[node].name + ")";
    const auto held =
        p.c.model.select(sample.state, p.c.model.read_dependencies(queries[node].query));
    for (const std::size_t i : nodes[node]) {
      PieceStep<M> step{cut.name(i) + " of what " + held_by + " selects",
                        p.c.model.select(held, cut.pieces[i]),
                        p.c.model.select(held, p.c.model.read_dependencies(cut.pieces[i]))};
      const TupleList whole = p.c.tuples(p.c.model.select(sample.state, cut.pieces[i]));
      rule.expect(p.c.differ(whole, p.c.tuples(step.own), step.name + p.c.at_tick(sample.t)));
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

// STEP of a piece. Of a step in two parts the context comes piece by piece, in any order.
template <Model M>
[[nodiscard]] typename M::State stepped_in_pieces(PieceContext<M>& p, const PieceStep<M>& step,
                                                  const PieceCut<typename M::Query>& cut, Tick t) {
  if constexpr (HasInteract<M>) {
    typename M::Contributions in{};
    for (const std::size_t i : shuffled_pieces(cut.pieces.size(), p.random))
      p.c.model.interact(in, step.own, p.c.model.select(step.context, cut.pieces[i]), t);
    return p.c.model.finish(step.own, in, t);
  } else {
    return p.c.model.step(step.own, step.context, t);
  }
}

// Which piece it is by which the step of all pieces differs from that of the whole, for a message;
// "" if it cannot be told.
template <Model M>
[[nodiscard]] std::string wrong_piece(PieceContext<M>& p,
                                      const typename PieceContext<M>::Sample& sample,
                                      const PieceCut<typename M::Query>& cut,
                                      const std::vector<PieceStep<M>>& steps) {
  for (const PieceStep<M>& step : steps) {
    std::string wrong = step_differs(p.c, sample, step.own, step.context,
                                     step.name +
                                         ", stepped with what its own "
                                         "read_dependencies select of that");
    if (!wrong.empty()) return wrong;
  }
  for (const PieceStep<M>& step : steps) {
    std::string wrong =
        p.c.differ(p.c.tuples(tick::stepped(p.c.model, step.own, step.context, sample.t)),
                   p.c.tuples(stepped_in_pieces(p, step, cut, sample.t)),
                   step.name + ", which interact() sees in " + std::to_string(cut.pieces.size()) +
                       " pieces" + p.c.at_tick(sample.t));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

template <Model M>
void check_pieces_step(PieceContext<M>& p, CheckReport& report) {
  check_rule(report,
             {"pieces-step", "[AsyTick 3.2]",
              "pieces stepped with what they need, whoever owns them, are the whole stepped"},
             [&](Rule& rule) {
               p.for_each_stepped(rule, [&](const auto& sample, const auto& cut) {
                 const auto steps = piece_steps(p, sample, cut, rule);
                 typename M::State all;
                 for (const auto& step : steps)
                   p.c.model.merge(all, stepped_in_pieces(p, step, cut, sample.t));
                 std::string wrong =
                     p.c.differ(sample.next_tuples, p.c.tuples(all),
                                cut.name() + ", each stepped" + p.c.at_tick(sample.t));
                 if (!wrong.empty()) {
                   const std::string piece = wrong_piece(p, sample, cut, steps);
                   if (!piece.empty()) wrong = piece;
                 }
                 rule.expect(wrong);
               });
             });
}

// Not a rule: the engine bears pieces without places, but a node may have no others.
template <Model M>
void note_empty_pieces(PieceContext<M>& p, CheckReport& report) {
  for (const auto& cut : p.cuts()) {
    for (std::size_t i = 0; i < cut.pieces.size(); ++i) {
      if (!p.c.model.disjoint(cut.pieces[i], cut.pieces[i])) continue;
      report.notes.push_back(cut.name(i) +
                             " is disjoint from itself, so no tuple can ever be in it: correct, "
                             "but a node that has it alone does nothing");
      return;
    }
  }
}

// The last five where nothing is broken yet: they would tell the same again.
template <Model M>
void check_pieces(const CheckContext<M>& c, CheckReport& report) {
  if constexpr (HasPieces<M>) {
    PieceContext<M> p(c);
    check_pieces_cover(p, report);
    check_pieces_disjoint(p, report);
    check_pieces_again(p, report);
    check_join(p, report);
    if (!report.ok()) return;
    check_join_init(p, report);
    check_join_disjoint(p, report);
    check_join_dependencies(p, report);
    check_join_held(p, report);
    check_pieces_step(p, report);
    if (report.ok()) note_empty_pieces(p, report);
  }
}

}  // namespace rubato::tick::detail

#pragma once
// The general model: what a user gives to have a time-stepped application run [Ticks 4, Table 1].
//
// The global state is a set of tables; a Query selects tuples of them; a State holds tuples. A
// model is any type with the eight functions of Table 1 and five operations on its State:
//
//   Table 1     here                                   meaning
//   PART        part(n)                                n queries that are disjoint and cover all
//   NEW         init(q)                                the tuples of the initial state that q
//                                                      selects; reads nothing else
//   STEP        step(to_step, context, t)              to_step one tick on, from t to t + 1; or
//                                                      in two parts, HasInteract below
//   R_D         read_dependencies(q)                   selects all that stepping q needs as context
//   R_X         read_exclusive(q)                      selects what q alone suffices to step
//   W_D         write_dependencies(q)                  stepping it yields all of q one tick on
//   W_X         write_exclusive(q)                     what q, stepped, yields in full one tick on
//   DISJOINT    disjoint(a, b)                         false if a tuple could ever be in both
//
//               select(state, q)                       the tuples of state that q selects
//               difference(a, b)                       the tuples of a whose ids are not in b
//               merge(into, from)                      union by id; equal ids hold equal bits
//               write(writer, state), read(reader)     in the order of ids: equal states, equal
//                                                      bytes
//
// All are const, pure (random numbers are a function of seed, id and tick: base/random.hpp) and
// called on several cores at once. step must be partitionable and distributive (Properties 1 and 2)
// and see its context only through read_dependencies (Definition 1), writes through
// write_dependencies (Definition 2): `rubato check` tests all of that. Bits must not depend on how
// to_step is split or on irrelevant context.

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/policy.hpp"
#include "rubato/tick/samples.hpp"

namespace rubato::tick {

template <class M>
concept HasStateAndQuery = requires {
  typename M::State;
  typename M::Query;
  requires std::copyable<typename M::State> && std::default_initializable<typename M::State>;
  requires std::copyable<typename M::Query>;
};

template <class M>
concept HasPart = requires(const M& m, std::uint32_t n) {
  { m.part(n) } -> std::convertible_to<std::vector<typename M::Query>>;
};
template <class M>
concept HasInit = requires(const M& m, const typename M::Query& q) {
  { m.init(q) } -> std::convertible_to<typename M::State>;
};
template <class M>
concept HasStep = requires(const M& m, const typename M::State& s, Tick t) {
  { m.step(s, s, t) } -> std::convertible_to<typename M::State>;
};
// In place of step(), or beside it with the same bits: the step in two parts, so that the first one
// can begin when some of what it needs is there [AsyTick 3.2, Table 1].
//   using Contributions = ..;                       Contributions{}: nothing came in yet
//   void interact(Contributions& in, to_step, other, t) const
//                                                   the asynchronous part: what the tuples of
//                                                   `other` are to those of to_step, which may be
//                                                   among them; the context comes in pieces, each
//                                                   tuple of it once
//   State finish(to_step, const Contributions&, t) const
//                                                   the synchronous part, when all has come
//   std::size_t contribution_bytes(const Contributions&) const
//                                                   optional: what they hold beside their own size,
//                                                   for figures of memory
// The pieces come in any order and any cut: contributions are kept by id, or their sums are exact
// (base/exact_sum.hpp). `rubato check` tests it.
template <class M>
concept HasInteract = requires(const M& m, typename M::Contributions& in,
                               const typename M::State& s, Tick t) {
  requires std::default_initializable<typename M::Contributions>;
  m.interact(in, s, s, t);
  { m.finish(s, in, t) } -> std::convertible_to<typename M::State>;
};

template <class M>
concept HasDependencies = requires(const M& m, const typename M::Query& q) {
  { m.read_dependencies(q) } -> std::convertible_to<typename M::Query>;
  { m.read_exclusive(q) } -> std::convertible_to<typename M::Query>;
  { m.write_dependencies(q) } -> std::convertible_to<typename M::Query>;
  { m.write_exclusive(q) } -> std::convertible_to<typename M::Query>;
};
template <class M>
concept HasDisjoint = requires(const M& m, const typename M::Query& q) {
  { m.disjoint(q, q) } -> std::convertible_to<bool>;
};
template <class M>
concept HasStateOperations = requires(const M& m, typename M::State& into,
                                      const typename M::State& s, const typename M::Query& q,
                                      Writer& writer, Reader& reader) {
  { m.select(s, q) } -> std::convertible_to<typename M::State>;
  { m.difference(s, s) } -> std::convertible_to<typename M::State>;
  m.merge(into, s);
  m.write(writer, s);
  { m.read(reader) } -> std::convertible_to<typename M::State>;
};

// Optional: a model that can be cut again while it runs, at an epoch, by the state that there is
// then: what follows tuples that gather (tick/epoch/redistribution.hpp). Samples say what a cut
// needs to know, in a size that does not grow with the state.
//   using Samples = ..;                             copyable
//   Samples sample(state) const                     of the tuples that one node owns, or:
//   Samples sample(const NodeLoad<Query>&) const    of what these have taken to be stepped
//   Samples gather(span<const WeighedSamples>)      optional, const: samples that were written, together,
//                                                   by what their tuples cost (samples.hpp); with
//   void spread(Samples& into, double cost) const   what comes with single ticks, now here now there:
//                                                   ns of a core a tick, as if it lay everywhere alike
//   void merge_samples(Samples& into, from) const   into those of more nodes
//   write_samples(writer, samples), read_samples(reader)
//   part(n, samples)                                PART, from the samples of all nodes; it depends
//                                                   on nothing else, since every node calls it. No
//                                                   queries at all: the cut stays as it is
// Bits do not depend on how tuples are cut, so they do not depend on epochs either.
template <class Query>
struct NodeLoad {
  std::uint32_t node = 0;
  Query own;  // what the node owns
  // Of a tick, on average of late, in ns: what its cores took together to step that, and what went
  // by, waiting included.
  double busy = 0;
  double passed = 0;
};
template <class M>
concept HasStateSamples = requires(const M& m, const typename M::State& s) {
  { m.sample(s) } -> std::convertible_to<typename M::Samples>;
};
template <class M>
concept HasLoadSamples = requires(const M& m, const NodeLoad<typename M::Query>& load) {
  { m.sample(load) } -> std::convertible_to<typename M::Samples>;
};
template <class M>
concept HasWeighedSamples = requires(const M& m, std::span<const WeighedSamples> all,
                                     typename M::Samples& into) {
  { m.gather(all) } -> std::convertible_to<typename M::Samples>;
  m.spread(into, 1.0);
};
template <class M>
concept HasRepartition = HasStateAndQuery<M> &&
    (HasStateSamples<M> != HasLoadSamples<M>)&&requires(const M& m, std::uint32_t n,
                                                        typename M::Samples& into,
                                                        const typename M::Samples& samples,
                                                        Writer& writer, Reader& reader) {
  requires std::copyable<typename M::Samples>;
  m.merge_samples(into, samples);
  m.write_samples(writer, samples);
  { m.read_samples(reader) } -> std::convertible_to<typename M::Samples>;
  { m.part(n, samples) } -> std::convertible_to<std::vector<typename M::Query>>;
};

// Samples that were written, put together.
template <HasRepartition M>
[[nodiscard]] typename M::Samples gather_samples(const M& model,
                                                 std::span<const WeighedSamples> all) {
  if constexpr (HasWeighedSamples<M>) {
    return model.gather(all);
  } else {
    Reader first(all.front().samples);
    typename M::Samples sum = model.read_samples(first);
    for (const WeighedSamples& each : all.subspan(1)) {
      Reader reader(each.samples);
      model.merge_samples(sum, model.read_samples(reader));
    }
    return sum;
  }
}

// Optional: a model that can be cut into pieces, many more than there are nodes, which balancing
// moves between nodes one by one (tick/balance/) and policy pieces steps one by one.
//   pieces(n)               about n queries that are disjoint and cover all, like part(n); they
//                           depend on n and the model alone. Pieces that are near in the list are
//                           near in the world: a node first has a stretch of it.
//   join(queries)           selects what any of them does, in whatever order they come; they are
//                           disjoint
//   split(pieces, n)        optional: [pieces] each piece in n queries that are pieces, too, or fewer if it
//                           has not so many tuples; without it those of pieces() that follow each other
//                           are joined
//   is_piece(query)         optional: whether what was joined can be a piece, too, stepped as a whole;
//                           without it all can. Runs whose pieces change size join them. What a piece needs
//                           must be among what a node needs that has it beside others.
// What is joined is what a node owns: init(), dependencies and disjoint() are asked of it. `rubato
// check` tests them with any pieces in any hands (tick/check/piece_rules.hpp).
template <class M>
concept HasPieces = HasStateAndQuery<M> &&
    requires(const M& m, std::uint32_t n, std::span<const typename M::Query> queries) {
  { m.pieces(n) } -> std::convertible_to<std::vector<typename M::Query>>;
  { m.join(queries) } -> std::convertible_to<typename M::Query>;
};

template <class M>
concept HasSplit = HasPieces<M> &&
    requires(const M& m, std::span<const typename M::Query> pieces, std::uint32_t n) {
  { m.split(pieces, n) } -> std::convertible_to<std::vector<std::vector<typename M::Query>>>;
};

// Optional beside these: how many pieces are good, where nobody says a number.
//   good_pieces(wanted, least)   at most twice `wanted`, the usual number for the workers that there
//                           are; fewer where these would be too small to be worth it, such as
//                           pieces of which all tuples see others, but at least `least`. It depends
//                           on the model and these numbers alone.
template <class M>
concept HasGoodPieces = HasPieces<M> && requires(const M& m, std::uint32_t n) {
  { m.good_pieces(n, n) } -> std::convertible_to<std::uint32_t>;
};

// All of the above but what is optional: what every policy and every test calls, and nothing
// besides.
template <class M>
concept Model = HasStateAndQuery<M> && HasPart<M> && HasInit<M> &&
    (HasStep<M> || HasInteract<M>)&&HasDependencies<M>&& HasDisjoint<M>&& HasStateOperations<M>;

// One readable line for each missing part, instead of a page of substitution failures.
template <class M>
consteval void explain_model() {
  static_assert(HasStateAndQuery<M>, "a model needs copyable member types State and Query");
  if constexpr (HasStateAndQuery<M>) {
    static_assert(HasPart<M>, "a model needs: std::vector<Query> part(std::uint32_t n) const");
    static_assert(HasInit<M>, "a model needs: State init(const Query&) const");
    if constexpr (requires { typename M::Contributions; }) {
      static_assert(HasInteract<M>,
                    "a model with Contributions needs: void interact(Contributions& in, const "
                    "State& to_step, const State& other, Tick t) const and State finish(const "
                    "State& to_step, const Contributions&, Tick t) const");
    } else {
      static_assert(HasStep<M>,
                    "a model needs: State step(const State& to_step, const State& context, Tick t) "
                    "const");
    }
    static_assert(HasDependencies<M>,
                  "a model needs: Query read_dependencies(const Query&) const, and likewise "
                  "read_exclusive, write_dependencies and write_exclusive [Ticks Table 1]");
    static_assert(HasDisjoint<M>, "a model needs: bool disjoint(const Query&, const Query&) const");
    static_assert(HasStateOperations<M>,
                  "a model needs on its State: select(state, query), difference(a, b), merge(into, "
                  "from), write(Writer&, state) and read(Reader&), all const");
    if constexpr (requires { typename M::Samples; }) {
      static_assert(HasRepartition<M>,
                    "a model with Samples needs: Samples sample(const State&) or Samples "
                    "sample(const NodeLoad<Query>&), not both, "
                    "merge_samples(Samples& into, const Samples&), write_samples(Writer&, "
                    "samples), read_samples(Reader&) and part(n, samples), all const");
    }
  }
}

// STEP of a model: its step(), or both of its parts with the whole context in one piece.
template <class M>
[[nodiscard]] typename M::State stepped(const M& model, const typename M::State& to_step,
                                        const typename M::State& context, Tick t) {
  if constexpr (HasStep<M>) {
    return model.step(to_step, context, t);
  } else {
    typename M::Contributions in{};
    model.interact(in, to_step, context, t);
    return model.finish(to_step, in, t);
  }
}

// Optional: a test that ends the run. Both numbers belong to the model, so that every policy stops
// at the same tick with that tick's state.
//   using Measure = ..;                             plain bytes; Measure{} is neutral
//   Measure measure(before, after) const            of the tuples of one step, before and after it
//   void combine(Measure&, const Measure&) const    exactly associative and commutative (max,
//                                                   counts, base/exact_sum.hpp), since arrival
//                                                   order varies
//   bool stop(const Measure&, Tick t) const
//   Tick stop_interval() const, stop_lag() const    tested at multiples of the interval; the run
//                                                   ends lag ticks later
template <class M>
concept HasStopCondition = requires(const M& m, const typename M::State& s,
                                    typename M::Measure& a) {
  requires Plain<typename M::Measure>;
  { m.measure(s, s) } -> std::convertible_to<typename M::Measure>;
  m.combine(a, a);
  { m.stop(a, Tick{}) } -> std::convertible_to<bool>;
  { m.stop_interval() } -> std::convertible_to<Tick>;
  { m.stop_lag() } -> std::convertible_to<Tick>;
};

// Optional: what stepping costs in virtual time, for the simulator: nanoseconds on one core.
template <class M>
concept HasStepCost = requires(const M& m, const typename M::State& s) {
  { m.step_cost(s, s) } -> std::convertible_to<std::int64_t>;
};

}  // namespace rubato::tick
